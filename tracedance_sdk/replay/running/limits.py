"""What ends a run of a rebuilt test, other than the conversation coming to its end."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption

Ended = Literal["customer", "terminal", "max_turns", "max_calls", "loop", "timeout", "agent_error"]

ENDS: Final[dict[Ended, str]] = {
    "customer": "the customer had nothing more to say",
    "terminal": "the agent used a tool that ends the conversation",
    "max_turns": "the agent took as many turns as allowed",
    "max_calls": "the agent made as many calls as allowed",
    "loop": "the agent made the same call again and again",
    "timeout": "the agent took longer than allowed",
    "agent_error": "the agent failed",
}
"""How a run may end."""

END_WORDS: Final[dict[Ended, str]] = {
    "customer": "customer done",
    "terminal": "closing tool",
    "max_turns": "turn limit",
    "max_calls": "call limit",
    "loop": "same calls",
    "timeout": "time limit",
    "agent_error": "agent failed",
}
"""The same for the column of a table."""

PROPER_ENDS: Final[frozenset[Ended]] = frozenset({"customer", "terminal"})


class RunLimits(NamedTuple):
    """How far one run may go.

    Attributes:
        max_turns: Turns of the agent.
        max_calls: Calls of tools.
        timeout_s: Seconds that the agent may take for the whole run; the customer's, the tools'
            and the grader's time does not count.
        same_calls: So many times the same call in a row is a loop.
        helper_timeout_s: Seconds for each answer of those who are not the agent: a customer of
            another package, a pure tool, a simulator, a grader.

    Raises:
        InvalidOption: A limit that is not above 0; raised by `checked`.
    """

    max_turns: int = 50
    max_calls: int = 200
    timeout_s: float = 600
    same_calls: int = 5
    helper_timeout_s: float = 120

    def checked(self) -> RunLimits:
        """Return the limits, if they can be kept."""
        for name, value in self._asdict().items():
            if not value > 0:
                raise InvalidOption(f"{name} is {value!r}; it must be above 0")
        return self


class Repetition:
    """Counts how often in a row the same calls are made."""

    def __init__(self) -> None:
        self._last = ""
        self._times: Counter[str] = Counter()

    def again(self, key: str) -> int:
        """Take note of a call and return how many times it was made in a row."""
        if key != self._last:
            self._times.clear()
        self._last = key
        self._times[key] += 1
        return self._times[key]
