"""How a number of things is written."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """Return a number and what it counts, such as ``1 file`` or ``1,200 files``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
