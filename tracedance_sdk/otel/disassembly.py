"""Spans from a trace, as the recorder would have written them."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from tracedance_sdk.journal import CLIENT, INTERNAL, Attributes, SpanRecord
from tracedance_sdk.otel import names
from tracedance_sdk.otel.calls import own_call, span_duration_ms
from tracedance_sdk.otel.json_texts import json_text
from tracedance_sdk.otel.messages import message_json, messages_text, tool_definitions
from tracedance_sdk.otel.own import run_head
from tracedance_sdk.otel.spans import (
    call_attributes,
    result_attributes,
    run_attributes,
    run_end_attributes,
    turn_attributes,
)
from tracedance_sdk.otel.times import to_ns
from tracedance_sdk.otel.tree import Node, Run
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import UNKNOWN, Call, Json, Trace, Turn, diff, plain

_ID: Final = re.compile(r"(?!0+$)[0-9a-f]+")
_AS_GIVEN: Final = Values(None)


def trace_records(trace: Trace) -> list[SpanRecord]:
    """Return a trace as spans; `assemble` makes the same trace of them.

    Chat spans stand for assistant turns, ``execute_tool`` spans for executed calls; the root comes
    last. What attributes of the conventions and ours cannot say exactly goes into a JSON Patch
    beside them. A trace without OpenTelemetry ids gets ids derived from its own.
    """
    return _Writer(trace).records()


class _Writer:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._otel_id, self._root_id = _otel_ids(trace)
        self._now = _earliest_ns(trace)
        self._spans: list[SpanRecord] = []
        self._span_of_call: dict[str, str] = {}

    def records(self) -> list[SpanRecord]:
        start = self._now
        waiting: list[Turn] = []
        for turn in self._trace.turns:
            if turn.role == "assistant" and not turn.synthetic:
                self._add_turn(turn, waiting)
                waiting = []
            elif not _told_by_calls(turn):
                waiting.append(turn)
            for call in turn.calls:
                if call.result is not None:
                    self._add_call(call, turn)
        self._add_root(start, waiting)
        return self._spans

    def _add_turn(self, turn: Turn, waiting: list[Turn]) -> None:
        start = self._reach(turn.started_at)
        end = self._reach(turn.ended_at)
        self._spans.append(
            SpanRecord(
                name=f"{names.CHAT} {turn.model}" if turn.model else names.CHAT,
                trace_id=self._otel_id,
                span_id=self._span_id(f"turn {turn.index}"),
                parent_id=self._root_id,
                kind=CLIENT,
                start_ns=start,
                end_ns=max(start, end),
                attributes=turn_attributes(message_json(turn, placed=True), before=_told(waiting)),
            )
        )

    def _add_call(self, call: Call, turn: Turn) -> None:
        start = self._reach(call.started_at)
        end = start + _duration_ns(call)
        attributes = _call_attributes(call, turn.index)
        if call.duration_ms is not None and call.duration_ms != span_duration_ms(start, end):
            attributes[names.DURATION_MS] = call.duration_ms
        if call.started_at is None and call.duration_ms is None:
            attributes[names.TIMES_UNKNOWN] = True
        read = own_call(attributes, start_ns=start, end_ns=end, values=_AS_GIVEN)
        _note_difference(attributes, read, plain(call))
        span_id = self._span_id(f"call {call.index}")
        result = call.result
        failed = result is not None and result.ok is False
        message = result.error.message if result is not None and result.error else ""
        self._spans.append(
            SpanRecord(
                name=f"{names.EXECUTE_TOOL} {call.name}",
                trace_id=self._otel_id,
                span_id=span_id,
                parent_id=self._span_of_call.get(call.parent_call_id or "", self._root_id),
                kind=INTERNAL,
                start_ns=start,
                end_ns=end,
                attributes=attributes,
                error=message if failed else None,
            )
        )
        self._span_of_call.setdefault(call.id, span_id)

    def _add_root(self, start: int, waiting: list[Turn]) -> None:
        trace = self._trace
        ended = None if trace.ended_at is None else to_ns(trace.ended_at)
        attributes = _run_attributes(trace, waiting)
        end = max(start, self._now if ended is None else ended)
        name = f"{names.INVOKE_AGENT} {trace.agent.name}"
        key = (self._otel_id, self._root_id)
        root = Node(key, name, None, start, end, attributes, None)
        read = run_head(Run(key, root, [], [], None, None), _AS_GIVEN)
        written = plain(trace.model_copy(update={"turns": (), "fidelity": type(trace.fidelity)()}))
        _note_difference(attributes, read, written)
        # Whoever reads it beside the traces of its sub-agents is told what is noted here, no more.
        attributes[names.FIDELITY] = json_text(plain(trace.fidelity))
        error = trace.outcome.error if trace.outcome is not None else None
        self._spans.append(
            SpanRecord(
                name=name,
                trace_id=self._otel_id,
                span_id=self._root_id,
                parent_id=None,
                kind=INTERNAL,
                start_ns=start,
                end_ns=end,
                attributes=attributes,
                error=None if error is None else error.message,
            )
        )

    def _reach(self, moment: Any) -> int:
        """Return a time as a span has it; where it has none, the latest time before."""
        found = None if moment is None else to_ns(moment)
        if found is None:
            return self._now
        self._now = max(self._now, found)
        return found

    def _span_id(self, what: str) -> str:
        text = f"{self._otel_id} {self._root_id} {what}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _otel_ids(trace: Trace) -> tuple[str, str]:
    otel = trace.otel
    if otel is not None and _is_id(otel.trace_id, 32) and _is_id(otel.root_span_id, 16):
        return otel.trace_id, otel.root_span_id
    derived = hashlib.sha256(f"tracedance {trace.id}".encode()).hexdigest()
    return derived[:32], derived[32:48]


def _is_id(text: str, length: int) -> bool:
    return len(text) == length and _ID.fullmatch(text) is not None


def _earliest_ns(trace: Trace) -> int:
    moments = [trace.started_at]
    for turn in trace.turns:
        moments += [turn.started_at, turn.ended_at, *(call.started_at for call in turn.calls)]
    found = [ns for moment in moments if moment is not None and (ns := to_ns(moment)) is not None]
    own = to_ns(trace.started_at) if trace.started_at is not None else None
    return own if own is not None else min(found, default=0)


def _told_by_calls(turn: Turn) -> bool:
    """Whether a turn's executed calls alone tell everything of it."""
    bare = Turn(index=turn.index, role="assistant", origin="agent", synthetic=True)
    executed = bool(turn.calls) and all(call.result is not None for call in turn.calls)
    return executed and turn.model_copy(update={"calls": ()}) == bare


