"""Which subject of one result set is which of another, and which belong together."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, ResultSet
from tracedance_sdk.report.comparison_rows import Measure, is_spec, value_of

PairRule = Literal["trace", "instance", "task"]
"""By what subjects are paired: the same trace, the same instance or test, or the same task."""

RULES: Final[tuple[PairRule, ...]] = get_args(PairRule)
_ENOUGH: Final = 0.5
Key = tuple[str, ...]


class Cell(NamedTuple):
    """One subject that both sets measured.

    Attributes:
        subject: Its key; see `Pairing`.
        cluster: What it belongs to.
        old: Values in the first set, one for each sample (repeats of a judge averaged).
        new: Values in the second set.
        models: The model in the first and in the second set, where there is one.
        rows: The rows of both behind the values.
    """

    subject: Key
    cluster: Key
    old: tuple[float, ...]
    new: tuple[float, ...]
    models: tuple[str | None, str | None]
    rows: tuple[tuple[ResultRow, ...], tuple[ResultRow, ...]]

    @property
    def means(self) -> tuple[float, float]:
        """The mean of the samples in each set."""
        return sum(self.old) / len(self.old), sum(self.new) / len(self.new)


class Sided(NamedTuple):
    """Counts for the first and the second set, by reason."""

    old: Counter[str]
    new: Counter[str]


class Paired(NamedTuple):
    """What one line compares.

    Attributes:
        cells: The subjects with a value in both sets, in a fixed order.
        rows_left_out: Rows without a value, by reason.
        subjects_left_out: Subjects that one set lacks, or has no value for, by reason.
    """

    cells: tuple[Cell, ...]
    rows_left_out: Sided
    subjects_left_out: Sided


class Pairing:
    """How the rows of two sets are paired: one rule for all lines.

    By *trace* (and turn) where the same runs were graded twice or the same contexts answered
    twice; by *instance* (a test, an instance of a benchmark, a file) where those have names of
    their own; by *task* where an agent ran again: all runs of a task are then samples of it. The
    first of these is taken by which at least half of the smaller set's subjects are in both, else
    the one by which most are. Tests are paired by instance first; what `evaluate` calls an
    instance is a file, which counts last.

    Where a set holds several models' answers to the same question, the model is part of the
    subject.

    Args:
        old: The first set's manifest and wanted rows.
        new: The second's.
        rule: None to choose as above.

    Attributes:
        rule: The rule.
        by_model: Whether the model is part of the subject.

    Raises:
        InvalidOption: No subject is in both.
    """

    def __init__(self, old: ResultSet, new: ResultSet, *, rule: PairRule | None = None) -> None:
        self._sides = (old, new)
        self._roots = tuple(_common_folder(side) for side in self._sides)
        self.by_model = any(_has_several_models(side.rows) for side in self._sides)
        self.rule: PairRule = rule or self._chosen()
        if not self._share(self.rule)[0]:
            raise InvalidOption(self._nothing_pairs(rule))

    def subject(self, row: ResultRow, side: int) -> Key | None:
        """Return the key of a row's subject; None where it has none under the rule.

        Args:
            row: The row.
            side: 0 for the first set, 1 for the second.
        """
        return self._key(row, side, self.rule)

    def _key(self, row: ResultRow, side: int, rule: PairRule) -> Key | None:
        subject = row.subject
        if rule == "trace":
            name = subject.trace_id
        elif rule == "instance":
            name = _instance(row, self._roots[side])
        else:
            name = row.task_id or row.group
        if name is None:
            return None
        key = [name]
        if rule == "instance":
            key.append(row.task_id or row.group or "")
        if subject.turn is not None and rule != "task":
            key.append(f"turn {subject.turn}")
        if self.by_model:
            key.append(row.model or "no model")
        return tuple(key)

    def _keys(self, side: int, rule: PairRule) -> set[Key]:
        rows = self._sides[side].rows
        return {key for row in rows if (key := self._key(row, side, rule)) is not None}

    def _share(self, rule: PairRule) -> tuple[int, float]:
        old, new = self._keys(0, rule), self._keys(1, rule)
        both = len(old & new)
        return both, both / max(1, min(len(old), len(new)))

    def _order(self) -> tuple[PairRule, ...]:
        commands = [str(side.manifest.get("command", "")) for side in self._sides]
        if any(command.startswith("pytest") for command in commands):
            return "instance", "trace", "task"
        if "evaluate" in commands:
            return "trace", "task", "instance"
        return "trace", "instance", "task"

    def _chosen(self) -> PairRule:
        shares = {rule: self._share(rule) for rule in self._order()}
        for rule, (_, share) in shares.items():
            if share >= _ENOUGH:
                return rule
        return max(shares, key=lambda rule: shares[rule][0])

    def _nothing_pairs(self, rule: PairRule | None) -> str:
        models = [{row.model for row in side.rows} for side in self._sides]
        if self.by_model and not models[0] & models[1]:
            first, second = (", ".join(sorted(map(str, of))) for of in models)
            return (
                f"a set holds several models' answers and no model is in both (A: {first}; B: "
                f"{second}); choose with --model-a and --model-b"
            )
        how = "trace, instance or task" if rule is None else rule
        return (
            f"no subject is in both sets, by {how}: nothing can be paired; give sets about the "
            "same traces, tests or tasks"
        )


def paired_cells(
    rows: tuple[Sequence[ResultRow], Sequence[ResultRow]],
    measure: Measure,
    pairing: Pairing,
) -> Paired:
    """Return what one line compares.

    Args:
        rows: The line's rows of the first and of the second set.
        measure: What they measure.
        pairing: How they are paired.
    """
    found = [_sampled(of, measure, pairing, side) for side, of in enumerate(rows)]
    seen = [{key for row in of if (key := pairing.subject(row, side))}
            for side, of in enumerate(rows)]  # fmt: skip
    left_out = Sided(Counter(), Counter())
    cells = []
    for key in sorted(seen[0] | seen[1]):
        values = [found[side].values.get(key) for side in (0, 1)]
        if values[0] and values[1]:
            cells.append(_cell(key, values[0], values[1]))
            continue
        for side in (0, 1):
            if key not in seen[1 - side]:
                left_out[side]["only in this set"] += 1
            elif key in seen[side] and values[side] and not values[1 - side]:
                left_out[side]["no value in the other set"] += 1
            elif key in seen[side] and not values[side]:
                left_out[side]["no value"] += 1
    return Paired(tuple(cells), Sided(found[0].left_out, found[1].left_out), left_out)


class _Samples(NamedTuple):
    values: dict[Key, dict[tuple[Any, ...], list[tuple[float, ResultRow]]]]
    left_out: Counter[str]


def _sampled(rows: Iterable[ResultRow], measure: Measure, pairing: Pairing, side: int) -> _Samples:
    found = _Samples(defaultdict(lambda: defaultdict(list)), Counter())
    for row in rows:
        key, value = pairing.subject(row, side), value_of(row, measure)
        if isinstance(value, str):
            found.left_out[value] += 1
        elif key is None:
            found.left_out[f"no {pairing.rule} named"] += 1
        else:
            sample = (row.subject.trace_id, row.subject.instance_id, row.sample, row.model)
            found.values[key][sample].append((value, row))
    return found


def _cell(
    key: Key,
    old: Mapping[tuple[Any, ...], list[tuple[float, ResultRow]]],
    new: Mapping[tuple[Any, ...], list[tuple[float, ResultRow]]],
) -> Cell:
    sides = [
        (
            tuple(sorted(sum(value for value, _ in of) / len(of) for of in samples.values())),
            tuple(sorted((row for of in samples.values() for _, row in of), key=_order)),
        )
        for samples in (old, new)
    ]
    rows = (sides[0][1], sides[1][1])
    first, second = rows[0][0], rows[1][0]
    cluster = _cluster(first) or _cluster(second) or _own_cluster(key, first)
    models = first.model, second.model
    return Cell(key, cluster, sides[0][0], sides[1][0], models, rows)


def _order(row: ResultRow) -> tuple[Any, ...]:
    return (*row.order, row.model or "", row.group or "")


def _cluster(row: ResultRow) -> Key | None:
    """Return the group of a row, unless it is only the name of what it was graded by."""
    if row.group is None or (row.task_id is None and row.grader == f"spec:{row.group}"):
        return None
    return "group", row.group


def _own_cluster(key: Key, row: ResultRow) -> Key:
    """Turns of one trace belong together; any other subject stands for itself."""
    if row.subject.turn is not None and row.subject.trace_id is not None:
        return "trace", row.subject.trace_id
    return "subject", *key


def _instance(row: ResultRow, root: str) -> str | None:
    name = row.subject.instance_id
    return None if name is None else name.removeprefix(root)


def _common_folder(side: ResultSet) -> str:
    """Return the folder that all files lie in which `evaluate` graded; "" for other sets."""
    if side.manifest.get("command") != "evaluate":
        return ""
    names = {row.subject.instance_id for row in side.rows if row.subject.instance_id is not None}
    folders = [os.path.dirname(name.partition("#")[0]) for name in names]  # noqa: PTH120 - names
    try:
        found = os.path.commonpath(folders) if folders else ""
    except ValueError:  # some are absolute, some are not
        return ""
    return f"{found}/" if found else ""


def _has_several_models(rows: Iterable[ResultRow]) -> bool:
    """Whether several models answered the same question in one set."""
    models: dict[tuple[Any, ...], str | None] = {}
    return any(models.setdefault(key, row.model) != row.model for row, key in _questions(rows))


def _questions(rows: Iterable[ResultRow]) -> Iterator[tuple[ResultRow, tuple[Any, ...]]]:
    for row in rows:
        subject = row.subject
        if subject.trace_id is not None:
            place = (subject.trace_id, subject.turn, subject.instance_id)
            yield row, (*place, row.sample, "spec" if is_spec(row.grader) else row.grader)
