"""Copy any Python value into plain JSON values, with stubs where JSON has nothing.

The forms are listed in `tracedance_sdk.recording.values`.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Container
from typing import Any

import orjson

from tracedance_sdk.recording.hosts import is_meant_for_host
from tracedance_sdk.recording.value_forms import (
    Fields,
    Form,
    Instead,
    compound_form,
    scalar_form,
    text_form,
)
from tracedance_sdk.recording.value_stubs import fault_stub, object_stub, type_name
from tracedance_sdk.trace import Json, type_stub


def holds_nonfinite(value: Any) -> bool:
    """Whether a value the fast writer accepted holds NaN or an infinity.

    A member of an enumeration counts when its value does, since that is what was written.
    """
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        value = (value.value if isinstance(value, enum.Enum) else value,)
    for item in value:
        kind = type(item)
        if kind is str or kind is int or item is None:
            continue
        if kind is float:
            if not math.isfinite(item):
                return True
        elif isinstance(item, (dict, list, tuple, enum.Enum)) and holds_nonfinite(item):
            return True
    return False


class PlainCopy:
    """One copying of one value; knows the containers it stands in, to notice cycles."""

    def __init__(self, *, max_depth: int) -> None:
        self._open: set[int] = set()
        self._max_depth = max_depth

    def of(self, value: object, depth: int = 0) -> Json:
        """Return the plain copy of a value that stands inside `depth` containers."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return text_form(str(value))
        try:
            return self._odd(value, depth)
        except BaseException as error:
            if is_meant_for_host(error):
                raise
            return fault_stub(value, error)

    def _odd(self, value: object, depth: int) -> Json:
        if not isinstance(value, enum.Enum):
            scalar = scalar_form(value)
            if scalar is not None:
                return scalar
        if id(value) in self._open:
            return type_stub(type_name(value), "contains itself")
        form = compound_form(value)
        if form is None:
            return object_stub(value)
        self._open.add(id(value))
        try:
            return self._parts(form, value, depth)
        finally:
            self._open.discard(id(value))

    def _parts(self, form: Form, value: object, depth: int) -> Json:
        if isinstance(form, Instead):
            return self.of(form.value, depth)
        if depth >= self._max_depth:
            return type_stub(type_name(value), "nested too deeply")
        if isinstance(form, Fields):
            return self._object(form.pairs, depth + 1)
        items = [self.of(item, depth + 1) for item in form.items]
        return items if form.is_ordered else sorted(items, key=orjson.dumps)

    def _object(self, pairs: list[tuple[Any, Any]], depth: int) -> dict[str, Json]:
        taken = {key for key, _ in pairs if type(key) is str}
        found: dict[str, Json] = {}
        for key, item in pairs:
            name = self._key_text(key)
            if name is not key:
                if name in taken:
                    name = _free(name if type(key) is str else f"{name} ({type_name(key)})", taken)
                taken.add(name)
            found[name] = self.of(item, depth)
        return found

    def _key_text(self, key: object) -> str:
        if type(key) is str:
            return key if key.isascii() else _same_or(key, text_form(key))
        plain = self.of(key)
        return plain if isinstance(plain, str) else orjson.dumps(plain).decode()


def _same_or(key: str, spelled: str) -> str:
    """Return the key itself when spelling it out changed nothing."""
    return key if key == spelled else spelled


def _free(name: str, taken: Container[str]) -> str:
    """Return the name, with a number appended when it is taken."""
    if name not in taken:
        return name
    return next(spelled for n in itertools.count(2) if (spelled := f"{name} {n}") not in taken)
