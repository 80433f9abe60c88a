"""The decorator for an agent's entry point: every use of the function is a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.recording.dispatching import Dispatcher
from tracedance_sdk.recording.driving import Operation
from tracedance_sdk.recording.functions import is_decoratable, name_of
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.lives import Life
from tracedance_sdk.recording.plans import AgentName, Plan, plan_run
from tracedance_sdk.recording.wrappers import Recorded

if TYPE_CHECKING:
    import os

    from tracedance_sdk.recording.options import Durability
    from tracedance_sdk.recording.redaction import Redactor
    from tracedance_sdk.recording.scopes import Scope, Tokens
    from tracedance_sdk.trace import ToolDefinition

_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def agent(function: _F, /) -> _F: ...


@overload
def agent(
    *,
    name: str | None = None,
    version: str | None = None,
    state: object = None,
    task_id: str | None = None,
    journal: str | os.PathLike[str] | Literal[False] | None = None,
    exporter: Any = None,
    tracer_provider: Any = None,
    redaction: bool | Redactor | None = None,
    state_changes: Literal["per_call"] | None = None,
    content: Literal["on", "off"] | None = None,
    system_prompt: str | None = None,
    tools: Iterable[ToolDefinition | Mapping[str, Any]] = (),
    group: str | None = None,
    session_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    durability: Durability | None = None,
) -> Callable[[_F], _F]: ...


def agent(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Record every use of a function as a run of an agent.

    For coroutines, generators and methods as for plain functions; what `tool` promises of the
    function's behaviour holds here too. A use inside another run is a sub-agent's run: a trace of
    its own, linked to the call that started it, in the same OpenTelemetry trace. A generator's
    run lasts as long as it is read.

    Args:
        function: The entry point, when the decorator is used bare.
        options: Of `TraceRecorder`, without ``environment``; ``name`` and ``version`` are the
            agent's, by default named after the function.

    Raises:
        InvalidOption: An option that cannot be used, or `function` is not callable.
        StateSourceError: No state can be taken from ``state``.

    Example:
        >>> @agent(task_id="greet")
        ... def answer(request: str) -> str:
        ...     return f"hello, {request}"
        >>> answer("Ann")
        'hello, Ann'
    """
    decoration = AgentDecoration(options)
    return decoration.around if function is None else decoration.around(function)


class AgentDecoration:
    """The options of one use of `agent`, and what it does with a function."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = {**options, "tools": tuple(options.get("tools", ()))}
        try:
            self.plan_for("agent")
        except TraceDanceError:
            raise
        except TypeError as error:
            raise InvalidOption(f"agent() cannot be used like this: {error}") from error

    def __reduce__(self) -> Any:
        return AgentDecoration, (self.options,)

    def plan_for(self, name: str) -> Plan:
        """Return the plan of a run; `name` is the agent's unless the options name it."""
        options = dict(self.options)
        who = AgentName(options.pop("name", None) or name, options.pop("version", None))
        return plan_run(agent=who, **options)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded function."""
        if not is_decoratable(function):
            raise InvalidOption(f"{function!r} is not callable; put the decorator on a function")
        return Recorded(function, EntryPoint(self, function).run)


class EntryPoint:
    """A function that is recorded as an agent's entry point.

    Attributes:
        decoration: The options it was decorated with.
    """

    def __init__(self, decoration: AgentDecoration, function: Callable[..., Any]) -> None:
        self.decoration = decoration
        self._function = function
        self._plan = decoration.plan_for(name_of(function))
        self._dispatcher: Dispatcher | None = None

    def run(
        self,
        wrapped: Callable[..., Any],
        instance: object,  # noqa: ARG002  # wrapt gives it
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call the function, in a run of its own."""
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(self._function)
        return self._dispatcher.run(self._begin, wrapped, args, kwargs)

    def _begin(self) -> Operation:
        return AgentRun(self._plan)


class AgentRun:
    """A run as an operation: it begins with the body and ends with it.

    Spans are not waited for at its end: they leave in the background, and when the program exits.
    """

    def __init__(self, plan: Plan) -> None:
        self._life = Life(plan)
        self._root: Scope | None = None
        self._began = False
        self._before: bytes | None = None
        self._after: bytes | None = None

    async def prepare(self) -> None:
        """Take the state before from a source that may have to be awaited, and begin."""
        self._before = await self._life.read_state_async()
        self._begin()

    def enter(self) -> Tokens:
        """Make the run the current one; the first time, begin it."""
        if not self._began:
            self._before = self._life.read_state()
            self._begin()
        return (None, None) if self._root is None else self._root.enter()

    def leave(self, tokens: Tokens) -> None:
        """Make the run around it the current one."""
        if self._root is not None:
            self._root.leave(tokens)

    def add(self, item: object) -> None:
        """Keep nothing: what an agent yields is for its caller."""

    def exhaust(self) -> None:
        """End: the generator came to its end."""
        self._end(None)

    def succeed(self, value: object) -> None:  # noqa: ARG002  # as for `add`
        """End: the function returned."""
        self._end(None)

    def fail(self, error: BaseException) -> None:
        """End: an exception left the function, or its caller stopped reading."""
        self._end(error)

    async def observe(self) -> None:
        """Take the state at the end from a source that may have to be awaited."""
        if self._root is not None:
            self._life.stop()
            self._after = await self._life.read_state_async()

    def _begin(self) -> None:
        self._began = True
        GUARD.attempt("open", PROCESS_FAULTS, self._life.begin, self._before)
        self._root = None if self._life.run is None else self._life.run.root

    def _end(self, error: BaseException | None) -> None:
        if self._root is not None:
            self._life.stop()
            state = self._life.read_state() if self._after is None else self._after
            self._life.end(state, error)
