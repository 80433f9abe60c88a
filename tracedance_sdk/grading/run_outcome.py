"""What the source itself says of the run: ended, succeeded, rewarded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from tracedance_sdk.grading.criterion import Criterion, Flag
from tracedance_sdk.grading.expected import Expected
from tracedance_sdk.grading.grades import Finding, brief
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import Outcome

_CONDITIONS = ("ended", "success", "reward")


class RunOutcome(Criterion):
    """The outcome recorded with the run meets conditions.

    Attributes:
        ended: Whether the run must have come to its proper end.
        success: The source's own verdict.
        reward: The source's own number, or a condition such as ``{"$range": {"min": 0.5}}``.
    """

    type: Literal["outcome"] = "outcome"
    ended: Flag | None = None
    success: Flag | None = None
    reward: Expected | None = None

    passing: ClassVar[str] = "the run's outcome is as required"

    @model_validator(mode="after")
    def _something(self) -> RunOutcome:
        if all(getattr(self, name) is None for name in _CONDITIONS):
            text = "give at least one of 'ended', 'success' and 'reward'"
            raise PydanticCustomError("outcome", "{text}", {"text": text})
        return self

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each condition that the recorded outcome does not, or may not, meet."""
        outcome = run.trace.outcome or Outcome()
        for name in _CONDITIONS:
            condition = getattr(self, name)
            if condition is None:
                continue
            expected = condition if isinstance(condition, Expected) else Expected(condition)
            found = getattr(outcome, name)
            if found is None:
                yield Finding(run.evidence(f"'{name}' was not recorded"), certain=False)
            elif expected.holds(found) is not True:
                text = f"'{name}' is {brief(found)}; expected {brief(expected.source)}"
                yield Finding(run.evidence(text, expected=expected.source, found=found))
