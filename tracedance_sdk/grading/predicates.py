"""Conditions that may stand wherever a value is expected, written as objects with ``$`` keys.

======================================  ==========================================================
``{"$regex": "^[A-Z]+$"}``              text in which the RE2 pattern is found
``{"$glob": "*.csv"}``                  text that fits as a whole; ``*``, ``?`` and ``[a-z]``
``{"$range": {"min": 0, "max": 10}}``   a number from min to max; one of them is enough
``{"$one_of": ["a", "b"]}``             a value that fits at least one of these
``{"$contains": "a"}``                  a list with an element that fits, or a text with it inside
``{"$absent": true}``                   nothing at this place (``false``: anything)
``{"$not": ...}``                       a value that is there and does not fit
``{"$exact": ...}``                     equal both ways from here on
``{"$literal": ...}``                   the value itself, even where it has ``$`` keys
======================================  ==========================================================

Several in one object must all hold.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.errors import Problem
from tracedance_sdk.grading.matching import (
    ABSENT,
    Answer,
    Condition,
    Difference,
    Mode,
    Reading,
    answer,
    both,
    contrary,
    differences,
    either,
    number,
)
from tracedance_sdk.trace import (
    MASK,
    UNKNOWN,
    Json,
    blob_digest,
    is_masked,
    is_type_stub,
    is_unobserved,
    same_json,
)

_MOST_PATTERN: Final = 10_000
_MOST_REGEX_MEMORY: Final = 8 * 2**20
_MOST_PLACES: Final = 8


class Malformed(ValueError):
    """An expected value that cannot be used; `problems` have paths from that value."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def compile_expected(source: Json) -> Json:
    """Return an expected value with every condition ready to be asked.

    Args:
        source: The value as it stands in a specification.

    Raises:
        Malformed: A condition that does not exist or cannot be read.
    """
    problems: list[Problem] = []
    compiled = _compile(source, "", problems)
    if problems:
        raise Malformed(problems)
    return compiled


@lru_cache(maxsize=1_000)
def compile_regex(pattern: str) -> Any:
    """Return a compiled RE2 pattern: linear time, bounded memory.

    Raises:
        ValueError: No RE2 pattern, or one that is too long.
    """
    if len(pattern) > _MOST_PATTERN:
        raise ValueError(f"a pattern of {len(pattern):,} characters; at most {_MOST_PATTERN:,}")
    options = re2.Options()
    options.max_mem = _MOST_REGEX_MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        text = error.args[0] if error.args else error
        reason = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
        raise ValueError(f"{pattern!r} is no RE2 pattern: {reason}") from error


def glob_regex(pattern: str) -> str:
    """Return the RE2 pattern that matches as a whole what a glob matches."""
    parts = []
    place = 0
    while place < len(pattern):
        letter = pattern[place]
        # A bracket that comes first, or first after "!", stands for itself.
        inside = place + (3 if pattern[place + 1 : place + 2] == "!" else 2)
        closing = pattern.find("]", inside) if letter == "[" else -1
        if closing > 0:
            parts.append(_glob_class(pattern[place + 1 : closing]))
            place = closing
        else:
            parts.append({"*": ".*", "?": "."}.get(letter) or re2.escape(letter))
        place += 1
    return r"(?s)\A" + "".join(parts) + r"\z"


