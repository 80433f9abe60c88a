"""Answers made up where no recording and no rule has one; each is stamped as simulated."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from itertools import islice
from typing import Final, NamedTuple, Protocol

from tracedance_sdk.replay.answers.answer import Nearest, Origin
from tracedance_sdk.replay.derivation import parsed
from tracedance_sdk.replay.recordings import Borrowed, Shelf
from tracedance_sdk.trace import Json, Result, same_json

N_NEAREST: Final = 3
_MOST_COMPARED: Final = 20_000


class MissedCall(NamedTuple):
    """A call without an answer."""

    name: str
    arguments: Json


class Simulated(NamedTuple):
    """An answer that was made up.

    Attributes:
        result: The answer.
        examples: The recordings that it was made after.
    """

    result: Result
    examples: tuple[Origin, ...] = ()


class Simulator(Protocol):
    """Makes up answers."""

    @property
    def name(self) -> str:
        """Its name in reports."""

    def simulate(
        self, call: MissedCall, shelf: Shelf
    ) -> Simulated | Awaitable[Simulated | None] | None:
        """Return an answer, or None where it has none; sync or async.

        Args:
            call: What is asked.
            shelf: The recordings that may be read.
        """


class NearestSimulator:
    """Copies the answer of the recorded call with most arguments in common."""

    name: Final = "nearest"

    def simulate(self, call: MissedCall, shelf: Shelf) -> Simulated | None:
        """Return that answer; None where the tool was never recorded."""
        ranked = _ranked(call, shelf)
        if not ranked:
            return None
        item = ranked[0][1]
        return Simulated(item.recording.result, (origin_of(item),))


class TemplateSimulator:
    """Takes the shape of recorded answers and fills in the call's own arguments.

    Fields that are called like an argument, or that held an argument's value in the recording, hold
    the value at hand; everything else stays as it was recorded.
    """

    name: Final = "template"

    def simulate(self, call: MissedCall, shelf: Shelf) -> Simulated | None:
        """Return such an answer; None where no call of the tool succeeded in a recording."""
        item = next(iter(good_examples(call, shelf, 1)), None)
        if item is None:
            return None
        recording = item.recording
        answer = parsed(recording.result)
        given = call.arguments if isinstance(call.arguments, dict) else {}
        before = recording.arguments if isinstance(recording.arguments, dict) else {}
        value = _refilled(answer.value, given, before)
        result = recording.result.model_copy(update={"content": answer.style.write(value)})
        return Simulated(result, (origin_of(item),))


def nearest_calls(call: MissedCall, shelf: Shelf, number: int = N_NEAREST) -> tuple[Nearest, ...]:
    """Return the recorded calls of the same tool that are most like one, each call once."""
    found: dict[str, Nearest] = {}
    for _, (conversation, recording) in _ranked(call, shelf):
        if len(found) == number:
            break
        differing = tuple(_differing(call.arguments, recording.arguments))
        near = Nearest(conversation.id, recording.arguments, differing)
        found.setdefault(recording.key, near)
    return tuple(found.values())


def good_examples(call: MissedCall, shelf: Shelf, number: int) -> list[Borrowed]:
    """Return recordings of the same tool that did not fail, the most like the call first."""
    good = (item for _, item in _ranked(call, shelf) if item.recording.result.ok is not False)
    return list(islice(good, number))


def origin_of(item: Borrowed) -> Origin:
    """Return where a recording lies."""
    conversation, recording = item
    return Origin(conversation.id, recording.turn, recording.ordinal, recording.n_writes)


def _ranked(call: MissedCall, shelf: Shelf) -> list[tuple[int, Borrowed]]:
    """Return recordings of a tool with the number of arguments that differ, the fewest first."""
    own = (Borrowed(shelf.own, r) for r in shelf.own.recordings if r.name == call.name)
    found: list[tuple[int, Borrowed]] = [
        (sum(1 for _ in _differing(call.arguments, item.recording.arguments)), item)
        for item in islice(_both(own, shelf.of_tool(call.name)), _MOST_COMPARED)
    ]
    return sorted(found, key=lambda pair: pair[0])


def _both(first: Iterator[Borrowed], second: Iterator[Borrowed]) -> Iterator[Borrowed]:
    yield from first
    yield from second


def _differing(one: Json, other: Json) -> Iterator[str]:
    if not isinstance(one, dict) or not isinstance(other, dict):
        if not same_json(one, other):
            yield "arguments"
        return
    for key in {**one, **other}:
        if key not in one or key not in other or not same_json(one[key], other[key]):
            yield key


def _refilled(value: Json, given: dict[str, Json], before: dict[str, Json], name: str = "") -> Json:
    if isinstance(value, dict):
        return {key: _refilled(item, given, before, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_refilled(item, given, before) for item in value]
    if name in given and not isinstance(given[name], (dict, list)):
        return given[name]
    return _replaced(value, given, before)


def _replaced(value: Json, given: dict[str, Json], before: dict[str, Json]) -> Json:
    """Return what stands now where an argument's value stood in the recording."""
    for key, old in before.items():
        if key not in given or isinstance(old, (dict, list)) or old in (None, "", True, False):
            continue
        if same_json(value, old):
            return given[key]
        if isinstance(value, str) and isinstance(old, str) and len(old) >= 5 and old in value:
            return value.replace(old, str(given[key]))
    return value
