"""A framework's agent at work: the recorder's own run, or a sub-agent's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from tracedance_sdk.recording.agents import AgentRun
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.describing import UNNAMED, describe_further
from tracedance_sdk.recording.driving import Operation, Unrecorded
from tracedance_sdk.recording.failures import Failure, describe
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.integrating.conversations import talk_of
from tracedance_sdk.recording.plans import AgentName, plan_run
from tracedance_sdk.recording.runs import Run
from tracedance_sdk.recording.scopes import CURRENT, Scope, Tokens, find_scope, open_runs
from tracedance_sdk.recording.snapshots import KeptState, StateReader
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.formats import ModelRequest


class AgentOperation(Operation, Protocol):
    """An agent's run as an operation, to which the framework may tell more once it is at work."""

    def tell_state(self, read: Callable[[], object]) -> None:
        """Take the framework's state as it is now.

        The first one told is the state before the run, the last one the state after it. Neither
        counts where the recorder has a source of its own.

        Args:
            read: Returns it; called now, and guarded. None means that there is none yet.
        """

    def recall(self, read: Callable[[], ModelRequest | None]) -> None:
        """Take the conversation that the run goes on with, unless some of it is known.

        Args:
            read: Returns it; called now, and guarded. None means that there is none.
        """

    def pause(self) -> None:
        """End for now: the framework waits for somebody.

        An agent that was started with a ``place`` goes on when one is started there again.
        """


def start_agent(
    name: str | Callable[[], str | None] | None,
    *,
    version: str | None = None,
    call_id: str | None = None,
    system_prompt: str | None = None,
    tools: Iterable[Mapping[str, Any]] = (),
    state: Callable[[], object] | None = None,
    place: str | None = None,
) -> AgentOperation:
    """Say that a framework's agent begins, and return its run as an operation.

    The first agent in a recorder's run is what the recorder was opened for: what it does is the
    run's own. So is what it does when it is used again. Another agent, and any that is started in
    a tool or inside another agent, is a sub-agent with a trace of its own.

    Args:
        name: The agent's, or a function that returns it, which is called now, and guarded. None
            where it has none: one in a tool is called like the tool.
        version: Its version.
        call_id: The call that started it, where that is known and over, as in a handoff.
        system_prompt: Its instructions.
        tools: Fields of `ToolDefinition`.
        state: Returns the framework's state, read at the beginning and the end; counts where the
            recorder has no source of its own.
        place: Where in the framework it works; a sub-agent that paused there goes on.

    Returns:
        An operation to be entered and ended (see `tracedance_sdk.recording.driving`); one that
        does nothing where no recorder is open.
    """
    scope = find_scope() if open_runs else None
    if scope is None:
        return UNRECORDED_AGENT
    told = _Told(name, version, call_id, system_prompt, tuple(tools), state, place)
    return GUARD.attempt("agent", scope.run.faults, _start, scope, told) or UNRECORDED_AGENT


class UnrecordedAgent(Unrecorded):
    """The operation of an agent that is not recorded."""

    def tell_state(self, read: Callable[[], object]) -> None:
        """Read nothing."""

    def recall(self, read: Callable[[], ModelRequest | None]) -> None:
        """Read nothing."""

    def pause(self) -> None:
        """Wait for nobody."""


UNRECORDED_AGENT: Final = UnrecordedAgent()


class _Told(NamedTuple):
    """The arguments of `start_agent`."""

    name: str | Callable[[], str | None] | None
    version: str | None
    call_id: str | None
    system_prompt: str | None
    tools: tuple[Mapping[str, Any], ...]
    state: Callable[[], object] | None
    place: str | None


def _start(scope: Scope, told: _Told) -> AgentOperation:
    for waiting in () if told.place is None else tuple(scope.run.streams):
        if isinstance(waiting, SubRun) and waiting.waits_at(told.place, scope):
            scope.run.streams.discard(waiting)
            return waiting
    name = told.name() if callable(told.name) else told.name
    if name is None:
        name = scope.name if isinstance(scope, OpenCall) else UNNAMED
    who = AgentName(name, told.version)
    is_inside = told.call_id is not None or isinstance(scope, OpenCall)
    if not is_inside and scope.run.take_agent(name):
        return OwnRun(scope.run, who, told)
    return SubRun(scope, who, told)


