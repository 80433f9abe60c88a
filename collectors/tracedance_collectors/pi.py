"""Sessions of the pi coding agent and of OpenClaw, which runs on it: one JSON lines file each.

pi keeps them in ``~/.pi/agent/sessions/``, OpenClaw in ``~/.openclaw/agents/NAME/sessions/``, with
an index ``sessions.json`` beside them that tells which session started which.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_pi_session

collector = SessionCollector(
    "pi",
    [Signature.of("type", "id", "timestamp", "cwd", values={"type": "session"})],
    read_pi_session,
    companions=[
        Signature.of(names=["sessions.json"], contains=[b'"sessionId"', b'"updatedAt"']),
    ],
)
