"""The frame condition: nothing changed but what was to change."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.grading.criterion import SpecPart
from tracedance_sdk.grading.expected import Expected
from tracedance_sdk.grading.final_state import MOST_DIFFERENCES, FinalState, PointerPattern
from tracedance_sdk.grading.grades import Finding, brief
from tracedance_sdk.grading.matching import ABSENT, Condition, reported
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.grading.verdicts import Severity
from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    Operation,
    blob_digest,
    covers,
    diff,
    is_unobserved,
    join,
    split,
)

TYPE: Final = "unexpected_changes"
MOST_COMBINATIONS: Final = 256
"""Most combinations of acceptable ends over all final-state criteria of a specification."""


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
    choices = [_reached(criterion, run.final_state) for criterion in criteria]
    allowed = (*frame.allow_changes, *frame.ignore_paths)
    best: list[Change] | None = None
    for ends in itertools.product(*choices):
        found = list(_changes(run.initial_state, run.final_state, ends, allowed))
        if best is None or _weight(found) < _weight(best):
            best = found
        if not best:
            return
    for change in (best or [])[:MOST_DIFFERENCES]:
        yield Finding(_evidence(run, change), change.certain)


def _weight(found: list[Change]) -> tuple[int, int]:
    return sum(change.certain for change in found), len(found)


def _reached(criterion: FinalState, state: Json) -> list[tuple[FinalState, Expected]]:
    """Return the acceptable ends that were, or may have been, reached; if none, all."""
    pairs = [(criterion, expected) for expected in criterion.acceptable]
    return [pair for pair in pairs if criterion.accepts(pair[1], state) is not False] or pairs


def _evidence(run: RunView, change: Change) -> Any:
    place = f"{change.path or 'the whole state'}{_record_name(change.path, run.final_state)}"
    if not change.certain:
        text = f"{place} may have changed: it is masked or kept elsewhere"
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


_End = tuple[FinalState, Expected]


def _changes(
    before: Json, after: Json, ends: Iterable[_End], allowed: tuple[str, ...]
) -> Iterator[Change]:
    """Yield the changes that none of the ends speaks of."""
    if any(criterion.match == "exact" for criterion, _ in ends):
        # Deep equality already speaks of every place.
        return
    spoken = [expected.compiled for _, expected in ends]
    yield from _beside(before, after, spoken, "", allowed)


def _beside(
    before: Json, after: Json, spoken: list[Json], path: str, allowed: tuple[str, ...]
) -> Iterator[Change]:
    """Walk where the expected states go, and take the difference where they do not."""
    if not spoken:
        yield from _difference(before, after, path, allowed)
        return
    if any(covers(pattern, path) for pattern in allowed) or any(map(_speaks_of_all, spoken)):
        return
    kind = dict if isinstance(after, dict) else list
    if not isinstance(after, kind):
        # The final state itself fails here: an object or list was expected and is not there.
        return
    if not isinstance(before, kind):
        before = ABSENT
        if any(map(_describes_record, spoken)):
            return
    steps: Iterable[str | int]
    if isinstance(after, dict):
        steps = dict.fromkeys([*(before if before is not ABSENT else ()), *after])
    else:
        steps = _positions(spoken)
        tail = max((len(node) for node in spoken if isinstance(node, list)), default=0)
        yield from _tails(before, after, tail, path, allowed)
    for step in steps:
        below = [item for node in spoken if (item := _below(node, step)) is not ABSENT]
        old = ABSENT if before is ABSENT else _child(before, str(step))
        yield from _beside(old, _child(after, str(step)), below, join(path, step), allowed)


def _speaks_of_all(node: Json) -> bool:
    """Whether an expected value leaves no part of its place unspoken of."""
    return isinstance(node, Condition) or not isinstance(node, (dict, list))


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
    seen: set[str] = set()
    for operation in diff(before, after):
        change = _observed(operation, before, after)
        if change.path not in seen:
            seen.add(change.path)
            yield from _unallowed(change._replace(path=path + change.path), allowed)


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
    """Yield a change unless it is allowed; one that is allowed in part, by its parts."""
    if any(covers(pattern, change.path) for pattern in allowed):
        return
    if not any(_reaches_below(pattern, change.path) for pattern in allowed):
        yield change
        return
    whole = [value for value in (change.before, change.after) if value is not ABSENT]
    kind = next((kind for kind in (dict, list) if all(isinstance(v, kind) for v in whole)), None)
    if kind is None or any(blob_digest(value) is not None for value in whole):
        yield change
        return
    names: list[str] = []
    for value in whole:
        names += value if isinstance(value, dict) else map(str, range(len(value)))
    for name in dict.fromkeys(names):
        old, new = (
            ABSENT if value is ABSENT else _child(value, name)
            for value in (change.before, change.after)
        )
        part = Change(join(change.path, name), old, new, change.certain)
        yield from _unallowed(part, allowed)


def _reaches_below(pattern: str, path: str) -> bool:
    """Whether a pattern can fit a place below a path."""
    wanted, steps = split(pattern), split(path)
    for position, step in enumerate(steps):
        if position >= len(wanted):
            return False
        if wanted[position] == "**":
            return True
        if wanted[position] not in ("*", step):
            return False
    return len(wanted) > len(steps)
