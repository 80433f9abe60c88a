"""What an agent under test is asked, and what it has to be able to do."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple, Protocol

from tracedance_sdk.errors import AgentFailed
from tracedance_sdk.replay.running.apart import told_of
from tracedance_sdk.replay.running.messages import Message
from tracedance_sdk.trace import Json

MOST_BYTES: Final = 16 * 1024**2
"""Longest reply."""


class Request(NamedTuple):
    """What an agent is asked.

    Attributes:
        messages: The conversation so far, as chat completions have it.
        tools: Definitions of the tools, as chat completions have them.
        test_id: Of the test that is run.
        trial: Which repetition, from 0.
    """

    messages: list[Message]
    tools: list[dict[str, Any]]
    test_id: str
    trial: int

    @property
    def document(self) -> dict[str, Any]:
        """The request as JSON, for agents outside this process."""
        return {**self._asdict(), "format": "tracedance.agent_request", "version": 1}


class AgentUnderTest(Protocol):
    """Whoever is put into the recorded conversations.

    Where it has ``runs_apart = True``, it is asked on the loop that runs the tests, as it holds
    nobody up. Any other is asked on a loop of its own.
    """

    @property
    def name(self) -> str:
        """Its name in reports."""

    async def reply(self, request: Request) -> Json:
        """Return the assistant's next message.

        Raises:
            AgentFailed: The agent raised, or replied with something that is no message.
            AgentUnreachable: It could not be asked: that is not the agent's answer, and the run
                may be tried again.
        """

    async def close(self) -> None:
        """Let go of what a run held."""


def parsed_reply(data: bytes | str) -> Json:
    """Return a reply that came as JSON text.

    Raises:
        AgentFailed: It is no JSON.
    """
    from tracedance_sdk.errors import InvalidJSON
    from tracedance_sdk.trace import parse_json

    try:
        return parse_json(data, where="the agent's reply")
    except InvalidJSON as error:
        raise AgentFailed(str(error)) from error


def plain_reply(replied: Any) -> Json:
    """Return what an agent in this process gave as JSON has it.

    Raises:
        AgentFailed: JSON cannot hold it.
    """
    if not isinstance(replied, (str, dict)):
        raise AgentFailed(f"the agent replied with {type(replied).__name__}, not with a message")
    try:
        text = json.dumps(replied, allow_nan=False)
    except RecursionError as error:
        raise AgentFailed("the agent's reply is no JSON: it is nested too deeply") from error
    except Exception as error:
        raise AgentFailed(f"the agent's reply is no JSON: {told_of(error)}") from error
    if len(text) > MOST_BYTES:
        raise AgentFailed(f"the agent's reply is longer than {MOST_BYTES:,} bytes")
    return parsed_reply(text)
