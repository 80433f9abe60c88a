"""Compare a recorded value with an expected one: yes, no, or no answer.

A comparison is a list of differences: none means yes, a certain one means no, and only uncertain
ones mean that there is no answer, because a needed value is unknown, masked or kept elsewhere.

Three modes:

* ``partial``: objects may hold more keys than expected, at any depth; lists are compared by
  position and may be longer; ``{}`` fits every object and every list;
* ``exact``: equal both ways;
* ``input``: the top level may hold more keys, below it ``exact``.

Scalars are compared without coercion: ``1`` equals ``1.0``, ``True`` is no number, NaN equals
NaN, ``0.0`` and ``-0.0`` differ. An object never fits a list, nor a list an object.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    is_masked,
    is_type_stub,
    is_unobserved,
    join,
    same_scalar,
)

Mode = Literal["partial", "exact", "input"]

_PLAIN: Final = frozenset((bool, int, type(None)))
_MARK: Final = "[MASKED:"
_STUB_KEYS: Final = frozenset(("$blob", "$type"))

Answer = bool | None
"""True, False, or None where the evidence does not tell."""


class Absent(enum.Enum):
    """The type of `ABSENT`, the marker for a key that is not there."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class Difference(NamedTuple):
    """A place where a value is not, or may not be, as expected.

    Attributes:
        path: JSON Pointer from the compared value.
        expected: `ABSENT` where there should be nothing.
        found: `ABSENT` where there is nothing.
        certain: False when the values may or may not agree.
    """

    path: str
    expected: Json
    found: Json
    certain: bool = True


class Condition:
    """A condition that stands where a value is expected, such as a regular expression.

    Attributes:
        source: The condition as it stands in a specification.
    """

    __slots__ = ("source",)

    def __init__(self, source: Json) -> None:
        self.source = source

    def holds(self, actual: Json, mode: Mode) -> Answer:
        """Whether the condition holds of a value, which may be `ABSENT` or unobserved."""
        raise NotImplementedError

    def differences(self, actual: Json, mode: Mode, path: str) -> Iterator[Difference]:
        """Yield where a value does not, or may not, meet the condition."""
        held = self.holds(actual, mode)
        if held is not True:
            yield Difference(path, self.source, actual, held is False)

    def readings(self, before: Json, after: Json, *, denied: bool = False) -> list[Reading]:  # noqa: ARG002 - for those that say more
        """Return what the condition says of the parts of an object or list; one of these holds.

        Args:
            before: What stood at the place.
            after: What stands there now.
            denied: Return what the contrary of the condition says.
        """
        # A condition on scalars: of an object it says only that it is none.
        return [Reading(() if denied else (None,))]


class Reading(NamedTuple):
    """One way to read a condition on an object or list: which of its parts it speaks of.

    Attributes:
        nodes: Expected values that speak of the place; a scalar speaks of all of it.
        new: Index of an element of the list now that is expected as a whole.
        gone: Indices of elements of the list before that are not to be there any more.
    """

    nodes: tuple[Json, ...] = ()
    new: int | None = None
    gone: frozenset[int] = frozenset()


def differences(
    actual: Json, expected: Json, *, mode: Mode = "partial", path: str = ""
) -> list[Difference]:
    """Return every place where `actual` is not, or may not be, as expected.

    Args:
        actual: The recorded value; `ABSENT` when there is none.
        expected: The expected value, with conditions already compiled (see `Expected`).
        mode: See the module.
        path: JSON Pointer of the place, for the differences.
    """
    found: list[Difference] = []
    _compare(actual, expected, mode, (path, None), found)
    return found


_Place = tuple[Any, "str | int | None"]
"""The place above and the step from it; the outermost is a pointer and None."""


def _pointer(place: _Place) -> str:
    """Return a place as a pointer, which most places never need."""
    steps = []
    while place[1] is not None:
        steps.append(place[1])
        place = place[0]
    pointer: str = place[0]
    for step in reversed(steps):
        pointer = join(pointer, step)
    return pointer


def _compare(
    actual: Json, expected: Json, mode: Mode, place: _Place, found: list[Difference]
) -> None:
    if isinstance(expected, Condition):
        found.extend(expected.differences(actual, mode, _pointer(place)))
    elif actual is ABSENT:
        found.append(Difference(_pointer(place), source_of(expected), ABSENT))
    elif is_unobserved(actual) or is_unobserved(expected):
        found.append(Difference(_pointer(place), source_of(expected), actual, certain=False))
    else:
        actual, expected = number(actual), number(expected)
        if isinstance(expected, dict):
            _compare_object(actual, expected, mode, place, found)
        elif isinstance(expected, (list, tuple)):
            _compare_list(actual, expected, mode, place, found)
        elif not same_scalar(actual, expected):
            found.append(Difference(_pointer(place), expected, actual))


