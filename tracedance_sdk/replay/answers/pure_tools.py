"""Pure tools, which may be run: whatever they do, there is an answer, and in time."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import itertools
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.recording import freeze
from tracedance_sdk.trace import ErrorInfo, Json, Result, is_opaque, spelled_out

PureTool = Callable[..., Any]

TOOL_TIMEOUT: Final = "ToolTimeout"
"""Type of the error that an agent is told where a pure tool does not return."""

TOOL_UNTOLD: Final = "NotJson"
"""Type of the error that an agent is told where a pure tool returns what JSON cannot tell."""

_MOST_ITEMS: Final = 100_000
_LONGEST: Final = 10_000


class PureCall(NamedTuple):
    """A call that a pure tool is to be run for."""

    tool: PureTool
    arguments: dict[str, Any]


def run_pure(call: PureCall, *, limit_s: float | None = None) -> Result:
    """Run a tool and return what it gives as the recorder writes it.

    What it raises is its answer, as it would be in production. A coroutine is waited for, a
    generator is read. An object that JSON cannot hold, and whose description does not tell what it
    is, is no answer.

    Args:
        call: The tool and its arguments.
        limit_s: Seconds after which it is left behind, in a thread of its own; None runs it here.

    Returns:
        The result; its error is of type ``ToolTimeout`` where the tool did not return, ``NotJson``
        where what it returned is no JSON and does not tell its value.
    """
    if limit_s is None and not _needs_loop(call.tool):
        return _result(call)
    found: list[Result] = []
    context = contextvars.copy_context()

    def work() -> None:
        found.append(context.run(_result, call))

    thread = threading.Thread(target=work, name="tracedance apart", daemon=True)
    thread.start()
    thread.join(limit_s)
    if found:
        return found[0]
    told = f"no answer within {limit_s or 0:g} s"
    return Result(ok=False, error=ErrorInfo(type=TOOL_TIMEOUT, message=told))


def _needs_loop(tool: PureTool) -> bool:
    return inspect.iscoroutinefunction(tool) or inspect.isasyncgenfunction(tool)


def _result(call: PureCall) -> Result:
    try:
        content = _content(call.tool(**call.arguments))
    except BaseException as error:  # a tool's failure is its answer
        # A key that is pressed reaches the main thread alone.
        is_key = isinstance(error, KeyboardInterrupt)
        if is_key and threading.current_thread() is threading.main_thread():
            raise
        return Result(ok=False, error=ErrorInfo(type=type(error).__name__, message=_told(error)))
    untold = _untold(content)
    if untold is not None:
        told = f"what the tool returned holds a {untold}, which is no JSON"
        return Result(ok=False, error=ErrorInfo(type=TOOL_UNTOLD, message=told))
    return Result(ok=True, content=content)


def _untold(content: Json) -> str | None:
    """Return the type of an object whose description does not tell it; None without one."""
    pending = [content]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if is_opaque(item):
                return str(item["$type"])[:200]
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return None


def _content(value: Any) -> Json:
    if inspect.isawaitable(value):
        value = asyncio.run(_awaited(value))
    if inspect.isasyncgen(value):
        value = asyncio.run(_collected(value))
    if inspect.isgenerator(value):
        value = list(itertools.islice(value, _MOST_ITEMS))
    content: Json = orjson.loads(freeze(value))
    return content


async def _awaited(value: Any) -> Any:
    return await value


async def _collected(value: Any) -> list[Any]:
    items: list[Any] = []
    async for item in value:
        items.append(item)
        if len(items) == _MOST_ITEMS:
            break
    return items


def _told(error: BaseException) -> str:
    try:
        return str(spelled_out(str.__str__(str(error))[:_LONGEST]))
    except BaseException:  # noqa: BLE001 - its own method
        return "it does not say why"
