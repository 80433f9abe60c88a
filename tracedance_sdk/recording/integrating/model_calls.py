"""A request to a model, from its sending to the end of its reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tracedance_sdk.formats import Message
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.failures import describe
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.integrating.conversations import Shown, pieces_of, talk_of
from tracedance_sdk.recording.lives import Life
from tracedance_sdk.recording.plans import AgentName, plan_run
from tracedance_sdk.recording.scopes import CURRENT, Scope, find_scope, open_runs
from tracedance_sdk.recording.usages import ReadUsage

if TYPE_CHECKING:
    from tracedance_sdk.formats import ModelRequest, Said
    from tracedance_sdk.recording.runs import Run
    from tracedance_sdk.trace import Json, Turn


class ModelReply(NamedTuple):
    """What a model said.

    Attributes:
        message: Its message; None when there was none.
        model: That wrote it.
        usage: Tokens: ours, or a mapping as `TraceRecorder.record_turn` takes it.
        finish_reason: Why it stopped, in the provider's word.
        response_id: The provider's id of the reply.
        settings: Sampling settings, where the request did not say.
        further: Further fields of its turn.
    """

    message: Message | None
    model: str | None = None
    usage: Any = None
    finish_reason: str | None = None
    response_id: str | None = None
    settings: Mapping[str, Json] | None = None
    further: Mapping[str, Json] | None = None


def reply_of(turn: Turn, *, response_id: str | None = None) -> ModelReply:
    """Return a turn as a reply."""
    return ModelReply(
        pieces_of(turn), turn.model, turn.usage, turn.finish_reason, response_id, turn.settings
    )


def reply_in(said: Said) -> ModelReply:
    """Return what was read in a provider's body as a reply."""
    usage = None if said.usage is None else ReadUsage(said.usage)
    return ModelReply(said.message, said.model, usage, said.finish_reason, said.id, said.settings)


class ModelCall:
    """A request to a model that is on its way, or whose reply is being read.

    It ends once: the first of `succeed`, `fail` and `abandon` counts. What goes wrong in the
    recording of it stays here and is counted.

    Attributes:
        is_over: It has ended.
        seen_so_far: Returns what has come of a reply that is being read; used when the run ends
            before the reply does.
        following: What follows the reply on its way to the program; None where nothing does.
    """

    def __init__(self, run: Run, request: ModelRequest, *, shown: Shown) -> None:
        self._run = run
        self._request = request
        self._shown = shown
        self.seen_so_far: Callable[[], ModelReply | None] | None = None
        self.following: Any = None
        self._started_at = datetime.now(UTC)
        self.is_over = False
        run.streams.add(self)

    def enter(self) -> Token[ModelCall | None]:
        """Record no other model call made in this context: it is part of this one."""
        return _WITHIN.set(self)

    def leave(self, token: Token[ModelCall | None]) -> None:
        """Undo `enter`."""
        if not reset_quietly(_WITHIN, token):
            _WITHIN.set(None)

    def succeed(self, read: Callable[[], ModelReply | None]) -> None:
        """End with the reply.

        Args:
            read: Returns it; called now, and guarded. None means that nothing came.
        """
        self._end(read, {})

    def fail(
        self, error: BaseException, read: Callable[[], ModelReply | None] | None = None
    ) -> None:
        """End with the exception that came instead of the reply, or in the midst of it.

        Args:
            error: The exception.
            read: Returns what had come before.
        """
        if self.is_over:
            return
        failure = describe(error, self._run.faults)
        told = {"type": self._run.name(failure.type), "message": self._run.words(failure.message)}
        facts: dict[str, Any] = {"error": told}
        if failure.interrupted:
            facts["interrupted"] = True
        self._end(read, facts)

    def abandon(self, read: Callable[[], ModelReply | None] | None = None) -> None:
        """End before the reply does: nobody reads on.

        Args:
            read: Returns what had come.
        """
        self._end(read, {"interrupted": True})

    def interrupt(self) -> None:
        """End with the run."""
        self._end(self.seen_so_far, {"interrupted": True}, with_run=True)

    def _end(
        self,
        read: Callable[[], ModelReply | None] | None,
        facts: dict[str, Any],
        *,
        with_run: bool = False,
    ) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._run.streams.discard(self)
        if not self._run.is_open and not with_run:
            return
        faults = self._run.faults
        reply = None if read is None else GUARD.attempt("reply", faults, read)
        GUARD.attempt("turn", faults, self._record, reply, facts)

    def _record(self, reply: ModelReply | None, facts: dict[str, Any]) -> None:
        request, talk = self._request, talk_of(self._run)
        found = reply or ModelReply(None)
        other = talk.other_prompt(request.system)
        if other is not None:
            facts["system_prompt"] = self._run.words(other)
        talk.answer(
            found.message or Message("assistant", ()),
            {
                "model": found.model or request.model,
                "usage": found.usage,
                "finish_reason": found.finish_reason,
                "response_id": found.response_id,
                "settings": {**(request.settings or {}), **(found.settings or {})} or None,
                "started_at": self._started_at,
                "ended_at": datetime.now(UTC),
                **(found.further or {}),
                **facts,
            },
            shown=self._shown,
        )


_WITHIN: Final[ContextVar[ModelCall | None]] = ContextVar("tracedance_model_call", default=None)


def call_around() -> ModelCall | None:
    """Return the model call that is being made here."""
    return _WITHIN.get()


def start_model_call(read: Callable[[], ModelRequest]) -> ModelCall | None:
    """Put a request to a model on record, and return the open call.

    A call made by the code of a tool belongs to a run of its own, a sub-agent's that is named
    after the tool.

    Args:
        read: Returns the request; called now, and guarded.

    Returns:
        None when nothing is to be recorded: no recorder is open here, or the request is part of
        another model call that is recorded already.
    """
    if not open_runs:
        return None
    around = _WITHIN.get()
    if around is not None and not around.is_over:
        return None
    scope = find_scope()
    if scope is None:
        return None
    return GUARD.attempt("model call", scope.run.faults, _start, scope, read)


def overhear(read: Callable[[], ModelRequest]) -> None:
    """Record what is new in a conversation that no model is asked about.

    Such are the results that a framework writes down when it has its final answer.

    Args:
        read: Returns the conversation, or the last of it; called now, and guarded.
    """
    scope = find_scope() if open_runs else None
    if scope is not None:
        GUARD.attempt("conversation", scope.run.faults, _overhear, scope, read)


def _overhear(scope: Scope, read: Callable[[], ModelRequest]) -> None:
    talk_of(_home(scope)).hear(read())


def _start(scope: Scope, read: Callable[[], ModelRequest]) -> ModelCall | None:
    run = _home(scope)
    request = read()
    return ModelCall(run, request, shown=talk_of(run).hear(request, is_asked=True))


def _home(scope: Scope) -> Run:
    """Return the run whose conversation this is: the agent's, or that of a tool that asks."""
    if not isinstance(scope, OpenCall):
        return scope.run
    around = scope.inner
    if isinstance(around, _Thinking):
        return around.run
    thinking = _Thinking(scope)
    scope.inner = thinking
    return thinking.run


class _Thinking:
    """The run of the models that one tool's code asks; called to end it."""

    def __init__(self, call: OpenCall) -> None:
        self._life = Life(plan_run(agent=AgentName(call.name)))
        token = CURRENT.set(call)
        try:
            self._life.begin(None)
        finally:
            CURRENT.reset(token)
        self.run = self._life.opened

    def __call__(self) -> None:
        self._life.stop()
        self._life.end(None, None)
