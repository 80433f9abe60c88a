"""How much may be spent: calls and dollars, counted before and after each call."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.llm.chat import Missing
from tracedance_sdk.llm.prices import Price, cost_of
from tracedance_sdk.trace import Usage

Outcome = Literal["replied", "lost", "failed"]

_BYTES_PER_TOKEN: Final = 4
_BLIND: Final = (
    "stopped, as the cost is limited and that of a reply is not known: its usage is missing or "
    "cannot be read"
)


class Limits(NamedTuple):
    """What a run may spend; None for no limit.

    Attributes:
        max_calls: Calls that are sent; replies from a cache are none.
        max_cost_usd: No call is started once this is spent. A call under way counts as much as the
            calls before it cost on average, and at least as much as its input is likely to cost;
            so does one that failed while the provider may have been at work. What was started is
            finished, so a little more may be spent. Nor is a call started once there is a reply
            whose cost is not known, as its usage is missing or cannot be read.
    """

    max_calls: int | None = None
    max_cost_usd: float | None = None


class Budget:
    """What one or several models may spend together, and have spent.

    Args:
        limits: For all of them together.

    Attributes:
        limits: For all of them together.
        sent: Calls so far.
        cost_usd: What they cost, as far as that is known.
        reserved_usd: What is set aside for the calls under way, and for those that failed and may
            be billed all the same.
        is_blind: Whether there was a reply whose cost is not known.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.sent = 0
        self.cost_usd = self.reserved_usd = 0.0
        self.is_blind = False


class Spending:
    """Counts what a model spends and says when to stop.

    Args:
        budget: What it may spend, perhaps together with others.
        price: Of the model; None when not known.

    Attributes:
        price: Of the model; None when not known.
        sent: Its calls so far.
        cost_usd: What they cost, as far as that is known.
        unpriced: Replies whose cost is not known.
        odd_costs: Replies, those from a cache too, that state a cost that is no amount, such as -5;
            it is not used.

    Raises:
        InvalidOption: A limit on cost, and no price to count by.
    """

    def __init__(self, budget: Budget, price: Price | None) -> None:
        if budget.limits.max_cost_usd is not None and price is None:
            raise InvalidOption(
                "the price of this model is not known, so its cost cannot be limited; "
                "limit the calls instead, or give a table of prices"
            )
        self._budget = budget
        self.price = price
        self._priced = 0
        self.sent = self.unpriced = self.odd_costs = 0
        self.cost_usd = 0.0

    def expected(self, request_bytes: int) -> float:
        """Return what a call is likely to cost at least, in dollars.

        Args:
            request_bytes: Length of its body, of which a token takes about four.
        """
        price = 0.0 if self.price is None else self.price.input
        mean = self.cost_usd / self._priced if self._priced else 0.0
        return max(mean, request_bytes / _BYTES_PER_TOKEN * price / 1e6)

    def start(self, expected: float = 0.0) -> Missing | None:
        """Count a call that is about to be sent; or return why it may not be.

        Args:
            expected: Dollars to set aside for it until it is finished.
        """
        budget = self._budget
        calls, cost = budget.limits
        if calls is not None and budget.sent >= calls:
            return Missing("not_asked", f"the limit of {calls:,} calls was reached")
        if cost is not None and budget.is_blind:
            return Missing("not_asked", _BLIND)
        if cost is not None and budget.cost_usd + budget.reserved_usd >= cost:
            return Missing("not_asked", f"the limit of ${cost:,.2f} was reached")
        self.sent += 1
        budget.sent += 1
        budget.reserved_usd += expected
        return None

    def priced(self, usage: Usage | None) -> Usage | None:
        """Return a reply's usage with its cost where that is known, and with no other."""
        if usage is None:
            return None
        cost = cost_of(usage, self.price)
        self.odd_costs += cost.is_odd
        is_told = cost.usd == usage.cost_usd and not cost.is_odd
        return usage if is_told else usage.model_copy(update={"cost_usd": cost.usd})

    def finish(
        self, usage: Usage | None, expected: float = 0.0, *, outcome: Outcome = "failed"
    ) -> None:
        """Count what a call that was started has cost.

        Args:
            usage: Of its reply.
            expected: What was set aside for it.
            outcome: What came where the cost is not known: a reply, nothing though the provider may
                have been at work, or a failure that costs nothing.
        """
        cost = cost_of(usage, None).usd
        if cost is not None or outcome != "lost":
            self._budget.reserved_usd -= expected
        if cost is None:
            self.unpriced += 1
            self._budget.is_blind |= outcome == "replied"
            return
        self._priced += 1
        self.cost_usd += cost
        self._budget.cost_usd += cost
