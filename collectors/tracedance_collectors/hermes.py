"""Sessions of the Hermes agent: one JSON document each."""

from __future__ import annotations

from tracedance_sdk.formats import RecordCollector, Signature
from tracedance_sdk.formats.coding import read_hermes_session

collector = RecordCollector(
    "hermes",
    [Signature.of("session_id", "platform", "session_start", "messages")],
    read_hermes_session,
)
