"""Spans of the SDK in this process are read as they are from files of them."""

from __future__ import annotations

import enum
import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace as otel
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from tracedance_sdk.otel import ForeignSpan, foreign_span, is_agent_span
from tracedance_sdk.otel.transport.plain_spans import plain_span

PROVIDER = TracerProvider(resource=Resource({"service.name": "x"}), shutdown_on_exit=False)
TRACER = PROVIDER.get_tracer("lib", "1.2")
VALUES = st.one_of(
    st.text(max_size=5),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.text(max_size=3), max_size=3),
    st.lists(st.integers(0, 9), max_size=3),
)
ATTRIBUTES = st.dictionaries(st.text("abc.", min_size=1, max_size=4), VALUES, max_size=4)


def as_read_from_a_file(span: ReadableSpan) -> ForeignSpan:
    """The SDK's own JSON leaves out the scope, and of times all but microseconds."""
    return plain_span(json.loads(span.to_json()))


@given(
    attributes=ATTRIBUTES,
    events=st.lists(st.tuples(st.text("e", min_size=1, max_size=3), ATTRIBUTES), max_size=3),
    kind=st.sampled_from(SpanKind),
    status=st.sampled_from([Status(), Status(StatusCode.OK), Status(StatusCode.ERROR, "no")]),
    has_parent=st.booleans(),
)
def test_a_span_is_the_same_live_and_from_its_json(
    attributes: dict[str, Any],
    events: list[tuple[str, dict[str, Any]]],
    kind: SpanKind,
    status: Status,
    has_parent: bool,
) -> None:
    parent = TRACER.start_span("above") if has_parent else otel.INVALID_SPAN
    link = SpanContext(5, 6, is_remote=True, trace_flags=TraceFlags(1))
    span = TRACER.start_span(
        "it",
        otel.set_span_in_context(parent),
        kind=kind,
        attributes=attributes,
        links=[Link(link)],
        start_time=1_790_000_000_123_456_000,
    )
    for name, fields in events:
        span.add_event(name, fields, timestamp=1_790_000_000_123_457_000)
    span.set_status(status)
    span.end(1_790_000_000_123_458_000)
    assert isinstance(span, ReadableSpan)
    live = foreign_span(span)
    assert (live.scope, live.scope_version) == ("lib", "1.2")
    assert live._replace(scope="", scope_version="") == as_read_from_a_file(span)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ((1, 2), [1, 2]),
        (b"ab", "YWI="),
        (math.nan, {"$type": "float", "$repr": "nan"}),
        (2**70, {"$type": "int", "$repr": str(2**70)}),
        ({"a": ({"b": None},)}, {"a": [{"b": None}]}),
        (object, {"$type": "type", "$repr": "<class 'object'>"}),
    ],
    ids=str,
)
def test_values_of_any_kind_become_json(value: object, read: object) -> None:
    span = ReadableSpan("it", attributes={"v": value})  # type: ignore[dict-item]
    assert foreign_span(span).attributes == {"v": read}


def test_a_value_nested_without_end_becomes_a_stub() -> None:
    value: list[Any] = []
    value.append(value)
    span = ReadableSpan("it", attributes={"v": value})
    assert '"nested too deeply"' in json.dumps(foreign_span(span).attributes)


def test_an_open_span_that_another_thread_writes_to_is_read() -> None:
    span, stop = TRACER.start_span("it"), threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            span.set_attribute(f"k{number % 500}", number)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert isinstance(span, ReadableSpan)
        for _ in range(300):
            assert foreign_span(span).end_ns is None
    finally:
        stop.set()
        thread.join()


def test_an_agent_is_told_from_a_request() -> None:
    agent = TRACER.start_span("w", attributes={"openinference.span.kind": "AGENT"})
    request = TRACER.start_span("GET /")
    assert isinstance(agent, ReadableSpan)
    assert isinstance(request, ReadableSpan)
    assert (is_agent_span(agent), is_agent_span(request)) == (True, False)


class Names(str, enum.Enum):  # noqa: UP042 - of a StrEnum, the own text is no other
    """Names as some frameworks hold theirs: texts, whose own text is another."""

    SPAN = "workflow.run"
    KEY = "workflow.id"
    VALUE = "w1"


def test_members_of_enumerations_of_texts_are_their_texts() -> None:
    with TRACER.start_as_current_span(Names.SPAN, attributes={Names.KEY: Names.VALUE}) as span:
        span.add_event(Names.KEY)
    assert isinstance(span, ReadableSpan)
    found = foreign_span(span)
    texts = [found.name, found.events[0].name, *found.attributes, *found.attributes.values()]
    assert texts == ["workflow.run", "workflow.id", "workflow.id", "w1"]
    assert {type(text) for text in texts} == {str}


def test_lone_surrogates_are_spelled_out_wherever_they_stand() -> None:
    odd = "\ud800"
    span = TRACER.start_span(odd, attributes={odd: odd, "many": [odd]})
    span.add_event(odd, {"said": odd})
    span.set_status(Status(StatusCode.ERROR, odd))
    span.end()
    assert isinstance(span, ReadableSpan)
    found = foreign_span(span)
    told = "\\ud800"
    assert (found.name, found.attributes) == (told, {told: told, "many": [told]})
    assert (found.events[0].name, found.events[0].attributes) == (told, {"said": told})
    assert found.message == told
