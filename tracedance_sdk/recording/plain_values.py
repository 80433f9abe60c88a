"""Copy any Python value into plain JSON values, with stubs where JSON has nothing.

The forms are listed in `tracedance_sdk.recording.values`.
"""

from __future__ import annotations

import enum
import itertools
import math
import uuid
from collections.abc import Container, Iterable
from typing import Any, Final

import orjson

from tracedance_sdk.recording.value_forms import (
    Fields,
    Form,
    Instead,
    compound_form,
    float_form,
    integer_form,
    scalar_form,
    text_form,
)
from tracedance_sdk.recording.value_stubs import fault_stub, object_stub, type_name
from tracedance_sdk.trace import Json, type_stub

_LEAVES: Final = frozenset({str, int, float, bool, type(None), uuid.UUID})


def holds_nonfinite(value: object) -> bool:
    """Whether a value the fast writer accepted holds NaN or an infinity.

    A member of an enumeration counts when its value does, since that is what was written.
    """
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            items: Iterable[Any] = item.values()
        elif isinstance(item, (list, tuple)):
            items = item
        else:
            items = (item.value if isinstance(item, enum.Enum) else item,)
        kinds = set(map(type, items))
        if float in kinds and not all(math.isfinite(x) for x in items if type(x) is float):
            return True
        if not kinds <= _LEAVES:
            pending.extend(x for x in items if type(x) not in _LEAVES and x is not item)
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
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a value's own methods may raise anything
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
        own = {key for key, _ in pairs if type(key) is str}
        found: dict[str, Json] = {}
        for key, item in pairs:
            if type(key) is str:
                name = text_form(key)
                found[name if name == key else _free(name, own | found.keys())] = self.of(item, depth)
            else:
                name = self._key_text(key)
                taken = own | found.keys()
                if name in taken:
                    name = _free(f"{name} ({type_name(key)})", taken)
                found[name] = self.of(item, depth)
        return found

    def _key_text(self, key: object) -> str:
        plain = self.of(key)
        return plain if isinstance(plain, str) else orjson.dumps(plain).decode()


def _free(name: str, taken: Container[str]) -> str:
    """Return the name, with a number appended when it is taken."""
    if name not in taken:
        return name
    return next(spelled for n in itertools.count(2) if (spelled := f"{name} {n}") not in taken)
