"""The five verdicts, how severe a finding is, and what they make of an exit code."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final, Literal

Severity = Literal["critical", "major", "minor"]
"""What a violation makes of the verdict: critical, fail, or nothing (it is reported only)."""


class Verdict(enum.StrEnum):
    """What became of a criterion, or of a run as a whole.

    From the worst to the best:

    * ``critical``: something was done that nothing can make good;
    * ``fail``: a requirement is certainly not met;
    * ``error``: a grader could not do its work;
    * ``inconclusive``: the evidence needed to decide is missing, cut or masked;
    * ``pass``: everything required is certainly met.
    """

    CRITICAL = "critical"
    FAIL = "fail"
    ERROR = "error"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"  # noqa: S105 - a verdict, no password

    @property
    def rank(self) -> int:
        """Position from the worst, 0, to the best, 4."""
        return _RANKS[self]


_RANKS: Final = {verdict: rank for rank, verdict in enumerate(Verdict)}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of the verdicts; of none, `Verdict.PASS`.

    Example:
        >>> worst([Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL])
        <Verdict.FAIL: 'fail'>
    """
    return min(verdicts, key=_RANKS.__getitem__, default=Verdict.PASS)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return the exit code of a command that graded something.

    Returns:
        1 when any verdict is critical or fail; else 3 when any is error or inconclusive; else 0.
    """
    found = worst(verdicts)
    if found in (Verdict.CRITICAL, Verdict.FAIL):
        return 1
    return 0 if found is Verdict.PASS else 3
