"""What is told of places that could not be looked at: some lines, and how many more there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tracedance_sdk.behaviors.foreign.walls import without_addresses
from tracedance_sdk.errors import TraceDanceError, shown

MOST_ERRORS: Final = 100
"""Lines about one partition, beside that about places which are not there."""


class PlaceErrors:
    """Takes note of what went wrong with places.

    Args:
        tell: Is given each line.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._n_failed = self._n_missing = 0
        self._missing = ""

    def missing(self, what: str, number: int = 1) -> None:
        """Take note of places that are not there; the first is told with the number of others."""
        self._n_missing += number
        self._missing = self._missing or what

    def failed(self, what: str) -> None:
        """Tell of a place at which foreign source failed."""
        self._n_failed += 1
        if self._n_failed <= MOST_ERRORS:
            self._tell(what)

    def end(self) -> None:
        """Tell what is told once for all."""
        if self._n_missing:
            rest = self._n_missing - 1
            many = "1 more place is" if rest == 1 else f"{rest:,} more places are"
            self._tell(self._missing + (f"; {many} not there" if rest else ""))
        if self._n_failed > MOST_ERRORS:
            self._tell(f"{self._n_failed - MOST_ERRORS:,} more errors are not listed")


def failure_text(error: BaseException) -> str:
    """Return what an error says, without addresses; which kind it is, where it is not ours."""
    told = without_addresses(str(error))
    if isinstance(error, Exception) and not isinstance(error, TraceDanceError):
        return f"{type(error).__name__}: {shown(told)}"
    return told
