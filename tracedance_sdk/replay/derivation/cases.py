"""Recorded calls as cases to learn from: what was asked, what was known, what was answered."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import Final, NamedTuple

from tracedance_sdk.replay.derivation.known import KnownRecords, effective_write, named_values
from tracedance_sdk.replay.derivation.parsed import Parsed, parsed
from tracedance_sdk.replay.derivation.secret_arguments import checks, holds_secret
from tracedance_sdk.replay.recordings import (
    WRITES,
    Conversation,
    EffectOf,
    RecordingIndex,
    is_hidden,
)
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
    """Return the recorded calls of each tool, in order.

    A call is none to learn from where a part of it, or of its answer, is masked or was not kept,
    nor one that gives a secret or has something checked: recordings show hardly ever what a wrong
    one does.
    """
    found: dict[str, list[Case]] = defaultdict(list)
    for conversation in index.conversations:
        _add_cases(conversation, effect_of, found)
    return found


def _add_cases(
    conversation: Conversation, effect_of: EffectOf, found: dict[str, list[Case]]
) -> None:
    known = KnownRecords()
    n_writes = 0
    for recording in conversation.recordings:
        for lost in conversation.lost_writes(n_writes, recording.n_writes):
            known.forget(lost)
        n_writes = recording.n_writes
        key, arguments = recording.key, recording.arguments
        answer = parsed(recording.result)
        is_error = recording.result.ok is False
        is_proof = checks(recording.name, arguments) or holds_secret(arguments)
        if not is_proof and not recording.is_masked and not is_hidden(arguments):
            found[recording.name].append(
                Case(
                    conversation.group,
                    conversation.id,
                    key,
                    arguments,
                    answer,
                    is_error,
                    _known_records(known, key, arguments),
                )
            )
        is_write = effect_of(recording.name) in WRITES and not is_error
        write = effective_write(key, recording.name, arguments) if is_write else None
        is_told = not is_error and not recording.is_masked
        known.add(key, arguments, answer.value if is_told else None, write=write)


def _known_records(
    known: KnownRecords, key: str, arguments: Json
) -> dict[str, tuple[dict[str, Json], ...]]:
    """Return the latest records that are known of each argument."""
    found = {}
    for name, value in named_values(arguments).items():
        records = islice(known.all_about(str(value), other_than=key), _MOST_RECORDS)
        if values := tuple(record.value for record in records):
            found[name] = values
    return found