def answer(found: Iterable[Difference]) -> Answer:
    """Return what a comparison says as a whole."""
    unsure = False
    for difference in found:
        if difference.certain:
            return False
        unsure = True
    return None if unsure else True


def plain_answer(actual: Json, expected: Json) -> Answer:
    """Return the answer for two plain scalars of one type; None when it takes a closer look."""
    kind = type(actual)
    if kind is not type(expected):
        return None
    if kind is str:
        return None if _MARK in actual or _MARK in expected else bool(actual == expected)
    return bool(actual == expected) if kind in _PLAIN else None


def holds(actual: Json, expected: Json, *, mode: Mode = "partial") -> Answer:
    """Return what comparing two values says as a whole, by the short way where there is one."""
    quick = plain_answer(actual, expected)
    if quick is None and mode != "exact":
        quick = _plain_fields(actual, expected)
    return answer(differences(actual, expected, mode=mode)) if quick is None else quick


def _plain_fields(actual: Json, expected: Json) -> Answer:
    """Return the answer for objects whose expected fields are plain scalars; else None."""
    if type(actual) is not dict or type(expected) is not dict or not expected:
        return None
    if not _STUB_KEYS.isdisjoint(actual) or not _STUB_KEYS.isdisjoint(expected):
        return None
    for key, item in expected.items():
        plain = plain_answer(actual.get(key, ABSENT), item)
        if plain is not True:
            return plain
    return True


def both(answers: Iterable[Answer]) -> Answer:
    """Return whether all hold: False as soon as one certainly does not."""
    unsure = False
    for item in answers:
        if item is False:
            return False
        unsure = unsure or item is None
    return None if unsure else True


def either(answers: Iterable[Answer]) -> Answer:
    """Return whether any holds: True as soon as one certainly does."""
    unsure = False
    for item in answers:
        if item is True:
            return True
        unsure = unsure or item is None
    return None if unsure else False


def contrary(found: Answer) -> Answer:
    """Return the negation; no answer stays none."""
    return None if found is None else not found


def source_of(expected: Json) -> Json:
    """Return an expected value as it stands in the specification."""
    if isinstance(expected, Condition):
        return expected.source
    if isinstance(expected, dict):
        return {key: source_of(item) for key, item in expected.items()}
    if isinstance(expected, (list, tuple)):
        return [source_of(item) for item in expected]
    return expected


def number(value: Json) -> Json:
    """Return the number that a type stub stands for (NaN, infinities, long integers)."""
    if not isinstance(value, dict) or "$type" not in value or not is_type_stub(value):
        return value
    try:
        if value["$type"] == "float":
            return float(value["$repr"])
        if value["$type"] == "int":
            return int(value["$repr"])
    except (TypeError, ValueError):
        pass
    return value


def reported(value: Json) -> Json:
    """Return a compared value for evidence: `UNKNOWN` where there is none."""
    return UNKNOWN if value is ABSENT else value


def _compare_object(
    actual: Json, expected: dict[str, Json], mode: Mode, place: _Place, found: list[Difference]
) -> None:
    if not isinstance(actual, dict):
        fits_anything = mode != "exact" and not expected and isinstance(actual, (list, tuple))
        if not fits_anything:
            found.append(Difference(_pointer(place), source_of(expected), actual))
        return
    below: Mode = "exact" if mode == "input" else mode
    missing = False
    for key, item in expected.items():
        value = actual.get(key, ABSENT)
        if plain_answer(value, item) is True:
            continue
        if value is ABSENT:
            missing = True
            if is_masked(key) or any(map(is_masked, actual)):
                # A masked key may be this one.
                found.append(Difference(_pointer((place, key)), source_of(item), ABSENT, False))
                continue
        _compare(value, item, below, (place, key), found)
    if mode == "exact":
        veiled = missing and any(is_masked(key) for key in expected if key not in actual)
        found.extend(
            Difference(
                _pointer((place, key)), ABSENT, item, not (veiled or (missing and is_masked(key)))
            )
            for key, item in actual.items()
            if key not in expected
        )


def _compare_list(
    actual: Json,
    expected: list[Json] | tuple[Json, ...],
    mode: Mode,
    place: _Place,
    found: list[Difference],
) -> None:
    if not isinstance(actual, (list, tuple)):
        found.append(Difference(_pointer(place), source_of(expected), actual))
        return
    below: Mode = "exact" if mode == "input" else mode
    for index, item in enumerate(expected):
        value = actual[index] if index < len(actual) else ABSENT
        if plain_answer(value, item) is not True:
            _compare(value, item, below, (place, index), found)
    if mode == "exact":
        found.extend(
            Difference(_pointer((place, index)), ABSENT, actual[index])
            for index in range(len(expected), len(actual))
        )
