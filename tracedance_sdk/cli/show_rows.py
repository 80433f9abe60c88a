"""A row of a result set for people: the verdict, the score, why, and what it rests on."""

from __future__ import annotations

import re
from typing import Any, Final

from rich.text import Text

from tracedance_sdk.grading import ResultRow, Verdict
from tracedance_sdk.replay import GRADER
from tracedance_sdk.report import (
    ReportConsole,
    in_one_line,
    mark,
    print_text,
    score_text,
    value_text,
    verdict_text,
)
from tracedance_sdk.trace import Json

_MOST_EVIDENCE: Final = 20
_LONGEST: Final = 600
_SAID: Final = frozenset(
    (
        *("judge", "judges", "missing", "n_missing", "n_scores", "pass_from", "reason", "repeat"),
        *("reply", "rubric", "rubric_score", "rubric_sha256", "spread", "tools_origin"),
    )
)
"""Further fields of rows with words of their own, or of no use to people."""
_NAMES: Final = {"production": "recorded verdict"}
_SHA256: Final = re.compile("[0-9a-f]{64}")
_DIGEST: Final = 12
"""Characters of a SHA-256 that are shown."""
_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}


def print_row(
    row: ResultRow, console: ReportConsole, *, name: str, full: bool = False, indent: int = 2
) -> None:
    """Print what one grader or judge found.

    Args:
        row: The row.
        console: Where to.
        name: What the grader is called here.
        full: Show texts and all evidence whole.
        indent: Cells before each line.
    """
    own = row.model_extra or {}
    if row.grader != GRADER or row.missing_reason is not None:
        console.say(_headline(row, console, name=name), indent=indent, hang=2)
    if isinstance(own.get("reason"), str) and own["reason"] != row.missing_reason:
        console.say(in_one_line(own["reason"]), indent=indent + 2, hang=2)
    limit = len(row.evidence) if full else _MOST_EVIDENCE
    said = (own.get("reason"), row.missing_reason)
    for item in row.evidence[:limit]:
        _print_evidence(_without(item, said), console, full=full, indent=indent + 2)
    _say_more(len(row.evidence) - limit, console, indent=indent + 2)
    for field, value in own.items():
        if field == "missed" and isinstance(value, list):
            for call in value:
                _print_missed(call, console, full=full, indent=indent + 2)
        elif field not in _SAID and value != 0:
            print_field(_NAMES.get(field, field), value, console, indent=indent + 2, full=full)


def print_field(
    name: str, value: Json, console: ReportConsole, *, indent: int = 0, full: bool = False
) -> None:
    """Print a field that has no words of its own, if it says anything.

    Args:
        name: Of the field.
        value: Of the field.
        console: Where to.
        indent: Cells before it.
        full: Show it whole.
    """
    if text := told(value):
        line = value_text(f"{name.replace('_', ' ')}: {text}", width=_width(full))
        console.say(line, style="dim", indent=indent, hang=2)


def told(value: Json) -> str:
    """Return a JSON value in words; "" for one that says nothing.

    Example:
        >>> told({"same": 2, "tools": ["look", "fly"], "none": None})
        'same 2, tools look, fly'
    """
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {text}" for key, item in value.items() if (text := told(item)))
    if isinstance(value, (list, tuple)):
        return ", ".join(text for item in value if (text := told(item)))
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 10**15):
        return f"{value:g}" if abs(value) < 10**300 else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    text = in_one_line(str(value))
    return text[:_DIGEST] if _SHA256.fullmatch(text) else text


def _headline(row: ResultRow, console: ReportConsole, *, name: str) -> Text:
    own = row.model_extra or {}
    line = Text(in_one_line(name), style="bold")
    repeat = own.get("repeat")
    if isinstance(repeat, int) and repeat > 0:
        line.append(f", repeat {repeat}")
    if row.verdict is not None:
        line.append("  ").append_text(verdict_text(row.verdict, console))
    if row.raw_verdict is not None and row.raw_verdict is not row.verdict:
        line.append(f" (raw {row.raw_verdict.value.upper()})")
    if score := _score(row):
        line.append(f"  {score}")
    if row.missing_reason is not None:
        line.append(f"  missing: {in_one_line(row.missing_reason)}", style="yellow")
    return line


