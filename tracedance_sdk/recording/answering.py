"""Answers from elsewhere: whoever replays a run says what decorated tools answer.

While `answers_from` is entered, `tool` asks the given `AnswerSource` before the body of a tool
runs. The source gives an answer, and the body never runs; or it lets the body run, and may be told
what came of it. A call is recorded as ever; under ``answer`` its record says where the answer came
from.

Whatever is started while a source is asked belongs to it for good: tasks and copied contexts, and,
as long as anything of a source is left, threads and the work of thread pools (`Inheritance`). Once
the source is no longer in use, the calls of what was left behind are refused; nobody else answers
them, and they are not run.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tracedance_sdk.errors import RecorderError, UnrecordedCall
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.inheriting import Inheritance

if TYPE_CHECKING:
    from tracedance_sdk.trace import Effect, Json, Result


class AskedCall(NamedTuple):
    """A call that is about to be made.

    Attributes:
        name: Of the tool.
        arguments: By name, as they would be recorded, but with no secret masked.
        effect: What the tool's decorator says a use does; None when it does not say.
    """

    name: str
    arguments: dict[str, Json]
    effect: Effect | None


class GivenAnswer(NamedTuple):
    """What a call is answered instead of being made.

    Attributes:
        result: What came back. Of a generator, `content` is the list of its items. A failure is
            raised as a `ReplayedError`.
        note: Where it came from, for the record of the call.
        error: Raised in place of what `result` says, such as an error of the source's own.
    """

    result: Result
    note: Mapping[str, Json] | None = None
    error: BaseException | None = None


class LetRun(NamedTuple):
    """Says that the body of the tool is to run.

    Attributes:
        note: For the record of the call.
        told: Called with what came of it, by the thread that ran it.
        covers_inner: Calls made by the body are part of it, and are not asked about.
    """

    note: Mapping[str, Json] | None = None
    told: Callable[[Result], object] | None = None
    covers_inner: bool = False


class AnswerSource(Protocol):
    """Answers the calls of decorated tools.

    Tools that are awaited use ``answer_async`` where a source has it: the same, to be awaited.
    """

    def answer(self, asked: AskedCall, /) -> GivenAnswer | LetRun:
        """Return the answer to a call, or let it run. What it raises, the caller gets."""


class InUse:
    """A source, from when it is in use to when it is not; afterwards every call is refused.

    Contexts hold on to it. As long as one does, somebody may be left behind in it.
    """

    def __init__(self, source: AnswerSource) -> None:
        self._source: AnswerSource | None = source

    @property
    def is_over(self) -> bool:
        """Whether it is no longer in use."""
        return self._source is None

    def end(self) -> None:
        """Refuse all further calls."""
        self._source = None

    def answer(self, asked: AskedCall) -> GivenAnswer | LetRun:
        """Return what the source answers.

        Raises:
            UnrecordedCall: It is no longer in use.
        """
        return self._asked_about(asked).answer(asked)

    async def answer_async(self, asked: AskedCall) -> GivenAnswer | LetRun:
        """Do what `answer` does, and wait for sources that want it."""
        source = self._asked_about(asked)
        ask = getattr(source, "answer_async", None)
        if ask is None:
            return source.answer(asked)
        said: GivenAnswer | LetRun = await ask(asked)
        return said

    def _asked_about(self, asked: AskedCall) -> AnswerSource:
        if self._source is None:
            raise UnrecordedCall(
                f"{asked.name} was called by what a replay had started and left behind, when the"
                " replay was over; it was not run",
                writes=True,
            )
        return self._source


class Ends:
    """A time in which calls are made without asking."""

    is_over = False


class Asking(NamedTuple):
    """Who is asked in the current context.

    Attributes:
        source: The source; None where nobody is to be asked, whoever is asked elsewhere.
        tool: The tool whose body the source lets run here; None outside of any.
        passes: Calls are made without asking: they belong to that body.
        ends: Says whether it is over; None where `source` does, or nobody knows.
        in_thread: The context is that of a thread from its start. Such a thread may come to work
            for somebody else: where it makes calls without asking, that ends.
    """

    source: AnswerSource | None
    tool: str | None = None
    passes: bool = False
    ends: Ends | None = None
    in_thread: bool = False

    @property
    def is_known(self) -> bool:
        """Whether it still says who is asked."""
        ends = self.source if self.ends is None else self.ends
        return not (self.passes and self.in_thread and getattr(ends, "is_over", False))


ASKING: Final[ContextVar[Asking | None]] = ContextVar("tracedance_asking", default=None)

open_sources: Final[dict[int, InUse | None]] = {}
"""Every source in use; None for one that is not, while there is a context that knows of it.

