"""What tools answered before: recordings, the writes that came before them, who may read them."""

from __future__ import annotations

from tracedance_sdk.replay.recordings.conversations import (
    WRITES,
    Conversation,
    EffectOf,
    Recording,
    RecordingIndex,
    conversation_of,
    group_of,
    is_answer,
)
from tracedance_sdk.replay.recordings.histories import (
    LEAST_CHARACTERS,
    Write,
    history_marks,
    next_mark,
    telling_values,
    writes_that_matter,
)
from tracedance_sdk.replay.recordings.shelf import Borrowed, Shelf

__all__ = [
    "LEAST_CHARACTERS",
    "WRITES",
    "Borrowed",
    "Conversation",
    "EffectOf",
    "Recording",
    "RecordingIndex",
    "Shelf",
    "Write",
    "conversation_of",
    "group_of",
    "history_marks",
    "is_answer",
    "next_mark",
    "telling_values",
    "writes_that_matter",
]
