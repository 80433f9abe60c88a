"""What a server does: it runs the tool that a request asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from tracedance_integrations.mcp import results
from tracedance_integrations.mcp.client import is_made_here, made
from tracedance_integrations.mcp.functions import at_work, note_listed
from tracedance_integrations.mcp.sending import KEY, ON_THEIR_WAY
from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.driving import Operation, await_in
from tracedance_sdk.recording.guard import PROCESS_FAULTS
from tracedance_sdk.recording.integrating import Patches, ToolUse, attempt, start_served
from tracedance_sdk.recording.integrating.patched import Patched
from tracedance_sdk.recording.remote_parents import (
    TRACEPARENT,
    RemoteParent,
    believed_parent,
    believed_traceparent,
)
from tracedance_sdk.recording.scopes import CURRENT, QUIET, find_scope, open_runs

MALFORMED: Final = "trace context: malformed"
"""What is counted where a request tells of a parent in a form that it cannot have."""

_METHOD: Final = "tools/call"
_LIST: Final = "tools/list"


class Served(NamedTuple):
    """A request for a tool, as a server got it.

    Attributes:
        server: Has a name and perhaps a version.
        name: Of the tool.
        arguments: For it.
        meta: What the request says besides.
        wrap: Makes what the handler returns of a result.
    """

    server: Any
    name: str
    arguments: Any
    meta: Mapping[str, Any]
    wrap: Callable[[Any], Any]


def server_hooks(patches: Patches) -> None:
    """Put the hooks where servers handle requests."""
    try:
        from mcp.server.runner import ServerRunner
    except ImportError:
        from mcp.server.lowlevel import Server

        patches.wrap(Server, "_handle_request", _Handlers(patches).handle_request)
        return
    patches.wrap(ServerRunner, "_compose_server_middleware", _compose)


def _compose(wrapped: Any, runner: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Put ourselves around what handles a message, inside all middleware; from version 2 on."""
    inner = args[0] if args else kwargs["inner"]

    async def handled(context: Any) -> Any:
        if context.method == _LIST:
            listed = await inner(context)
            attempt("tools", note_listed, runner.server, context.params, listed)
            return listed
        if context.method != _METHOD or context.request_id is None:
            return await inner(context)
        served = attempt("tool", _served, runner.server, context.params)
        return await serve(served, lambda: inner(context))

    return wrapped(handled)


def _served(server: Any, params: Any) -> Served | None:
    """Return the request; None where it is none that the library would carry out."""
    if not isinstance(params, Mapping):
        return None
    name, meta = params.get("name"), params.get("_meta")
    if not isinstance(name, str):
        return None
    given = meta if isinstance(meta, Mapping) else {}
    return Served(server, name, params.get("arguments") or {}, given, _on_the_wire)


def _on_the_wire(result: Any) -> Any:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


class _Handlers:
    """Puts us around a server's own handler of calls, in versions before 2.

    Servers keep their handlers in a dictionary, so that it is done when one is at work.
    """

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._servers: WeakSet[Any] = WeakSet()
        patches.on_undo(self._undo)

    async def handle_request(self, wrapped: Any, server: Any, args: Any, kwargs: Any) -> Any:
        """Handle a request of any method."""
        attempt("tool", self._prepare, server)
        return await wrapped(*args, **kwargs)

    def _prepare(self, server: Any) -> None:
        from mcp.types import CallToolRequest

        handler = server.request_handlers.get(CallToolRequest)
        if handler is None or isinstance(handler, _Handler):
            return

        async def handle(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
            served = attempt("tool", _served_before_2, server, args[0])
            return await serve(served, lambda: wrapped(*args, **kwargs))

        server.request_handlers[CallToolRequest] = _Handler(
            handler, handle, enabled=lambda: self._patches.is_active
        )
        self._servers.add(server)

    def _undo(self) -> None:
        from mcp.types import CallToolRequest

        for server in list(self._servers):
            handler = server.request_handlers.get(CallToolRequest)
            if isinstance(handler, _Handler):
                server.request_handlers[CallToolRequest] = handler.__wrapped__


class _Handler(Patched):
    """A server's handler with us around it."""


def _served_before_2(server: Any, request: Any) -> Served:
    from mcp.types import ServerResult

    params = request.params
    meta = {} if params.meta is None else params.meta.model_dump()
    return Served(server, params.name, params.arguments or {}, meta, ServerResult)


async def serve(served: Served | None, body: Callable[[], Awaitable[Any]]) -> Any:
    """Run a tool where its call belongs."""
    if served is None:
        return await body()
    told = _Told.by(served.meta)
    is_ours = is_made_here() and CURRENT.get() is not None
    with made(None):
        call = None if told.span_id is None else ON_THEIR_WAY.find(told.span_id)
        if call is not None and call.run.is_open:
            return await _inside(call, body)
        if is_ours:
            # The context has come along, and what the request should tell of it has not.
            with at_work():
                return await body()
        if told.span_id is None and open_runs and find_scope() is not None:
            return await _use(served, body)
        run = attempt("run", _start, served, told.parent)
        if run is None:
            return await _use(served, body)
        return await await_in(lambda: run, lambda: _use(served, body))


async def _inside(call: OpenCall, body: Callable[[], Awaitable[Any]]) -> Any:
    """Run a tool inside the call that its client has open in this process."""
    if CURRENT.get() is call:
        with at_work():
            return await body()
    tokens = call.enter()
    try:
        with at_work():
            return await body()
    finally:
        call.leave(tokens)


def _start(served: Served, parent: RemoteParent | None) -> Operation | None:
    server = served.server
    version = getattr(server, "version", None)
    return start_served(
        server.name, version=version if isinstance(version, str) else None, parent=parent
    )


async def _use(served: Served, body: Callable[[], Awaitable[Any]]) -> Any:
    """Run a tool in a call of the current run, or answer it from elsewhere."""

    async def work() -> Any:
        with at_work(served.server):
            return await body()

    use = ToolUse(
        served.name,
        served.arguments,
        outcome=results.outcome,
        # The schema of the tool may promise structure, and nobody checks where there is none.
        rebuild=lambda value: served.wrap(results.rebuilt(value, is_packed=isinstance(value, str))),
        failure=results.failure,
        rebuild_failure=lambda value: served.wrap(results.rebuilt(value, failed=True)),
    )
    try:
        return await use.run_async(work)
    except ReplayedError as error:
        told = results.raised_again(error)
        if told is None:
            raise
        raise told from error


class _Told(NamedTuple):
    """What a request tells of the call it is made for.

    Attributes:
        parent: The call, or the span where that is all; None where nothing is told.
        span_id: Of the call, where it is one of ours.
    """

    parent: RemoteParent | None
    span_id: str | None

    @classmethod
    def by(cls, meta: Mapping[str, Any]) -> _Told:
        """Return what a request's ``_meta`` tells; what is malformed is counted, and left out."""
        parent = _believed(believed_parent, meta.get(KEY))
        around = _believed(believed_traceparent, meta.get(TRACEPARENT))
        if parent is None:
            return cls(around, None)
        if around is not None and around.otel_trace_id == parent.otel_trace_id:
            # A span of the program's own may stand between the call and us.
            return cls(parent._replace(span_id=around.span_id), parent.span_id)
        return cls(parent, parent.span_id)


def _believed(believe: Callable[[object], RemoteParent], told: object) -> RemoteParent | None:
    if told is None:
        return None
    try:
        return believe(told)
    except ValueError:
        scope = CURRENT.get()
        faults = PROCESS_FAULTS if scope is None or scope is QUIET else scope.run.faults
        faults[MALFORMED] += 1
        return None
