"""What became of the spans of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

LATE: Final = "not taken by the exporter in time"
FULL: Final = "the export queue was full"
CLOSED: Final = "the exporter was closed"


class Tally:
    """Counts spans on their way out.

    Attributes:
        handed: Given to the exporter's queue.
        exported: Taken by the exporter.
        failed: Refused by it or left out of the queue, by reason.
        trouble: Tells what the exporter met with last, None when nothing was wrong.
    """

    def __init__(self) -> None:
        self.handed = 0
        self.exported = 0
        self.failed: Counter[str] = Counter()
        self.trouble: Callable[[], str | None] | None = None

    @property
    def dropped(self) -> dict[str, int]:
        """Spans not exported, by reason; those still on their way count as late."""
        failed = dict(self.failed)
        late = self.handed - self.exported - sum(failed.values())
        return {**failed, **({self._late(): late} if late > 0 else {})}

    def _late(self) -> str:
        trouble = None if self.trouble is None else self.trouble()
        return LATE if trouble is None else f"{LATE}: {trouble}"
