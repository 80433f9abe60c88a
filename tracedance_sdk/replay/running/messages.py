"""A run's turns as chat messages for the agent under test, and its replies as turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tracedance_sdk.errors import AgentFailed, AgentUnreachable, InvalidTrace, Unsendable
from tracedance_sdk.formats import chat_request, turn_from_chat
from tracedance_sdk.trace import UNKNOWN, Json, ToolDefinition, Turn

Message = dict[str, Any]

MOST_CALLS: Final = 64
"""Most calls that one reply may ask for."""


def told(
    turns: Sequence[Turn], tools: Sequence[ToolDefinition]
) -> tuple[list[Message], list[dict[str, Any]]]:
    """Return a conversation and its tools as chat completions have them, without a system message.

    Raises:
        AgentUnreachable: The conversation cannot be written so, and the agent not be asked.
    """
    try:
        body = chat_request(turns, system_prompt=None, tools=tools)
    except Unsendable as error:
        raise AgentUnreachable(
            f"the conversation cannot be told as chat messages: {error}"
        ) from error
    return body["messages"], body.get("tools", [])


def turn_of_reply(reply: Json, index: int) -> Turn:
    """Return what an agent replied as a turn.

    Args:
        reply: A message of the assistant (``content``, ``tool_calls``), a whole chat completion,
            or a text.
        index: Of the turn.

    Raises:
        AgentFailed: It is none of these, holds nothing, or asks for too much.
    """
    if isinstance(reply, str):
        reply = {"content": reply}
    if not isinstance(reply, dict):
        raise AgentFailed(f"the agent replied with {type(reply).__name__}, not with a message")
    body = reply if "choices" in reply else {"choices": [{"message": reply}]}
    try:
        turn = turn_from_chat(body)
    except InvalidTrace as error:
        raise AgentFailed(f"the agent's reply is no message: {error}") from error
    if not turn.calls and not turn.text.strip():
        raise AgentFailed("the agent's reply holds neither text nor a call")
    if len(turn.calls) > MOST_CALLS:
        raise AgentFailed(f"the agent asks for {len(turn.calls)} calls at once")
    for call in turn.calls:
        if call.arguments is UNKNOWN or not isinstance(call.arguments, dict):
            raise AgentFailed(f"the arguments of {call.name!r:.60} are no JSON object")
    return turn.model_copy(update={"index": index, "origin": "agent"})
