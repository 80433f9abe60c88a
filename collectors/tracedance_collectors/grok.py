"""Sessions of the Grok CLI: ``chat_history.jsonl`` in a folder for each session."""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_grok_session

_LINES = ["system", "user", "assistant"]

collector = SessionCollector(
    "grok",
    [
        Signature.of("type", "tool_calls", "model_id", values={"type": "assistant"}),
        Signature.of("type", "content", values={"type": _LINES}, names=["chat_history.jsonl"]),
    ],
    read_grok_session,
    companions=[
        Signature.of("info.id", "session_summary", "current_model_id", names=["summary.json"])
    ],
)
