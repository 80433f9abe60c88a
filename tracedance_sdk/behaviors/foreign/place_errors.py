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

    def missing(self, what: str) -> None:
        """Take note of a place that is not there; the first is told with the number of others."""
        self._n_missing += 1
        self._missing = self._missing or what

    def failed(self, where: str, error: BaseException) -> str:
        """Tell of a place at which foreign source failed; return why."""
        told = without_addresses(str(error))
        if not isinstance(error, TraceDanceError):
            told = f"{type(error).__name__.lstrip('_')}: {shown(told)}"
        self._n_failed += 1
        if self._n_failed <= MOST_ERRORS:
            self._tell(f"{where}: {told}")
        return told

    def end(self) -> None:
        """Tell what is told once for all."""
        if self._n_missing:
            rest = self._n_missing - 1
            many = "1 more place is" if rest == 1 else f"{rest:,} more places are"
            self._tell(self._missing + (f"; {many} not there" if rest else ""))
        if self._n_failed > MOST_ERRORS:
            self._tell(f"{self._n_failed - MOST_ERRORS:,} more errors are not listed")
