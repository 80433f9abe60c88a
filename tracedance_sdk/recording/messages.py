"""Turns as a program reports them, made into turns of the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, get_args

from pydantic import ValidationError

from tracedance_sdk.errors import InvalidJSON, InvalidOption
from tracedance_sdk.recording.identifiers import new_call_id
from tracedance_sdk.recording.usages import ReadUsage, usage_document
from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    Origin,
    Record,
    Request,
    Role,
    Turn,
    Usage,
    call_key,
    invalid_trace,
    parse_json,
    plain,
)

ORIGINS: Final[dict[Role, str]] = {"user": "human", "system": "harness", "assistant": "agent"}
"""Who writes the turns of a role unless the program says otherwise."""

_ROLES: Final = tuple(ORIGINS)
_ORIGINS: Final = frozenset(get_args(Origin))
_PARTS: Final = ("text", "reasoning", "media")
_WORDS: Final = ("name", "model", "finish_reason")
_ASKED: Final = {"id", "name", "arguments", "raw_arguments"}
_BARE: Final = 2
"""Fields of a part that is words and nothing else."""

_USAGE: Final = frozenset(Usage.model_fields)
_AS_THEY_ARE: Final = frozenset({str, int, bool, dict, list, ReadUsage})
_COUNTS: Final[tuple[object, ...]] = (dict, ReadUsage)
_NOTHING: Final[dict[str, Json]] = {}


def turn_document(
    role: Role, content: object, calls: Iterable[object], **facts: Any
) -> dict[str, Any]:
    """Return the document of a turn; what was given is part of it, and not copied.

    Args:
        role: Of the turn.
        content: Text, a part, or a list of them; None for no words. A part is one of ours or its
            document; an object of another type is kept as media.
        calls: What the turn asks for: calls of ours, or objects with ``name``, ``arguments`` and,
            if known, ``id`` and ``raw_arguments``.
        facts: Further fields of the turn; None leaves one out.

    Raises:
        InvalidOption: A role or call that cannot be used.
    """
    if role not in _ROLES:
        raise InvalidOption(f"role={role!r} is none of {', '.join(ORIGINS)}")
    facts["usage"] = usage_document(facts.get("usage"))
    document: dict[str, Any] = {
        "index": 0,
        "role": role,
        "origin": facts.pop("origin", None) or ORIGINS[role],
        "content": [_part(part) for part in _listed(content)],
        "calls": [_requested(call, place) for place, call in enumerate(calls)],
    }
    for key, value in facts.items():
        if value is not None:
            document[key] = value if type(value) in _AS_THEY_ARE else _plain(value)
    return document


def told_document(
    role: Role, content: Iterable[Any], calls: Iterable[Any], facts: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the document of a turn that was read in a message, where it is plain words and calls.

    Args:
        role: Of the turn.
        content: What was said, as parts of ours.
        calls: What the turn asks for, each with its id and name.
        facts: Further fields of the turn.

    Returns:
        What `turn_document` would; None for a turn that only that can tell of.
    """
    parts = list(content)
    usage = facts.get("usage")
    if not (usage is None or type(usage) is ReadUsage) or not all(map(_is_bare, parts)):
        return None
    asked = []
    for place, call in enumerate(calls):
        if not _is_settled_request(call):
            return None
        asked.append({"index": place, **call})
    origin = facts.pop("origin", None) or ORIGINS[role]
    document = {"index": 0, "role": role, "origin": origin, "content": parts, "calls": asked}
    for key, value in facts.items():
        if value is not None:
            document[key] = value if type(value) in _AS_THEY_ARE else _plain(value)
    return document


def is_settled(document: Mapping[str, Any]) -> bool:
    """Whether a turn's document surely is as the trace would write it: then none has to be built.

    Args:
        document: As `turn_document` made it. Its times are not looked at.
    """
    for key in _WORDS:
        if key in document and type(document[key]) is not str:
            return False
    for part in document["content"]:
        if not _is_bare(part):
            return False
    for call in document["calls"]:
        if type(call["id"]) is not str or type(call["name"]) is not str:
            return False
        if type(call.get("raw_arguments", "")) is not str:
            return False
    return "synthetic" not in document and _has_settled_facts(document)


