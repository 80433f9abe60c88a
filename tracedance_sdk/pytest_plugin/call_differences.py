"""The calls that do not pass, aligned with those that were expected; everything else left out.

Where a criterion names a sequence of actions, the run is aligned with it as `diff` aligns lines.
Other criteria speak of single calls; each is shown below the nearest input that is acceptable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tracedance_sdk.grading import (
    ABSENT,
    ActionPattern,
    Criterion,
    Difference,
    Evidence,
    Expected,
    Grade,
    RequiredActions,
    RunView,
    Trajectory,
)
from tracedance_sdk.pytest_plugin.short_values import CUT, short_json, short_pair
from tracedance_sdk.report import in_one_line
from tracedance_sdk.trace import UNKNOWN, Call, Json, Trace, split

_MOST_CALLS: Final = 12
_MOST_PAIRS: Final = 40_000


class _Reference(NamedTuple):
    """A sequence of actions a criterion names, and what of a difference from it counts."""

    patterns: tuple[ActionPattern, ...]
    is_ordered: bool
    missing_counts: bool
    further_counts: bool


class _Marks:
    """What is wrong with which call.

    Attributes:
        missing: Position among the actions → what should have been done before it.
        wrong: Index of a call → the criteria it does not pass, by verdict and id.
        expected: Index of a call → how it differs from the nearest acceptable input.
    """

    def __init__(self) -> None:
        self.missing: dict[int, list[str]] = {}
        self.wrong: dict[int, list[str]] = {}
        self.expected: dict[int, list[Difference]] = {}

    def add_missing(self, place: int, pattern: ActionPattern) -> None:
        name = pattern.action.source
        shown = name if isinstance(name, str) else short_json(name)
        inputs = "" if pattern.matches is None else f" {short_json(pattern.matches.source)}"
        self.missing.setdefault(place, []).append(in_one_line(shown) + inputs)

    def add_wrong(self, call: Call, grade: Grade) -> None:
        mark = f"{grade.verdict.value} {in_one_line(grade.criterion)}"
        marks = self.wrong.setdefault(call.index, [])
        if mark not in marks:
            marks.append(mark)


def call_of(evidence: Evidence, trace: Trace) -> Call | None:
    """Return the call that a piece of evidence concerns, if any."""
    if evidence.action is not None and 0 < evidence.action <= len(trace.actions):
        return trace.actions[evidence.action - 1]
    return None if evidence.call_id is None else trace.find_call(evidence.call_id)


def is_sequence(criterion: Criterion | None) -> bool:
    """Whether a criterion names a sequence of actions that the run is aligned with."""
    return _reference_of(criterion) is not None


def call_lines(
    failing: Sequence[Grade], criteria: Mapping[str, Criterion], trace: Trace
) -> Iterator[str]:
    """Yield the block about calls; nothing when no finding concerns one.

    Args:
        failing: The grades to explain, the worst first.
        criteria: Their criteria by id, as far as the specification is data.
        trace: What was graded.
    """
    run = RunView(trace)
    marks = _Marks()
    for grade in failing:
        reference = _reference_of(criteria.get(grade.criterion))
        if reference is not None and len(reference.patterns) * len(run.actions) <= _MOST_PAIRS:
            _mark_sequence(marks, grade, reference, run)
        else:
            _mark_calls(marks, grade, trace)
    if marks.missing or marks.wrong:
        yield "calls (- expected, + done)"
        yield from _shown(marks, run)


def _reference_of(criterion: Criterion | None) -> _Reference | None:
    if criterion is None or criterion.negate:
        return None
    if isinstance(criterion, RequiredActions):
        return _Reference(criterion.actions, criterion.in_order, True, False)
    if isinstance(criterion, Trajectory):
        mode = criterion.mode
        return _Reference(
            criterion.reference, mode == "strict", mode != "subset", mode != "superset"
        )
    return None


def _mark_calls(marks: _Marks, grade: Grade, trace: Trace) -> None:
    for evidence in grade.evidence:
        call = call_of(evidence, trace)
        if call is None:
            continue
        marks.add_wrong(call, grade)
        nearest = _nearest(call, evidence.expected)
        if nearest:
            marks.expected.setdefault(call.index, nearest)


def _nearest(call: Call, expected: Json) -> list[Difference]:
    """Return how the call differs from the nearest of the inputs expected."""
    choices = expected.get("$one_of", [expected]) if isinstance(expected, dict) else []
    wanted = [choice for choice in choices if isinstance(choice, dict) and "$not" not in choice]
    every = [list(Expected(choice).differences(call.arguments, mode="input")) for choice in wanted]
    return min(every, key=len, default=[])


def _mark_sequence(marks: _Marks, grade: Grade, reference: _Reference, run: RunView) -> None:
    fits = [[item.fits(call, run) is True for call in run.actions] for item in reference.patterns]
    pairs = _aligned(fits) if reference.is_ordered else _paired(fits)
    if reference.further_counts:
        for place in sorted(set(range(len(run.actions))) - set(pairs.values())):
            marks.add_wrong(run.actions[place], grade)
    if reference.missing_counts:
        place = len(run.actions) if not reference.is_ordered else 0
        for row, pattern in enumerate(reference.patterns):
            if row not in pairs:
                marks.add_missing(place, pattern)
            elif reference.is_ordered:
                place = pairs[row] + 1


def _paired(fits: list[list[bool]]) -> dict[int, int]:
    pairs: dict[int, int] = {}
    for row, columns in enumerate(fits):
        taken = pairs.values()
        free = next((c for c, fit in enumerate(columns) if fit and c not in taken), None)
        if free is not None:
            pairs[row] = free
    return pairs


def _aligned(fits: list[list[bool]]) -> dict[int, int]:
    """Return row → column of a longest common subsequence, in order."""
    n_columns = len(fits[0]) if fits else 0
    best = [[0] * (n_columns + 1) for _ in range(len(fits) + 1)]
    for row in reversed(range(len(fits))):
        for column in reversed(range(n_columns)):
            skip = max(best[row + 1][column], best[row][column + 1])
            best[row][column] = max(skip, fits[row][column] + best[row + 1][column + 1])
    pairs: dict[int, int] = {}
    row = column = 0
    while row < len(fits) and column < n_columns:
        if fits[row][column] and best[row][column] == 1 + best[row + 1][column + 1]:
            pairs[row] = column
            row, column = row + 1, column + 1
        elif best[row + 1][column] >= best[row][column + 1]:
            row += 1
        else:
            column += 1
    return pairs


def _shown(marks: _Marks, run: RunView) -> Iterator[str]:
    """Yield the calls in order; runs of calls without a finding shrink to one line."""
    skipped = n_shown = position = 0
    for call in run.calls:
        number = run.number(call)
        absent = marks.missing.get(position, []) if number is not None else []
        position += number is not None
        if not absent and call.index not in marks.wrong:
            skipped += 1
            continue
        if n_shown >= _MOST_CALLS:
            break
        n_shown += 1
        yield from _left_out(skipped)
        yield from (f"  - {line}" for line in absent)
        skipped = call.index not in marks.wrong
        if not skipped:
            yield from _one_call(call, number, marks)
    else:
        yield from _left_out(skipped)
        yield from (f"  - {line}" for line in marks.missing.get(position, []))
        return
    yield f"    {CUT} more calls with findings"


def _left_out(n_calls: int) -> Iterator[str]:
    if n_calls:
        yield f"    {CUT} {n_calls} {'call' if n_calls == 1 else 'calls'} without a finding"


def _one_call(call: Call, number: int | None, marks: _Marks) -> Iterator[str]:
    label = f"call {call.index + 1}" if number is None else f"{number}."
    name = in_one_line(call.name)
    done = "(unknown)" if call.arguments is UNKNOWN else short_json(call.arguments)
    differing = marks.expected.get(call.index, [])
    if differing:
        expected, done = _apart(differing, call.arguments)
        yield f"  - {label} {name} {expected}"
    yield f"  + {label} {name} {done}  <- {', '.join(marks.wrong[call.index])}"


def _apart(differing: Iterable[Difference], found: Json) -> tuple[str, str]:
    """Return the arguments expected and found, only those that differ."""
    left: dict[str, Json] = {}
    right: dict[str, Json] = {}
    for difference in differing:
        name = ".".join(split(difference.path))
        expected, actual = short_pair(difference.expected, difference.found)
        if difference.expected is not ABSENT:
            left[name] = expected
        if difference.found is not ABSENT:
            right[name] = actual
    more = isinstance(found, dict) and len(found) > len(right)
    return short_json(left, more=more), short_json(right, more=more)