Empty: nobody is asked, and nobody is left behind.
"""


@contextlib.contextmanager
def answers_from(source: AnswerSource) -> Iterator[None]:
    """Ask a source about every call of a decorated tool made in this context.

    Code that runs in a context which knows of no source, such as a thread that was there before or
    a test run by an asyncio plugin in a context older than the test, is answered too: by the source
    in use, where there is one alone. Where there are several it is refused, since it might change
    the world.
    """
    with in_use(source) as entered, asked_of(entered):
        yield


@contextlib.contextmanager
def in_use(source: AnswerSource) -> Iterator[InUse]:
    """Have a source ready; it is asked in the contexts that `asked_of` makes."""
    entered = InUse(source)
    key = id(entered)
    with _LOCK:
        open_sources[key] = entered
        _INHERITANCE.begin()
    try:
        yield entered
    finally:
        entered.end()
        open_sources[key] = None
        weakref.finalize(entered, _forget, key).atexit = False


@contextlib.contextmanager
def asked_of(entered: InUse) -> Iterator[None]:
    """Ask a source that is in use about the calls made in this context."""
    token = ASKING.set(Asking(entered))
    try:
        yield
    finally:
        reset_quietly(ASKING, token)


@contextlib.contextmanager
def unasked() -> Iterator[None]:
    """Make the calls of this context without asking, unless it belongs to a source already."""
    asking = ASKING.get()
    if asking is not None and asking.source is not None:
        yield
        return
    ends = Ends()
    token = ASKING.set(Asking(None, passes=True, ends=ends))
    try:
        yield
    finally:
        ends.is_over = True
        reset_quietly(ASKING, token)


@contextlib.contextmanager
def known_to_nobody() -> Iterator[None]:
    """Have what is started in this context belong to no source: it outlives the one in use."""
    token = ASKING.set(None)
    try:
        yield
    finally:
        reset_quietly(ASKING, token)


@contextlib.contextmanager
def unknown_refused() -> Iterator[None]:
    """Refuse, meanwhile and in the whole process, calls in contexts that know of no source.

    Where a source is in use alone, it is asked all the same.
    """
    mark = object()
    _REFUSING.append(mark)
    try:
        yield
    finally:
        _REFUSING.remove(mark)


def asked_here(name: str) -> AnswerSource | None:
    """Return who is to be asked about a call made now; None when it is to be made unasked.

    Args:
        name: Of the tool.

    Raises:
        RecorderError: Several sources are in use, and the context knows of none.
    """
    asking = ASKING.get()
    if asking is not None and asking.is_known:
        return None if asking.passes else asking.source
    ready = [entered for entered in [*open_sources.values()] if entered is not None]
    if len(ready) > 1:
        raise RecorderError(
            f"{name} was called where nobody knows which of {len(ready)} replays it belongs to;"
            " it was not run: start threads with contextvars.copy_context().run"
        )
    if ready:
        return ready[0]
    return _NOBODY if _REFUSING else None


def tool_let_run() -> str | None:
    """Return the tool whose body a source lets run in this context; None outside of any."""
    asking = ASKING.get()
    return None if asking is None else asking.tool


class _Nobody:
    """Stands for whoever a call belongs to where nobody knows."""

    def answer(self, asked: AskedCall) -> GivenAnswer:
        raise UnrecordedCall(
            f"{asked.name} was called while tests are run, where nobody knows which it belongs to;"
            " it was not run",
            writes=True,
        )


_NOBODY: Final = _Nobody()
_REFUSING: Final[list[object]] = []
_INHERITANCE: Final = Inheritance(ASKING, lambda asking: asking._replace(in_thread=True))
_LOCK: Final = threading.RLock()


def _forget(key: int) -> None:
    """Let go of a source that no context knows any more."""
    with _LOCK:
        open_sources.pop(key, None)
        if not open_sources:
            _INHERITANCE.end()
