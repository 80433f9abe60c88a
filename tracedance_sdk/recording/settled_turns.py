"""A turn that a program reports, as it goes on record: checked, and without secrets.

Most turns have only fields of the right types, and nothing in them that looks like a secret. The
document of such a turn is what the trace would write, and goes on record as it is. Any other is
built as a turn first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from tracedance_sdk.otel import message_of
from tracedance_sdk.recording.masked_turns import masked_document
from tracedance_sdk.recording.messages import (
    is_settled,
    requests_of,
    turn_document,
    turn_of,
)
from tracedance_sdk.trace import Json, Request, Role, plain

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run


class SettledTurn(NamedTuple):
    """A turn, ready to be written.

    Attributes:
        told: Its document as it was reported.
        requests: What it asks for, for binding.
        document: Its document for the record; the index is still to be set.
        started_at: When it began.
        ended_at: When it ended.
    """

    told: Mapping[str, Any]
    requests: list[Request]
    document: dict[str, Any]
    started_at: datetime | None
    ended_at: datetime | None

    def message(self) -> dict[str, Json]:
        """Return it as a message."""
        return message_of(self.document)


def settled_turn(
    run: Run, role: Role, content: object, calls: Iterable[object], facts: dict[str, Any]
) -> SettledTurn:
    """Return a turn as the run's trace has it, its secrets masked.

    Args:
        run: The run.
        role: See `turn_document`, as of the rest.
        content: What was said.
        calls: What the turn asks for.
        facts: Further fields of the turn.

    Raises:
        InvalidOption: A role or call that cannot be used.
        InvalidTrace: Another field of a wrong type.
    """
    times = facts.get("started_at"), facts.get("ended_at")
    data = turn_document(role, content, calls, **facts)
    told = orjson.loads(data)
    is_clean = run.is_clean(data)
    if is_clean and _is_utc(times[0]) and _is_utc(times[1]) and is_settled(told):
        return SettledTurn(told, requests_of(told, str), told, *times)
    turn = turn_of(told)
    document = {"content": [], "calls": [], **plain(turn)}
    if not is_clean:
        document = masked_document(document, run.masked_value)
    requests = requests_of(told, str if is_clean else run.words)
    return SettledTurn(told, requests, document, turn.started_at, turn.ended_at)


def _is_utc(moment: object) -> bool:
    return moment is None or (type(moment) is datetime and moment.tzinfo is UTC)
