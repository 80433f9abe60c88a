"""Recorded calls as cases to learn from: what was asked, what was known, what was answered."""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

from tracedance_sdk.replay.derivation.known import KnownRecords, effective_write, named_values
from tracedance_sdk.replay.derivation.parsed import Parsed, parsed
from tracedance_sdk.replay.recordings import WRITES, Conversation, EffectOf, RecordingIndex
from tracedance_sdk.trace import Json

_MOST_RECORDS: Final = 4


class Case(NamedTuple):
    """A recorded call.

    Attributes:
        group: Of its conversation.
        conversation: Its id.
        key: Canonical key of the call.
        arguments: Of the call.
        answer: Parsed, with its style.
        is_error: Whether the tool said that it failed.
        records: By argument that names something, the records known of it, the latest first.
    """

    group: str
    conversation: str
    key: str
    arguments: Json
    answer: Parsed
    is_error: bool
    records: dict[str, tuple[dict[str, Json], ...]]


def cases_of(index: RecordingIndex, effect_of: EffectOf) -> dict[str, list[Case]]:
    """Return the recorded calls of each tool, in order."""
    found: dict[str, list[Case]] = defaultdict(list)
    for conversation in index.conversations:
        _add_cases(conversation, effect_of, found)
    return found


def _add_cases(
    conversation: Conversation, effect_of: EffectOf, found: dict[str, list[Case]]
) -> None:
    known = KnownRecords()
    for recording in conversation.recordings:
        key, arguments = recording.key, recording.arguments
        answer = parsed(recording.result)
        is_error = recording.result.ok is False
        records = {
            name: tuple(
                record.value
                for record, _ in zip(
                    known.all_about(str(value), other_than=key), range(_MOST_RECORDS), strict=False
                )
            )
            for name, value in named_values(arguments).items()
        }
        found[recording.name].append(
            Case(
                conversation.group,
                conversation.id,
                key,
                arguments,
                answer,
                is_error,
                {name: item for name, item in records.items() if item},
            )
        )
        is_write = effect_of(recording.name) in WRITES and not is_error
        write = effective_write(key, arguments) if is_write else None
        known.add(key, arguments, None if is_error else answer.value, write=write)
