"""Models behind OpenAI's APIs, and behind the many servers that speak chat completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tracedance_sdk.formats import (
    chat_request,
    responses_request,
    turn_from_chat,
    turn_from_responses,
)
from tracedance_sdk.llm.chat import Context, Missing, Settings
from tracedance_sdk.llm.provider_model import ProviderModel
from tracedance_sdk.llm.streaming import chat_completion, response_object
from tracedance_sdk.llm.structured import chat_format, responses_format
from tracedance_sdk.trace import Json, ToolDefinition, Turn


class OpenAIChatModel(ProviderModel):
    """A model behind chat completions; see `ProviderModel`."""

    package: ClassVar[str] = "openai"
    _streamed_by: ClassVar[dict[str, Any]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }

    def request(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> dict[str, Any]:
        """Return the body to be sent; see `ProviderModel.request`."""
        body = chat_request(context.turns, system_prompt=context.system_prompt, tools=tools)
        # OpenAI's reasoning models refuse the older name, which is all that other servers know.
        cap = "max_completion_tokens" if self.endpoint.is_official else "max_tokens"
        body |= {"model": self.endpoint.model, cap: settings.max_output_tokens}
        return body | _sampling(settings, seed=settings.seed) | chat_format(settings)

    async def _post(self, client: Any, request: dict[str, Any]) -> Any:
        return await client.chat.completions.with_raw_response.create(**request)

    async def _collected(self, response: Any) -> dict[str, Any]:
        return await chat_completion(response.parse())

    def _turn(self, body: Json) -> Turn:
        return turn_from_chat(body)

    def _missing(self, turn: Turn, body: dict[str, Any]) -> Missing | None:  # noqa: ARG002 - the turn tells
        if turn.finish_reason == "length":
            return Missing("cut_off", "finish_reason length")
        if turn.finish_reason == "content_filter":
            return Missing("refused", "finish_reason content_filter")
        return None


class OpenAIResponsesModel(ProviderModel):
    """A model behind the Responses API; see `ProviderModel`. Nothing is stored there."""

    package: ClassVar[str] = "openai"

    def request(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> dict[str, Any]:
        """Return the body to be sent; see `ProviderModel.request`."""
        body = responses_request(context.turns, system_prompt=context.system_prompt, tools=tools)
        body |= {
            "model": self.endpoint.model,
            "max_output_tokens": settings.max_output_tokens,
            "store": False,
        }
        return body | _sampling(settings) | responses_format(settings)

    async def _post(self, client: Any, request: dict[str, Any]) -> Any:
        return await client.responses.with_raw_response.create(**request)

    async def _collected(self, response: Any) -> dict[str, Any]:
        return await response_object(response.parse())

    def _turn(self, body: Json) -> Turn:
        return turn_from_responses(body)

    def _missing(self, turn: Turn, body: dict[str, Any]) -> Missing | None:  # noqa: ARG002 - the body tells more
        status = body.get("status")
        if status in (None, "completed"):
            return None
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        if reason == "content_filter":
            return Missing("refused", "incomplete: content_filter")
        if reason == "max_output_tokens":
            return Missing("cut_off", "incomplete: max_output_tokens")
        return Missing("error", f"status {status!r:.40}, {reason or 'no reason given'}")


def _sampling(settings: Settings, *, seed: int | None = None) -> dict[str, Any]:
    found = {"temperature": settings.temperature, "top_p": settings.top_p, "seed": seed}
    return {key: value for key, value in found.items() if value is not None}