def has_operators(value: Json) -> bool:
    """Whether a plain value has ``$`` keys anywhere, so that it needs ``$literal``."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if any(key.startswith("$") for key in item):
                return True
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    return False


def literal(value: Json) -> Json:
    """Return the expected value that means a plain value, ``$`` keys and all."""
    return {"$literal": value} if has_operators(value) else value


def _glob_class(inside: str) -> str:
    negated = inside.startswith("!")
    letters = inside[1:] if negated else inside
    for special in ("\\", "[", "]", "^"):
        letters = letters.replace(special, f"\\{special}")
    return f"[{'^' if negated else ''}{letters}]"


class _All(Condition):
    __slots__ = ("parts",)

    def __init__(self, source: Json, parts: tuple[Condition, ...]) -> None:
        super().__init__(source)
        self.parts = parts

    def holds(self, actual: Json, mode: Mode) -> Answer:
        return both(part.holds(actual, mode) for part in self.parts)

    def readings(self, before: Json, after: Json, *, denied: bool = False) -> list[Reading]:
        if not denied:
            return [Reading(self.parts)]
        return [one for part in self.parts for one in part.readings(before, after, denied=True)]


class _Pattern(Condition):
    __slots__ = ("regex",)

    def __init__(self, source: Json, regex: Any) -> None:
        super().__init__(source)
        self.regex = regex

    def holds(self, actual: Json, mode: Mode) -> Answer:  # noqa: ARG002 - the protocol's
        if actual is ABSENT:
            return False
        if is_unobserved(actual):
            return None
        return isinstance(actual, str) and self.regex.search(_encodable(actual)) is not None


class _Range(Condition):
    __slots__ = ("high", "low")

    def __init__(self, source: Json, low: float, high: float) -> None:
        super().__init__(source)
        self.low, self.high = low, high

    def holds(self, actual: Json, mode: Mode) -> Answer:  # noqa: ARG002 - the protocol's
        if actual is ABSENT:
            return False
        if is_unobserved(actual):
            return None
        value = number(actual)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high


class _OneOf(Condition):
    __slots__ = ("choices",)

    def __init__(self, source: Json, choices: list[Json]) -> None:
        super().__init__(source)
        self.choices = choices

    def holds(self, actual: Json, mode: Mode) -> Answer:
        return either(answer(differences(actual, item, mode=mode)) for item in self.choices)

    def readings(self, before: Json, after: Json, *, denied: bool = False) -> list[Reading]:  # noqa: ARG002 - the protocol's
        if denied:
            return [Reading(tuple(_Not(item, item) for item in self.choices))]
        met = [item for item in self.choices if answer(differences(after, item)) is not False]
        return [Reading((item,)) for item in met or self.choices]


class _Contains(Condition):
    __slots__ = ("expected",)

    def __init__(self, source: Json, expected: Json) -> None:
        super().__init__(source)
        self.expected = expected

    def holds(self, actual: Json, mode: Mode) -> Answer:
        if isinstance(actual, str):
            return self._stands_in(actual)
        if isinstance(actual, (list, tuple)):
            below: Mode = "exact" if mode == "input" else mode
            return either(answer(differences(item, self.expected, mode=below)) for item in actual)
        return None if is_unobserved(actual) else False

    def readings(self, before: Json, after: Json, *, denied: bool = False) -> list[Reading]:
        old = before if isinstance(before, list) else []
        if not isinstance(after, list):
            return [Reading(() if denied else (None,))]
        if denied:
            places = self._places(old, after)
            lists = tuple(_only_at(place, self.expected) for place in _kept(places, old, after))
            return [Reading(gone=frozenset(places)), Reading(lists)]
        places = self._places(after, old)[:_MOST_PLACES]
        created = [Reading(new=place) for place in places]
        if isinstance(before, list):
            kept = _kept(places, old, after)
            changed = [Reading((_only_at(place, self.expected),)) for place in kept]
            return [Reading(), *created, *changed]
        # A list that was not there before is expected as a whole when it is one of scalars.
        described = isinstance(self.expected, (dict, list, Condition))
        return created if created and described else [Reading((None,))]

    def _places(self, items: list[Json], others: list[Json]) -> list[int]:
        """Return where elements stand that fit, or may fit, and that the other list has not."""
        return [
            place
            for place, item in enumerate(items)
            if not (place < len(others) and same_json(item, others[place]))
            and answer(differences(item, self.expected)) is not False
        ]

    def _stands_in(self, text: str) -> Answer:
        if not isinstance(self.expected, str):
            return None if is_unobserved(text) else False
        if is_masked(self.expected):
            return None
        # Words beside a masked secret are certain; words that are not there may be part of it.
        if any(self.expected in part for part in MASK.split(text)):
            return True
        return None if is_masked(text) else False


class _Absent(Condition):
    __slots__ = ("wanted",)

    def __init__(self, source: Json, wanted: bool) -> None:
        super().__init__(source)
        self.wanted = wanted

    def holds(self, actual: Json, mode: Mode) -> Answer:  # noqa: ARG002 - the protocol's
        if actual is UNKNOWN:
            return None
        return (actual is ABSENT) is self.wanted

    def readings(self, before: Json, after: Json, *, denied: bool = False) -> list[Reading]:  # noqa: ARG002 - the protocol's
        # Where nothing must be, or anything may be, no part is left to speak of.
        return [Reading((None,))]


class _Not(Condition):
    __slots__ = ("expected",)

    def __init__(self, source: Json, expected: Json) -> None:
        super().__init__(source)
        self.expected = expected

    def holds(self, actual: Json, mode: Mode) -> Answer:
        if actual is ABSENT:
            return False
        return contrary(answer(differences(actual, self.expected, mode=mode)))

    def readings(self, before: Json, after: Json, *, denied: bool = False) -> list[Reading]:
        expected = self.expected
        if denied:
            return [Reading((expected,))]
        if isinstance(expected, Condition):
            return expected.readings(before, after, denied=True)
        alike = isinstance(expected, (dict, list)) and type(expected) is type(after)
        return [Reading((expected,) if alike else ())]


class _Within(Condition):
    """``$exact`` and ``$literal``: another expected value, compared in a mode of its own."""

    __slots__ = ("expected", "mode")

    def __init__(self, source: Json, expected: Json, mode: Mode | None = None) -> None:
        super().__init__(source)
        self.expected, self.mode = expected, mode

    def holds(self, actual: Json, mode: Mode) -> Answer:
        return answer(self.differences(actual, mode, ""))

    def differences(self, actual: Json, mode: Mode, path: str) -> Iterator[Difference]:
        yield from differences(actual, self.expected, mode=self.mode or mode, path=path)

    def readings(self, before: Json, after: Json, *, denied: bool = False) -> list[Reading]:  # noqa: ARG002 - the protocol's
        # The very value leaves nothing unspoken of, even where more would be allowed.
        whole = answer(differences(after, self.expected, mode="exact")) is True
        return [Reading((None if whole and not denied else self.expected,))]


def _kept(places: list[int], before: list[Json], after: list[Json]) -> list[int]:
    """Return the places where the same record stands as before, with other fields."""
    return [
        place
        for place in places
        if place < min(len(before), len(after)) and _same_record(before[place], after[place])
    ]


def _same_record(old: Json, new: Json) -> bool:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    if "id" in old or "id" in new:
        return "id" in old and "id" in new and same_json(old["id"], new["id"])
    return any(key in new and same_json(item, new[key]) for key, item in old.items())


def _only_at(place: int, expected: Json) -> list[Json]:
    """Return a list that speaks of one place only."""
    return [*[ABSENT] * place, expected]


def _compile(source: Json, path: str, problems: list[Problem]) -> Json:
    if isinstance(source, dict):
        return _compile_object(source, path, problems)
    if isinstance(source, (list, tuple)):
        return [_compile(item, f"{path}[{i}]", problems) for i, item in enumerate(source)]
    return source


def _compile_object(source: dict[str, Json], path: str, problems: list[Problem]) -> Json:
    if is_type_stub(source):
        return number(source)
    if blob_digest(source) is not None:
        problems.append(Problem("a value kept elsewhere cannot be expected; write it out", path))
        return source
    if not any(str(key).startswith("$") for key in source):
        return {str(key): _compile(item, f"{path}.{key}", problems) for key, item in source.items()}
    conditions = tuple(_operators(source, path, problems))
    if len(conditions) == 1:
        return conditions[0]
    return _All(source, conditions)


def _operators(source: dict[str, Json], path: str, problems: list[Problem]) -> Iterator[Condition]:
    for key, operand in source.items():
        make = _OPERATORS.get(key)
        if make is None:
            problems.append(Problem(_unknown(key), path))
            continue
        try:
            yield make({key: operand}, operand, f"{path}.{key}", problems)
        except ValueError as error:
            problems.append(Problem(str(error), f"{path}.{key}"))


def _unknown(key: str) -> str:
    if not key.startswith("$"):
        return f"the key {key!r} stands beside a condition; put plain values under '$literal'"
    near = difflib.get_close_matches(key, _OPERATORS, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_OPERATORS)}"
    return f"unknown condition {key!r}; {meant}"


def _text(operand: Json) -> str:
    if isinstance(operand, str):
        return operand
    raise ValueError(f"a pattern is text, not {operand!r}")


def _regex(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:  # noqa: ARG001
    return _Pattern(source, compile_regex(_text(operand)))


def _glob(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:  # noqa: ARG001
    pattern = glob_regex(_text(operand))
    try:
        return _Pattern(source, compile_regex(pattern))
    except ValueError as error:
        raise ValueError(f"{operand!r} is no glob") from error


def _range(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:  # noqa: ARG001
    if not isinstance(operand, dict) or not operand or set(operand) - {"min", "max"}:
        raise ValueError(f"a range is an object with 'min', 'max' or both, not {operand!r}")
    low, high = (
        number(operand.get("min", -math.inf)),
        number(operand.get("max", math.inf)),
    )
    for bound in (low, high):
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or math.isnan(bound):
            raise ValueError(f"a bound is a number, not {bound!r}")
    if low > high:
        raise ValueError(f"the range is empty: min {low!r} is above max {high!r}")
    return _Range(source, low, high)


def _one_of(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:
    if not isinstance(operand, (list, tuple)) or not operand:
        raise ValueError(f"a list of at least one value is needed, not {operand!r}")
    return _OneOf(source, _compile(operand, path, problems))


def _contains(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:
    return _Contains(source, _compile(operand, path, problems))


def _absent(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:  # noqa: ARG001
    if operand is True or operand is False:
        return _Absent(source, operand)
    raise ValueError(f"true or false is needed, not {operand!r}")


def _not(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:
    return _Not(source, _compile(operand, path, problems))


def _exact(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:
    return _Within(source, _compile(operand, path, problems), "exact")


def _literal(source: Json, operand: Json, path: str, problems: list[Problem]) -> Condition:  # noqa: ARG001
    return _Within(source, operand)


_OPERATORS: Final[dict[str, Callable[[Json, Json, str, list[Problem]], Condition]]] = {
    "$regex": _regex,
    "$glob": _glob,
    "$range": _range,
    "$one_of": _one_of,
    "$contains": _contains,
    "$absent": _absent,
    "$not": _not,
    "$exact": _exact,
    "$literal": _literal,
}


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
