"""Spans that nobody should write: circles, crowds, absurd indices, huge and deep values."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracedance_sdk.errors import InvalidJSON, TraceDanceError
from tracedance_sdk.otel import ForeignSpan, assemble, spans_of_document, trace_records
from tracedance_sdk.otel.dialects.decoding import unflattened
from tracedance_sdk.otel.dialects.facts import PLACES
from tracedance_sdk.otel.dialects.kinds import DISCRIMINATORS
from tracedance_sdk.trace import UNKNOWN, parse_json

OTEL = "0a" * 16


def span(number: int, parent: int | None, name: str = "x", **attributes: Any) -> ForeignSpan:
    facts = {key.replace("__", "."): value for key, value in attributes.items()}
    return ForeignSpan(
        name,
        OTEL,
        f"{number:016x}",
        None if parent is None else f"{parent:016x}",
        1,
        number * 10,
        number * 10 + 5,
        facts,
    )


def agent(number: int = 1, parent: int | None = None) -> ForeignSpan:
    return span(number, parent, gen_ai__operation__name="invoke_agent")


CROWDS = {
    "beside one another": lambda n: (span(i, 1) for i in range(2, n)),
    "one inside another": lambda n: (span(i, i - 1) for i in range(2, n)),
    "in a circle": lambda n: (span(i, i + 1 if i < n - 1 else 2) for i in range(2, n)),
}


@pytest.fixture(autouse=True)
def heap_at_rest() -> Iterator[None]:
    """Keep what other tests left behind out of the collections of garbage that fall in a time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("shape", CROWDS)
def test_a_crowd_of_spans_takes_time_and_memory_in_proportion(shape: str) -> None:
    def measured(n: int) -> tuple[float, int]:
        def records() -> Iterator[ForeignSpan]:
            yield agent()
            yield from CROWDS[shape](n)

        tracemalloc.start()
        started = time.process_time()
        [trace] = assemble(records())
        taken = time.process_time() - started
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        counted = trace.metadata["otel"]
        told = sum(sum(counted.get(key, {}).values()) for key in ("structure", "around"))
        assert told == n - 2
        return taken, peak

    few, small = measured(5_000)
    many, large = measured(20_000)
    assert many < 12 * few + 0.5
    assert large < 6 * small


STEPS = {
    "calls": lambda i: {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "t"},
    "models": lambda i: {
        "gen_ai__operation__name": "chat",
        "gen_ai__output__messages": json.dumps([{"role": "assistant", "content": str(i)}]),
    },
}


@pytest.mark.parametrize("inside", [False, True], ids=["beside", "nested"])
@pytest.mark.parametrize("kind", STEPS)
def test_a_crowd_of_steps_takes_time_in_proportion(kind: str, inside: bool) -> None:
    def taken(n: int) -> float:
        steps = [span(i, i - 1 if inside else 1, **STEPS[kind](i)) for i in range(2, n)]
        started = time.process_time()
        assemble([agent(), *steps])
        return time.process_time() - started

    assert taken(8_000) < 12 * taken(2_000) + 0.5


def test_requests_without_ids_find_their_tools_in_time_in_proportion() -> None:
    def taken(n: int) -> float:
        calls = [{"type": "tool_call", "name": "t", "arguments": {"i": i}} for i in range(n)]
        said = json.dumps([{"role": "assistant", "parts": calls}])
        facts = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "t"}
        records = [
            agent(),
            span(2, 1, gen_ai__operation__name="chat", gen_ai__output__messages=said),
        ]
        records += [
            span(3 + i, 1, gen_ai__tool__call__arguments=json.dumps({"i": n - i}), **facts)
            for i in range(n)
        ]
        started = time.process_time()
        [trace] = assemble(records)
        assert len(trace.calls) == n
        return time.process_time() - started

    assert taken(4_000) < 12 * taken(1_000) + 0.5


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_circles_of_runs_tools_and_models_end(size: int) -> None:
    for operation in ("invoke_agent", "execute_tool", "chat"):
        ring = [
            span(i + 1, (i + 1) % size + 1, gen_ai__operation__name=operation) for i in range(size)
        ]
        forward, backward = assemble(ring), assemble(reversed(ring))
        assert forward
        assert forward == backward


@pytest.mark.parametrize(
    "index",
    ["999999999", "1" * 5000, "-1", "1e9", "٣"],
    ids=["large", "huge", "below", "e", "other"],
)
def test_absurd_indices_allocate_nothing(index: str) -> None:
    attributes = {
        f"llm.input_messages.{index}.message.content": "far",
        "llm.input_messages.10.message.content": "last",
        "llm.input_messages.10.message.role": "user",
        "llm.input_messages.9.message.content": "first",
        "llm.input_messages.9.message.role": "user",
        "openinference.span.kind": "LLM",
    }
    tracemalloc.start()
    [trace] = assemble([agent(), span(2, 1)._replace(attributes=attributes)])
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()
    assert len(trace.turns) <= 4


