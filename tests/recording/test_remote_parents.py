"""Runs that work for a call in another process."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace as otel_trace
from opentelemetry.sdk.trace import TracerProvider

import tracedance_sdk as td
from tracedance_sdk.recording.agents import AgentRun
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.integrating import start_served
from tracedance_sdk.recording.remote_parents import (
    RemoteParent,
    believed_parent,
    believed_traceparent,
    told_parent,
)
from tracedance_sdk.recording.scopes import CURRENT

PARENT = RemoteParent("ab" * 16, "cd" * 8, "12" * 16, "call_7")


def served(parent: RemoteParent | None, **settings: Any) -> Any:
    """Return the run of a server that did nothing for a call, and its trace."""
    td.configure(**settings)
    try:
        operation = start_served("office", version="2", parent=parent)
        assert isinstance(operation, AgentRun)
        operation.leave(operation.enter())
        operation.succeed(None)
    finally:
        td.configure()
    return operation._life


def test_a_run_of_a_remote_call_is_in_its_trace_and_names_it(tmp_path: Any) -> None:
    life = served(PARENT, journal=tmp_path)
    trace = life.trace()
    assert (trace.agent.name, trace.agent.version) == ("office", "2")
    assert (trace.parent.trace_id, trace.parent.call_id) == (PARENT.trace_id, PARENT.call_id)
    assert trace.otel.trace_id == PARENT.otel_trace_id
    assert life.run.identity.parent_span_id == PARENT.span_id


def test_a_recorder_around_does_not_count_for_a_run_of_a_remote_call(tmp_path: Any) -> None:
    with td.TraceRecorder() as recorder:
        trace = served(PARENT, journal=tmp_path).trace()
    assert trace.parent.trace_id == PARENT.trace_id
    assert len(recorder.traces) == 1


def test_a_span_alone_makes_no_parent_of_ours(tmp_path: Any) -> None:
    trace = served(RemoteParent("ab" * 16, "cd" * 8), journal=tmp_path).trace()
    assert (trace.parent, trace.otel.trace_id) == (None, "ab" * 16)


def test_nothing_is_begun_where_nothing_would_be_written() -> None:
    td.configure()
    assert start_served("office", parent=PARENT) is None


@pytest.mark.parametrize("around", [True, False], ids=["in-a-span-beneath", "bare"])
def test_a_span_of_the_programs_provider_is_beneath_the_remote_one(around: bool) -> None:
    provider = TracerProvider()
    beneath: Any = otel_trace.NonRecordingSpan(
        otel_trace.SpanContext(int("ab" * 16, 16), 7, True, otel_trace.TraceFlags(1))
    )
    with otel_trace.use_span(beneath if around else otel_trace.INVALID_SPAN):
        life = served(PARENT, tracer_provider=provider)
    span = life.run.root.span
    assert span.get_span_context().trace_id == int(PARENT.otel_trace_id, 16)
    assert span.parent.span_id == (7 if around else int(PARENT.span_id, 16))
    assert life.trace().parent.trace_id == PARENT.trace_id


def test_what_is_told_is_believed() -> None:
    with td.TraceRecorder() as recorder, recorder.call("look"):
        call = CURRENT.get()
        assert isinstance(call, OpenCall)
        parent = believed_parent(told_parent(call))
    assert parent == RemoteParent(
        call.run.otel_trace_id, call.span_id, recorder.trace.id, recorder.trace.calls[0].id
    )


@pytest.mark.parametrize("odd", ["c" * 257, "a b", "é", "line\nfeed"])
def test_an_id_that_would_not_be_believed_is_not_told(odd: str) -> None:
    with td.TraceRecorder() as recorder, recorder.call("look", id=odd):
        call = CURRENT.get()
        assert isinstance(call, OpenCall)
        assert "call_id" not in told_parent(call)


@given(st.text() | st.binary() | st.integers() | st.dictionaries(st.text(), st.text()))
def test_strangers_are_not_believed(told: Any) -> None:
    with pytest.raises(ValueError, match="malformed"):
        believed_traceparent(told)
    with pytest.raises(ValueError, match="malformed"):
        believed_parent(told)


def test_a_call_whose_id_was_not_told_is_still_of_that_trace(tmp_path: Any) -> None:
    trace = served(PARENT._replace(call_id=None), journal=tmp_path).trace()
    assert (trace.parent.trace_id, trace.parent.call_id) == (PARENT.trace_id, None)