class OwnRun(UnrecordedAgent):
    """The agent that a recorder was opened for."""

    def __init__(self, run: Run, who: AgentName, told: _Told) -> None:
        self.scope = run.root
        self._run = run
        before: bytes | None = None
        if told.state is not None and run.late_state is None and not run.has_state:
            run.late_state = StateReader(told.state)
            before = GUARD.attempt("state", run.faults, run.late_state.read)
        describe_further(
            run,
            agent=who.name,
            version=who.version,
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
        self._over(None)

    def succeed(self, value: object) -> None:  # noqa: ARG002  # as operations do
        """The agent has ended; the recorder's run goes on."""
        self._over(None)

    def fail(self, error: BaseException) -> None:
        """The agent has failed; the recorder's run goes on, and says so unless it goes well yet."""
        self._over(GUARD.attempt("error", self._run.faults, describe, error, self._run.faults))

    def tell_state(self, read: Callable[[], object]) -> None:
        """Take the framework's state as it is now."""
        GUARD.attempt("state", self._run.faults, _keep_state, self._run, read)

    def recall(self, read: Callable[[], ModelRequest | None]) -> None:
        """Take the conversation that the run goes on with."""
        GUARD.attempt("conversation", self._run.faults, _recall, self._run, read)

    def pause(self) -> None:
        """The agent has ended for now; the recorder's run goes on."""
        self._over(None)

    def _over(self, failure: Failure | None) -> None:
        self._run.agent_failure = failure
        if self._run.agents_within:
            self._run.agents_within -= 1


class SubRun(AgentRun):
    """A sub-agent's run, in a trace of its own."""

    def __init__(self, scope: Scope, who: AgentName, told: _Told) -> None:
        super().__init__(
            plan_run(
                agent=who,
                system_prompt=told.system_prompt,
                tools=told.tools,
                state=told.state,
            )
        )
        self._name = who.name
        self._place = told.place
        self._around = scope
        if told.call_id is not None:
            self._around = Scope(scope.run, scope.span_id, call_id=told.call_id, span=scope.span)

    async def prepare(self) -> None:
        """Begin, unless this goes on."""
        if not self._began:
            await super().prepare()

    def pause(self) -> None:
        """Stay open until it goes on, or the run around it ends."""
        around = self._around.run
        if self._place is None or self._life.run is None or not around.is_open:
            self.exhaust()
            return
        around.streams.add(self)

    def waits_at(self, place: str | None, scope: Scope) -> bool:
        """Whether it paused at a place, in the call that is made here."""
        return self._place == place and self._around.call_id == scope.call_id

    def interrupt(self) -> None:
        """End with the run around it, still waiting."""
        self._around.run.streams.discard(self)
        self.exhaust()

    def _begin(self) -> None:
        token = CURRENT.set(self._around)
        try:
            super()._begin()
        finally:
            CURRENT.reset(token)
        run = self._life.run
        if run is not None:
            # Any other agent that begins in it works for this one.
            run.agent_seen = self._name
            run.agents_within += 1

    def tell_state(self, read: Callable[[], object]) -> None:
        """Take the framework's state as it is now."""
        run = self._life.run
        if run is not None:
            GUARD.attempt("state", run.faults, _keep_state, run, read)

    def recall(self, read: Callable[[], ModelRequest | None]) -> None:
        """Take the conversation that the run goes on with."""
        run = self._life.run
        if run is not None:
            GUARD.attempt("conversation", run.faults, _recall, run, read)


def _keep_state(run: Run, read: Callable[[], object]) -> None:
    if run.has_state or isinstance(run.late_state, StateReader):
        return
    found = read()
    if found is None:
        return
    state = freeze(found)
    if run.late_state is None:
        describe_further(run, initial_state=state)
    run.late_state = KeptState(state)


def _recall(run: Run, read: Callable[[], ModelRequest | None]) -> None:
    before = read() if run.talk is None else None
    if before is not None:
        talk_of(run).hear(before)
