"""What the hooks of integrations see of an agent that somebody puts through its work.

Whoever replays a run asks an agent and answers its calls, and yet sees nothing of its models: what
they were told, what they said beside their calls, which calls they asked for. `SeenWork` is a
recorder for that, which writes nowhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tracedance_sdk.recording.answering import ASKING
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.scopes import places

if TYPE_CHECKING:
    from tracedance_sdk.recording.lives import Life
    from tracedance_sdk.recording.runs import Run
    from tracedance_sdk.trace import Trace

_HOOKS: Final = "tracedance_sdk.recording.integrating.model_calls"
"""What every integration that sees models imports."""


class SeenWork:
    """A look at the code in a ``with`` statement; none where no integration has been loaded.

    It stays in memory, whatever `configure` and the environment say, and secrets in it are masked
    as in any record. A recorder that the code opens itself is part of it.

    Attributes:
        traces: The agent's and those of its sub-agents, once the statement is over; without any
            hook, empty.
        is_of_framework: A framework's agent was at work, which makes its own calls.
    """

    def __init__(self) -> None:
        self.traces: tuple[Trace, ...] = ()
        self.is_of_framework = False
        self._life: Life | None = None

    def __enter__(self) -> Self:
        if _HOOKS in sys.modules:
            self._life = GUARD.attempt("replay", PROCESS_FAULTS, _opened)
        return self

    def take_threads(self) -> None:
        """Have the work of threads belong here whose calls are answered as those made here."""
        asking = ASKING.get()
        if self._life is not None and asking is not None and asking.source is not None:
            places[asking.source] = self._life.opened.root

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._life is not None:
            GUARD.attempt("replay", PROCESS_FAULTS, self._end, self._life)

    def _end(self, life: Life) -> None:
        life.finish(None)
        if life.opened.talk is None and not life.opened.children:
            return
        self.is_of_framework = any(run.agent_seen is not None for run in _tree(life.opened))
        self.traces = tuple(life.traces())


def _opened() -> Life:
    from tracedance_sdk.recording.lives import Life
    from tracedance_sdk.recording.plans import plan_run

    plan = plan_run(journal=False, exporter=False)
    life = Life(plan._replace(tracer_provider=False))
    life.begin(None)
    life.opened.has_state = True  # nobody asks for the state of a framework
    life.step_in()
    return life


def _tree(run: Run) -> Iterator[Run]:
    yield run
    for child in run.children:
        yield from _tree(child)
