"""The framework's objects, written as JSON for those who know its shapes."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, cast

from tracedance_sdk.formats import (
    Message,
    ModelRequest,
    read_pydantic_ai,
    reply_from_pydantic_ai,
    request_from_pydantic_ai,
)
from tracedance_sdk.recording.integrating import ModelReply


def request(
    model: Any,
    messages: Any,
    model_settings: Any = None,
    model_request_parameters: Any = None,
    run_context: Any = None,  # noqa: ARG001  # as the framework passes it
) -> ModelRequest:
    """Return what a model is asked."""
    settings = {**(getattr(model, "settings", None) or {}), **(model_settings or {})}
    given = {key: value for key, value in settings.items() if value is not None}
    asked = model_request_parameters
    return request_from_pydantic_ai(
        _read(messages),
        instructions=_instructions(messages),
        tools=[
            _tool(tool)
            for name in ("function_tools", "output_tools")
            for tool in getattr(asked, name, ())
        ],
        model=model.model_name,
        settings=_plain(given) if given else None,
    )


def ending(run: Any) -> ModelRequest:
    """Return what a run says after its model's last words: the results of its last calls."""
    last = run.all_messages()[-1:]
    return request_from_pydantic_ai(_read(message for message in last if message.kind == "request"))


def reply(response: Any) -> ModelReply:
    """Return what a model answered."""
    details = response.provider_details
    told = reply_from_pydantic_ai(
        {
            "parts": _written(response),
            "usage": vars(response.usage),
            "model_name": response.model_name,
            "provider_details": details if isinstance(details, dict) else None,
            "provider_response_id": response.provider_response_id,
            "finish_reason": response.finish_reason,
        }
    )
    _keep(response, [told.message])
    return ModelReply(*told)


class _Kept(NamedTuple):
    """A message of the framework that has been read."""

    origin: weakref.ref[Any]
    parts: tuple[Any, ...]
    found: list[Message]


_SIMPLE: Final = {
    "system-prompt": ("content",),
    "user-prompt": ("content",),
    "text": ("content",),
    "tool-call": ("tool_name", "tool_call_id", "args"),
    "tool-return": ("tool_name", "tool_call_id", "outcome", "content"),
}
"""What is read of the most frequent parts, of which the last may be anything."""

_KEPT: Final[dict[int, _Kept]] = {}
"""By the message's `id`, as long as it lives: every request repeats the messages before it."""


def _read(messages: Iterable[Any]) -> list[Message]:
    found: list[Message] = []
    for message in messages:
        kept = _KEPT.get(id(message))
        if kept is not None and _holds(kept, message):
            found += kept.found
            continue
        item = {"kind": message.kind, "parts": _written(message)}
        found += _keep(message, read_pydantic_ai(item)).found
    return found


def _keep(message: Any, found: list[Message]) -> _Kept:
    key = id(message)
    origin = weakref.ref(message, lambda _: _KEPT.pop(key, None))
    kept = _KEPT[key] = _Kept(origin, tuple(message.parts), found)
    return kept


def _holds(kept: _Kept, message: Any) -> bool:
    """Whether a message is the one that was read, with the same parts."""
    known, parts = kept.parts, message.parts
    return (
        kept.origin() is message
        and len(known) == len(parts)
        and all(a is b for a, b in zip(known, parts, strict=True))
    )


def _instructions(messages: Any) -> str | None:
    last = next((message for message in reversed(messages) if message.kind == "request"), None)
    found: str | None = getattr(last, "instructions", None)
    return found


def _written(message: Any) -> list[dict[str, Any]]:
    """Return the parts of a message as JSON."""
    parts = [_simple(part) for part in message.parts]
    if None not in parts:
        found = cast("list[dict[str, Any]]", parts)
    else:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        dumped = ModelMessagesTypeAdapter.dump_python([message], mode="json")
        found = list(dumped[0]["parts"])
    if _ADDED:
        for place in _added_in(message.parts):
            found[place]["origin"] = "environment"
    return found


_MOST_ADDED: Final = 1000
_ADDED: Final[dict[str, tuple[int, ...]]] = {}
"""By the id of a call: the mark of what its tool added, which stands there as a user's prompt."""


def note_added(call_id: str | None, content: Any) -> None:
    """Remember what a tool wants the model to be shown beside its result.

    Args:
        call_id: Of the tool's call.
        content: Text, or a list of texts and files.
    """
    if call_id is None or not content:
        return
    _ADDED[call_id] = _mark(content)
    while len(_ADDED) > _MOST_ADDED:
        del _ADDED[next(iter(_ADDED))]


def _added_in(parts: Any) -> list[int]:
    """Return the places of what tools added, in a message that has their results too."""
    ids = [part.tool_call_id for part in parts if part.part_kind == "tool-return"]
    marks = {_ADDED[call_id] for call_id in ids if call_id in _ADDED}
    if not marks:
        return []
    return [
        place
        for place, part in enumerate(parts)
        if part.part_kind == "user-prompt" and _mark(part.content) in marks
    ]


def _mark(content: Any) -> tuple[int, ...]:
    """Return what tells one content from others while it lives, without keeping it."""
    items = (content,) if isinstance(content, str) else content
    return tuple(hash(item) if isinstance(item, str) else id(item) for item in items)


def _simple(part: Any) -> dict[str, Any] | None:
    """Return a part that holds text or JSON already, without what only the framework needs."""
    fields = _SIMPLE.get(part.part_kind)
    if fields is None:
        return None
    found = vars(part)
    value = found.get(fields[-1])
    if type(value) is not str and not (part.part_kind == "tool-call" and type(value) is dict):
        return None
    return {"part_kind": part.part_kind, **{key: found.get(key) for key in fields}}


def _plain(value: Any) -> Any:
    """Return settings as JSON; what has no form there, by its ``repr``."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=repr)


def _tool(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters_json_schema": tool.parameters_json_schema,
    }