def _has_settled_facts(document: Mapping[str, Any]) -> bool:
    settings, usage = document.get("settings", _NOTHING), document.get("usage", _NOTHING)
    origin = document["origin"]
    if type(origin) is not str or origin not in _ORIGINS:
        return False
    if type(settings) is not dict or type(usage) not in _COUNTS:
        return False
    for key, count in usage.items():
        if key in _USAGE and (type(count) is not int or key == "cost_usd"):
            return False
    return True


def _is_bare(part: Any) -> bool:
    return (
        len(part) == _BARE
        and part.get("type") in ("text", "reasoning")
        and type(part.get("text")) is str
    )


def turn_of(document: Mapping[str, Json]) -> Turn:
    """Build the turn of a document.

    Raises:
        InvalidTrace: A field of it has a wrong type.
    """
    try:
        return Turn.model_validate(document)
    except ValidationError as error:
        raise invalid_trace(error, "turn") from error


def requests_of(document: Mapping[str, Any], name: Callable[[str], str]) -> list[Request]:
    """Return what a turn's document asks for, for binding.

    Args:
        document: Of the turn.
        name: Masks the secrets in a name or id.
    """
    return [
        Request(
            name(call["id"]),
            name(call["name"]),
            call_key(name(call["name"]), call.get("arguments")),
        )
        for call in document["calls"]
    ]


def _listed(content: object) -> list[object]:
    if content is None:
        return []
    if isinstance(content, (list, tuple)):
        return list(content)
    return [content]


def _part(part: object) -> Json:
    if type(part) is dict and part.get("type") in _PARTS:
        return part
    if isinstance(part, str):
        return {"type": "text", "text": part}
    document = _plain(part)
    if isinstance(document, Mapping) and document.get("type") in _PARTS:
        return document
    return {"type": "media", "data": document}


def _requested(call: object, place: int) -> dict[str, Json]:
    if type(call) is dict and _is_settled_request(call):
        return {"index": place, **{k: v for k, v in call.items() if v is not UNKNOWN}}
    fields = _plain(call)
    if not isinstance(fields, Mapping):
        names = ("id", "name", "arguments", "raw_arguments")
        fields = {name: getattr(call, name) for name in names if hasattr(call, name)}
    fields = _flattened(fields, call)
    if not isinstance(fields.get("name"), str):
        raise InvalidOption(f"calls[{place}]={call!r} has no name; give name and arguments")
    found: dict[str, Json] = {
        "index": place,
        "id": _id_of(fields) or new_call_id(),
        "name": fields["name"],
    }
    if "arguments" in fields and fields["arguments"] is not UNKNOWN:
        found["arguments"] = fields["arguments"]
    if fields.get("raw_arguments") is not None:
        found["raw_arguments"] = fields["raw_arguments"]
    return found


def _is_settled_request(call: dict[Any, Any]) -> bool:
    """Whether a call says its id and its name, and nothing that we have another word for."""
    call_id, name = call.get("id"), call.get("name")
    if type(call_id) is not str or type(name) is not str or not call_id:
        return False
    return call.get("raw_arguments", "") is not None and call.keys() <= _ASKED


def _flattened(fields: Mapping[str, Any], call: object) -> Mapping[str, Any]:
    """Return a call of OpenAI's form, whose arguments are JSON text, in our form."""
    function = fields.get("function", getattr(call, "function", None))
    if "name" in fields or function is None:
        return fields
    asked = {
        name: function[name] if isinstance(function, Mapping) else getattr(function, name, None)
        for name in ("name", "arguments")
        if not isinstance(function, Mapping) or name in function
    }
    found = {"id": fields.get("id"), "name": asked.get("name")}
    arguments = asked.get("arguments")
    if not isinstance(arguments, str):
        return found if arguments is None else {**found, "arguments": arguments}
    try:
        return {**found, "arguments": parse_json(arguments, where="arguments")}
    except InvalidJSON:
        # What the model wrote is no JSON; it is kept as it wrote it.
        return {**found, "raw_arguments": arguments}


def _id_of(fields: Mapping[str, Any]) -> Any:
    given = fields.get("id")
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _plain(value: object) -> Any:
    if type(value) is datetime:
        # The fast writer refuses times, and one in each turn would make it useless.
        return value.isoformat().replace("+00:00", "Z")
    return plain(value) if isinstance(value, Record) else value
