"""The form in which each kind of Python value is written; the table stands in `values`.

Libraries are recognised through what the program has imported already; none is imported here.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import hashlib
import math
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, ValuesView
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from tracedance_sdk.recording.value_stubs import bytes_stub, object_stub, type_name
from tracedance_sdk.trace import Json, type_stub

MAX_ARRAY: Final = 1_000_000
"""Most items of a numpy array or rows times columns of a frame that are written out."""

_RETRIES: Final = 3
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1


class Fields(NamedTuple):
    """A value written as an object: its keys (of any type) and values."""

    pairs: list[tuple[Any, Any]]


class Items(NamedTuple):
    """A value written as an array; sorted by JSON text when it has no order of its own."""

    items: list[Any]
    is_ordered: bool = True


class Instead(NamedTuple):
    """A value written as another value in its place."""

    value: Any


Form = Fields | Items | Instead


def text_form(value: str) -> str:
    """Return text that UTF-8 can hold: lone surrogates are spelled out."""
    return str.encode(value, "utf-8", "backslashreplace").decode("utf-8")


def integer_form(value: int) -> Json:
    """Return an integer, or its stub beyond 64 bits."""
    if _INT_MIN <= value <= _INT_MAX:
        return int.__int__(value)
    try:
        return type_stub("int", int.__repr__(value))
    except ValueError:
        # The interpreter refuses decimal text of thousands of digits, but never hexadecimal.
        return type_stub("int", hex(value))


def float_form(value: float) -> Json:
    """Return a finite float, or its stub."""
    return float.__float__(value) if math.isfinite(value) else type_stub("float", repr(value))


def scalar_form(value: object) -> Json | None:
    """Return the form of a value that holds no others; None for every other value."""
    for kinds, form in _SCALARS:
        if isinstance(value, kinds):
            return form(value)
    return None


def compound_form(value: object) -> Form | None:
    """Return the parts of a value that holds others; None for every other value."""
    for attempt in range(_RETRIES):
        try:
            return _parts(value)
        except RuntimeError:
            # Another thread changed it between two items.
            if attempt == _RETRIES - 1:
                raise
    return None


def _parts(value: Any) -> Form | None:
    kind = type(value)
    if isinstance(value, enum.Enum):
        return Instead(value.value)
    if isinstance(value, tuple):
        names = getattr(kind, "_fields", None)
        if isinstance(names, tuple) and len(names) == len(value):
            return Fields(list(zip(names, value, strict=True)))
        return Items(list(value))
    if isinstance(value, (list, collections.deque, collections.UserList)):
        return Items(list(value))
    if isinstance(value, Mapping):
        return Fields(
            [(key, value[key]) for key in value] if kind is not dict else [*value.items()]
        )
    if isinstance(value, AbstractSet):
        # Keys and items of a mapping are sets with an order.
        return Items(list(value), is_ordered=not isinstance(value, (set, frozenset)))
    if isinstance(value, ValuesView):
        return Items(list(value))
    return _record_parts(value, kind) or _array_parts(value)


def _record_parts(value: Any, kind: type) -> Form | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _named_fields(value, [field.name for field in dataclasses.fields(value)])
    if "__pydantic_serializer__" in vars(kind) and hasattr(kind, "model_fields"):
        return _model_parts(value, kind)
    attributes = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return _named_fields(value, [attribute.name for attribute in attributes])
    names = getattr(kind, "__struct_fields__", None)
    if isinstance(names, tuple):
        return _named_fields(value, names)
    return None


def _named_fields(value: object, names: Iterable[str]) -> Fields:
    return Fields([(name, getattr(value, name)) for name in names if hasattr(value, name)])


def _model_parts(value: Any, kind: Any) -> Form:
    try:
        return Instead(value.model_dump(mode="python", warnings=False, serialize_as_any=True))
    except Exception:  # noqa: BLE001 - a model's own serializers may raise anything, on cycles too
        kept = [name for name, field in kind.model_fields.items() if not field.exclude]
        extra = value.__pydantic_extra__ or {}
        return Fields([*_named_fields(value, kept).pairs, *extra.items()])


def _array_parts(value: Any) -> Form | None:
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None:
        if isinstance(value, numpy.generic):
            plain = value.item()
            return Instead(object_stub(value) if isinstance(plain, numpy.generic) else plain)
        if isinstance(value, numpy.ndarray):
            return Instead(value.tolist() if value.size <= MAX_ARRAY else _array_stub(value))
    if pandas is not None:
        if isinstance(value, pandas.DataFrame) and value.size <= MAX_ARRAY:
            return Instead(value.to_dict(orient="split"))
        if isinstance(value, pandas.Series) and value.size <= MAX_ARRAY:
            parts = {"name": value.name, "index": list(value.index), "data": value.tolist()}
            return Instead(parts)
        columns = (pandas.Index, pandas.api.extensions.ExtensionArray)
        if isinstance(value, columns) and len(value) <= MAX_ARRAY:
            return Items(list(value))
    return None


def _array_stub(value: Any) -> Json:
    digest = hashlib.sha256(value.tobytes()).hexdigest()
    shown = f"array(shape={value.shape}, dtype={value.dtype}, sha256={digest})"
    return type_stub(type_name(value), shown)


def _duration(value: dt.timedelta) -> str:
    microseconds = value // dt.timedelta(microseconds=1)
    sign, size = ("-" if microseconds < 0 else ""), abs(microseconds)
    fraction = f".{size % 1_000_000:06d}".rstrip("0") if size % 1_000_000 else ""
    return f"{sign}PT{size // 1_000_000}{fraction}S"


_SCALARS: Final[tuple[tuple[Any, Callable[[Any], Json]], ...]] = (
    (str, text_form),
    (int, integer_form),
    (float, float_form),
    ((bytes, bytearray, memoryview), bytes_stub),
    ((dt.datetime, dt.date, dt.time), lambda value: value.isoformat()),
    (dt.timedelta, _duration),
    ((decimal.Decimal, uuid.UUID), str),
    (PurePath, lambda value: text_form(str(value))),
)
