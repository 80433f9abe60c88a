"""Sessions of Factory's Droid: its store, and what ``droid exec`` streams as JSON lines.

The store is ``~/.factory/sessions/``.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_droid_session

_EVENTS = ["message", "tool_call", "tool_result", "completion"]

collector = SessionCollector(
    "droid",
    [
        Signature.of("type", "id", "cwd", values={"type": "session_start"}),
        Signature.of("type", "sessionId", "timestamp", values={"type": _EVENTS}),
        Signature.of("type", "session_id", "timestamp", values={"type": _EVENTS}),
    ],
    read_droid_session,
)