def test_gaps_in_indices_are_tolerated_and_order_is_numeric() -> None:
    found = unflattened({f"a.{i}.b": i for i in (10, 9, 2, 100)}, "a")
    assert found == [{"b": 2}, {"b": 9}, {"b": 10}, {"b": 100}]
    assert unflattened({"b.0": 1}, "a") is UNKNOWN


def test_keys_of_a_million_steps_are_no_deeper_than_others() -> None:
    attributes = {"llm.input_messages" + ".0" * 100_000: "x", "openinference.span.kind": "LLM"}
    assert assemble([agent(), span(2, 1)._replace(attributes=attributes)])


def test_values_of_fifty_megabytes_are_read() -> None:
    text = "x" * 50_000_000
    said = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
    steps = [
        span(2, 1, gen_ai__operation__name="chat", gen_ai__output__messages=said),
        span(3, 1, gen_ai__operation__name="execute_tool", gen_ai__tool__call__result=text),
    ]
    [trace] = assemble([agent(), *steps])
    assert trace.turns[0].text == text
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.content == text


@pytest.mark.parametrize("depth", [200, 241, 100_000])
def test_deep_json_in_attributes_is_kept_as_it_is_or_as_text(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for key in ("gen_ai__tool__call__arguments", "gen_ai__tool__call__result"):
        tool = span(2, 1, gen_ai__operation__name="execute_tool", **{key: deep})
        [trace] = assemble([agent(), tool])
        assert assemble(trace_records(trace)) == [trace]


_KEYS = sorted(
    {key for places in PLACES.values() for place in places for key in place.keys if key[-1] != "."}
    | {item.key for item in DISCRIMINATORS if item.key}
    | {"llm.input_messages.0.message.role", "gen_ai.prompt.0.content", "gen_ai.completion.0.role"}
    | {
        "llm.tools.0.tool.json_schema",
        "annotations.0.annotation.name",
        "langfuse.observation.level",
    }
)
_WORDS = sorted(
    {word for item in DISCRIMINATORS for word in item.kinds}
    | {
        "LLM",
        "TOOL",
        "AGENT",
        "generation",
        '{"role": "user"}',
        '[{"role": "tool"}]',
        "__REDACTED__",
    }
    | {'{"contents": [{"parts": [{"text": 1}]}]}', '[{"parts": 1}]', '{"messages": [[{}]]}'}
)
_PARTS = st.sampled_from(
    ["type", "role", "parts", "content", "text", "id", "name", "arguments", "message", "tool_calls",
     "function", "kwargs", "data", "toolUse", "generations", "input", "messages", "response"]
)  # fmt: skip
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(_WORDS),
)
_values = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(_PARTS, st.text(max_size=4)), inner, max_size=4),
    ),
    max_leaves=12,
)
_attributes = st.dictionaries(
    st.one_of(st.sampled_from(_KEYS), st.text(max_size=5)),
    st.one_of(_values, _values.map(json.dumps)),
    max_size=6,
)
_operations = st.sampled_from(
    ["invoke_agent", "chat", "execute_tool", "execute_tool", "agent_handoff"]
)
_steps = st.builds(
    lambda operation, rest: {"gen_ai.operation.name": operation, **rest}, _operations, _attributes
)
_ids = st.one_of(st.integers(1, 5).map(lambda n: f"{n:016x}"), st.just(""), _values)
_spans = st.fixed_dictionaries(
    {
        "name": st.one_of(st.sampled_from(_WORDS), _values),
        "trace_id": st.one_of(st.just(OTEL), _ids),
        "span_id": _ids,
        "attributes": st.one_of(_steps, _steps, _steps, _attributes, _values),
        "start_time": st.one_of(st.integers(-5, 2**70), _values),
    },
    optional={
        "parent_span_id": _ids,
        "end_time": st.one_of(st.integers(-5, 2**70), _values),
        "status": st.one_of(st.just({"code": "ERROR"}), _values),
        "span_events": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["gen_ai.choice", "gen_ai.user.message", "exception"])},
                optional={"attributes": _attributes, "body": _values, "timestamp": _values},
            ),
            max_size=2,
        ),
        "scope": st.one_of(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["gcp.vertex.agent", "pydantic-ai", "crewai"])}
            ),
            _values,
        ),
        "resource": _values,
        "links": _values,
    },
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_spans, min_size=1, max_size=6))
def test_random_json_as_spans_never_breaks_the_reading(listed: list[dict[str, Any]]) -> None:
    document = parse_json(json.dumps(listed), where="here")
    try:
        records = list(spans_of_document(document, where="here"))
    except InvalidJSON:
        return
    problems: list[TraceDanceError] = []
    traces = assemble(records, problems=problems)
    assert assemble(reversed(records), problems=[]) == traces
    assert all("run" in str(problem) for problem in problems)
    for trace in traces:
        assert assemble(trace_records(trace)) == [trace]
