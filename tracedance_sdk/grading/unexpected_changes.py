"""The frame condition: nothing changed but what was to change."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.grading.criterion import SpecPart
from tracedance_sdk.grading.expected import Expected
from tracedance_sdk.grading.final_state import MOST_DIFFERENCES, FinalState, PointerPattern
from tracedance_sdk.grading.grades import Finding, brief
from tracedance_sdk.grading.matching import (
    ABSENT,
    Condition,
    Reading,
    contrary,
    either,
    reported,
)
from tracedance_sdk.grading.run_view import RunView, holds_opaque
from tracedance_sdk.grading.verdicts import Severity
from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    Operation,
    covers,
    diff,
    is_opaque,
    is_unobserved,
    join,
    same_json,
    split,
)

TYPE: Final = "unexpected_changes"
MOST_COMBINATIONS: Final = 256
"""Most combinations of acceptable ends over all final-state criteria of a specification."""

_MOST_READINGS: Final = 1_000
_RANKS: Final[dict[Severity, int]] = {"minor": 0, "major": 1, "critical": 2}


class UnexpectedChanges(SpecPart):
    """Nothing else changed: every change of the state is one the final-state criteria speak of.

    A record that the expected state describes in part, and that was not there before, is expected
    as a whole. A change that was undone is none.

    Attributes:
        allow_changes: Places that may change, with all below them.
        ignore_paths: The same; for places that are no one's business, such as time stamps.
        severity: Of an unexpected change.
    """

    allow_changes: tuple[PointerPattern, ...] = ()
    ignore_paths: tuple[PointerPattern, ...] = ()
    severity: Severity = "major"


class Change(NamedTuple):
    """One place where the state changed.

    Attributes:
        before: `ABSENT` when there was nothing.
        after: `ABSENT` when nothing is left.
        certain: False when the two values may be the same.
    """

    path: str
    before: Json
    after: Json
    certain: bool = True


def frame_findings(
    frame: UnexpectedChanges, criteria: Sequence[FinalState], run: RunView
) -> Iterator[Finding]:
    """Yield the changes that no criterion speaks of.

    Args:
        frame: What may change besides.
        criteria: The final-state criteria; with several acceptable ends, the changes are held
            against the ends that were reached.
        run: A run whose initial state is known.
    """
    if run.final_state is UNKNOWN:
        yield Finding(run.evidence("the final state was not recorded"), certain=False)
        return
    ends_of = (_speaking(criterion, frame, run.final_state) for criterion in criteria)
    choices = [ends for ends in ends_of if ends]
    allowed = (*frame.allow_changes, *frame.ignore_paths)
    best: list[Change] | None = None
    for ends in itertools.product(*choices):
        best = _lighter(best, _changes(run.initial_state, run.final_state, ends, allowed))
        if not best:
            return
    for change in (best or [])[:MOST_DIFFERENCES]:
        yield Finding(_evidence(run, change), change.certain)


def _lighter(best: list[Change] | None, found: list[Change]) -> list[Change]:
    return found if best is None or _weight(found) < _weight(best) else best


def _weight(found: list[Change]) -> tuple[int, int]:
    return sum(change.certain for change in found), len(found)


class _End(NamedTuple):
    """An acceptable end; `whole` when it leaves no place unspoken of."""

    expected: Expected
    whole: bool
    ignored: tuple[str, ...]


def _speaking(criterion: FinalState, frame: UnexpectedChanges, state: Json) -> list[_End]:
    """Return the acceptable ends that were, or may have been, reached; if none, all.

    A criterion that is not met speaks of nothing when its violation counts for less than an
    unexpected change does: it would hide one.
    """
    answers = [(criterion.accepts(item, state), item) for item in criterion.acceptable]
    met = either(found for found, _ in answers)
    met = contrary(met) if criterion.negate else met
    outweighs = _RANKS[criterion.severity] >= _RANKS[frame.severity]
    if met is not True and not outweighs:
        return []
    exact = criterion.match == "exact"
    return [
        # Deep equality already speaks of every place.
        _End(
            item,
            whole=exact and not criterion.negate and found is not None,
            ignored=criterion.ignore_paths if exact else (),
        )
        for found, item in ([pair for pair in answers if pair[0] is not False] or answers)
    ]


def _evidence(run: RunView, change: Change) -> Any:
    place = f"{change.path or 'the whole state'}{_record_name(change.path, run.final_state)}"
    if not change.certain:
        text = (
            f"{place} may have changed: it is masked, kept elsewhere or an object not written out"
        )
    elif change.before is ABSENT:
        text = f"{place} was created: {brief(change.after)}"
    elif change.after is ABSENT:
        text = f"{place} was removed; it was {brief(change.before)}"
    else:
        text = f"{place} changed from {brief(change.before)} to {brief(change.after)}"
    return run.evidence(
        text, path=change.path, expected=reported(change.before), found=reported(change.after)
    )


def _record_name(path: str, state: Json) -> str:
    """Return how a record in a list names itself, because its position says little."""
    name = ""
    for step in split(path):
        in_list = isinstance(state, list)
        state = _child(state, step)
        own = state.get("id") if isinstance(state, dict) else None
        if in_list and isinstance(own, (str, int)):
            name = f" (record {own!r})"
    return name


def _child(node: Json, step: str) -> Json:
    if isinstance(node, dict):
        return node.get(step, ABSENT)
    if isinstance(node, list) and step.isdigit() and int(step) < len(node):
        return node[int(step)]
    return ABSENT


def _changes(
    before: Json, after: Json, ends: Sequence[_End], allowed: tuple[str, ...]
) -> list[Change]:
    """Return the changes that none of the ends speaks of."""
    if any(end.whole for end in ends):
        return []
    ignored = [pattern for end in ends for pattern in end.ignored]
    spoken = [end.expected.compiled for end in ends]
    return list(_Walk((*allowed, *ignored)).beside(before, after, spoken, ""))


class _Walk:
    """Walks where the expected states go, and takes the difference where they do not.

    Args:
        allowed: Patterns of the places that may change.
    """

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        self._left = _MOST_READINGS

    def beside(self, before: Json, after: Json, spoken: list[Json], path: str) -> Iterator[Change]:
        """Yield the changes at a place that the expected values there do not speak of."""
        allowed = self.allowed
        if not spoken:
            yield from _difference(before, after, path, allowed)
            return
        if any(covers(pattern, path) for pattern in allowed):
            return
        if any(not isinstance(node, (dict, list, Condition)) for node in spoken):
            # A scalar leaves no part of its place unspoken of.
            return
        condition = next((node for node in spoken if isinstance(node, Condition)), None)
        if condition is not None:
            yield from self._read(condition, before, after, spoken, path)
        elif isinstance(after, (dict, list)):
            yield from self._inside(before, after, spoken, path)
        # Else the final state itself fails: an object or list was expected and is not there.

    def _read(
        self, condition: Condition, before: Json, after: Json, spoken: list[Json], path: str
    ) -> list[Change]:
        """Return the changes under the reading of a condition that leaves the fewest."""
        if after is ABSENT or not (_has_parts(before) or _has_parts(after)):
            return []
        others = [node for node in spoken if node is not condition]
        fixed = any(isinstance(node, list) for node in others)
        best: list[Change] | None = None
        for reading in condition.readings(before, after):
            if fixed and (reading.new is not None or reading.gone):
                # Other expected values speak of the list's positions, which would move.
                continue
            if best is not None and (not best or self._left <= 0):
                break
            self._left -= 1
            best = _lighter(best, self._under(reading, before, after, others, path))
        return best or []

    def _under(
        self, reading: Reading, before: Json, after: Json, others: list[Json], path: str
    ) -> list[Change]:
        nodes = [*others, *reading.nodes]
        if reading.gone:
            before = [item for place, item in enumerate(before) if place not in reading.gone]
        if reading.new is None:
            if not nodes and not _has_parts(before):
                # That something stands here now is what the condition asks for.
                return []
            return list(self.beside(before, after, nodes, path))
        before = before if isinstance(before, list) else []
        rest = [item for place, item in enumerate(after) if place != reading.new]
        depth = len(split(path))
        return [
            _moved(change, depth, reading.new) for change in self.beside(before, rest, nodes, path)
        ]

    def _inside(self, before: Json, after: Json, spoken: list[Json], path: str) -> Iterator[Change]:
        """Yield the changes inside an object or list."""
        if type(before) is not type(after):
            before = ABSENT
            if any(map(_describes_record, spoken)):
                return
        steps: Iterable[str | int]
        if isinstance(after, dict):
            steps = dict.fromkeys([*(before if before is not ABSENT else ()), *after])
        else:
            steps = _positions(spoken)
            yield from _tails(before, after, len(steps), path, self.allowed)
        for step in steps:
            below = [item for node in spoken if (item := _below(node, step)) is not ABSENT]
            old = ABSENT if before is ABSENT else _child(before, str(step))
            yield from self.beside(old, _child(after, str(step)), below, join(path, step))


def _has_parts(node: Json) -> bool:
    return isinstance(node, (dict, list)) and not is_unobserved(node)


def _moved(change: Change, depth: int, place: int) -> Change:
    """Return a change found in a list without one element, as one in the whole list."""
    steps = list(split(change.path))
    if change.after is ABSENT or len(steps) <= depth or int(steps[depth]) < place:
        return change
    path = ""
    for position, step in enumerate(steps):
        path = join(path, int(step) + 1 if position == depth else step)
    return change._replace(path=path)


def _describes_record(node: Json) -> bool:
    """Whether an expected object is a record (it has fields), not a collection of records."""
    items = node.values() if isinstance(node, dict) else node
    return not node or any(not isinstance(item, (dict, list)) for item in items)


def _below(node: Json, step: str | int) -> Json:
    if isinstance(node, dict):
        return node.get(step, ABSENT)
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    return ABSENT


def _positions(spoken: list[Json]) -> range:
    return range(max((len(node) for node in spoken if isinstance(node, list)), default=0))


def _tails(
    before: Json, after: list[Json], start: int, path: str, allowed: tuple[str, ...]
) -> Iterator[Change]:
    """Yield the changes of a list behind the positions that an expected list speaks of."""
    old = [] if before is ABSENT else before[start:]
    for change in _difference(old, after[start:], "", ()):
        step, *rest = split(change.path)
        place = join(path, int(step) + start)
        for name in rest:
            place = join(place, name)
        yield from _unallowed(change._replace(path=place), allowed)


def _difference(before: Json, after: Json, path: str, allowed: tuple[str, ...]) -> Iterator[Change]:
    if before is ABSENT or after is ABSENT:
        if before is not after:
            yield from _unallowed(Change(path, before, after), allowed)
        return
    for place in _opaque_places(before, after, "") if holds_opaque(after) else ():
        yield from _unallowed(place._replace(path=path + place.path), allowed)
    seen: set[str] = set()
    for operation in diff(before, after):
        change = _observed(operation, before, after)
        if change.path not in seen:
            seen.add(change.path)
            yield from _unallowed(change._replace(path=path + change.path), allowed)


def _opaque_places(before: Json, after: Json, path: str) -> Iterator[Change]:
    """Yield the places of equal stubs that do not tell whether their objects are equal too."""
    if is_opaque(after):
        if same_json(before, after):
            yield Change(path, before, after, certain=False)
    elif isinstance(after, dict) and isinstance(before, dict):
        for key in before.keys() & after.keys():
            yield from _opaque_places(before[key], after[key], join(path, key))
    elif isinstance(after, list) and isinstance(before, list):
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from _opaque_places(old, new, join(path, place))


def _observed(operation: Operation, before: Json, after: Json) -> Change:
    """Return the change an operation makes, cut short where a side is masked or kept elsewhere."""
    place = ""
    steps = split(operation["path"])
    for step in steps:
        if is_unobserved(before) or is_unobserved(after):
            return Change(place, before, after, certain=False)
        before, after = _child(before, step), _child(after, step)
        place = join(place, step)
    # In a list that grew or shrank, another item stands at the place now.
    if steps and operation["op"] == "add":
        before = ABSENT
    elif operation["op"] == "remove":
        after = ABSENT
    veiled = is_unobserved(before) or is_unobserved(after)
    return Change(place, before, after, not veiled or _clearly_differ(before, after))


def _clearly_differ(before: Json, after: Json) -> bool:
    """Whether two values differ although one is veiled: only when one is not there at all."""
    return before is ABSENT or after is ABSENT


def _unallowed(change: Change, allowed: tuple[str, ...]) -> Iterator[Change]:
    """Yield a change unless its place may change; a record is more than the fields it holds."""
    if not any(covers(pattern, change.path) for pattern in allowed):
        yield change
