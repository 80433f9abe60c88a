"""A hypothesis strategy for traces: every optional field, odd texts, odd orders, unknown fields."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from tracedance_sdk.trace import (
    UNKNOWN,
    Agent,
    Call,
    ErrorInfo,
    Fidelity,
    Media,
    Note,
    OtelContext,
    Outcome,
    Parent,
    Reasoning,
    Result,
    Source,
    Text,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
    assess,
    blob_stub,
    mask_text,
    type_stub,
)

texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "null", '{"a": 1}', "\0", "é\u2028\U0001f600", "\ud800", "[]", "a\nb"]),
)
"""Any text, a lone surrogate included (the model spells it out)."""

clean_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = st.one_of(clean_texts, st.sampled_from(["a", "b", "/", "~", "~1", "*", "$blob", "index"]))
numbers = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, clean_texts)
markers = st.sampled_from(
    [
        mask_text("key", "4be1a0c2"),
        blob_stub("ab" * 32, 40_000),
        type_stub("float", "nan"),
        type_stub("int", "1180591620717411303424"),
    ]
)
values = st.recursive(
    st.one_of(scalars, markers),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=6,
)
"""Any JSON value that a trace may hold, markers included."""

objects = st.dictionaries(keys, values, max_size=3)
times = st.one_of(
    st.none(),
    st.datetimes(
        datetime(2026, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
        datetime(2026, 1, 2),  # noqa: DTZ001 - the strategy adds the zone
        timezones=st.just(UTC),
    ),
    st.datetimes(timezones=st.just(UTC)),
)
durations = st.one_of(
    st.none(), st.floats(-1, 1e15, allow_nan=False), st.sampled_from([0.0, 0.1, 1.0, 1e-9])
)
states = st.one_of(st.just(UNKNOWN), st.none(), values)
# Names that no field of the model has, some of which the model's JSON uses otherwise.
_EXTRA_KEYS = st.sampled_from(["x_note", "é", "tracedance", "parts", "response"])


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


def _record(model: type[Any], /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Build a part of the model, in a quarter of the cases with unknown fields."""
    extras = st.one_of(
        st.just({}), st.just({}), st.just({}), st.dictionaries(_EXTRA_KEYS, values, max_size=2)
    )
    return st.tuples(st.fixed_dictionaries(fields), extras).map(
        lambda pair: model(**{**pair[1], **pair[0]})
    )


