"""Sessions of the Codex CLI and its kin: one rollout of JSON lines each.

They lie in ``~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl``. Older ones, which hold bare items, are
read as well, and so is a document with a list of ``items``.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_codex_session

_RECORDS = ["session_meta", "turn_context", "response_item", "event_msg", "compacted"]
_CALLS = ["function_call", "function_call_output", "custom_tool_call", "local_shell_call"]

collector = SessionCollector(
    "codex",
    [
        Signature.of("type", "payload", "timestamp", values={"type": _RECORDS}),
        Signature.of("id", "timestamp", "instructions", without=["type", "messages"], depth=0),
        Signature.of("items[].type", "items[].call_id", values={"items[].type": _CALLS}, depth=0),
        Signature.of(
            "type", "function.name", "arguments", values={"type": ["tool_call", "function_call"]}
        ),
        Signature.of("timestamp", "role", "content", "model", depth=0),
    ],
    read_codex_session,
)
