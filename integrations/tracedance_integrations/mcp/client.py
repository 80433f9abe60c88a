"""What a client does: calls of tools, and lists of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, NamedTuple

from tracedance_integrations.mcp import results
from tracedance_sdk.formats import read_tools
from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.answering import open_sources
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.describing import describe_further
from tracedance_sdk.recording.integrating import Patches, ToolUse, attempt
from tracedance_sdk.recording.scopes import CURRENT, Scope, enclosing_open_scope, open_runs


class Making(NamedTuple):
    """A call that a client is making.

    Attributes:
        scope: It is made in, itself on record or not.
        is_agents: The agent itself makes it, and no tool of the agent's.
    """

    scope: Scope | None
    is_agents: bool


MAKING: Final[ContextVar[Making | None]] = ContextVar("tracedance_mcp_call", default=None)
"""The call being made here, which may take several requests; None where a server works on it."""


@contextlib.contextmanager
def made(making: Making | None) -> Iterator[None]:
    """Say in this context what call is being made."""
    token = MAKING.set(making)
    try:
        yield
    finally:
        reset_quietly(MAKING, token)


def is_made_here() -> bool:
    """Whether the code here is in a call that a client makes, and in no other within it."""
    making = MAKING.get()
    return making is not None and making.scope is CURRENT.get()


def client_hooks(patches: Patches) -> None:
    """Put the hooks into the library's clients."""
    import mcp

    for name in ("ClientSession", "Client"):
        kind = getattr(mcp, name, None)
        if kind is not None:
            patches.wrap(kind, "call_tool", call_tool)
            patches.wrap(kind, "list_tools", list_tools)


async def call_tool(wrapped: Any, client: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a tool on a server, on record, or answered from elsewhere."""
    if not open_runs and not open_sources:
        return await wrapped(*args, **kwargs)
    around = CURRENT.get()
    if is_made_here():
        return await wrapped(*args, **kwargs)
    use = attempt("tool", partial(_use, client, *args, **kwargs))
    if use is None:
        return await wrapped(*args, **kwargs)

    async def body() -> Any:
        with made(Making(CURRENT.get(), not isinstance(around, OpenCall))):
            return await wrapped(*args, **kwargs)

    try:
        return await use.run_async(body)
    except ReplayedError as error:
        told = results.raised_again(error)
        if told is None:
            raise
        raise told from error


def _use(
    client: Any, name: Any = None, arguments: Any = None, *_: Any, **__: Any
) -> ToolUse | None:
    if not isinstance(name, str):
        # It cannot be sent, and the library says so.
        return None
    return ToolUse(
        name,
        arguments or {},
        outcome=results.outcome,
        rebuild=partial(_rebuilt, client, name),
        failure=results.failure,
        rebuild_failure=partial(results.rebuilt, failed=True),
        may_be_body=True,
    )


def _rebuilt(client: Any, name: str, value: Any) -> Any:
    """Return the result for a recorded value, in the form that the server's schema promises."""
    session = getattr(client, "session", client)
    schema = getattr(session, "_tool_output_schemas", {}).get(name)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    is_packed = isinstance(properties, dict) and list(properties) == ["result"]
    return results.rebuilt(value, is_packed=is_packed)


async def list_tools(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Ask a server for its tools; they are the run's."""
    found = await wrapped(*args, **kwargs)
    if open_runs:
        attempt("tools", _describe, found)
    return found


def _describe(found: Any) -> None:
    scope = enclosing_open_scope(CURRENT.get())
    making = MAKING.get()
    is_own = making is not None and making.scope is scope and making.is_agents
    if scope is None or (isinstance(scope, OpenCall) and not is_own):
        # What a tool asks of servers of its own, the agent does not see.
        return
    if not scope.run.agents_within:
        # Else a framework decides which of them its agent is shown, and by what names.
        listed = [tool.model_dump(by_alias=True, mode="json") for tool in found.tools]
        describe_further(scope.run, tools=read_tools(listed))
