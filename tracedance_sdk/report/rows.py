"""What a command graded: one row a trace, and one for each file that could not be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tracedance_sdk.grading import Report, Verdict


class Row(NamedTuple):
    """One graded trace, or a source that gave none.

    Attributes:
        name: What the row is called: the file's name, with the trace's where it holds several.
        path: The file or folder.
        report: None when nothing could be graded.
        problem: Why not, in one line; None exactly when there is a report.
        task_id: The task that the trace itself names, whatever it was graded by, else the one that
            it was graded by; None without either. Rows of one task and one agent are trials of it.
    """

    name: str
    path: str
    report: Report | None = None
    problem: str | None = None
    task_id: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The report's verdict; `Verdict.ERROR` when nothing could be graded."""
        return Verdict.ERROR if self.report is None else self.report.verdict


def count_passed(rows: Iterable[Row]) -> int:
    """Return how many rows have the verdict pass."""
    return sum(row.verdict is Verdict.PASS for row in rows)
