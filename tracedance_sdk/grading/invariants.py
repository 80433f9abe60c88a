"""What must hold of the state all the time, not only in the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tracedance_sdk.grading.criterion import Criterion, Flag
from tracedance_sdk.grading.expected import Expected
from tracedance_sdk.grading.final_state import difference_text
from tracedance_sdk.grading.grades import Finding
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import Call, Json


class Invariant(Criterion):
    """The state is like this before the run, after every call, and in the end.

    States between are the initial state with the recorded changes applied; where a call has no
    recorded change, nothing is known of the states after it.

    Attributes:
        state: Compared in part: the state may hold more.
        initially: Whether it must hold before the first call too.
    """

    type: Literal["invariant"] = "invariant"
    state: Expected
    initially: Flag = True

    passing: ClassVar[str] = "the state is as required all the time"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each moment at which the state is wrong; if none, the first unclear one."""
        unclear: Finding | None = None
        certain = False
        for when, call, state in self._moments(run):
            for difference in self.state.differences(state):
                evidence = run.evidence(
                    f"{when}: {difference_text(difference)}",
                    call=call,
                    path=difference.path,
                    expected=difference.expected,
                    found=difference.found,
                )
                if difference.certain:
                    certain = True
                    yield Finding(evidence)
                elif unclear is None:
                    unclear = Finding(evidence, certain=False)
        if unclear is not None and not certain:
            yield unclear

    def _moments(self, run: RunView) -> Iterator[tuple[str, Call | None, Json]]:
        if self.initially:
            yield "before the run", None, run.initial_state
        for call in run.calls:
            yield f"after {run.label(call)}", call, run.states.after(call)
        yield "in the end", None, run.final_state
