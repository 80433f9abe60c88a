"""A framework's agent at work: the recorder's own run, or a sub-agent's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tracedance_sdk.recording.agents import AgentRun
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.describing import describe_further
from tracedance_sdk.recording.driving import UNRECORDED, Operation, Unrecorded
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.plans import AgentName, plan_run
from tracedance_sdk.recording.runs import Run
from tracedance_sdk.recording.scopes import CURRENT, Scope, Tokens, find_scope, open_runs
from tracedance_sdk.recording.snapshots import StateReader


def start_agent(
    name: str,
    *,
    version: str | None = None,
    call_id: str | None = None,
    system_prompt: str | None = None,
    tools: Iterable[Mapping[str, Any]] = (),
    state: Callable[[], object] | None = None,
) -> Operation:
    """Say that a framework's agent begins, and return its run as an operation.

    The first agent in a recorder's run is what the recorder was opened for: what it does is the
    run's own. So is what it does when it is used again. Another agent, and any that is started in
    a tool or inside another agent, is a sub-agent with a trace of its own.

    Args:
        name: The agent's.
        version: Its version.
        call_id: The call that started it, where that is known and over, as in a handoff.
        system_prompt: Its instructions.
        tools: Fields of `ToolDefinition`.
        state: Returns the framework's state, read at the beginning and the end; counts where the
            recorder has no source of its own.

    Returns:
        An operation to be entered and ended (see `tracedance_sdk.recording.driving`); one that
        does nothing where no recorder is open.
    """
    scope = find_scope() if open_runs else None
    if scope is None:
        return UNRECORDED
    told = _Told(AgentName(name, version), call_id, system_prompt, tuple(tools), state)
    return GUARD.attempt("agent", scope.run.faults, _start, scope, told) or UNRECORDED


class _Told(NamedTuple):
    """The arguments of `start_agent`."""

    who: AgentName
    call_id: str | None
    system_prompt: str | None
    tools: tuple[Mapping[str, Any], ...]
    state: Callable[[], object] | None


def _start(scope: Scope, told: _Told) -> Operation:
    is_own = scope.run.takes_agent(told.who.name)
    if is_own and told.call_id is None and not isinstance(scope, OpenCall):
        return OwnRun(scope.run, told)
    return SubRun(scope, told)


class OwnRun(Unrecorded):
    """The agent that a recorder was opened for."""

    def __init__(self, run: Run, told: _Told) -> None:
        self.scope = run.root
        self._run = run
        run.agents_within += 1
        run.agent_seen = told.who.name
        before: bytes | None = None
        if told.state is not None and run.late_state is None and not run.has_state:
            run.late_state = StateReader(told.state)
            before = GUARD.attempt("state", run.faults, run.late_state.read)
        describe_further(
            run,
            agent=told.who.name,
            version=told.who.version,
            system_prompt=told.system_prompt,
            tools=told.tools,
            initial_state=before,
        )

    def enter(self) -> Tokens:
        """Make the run the current one."""
        return self.scope.enter()

    def leave(self, tokens: Tokens) -> None:
        """Make the scope before it the current one again."""
        self.scope.leave(tokens)

    def exhaust(self) -> None:
        """The agent has ended; the recorder's run goes on."""
        self._over()

    def succeed(self, value: object) -> None:  # noqa: ARG002  # as operations do
        """The agent has ended; the recorder's run goes on."""
        self._over()

    def fail(self, error: BaseException) -> None:  # noqa: ARG002  # as operations do
        """The agent has ended; the recorder's run goes on."""
        self._over()

    def _over(self) -> None:
        if self._run.agents_within:
            self._run.agents_within -= 1


class SubRun(AgentRun):
    """A sub-agent's run, in a trace of its own."""

    def __init__(self, scope: Scope, told: _Told) -> None:
        super().__init__(
            plan_run(
                agent=told.who,
                system_prompt=told.system_prompt,
                tools=told.tools,
                state=told.state,
            )
        )
        self._around = scope
        if told.call_id is not None:
            self._around = Scope(scope.run, scope.span_id, call_id=told.call_id, span=scope.span)

    def _begin(self) -> None:
        token = CURRENT.set(self._around)
        try:
            super()._begin()
        finally:
            CURRENT.reset(token)