media = _record(
    Media,
    modality=st.sampled_from(["image", "audio", "other", "text", "compaction"]),
    mime_type=_maybe(st.sampled_from(["image/png", ""])),
    uri=_maybe(texts),
    data=st.one_of(
        st.just(UNKNOWN),
        clean_texts,
        st.none(),
        values,
        st.just({"type": "file", "modality": "image", "file_id": "file-1"}),
        st.just({"type": "compaction", "id": "c1"}),
    ),
)
parts = st.one_of(
    _record(Text, text=texts), _record(Reasoning, text=texts), media, _record(Text, text=texts)
)
errors = _record(ErrorInfo, type=texts, message=texts)
results = _record(
    Result,
    ok=st.sampled_from([True, False, None]),
    content=st.one_of(st.just(UNKNOWN), values),
    error=_maybe(errors),
    exit_code=_maybe(st.integers(-3, 256)),
    interrupted=st.booleans(),
    truncated=st.booleans(),
)
_call_ids = st.one_of(st.sampled_from(["call_1", "call_2", ""]), texts)
calls = _record(
    Call,
    index=st.just(0),
    id=_call_ids,
    name=st.one_of(st.sampled_from(["lookup", "pay"]), texts),
    arguments=st.one_of(st.just(UNKNOWN), objects, values),
    raw_arguments=_maybe(texts),
    result=_maybe(results),
    requested_by=st.sampled_from(["agent", "agent", "user", "tool"]),
    parent_call_id=_maybe(_call_ids),
    bound_by=st.sampled_from([None, "id", "key", "order", "synthetic"]),
    state_change=_maybe(st.lists(st.just({"op": "add", "path": "/a", "value": None}), max_size=2)),
    started_at=times,
    duration_ms=durations,
)
_counts = _maybe(st.integers(0, 2**40))
usages = _record(
    Usage,
    input_tokens=_counts,
    output_tokens=_counts,
    cache_read_tokens=_counts,
    cache_write_tokens=_counts,
    reasoning_tokens=_counts,
    cost_usd=_maybe(st.floats(0, 10)),
)
turns = _record(
    Turn,
    index=st.just(0),
    role=st.sampled_from(["system", "user", "assistant", "assistant"]),
    origin=st.sampled_from(["human", "harness", "agent", "environment"]),
    content=st.lists(parts, max_size=3).map(tuple),
    calls=st.lists(calls, max_size=3).map(tuple),
    name=_maybe(texts),
    model=_maybe(texts),
    finish_reason=_maybe(texts),
    usage=_maybe(usages),
    settings=_maybe(
        st.one_of(objects, st.just({"temperature": 1, "top_k": 2.5, "seed": True, "max_tokens": 9}))
    ),
    started_at=times,
    ended_at=times,
    synthetic=st.booleans(),
)
bare_synthetic_turns = st.builds(
    Turn,
    index=st.just(0),
    role=st.just("assistant"),
    origin=st.just("agent"),
    synthetic=st.just(True),
    calls=st.lists(calls, max_size=2).map(tuple),
)
tools = _record(
    ToolDefinition,
    name=texts,
    description=_maybe(texts),
    parameters=_maybe(objects),
    origin=st.sampled_from(["recorded", "known", "inferred"]),
    effect=st.sampled_from(["pure", "read", "write", "terminal", "unknown"]),
    kind=st.sampled_from(["shell", "send", "other"]),
)
outcomes = _record(
    Outcome,
    success=_maybe(st.booleans()),
    reward=_maybe(st.floats(-1, 1)),
    ended=_maybe(st.booleans()),
    error=_maybe(errors),
    details=objects,
)
otel_contexts = st.one_of(
    st.builds(OtelContext, trace_id=st.just("0a" * 16), root_span_id=st.just("0b" * 8)),
    st.builds(OtelContext, trace_id=texts, root_span_id=st.sampled_from(["0" * 16, "AB" * 8])),
)
bare_traces = _record(
    Trace,
    id=st.one_of(st.just("ab" * 16), texts.filter(bool)),
    session_id=_maybe(texts),
    parent=_maybe(_record(Parent, trace_id=texts, call_id=_maybe(texts))),
    otel=_maybe(otel_contexts),
    group=_maybe(texts),
    task_id=_maybe(texts),
    agent=_record(Agent, name=texts, version=_maybe(texts)),
    system_prompt=_maybe(texts),
    tools=st.lists(tools, max_size=2).map(tuple),
    turns=st.lists(st.one_of(turns, bare_synthetic_turns), max_size=4).map(tuple),
    initial_state=states,
    final_state=states,
    outcome=_maybe(outcomes),
    source=_maybe(_record(Source, collector=texts, uri=_maybe(texts), native_id=_maybe(texts))),
    started_at=times,
    ended_at=times,
    metadata=objects,
)
notes = st.builds(
    Note, kind=st.sampled_from(["result_truncated", "boundary_guessed"]), count=st.integers(1, 9)
)


def numbered(trace: Trace) -> Trace:
    """Return the trace with its turns and calls counted through."""
    place, found = 0, []
    for index, turn in enumerate(trace.turns):
        counted = []
        for call in turn.calls:
            counted.append(call.model_copy(update={"index": place}))
            place += 1
        found.append(turn.model_copy(update={"index": index, "calls": tuple(counted)}))
    return trace.model_copy(update={"turns": tuple(found)})


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Draw any trace; its fidelity is assessed, assessed with notes, or arbitrary."""
    trace = numbered(draw(bare_traces))
    kind = draw(st.sampled_from(["assessed", "assessed", "noted", "arbitrary"]))
    if kind == "arbitrary":
        fidelity = Fidelity(notes=tuple(draw(st.lists(notes, max_size=2))), fit_for=("reading",))
        return trace.model_copy(update={"fidelity": fidelity})
    return assess(trace, notes=draw(st.lists(notes, max_size=2)) if kind == "noted" else ())