def _call_attributes(call: Call, turn: int) -> Attributes:
    result = call.result
    started = call_attributes(
        name=call.name,
        call_id=call.id,
        index=call.index,
        turn=turn,
        arguments=_json(call.arguments),
        raw_arguments=call.raw_arguments,
        bound_by=call.bound_by,
        requested_by=call.requested_by,
        parent_call_id=call.parent_call_id,
    )
    if result is None:
        return started
    return started | result_attributes(
        ok=result.ok,
        content=_json(result.content),
        error_type=result.error.type if result.error else None,
        error_message=result.error.message if result.error else None,
        interrupted=result.interrupted,
        truncated=result.truncated,
        exit_code=result.exit_code,
        state_change=None if call.state_change is None else json_text(call.state_change),
    )


def _run_attributes(trace: Trace, waiting: list[Turn]) -> Attributes:
    parent = trace.parent
    return run_attributes(
        trace_id=trace.id,
        agent_name=trace.agent.name,
        agent_version=trace.agent.version,
        task_id=trace.task_id,
        group=trace.group,
        session_id=trace.session_id,
        parent_trace_id=None if parent is None else parent.trace_id,
        parent_call_id=None if parent is None else parent.call_id,
        system_prompt=trace.system_prompt,
        tools=json_text(tool_definitions(trace.tools)) if trace.tools else None,
        metadata=json_text(trace.metadata) if trace.metadata else None,
        initial_state=_json(trace.initial_state),
    ) | run_end_attributes(
        final_state=_json(trace.final_state),
        outcome=None if trace.outcome is None else json_text(plain(trace.outcome)),
        waiting=_told(waiting),
    )


def _told(turns: list[Turn]) -> str | None:
    return messages_text(turns, placed=True) if turns else None


def _note_difference(attributes: Attributes, read: Json, written: Json) -> None:
    operations = diff(read, written)
    if operations:
        attributes[names.PATCH] = json_text(operations)


def _json(value: Json) -> str | None:
    return None if value is UNKNOWN else json_text(value)


def _duration_ns(call: Call) -> int:
    duration = call.duration_ms
    return round(duration * 1e6) if duration is not None and 0 < duration < 1e12 else 0
