"""A comparison in words and numbers, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracedance_sdk.report.comparison import Change, ComparedLine, Comparison
from tracedance_sdk.report.comparison_rows import LineName
from tracedance_sdk.report.rates import percent

COMPARED_TITLES: Final = ("Grader", "n", "A", "B", "B - A", "interval", "p", "p corr.", "Verdict")
COMPARED_NUMBERS: Final = (1, 2, 3, 4, 5, 6, 7)
"""Places of the columns that hold numbers."""

_UNITS: Final = {"groups": "group", "subjects": "pair", "runs": "run"}


def line_title(name: LineName, part: str | None = None) -> str:
    """Return what a line is called, such as ``spec:refund pass rate``."""
    return f"{name.grader} {name.measure}{'' if part is None else f' ({part})'}"


def compared_cells(line: ComparedLine) -> tuple[str, ...]:
    """Return a line as the cells of a table under `COMPARED_TITLES`."""
    found = line.statistics
    difference = found.difference
    is_rate = line.name.measure == "pass rate"
    shown = _percent if is_rate else _score
    signed = _signed_percent if is_rate else _signed_score
    ends, p_value = "", ""
    if difference is not None:
        ends = f"{signed(difference.interval.low)} to {signed(difference.interval.high)}"
        p_value = p_text(difference.p_value)
    return (
        line_title(line.name, line.slice),
        f"{found.n_pairs:,}",
        shown(found.old),
        shown(found.new),
        "" if found.old is None or found.new is None else signed(found.new - found.old),
        ends,
        p_value,
        "" if line.corrected_p is None else p_text(line.corrected_p),
        line.verdict or "",
    )


def sample_lines(comparison: Comparison) -> Iterator[str]:
    """Yield what each deciding line's sample is, lines of one kind together."""
    for line in comparison.lines:
        found = line.statistics
        runs = f"{found.n_runs[0]:,} and {found.n_runs[1]:,} runs"
        title = line_title(line.name)
        if found.design == "groups":
            told = f"{found.n_groups:,} groups of {found.n_pairs:,} subjects ({runs})"
        elif found.design == "subjects":
            told = f"{found.n_pairs:,} pairs ({runs})"
            if found.is_one_group:
                told += ", all of one group; it holds for this group alone"
        else:
            tasks = "this subject" if found.n_pairs == 1 else f"these {found.n_pairs:,} subjects"
            told = f"{runs}; it holds for {tasks} alone"
        yield f"{title}: the sample is {told}"


def advice_lines(comparison: Comparison) -> Iterator[str]:
    """Yield why lines lack data, and how many subjects or groups would be needed."""
    for line in comparison.lines:
        told = [line.why] if line.why else []
        if line.needed is not None:
            unit = _UNITS[line.statistics.design]
            found = line.statistics.difference
            if found is None or abs(found.value) < 1e-12:
                told.append(f"at least {line.needed:,} {unit}s are needed to show anything")
            else:
                told.append(
                    f"about {line.needed:,} {unit}s like these would show a difference of this "
                    "size (80 % power)"
                )
        has_runs = min(line.statistics.n_runs) >= 2 * line.statistics.n_pairs > 0
        if line.verdict == "not enough data" and line.statistics.design != "runs" and has_runs:
            told.append("--sample runs asks about the subjects at hand alone")
        if told:
            yield f"{line_title(line.name)}: {'; '.join(told)}"


def change_cells(change: Change) -> tuple[str, ...]:
    """Return a changed subject as cells: worse or better, its name, passes in A and B, and why."""
    passes = _passes(change.old), _passes(change.new)
    if change.difference < 0:
        return "worse", change.subject, *passes, change.why
    return "better", change.subject, *passes, f"before: {change.why}" if change.why else ""


def comparison_verdict_text(comparison: Comparison) -> str:
    """Return the verdict as a sentence."""
    verdict, margin = comparison.verdict, comparison.plan.margin
    because = [line_title(line.name) for line in comparison.lines if line.verdict == verdict]
    of = f" ({', '.join(because)})" if len(comparison.lines) > 1 and because else ""
    if verdict == "not worse by more than the margin":
        return f"B is not worse than A by more than {margin:g}{of}"
    if verdict in ("better", "worse"):
        return f"B is {verdict} than A{of}"
    if verdict == "no difference shown" and margin is not None:
        return f"not shown whether B is worse than A by more than {margin:g}{of}"
    return f"{verdict}{of}"


def p_text(p_value: float) -> str:
    """Return a p value with three decimals; a smaller one as ``<0.001``."""
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _passes(of: tuple[float, int]) -> str:
    return f"{of[0]:g}/{of[1]:,}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{percent(share)} %"


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _signed_percent(share: float) -> str:
    return f"{100 * share + 0.0:+.1f}"


def _signed_score(score: float) -> str:
    return f"{score + 0.0:+.3f}"
