"""Many traces in one table: a line each, and how many passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from tracedance_sdk.grading import DimensionResult, Grade, Report, Verdict
from tracedance_sdk.report.console import ReportConsole
from tracedance_sdk.report.marks import mark, score_text, verdict_text
from tracedance_sdk.report.rates import pass_rates, rate_lines
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
_TELLING: Final = 60
"""Cells of a reason that tell enough, so that the rest is left to the report on the one trace."""
_MOST_NOTES: Final = 10


class _Widths(NamedTuple):
    """Cells of the columns between the name and the reason."""

    dimensions: tuple[int, ...]
    trajectory: int
    overall: int

    @property
    def all(self) -> int:
        return sum(self.dimensions) + self.trajectory + self.overall


def print_table(rows: Sequence[Row], console: ReportConsole) -> None:
    """Print one line for each row in their order, then ``k/n traces passed`` and the pass rate.

    Columns: Trace, Outcome, Actions, Critical, Further (when any trace has such criteria),
    Trajectory, Overall, and Why where there is room. A narrow terminal gets a short block for
    each row instead. What the table has no room for is listed below: why a trace did not pass,
    graders that failed, and notes.
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
        said = 0
        for row in rows:
            _print_block(row, columns, console)
    else:
        said = _print_lines(rows, columns, console, widths=widths, room=room)
    _print_reasons(rows, console, said=said)
    _print_notes(rows, console)
    console.say(f"\n{count_passed(rows)}/{len(rows)} traces passed", style="bold")
    for line in rate_lines(pass_rates(rows)):
        console.say(line, hang=2)


def _print_lines(
    rows: Sequence[Row],
    columns: Sequence[tuple[str, str]],
    console: ReportConsole,
    *,
    widths: _Widths,
    room: int,
) -> int:
    """Print the table and return how many cells of each reason it has room for."""
    longest = max((cell_len(in_one_line(row.name)) for row in rows), default=0) + 2
    name_width = min(max(_NAME_WIDTH, longest), room)
    if room - name_width < _LEAST_REASON <= room - _NAME_WIDTH:
        name_width = max(_NAME_WIDTH, room - 2 * _LEAST_REASON)
    reason_width = min(room - name_width, _MOST_REASON)
    reason_width = reason_width if reason_width >= _LEAST_REASON else 0
    titles = [
        title.ljust(width) for (_, title), width in zip(columns, widths.dimensions, strict=True)
    ]
    head = f"{'Trace'.ljust(name_width)}{''.join(titles)}{'Trajectory'.ljust(widths.trajectory)}"
    head += "Overall".ljust(widths.overall)
    head += "Why" if reason_width else ""
    console.say(head.rstrip(), style="bold")
    for row in rows:
        line = Text(_cell(shorten_middle(in_one_line(row.name), name_width - 2), name_width))
        for (name, _), width in zip(columns, widths.dimensions, strict=True):
            line.append_text(_padded(_dimension_mark(row, name, console), width))
        line.append(_score(row).ljust(widths.trajectory))
        line.append_text(_padded(verdict_text(row.verdict, console), widths.overall))
        line.append(shorten(_why(row), reason_width))
        console.say(line)
    return reason_width


def _print_block(row: Row, columns: Sequence[tuple[str, str]], console: ReportConsole) -> None:
    verdict = verdict_text(row.verdict, console)
    name = shorten_middle(in_one_line(row.name), max(8, console.width))
    console.say(name, style="bold")
    console.say(verdict, indent=2)
    cells = [
        f"{title.lower()} {_dimension_mark(row, name, console).plain}" for name, title in columns
    ]
    console.say(", ".join([*cells, f"trajectory {_score(row)}"]), indent=2)


def _print_reasons(rows: Sequence[Row], console: ReportConsole, *, said: int) -> None:
    """List why traces did not pass, and graders that failed, as far as the table does not say."""
    lines = [line for row in rows for line in _reasons(row, said)]
    if lines:
        console.say("\nWhy", style="bold")
    for line in lines:
        console.say(line, indent=2, hang=2)


def _reasons(row: Row, said: int) -> Iterator[str]:
    """Yield what made the verdict, then what graders failed at; errors are never shortened."""
    name = in_one_line(row.name)
    reason = _why(row)
    if cell_len(reason) > said and row.verdict is Verdict.ERROR:
        yield f"{name}: {reason}"
    elif cell_len(reason) > said and said < _TELLING:
        yield f"{name}: {shorten(reason, _MOST_REASON)}"
    deciding = None if row.report is None else _deciding(row.report)
    for grade in () if row.report is None else row.report.errors:
        if grade is not deciding:
            yield in_one_line(f"{name}: {grade.title}: {grade.reason}")


def _print_notes(rows: Sequence[Row], console: ReportConsole) -> None:
    """Print each note once, however many traces it is about."""
    named: dict[str, list[str]] = {}
    for row in rows:
        for note in () if row.report is None else row.report.notes:
            named.setdefault(note, []).append(row.name)
    if named:
        console.say("")
    for note, names in list(named.items())[:_MOST_NOTES]:
        about = f"{len(names)} traces" if len(names) > 1 else in_one_line(names[0])
        console.say(f"note: {in_one_line(note)} ({about})", style="yellow", hang=2)
    if len(named) > _MOST_NOTES:
        console.say(f"and {len(named) - _MOST_NOTES} more notes", hang=2)


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
        return in_one_line(f"not graded: {row.problem}")
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
