"""The decorator for tools: every use of the function becomes a call of the current run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.answering import AnswerSource, asked_here, open_sources
from tracedance_sdk.recording.arguments import ArgumentPlan
from tracedance_sdk.recording.calls import OpenCall, start_call
from tracedance_sdk.recording.decorations import check_ignored, check_tool_options, ignored_names
from tracedance_sdk.recording.dispatching import Dispatcher
from tracedance_sdk.recording.driving import UNRECORDED, Operation
from tracedance_sdk.recording.functions import is_decoratable, name_of
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.scopes import CLOSED, CURRENT, Scope, find_scope, open_runs
from tracedance_sdk.recording.shared_calls import SharedCall
from tracedance_sdk.recording.streams import Reduce, StreamCall
from tracedance_sdk.recording.wrappers import Recorded

if TYPE_CHECKING:
    from tracedance_sdk.recording.answered_calls import StandIn
    from tracedance_sdk.trace import Effect, Json, Kind

_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def tool(function: _F, /) -> _F: ...


@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect | None = None,
    kind: Kind | None = None,
    ignore: Collection[str] = (),
    reduce: Reduce | None = None,
    max_items: int = 1000,
) -> Callable[[_F], _F]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    effect: Effect | None = None,
    kind: Kind | None = None,
    ignore: Collection[str] = (),
    reduce: Reduce | None = None,
    max_items: int = 1000,
) -> Any:
    """Record every use of a function as a call of the run it happens in.

    Works on plain functions, coroutines, generators of both kinds, methods, classmethods,
    staticmethods, partials and callable objects, above or below other decorators. The function
    keeps its behaviour: values, exceptions, laziness, signature, pickling and copying. Outside a
    run it costs one look at a dictionary.

    A generator is one call. It starts when its first item is asked for and ends when it is
    exhausted; when it is dropped before, the call is *interrupted*. Its result is the list of its
    items.

    Args:
        function: The tool, when the decorator is used bare.
        name: What the call is named; None means the function's name.
        effect: What a use does to the world (``pure``, ``read``, ``write``, ``terminal``).
        kind: What sort of tool it is (``shell``, ``search``, ``send``, ...).
        ignore: Parameters left out of the record, such as connections.
        reduce: For generators: makes one result of the list of all items.
        max_items: For generators without `reduce`: further items are not recorded, and the
            result is marked as truncated.

    Raises:
        InvalidOption: An option that cannot be used, or `function` is not callable.

    Example:
        >>> @tool(effect="write", ignore=("session",))
        ... def send_email(session, to: str, body: str) -> dict:
        ...     return {"sent": True}
    """
    decoration = ToolDecoration(
        name=name, effect=effect, kind=kind, ignore=ignore, reduce=reduce, max_items=max_items
    )
    return decoration.around if function is None else decoration.around(function)


class ToolDecoration:
    """The options of one use of `tool`, and what it does with a function."""

    def __init__(
        self,
        *,
        name: str | None,
        effect: Effect | None,
        kind: Kind | None,
        ignore: Collection[str],
        reduce: Reduce | None,
        max_items: int,
    ) -> None:
        check_tool_options(name=name, effect=effect, kind=kind, reduce=reduce, max_items=max_items)
        self.name = name
        self.effect = effect
        self.kind = kind
        self.ignore = ignored_names(ignore)
        self.reduce = reduce
        self.max_items = max_items

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded function."""
        if not is_decoratable(function):
            raise InvalidOption(f"{function!r} is not callable; put the decorator on a function")
        if self.ignore:
            check_ignored(function, self.ignore)
        return Recorded(function, Tool(self, function).run)


def declared_effect(function: Callable[..., Any]) -> Effect | None:
    """Return the effect that a function was decorated with; None where nobody said one."""
    runner = getattr(function, "_self_wrapper", None) if isinstance(function, Recorded) else None
    owner = getattr(runner, "__self__", None)
    return owner.decoration.effect if isinstance(owner, Tool) else None


class Tool:
    """A function that is recorded as a tool.

    Attributes:
        name: What its calls are named.
        function: As it was decorated.
        decoration: The options it was decorated with.
        schema: JSON Schema of its arguments; None until somebody needed it.
    """

    def __init__(self, decoration: ToolDecoration, function: Callable[..., Any]) -> None:
        self.decoration = decoration
        self.function = function
        self.name = decoration.name or name_of(function)
        self.schema: dict[str, Json] | None = None
        self._prepared: tuple[Dispatcher, ArgumentPlan] | None = None
        self._stand_in: StandIn | None = None

    def run(
        self,
        wrapped: Callable[..., Any],
        instance: object,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call the function, in a call of the current run if there is one."""
        __tracebackhide__ = True  # pytest shows who called, and what the function did
        if not open_runs and not open_sources:
            return wrapped(*args, **kwargs)
        scope = find_scope()
        if isinstance(scope, SharedCall) and scope.is_made_by(self.name):
            return self._run_in_shared(scope, wrapped, args, kwargs)
        if open_sources and (source := asked_here(self.name)) is not None:
            wrapped = self._stood_in(source, wrapped, args, kwargs, bound=instance is not None)
        if scope is None:
            return wrapped(*args, **kwargs)
        dispatcher, plan = self._prepared or self._prepare()
        begin = partial(self._begin, scope, plan, args, kwargs, instance is not None)
        return dispatcher.run(begin, wrapped, args, kwargs)

    def _run_in_shared(
        self,
        call: SharedCall,
        wrapped: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call the function as the body of a framework's call, which has asked whom there is."""
        __tracebackhide__ = True
        call.run.tools[self.name] = self
        dispatcher, _ = self._prepared or self._prepare()
        return dispatcher.run(
            partial(call.body, reduce=self.decoration.reduce), wrapped, args, kwargs
        )

    def _stood_in(
        self,
        source: AnswerSource,
        wrapped: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        bound: bool,
    ) -> Callable[..., Any]:
        """Return what asks a source before the function's body runs."""
        from tracedance_sdk.recording.answered_calls import StandIn, asked_call

        if self._stand_in is None:
            self._stand_in = StandIn(self.function)
        _, plan = self._prepared or self._prepare()
        ask = partial(
            asked_call, self.name, self.decoration.effect, plan, args, kwargs, bound=bound
        )
        return self._stand_in.of(wrapped, source, ask, CURRENT.get())

    def _prepare(self) -> tuple[Dispatcher, ArgumentPlan]:
        plan = ArgumentPlan(self.function, ignore=self.decoration.ignore)
        self._prepared = Dispatcher(self.function), plan
        return self._prepared

    def _begin(
        self,
        scope: Scope,
        plan: ArgumentPlan,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        bound: bool,
    ) -> Operation:
        faults = scope.run.faults
        if not scope.run.is_open:
            # Made in the run, and begun when it was over.
            scope.run.unattributed[CLOSED] += 1
            return UNRECORDED
        return GUARD.attempt("start", faults, self._start, scope, plan, args, kwargs, bound) or (
            UNRECORDED
        )

    def _start(
        self,
        scope: Scope,
        plan: ArgumentPlan,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        bound: bool,
    ) -> OpenCall:
        scope.run.tools[self.name] = self
        arguments = plan.bind(args, kwargs, bound=bound)
        if self._prepared is None or not self._prepared[0].makes_items:
            return start_call(scope, self.name, arguments, form=OpenCall)
        call = start_call(scope, self.name, arguments, form=StreamCall)
        call.collect(self.decoration.reduce, self.decoration.max_items)
        return call
