"""Logs of OpenClaw's telemetry plugin: flat events, one JSON object a line."""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_openclaw_telemetry

_OF_AGENTS = ["agent.start", "agent.end", "tool.start", "tool.end"]
_OF_CHANNELS = ["message.in", "message.out", "message.sending"]

collector = SessionCollector(
    "openclaw_telemetry",
    [
        Signature.of("type", "sessionKey", "agentId", values={"type": _OF_AGENTS}),
        Signature.of("type", "channel", "content", values={"type": _OF_CHANNELS}),
    ],
    read_openclaw_telemetry,
)
