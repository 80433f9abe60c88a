"""Models behind Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from tracedance_sdk.formats import anthropic_request, turn_from_anthropic
from tracedance_sdk.llm.chat import Context, Missing, MissingKind, Settings
from tracedance_sdk.llm.provider_model import ProviderModel
from tracedance_sdk.llm.streaming import message
from tracedance_sdk.llm.structured import forced_tool
from tracedance_sdk.trace import Json, ToolDefinition, Turn

_ENDS: Final[dict[str, MissingKind]] = {
    "max_tokens": "cut_off",
    "pause_turn": "cut_off",
    "refusal": "refused",
    "model_context_window_exceeded": "context_too_long",
}
_MOST_UNSTREAMED: Final = 21_333
"""Tokens of a reply that the SDK expects within ten minutes; it counts 128,000 an hour."""

_SAMPLING: Final = ("temperature", "top_p")


class AnthropicModel(ProviderModel):
    """A model behind the Messages API; see `ProviderModel`."""

    package: ClassVar[str] = "anthropic"

    def request(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> dict[str, Any]:
        """Return the body to be sent; see `ProviderModel.request`."""
        body = anthropic_request(
            context.turns,
            system_prompt=context.system_prompt,
            tools=tools,
            opening=settings.opening,
        )
        body |= {"model": self.endpoint.model, "max_tokens": settings.max_output_tokens}
        found = {"temperature": settings.temperature, "top_p": settings.top_p}
        body |= {key: value for key, value in found.items() if value is not None}
        return body | forced_tool(settings, has_tools=bool(tools))

    async def _post(self, client: Any, request: dict[str, Any]) -> Any:
        # Newer releases of the SDK have no arguments for sampling, which older models take.
        known = {key: value for key, value in request.items() if key not in _SAMPLING}
        beside = {key: request[key] for key in _SAMPLING if key in request}
        return await client.messages.with_raw_response.create(**known, extra_body=beside or None)

    def is_streamed(self, request: dict[str, Any]) -> bool:
        """Whether the reply to a request is streamed; long ones of Anthropic's own have to be."""
        if self._stream is None:
            return self.endpoint.is_official and request["max_tokens"] > _MOST_UNSTREAMED
        return self._stream

    async def _collected(self, response: Any) -> dict[str, Any]:
        return await message(await response.parse())

    def _turn(self, body: Json) -> Turn:
        return turn_from_anthropic(body)

    def _missing(self, turn: Turn, body: dict[str, Any]) -> Missing | None:  # noqa: ARG002 - the turn tells
        kind = _ENDS.get(turn.finish_reason or "")
        return None if kind is None else Missing(kind, f"stop_reason {turn.finish_reason}")
