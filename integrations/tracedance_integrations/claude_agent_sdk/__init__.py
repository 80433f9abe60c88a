"""Claude Agent SDK: what Claude Code says and does for a program, by its hooks and its messages.

    from tracedance_integrations import claude_agent_sdk as td_claude

    td_claude.install()

A conversation (`query`, or a `ClaudeSDKClient` from its connection on) that begins inside an open
recorder is the recorder's run: prompts, answers, and calls of all tools. Sub-agents have traces of
their own. Hooks that answer nothing are added to those of the program; without an open recorder
none are. `install` changes the SDK's class `Query`, and `uninstall` puts it back.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import Integration, Patches

OPT_IN: Final = True
"""Hooks make Claude Code wait for the program's answer, so that a program has to ask for them."""


def _hooks(patches: Patches) -> None:
    from claude_agent_sdk._internal.query import Query

    patches.wrap(Query, "start", _start)
    patches.wrap(Query, "close", _close)
    patches.wrap(Query, "_handle_sdk_mcp_request", _serve)


async def _start(wrapped: Any, query: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    from tracedance_integrations.claude_agent_sdk.sessions import listen

    GUARD.attempt("session", PROCESS_FAULTS, listen, query)
    return await wrapped(*args, **kwargs)


async def _close(wrapped: Any, query: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    from tracedance_integrations.claude_agent_sdk.sessions import session_of

    try:
        return await wrapped(*args, **kwargs)
    finally:
        session = session_of(query)
        if session is not None:
            session.end()


async def _serve(wrapped: Any, query: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run a tool of the program's own inside the call that asked for it."""
    from tracedance_integrations.claude_agent_sdk.sessions import session_of

    session = session_of(query)
    if session is None:
        return await wrapped(*args, **kwargs)
    call = GUARD.attempt("tool", PROCESS_FAULTS, session.call_of, *args, **kwargs)
    tokens = None if call is None else call.enter()
    try:
        answer = await wrapped(*args, **kwargs)
    finally:
        if call is not None and tokens is not None:
            call.leave(tokens)
    GUARD.attempt("tools", PROCESS_FAULTS, session.take_answer, answer, *args, **kwargs)
    return answer


_INTEGRATION: Final = Integration(
    "claude-agent-sdk",
    module="claude_agent_sdk",
    package="claude-agent-sdk",
    oldest="0.2",
    below="0.3",
    hooks=_hooks,
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall
