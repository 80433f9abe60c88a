"""Tool definitions and tool calls of the chat-completions format, both ways."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.formats.leftovers import leftover, restored
from tracedance_sdk.formats.places import Misfit, Place, expect, field, optional
from tracedance_sdk.trace import (
    MAX_DEPTH,
    UNKNOWN,
    Json,
    Record,
    ToolDefinition,
    Unknown,
    parse_compact,
    parse_json,
    same_json,
)

_IN_ASCII: Final = json.JSONEncoder()
_IN_UNICODE: Final = json.JSONEncoder(ensure_ascii=False)

KEPT: Final = "openai_chat"
"""Field of our records that holds what of a chat message has no other place."""


def extra(record: Record) -> Json:
    """Return what the reader kept beside a record's own fields; None when nothing."""
    return record.__pydantic_extra__.get(KEPT) if record.__pydantic_extra__ else None


class RequestedCall(NamedTuple):
    """A call as an assistant message asks for it.

    Attributes:
        id: Empty where the message gives none.
        is_common: Whether writing the call gives the very entry it was read from.
    """

    id: str
    name: str
    arguments: Json
    raw_arguments: str | None = None
    is_common: bool = False


def tools_from_chat(tools: Json, place: Place) -> list[ToolDefinition]:
    """Return the definitions of a ``tools`` (or older ``functions``) list; null means none.

    Raises:
        InvalidTrace: No list, or an entry without a name.
    """
    entries = [] if tools is None else place.expect(tools, list)
    found: list[ToolDefinition] = []
    try:
        for entry in entries:
            found.append(_definition(entry))
    except Misfit as misfit:
        raise place.located(misfit.below(len(found))) from None
    return found


def _definition(item: Json) -> ToolDefinition:
    entry = expect(item, dict)
    kind = entry.get("type")
    inner = entry.get(kind) if isinstance(kind, str) else None
    if not isinstance(inner, dict):
        if "name" not in entry and isinstance(kind, str):
            # A tool the provider hosts, such as {"type": "web_search"}: its type is its name.
            return _with_leftover(ToolDefinition(name=kind), entry)
        inner, kind = entry, None
    try:
        definition = ToolDefinition(
            name=field(inner, "name", str),
            description=optional(inner, "description", str),
            parameters=optional(inner, "parameters", dict),
        )
    except Misfit as misfit:
        raise misfit.below(*([] if kind is None else [kind])) from None
    return _with_leftover(definition, entry)


def _with_leftover(definition: ToolDefinition, entry: dict[str, Any]) -> ToolDefinition:
    kept = leftover(written_tool(definition), entry)
    return definition.model_copy(update={KEPT: kept}) if kept else definition


def written_tool(definition: ToolDefinition) -> Json:
    """Return a definition as an entry of ``tools``."""
    function: dict[str, Any] = {"name": definition.name}
    if definition.description is not None:
        function["description"] = definition.description
    if definition.parameters is not None:
        function["parameters"] = definition.parameters
    return restored({"type": "function", "function": function}, extra(definition))


def requests_from_message(message: dict[str, Any]) -> list[RequestedCall]:
    """Return the calls of an assistant message: ``tool_calls``, else the older ``function_call``.

    Raises:
        Misfit: A call that is no object or has no name.
    """
    entries = optional(message, "tool_calls", list)
    found: list[RequestedCall] = []
    if entries:
        try:
            for entry in entries:
                found.append(_common_request(entry) or _request(entry))
        except Misfit as misfit:
            raise misfit.below("tool_calls", len(found)) from None
    elif (older := optional(message, "function_call", dict)) is not None:
        found.append(_function("", older, "function_call"))
    return found


def _common_request(entry: Json) -> RequestedCall | None:
    """Read a call as the API writes it, with arguments in compact JSON; None for any other."""
    if type(entry) is not dict or len(entry) != 3 or entry.get("type") != "function":
        return None
    call_id, function = entry.get("id"), entry.get("function")
    if type(call_id) is not str or not call_id or type(function) is not dict:
        return None
    name, text = function.get("name"), function.get("arguments")
    if type(name) is not str or type(text) is not str or len(function) != 2:
        return None
    arguments = parse_compact(text)
    if arguments is not UNKNOWN:
        return RequestedCall(call_id, name, arguments, None, True)
    arguments = _parse_spaced(text)
    return None if arguments is UNKNOWN else RequestedCall(call_id, name, arguments)


def _request(item: Json) -> RequestedCall:
    entry = expect(item, dict)
    call_id = optional(entry, "id", str) or ""
    custom = entry.get("custom")
    if isinstance(custom, dict) and "function" not in entry:
        return _custom(call_id, custom)
    is_plain = len(entry) == 3 and call_id != "" and entry.get("type") == "function"
    function = field(entry, "function", dict)
    return _function(call_id, function, "function", is_plain=is_plain)


def _custom(call_id: str, custom: dict[str, Any]) -> RequestedCall:
    try:
        text = optional(custom, "input", str)
        name = field(custom, "name", str)
    except Misfit as misfit:
        raise misfit.below("custom") from None
    return RequestedCall(call_id, name, UNKNOWN if text is None else text)


def _function(
    call_id: str, function: dict[str, Any], step: str, *, is_plain: bool = False
) -> RequestedCall:
    """Read a function to call; `is_plain` when writing its entry gives all that is around it."""
    try:
        name = field(function, "name", str)
    except Misfit as misfit:
        raise misfit.below(step) from None
    given = function.get("arguments")
    if not isinstance(given, str):
        return RequestedCall(call_id, name, UNKNOWN if given is None else given)
    arguments, raw_arguments, is_exact = _parsed(given)
    is_common = is_plain and is_exact and len(function) == 2
    return RequestedCall(call_id, name, arguments, raw_arguments, is_common)


def _parsed(text: str) -> tuple[Json, str | None, bool]:
    """Parse the arguments a model wrote.

    Returns:
        The value; the text where the value does not say the same: `UNKNOWN` with the text when
        it is no JSON; an empty text means no arguments. Of a key that stands twice the last
        counts, as it does for the tool. And whether writing both gives the text again.
    """
    value = parse_compact(text)
    if value is not UNKNOWN:
        return value, None, True
    if not text.strip():
        return {}, text, True
    try:
        value = parse_json(text, where="arguments")
    except InvalidJSON:
        return UNKNOWN, text, True
    if json_text(value) == text:
        return value, None, True
    if _says(text, value):
        return value, None, False
    return value, text, True


def _parse_spaced(text: str) -> Json | Unknown:
    """Return the value whose JSON as Python writes it is this text; `UNKNOWN` for any other.

    As for `parse_compact`, nothing is lost then; it is the other common spelling.
    """
    if len(text) > 2 * MAX_DEPTH:
        return UNKNOWN
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return UNKNOWN
    written = (_IN_ASCII if text.isascii() else _IN_UNICODE).encode(value)
    return value if written == text else UNKNOWN


def _says(text: str, value: Json) -> bool:
    """Whether text is the JSON of the value, spelled in some way, with no key standing twice."""
    try:
        exact = json.loads(text, object_pairs_hook=_unique_object)
    except (ValueError, RecursionError):
        return False
    return same_json(exact, value)


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def written_arguments(arguments: Json, raw_arguments: str | None = None) -> str:
    """Return the text of a call's arguments as a message holds it."""
    if raw_arguments is not None:
        return raw_arguments
    if arguments is UNKNOWN:
        return ""
    return json_text(arguments)


def json_text(value: Json) -> str:
    """Return a value as compact JSON text."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
