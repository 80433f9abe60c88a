"""Stand-ins for tools while somebody else answers: of the same kind, asking before the body runs.

The source is asked where the body would begin: when a plain function is called, when a coroutine
is awaited, when the first item of a generator is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from types import CoroutineType
from typing import Any, Final

import orjson

from tracedance_sdk.recording.answering import (
    ASKING,
    AnswerSource,
    AskedCall,
    Asking,
    GivenAnswer,
    LetRun,
)
from tracedance_sdk.recording.arguments import ArgumentPlan
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.driving import (
    UNRECORDED,
    Unrecorded,
    await_in,
    iterate_async_in,
    iterate_in,
)
from tracedance_sdk.recording.failures import describe
from tracedance_sdk.recording.functions import Kind, hidden_kind_of, kind_of
from tracedance_sdk.recording.guard import PROCESS_FAULTS
from tracedance_sdk.recording.rebuilt_values import Rebuild, rebuilder
from tracedance_sdk.recording.replayed_errors import replayed_error
from tracedance_sdk.recording.scopes import CURRENT, Scope, Tokens
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import UNKNOWN, Effect, ErrorInfo, Json, Result

RebuildFailure = Callable[[Json], Any]
"""Makes what a tool returned when it failed without raising, of what is recorded of it."""

_GENERATORS: Final = ("generator", "async_generator")


def asked_call(
    name: str,
    effect: Effect | None,
    plan: ArgumentPlan,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    bound: bool,
) -> AskedCall:
    """Return a call as a source is asked about it, with its arguments as they are now."""
    return AskedCall(name, orjson.loads(freeze(plan.bind(args, kwargs, bound=bound))), effect)


class StandIn:
    """How a tool is stood in for, worked out once.

    Args:
        function: The tool, as it was decorated.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        kind = kind_of(function)
        self._kind: Kind = hidden_kind_of(function) if kind == "plain" else kind
        self._rebuild: Rebuild = rebuilder(function, items=self._kind in _GENERATORS)

    def of(
        self,
        wrapped: Callable[..., Any],
        source: AnswerSource,
        asked: Callable[[], AskedCall],
        around: Scope | None,
    ) -> Callable[..., Any]:
        """Return a function of the same kind that asks the source first.

        Args:
            wrapped: The function, bound where it is a method.
            source: Who is asked.
            asked: Says what is asked; called when it is.
            around: The scope that the call is made in.
        """
        use = Use(wrapped, source, asked, around, self._rebuild)
        run = {
            "plain": use.call,
            "coroutine": use.wait,
            "generator": use.iterate,
            "async_generator": use.iterate_async,
        }[self._kind]

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True  # pytest shows whoever called instead
            _check(wrapped, args, kwargs)
            made = run(args, kwargs)
            if self._kind != "plain":
                made.__name__ = getattr(wrapped, "__name__", "tool")
                made.__qualname__ = getattr(wrapped, "__qualname__", "tool")
            return made

        return stand_in


