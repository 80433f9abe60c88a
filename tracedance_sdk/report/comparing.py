"""Two result sets against each other: what is better, what is worse, and what cannot be told.

`compare_results` is a pure function of two result sets. Subjects are paired (`Pairing`), averaged
over their samples and compared in whole groups (`line_statistics`), one line for each grader and
measure that occurs in both; the p values of all deciding lines are corrected together by Holm's
method.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, get_args

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.grading import ResultRow, ResultSet, rows_again_text, sound_rows
from tracedance_sdk.report.comparison import (
    Change,
    ComparedLine,
    Comparison,
    ComparisonPlan,
    LeftOut,
    LineVerdict,
    Slicing,
)
from tracedance_sdk.report.comparison_checks import (
    check_judges,
    check_rubrics,
    check_texts,
    differences_of_sets,
)
from tracedance_sdk.report.comparison_pairs import (
    RULES,
    Cell,
    Key,
    Paired,
    Pairing,
    paired_cells,
)
from tracedance_sdk.report.comparison_rows import (
    LineName,
    is_spec,
    is_wanted,
    judge_kind,
    measures_of,
    reason_of,
    rubric_of,
    value_of,
)
from tracedance_sdk.report.comparison_statistics import (
    LineStatistics,
    Sample,
    line_statistics,
    units_needed,
)
from tracedance_sdk.statistics import holm

_SEED: Final = 2026
_LEAST_ALPHA: Final = 1e-9
_AS_ROWS: Final = "not graded"
"""What `evaluate` counts as left out although there is a row of it, with an error."""
_UNEVEN: Final = 0.05
"""How much more of its rows one set may lose than the other before that is worth a note."""


def compare_results(
    old: ResultSet, new: ResultSet, plan: ComparisonPlan | None = None
) -> Comparison:
    """Compare two result sets.

    Args:
        old: The first, A: what there was.
        new: The second, B: what is to be judged.
        plan: How; the defaults when None.

    Returns:
        The same for the same sets, always.

    Raises:
        InvalidOption: An option out of range, rows that cannot be paired, no grader in both sets,
            different judges, rows of several rubrics under one grader, or rows that contradict
            each other.
        MissingDependency: numpy or scipy is not installed.

    Example:
        >>> def passes(outcomes):
        ...     rows = [
        ...         {"subject": {"trace_id": str(i)}, "grader": "spec:t", "verdict": verdict}
        ...         for i, verdict in enumerate(outcomes)
        ...     ]
        ...     return ResultSet({}, tuple(map(ResultRow.model_validate, rows)))
        >>> found = compare_results(passes(["pass"] * 10), passes(["pass", "fail"] * 5))
        >>> found.verdict, found.lines[0].statistics.difference.value, found.exit_code
        ('no difference shown', -0.5, 0)
    """
    plan = plan or ComparisonPlan()
    _check(plan)
    (first, again_in_a), (second, again_in_b) = _wanted(old, plan, 0), _wanted(new, plan, 1)
    sets = first, second
    judges = check_judges(sets[0].rows, sets[1].rows, may_differ=plan.judges_may_differ)
    pairing = Pairing(*sets, rule=plan.pair_by)
    named = _named_lines(sets, pairing, judges.lines)
    pairs = {name: paired_cells(rows, name.measure, pairing) for name, rows in named.both.items()}
    if not pairs:
        raise InvalidOption(_nothing_in_common(named))
    panels = {name.grader.removeprefix("rubric:") for name in pairs}
    is_beside = {name: _of_a_panel(named.both[name][0], panels) for name in pairs}
    deciding = {name: paired for name, paired in pairs.items() if not is_beside[name]}
    shown = {name: paired for name, paired in pairs.items() if is_beside[name]}
    lines = _judged(_lines(deciding, plan), plan)
    beside = [*_lines(shown, plan), *_sliced(pairs, plan)]
    texts = check_texts(first.rows, second.rows, may_differ=plan.judges_may_differ)
    again = zip("AB", (again_in_a, again_in_b), strict=True)
    notes = [
        *(f"{side}: {rows_again_text(n)}" for side, n in again if n),
        *judges.notes,
        *texts,
        *differences_of_sets(*sets),
        *named.notes,
        *_uneven(deciding),
    ]
    return Comparison(
        plan=plan,
        paired_by=pairing.rule,
        lines=tuple(lines),
        beside=tuple(beside),
        left_out=(*_never_graded(old, new), *_left_out(pairs)),
        changes=tuple(_changes(deciding)),
        notes=tuple(notes),
    )


class _NamedLines(NamedTuple):
    both: dict[LineName, tuple[list[ResultRow], list[ResultRow]]]
    only: tuple[list[str], list[str]]

    @property
    def notes(self) -> list[str]:
        sides = zip("AB", self.only, strict=True)
        return [f"only in {side}: {', '.join(names)}" for side, names in sides if names]


def _check(plan: ComparisonPlan) -> None:
    if not 0 < plan.alpha < 0.5:
        raise InvalidOption(f"alpha is {plan.alpha!r}; it must lie strictly between 0 and 0.5")
    if plan.alpha < _LEAST_ALPHA:
        raise InvalidOption(
            f"alpha is {plan.alpha!r}, and no set of rows can be that sure; "
            f"give at least {_LEAST_ALPHA:g}"
        )
    if plan.margin is not None and not 0 < plan.margin < 1:
        raise InvalidOption(f"margin is {plan.margin!r}; it must lie strictly between 0 and 1")
    if plan.pair_by is not None and plan.pair_by not in RULES:
        raise InvalidOption(f"unknown rule {plan.pair_by!r}; choose one of {', '.join(RULES)}")
    if plan.sample not in get_args(Sample):
        known = ", ".join(get_args(Sample))
        raise InvalidOption(f"unknown sample {plan.sample!r}; choose one of {known}")
    if plan.by is not None and plan.by not in get_args(Slicing):
        raise InvalidOption(f"cannot show by {plan.by!r}; choose group or model")


def _wanted(results: ResultSet, plan: ComparisonPlan, side: int) -> tuple[ResultSet, int]:
    """Return a set with the rows that are asked for and measure something, and the repeated ones.

    Repeated rows are in the set once and counted beside it.
    """
    name, model = "AB"[side], (plan.old_model, plan.new_model)[side]
    of_model = [row for row in results.rows if is_wanted(row, model=model)]
    if model is not None and not of_model:
        raise InvalidOption(
            f"set {name} has no rows of model {model!r}; {_models_text(results.rows)}"
        )
    wanted = partial(is_wanted, graders=plan.graders, model=model, rubric=plan.rubric)
    if plan.rubric is not None:
        _check_rubric(of_model, plan.rubric, name)
    rows, n_again = sound_rows(results.rows, where=f"set {name}", wanted=wanted)
    check_rubrics(rows, where=name)
    graders = sorted({row.grader for row in of_model})
    if not rows:
        asked = f" of a grader like {', '.join(plan.graders)}" if graders else ""
        has = f"; it has {', '.join(graders)}" if graders else ""
        raise InvalidOption(f"set {name} has no rows{asked}{has}")
    measures = measures_of(rows)
    measuring = tuple(row for row in rows if measures[row.grader])
    if not measuring:
        raise InvalidOption(
            f"set {name} has neither verdicts nor scores, only rows of "
            f"{', '.join(sorted(measures))}; grade it with --spec, or judge it first"
        )
    return ResultSet(results.manifest, measuring), n_again


def _models_text(rows: Sequence[ResultRow]) -> str:
    models = sorted({row.model for row in rows if row.model is not None})
    if not models:
        return "none of its rows says which model was graded: leave the option out"
    return f"it has rows of {', '.join(models)}"


def _check_rubric(rows: Sequence[ResultRow], rubric: str, name: str) -> None:
    known = sorted({found for row in rows if (found := rubric_of(row)) is not None})
    if rubric not in known:
        has = f"it has {', '.join(known)}" if known else "it was judged by none"
        raise InvalidOption(f"set {name} has no rows by the rubric {shown(rubric)}; {has}")


def _named_lines(
    sets: tuple[ResultSet, ResultSet], pairing: Pairing, renamed: dict[str, str]
) -> _NamedLines:
    """Sort the rows of both sets into lines."""
    one_spec = _spec_line(sets, pairing)
    measures = measures_of([*sets[0].rows, *sets[1].rows])
    sides: list[dict[LineName, list[ResultRow]]] = []
    for results in sets:
        lines: dict[LineName, list[ResultRow]] = defaultdict(list)
        for row in results.rows:
            grader = renamed.get(row.grader, row.grader)
            if one_spec is not None and is_spec(grader):
                grader = one_spec
            for measure in measures[row.grader]:
                lines[LineName(grader, measure)].append(row)
        sides.append(lines)
    names = [set(lines) for lines in sides]
    ordered = sorted(names[0] & names[1], key=lambda name: (not is_spec(name.grader), *name))
    only = tuple(sorted({name.grader for name in own - (names[0] & names[1])}) for own in names)
    return _NamedLines(
        {name: (sides[0][name], sides[1][name]) for name in ordered}, (only[0], only[1])
    )


def _spec_line(sets: tuple[ResultSet, ResultSet], pairing: Pairing) -> str | None:
    """Return the one line of all specifications, when each subject has only one; else None.

    Tasks that are graded each by its own specification make one rate together. Rows of what could
    not be graded, which name no specification, are in that line too.
    """
    graders: set[str] = set()
    for side, results in enumerate(sets):
        specs: dict[Key, str] = {}
        for row in results.rows:
            if not is_spec(row.grader) or row.grader == "spec":
                continue
            graders.add(row.grader)
            key = pairing.subject(row, side)
            if key is not None and specs.setdefault(key, row.grader) != row.grader:
                return None
    return graders.pop() if len(graders) == 1 else "spec"


def _nothing_in_common(named: _NamedLines) -> str:
    first, second = (", ".join(names) for names in named.only)
    return f"no grader is in both sets: A has {first}; B has {second}"


def _of_a_panel(rows: Sequence[ResultRow], panels: set[str]) -> bool:
    kind = judge_kind(rows[0])
    return kind is not None and kind[0] in panels


def _lines(pairs: dict[LineName, Paired], plan: ComparisonPlan) -> list[ComparedLine]:
    return [_line(name, None, paired.cells, plan) for name, paired in pairs.items()]


def _line(
    name: LineName,
    part: str | None,
    cells: Sequence[Cell],
    plan: ComparisonPlan,
    *,
    sample: Sample | None = None,
) -> ComparedLine:
    found = line_statistics(
        cells, name.measure, sample=sample or plan.sample, level=plan.level, seed=_SEED
    )
    return ComparedLine(name, part, found, None, None, None)


def _judged(lines: list[ComparedLine], plan: ComparisonPlan) -> list[ComparedLine]:
    """Return the lines with corrected p values and verdicts.

    A line that so few subjects could never decide is no test, and burdens no other.
    """
    tests = [
        place
        for place, line in enumerate(lines)
        if line.statistics.difference is not None and line.statistics.least_p <= plan.alpha
    ]
    found = [lines[place].statistics for place in tests]
    differences = [item.difference for item in found if item.difference is not None]
    corrected = dict(zip(tests, holm([item.p_value for item in differences]), strict=True))
    least = dict(zip(tests, holm([item.least_p for item in found]), strict=True))
    return [
        _with_verdict(line, corrected.get(place), least.get(place), len(tests), plan)
        for place, line in enumerate(lines)
    ]


def _with_verdict(
    line: ComparedLine,
    corrected_p: float | None,
    least_p: float | None,
    n_tests: int,
    plan: ComparisonPlan,
) -> ComparedLine:
    found = line.statistics
    needed = units_needed(found, alpha=plan.alpha, n_lines=n_tests, level=plan.level)
    verdict: LineVerdict = "not enough data"
    why = found.too_few
    difference = found.difference
    if difference is not None:
        is_shown = corrected_p is not None and corrected_p <= plan.alpha
        if (
            plan.margin is not None
            and difference.interval.low > -plan.margin
            and least_p is not None
        ):
            is_better = is_shown and difference.value > 0
            verdict = "better" if is_better else "not worse by more than the margin"
        elif is_shown:
            verdict = "better" if difference.value > 0 else "worse"
        elif least_p is not None and least_p <= plan.alpha:
            verdict = "no difference shown"
        else:
            why = _cannot_tell(found, least_p, plan)
    if verdict not in ("no difference shown", "not enough data"):
        needed = None
    return line._replace(corrected_p=corrected_p, verdict=verdict, needed=needed, why=why)


def _cannot_tell(found: LineStatistics, least_p: float | None, plan: ComparisonPlan) -> str:
    what = {
        "subjects": f"{found.n_pairs} pairs",
        "groups": f"{found.n_groups} groups",
        "runs": f"{found.n_runs[0]} and {found.n_runs[1]} runs",
    }[found.design]
    p_value = found.least_p if least_p is None else least_p
    return f"{what} cannot give a p value below {p_value:.2g}, and alpha is {plan.alpha:g}"


def _sliced(pairs: dict[LineName, Paired], plan: ComparisonPlan) -> Iterator[ComparedLine]:
    """Yield each line for each group, or each model, with its raw p value."""
    for name, paired in pairs.items() if plan.by is not None else ():
        parts: dict[str, list[Cell]] = defaultdict(list)
        for cell in paired.cells:
            parts[_part(cell, plan.by)].append(cell)
        for part, cells in sorted(parts.items()):
            # Within one group its subjects are the sample.
            within = plan.by == "group" and plan.sample == "groups"
            yield _line(name, part, cells, plan, sample="subjects" if within else None)


def _part(cell: Cell, by: Slicing | None) -> str:
    if by == "group":
        return " ".join(cell.cluster[1:])
    old, new = (model or "no model" for model in cell.models)
    return old if old == new else f"{old} / {new}"


def _never_graded(old: ResultSet, new: ResultSet) -> Iterator[LeftOut]:
    """Yield what the sets themselves say they left out; sources that are rows are no news."""
    counts = []
    for results in (old, new):
        listed = results.manifest.get("exclusions")
        found = listed.items() if isinstance(listed, dict) else ()
        counts.append({str(key): n for key, n in found if isinstance(n, int) and key != _AS_ROWS})
    for reason in sorted(counts[0].keys() | counts[1].keys()):
        numbers = [of.get(reason, 0) for of in counts]
        yield LeftOut(None, "never graded", reason, numbers[0], numbers[1])


def _left_out(pairs: dict[LineName, Paired]) -> Iterator[LeftOut]:
    for name, paired in pairs.items():
        rows, subjects = paired.rows_left_out, paired.subjects_left_out
        for reason in sorted(rows.old | rows.new):
            yield LeftOut(name, "rows", reason, rows.old[reason], rows.new[reason])
        for reason in sorted(subjects.old | subjects.new):
            yield LeftOut(name, "subjects", reason, subjects.old[reason], subjects.new[reason])


def _uneven(pairs: dict[LineName, Paired]) -> Iterator[str]:
    """Yield notes on lines of which one set lost many more rows than the other."""
    for name, paired in pairs.items():
        lost = [sum(of.values()) for of in paired.rows_left_out]
        used = [sum(len(cell.rows[side]) for cell in paired.cells) for side in (0, 1)]
        shares = [of / max(1, of + kept) for of, kept in zip(lost, used, strict=True)]
        if abs(shares[1] - shares[0]) >= _UNEVEN:
            yield (
                f"{name.grader} {name.measure}: {lost[0]} rows of A and {lost[1]} of B have no "
                "value; the means are of the rest, which may flatter the set that lost more"
            )


def _changes(pairs: dict[LineName, Paired]) -> list[Change]:
    found = []
    for name, paired in pairs.items():
        for cell in paired.cells if name.measure == "pass rate" else ():
            old, new = cell.means
            if abs(new - old) > 1e-12:
                passes = (sum(cell.old), len(cell.old)), (sum(cell.new), len(cell.new))
                why = _why(cell.rows[1] if new < old else cell.rows[0])
                found.append(Change(name.grader, " ".join(cell.subject).strip(), *passes, why))
    return sorted(found, key=lambda change: (change.difference, change.grader, change.subject))


def _why(rows: Iterable[ResultRow]) -> str:
    failed = (row for row in rows if value_of(row, "pass rate") == 0)
    return next((reason for row in failed if (reason := reason_of(row))), "")
