"""One mark, word and colour for each verdict, in any encoding."""

from __future__ import annotations

from typing import Final, NamedTuple

from rich.text import Text

from tracedance_sdk.grading import Verdict
from tracedance_sdk.report.console import ReportConsole


class Mark(NamedTuple):
    """How a verdict is shown: a sign, its replacement in poor encodings, and a colour."""

    sign: str
    ascii_sign: str
    style: str


MARKS: Final = {
    Verdict.PASS: Mark("✓", "+", "green"),
    Verdict.FAIL: Mark("✗", "x", "red"),
    Verdict.CRITICAL: Mark("‼", "!!", "bold red"),
    Verdict.INCONCLUSIVE: Mark("?", "?", "yellow"),
    Verdict.ERROR: Mark("!", "!", "bold magenta"),
}
"""Five marks that no two verdicts share, with or without colour."""

_ALL_SIGNS: Final = "".join(mark.sign for mark in MARKS.values())


def mark(verdict: Verdict, console: ReportConsole) -> Text:
    """Return a verdict's mark for a console."""
    sign, ascii_sign, style = MARKS[verdict]
    return Text(sign if console.can_print(_ALL_SIGNS) else ascii_sign, style=style)


def verdict_text(verdict: Verdict, console: ReportConsole) -> Text:
    """Return a verdict's mark and its word in capitals."""
    return mark(verdict, console).append(f" {verdict.value.upper()}")


def score_text(score: float | None) -> str:
    """Return a score with two decimals, or ``n/a``.

    A score that is not 1 is never shown as 1.00.
    """
    if score is None:
        return "n/a"
    return "0.99" if 0.99 <= score < 1 else f"{score:.2f}"