def _score(row: ResultRow) -> str:
    """Return the score as its scale has it; "" where it says no more than the verdict."""
    own = row.model_extra or {}
    score, bound = _number(own.get("rubric_score")), _number(own.get("pass_from"))
    if score is not None:
        of = f"{score:g} of 5" if score.is_integer() else f"{score:.2f} of 5"
        return of if bound is None else f"{of} (passing from {bound:g})"
    if row.score is None or (row.verdict is not None and row.score in (0.0, 1.0)):
        return ""
    return score_text(row.score)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e300 else None


def _print_evidence(item: Json, console: ReportConsole, *, full: bool, indent: int) -> None:
    """Print a grade, a judgement, a judge's reasoning, or whatever else it is."""
    if not isinstance(item, dict):
        console.say(value_text(item, width=_width(full)), indent=indent, hang=2)
    elif item.get("verdict") in _VERDICTS and isinstance(item.get("criterion"), str):
        _print_grade(item, console, full=full, indent=indent)
    elif isinstance(item.get("reasoning"), str):
        print_text(item["reasoning"], console, full=full, indent=indent)
        _print_judgement(item, console, full=full, indent=indent)
    else:
        for name, value in item.items():
            print_field(in_one_line(str(name)), value, console, indent=indent, full=full)


def _without(item: Json, said: tuple[Json, ...]) -> Json:
    """Return what a grader of one's own gave, without the reason that is told already."""
    if isinstance(item, dict) and item.get("reason") in said and "criterion" not in item:
        return {name: value for name, value in item.items() if name not in ("reason", "verdict")}
    return item


def _print_missed(call: Json, console: ReportConsole, *, full: bool, indent: int) -> None:
    """Print a call that no recording answered, and the recordings that are most like it."""
    if not isinstance(call, dict):
        print_field("missed", call, console, indent=indent, full=full)
        return
    arguments = value_text(call.get("arguments"), width=_width(full))
    line = f"missed: {told(call.get('name'))} {arguments} ({told(call.get('miss'))})"
    console.say(line, style="dim", indent=indent, hang=2)
    nearest = call.get("nearest")
    for near in nearest if isinstance(nearest, list) else ():
        if isinstance(near, dict):
            there = value_text(near.get("arguments"), width=_width(full))
            line = f"nearest: {there} of {told(near.get('conversation'))}, "
            line += f"differing in {told(near.get('differing')) or 'nothing'}"
            console.say(line, style="dim", indent=indent + 2, hang=2)


def _print_grade(grade: dict[str, Any], console: ReportConsole, *, full: bool, indent: int) -> None:
    title = str(grade.get("name") or grade["criterion"])
    reason = value_text(grade.get("reason") or "", width=_width(full))
    line = mark(_VERDICTS[grade["verdict"]], console)
    minor = " (minor)" if grade.get("severity") == "minor" else ""
    line.append(f" {in_one_line(title)}{minor}: {reason}", style="")
    console.say(line, indent=indent, hang=2)
    listed = grade.get("evidence")
    whats = [
        item["what"]
        for item in (listed if isinstance(listed, list) else ())
        if isinstance(item, dict) and isinstance(item.get("what"), str)
    ]
    if grade["verdict"] == Verdict.PASS.value or whats == [grade.get("reason")]:
        return
    limit = len(whats) if full else _MOST_EVIDENCE
    for what in whats[:limit]:
        console.say(f"- {value_text(what, width=_width(full))}", indent=indent + 2, hang=2)
    _say_more(len(whats) - limit, console, indent=indent + 2)


def _print_judgement(
    item: dict[str, Any], console: ReportConsole, *, full: bool, indent: int
) -> None:
    """Print what a judge of trajectories says beside its reasoning."""
    for name, sign in (("strengths", "+"), ("weaknesses", "-")):
        for text in item[name] if isinstance(item.get(name), list) else ():
            console.say(f"{sign} {value_text(text, width=_width(full))}", indent=indent, hang=2)
    for issue in item["issues"] if isinstance(item.get("issues"), list) else ():
        if isinstance(issue, dict):
            kind = in_one_line(f"{issue.get('severity', '')} {issue.get('type', 'issue')}")
            why = value_text(issue.get("explanation") or "", width=_width(full))
            console.say(f"! {kind}: {why}", indent=indent, hang=2)


def _say_more(number: int, console: ReportConsole, *, indent: int) -> None:
    if number > 0:
        console.say(f"({number:,} more: --full)", style="dim", indent=indent)


def _width(full: bool) -> int | None:
    return None if full else _LONGEST
