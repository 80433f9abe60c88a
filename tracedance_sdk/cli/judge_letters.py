"""Letters for judges in tables, with a legend: their names are long, and often alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracedance_sdk.report import ReportConsole

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PARTS = re.compile(r"(?=@https?://|#[0-9a-f]{12}$)")


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
    """Print which letter is whose, whole names, each on lines of its own.

    Args:
        console: Where to.
        letters: Name → letter.
        what: What they are.
    """
    for name, letter in letters.items():
        say_name(console, f"{what} {letter}: ", name)


def say_name(console: ReportConsole, label: str, name: str) -> None:
    """Print a name of a model or judge; one that does not fit is broken at its address and digest.

    Args:
        console: Where to.
        label: Before it.
        name: Such as ``openai:x@http://127.0.0.1:8080/v1#1f0c6a2be4d9``; safe or not.
    """
    from rich.cells import cell_len

    from tracedance_sdk.report import in_one_line

    lines = [label]
    for part in _PARTS.split(in_one_line(name)):
        if lines[-1] != label and cell_len(lines[-1] + part) > console.width:
            lines.append(" " * cell_len(label))
        lines[-1] += part
    for line in lines:
        console.say(line, hang=2)
