"""An agent that is a Python function."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, Final

from tracedance_sdk.errors import AgentFailed
from tracedance_sdk.replay.running.apart import (
    AGENTS,
    ForeignFailure,
    call_apart,
    in_thread,
)
from tracedance_sdk.replay.running.asking import Request, plain_reply
from tracedance_sdk.trace import Json


class FunctionAgent:
    """A Python function ``(messages, tools) -> message``, sync or async.

    It is called in a thread, or on the loop that all async agents share: while it does not return,
    other runs go on.

    Args:
        function: What `takes_tools` says of its parameters decides whether it gets the tools.
        name: In reports; the function's own by default.
    """

    runs_apart: Final = True

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        own: str = getattr(function, "__qualname__", type(function).__name__)
        self.name = name or own
        self._function = function
        self._takes_tools = takes_tools(function)

    async def reply(self, request: Request) -> Json:
        """Call the function; see `AgentUnderTest.reply`."""
        # A copy: what an agent does to its messages is its own affair.
        messages = json.loads(json.dumps(request.messages))
        given = (messages, json.loads(json.dumps(request.tools)))
        arguments = given if self._takes_tools else given[:1]
        try:
            replied = await call_apart(self._function, *arguments, lane=AGENTS)
        except ForeignFailure as error:
            raise AgentFailed(f"the agent raised {error.told_with_place}") from error
        try:
            return await in_thread(plain_reply, replied)
        except ForeignFailure as error:
            raise AgentFailed(f"the agent's reply cannot be read: {error.told}") from error

    async def close(self) -> None:
        """Nothing is held."""


def takes_tools(function: Callable[..., Any]) -> bool:
    """Whether a function is called with the tools as well as with the messages.

    It is where it has a second parameter for them: one that has no default, or is called ``tools``.
    Other parameters with defaults are the function's own.

    Example:
        >>> takes_tools(lambda messages, tools: ""), takes_tools(lambda messages, scene=1: "")
        (True, False)
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not places or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return True
    second = places[1] if len(places) > 1 else None
    return second is not None and (second.default is second.empty or second.name == "tools")
