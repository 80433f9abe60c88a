"""Tools: what they are called with, and what comes of it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final

from tracedance_integrations.langchain.messages import as_json, is_message
from tracedance_sdk.recording.answering import open_sources
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.integrating import Patches, ToolOutcome, ToolUse, attempt
from tracedance_sdk.recording.scopes import open_runs

_HELPERS: Final = ("_format_output", "_handle_tool_error", "_handle_validation_error")
_EXECUTE: Final = ("_execute_tool_sync", "_execute_tool_async")
_RUN_ONE: Final = ("_run_one", "_arun_one")


class _Seen:
    """What LangChain does with a tool's result, before it becomes a message."""

    __slots__ = ("_expected", "error", "has_result", "result")

    def __init__(self, expected: str | None = None) -> None:
        self._expected = expected
        self.has_result = False
        self.result: Any = None
        self.error: BaseException | None = None

    def expects(self, call_id: str | None) -> bool:
        """Whether this use of a tool is what a node of a graph makes of the call; asked once."""
        if self._expected is None or call_id != self._expected:
            return False
        self._expected = None
        return True

    def outcome(self, found: Any) -> ToolOutcome:
        """Return what came of the call that returned this."""
        message = _message_in(found)
        if self.error is not None:
            shown = found if message is None else message.content
            return ToolOutcome.of_failure(shown, self.error)
        if message is None:
            return ToolOutcome(as_json(getattr(found, "update", None) or found))
        if message.status == "error":
            return ToolOutcome(message.content, "ToolError", str(message.content))
        # A tool may return a message itself; else what it returned is more than its message.
        is_own = not self.has_result or _message_in(self.result) is not None
        return ToolOutcome(as_json(message.content if is_own else self.result))


def _message_in(found: Any) -> Any:
    """Return the message for the model in what a tool's use returned; None when there is none."""
    if isinstance(found, list) and found:
        return next((m for item in found if (m := _message_in(item)) is not None), None)
    if is_message(found):
        return found if hasattr(found, "tool_call_id") else None
    update = getattr(found, "update", None)
    return _message_in(update.get("messages")) if isinstance(update, dict) else None


SEEN: Final[ContextVar[_Seen | None]] = ContextVar("tracedance_langchain_tool", default=None)
"""What is seen of the tool at work; None outside of any, and in a graph that it started."""


def tool_hooks(patches: Patches) -> None:
    """Put the hooks into LangChain's base class of tools."""
    from langchain_core.tools import base

    patches.wrap(base.BaseTool, "run", _run)
    patches.wrap(base.BaseTool, "arun", _run_async)
    for name, around in zip(_HELPERS, (_formatted, _failed, _failed), strict=True):
        if hasattr(base, name):
            patches.wrap(base, name, around)


def node_hooks(patches: Patches) -> None:
    """Put the hooks into the nodes of tools, which tell models of failures."""
    from langgraph.prebuilt.tool_node import ToolNode

    nodes = [(ToolNode, _EXECUTE)]
    if not hasattr(ToolNode, _EXECUTE[0]):
        # In older versions LangChain has a node of its own, which knows middleware.
        nodes = [(ToolNode, _RUN_ONE), *((node, _EXECUTE) for node in _own_nodes())]
    for node, names in nodes:
        for name, around in zip(names, (_execute, _execute_async), strict=True):
            if hasattr(node, name):
                patches.wrap(node, name, around)


def _own_nodes() -> list[Any]:
    if importlib.util.find_spec("langchain") is None:
        return []
    found = getattr(importlib.import_module("langchain.tools"), "tool_node", None)
    node = getattr(found, "_ToolNode", None)
    return [] if node is None else [node]


