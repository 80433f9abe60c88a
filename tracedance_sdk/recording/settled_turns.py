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

from tracedance_sdk.otel import OURS, message_of
from tracedance_sdk.recording.masked_turns import masked_document
from tracedance_sdk.recording.messages import (
    is_settled,
    requests_of,
    told_document,
    turn_document,
    turn_of,
)
from tracedance_sdk.recording.values import freeze, frozen_fast
from tracedance_sdk.trace import Json, Request, Role, plain

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run


class SettledTurn(NamedTuple):
    """A turn, ready to be written.

    Attributes:
        told: Its document as it was reported.
        requests: What it asks for, for binding.
        message: Itself as a message for the record; the index is still to be set.
        is_clean: It surely held nothing to be masked.
        started_at: When it began.
        ended_at: When it ended.
    """

    told: Mapping[str, Any]
    requests: list[Request]
    message: dict[str, Json]
    is_clean: bool
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def facts(self) -> Any:
        """What its message says of it under our name, by field."""
        return self.message[OURS]


def settled_turn(
    run: Run,
    role: Role,
    content: Any,
    calls: Iterable[object],
    facts: dict[str, Any],
    *,
    is_lasting: bool = False,
) -> SettledTurn:
    """Return a turn as the run's trace has it, its secrets masked.

    Args:
        run: The run.
        role: See `turn_document`, as of the rest.
        content: What was said.
        calls: What the turn asks for.
        facts: Further fields of the turn.
        is_lasting: Parts and calls were read in a message, and nobody changes them: they need not
            be copied.

    Raises:
        InvalidOption: A role or call that cannot be used.
        InvalidTrace: Another field of a wrong type.
    """
    times = facts.get("started_at"), facts.get("ended_at")
    told = told_document(role, content, calls, facts) if is_lasting else None
    if told is None:
        document = turn_document(role, content, calls, **facts)
        told = orjson.loads(freeze(document))
    may_be_clean = True
    if _is_utc(times[0]) and _is_utc(times[1]) and is_settled(told):
        data = frozen_fast(message_of(told))
        may_be_clean = data is not None and run.is_clean(data)
        if data is not None and may_be_clean:
            # What was looked at is what is written, whoever changes what was given meanwhile.
            message = orjson.loads(data)
            return SettledTurn(told, requests_of(told, str), message, True, *times)
    return _built_turn(run, orjson.loads(freeze(told)), may_be_clean=may_be_clean)


def _built_turn(run: Run, told: dict[str, Any], *, may_be_clean: bool) -> SettledTurn:
    turn = turn_of(told)
    document = {"content": [], "calls": [], **plain(turn)}
    is_clean = may_be_clean and run.is_clean(freeze(document))
    if not is_clean:
        document = masked_document(document, run.masked_value)
    requests = requests_of(told, str if is_clean else run.words)
    message = message_of(document)
    return SettledTurn(told, requests, message, is_clean, turn.started_at, turn.ended_at)


def _is_utc(moment: object) -> bool:
    return moment is None or (type(moment) is datetime and moment.tzinfo is UTC)
