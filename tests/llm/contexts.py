"""A small context to ask models about."""

from __future__ import annotations

from typing import Any

from tracedance_sdk.formats import trace_from_messages
from tracedance_sdk.llm import Context

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You look at things."},
    {"role": "user", "content": "What is above?"},
    {
        "role": "assistant",
        "content": "Let me see.",
        "reasoning_content": "CANARY",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"at":"sky"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "clouds"},
]
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
TRACE = trace_from_messages(
    [*MESSAGES, {"role": "assistant", "content": "Clouds."}],
    trace_id="0" * 32,
    tools=[
        {
            "type": "function",
            "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA},
        }
    ],
)
CONTEXT = Context.of(TRACE, 2)
TOOLS = TRACE.tools
