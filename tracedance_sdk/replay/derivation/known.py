"""What is known of the records that calls are about, from the answers that came before.

A record is a JSON object in an answer. It belongs to a value (an order's number, a user's id) that
is an argument of the call which was answered, or one of its own fields. The latest one counts; a
write that may have changed it since makes it unknown again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from tracedance_sdk.replay.recordings import LEAST_CHARACTERS, Write, changed_by
from tracedance_sdk.trace import Json

_NESTING: Final = 3
_LEAST_FIELDS: Final = 2


class KnownRecord(NamedTuple):
    """A record, as an answer showed it.

    Attributes:
        value: The object.
        key: Canonical key of the call whose answer held it.
        place: Of that answer in the order in which answers came.
    """

    value: dict[str, Json]
    key: str
    place: int


class KnownRecords:
    """Records seen so far, by the values that they belong to."""

    def __init__(self) -> None:
        self._by_value: dict[str, list[KnownRecord]] = defaultdict(list)
        self._changed: dict[object, int] = {}
        self._n_answers = 0

    def add(self, key: str, arguments: Json, value: Json, *, write: Write | None = None) -> None:
        """Take note of an answer.

        Args:
            key: Canonical key of the call.
            arguments: Of the call.
            value: The answer, parsed.
            write: The call as a write that took effect; None for all others. What it may have
                changed is unknown from here on, but for what its own answer shows.
        """
        self._n_answers += 1
        place = self._n_answers
        if write is not None:
            self._change(write)
        asked = [v for v in named_values(arguments).values() if isinstance(v, str)]
        for depth, item in _objects(value):
            record = KnownRecord(item, key, place)
            names = {v for v in item.values() if is_name(v)}
            if depth == 0:
                names.update(asked)
            for name in names:
                self._by_value[name].append(record)

    def forget(self, write: Write) -> None:
        """Take note of a write whose answer is not known: what it may have changed is unknown."""
        self._n_answers += 1
        self._change(write)

    def _change(self, write: Write) -> None:
        for changed in write.subjects:
            self._changed[changed] = self._n_answers

    def about(self, name: str, fields: frozenset[str], *, other_than: str) -> KnownRecord | None:
        """Return the latest record of a value that has these fields; None where none is certain.

        Args:
            name: The value.
            fields: That the record must have.
            other_than: Canonical key of the call that asks: its own answers do not count.
        """
        for record in reversed(self._by_value.get(name, ())):
            if record.key != other_than and fields <= record.value.keys():
                return record if record.place >= self._changed.get(name, 0) else None
        return None

    def all_about(self, name: str, *, other_than: str) -> Iterator[KnownRecord]:
        """Yield the records of a value that are certain, the latest first."""
        for record in reversed(self._by_value.get(name, ())):
            if record.place < self._changed.get(name, 0):
                return
            if record.key != other_than:
                yield record


def named_values(arguments: Json) -> dict[str, Json]:
    """Return the arguments of a call that name something: texts that are long enough."""
    if not isinstance(arguments, dict):
        return {}
    return {key: value for key, value in arguments.items() if is_name(value)}


def is_name(value: Json) -> bool:
    """Whether a value may name a record."""
    return isinstance(value, str) and LEAST_CHARACTERS <= len(value) <= 200


def effective_write(key: str, name: str, arguments: Json) -> Write:
    """Return a call of a tool as a write that took effect."""
    return Write(key, changed_by(name, arguments), took_effect=True)


def _objects(value: Json) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the objects in an answer, outermost first, with their depth."""
    level = [value]
    for depth in range(_NESTING + 1):
        following: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                if len(item) >= _LEAST_FIELDS:
                    yield depth, item
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
        level = following
