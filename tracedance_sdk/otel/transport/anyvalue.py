"""Values of OTLP attributes, written in either of the two spellings of protobuf's JSON."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.otel.foreign import finite, read_list, read_object, whole
from tracedance_sdk.trace import Json, type_stub

_MOST_DEPTH: Final = 80


def read_attributes(listed: Json) -> dict[str, Json]:
    """Return an attribute list as an object; an object is taken as it is.

    Entries that are no attributes are left out, and so are those without a value.
    """
    if isinstance(listed, dict):
        return listed
    found: dict[str, Json] = {}
    for item in read_list(listed):
        key = item.get("key") if isinstance(item, dict) else None
        if isinstance(key, str) and item.get("value") not in (None, {}):
            found[key] = read_value(item["value"])
    return found


def read_value(value: Json, depth: int = 0) -> Json:
    """Return an OTLP value as plain JSON; bytes stay base64 text.

    Values nested deeper than any program writes them become a stub.
    """
    if not isinstance(value, dict) or len(value) != 1:
        return None if value == {} else value
    [(kind, inner)] = value.items()
    read = _READERS.get(kind)
    if read is None:
        return value
    if depth >= _MOST_DEPTH:
        return type_stub("otlp", "nested too deeply")
    return read(inner, depth)


def _text(value: Json, _depth: int) -> Json:
    return value if isinstance(value, str) else ""


def _boolean(value: Json, _depth: int) -> Json:
    return value if isinstance(value, bool) else str(value).lower() == "true"


def _integer(value: Json, _depth: int) -> Json:
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 40:
        return whole(int(value))
    return value if type(value) is int else None


def _double(value: Json, _depth: int) -> Json:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    try:
        return finite(float(value)) if isinstance(value, str) else value
    except ValueError:
        return None


def _array(value: Json, depth: int) -> Json:
    return [read_value(item, depth + 1) for item in read_list(read_object(value).get("values"))]


def _pairs(value: Json, depth: int) -> Json:
    found: dict[str, Json] = {}
    for pair in read_list(read_object(value).get("values")):
        if isinstance(pair, dict) and isinstance(pair.get("key"), str):
            found[pair["key"]] = read_value(pair.get("value", {}), depth + 1)
    return found


_READERS: Final[dict[str, Any]] = {
    "stringValue": _text,
    "string_value": _text,
    "boolValue": _boolean,
    "bool_value": _boolean,
    "intValue": _integer,
    "int_value": _integer,
    "doubleValue": _double,
    "double_value": _double,
    "arrayValue": _array,
    "array_value": _array,
    "kvlistValue": _pairs,
    "kvlist_value": _pairs,
    "bytesValue": _text,
    "bytes_value": _text,
}
