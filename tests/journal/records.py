"""Evidence records drawn at random, and fixed ones."""

from __future__ import annotations

from hypothesis import strategies as st

from tracedance_sdk.journal import CLIENT, INTERNAL, Attributes, EventRecord, Link, SpanRecord

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(["", "\0", '"\\\n', "\u2028", "é", "\U0001f600", '{"a": 1}', "null"]),
)
trace_ids = st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}")
span_ids = st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}")
moments = st.one_of(st.integers(0, 2**63 - 1), st.just(1_790_000_000_000_000_001))
attributes: st.SearchStrategy[Attributes] = st.dictionaries(
    texts,
    st.one_of(
        texts,
        st.integers(-(2**63), 2**63 - 1),
        st.booleans(),
        st.floats(allow_nan=False),
        st.lists(texts, max_size=3).map(tuple),
    ),
    max_size=5,
)
spans = st.builds(
    SpanRecord,
    name=texts,
    trace_id=trace_ids,
    span_id=span_ids,
    parent_id=st.one_of(st.none(), span_ids),
    kind=st.sampled_from([INTERNAL, CLIENT]),
    start_ns=moments,
    end_ns=moments,
    attributes=attributes,
    error=st.one_of(st.none(), texts),
    links=st.lists(st.builds(Link, trace_ids, span_ids), max_size=2).map(tuple),
)
events = st.builds(
    EventRecord,
    name=texts.filter(bool),
    trace_id=trace_ids,
    span_id=span_ids,
    time_ns=moments.filter(bool),
    attributes=attributes,
    parent_id=st.one_of(st.none(), span_ids),
)
records = st.one_of(spans, events)


def call_start(number: int = 0) -> EventRecord:
    facts: Attributes = {"gen_ai.tool.name": "pay", "tracedance.call.index": number}
    return EventRecord("tracedance.call.start", "0a" * 16, "0b" * 8, 5 + number, facts, "0c" * 8)


def call_end(number: int = 0) -> SpanRecord:
    facts: Attributes = {"gen_ai.tool.name": "pay", "tracedance.call.index": number}
    return SpanRecord(
        "execute_tool pay", "0a" * 16, "0b" * 8, "0c" * 8, INTERNAL, 5 + number, 9 + number, facts
    )
