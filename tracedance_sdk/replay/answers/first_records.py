"""What the records of a conversation were before anything was written to them."""

from __future__ import annotations

from tracedance_sdk.replay.derivation import KnownRecords, parsed
from tracedance_sdk.replay.recordings import (
    WRITES,
    Conversation,
    EffectOf,
    changed_by,
    subjects_of,
)


def untouched_records(own: Conversation, effect_of: EffectOf) -> KnownRecords:
    """Return the records that a conversation's recordings show as they were at first.

    Args:
        own: The conversation.
        effect_of: What tools do to the world.
    """
    known = KnownRecords()
    changed: set[object] = set()
    n_writes = 0
    for recording in own.recordings:
        for lost in own.lost_writes(n_writes, recording.n_writes):
            changed |= lost.subjects
        n_writes = recording.n_writes
        name, arguments = recording.name, recording.arguments
        did_fail = recording.result.ok is False
        if effect_of(name) in WRITES:
            changed |= set() if did_fail else changed_by(name, arguments)
        elif not did_fail and not recording.is_masked:
            is_as_at_first = changed.isdisjoint(subjects_of(name, arguments))
            value = parsed(recording.result).value if is_as_at_first else None
            known.add(recording.key, arguments, value)
    return known
