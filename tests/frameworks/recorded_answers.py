"""A source of answers for one run: what is on record of another."""

from __future__ import annotations

from tracedance_sdk.recording import AskedCall, GivenAnswer
from tracedance_sdk.trace import Trace


class Recorded:
    """Answers calls from a trace, and lets nothing run."""

    def __init__(self, trace: Trace) -> None:
        self._results = {(c.name, str(c.arguments)): c.result for c in trace.actions}

    def answer(self, asked: AskedCall, /) -> GivenAnswer:
        """Return the recorded answer to an equal call."""
        result = self._results[asked.name, str(asked.arguments)]
        assert result is not None
        return GivenAnswer(result, {"stamp": "same"})
