"""The recorder: opened around a run, it holds the trace of everything the run did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.by_hand import HandCall
from tracedance_sdk.recording.environments import execute_action
from tracedance_sdk.recording.lives import Life
from tracedance_sdk.recording.plans import plan_run

if TYPE_CHECKING:
    import os
    from datetime import datetime

    from tracedance_sdk.recording.calls import RequestedBy
    from tracedance_sdk.recording.closing import CloseSummary
    from tracedance_sdk.recording.options import Durability
    from tracedance_sdk.recording.redaction import Redactor
    from tracedance_sdk.recording.threads import RunThreadPool
    from tracedance_sdk.trace import Agent, ErrorInfo, Origin, Role, ToolDefinition, Trace

_P = ParamSpec("_P")
_T = TypeVar("_T")


class TraceRecorder:
    """Records one run: the calls of decorated tools, turns and calls reported by hand, state.

    Open it with ``with`` or ``async with``. What a recorder is not told it takes from the recorder
    around it, then from `configure`, then from the environment (see `tracedance_sdk.settings`).
    A recorder opened inside another one's run records a sub-agent: a trace of its own, linked to
    the call that started it.

    Args:
        task_id: What the run is about.
        agent: Name of the agent, or an `Agent` with its version.
        state: Where the state of the environment comes from: a callable (sync or async), an object
            with ``get_state()`` or ``snapshot()``, a dict, a dataclass, a pydantic model, a SQLite
            connection or file, or a directory. Read at the start and at the end.
        environment: An object with ``execute(action)``, for `execute`. Its ``get_state()``, if it
            has one, is the state unless `state` is given.
        journal: Folder where records are written as they happen; False keeps them in memory.
        exporter: Where ended spans go besides: ``"otlp"``, ``"console"``, or an OpenTelemetry span
            exporter; False for nowhere.
        tracer_provider: Your own OpenTelemetry provider: the run's spans become part of its
            traces. None keeps the run isolated, and no provider is touched.
        redaction: False keeps secrets readable; an object with ``redact(data)`` masks its own way.
        state_changes: ``"per_call"`` reads the state after each call too, and records the change.
        content: ``"off"`` leaves arguments, results and messages out of exported spans.
        system_prompt: The agent's instructions.
        tools: Definitions of its tools as the model is shown them: ours, or their JSON.
        group: The leave-out unit, such as the task that several trials share.
        session_id: An id of the conversation that the application really has.
        metadata: JSON object kept with the trace.
        durability: ``"fsync"`` makes a written record survive a loss of power.

    Raises:
        InvalidOption: An argument that cannot be used.
        StateSourceError: No state can be taken from `state`.

    Example:
        >>> with TraceRecorder(task_id="greet") as recorder:
        ...     with recorder.call("greet", {"name": "Ann"}) as call:
        ...         call.result = "hello"
        >>> [(call.name, call.result.content) for call in recorder.trace.calls]
        [('greet', 'hello')]
    """

    def __init__(
        self,
        *,
        task_id: str | None = None,
        agent: str | Agent = "agent",
        state: object = None,
        environment: Any = None,
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
    ) -> None:
        self._environment = environment
        self._life = Life(
            plan_run(
                task_id=task_id,
                agent=agent,
                state=state,
                environment=environment,
                journal=journal,
                exporter=exporter,
                tracer_provider=tracer_provider,
                redaction=redaction,
                state_changes=state_changes,
                content=content,
                system_prompt=system_prompt,
                tools=tools,
                group=group,
                session_id=session_id,
                metadata=metadata,
                durability=durability,
            )
        )

    def __repr__(self) -> str:
        return f"<TraceRecorder {self._life.shown()}>"

    def __enter__(self) -> Self:
        self._life.begin(self._life.read_state())
        self._life.step_in()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._life.finish(error)
        self._life.flush()

    async def __aenter__(self) -> Self:
        self._life.begin(await self._life.read_state_async())
        self._life.step_in()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._life.finish_async(error)
        await self._life.flush_async()

    @property
    def trace(self) -> Trace:
        """The trace of the run; while the recorder is open, as far as the run has come.

        While it is open the state is read now, and each use reads the records again.

        Raises:
            RecorderError: The recorder was never opened.
        """
        return self._life.trace()

    @property
    def traces(self) -> list[Trace]:
        """The run's own trace, then those of its sub-agents, in order of start.

        Raises:
            RecorderError: The recorder was never opened.
        """
        return self._life.traces()

    def execute(self, action: Any) -> Any:
        """Let the environment do an action, and record it as a call of the agent.

        Args:
            action: With ``id``, ``type`` and ``input``, as keys or attributes. An action without
                an id gets one in the record.

        Returns:
            What the environment returned, unchanged; an awaitable of it when the environment is
            asynchronous.

        Raises:
            RecorderError: The recorder is not open, or has no environment.
            InvalidOption: The action has no type, or its id was used before in this run.
        """
        return execute_action(self._life.current, self._environment, action=action)

    def call(
        self,
        name: str,
        arguments: object = None,
        *,
        id: str | int | None = None,  # noqa: A002  # the word of the trace model
        requested_by: RequestedBy = "agent",
    ) -> HandCall:
        """Return a call to be recorded by hand, in a ``with`` or ``async with`` statement.

        Args:
            name: The tool.
            arguments: By name; None means no arguments.
            id: The id under which the model asked for it, where known; an integer becomes text.
            requested_by: ``user`` for a simulated user's call.

        Raises:
            RecorderError: The recorder is not open.
            InvalidOption: `requested_by` is another word.
        """
        if requested_by not in ("agent", "user"):
            raise InvalidOption(f"requested_by={requested_by!r} is neither 'agent' nor 'user'")
        given = {} if arguments is None else arguments
        return HandCall(self._life.current, name, given, call_id=id, requested_by=requested_by)

    def record_turn(
        self,
        role: Role,
        content: object = None,
        *,
        calls: Iterable[object] = (),
        model: str | None = None,
        usage: object = None,
        settings: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
        name: str | None = None,
        finish_reason: str | None = None,
        started_at: datetime | None = None,
        ended_at: datetime | None = None,
    ) -> None:
        """Record a message of the conversation.

        Calls made until the next turn belong to an assistant's turn, and are matched to what it
        asked for: by id, else by name and arguments, else by name in order.

        Args:
            role: ``system``, ``user`` or ``assistant``.
            content: Text, a part (`Text`, `Reasoning`, `Media`), or a list of them.
            calls: What the model asked for: `Call` objects, objects or dicts with ``name``,
                ``arguments`` and, where known, ``id``, or the ``tool_calls`` of OpenAI's API.
            model: That wrote it.
            usage: Tokens and cost, by our names, or as OpenAI's and Anthropic's APIs report them.
            settings: Sampling settings, by the provider's names.
            origin: Who really wrote it; by default a human, the harness or the agent, by role.
            name: Of the speaker.
            finish_reason: Why the model stopped, in the provider's word.
            started_at: When it began; now, unless given.
            ended_at: When it was complete.

        Raises:
            RecorderError: The recorder is not open.
            InvalidOption: A role, call or name of a usage that cannot be used.
            InvalidTrace: Another argument of a wrong type.
        """
        self._life.record_turn(
            role,
            content,
            calls,
            model=model,
            usage=usage,
            settings=settings,
            origin=origin,
            name=name,
            finish_reason=finish_reason,
            started_at=started_at,
            ended_at=ended_at,
        )

    def set_outcome(
        self,
        *,
        success: bool | None = None,
        reward: float | None = None,
        ended: bool | None = None,
        error: ErrorInfo | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what came of the run; what is None stays as it was.

        Args:
            success: The harness's own verdict.
            reward: Its own number.
            ended: Whether the run came to its proper end; by default, whether no exception left
                the recorder's statement.
            error: What stopped the run.
            details: Everything else, as JSON.

        Raises:
            RecorderError: The recorder is not open.
            InvalidTrace: An argument of a wrong type.
        """
        self._life.set_outcome(
            success=success, reward=reward, ended=ended, error=error, details=details
        )

    def wrap(self, function: Callable[_P, _T]) -> Callable[_P, _T]:
        """Return a function that runs in the current call, or in the run, in any thread.

        Raises:
            RecorderError: The recorder is not open.
        """
        from tracedance_sdk.recording.threads import bound_to

        return bound_to(self._life.scope(), function)

    def thread_pool(self, max_workers: int | None = None) -> RunThreadPool:
        """Return a thread pool whose work belongs to the call, or run, that submits it.

        Raises:
            RecorderError: The recorder is not open.
        """
        from tracedance_sdk.recording.threads import RunThreadPool

        self._life.scope()
        return RunThreadPool(self._life.scope, max_workers=max_workers)

    def flush(self) -> CloseSummary:
        """Send what waits to be exported, for at most 2 s; return what became of the records.

        Raises:
            RecorderError: The recorder was never opened.
        """
        self._life.flush()
        return self._life.summary()

    def close(self) -> CloseSummary:
        """End the run unless it has ended, and flush; further calls only return the summary.

        Raises:
            RecorderError: The recorder was never opened.
        """
        self._life.finish(None)
        return self.flush()
