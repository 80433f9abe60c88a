"""Many traces in one table: a line each, and how many passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from tracedance_sdk.grading import DimensionResult, Grade, Report, Verdict
from tracedance_sdk.report.console import ReportConsole
from tracedance_sdk.report.marks import mark, score_text, verdict_text
from tracedance_sdk.report.rows import Row, count_passed
from tracedance_sdk.report.safe_text import in_one_line, shorten, shorten_middle

_DIMENSIONS: Final = (
    ("outcome", "Outcome"),
    ("actions", "Actions"),
    ("critical_errors", "Critical"),
    ("further", "Further"),
)
_NAME_WIDTH: Final = 24
_DIMENSION_WIDTH: Final = 10
_TRAJECTORY_WIDTH: Final = 12
_LEAST_NAME: Final = 12
_LEAST_REASON: Final = 20
_MOST_REASON: Final = 160


class _Widths(NamedTuple):
    """Cells of the columns between the name and the reason."""

    dimensions: tuple[int, ...]
    trajectory: int
    overall: int

    @property
    def all(self) -> int:
        return sum(self.dimensions) + self.trajectory + self.overall


def print_table(rows: Sequence[Row], console: ReportConsole) -> None:
    """Print one line for each row in their order, then ``k/n traces passed``.

    Columns: Trace, Outcome, Actions, Critical, Further (when any trace has such criteria),
    Trajectory, Overall, and Why where there is room. A narrow terminal gets a short block for
    each row instead. Grades of graders that failed are always listed below.
    """
    columns = [
        (name, title)
        for name, title in _DIMENSIONS
        if name != "further" or any(row.report and row.report.further.specified for row in rows)
    ]
    overall = max(verdict_text(verdict, console).cell_len for verdict in Verdict) + 2
    widths = _Widths((_DIMENSION_WIDTH,) * len(columns), _TRAJECTORY_WIDTH, overall)
    if console.width < widths.all + _NAME_WIDTH:
        longest = max((verdict_text(row.verdict, console).cell_len for row in rows), default=0)
        tight = tuple(len(title) + 1 for _, title in columns)
        widths = _Widths(tight, len("Trajectory "), max(longest, len("Overall")))
    room = console.width - widths.all
    if room < _LEAST_NAME:
        for row in rows:
            _print_block(row, columns, console)
    else:
        _print_lines(rows, columns, console, widths=widths, room=room)
    _print_errors(rows, console)
    console.say(f"\n{count_passed(rows)}/{len(rows)} traces passed", style="bold")


def _print_lines(
    rows: Sequence[Row],
    columns: Sequence[tuple[str, str]],
    console: ReportConsole,
    *,
    widths: _Widths,
    room: int,
) -> None:
    longest = max((cell_len(in_one_line(row.name)) for row in rows), default=0) + 2
    name_width = min(max(_NAME_WIDTH, longest), room)
    if room - name_width < _LEAST_REASON <= room - _NAME_WIDTH:
        name_width = max(_NAME_WIDTH, room - 2 * _LEAST_REASON)
    reason_width = room - name_width
    titles = [
        title.ljust(width) for (_, title), width in zip(columns, widths.dimensions, strict=True)
    ]
    head = f"{'Trace'.ljust(name_width)}{''.join(titles)}{'Trajectory'.ljust(widths.trajectory)}"
    head += "Overall".ljust(widths.overall)
    head += "Why" if reason_width >= _LEAST_REASON else ""
    console.say(head.rstrip(), style="bold")
    for row in rows:
        line = Text(_cell(shorten_middle(in_one_line(row.name), name_width - 2), name_width))
        for (name, _), width in zip(columns, widths.dimensions, strict=True):
            line.append_text(_padded(_dimension_mark(row, name, console), width))
        line.append(_score(row).ljust(widths.trajectory))
        line.append_text(_padded(verdict_text(row.verdict, console), widths.overall))
        if reason_width >= _LEAST_REASON:
            line.append(shorten(_why(row), min(reason_width, _MOST_REASON)))
        console.say(line)


def _print_block(row: Row, columns: Sequence[tuple[str, str]], console: ReportConsole) -> None:
    verdict = verdict_text(row.verdict, console)
    name = shorten_middle(in_one_line(row.name), max(8, console.width))
    console.say(name, style="bold")
    console.say(verdict, indent=2)
    cells = [
        f"{title.lower()} {_dimension_mark(row, name, console).plain}" for name, title in columns
    ]
    console.say(", ".join([*cells, f"trajectory {_score(row)}"]), indent=2)


def _print_errors(rows: Sequence[Row], console: ReportConsole) -> None:
    lines = []
    for row in rows:
        name = in_one_line(row.name)
        if row.report is None:
            lines.append(f"{name}: not graded: {in_one_line(row.problem or '')}")
            continue
        lines += [
            f"{name}: {in_one_line(grade.title)}: {in_one_line(grade.reason)}"
            for grade in row.report.errors
        ]
    if lines:
        console.say("\nErrors", style="bold")
    for line in lines:
        console.say(line, indent=2, hang=2)


def _dimension_mark(row: Row, name: str, console: ReportConsole) -> Text:
    found = _dimension(row.report, name)
    return Text("-") if found is None else mark(found.verdict, console)


def _dimension(report: Report | None, name: str) -> DimensionResult | None:
    if report is None:
        return None
    return next(
        (found for found in report.dimensions if found.dimension == name and found.specified), None
    )


def _score(row: Row) -> str:
    return score_text(None if row.report is None else row.report.trajectory_score)


def _why(row: Row) -> str:
    """Say what made the verdict, in one line; nothing for a trace that passed."""
    if row.report is None:
        return in_one_line(row.problem or "")
    grade = _deciding(row.report)
    return "" if grade is None else in_one_line(f"{grade.title}: {grade.reason}")


def _deciding(report: Report) -> Grade | None:
    if report.verdict is Verdict.PASS:
        return None
    return next(
        (grade for grade in report.grades if grade.decides and grade.verdict is report.raw_verdict),
        None,
    )


def _cell(text: str, width: int) -> str:
    return text + " " * max(0, width - cell_len(text))


def _padded(text: Text, width: int) -> Text:
    return text.append(" " * max(0, width - text.cell_len))
