"""Answers from elsewhere: whoever replays a run says what decorated tools answer.

While `answers_from` is entered, `tool` asks the given `AnswerSource` before the body of a tool
runs. The source gives an answer, and the body never runs; or it lets the body run, and may be told
what came of it. A call is recorded as ever; under ``answer`` its record says where the answer came
from.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.recording.contexts import reset_quietly

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


class Asking(NamedTuple):
    """Who is asked in the current context.

    Attributes:
        source: The source; None where nobody is to be asked, whoever is asked elsewhere.
        tool: The tool whose body the source lets run here; None outside of any.
        passes: Calls are made without asking: they belong to that body.
    """

    source: AnswerSource | None
    tool: str | None = None
    passes: bool = False


ASKING: Final[ContextVar[Asking | None]] = ContextVar("tracedance_asking", default=None)

open_sources: Final[dict[int, AnswerSource | None]] = {}
"""Every source in use, by its `id`; None for one that was left behind. Empty: nobody is asked."""


@contextlib.contextmanager
def answers_from(source: AnswerSource) -> Iterator[None]:
    """Ask a source about every call of a decorated tool made in this context.

    Code that runs in a context which knows of no source, such as a bare thread or a test run by an
    asyncio plugin in a context older than the test, is answered too: by the source in use, where
    there is one alone. Where there are several it is refused, since it might change the world.
    """
    with in_use(source), asked_of(source):
        yield


@contextlib.contextmanager
def in_use(source: AnswerSource) -> Iterator[None]:
    """Have a source ready; it is asked in the contexts that `asked_of` makes.

    Where the source says ``is_left_behind`` in the end, somebody may still be at work in such a
    context: it is asked there, to refuse, as long as there is one.
    """
    key = id(source)
    open_sources[key] = source
    try:
        yield
    finally:
        if getattr(source, "is_left_behind", False):
            open_sources[key] = None
            weakref.finalize(source, open_sources.pop, key, None)
        else:
            del open_sources[key]


@contextlib.contextmanager
def asked_of(source: AnswerSource) -> Iterator[None]:
    """Ask a source that is in use about the calls made in this context."""
    token = ASKING.set(Asking(source))
    try:
        yield
    finally:
        reset_quietly(ASKING, token)


@contextlib.contextmanager
def unasked() -> Iterator[None]:
    """Make the calls of this context without asking, unless a source is asked here already."""
    asking = ASKING.get()
    if asking is not None and id(asking.source) in open_sources:
        yield
        return
    token = ASKING.set(Asking(None, passes=True))
    try:
        yield
    finally:
        reset_quietly(ASKING, token)


def asked_here(name: str) -> AnswerSource | None:
    """Return who is to be asked about a call made now; None when it is to be made unasked.

    Args:
        name: Of the tool.

    Raises:
        RecorderError: Several sources are in use, and the context knows of none.
    """
    asking = ASKING.get()
    if asking is not None:
        if asking.source is None:
            return None
        if id(asking.source) in open_sources:
            return None if asking.passes else asking.source
    ready = [source for source in [*open_sources.values()] if source is not None]
    if len(ready) > 1:
        raise RecorderError(
            f"{name} was called where nobody knows which of {len(ready)} replays it belongs to;"
            " it was not run: start threads with contextvars.copy_context().run"
        )
    return ready[0] if ready else None


def tool_let_run() -> str | None:
    """Return the tool whose body a source lets run in this context; None outside of any."""
    asking = ASKING.get()
    return None if asking is None else asking.tool