class Use:
    """One use of a tool.

    Attributes:
        failed: The recorded failure that was returned in the tool's place; None where there was
            none, or it was raised.
    """

    def __init__(
        self,
        wrapped: Callable[..., Any],
        source: AnswerSource,
        asked: Callable[[], AskedCall],
        around: Scope | None,
        rebuild: Rebuild,
        *,
        rebuild_failure: RebuildFailure | None = None,
        result_of: Callable[[Any], Result] | None = None,
    ) -> None:
        self._result_of = result_of
        self._wrapped = wrapped
        self._source = source
        self._asked = asked
        self._around = around
        self._rebuild = rebuild
        self._rebuild_failure = rebuild_failure
        self._name = ""
        self.failed: Result | None = None

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer, or run, a plain function."""
        __tracebackhide__ = True
        said = self._said()
        if isinstance(said, GivenAnswer):
            return self._value(said)
        body = _Body(said, self._source, self._name, self._result_of)
        tokens = body.enter()
        try:
            value = self._wrapped(*args, **kwargs)
        except BaseException as error:
            body.leave(tokens)
            body.fail(error)
            raise
        body.leave(tokens)
        if type(value) is CoroutineType:
            return await_in(lambda: body, lambda: value)
        body.succeed(value)
        return value

    async def wait(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer, or run, a coroutine."""
        said = await self._said_async()
        if isinstance(said, GivenAnswer):
            return self._value(said)
        body = _Body(said, self._source, self._name, self._result_of)
        return await await_in(lambda: body, lambda: self._wrapped(*args, **kwargs))

    def iterate(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Generator[Any, Any, Any]:
        """Answer, or run, a generator."""
        __tracebackhide__ = True
        said = self._said()
        if isinstance(said, GivenAnswer):
            yield from self._items(said)
            return None
        body = _Body(said, self._source, self._name, self._result_of)
        return (yield from iterate_in(lambda: body, self._wrapped(*args, **kwargs)))

    def iterate_async(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> AsyncGenerator[Any, Any]:
        """Answer, or run, an asynchronous generator."""
        return iterate_async_in(lambda: UNRECORDED, _Late(self, args, kwargs))  # type: ignore[arg-type]  # of its methods only these two are used

    async def chosen(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> AsyncGenerator[Any, Any]:
        """Return the asynchronous generator that gives the items."""
        said = await self._said_async()
        if isinstance(said, GivenAnswer):
            return _asynchronous(self._items(said))
        body = _Body(said, self._source, self._name, self._result_of)
        return iterate_async_in(lambda: body, self._wrapped(*args, **kwargs))

    def _said(self) -> GivenAnswer | LetRun:
        asked = self._asked()
        self._name = asked.name
        said = self._source.answer(asked)
        self._note(said)
        return said

    async def _said_async(self) -> GivenAnswer | LetRun:
        ask = getattr(self._source, "answer_async", None)
        if ask is None:
            return self._said()
        asked = self._asked()
        self._name = asked.name
        said: GivenAnswer | LetRun = await ask(asked)
        self._note(said)
        return said

    def _note(self, said: GivenAnswer | LetRun) -> None:
        """Put where the answer came from on the record of this call, where there is one."""
        here = CURRENT.get()
        if said.note is not None and isinstance(here, OpenCall) and here is not self._around:
            here.note_answer(said.note)

    def _value(self, said: GivenAnswer) -> Any:
        __tracebackhide__ = True
        if said.error is not None:
            raise said.error
        result = said.result
        # A function that raised gave no content: a failure with one was returned.
        if result.content is UNKNOWN and (result.ok is False or result.error is not None):
            raise replayed_error(result.error)
        if result.ok is False:
            self.failed = result
            if self._rebuild_failure is not None:
                return self._rebuild_failure(result.content)
        return self._rebuild(result.content)

    def _items(self, said: GivenAnswer) -> Iterator[Any]:
        __tracebackhide__ = True
        content = said.result.content
        if isinstance(content, list):
            yield from map(self._rebuild, content)
        elif content is not UNKNOWN:
            yield self._rebuild(content)
        if said.error is not None:
            raise said.error
        was_returned = not isinstance(content, list) and content is not UNKNOWN
        if said.result.error is not None and not was_returned:
            raise replayed_error(said.result.error)


class _Late:
    """An asynchronous generator that is made when its first item is asked for."""

    def __init__(self, use: Use, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._use = use
        self._given = (args, kwargs)
        self._made: AsyncGenerator[Any, Any] | None = None

    async def asend(self, value: Any) -> Any:
        """Return the next item."""
        if self._made is None:
            self._made = await self._use.chosen(*self._given)
        return await self._made.asend(value)

    async def athrow(self, error: BaseException) -> Any:
        """Throw into the generator."""
        if self._made is None:
            raise error
        return await self._made.athrow(error)


class _Body(Unrecorded):
    """The body of a tool that the source lets run: it is told what came of it."""

    def __init__(
        self,
        said: LetRun,
        source: AnswerSource,
        name: str,
        result_of: Callable[[Any], Result] | None = None,
    ) -> None:
        self._told = said.told
        self._result_of = result_of
        self._asking = Asking(source, name, passes=said.covers_inner)
        self._items: list[Json] = []

    def enter(self) -> Tokens:
        """Let calls made here know whose they are."""
        return None, ASKING.set(self._asking)

    def leave(self, tokens: Tokens) -> None:
        """Undo `enter`."""
        token: Any = tokens[1]
        reset_quietly(ASKING, token)

    def add(self, item: object) -> None:
        """Keep an item as it is now."""
        if self._told is not None:
            self._items.append(orjson.loads(freeze(item)))

    def exhaust(self) -> None:
        """Tell the items."""
        self._tell(Result(ok=True, content=self._items))

    def succeed(self, value: object) -> None:
        """Tell the value, or what it says of the result."""
        if self._told is None:
            return
        if self._result_of is None:
            self._tell(Result(ok=True, content=orjson.loads(freeze(value))))
        else:
            self._tell(self._result_of(value))

    def fail(self, error: BaseException) -> None:
        """Tell the failure, or that nobody waited for the end."""
        content: Json = self._items or UNKNOWN
        failure = describe(error, PROCESS_FAULTS)
        if failure.interrupted:
            self._tell(Result(ok=None, content=content, interrupted=True))
        else:
            told = ErrorInfo(type=failure.type, message=failure.message)
            self._tell(Result(ok=False, content=content, error=told))

    def _tell(self, result: Result) -> None:
        if self._told is not None:
            self._told(result)


async def _asynchronous(items: Iterator[Any]) -> AsyncGenerator[Any, Any]:
    for item in items:
        yield item


def _check(wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse arguments that the function would refuse.

    Raises:
        TypeError: They do not fit its parameters.
    """
    try:
        signature = inspect.signature(wrapped)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = getattr(wrapped, "__qualname__", "the tool")
        raise TypeError(f"{name}(): {error}") from None
