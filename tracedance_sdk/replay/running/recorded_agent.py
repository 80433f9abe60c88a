"""The recorded agent: makes the calls of the recording, in order, and says that it is done.

It stands for the agent that was recorded where the machinery itself is to be checked: against its
own test every answer must be the recorded one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from tracedance_sdk.replay.people import Customer
from tracedance_sdk.replay.rebuilding import Suite
from tracedance_sdk.replay.running.apart import runs_apart
from tracedance_sdk.replay.running.asking import Request
from tracedance_sdk.trace import Json, Turn

_DONE: Final = "Done."


class RecordedAgent:
    """Makes the recorded calls of the test that it is put into, one a turn.

    Args:
        suite: Where the tests are.
    """

    name: Final = "recorded"
    runs_apart: Final = True

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    async def reply(self, request: Request) -> Json:
        """Return the next recorded call; after the last one, a text."""
        recordings = self._suite.test(request.test_id).recordings
        made = sum(message["role"] == "tool" for message in request.messages)
        if made >= len(recordings):
            return {"content": _DONE}
        call = recordings[made]
        function: dict[str, Any] = {"name": call.name, "arguments": json.dumps(call.arguments)}
        return {"tool_calls": [{"id": f"call_{made}", "type": "function", "function": function}]}

    async def close(self) -> None:
        """Nothing is held."""


class UntilDone:
    """A customer of the recorded agent, who has nothing more to say after its last call.

    Args:
        customer: Who speaks before.
    """

    def __init__(self, customer: Customer) -> None:
        self.name = customer.name
        self.runs_apart = runs_apart(customer)
        self._customer = customer

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        """Return what the customer says; None once the agent has said that it is done."""
        if conversation[-1].text == _DONE:
            return None
        return await self._customer.reply(conversation)
