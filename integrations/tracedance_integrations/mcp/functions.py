"""What servers know of their tools beside what they answer: what code raised, and definitions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from tracedance_integrations.mcp import results
from tracedance_sdk.formats import read_tools
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.describing import describe_further
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.integrating import Patches
from tracedance_sdk.recording.scopes import CURRENT
from tracedance_sdk.recording.shared_calls import SharedCall

_WIRE: Final[dict[str, Any]] = {"by_alias": True, "mode": "json", "exclude_none": True}


class Work(NamedTuple):
    """A call that a server is at work on.

    Attributes:
        call: On record.
        describes: The server's tools are those of the call's run.
    """

    call: SharedCall
    describes: bool


_WORK: Final[ContextVar[Work | None]] = ContextVar("tracedance_mcp_work", default=None)
"""None in the tool's own code: what else it has a server do is no work on the call."""

_LISTED: Final[WeakKeyDictionary[Any, dict[str, Any]]] = WeakKeyDictionary()
"""What servers told clients of their tools, by the tools' names; from version 2 on."""


@contextlib.contextmanager
def at_work(server: Any = None) -> Iterator[None]:
    """Say that a server is at work here on the current call.

    Args:
        server: Its tools are those of the call's run, unless an agent with tools of its own is at
            work there; None where the client's are.
    """
    call = CURRENT.get()
    work = None
    if isinstance(call, SharedCall):
        is_servers = server is not None and call.is_in_run_itself and not call.run.agents_within
        work = Work(call, is_servers)
        if is_servers:
            GUARD.attempt("tools", call.run.faults, _describe_listed, call, server)
    token = _WORK.set(work)
    try:
        yield
    finally:
        reset_quietly(_WORK, token)


def note_listed(server: Any, params: Any, listed: Any) -> None:
    """Keep what a server tells a client of its tools.

    Args:
        server: It.
        params: Of the request.
        listed: The answer, perhaps one page of several.
    """
    is_first = not (isinstance(params, Mapping) and params.get("cursor"))
    known = {} if is_first else _LISTED.get(server, {})
    _LISTED[server] = {**known, **{tool["name"]: tool for tool in listed["tools"]}}


def _describe_listed(call: SharedCall, server: Any) -> None:
    before_2 = getattr(server, "_tool_cache", None)
    if isinstance(before_2, dict):
        _describe(call, [tool.model_dump(**_WIRE) for tool in before_2.values()])
    else:
        _describe(call, list(_LISTED.get(server, {}).values()))


def _describe(call: SharedCall, tools: list[Any]) -> None:
    describe_further(call.run, tools=read_tools(tools))


def function_hooks(patches: Patches) -> None:
    """Put the hooks where servers call the functions that their tools are."""
    kind = "mcpserver" if _has("mcp.server.mcpserver") else "fastmcp"
    metadata = import_module(f"mcp.server.{kind}.utilities.func_metadata").FuncMetadata
    manager = import_module(f"mcp.server.{kind}.tools.tool_manager").ToolManager
    name = "call_fn" if hasattr(metadata, "call_fn") else "call_fn_with_arg_validation"
    patches.wrap(metadata, name, _call_function)
    patches.wrap(manager, "call_tool", _call_tool)
    if kind == "fastmcp":
        from mcp.server.lowlevel import Server

        patches.wrap(Server, "_make_error_result", _tell_error)


def _has(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


async def _call_tool(wrapped: Any, manager: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let a server with registered functions carry out a call."""
    work = _WORK.get()
    if work is not None and work.describes:
        GUARD.attempt("tools", work.call.run.faults, _describe_registered, work.call, manager)
    return await wrapped(*args, **kwargs)


def _describe_registered(call: SharedCall, manager: Any) -> None:
    _describe(call, [_on_the_wire(tool) for tool in manager.list_tools()])


def _on_the_wire(tool: Any) -> dict[str, Any]:
    """Return a registered function as clients are told of it."""
    notes = tool.annotations
    told = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "outputSchema": tool.output_schema,
        "annotations": None if notes is None else notes.model_dump(**_WIRE),
    }
    return {key: value for key, value in told.items() if value is not None}


async def _call_function(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let a server call the function that a tool is."""
    work = _WORK.get()
    if work is None:
        return await wrapped(*args, **kwargs)
    given = dict(zip(("fn", "fn_is_async"), args, strict=False)) | kwargs
    if callable(given.get("fn")):
        noted = _noted(given["fn"], work.call, is_async=bool(given.get("fn_is_async")))
        args, kwargs = ((noted, *args[1:]), kwargs) if args else (args, {**kwargs, "fn": noted})
    token = _WORK.set(None)
    try:
        return await wrapped(*args, **kwargs)
    finally:
        reset_quietly(_WORK, token)


def _noted(function: Callable[..., Any], call: SharedCall, *, is_async: bool) -> Callable[..., Any]:
    """Return the function, with what it raises kept as the call's own failure."""

    def use(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with _keeping(call):
            return function(*args, **kwargs)

    async def use_async(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with _keeping(call):
            return await function(*args, **kwargs)

    return use_async if is_async else use


@contextlib.contextmanager
def _keeping(call: SharedCall) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        GUARD.attempt("error", call.run.faults, _keep, call, error)
        raise
    # A middleware may have tried again.
    call.forget_failure()


def _keep(call: SharedCall, error: BaseException) -> None:
    if results.failure(error) is None:
        # Else the library has the client know it as what it is.
        call.keep_failure(error)


def _tell_error(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let a server without registered functions tell of what its handler raised; before 2."""
    work, error = _WORK.get(), sys.exc_info()[1]
    if work is not None and error is not None and args == (str(error),):
        GUARD.attempt("error", work.call.run.faults, _keep_of_handler, work.call, error)
    return wrapped(*args, **kwargs)


def _keep_of_handler(call: SharedCall, error: BaseException) -> None:
    # Errors of the library's own say what it made of others.
    if not type(error).__module__.startswith("mcp."):
        _keep(call, error)
