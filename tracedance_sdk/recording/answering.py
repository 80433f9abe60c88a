"""Answers from elsewhere: whoever replays a run says what decorated tools answer.

While `answers_from` is entered, `tool` asks the given `AnswerSource` before the body of a tool
runs. The source gives an answer, and the body never runs; or it lets the body run, and may be told
what came of it. A call is recorded as ever; under ``answer`` its record says where the answer came
from.
"""

from __future__ import annotations

import contextlib
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
        source: The source.
        tool: The tool whose body the source lets run here; None outside of any.
        passes: Calls are made without asking: they belong to that body.
    """

    source: AnswerSource
    tool: str | None = None
    passes: bool = False


ASKING: Final[ContextVar[Asking | None]] = ContextVar("tracedance_asking", default=None)

open_sources: Final[dict[int, AnswerSource]] = {}
"""Every source in use, by its `id`. Empty: nobody is asked."""


@contextlib.contextmanager
def answers_from(source: AnswerSource) -> Iterator[None]:
    """Ask a source about every call of a decorated tool made in this context.

    Code that runs in a context which knows of no source, such as a bare thread or a test run by an
    asyncio plugin in a context older than the test, is answered too: by the source in use, where
    there is one alone. Where there are several it is refused, since it might change the world.
    """
    open_sources[id(source)] = source
    token = ASKING.set(Asking(source))
    try:
        yield
    finally:
        del open_sources[id(source)]
        reset_quietly(ASKING, token)


def asked_here(name: str) -> AnswerSource | None:
    """Return who is to be asked about a call made now; None when it is to be made unasked.

    Args:
        name: Of the tool.

    Raises:
        RecorderError: Several sources are in use, and the context knows of none.
    """
    asking = ASKING.get()
    if asking is not None and id(asking.source) in open_sources:
        return None if asking.passes else asking.source
    if len(open_sources) == 1:
        return next(iter(open_sources.values()))
    if not open_sources:
        return None
    raise RecorderError(
        f"{name} was called where nobody knows which of {len(open_sources)} replays it belongs to;"
        " it was not run: start threads with contextvars.copy_context().run"
    )


def tool_let_run() -> str | None:
    """Return the tool whose body a source lets run in this context; None outside of any."""
    asking = ASKING.get()
    return None if asking is None else asking.tool
