"""Pydantic AI's messages: requests that several speakers have parts in, and responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.message_pieces import Message, Piece, SeenResult, Speaker
from tracedance_sdk.formats.message_shapes import read_message
from tracedance_sdk.formats.model_requests import ModelRequest, without_system
from tracedance_sdk.formats.piece_shapes import read_pieces
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.formats.transcript import text_part
from tracedance_sdk.trace import Json, canonical_json

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

_SUCCESS: Final = {"success": True, "failed": False, "retried": False, "denied": False}
_LISTS: Final = ("function_tools", "output_tools", "native_tools", "builtin_tools")
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


def request_from_pydantic_ai(body: Mapping[str, Any]) -> ModelRequest:
    """Return what Pydantic AI asks a model.

    Args:
        body: ``messages`` as its message history is written to JSON; ``model``, ``settings``; and
            from the parameters of the request ``function_tools``, ``output_tools`` and
            ``native_tools``. What the last of its requests says under ``instructions`` ends the
            system prompt.

    Example:
        >>> parts = [{"part_kind": "user-prompt", "content": "Hi"}]
        >>> asked = request_from_pydantic_ai(
        ...     {"messages": [{"kind": "request", "parts": parts, "instructions": "Be kind."}]}
        ... )
        >>> asked.system, [message.text for message in asked.messages]
        ('Be kind.', ['Hi'])
    """
    items = body.get("messages") or ()
    found = without_system(
        ModelRequest(
            [message for item in items for message in read_pydantic_ai(item)],
            None,
            read_tools([tool for key in _LISTS for tool in body.get(key) or ()]),
            body.get("model"),
            body.get("settings") or None,
        )
    )
    instructions = _instructions(items)
    if instructions is None:
        return found
    whole = instructions if found.system is None else f"{found.system}\n\n{instructions}"
    return found._replace(system=whole)


def read_pydantic_ai(item: Json) -> list[Message]:
    """Return the messages in a request or a response, one for each speaker in turn.

    Anything else gives none.
    """
    if not isinstance(item, dict):
        return []
    if item.get("kind") == "response":
        message = read_message({"role": "assistant", "parts": item.get("parts")})
        return [] if message is None else [message]
    found: list[tuple[Speaker, list[Piece]]] = []
    for part in item.get("parts") or ():
        if not isinstance(part, dict) or part.get("part_kind") in _BOOKKEEPING:
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
    if kind == "retry-prompt":
        return "tool", read_pieces([part])
    if kind == "tool-return":
        return "tool", [_outcome(piece, part) for piece in read_pieces([part])]
    content = part.get("content")
    if isinstance(content, str):
        return _SPEAKERS.get(str(kind), "user"), [text_part(content)] if content else []
    if isinstance(content, list):
        return _SPEAKERS.get(str(kind), "user"), read_pieces([_typed(item) for item in content])
    return "user", read_pieces([part])


def _outcome(piece: Piece, part: dict[str, Any]) -> Piece:
    """Return a result with whether its call succeeded, where the part says so."""
    outcome = part.get("outcome")
    if not isinstance(piece, SeenResult) or outcome not in _SUCCESS:
        return piece
    return piece._replace(ok=_SUCCESS[outcome])


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


def _instructions(items: Iterable[Json]) -> str | None:
    requests = [i for i in items if isinstance(i, dict) and i.get("kind") == "request"]
    return _text(requests[-1].get("instructions")) if requests else None


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
