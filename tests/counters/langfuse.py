"""Count what Langfuse's exports hold, from the bytes: generations, tools run, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of the trace of a file.

    Counted are generations as the model's turns, and tools run, each with its result: observations
    of the type TOOL, and spans that give a tool's message.
    """
    document = json.loads(path.read_bytes())
    observations = document["observations"]
    tools = [item for item in observations if item["type"] == "TOOL" or _is_message(item)]
    return [
        Counts(
            session=document["trace"]["id"],
            user_turns=0,
            assistant_turns=sum(item["type"] == "GENERATION" for item in observations),
            calls=len(tools),
            results=len(tools),
            errors=sum(item["level"] == "ERROR" for item in tools),
        )
    ]


def _is_message(item: dict[str, Any]) -> bool:
    output = item.get("output")
    if isinstance(output, str) and output.startswith("{"):
        output = json.loads(output)
    return isinstance(output, dict) and "tool_call_id" in output
