"""What `tracedance replay` was asked to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.cli.model_options import ModelOptions
from tracedance_sdk.replay import Doubt

RECORDED: Final = "recorded"
"""The agent that makes each test's own recorded calls."""


class ReplayPlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    folder: Path
    agent: str
    out: Path
    traces: Path | None = None
    tests: tuple[str, ...] = ()
    trials: int = 1
    customer: str | None = None
    spec: Path | None = None
    tasks: Path | None = None
    grader: str | None = None
    judges: tuple[str, ...] = ()
    rubric: str = "task-completion"
    pure: tuple[str, ...] = ()
    simulator: str = "none"
    no_derived: bool = False
    allow: tuple[Doubt, ...] = ()
    min_fidelity: float = 0.0
    nearest: bool = False
    max_turns: int = 50
    run_timeout: float = 600
    helper_timeout: float = 120
    runs: int = 4
    no_redact: bool = False
    calls: ModelOptions = ModelOptions()

    def from_here(self) -> ReplayPlan:
        """Return the plan with absolute places: an agent may go to another folder."""
        return self._replace(
            folder=_absolute(self.folder),
            out=_absolute(self.out),
            traces=None if self.traces is None else _absolute(self.traces),
            calls=self.calls._replace(
                cache=None if self.calls.cache is None else _absolute(self.calls.cache)
            ),
        )

    @property
    def who_speaks(self) -> str:
        """The customer's name: a recorded agent asks nothing, so a script is enough for it."""
        if self.customer is not None:
            return self.customer
        return "scripted" if self.agent == RECORDED else "rules"


def _absolute(place: Path) -> Path:
    try:
        return Path(os.path.abspath(place))  # noqa: PTH100 - links stay as they are
    except OSError:
        return place  # there is no folder here any more
