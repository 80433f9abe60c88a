"""The report on one trace: what was achieved, how, and what must never have happened."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from tracedance_sdk.grading import DimensionResult, Evidence, Grade, Report, Verdict
from tracedance_sdk.report.console import ReportConsole
from tracedance_sdk.report.marks import mark, score_text, verdict_text
from tracedance_sdk.report.safe_text import in_one_line, shorten
from tracedance_sdk.trace import Trace

_TITLES: Final = {
    "outcome": "Outcome",
    "actions": "Actions",
    "critical_errors": "Critical Errors",
    "further": "Further Criteria",
}
_TITLE_WIDTH: Final = 20
_MOST_EVIDENCE: Final = 20
_LONGEST: Final = 600


def print_report(
    report: Report, console: ReportConsole, *, title: str | None = None, trace: Trace | None = None
) -> None:
    """Print the report on one trace.

    Args:
        report: What grading gave.
        console: Where to.
        title: Such as the file's name; by default the trace's id.
        trace: The trace, so that the judge's issues can name actions by number.
    """
    console.say(in_one_line(title or report.trace_id), style="bold")
    if report.task_description:
        console.say(_safe(report.task_description))
    console.say(f"task {in_one_line(report.task_id)}" if report.task_id else "no task id")
    console.say("")
    for found in report.dimensions:
        if found.specified or found.dimension != "further":
            _print_dimension(found, console)
    _print_trajectory(report, console, trace)
    for note in report.notes:
        console.say(f"note: {_safe(note)}", style="yellow", hang=2)
    console.say(("─" if console.can_print("─") else "-") * min(40, console.width))
    console.say(verdict_text(report.verdict, console))
    if report.raw_verdict is not report.verdict:
        console.say(f"before the judge was heard: {report.raw_verdict.value.upper()}", indent=2)
    console.say(f"trajectory score {score_text(report.trajectory_score)}")


def _print_dimension(found: DimensionResult, console: ReportConsole) -> None:
    title = _TITLES[found.dimension].ljust(_TITLE_WIDTH)
    score = score_text(found.score).rjust(4)
    sign = mark(found.verdict, console) if found.specified else Text("-")
    if len(found.grades) == 1:
        console.say(_heading(sign, title, score, _grade_line(found.grades[0])), hang=4)
        _print_evidence(found.grades[0], console, indent=4)
        return
    console.say(_heading(sign, title, score, _safe(found.reason)), hang=4)
    for grade in found.grades:
        severity = " (minor)" if grade.severity == "minor" else ""
        line = f" {_safe(grade.title)}: {_grade_line(grade)}{severity}"
        console.say(Text.assemble(mark(grade.verdict, console), line), indent=4, hang=4)
        _print_evidence(grade, console, indent=8)


def _grade_line(grade: Grade) -> str:
    """Return the reason, or how many lines of evidence follow it."""
    if not _lists_evidence(grade):
        return _safe(grade.reason)
    unsure = sum(not evidence.certain for evidence in grade.evidence)
    counts = [(len(grade.evidence) - unsure, "violation"), (unsure, "open question")]
    return ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts if n)


def _lists_evidence(grade: Grade) -> bool:
    if not grade.evidence or grade.verdict is Verdict.ERROR:
        return False
    return grade.verdict is not Verdict.PASS or not grade.decides


def _heading(sign: Text, title: str, score: str, reason: str) -> Text:
    gap = " " * max(1, 3 - len(sign.plain))
    return Text.assemble(sign, gap, (title, "bold"), f"{score}  {reason}")


def _print_evidence(grade: Grade, console: ReportConsole, *, indent: int) -> None:
    if not _lists_evidence(grade):
        return
    most = len(grade.evidence) if grade.dimension == "critical_errors" else _MOST_EVIDENCE
    for evidence in grade.evidence[:most]:
        console.say(f"- {_evidence_line(evidence)}", indent=indent, hang=2)
    if len(grade.evidence) > most:
        console.say(f"- and {len(grade.evidence) - most} more", indent=indent)


def _evidence_line(evidence: Evidence) -> str:
    text = _safe(evidence.what)
    if evidence.call_id is not None and evidence.call_id != str(evidence.action):
        text += f" [id {in_one_line(evidence.call_id)}]"
    return f"{text} (minor)" if evidence.severity == "minor" else text


def _print_trajectory(report: Report, console: ReportConsole, trace: Trace | None) -> None:
    title = "Trajectory Quality".ljust(_TITLE_WIDTH)
    judgement = report.judgement
    reason = report.score_missing_reason if judgement is None else judgement.reasoning
    score = score_text(report.trajectory_score).rjust(4)
    console.say(_heading(Text(" "), title, score, _safe(reason or "")), hang=4)
    for issue in judgement.issues if judgement is not None else ():
        places = ", ".join(_place(call_id, trace) for call_id in issue.action_ids)
        explanation = f": {_safe(issue.explanation)}" if issue.explanation else ""
        where = f" ({places})" if places else ""
        console.say(f"- {issue.severity} {issue.type}{where}{explanation}", indent=4, hang=2)
    for warning in report.judge.warnings if report.judge is not None else ():
        console.say(f"- warning: {_safe(warning)}", indent=4, hang=2)


def _place(call_id: str, trace: Trace | None) -> str:
    actions = () if trace is None else trace.actions
    numbers = [number for number, call in enumerate(actions, start=1) if call.id == call_id]
    shown = in_one_line(call_id)
    return f"action {numbers[0]}" if len(numbers) == 1 else f"call {shown}"


def _safe(text: str) -> str:
    return shorten(in_one_line(text), _LONGEST)