def _run(wrapped: Any, tool: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    around, call_id = SEEN.get(), kwargs.get("tool_call_id")
    if around is not None and around.expects(call_id):
        try:
            return wrapped(*args, **kwargs)
        except Exception as error:
            around.error = error
            raise
    seen = _Seen()
    given = args[0] if args else kwargs.get("tool_input")
    return _use(tool, given, call_id, seen).run(_seen_by(seen, wrapped, args, kwargs))


async def _run_async(wrapped: Any, tool: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    around, call_id = SEEN.get(), kwargs.get("tool_call_id")
    if around is not None and around.expects(call_id):
        try:
            return await wrapped(*args, **kwargs)
        except Exception as error:
            around.error = error
            raise
    seen = _Seen()
    given = args[0] if args else kwargs.get("tool_input")
    use = _use(tool, given, call_id, seen)
    return await use.run_async(_seen_by_async(seen, wrapped, args, kwargs))


def _execute(wrapped: Any, node: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    made = attempt("tool", _use_in_node, node, args, kwargs) if open_runs or open_sources else None
    if made is None:
        return wrapped(*args, **kwargs)
    use, seen = made
    return use.run(_seen_by(seen, wrapped, args, kwargs))


async def _execute_async(wrapped: Any, node: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    made = attempt("tool", _use_in_node, node, args, kwargs) if open_runs or open_sources else None
    if made is None:
        return await wrapped(*args, **kwargs)
    use, seen = made
    return await use.run_async(_seen_by_async(seen, wrapped, args, kwargs))


def _use_in_node(node: Any, args: Any, kwargs: dict[str, Any]) -> tuple[ToolUse, _Seen] | None:
    """Return the use of a tool that a node makes: what it tells of a failure belongs to it."""
    given = args[0] if args else next(iter(kwargs.values()))
    asked = given if isinstance(given, dict) else given.tool_call
    tool = node.tools_by_name.get(asked["name"]) if asked is given else given.tool
    if tool is None or asked.get("id") is None:
        return None
    seen = _Seen(asked["id"])
    return _use(tool, asked["args"], asked["id"], seen), seen


def _seen_by(seen: _Seen, wrapped: Any, args: Any, kwargs: dict[str, Any]) -> Callable[[], Any]:
    def body() -> Any:
        token = SEEN.set(seen)
        try:
            return wrapped(*args, **kwargs)
        finally:
            reset_quietly(SEEN, token)

    return body


def _seen_by_async(
    seen: _Seen, wrapped: Any, args: Any, kwargs: dict[str, Any]
) -> Callable[[], Awaitable[Any]]:
    async def body() -> Any:
        token = SEEN.set(seen)
        try:
            return await wrapped(*args, **kwargs)
        finally:
            reset_quietly(SEEN, token)

    return body


def _use(tool: Any, given: Any, call_id: str | None, seen: _Seen) -> ToolUse:
    return ToolUse(
        tool.name,
        lambda: _arguments(tool, given),
        call_id,
        outcome=seen.outcome,
        rebuild=lambda content: _message(tool.name, content, call_id),
        rebuild_failure=lambda content: _message(tool.name, content, call_id, status="error"),
        pauses=_pauses(),
    )


def _pauses() -> tuple[type[BaseException], ...]:
    kind = getattr(sys.modules.get("langgraph.errors"), "GraphInterrupt", None)
    return () if kind is None else (kind,)


def _arguments(tool: Any, given: Any) -> Any:
    """Return what the model gave, without what the framework adds."""
    if not isinstance(given, dict):
        return {next(iter(tool.args), "input"): given}
    leave_out = getattr(tool, "_filter_injected_args", None)
    if leave_out is not None:
        return leave_out(given)
    # Before langchain-core 1.1, only the schema for the model tells which arguments are its own.
    own = getattr(tool.tool_call_schema, "model_fields", given)
    return {key: value for key, value in given.items() if key in own}


def _message(name: str, content: Any, call_id: str | None, *, status: Any = "success") -> Any:
    """Return what a tool's use returns for a recorded result."""
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import base

    formatted = getattr(base, "_format_output", None)
    if formatted is not None:
        return formatted(content, None, call_id, name, status)
    if call_id is None:
        return content
    return ToolMessage(content, tool_call_id=call_id, name=name, status=status)


def _formatted(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    seen = SEEN.get()
    if seen is not None:
        seen.has_result, seen.result = True, args[0] if args else kwargs.get("content")
    return wrapped(*args, **kwargs)


def _failed(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    seen = SEEN.get()
    if seen is not None:
        seen.error = args[0] if args else kwargs.get("e")
    return wrapped(*args, **kwargs)
