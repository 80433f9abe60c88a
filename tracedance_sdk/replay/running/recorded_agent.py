"""The recorded agent: makes the calls of the recording, in order, and says that it is done.

It stands for the agent that was recorded where the machinery itself is to be checked: against its
own test every answer must be the recorded one.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tracedance_sdk.replay.rebuilding import Suite
from tracedance_sdk.replay.running.agents import Request
from tracedance_sdk.trace import Json


class RecordedAgent:
    """Makes the recorded calls of the test that it is put into, one a turn.

    Args:
        suite: Where the tests are.
    """

    name: Final = "recorded"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    async def reply(self, request: Request) -> Json:
        """Return the next recorded call; after the last one, a text."""
        recordings = self._suite.test(request.test_id).recordings
        made = sum(message["role"] == "tool" for message in request.messages)
        if made >= len(recordings):
            return {"content": "Done."}
        call = recordings[made]
        function: dict[str, Any] = {"name": call.name, "arguments": json.dumps(call.arguments)}
        return {"tool_calls": [{"id": f"call_{made}", "type": "function", "function": function}]}

    async def close(self) -> None:
        """Nothing is held."""
