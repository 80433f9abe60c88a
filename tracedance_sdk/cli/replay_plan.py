"""What `tracedance replay` was asked to do."""

from __future__ import annotations

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

    @property
    def who_speaks(self) -> str:
        """The customer's name: a recorded agent asks nothing, so a script is enough for it."""
        if self.customer is not None:
            return self.customer
        return "scripted" if self.agent == RECORDED else "rules"
