"""What the agents of a whole test run cost, shared by all its workers, and when it is enough.

Each run's cost is one line appended to one file, which every worker reads before it begins a run.
Workers that are in the middle of a run do not stop: the limit is passed by what those runs cost.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tracedance_sdk.llm import PriceTable
    from tracedance_sdk.trace import Trace, Usage

_FILE: Final = "spent.jsonl"


class Spent(NamedTuple):
    """What was spent.

    Attributes:
        cost_usd: The sum of what has a price, in US dollars.
        n_priced: Model turns and judgements with a price.
        n_unpriced: Those without: no usage was recorded, or the model is not in the table.
        n_odd: Those that state a cost that is no amount, such as -5, which is not used.
    """

    cost_usd: float = 0.0
    n_priced: int = 0
    n_unpriced: int = 0
    n_odd: int = 0

    def minus(self, other: Spent) -> Spent:
        """Return what was spent besides."""
        return Spent(
            self.cost_usd - other.cost_usd,
            self.n_priced - other.n_priced,
            self.n_unpriced - other.n_unpriced,
            self.n_odd - other.n_odd,
        )


class CostLedger:
    """The file in which all processes of a test run write what they spent.

    Args:
        folder: That of the test run; made by the process that begins it.
        most_usd: The limit, above 0.
    """

    def __init__(self, folder: Path, *, most_usd: float) -> None:
        self.folder = folder
        self.most_usd = most_usd

    def add(self, spent: Spent) -> None:
        """Add what a run cost.

        Raises:
            OSError: The file cannot be written.
        """
        if any(spent):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            line = json.dumps(spent).encode() + b"\n"
            file = os.open(self.folder / _FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)

    def total(self) -> Spent:
        """Return what all processes spent so far.

        Raises:
            OSError: The file cannot be read.
        """
        try:
            lines = (self.folder / _FILE).read_bytes().splitlines()
        except FileNotFoundError:
            return Spent()
        added = [Spent(*json.loads(line)) for line in lines]
        return Spent(
            math.fsum(each.cost_usd for each in added),  # ten times 0.1 is 1
            sum(each.n_priced for each in added),
            sum(each.n_unpriced for each in added),
            sum(each.n_odd for each in added),
        )

    def reached(self) -> str | None:
        """Return that the limit is reached, in words; None when it is not.

        Raises:
            OSError: The file cannot be read.
        """
        if self.total().cost_usd < self.most_usd:
            return None
        return f"the cost limit of ${self.most_usd:g} is reached"

    def forget(self) -> None:
        """Remove the folder; the process that made it calls this at the end."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def summary(self) -> str:
        """Return what was spent and what had no price, in one line.

        Raises:
            OSError: The file cannot be read.
        """
        total = self.total()
        text = f"${total.cost_usd:.4f} spent of at most ${self.most_usd:g}"
        n = total.n_priced + total.n_unpriced
        noun = "model turns and judgements"
        if total.n_unpriced:
            text += f"; {total.n_unpriced} of {n} {noun} had no price and are not in it"
        if total.n_odd:
            text += f"; {total.n_odd} of {n} state a cost that is no amount, which is not used"
        return text


def spent_on(traces: Iterable[Trace], usages: Iterable[Usage], *, prices: PriceTable) -> Spent:
    """Return what traces and judges' replies cost.

    A turn costs what it says (``usage.cost_usd``), else its tokens at the price of its model. A
    turn of the agent's without usage counts as one without a price. A stated cost that is no
    amount, such as -5, is not used.

    Args:
        traces: Each trace once.
        usages: Of judges that asked a model.
        prices: Of models by name.
    """
    from tracedance_sdk.llm import cost_of

    costs = [cost_of(usage, None) for usage in usages]
    for trace in traces:
        for turn in trace.turns:
            if turn.usage is not None or turn.role == "assistant":
                price = None if turn.model is None else prices.of(turn.model)
                costs.append(cost_of(turn.usage, price))
    known = [cost.usd for cost in costs if cost.usd is not None]
    n_odd = sum(cost.is_odd for cost in costs)
    return Spent(math.fsum(known), len(known), len(costs) - len(known), n_odd)
