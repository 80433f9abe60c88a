"""Cursor's agent transcripts: JSON lines of messages.

They lie in ``~/.cursor/projects/PROJECT/agent-transcripts/``, sub-agents in ``subagents/`` there.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_cursor_session

collector = SessionCollector(
    "cursor",
    [
        Signature.of(
            "role",
            "message.content[].type",
            values={"role": ["user", "assistant"]},
            without=["type", "uuid", "sessionId"],
            depth=0,
        ),
    ],
    read_cursor_session,
)
