"""Rows of the views `traces`, `turns` and `calls`: what a trace says, nothing derived."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.formats import StoredDocument as StoredDocument  # noqa: PLC0414 - exported
from tracedance_sdk.store.columns import CALLS, TURNS
from tracedance_sdk.store.families import links_of
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    Part,
    Reasoning,
    Result,
    Text,
    Trace,
    Turn,
    Usage,
)

Row = tuple[Any, ...]

_LARGEST: Final = 2**63
_NO_USAGE: Final = (None,) * 6
_NO_RESULT: Final = (False, None, None, None, None, None, False, False)


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


def facts_of(trace: Trace, *, size: int, digest: str, protection: str = "plain") -> Facts:
    """Take a trace apart.

    Args:
        trace: Any trace.
        size: Length of its document.
        digest: SHA-256 of its document.
        protection: What was done to it; see `StoredDocument`.
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
    row = _trace_row(trace, turns, calls, document=(size, digest, protection))
    return Facts(row, turns, calls)


def _turn_row(turn: Turn) -> Row:
    # Records are plain objects: their dicts are read faster than their attributes.
    get = turn.__dict__
    content = get["content"]
    text, reasoning, media = "", 0, 0
    if len(content) == 1 and type(content[0]) is Text:
        text = content[0].__dict__["text"]
    elif content:
        text, reasoning, media = _joined(content)
    usage = get["usage"]
    extra = turn.__pydantic_extra__
    rule = extra.get("origin_rule") if extra else None
    return (
        get["role"],
        get["origin"],
        rule if isinstance(rule, str) else None,
        text,
        reasoning,
        media,
        len(get["calls"]),
        get["name"],
        get["model"],
        get["finish_reason"],
        *(_NO_USAGE if usage is None else _usage(usage)),
        get["started_at"],
        get["ended_at"],
        get["synthetic"],
    )


def _joined(content: tuple[Part, ...]) -> tuple[str, int, int]:
    """Return the text of parts, the length of their reasoning, and how many are neither."""
    texts: list[str] = []
    reasoning = media = 0
    for part in content:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Reasoning):
            reasoning += len(part.text)
        else:
            media += 1
    return "\n".join(texts), reasoning, media


def _usage(usage: Usage) -> Row:
    return (
        bounded(usage.input_tokens),
        bounded(usage.output_tokens),
        bounded(usage.cache_read_tokens),
        bounded(usage.cache_write_tokens),
        bounded(usage.reasoning_tokens),
        usage.cost_usd,
    )


def _call_row(call: Call, position: int) -> Row:
    get = call.__dict__
    arguments, result = get["arguments"], get["result"]
    return (
        get["index"],
        position,
        get["id"],
        get["name"],
        None if arguments is UNKNOWN else orjson.dumps(arguments).decode(),
        get["raw_arguments"],
        *(_NO_RESULT if result is None else _result(result)),
        get["requested_by"],
        get["parent_call_id"],
        get["bound_by"],
        get["started_at"],
        get["duration_ms"],
    )


def _result(result: Result) -> Row:
    get = result.__dict__
    content, error = get["content"], get["error"]
    return (
        not is_only_interrupted(result),
        content if type(content) is str else result_text(content),
        get["ok"],
        bounded(get["exit_code"]),
        None if error is None else error.type,
        None if error is None else error.message,
        get["interrupted"],
        get["truncated"],
    )


def is_only_interrupted(result: Result) -> bool:
    """Whether all that is known of a call's end is that it never came to it."""
    return result.interrupted and result.content is UNKNOWN and result.error is None


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


def _trace_row(trace: Trace, turns: list[Row], calls: list[Row], *, document: Row) -> Row:
    fit, outcome = trace.fidelity.fit_for, trace.outcome
    error = outcome.error if outcome else None
    parent, source, metadata = trace.parent, trace.source, trace.metadata
    turn, call = _columns(turns, len(TURNS)), _columns(calls, len(CALLS))
    starts = [time for time in turn[19] if time is not None]
    ends = [time for time in turn[20] if time is not None]
    return (
        trace.id,
        trace.session_id,
        trace.session_id or (parent.trace_id if parent else trace.id),
        parent.trace_id if parent else None,
        parent.call_id if parent else None,
        trace.agent.name,
        trace.agent.version,
        [model for model in dict.fromkeys(turn[11]) if model is not None],
        trace.group,
        trace.task_id,
        source.collector if source else None,
        source.uri if source else None,
        source.native_id if source else None,
        _own_text(metadata, "project"),
        _own_text(metadata, "cwd"),
        _own_text(metadata, "git_branch"),
        _first(trace.started_at, starts),
        _last(trace.ended_at, ends or starts),
        len(turns),
        turn[4].count("human"),
        turn[3].count("assistant"),
        len(calls),
        call[9].count(True),
        call[11].count(False),
        bounded(_total(turn[13])),
        bounded(_total(turn[14])),
        _total(turn[18]),
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
        *document,
        links_of(trace),
    )


def _columns(rows: list[Row], width: int) -> list[Row]:
    """Return rows as columns, in the order of the view without its last, own column."""
    return list(zip(*rows, strict=True)) if rows else [()] * width


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
