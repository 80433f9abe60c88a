"""Pydantic AI's messages: requests that several speakers have parts in, and responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult, Speaker
from tracedance_sdk.formats.model_requests import ModelRequest, without_system
from tracedance_sdk.formats.piece_shapes import read_pieces
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.formats.transcript import text_part
from tracedance_sdk.trace import UNKNOWN, Json, canonical_json

_SPEAKERS: Final[dict[str, Speaker]] = {
    "system-prompt": "system",
    "instruction-delta": "system",
    "tool-return": "tool",
}
_BOOKKEEPING: Final = frozenset(
    {
        "instruction-digest",
        "instruction-baseline",
        "model-settings-delta",
        "tool-availability-delta",
    }
)
"""Parts that models are not shown as such."""

_AUTOMATED: Final = "(this is automated feedback, not a message from the user):\n<"
"""In the first line of feedback that newer versions have written out for the model."""

_SUCCESS: Final = {"success": True, "failed": False, "retried": False, "denied": False}
_COUNTS: Final = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
    "input_audio_tokens", "cache_audio_read_tokens", "output_audio_tokens",
)  # fmt: skip


class PydanticAIReply(NamedTuple):
    """A response of Pydantic AI.

    Attributes:
        message: What the model said.
        model: That wrote it.
        usage: Fields of `Usage`; None when nothing was counted.
        finish_reason: In the provider's word, where it is known.
        response_id: The provider's id of the reply.
    """

    message: Message
    model: str | None
    usage: dict[str, Any] | None
    finish_reason: str | None
    response_id: str | None


def request_from_pydantic_ai(
    messages: Sequence[Message],
    *,
    instructions: str | None = None,
    tools: Sequence[Json] = (),
    model: str | None = None,
    settings: Mapping[str, Json] | None = None,
) -> ModelRequest:
    """Return what Pydantic AI asks a model.

    Args:
        messages: Its message history, as `read_pydantic_ai` reads each item.
        instructions: Of the last request; they end the system prompt.
        tools: Definitions of function tools and output tools.
        model: As it was asked for.
        settings: Sampling settings.

    Example:
        >>> parts = [{"part_kind": "user-prompt", "content": "Hi"}]
        >>> said = read_pydantic_ai({"kind": "request", "parts": parts})
        >>> asked = request_from_pydantic_ai(said, instructions="Be kind.")
        >>> asked.system, [message.text for message in asked.messages]
        ('Be kind.', ['Hi'])
    """
    asked = ModelRequest(messages, None, read_tools(list(tools)), model, settings or None)
    found = without_system(asked)
    if not instructions:
        return found
    whole = instructions if found.system is None else f"{found.system}\n\n{instructions}"
    return found._replace(system=whole)


def read_pydantic_ai(item: Json) -> list[Message]:
    """Return the messages in a request or a response, one for each speaker in turn.

    Anything else gives none. A prompt of the ``origin`` ``environment``, which the framework itself
    never writes, is what a tool added to its result.
    """
    if not isinstance(item, dict):
        return []
    listed = item.get("parts")
    parts = [p for p in listed if isinstance(p, dict)] if isinstance(listed, list) else []
    if item.get("kind") == "response":
        said = [piece for part in parts for piece in _said(part)]
        return [Message("assistant", tuple(said))]
    found: list[tuple[Speaker, list[Piece]]] = []
    for part in parts:
        if part.get("part_kind") in _BOOKKEEPING:
            continue
        speaker, pieces = _read(part)
        if found and found[-1][0] == speaker:
            found[-1][1].extend(pieces)
        else:
            found.append((speaker, pieces))
    return [Message(speaker, tuple(pieces)) for speaker, pieces in found if pieces]


def reply_from_pydantic_ai(body: Mapping[str, Any]) -> PydanticAIReply:
    """Return what a response of Pydantic AI says.

    Args:
        body: The response as it is written to JSON.
    """
    told = read_pydantic_ai({**body, "kind": "response"})
    details = body.get("provider_details")
    reason = details.get("finish_reason") if isinstance(details, dict) else None
    return PydanticAIReply(
        told[0] if told else Message("assistant", ()),
        _text(body.get("model_name")),
        _usage(body.get("usage")),
        _text(reason) or _text(body.get("finish_reason")),
        _text(body.get("provider_response_id")) or _text(body.get("vendor_id")),
    )


def _read(part: dict[str, Any]) -> tuple[Speaker, list[Piece]]:
    kind = part.get("part_kind")
    if kind == "retry-feedback" or (kind == "retry-prompt" and part.get("tool_name") is None):
        # Nobody's words, and no call's result: the environment speaks.
        return "tool", [text_part(_feedback(part.get("content")))]
    if kind in ("retry-prompt", "tool-return"):
        return "tool", [_result(part)]
    content = part.get("content")
    is_added = part.get("origin") == "environment"
    speaker: Speaker = "tool" if is_added else _SPEAKERS.get(str(kind), "user")
    if isinstance(content, str):
        if _AUTOMATED in content[:200]:
            return "tool", [text_part(content)]
        return speaker, [text_part(content)] if content else []
    if isinstance(content, list):
        return speaker, read_pieces([_typed(item) for item in content])
    return "user", read_pieces([part])


def _said(part: dict[str, Any]) -> list[Piece]:
    """Return what one part of a response says."""
    kind, content = part.get("part_kind"), part.get("content")
    if kind == "text" and isinstance(content, str) and not part.get("citations"):
        return [text_part(content)] if content else []
    name = part.get("tool_name")
    if kind == "tool-call" and isinstance(name, str):
        args = part.get("args")
        if args in (None, ""):
            args = {}
        call_id = _text(part.get("tool_call_id"))
        if isinstance(args, str):
            return [SeenCall(name, call_id, UNKNOWN, args)]
        return [SeenCall(name, call_id, args)]
    return read_pieces([part])


def _result(part: dict[str, Any]) -> SeenResult:
    """Return a result, with whether its call succeeded where the part says so."""
    outcome = "retried" if part["part_kind"] == "retry-prompt" else part.get("outcome")
    content, error = part.get("content"), None
    if outcome == "retried":
        kind = "ModelRetry" if isinstance(content, str) else "ValidationError"
        error = {"type": kind, "message": _feedback(content)}
    ok = _SUCCESS.get(str(outcome))
    call_id, name = _text(part.get("tool_call_id")), _text(part.get("tool_name"))
    return SeenResult(call_id, name, content, ok, error)


def _typed(item: Json) -> Json:
    """Return one item of what a user says, its kind where other formats have it."""
    if not isinstance(item, dict) or "type" in item or not isinstance(item.get("kind"), str):
        return item
    kind = "text" if item["kind"] == "text-content" else item["kind"]
    rest = {k: v for k, v in item.items() if k != "kind" and v not in (None, False)}
    return {**rest, "type": kind}


def _feedback(content: Json) -> str:
    """Return why output could not be used: text as it is, the details of errors as JSON."""
    return content if isinstance(content, str) else canonical_json(content).decode()


def _usage(usage: Json) -> dict[str, Any] | None:
    if not isinstance(usage, dict):
        return None
    found = {key: usage[key] for key in _COUNTS if usage.get(key)}
    details = usage.get("details")
    reasoning = usage.get("output_reasoning_tokens")
    if not reasoning and isinstance(details, dict):
        reasoning = details.get("reasoning_tokens")
    if reasoning:
        found["reasoning_tokens"] = reasoning
    return {"input_tokens": 0, "output_tokens": 0, **found} if found else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
