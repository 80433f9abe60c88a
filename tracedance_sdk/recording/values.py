r"""Freeze any Python value as JSON bytes, now, so that later changes do not reach the record.

Values that JSON has are written as they are. Others take the form their users would write:

====================================  =====================================================
tuple, deque, dictionary view         array
set, frozenset                        array, sorted by the JSON text of the items
mapping, dataclass, attrs, msgspec,   object of the fields
named tuple, pydantic model
datetime, date, time                  ISO 8601 text
timedelta                             ISO 8601 duration in seconds, ``"PT90.5S"``
Decimal, UUID, Path                   text
Enum                                  its value
numpy scalar or array                 number, array (up to a million items)
pandas frame                          ``{"index": [..], "columns": [..], "data": [..]}``
pandas series                         ``{"name": .., "index": [..], "data": [..]}``
NaN, infinities                       ``{"$type": "float", "$repr": "nan"}``
integers beyond 64 bits               ``{"$type": "int", "$repr": "1180591620717411303424"}``
bytes, bytearray, memoryview          ``{"$type": "bytes", "$repr": "b'...'"}``
everything else, cycles, what lies    ``{"$type": "package.Class", "$repr": "..."}``
deeper than 199 levels
====================================  =====================================================

**Keys** that are not text become it: ``None``, booleans and numbers as in JSON (``"null"``,
``"1"``), others by the table above or their repr. Where two keys would become one, those that
were text keep it and the others get their type appended: ``{1: "a", "1": "b"}`` is
``{"1 (int)": "a", "1": "b"}``.

**Lone surrogates** in text are spelled out (``\udc80``). Memory addresses are left out of reprs,
so that the same value has the same record in every run.

**Cuts.** A repr over 64 Ki characters and bytes over 1 MiB are cut, and say so. The cut is made
before redaction can look at the text, so it falls between tokens: whatever token stands at the
edge is dropped whole. Redaction never has to recognise half a secret.

**Not bounded** is the time that a value's own methods take, nor the size of what is written for
one list that stands in a value many times: each place is written out.
"""

from __future__ import annotations

from typing import Final

import orjson

from tracedance_sdk.recording.hosts import is_meant_for_host
from tracedance_sdk.recording.plain_values import PlainCopy, holds_nonfinite
from tracedance_sdk.trace import type_stub

MAX_VALUE_DEPTH: Final = 200
"""Deepest nesting of arrays and objects in a frozen value; the last level is for stubs."""

_NATIVE: Final = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
_CONTAINER_LEVELS: Final = MAX_VALUE_DEPTH - 1
# orjson refuses more than 254 levels; inside this many lists it refuses what is too deep for us.
_WRAPPERS: Final = 254 - _CONTAINER_LEVELS


def freeze(value: object) -> bytes:
    """Return the JSON text of a value as it is now.

    Never raises, whatever the value's own methods do, except that KeyboardInterrupt and what
    signal handlers raise pass. A part that cannot be written becomes a type stub in its place; the
    rest is kept. The value is not changed and no iterator is consumed.

    Args:
        value: Any object.

    Returns:
        UTF-8 JSON without white space, nested at most `MAX_VALUE_DEPTH` levels.

    Example:
        >>> freeze({"tags": {"b", "a"}, "ratio": float("nan")})
        b'{"tags":["a","b"],"ratio":{"$type":"float","$repr":"nan"}}'
    """
    return frozen_fast(value) or _freeze_slowly(value)


def frozen_fast(value: object) -> bytes | None:
    """Return what `freeze` does, where that takes a look; None for values that need a closer one.

    Of what is made of dictionaries, lists, text and numbers alone, few do.
    """
    try:
        data = orjson.dumps(value, option=_NATIVE)
        if type(value) is str or (b"null" not in data and len(data) <= 2 * _CONTAINER_LEVELS):
            return data
        if _is_faithful(value, data):
            return data
    except BaseException as error:
        if is_meant_for_host(error):
            raise
    return None


def _is_faithful(value: object, data: bytes) -> bool:
    """Whether the fast writer changed nothing silently: no NaN turned null, not too deep."""
    if b"null" in data and holds_nonfinite(value):
        return False
    if data.count(b"[") + data.count(b"{") > _CONTAINER_LEVELS:
        for _ in range(_WRAPPERS):
            value = [value]
        orjson.dumps(value, option=_NATIVE)
    return True


def _freeze_slowly(value: object) -> bytes:
    try:
        return orjson.dumps(PlainCopy(max_depth=_CONTAINER_LEVELS).of(value))
    except (TypeError, ValueError, RecursionError):
        # Only when the program itself stands at the recursion limit.
        return orjson.dumps(type_stub("object", "not recorded: too little stack left"))
