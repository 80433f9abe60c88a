"""Letters for judges in tables, with a legend: their names are long, and often alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracedance_sdk.report import ReportConsole

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def lettered(names: Sequence[str]) -> dict[str, str]:
    """Return a letter for each judge, in the order given; beyond the 26th a number.

    Example:
        >>> lettered(["openai:x#12", "openai:y#34"])
        {'openai:x#12': 'A', 'openai:y#34': 'B'}
    """
    different = list(dict.fromkeys(names))
    marks = [*_LETTERS, *(str(n) for n in range(len(_LETTERS) + 1, len(different) + 1))]
    return dict(zip(different, marks, strict=False))


def say_legend(console: ReportConsole, letters: dict[str, str], what: str = "judge") -> None:
    """Print which letter is whose, whole names, a line each.

    Args:
        console: Where to.
        letters: Name → letter.
        what: What they are.
    """
    from tracedance_sdk.report import in_one_line

    for name, letter in letters.items():
        console.say(in_one_line(f"{what} {letter}: {name}"), hang=2)
