"""Sessions of Antigravity: JSON lines of steps."""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_antigravity_session

collector = SessionCollector(
    "antigravity",
    [Signature.of("step_index", "source", "type", "status", "created_at")],
    read_antigravity_session,
)
