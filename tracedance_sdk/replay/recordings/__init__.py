"""What tools answered before: recordings, the writes that came before them, who may read them."""

from __future__ import annotations

from tracedance_sdk.replay.recordings.conversations import (
    WRITES,
    Conversation,
    EffectOf,
    MadeCall,
    Recording,
    RecordingIndex,
    conversation_from,
    conversation_of,
    group_of,
    is_answer,
)
from tracedance_sdk.replay.recordings.hidden import is_hidden, is_partly_hidden
from tracedance_sdk.replay.recordings.histories import (
    Write,
    history_marks,
    next_mark,
    writes_that_matter,
)
from tracedance_sdk.replay.recordings.shelf import Borrowed, Shelf, recording_at
from tracedance_sdk.replay.recordings.subjects import (
    LEAST_CHARACTERS,
    Kind,
    Meant,
    Named,
    Subjects,
    changed_by,
    kinds_of,
    subjects_of,
)

__all__ = [
    "LEAST_CHARACTERS",
    "WRITES",
    "Borrowed",
    "Conversation",
    "EffectOf",
    "Kind",
    "MadeCall",
    "Meant",
    "Named",
    "Recording",
    "RecordingIndex",
    "Shelf",
    "Subjects",
    "Write",
    "changed_by",
    "conversation_from",
    "conversation_of",
    "group_of",
    "history_marks",
    "is_answer",
    "is_hidden",
    "is_partly_hidden",
    "kinds_of",
    "next_mark",
    "recording_at",
    "subjects_of",
    "writes_that_matter",
]
