"""Uses of the SDK's runner: an agent begins, hands over to another one, and ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from tracedance_integrations.openai_agents import reading
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.driving import UNRECORDED, Operation, await_in
from tracedance_sdk.recording.integrating import Relay, ToolOutcome, ToolUse, attempt, start_agent
from tracedance_sdk.recording.scopes import open_runs

RELAY: Final[ContextVar[Relay | None]] = ContextVar("tracedance_openai_agents", default=None)
"""Who is at work in the run that the code here belongs to; None inside a tool."""


async def run(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let an agent work until it has its answer, on record."""
    agent = args[0] if args else kwargs.get("starting_agent")
    given = args[1] if len(args) > 1 else kwargs.get("input")
    return await _run(agent, given, partial(wrapped, *args, **kwargs))


async def start_streaming(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let an agent work in the background, on record, while its caller reads what comes."""
    agent, state = kwargs.get("starting_agent"), kwargs.get("run_state")
    return await _run(agent, state, partial(wrapped, *args, **kwargs))


async def execute_handoffs(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let the agent at work hand over to another one, on record."""
    relay = RELAY.get()
    asked = kwargs.get("run_handoffs")
    if relay is None or not asked:
        return await wrapped(*args, **kwargs)
    tokens = relay.enter()
    try:
        uses = attempt("handoff", _uses, asked)
        if not uses:
            return await wrapped(*args, **kwargs)
        step = await uses[0].run_async(partial(wrapped, *args, **kwargs))
        for use in uses[1:]:
            use.run(partial(reading.output_for, step, use.call_id))
    finally:
        relay.leave(tokens)
    attempt("handoff", _hand_over, relay, step, uses[0].call_id)
    return step


async def _run(agent: Any, given: Any, body: Callable[[], Awaitable[Any]]) -> Any:
    if not open_runs:
        return await body()
    # A run that was interrupted for somebody's approval goes on with the agent it was at.
    agent = getattr(given, "_current_agent", None) or agent
    around = RELAY.get()
    tokens = None if around is None else around.enter()
    try:
        return await await_in(partial(_begin, agent), partial(_relayed, body))
    finally:
        if around is not None and tokens is not None:
            around.leave(tokens)


def _begin(agent: Any) -> Operation:
    return attempt("agent", _started, agent) or UNRECORDED


def _started(agent: Any) -> Operation:
    return start_agent(agent.name, system_prompt=reading.instructions(agent))


async def _relayed(body: Callable[[], Awaitable[Any]]) -> Any:
    relay = Relay()
    token = RELAY.set(relay)
    try:
        value = await body()
    except BaseException as error:
        relay.end(error)
        raise
    finally:
        reset_quietly(RELAY, token)
    relay.end()
    return value


def _uses(asked: Any) -> list[ToolUse]:
    """Return the calls by which an agent hands over: the SDK follows the first, and no other."""
    first, *others = (handoff.tool_call for handoff in asked)
    found = [_use(first, partial(_taken, first.call_id))]
    return found + [_use(call, _refused) for call in others]


def _use(call: Any, outcome: Callable[[Any], ToolOutcome]) -> ToolUse:
    return ToolUse(
        call.name,
        reading.arguments(call.arguments),
        call.call_id,
        outcome=outcome,
        can_be_answered=False,
    )


def _taken(call_id: str, step: Any) -> ToolOutcome:
    return ToolOutcome(reading.output_for(step, call_id))


def _refused(output: Any) -> ToolOutcome:
    return ToolOutcome(output, "ToolError", str(output))


def _hand_over(relay: Relay, step: Any, call_id: str | None) -> None:
    agent = step.next_step.new_agent
    relay.hand_over(agent.name, call_id=call_id, system_prompt=reading.instructions(agent))
