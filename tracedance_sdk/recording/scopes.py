"""Which run, and which call in it, the code being executed belongs to.

A scope travels in a context variable, so that asyncio tasks, ``asyncio.to_thread`` and
everything else that carries contexts carries it. A thread that starts with an empty context
joins the only open run, if there is exactly one.
"""

from __future__ import annotations

import threading
import weakref
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.recording.answering import ASKING
from tracedance_sdk.recording.contexts import reset_quietly

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run

Tokens = tuple[Token["Scope | None"] | None, object]
"""What `Scope.leave` needs to undo `Scope.enter`."""


class Scope:
    """A run, or a call in it, seen as the place where further calls are made.

    Attributes:
        run: The run.
        span_id: Of the run's or the call's span: the parent of spans made here.
        call_id: Of the call; None in the run itself.
        turn: Index of the turn the call belongs to; None in the run itself.
        span: The OpenTelemetry span made in the user's own provider; None when isolated.
    """

    __slots__ = ("call_id", "run", "span", "span_id", "turn")

    def __init__(
        self,
        run: Run,
        span_id: str,
        *,
        call_id: str | None = None,
        turn: int | None = None,
        span: Any = None,
    ) -> None:
        self.run = run
        self.span_id = span_id
        self.call_id = call_id
        self.turn = turn
        self.span = span

    def enter(self) -> Tokens:
        """Make this the current scope, and its span OpenTelemetry's current one."""
        if self.span is None or self.run.spans is None:
            return CURRENT.set(self), None
        return CURRENT.set(self), self.run.spans.attach(self.span)

    def leave(self, tokens: Tokens) -> None:
        """Make the scope before it current again."""
        ours, otel = tokens
        is_here = ours is None or reset_quietly(CURRENT, ours)
        if otel is not None and is_here and self.run.spans is not None:
            self.run.spans.detach(otel)
        if not self.run.is_open:
            # The run was closed meanwhile; what comes next belongs to the one around it.
            CURRENT.set(enclosing_open_scope(CURRENT.get()))


CURRENT: Final[ContextVar[Scope | None]] = ContextVar("tracedance_scope", default=None)


class _Quiet(Scope):
    """A scope without a run."""

    __slots__ = ()

    def __init__(self) -> None:
        """Take nothing: there is no run."""

    def enter(self) -> Tokens:
        """Make this the current scope."""
        return CURRENT.set(self), None

    def leave(self, tokens: Tokens) -> None:
        """Make the scope before it current again."""
        if tokens[0] is not None:
            reset_quietly(CURRENT, tokens[0])


QUIET: Final = _Quiet()
"""The scope of code that belongs to nobody's run, such as a look at the state."""

open_runs: Final[dict[Run, int]] = {}
"""Every open run of the process → the thread that opened it. Empty: nothing is recorded."""

places: Final[weakref.WeakKeyDictionary[object, Scope]] = weakref.WeakKeyDictionary()
"""By who answers its calls, where the work of a thread belongs that knows of no run."""

MANY_OPEN: Final = "a thread without context while several recorders were open"
ELSEWHERE: Final = "code outside the context of the open recorder"
CLOSED: Final = "the recorder was closed already"


def find_scope() -> Scope | None:
    """Return the scope that a call made here belongs to, or None when it belongs to none.

    A call that could belong to an open run and joins none is counted in those runs.
    """
    scope = CURRENT.get()
    if scope is not None:
        if scope is QUIET:
            return None
        if scope.run.is_open:
            return scope
    return _without_context(scope)


def _without_context(scope: Scope | None) -> Scope | None:
    if scope is not None:
        scope.run.unattributed[CLOSED] += 1
        return None
    place = _place_of_answers()
    if place is not None:
        return place
    runs = list(open_runs.items())
    if len(runs) == 1 and _may_join(opened_by=runs[0][1]):
        return runs[0][0].root
    reason = MANY_OPEN if len(runs) > 1 else ELSEWHERE
    for run, _ in runs:
        run.unattributed[reason] += 1
    return None


def _place_of_answers() -> Scope | None:
    """Return the scope of those who are answered as this code is, where there is one open."""
    asking = ASKING.get() if places else None
    if asking is None or asking.source is None:
        return None
    place = places.get(asking.source)
    return place if place is not None and place.run.is_open else None


def _may_join(*, opened_by: int) -> bool:
    """Whether this is a bare thread: neither the main one nor the one that opened the run.

    On the run's own thread, code without its context belongs to something else, such as another
    task of the same event loop.
    """
    here = threading.current_thread()
    return here.ident != opened_by and here is not threading.main_thread()


def enclosing_open_scope(scope: Scope | None) -> Scope | None:
    """Return the nearest scope, from this one outwards, whose run is open."""
    while scope is not None and scope is not QUIET and not scope.run.is_open:
        scope = scope.run.outer
    return None if scope is QUIET else scope


def scope_in(run: Run) -> Scope:
    """Return the current scope if it is of this run, else the run's own."""
    scope = CURRENT.get()
    if scope is None or scope is QUIET or scope.run is not run:
        return run.root
    return scope
