"""Rows of the views `traces`, `turns` and `calls`: what a trace says, nothing derived."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.store.families import links_of
from tracedance_sdk.trace import UNKNOWN, Call, Json, Reasoning, Text, Trace, Turn

Row = tuple[Any, ...]

_LARGEST: Final = 2**63


class StoredDocument(NamedTuple):
    """A trace together with the JSON document it was read from, which is then kept as it is.

    Attributes:
        trace: The trace.
        data: Its document: bytes that `load_trace` reads as this very trace.
    """

    trace: Trace
    data: bytes


class Measure(NamedTuple):
    """What decides which of two versions of a trace is the longer one."""

    turns: int
    calls: int
    bytes: int


class Facts(NamedTuple):
    """The rows of one trace, without the number of the row they belong to.

    Attributes:
        trace: In the order of `columns.TRACES`, its family still the trace's own guess.
        turns: In the order of `columns.TURNS`.
        calls: In the order of `columns.CALLS`.
    """

    trace: Row
    turns: list[Row]
    calls: list[Row]


def document_digest(data: bytes) -> str:
    """Return SHA-256 of a document's bytes, 64 hex characters."""
    return hashlib.sha256(data).hexdigest()


def facts_of(trace: Trace, *, size: int, digest: str) -> Facts:
    """Take a trace apart.

    Args:
        trace: Any trace.
        size: Length of its document.
        digest: SHA-256 of its document.
    """
    trace_id, session_id = trace.id, trace.session_id
    turns: list[Row] = []
    calls: list[Row] = []
    for turn in trace.turns:
        index = turn.index
        if turn.calls:
            for position, call in enumerate(turn.calls):
                calls.append((trace_id, session_id, index, *_call_row(call, position)))
        turns.append((trace_id, session_id, index, *_turn_row(turn)))
    return Facts(_trace_row(trace, turns, calls, size=size, digest=digest), turns, calls)


def _turn_row(turn: Turn) -> Row:
    text, reasoning, media = "", 0, 0
    if len(turn.content) == 1 and type(turn.content[0]) is Text:
        text = turn.content[0].text
    elif turn.content:
        texts: list[str] = []
        for part in turn.content:
            if isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, Reasoning):
                reasoning += len(part.text)
            else:
                media += 1
        text = "\n".join(texts)
    usage = turn.usage
    tokens = (
        (None, None, None, None, None, None)
        if usage is None
        else (
            bounded(usage.input_tokens),
            bounded(usage.output_tokens),
            bounded(usage.cache_read_tokens),
            bounded(usage.cache_write_tokens),
            bounded(usage.reasoning_tokens),
            usage.cost_usd,
        )
    )
    extra = turn.__pydantic_extra__
    rule = extra.get("origin_rule") if extra else None
    return (
        turn.role,
        turn.origin,
        rule if isinstance(rule, str) else None,
        text,
        reasoning,
        media,
        len(turn.calls),
        turn.name,
        turn.model,
        turn.finish_reason,
        *tokens,
        turn.started_at,
        turn.ended_at,
        turn.synthetic,
    )


def _call_row(call: Call, position: int) -> Row:
    arguments = call.arguments
    result = call.result
    what: Row
    if result is None:
        what = (False, None, None, None, None, None, False, False)
    else:
        error = result.error
        what = (
            True,
            result_text(result.content),
            result.ok,
            bounded(result.exit_code),
            None if error is None else error.type,
            None if error is None else error.message,
            result.interrupted,
            result.truncated,
        )
    return (
        call.index,
        position,
        call.id,
        call.name,
        None if arguments is UNKNOWN else orjson.dumps(arguments).decode(),
        call.raw_arguments,
        *what,
        call.requested_by,
        call.parent_call_id,
        call.bound_by,
        call.started_at,
        call.duration_ms,
    )


def result_text(content: Json) -> str | None:
    """Return what a result says as one text: text parts are joined, other values are JSON."""
    if isinstance(content, str):
        return content
    if content is UNKNOWN:
        return None
    if isinstance(content, list) and content:
        texts = [part.get("text") if isinstance(part, dict) else None for part in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(texts)  # type: ignore[arg-type]  # just seen to be text
    return orjson.dumps(content).decode()


def bounded(number: int | None) -> int | None:
    """Return a number that a 64-bit column holds; None for one beyond, as the document has it."""
    return number if number is None or -_LARGEST <= number < _LARGEST else None


def _trace_row(trace: Trace, turns: list[Row], calls: list[Row], *, size: int, digest: str) -> Row:
    fit, outcome = trace.fidelity.fit_for, trace.outcome
    error = outcome.error if outcome else None
    parent, source, metadata = trace.parent, trace.source, trace.metadata
    starts = [time for row in turns if (time := row[19]) is not None]
    ends = [time for row in turns if (time := row[20] or row[19]) is not None]
    return (
        trace.id,
        trace.session_id,
        trace.session_id or (parent.trace_id if parent else trace.id),
        parent.trace_id if parent else None,
        parent.call_id if parent else None,
        trace.agent.name,
        trace.agent.version,
        list(dict.fromkeys(row[11] for row in turns if row[11] is not None)),
        trace.group,
        trace.task_id,
        source.collector if source else None,
        source.uri if source else None,
        source.native_id if source else None,
        _own_text(metadata, "project"),
        _own_text(metadata, "cwd"),
        _own_text(metadata, "git_branch"),
        _first(trace.started_at, starts),
        _last(trace.ended_at, ends),
        len(turns),
        sum(row[4] == "human" for row in turns),
        sum(row[3] == "assistant" for row in turns),
        len(calls),
        sum(row[9] for row in calls),
        sum(row[11] is False for row in calls),
        bounded(_total(row[13] for row in turns)),
        bounded(_total(row[14] for row in turns)),
        _total(row[18] for row in turns),
        outcome.success if outcome else None,
        outcome.reward if outcome else None,
        outcome.ended if outcome else None,
        f"{error.type}: {error.message}" if error else None,
        "reading" in fit,
        "grading" in fit,
        "state_grading" in fit,
        "next_turn" in fit,
        "rebuilt_test" in fit,
        [note.kind for note in trace.fidelity.notes],
        [tool.name for tool in trace.tools],
        sum(tool.origin == "recorded" for tool in trace.tools),
        size,
        digest,
        links_of(trace),
    )


def _own_text(metadata: dict[str, Json], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None


def _first(own: datetime | None, others: list[datetime]) -> datetime | None:
    return own or (min(others) if others else None)


def _last(own: datetime | None, others: list[datetime]) -> datetime | None:
    return own or (max(others) if others else None)


def _total(numbers: Iterable[Any]) -> Any:
    found = [number for number in numbers if number is not None]
    return sum(found) if found else None
