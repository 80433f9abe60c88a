"""The program's own decorated tools give recorded answers."""

from __future__ import annotations

from tracedance_sdk.replay.own_tools.misses import UnrecordedUse
from tracedance_sdk.replay.own_tools.network import NetworkBlock, blocked_network
from tracedance_sdk.replay.own_tools.sessions import (
    DEFAULT_ANSWERS,
    RECORD_MODES,
    RecordMode,
    ReplaySession,
    answering,
    open_session,
    replaying,
)

__all__ = [
    "DEFAULT_ANSWERS",
    "RECORD_MODES",
    "NetworkBlock",
    "RecordMode",
    "ReplaySession",
    "UnrecordedUse",
    "answering",
    "blocked_network",
    "open_session",
    "replaying",
]
