"""What it costs to make one conversation's calls in another's test, 600 times."""

from __future__ import annotations

import gc
import gzip
import time
from functools import partial
from typing import TYPE_CHECKING

import orjson

from tests.performance.measuring import Budget, Effort, Measured, duration, quartiles
from tests.support.shared_data import SHARED_DATA

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE = SHARED_DATA / "tau-bench" / "historical_trajectories" / "gpt-4o-airline.json.gz"
_LOADS = 3


def pairs(effort: Effort, *, derived: bool) -> Measured | str:
    """Answer the calls of all 600 ordered pairs, against `orjson.loads` of the conversations.

    Args:
        effort: How many rounds.
        derived: Whether rules are learned, in every round anew, and answers derived by them.
    """
    if not _FILE.exists():
        return "the recorded conversations are absent"
    from tests.replay.swaps import recorded_bed, swap
    from tracedance_sdk.replay import RuleBook

    data = gzip.decompress(_FILE.read_bytes())
    bed = recorded_bed()

    def ours() -> None:
        book = RuleBook(bed.recorded, bed.effect_of) if derived else bed.book
        swap(bed._replace(book=book), order="file", derived=derived)

    ours()
    found = [(_spent(ours), _spent(lambda: orjson.loads(data))) for _ in range(effort.rounds)]
    low, middle, high = quartiles(sorted(above / below for above, below in found))
    above, below = sorted(found)[len(found) // 2]
    return Measured(middle, low, high, f"{duration(above)} against {duration(below)}")


def _spent(function: Callable[[], object]) -> float:
    """Return the processor time of a call, the least of several where it is short."""
    spent: list[float] = []
    while not spent or (len(spent) < _LOADS and spent[0] < 0.1):
        gc.collect()
        started = time.process_time()
        function()
        spent.append(time.process_time() - started)
    return min(spent)


BUDGETS = tuple(
    Budget(
        name,
        f"the calls of 600 pairs of real conversations{what}",
        "orjson.loads of the file with the conversations",
        40.0,
        "x",
        partial(pairs, derived=derived),
    )
    for name, what, derived in (
        ("pairs", ", recorded answers alone", False),
        ("pairs-derived", ", rules learned and proven in every round", True),
    )
)
