from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.support.names import short_repr
from tests.support.traces import traces
from tracedance_sdk.errors import InvalidTrace, UnsupportedVersion
from tracedance_sdk.trace import (
    UNKNOWN,
    Agent,
    Call,
    Outcome,
    Result,
    ToolDefinition,
    Trace,
    Turn,
    build,
    decode,
    encode,
    encode_json,
    parse_json,
    path_text,
)


@given(traces())
def test_what_was_written_is_read_back_equal(trace: Trace) -> None:
    document = parse_json(encode_json(trace), where="trace", unique_keys=True)
    found = decode(document)
    assert found == trace
    assert encode(found) == encode(trace)
    assert encode_json(found) == encode_json(trace)


def test_empty_values_that_mean_something_survive() -> None:
    trace = Trace(
        id="t",
        agent=Agent(name=""),
        initial_state={},
        final_state=[],
        tools=(ToolDefinition(name="t", parameters={}, description=""),),
        turns=(
            Turn(
                index=0,
                role="assistant",
                origin="agent",
                settings={},
                calls=(
                    Call(
                        index=0,
                        id="",
                        name="x",
                        arguments={},
                        raw_arguments="",
                        state_change=[],
                        duration_ms=0.0,
                        result=Result(ok=False, content=None, exit_code=0),
                    ),
                ),
            ),
        ),
        outcome=Outcome(success=False, reward=0.0, ended=False),
    )
    found = decode(json.loads(encode_json(trace)))
    assert found == trace
    assert found.initial_state == {}
    assert found.turns[0].calls[0].result is not None
    assert found.turns[0].calls[0].result.content is None


def test_unknown_fields_are_kept_at_every_level() -> None:
    document: dict[str, Any] = {
        "format": "tracedance.trace",
        "version": 1,
        "id": "t",
        "new": {"a": [1]},
        "agent": {"name": "a", "new": 1},
        "tools": [{"name": "t", "new": 1}],
        "parent": {"trace_id": "p", "new": None},
        "otel": {"trace_id": "a", "root_span_id": "b", "new": 1},
        "source": {"collector": "c", "new": 1},
        "outcome": {"new": 1, "error": {"type": "E", "new": 1}},
        "fidelity": {"new": 1, "notes": [{"kind": "k", "new": 1}]},
        "turns": [
            {
                "index": 0,
                "role": "assistant",
                "origin": "agent",
                "new": False,
                "usage": {"new": 1},
                "content": [
                    {"type": "text", "text": "a", "new": 1},
                    {"type": "reasoning", "text": "a", "new": 1},
                    {"type": "media", "new": 1},
                ],
                "calls": [{"index": 0, "id": "1", "name": "x", "new": 1, "result": {"new": 1}}],
            }
        ],
    }
    assert encode(decode(document)) == document


def test_what_is_unknown_or_empty_is_absent_in_files() -> None:
    assert encode(Trace(id="t")) == {"format": "tracedance.trace", "version": 1, "id": "t"}
    call = Call(index=0, id="1", name="x", arguments=UNKNOWN)
    turn = Turn(index=0, role="assistant", origin="agent", calls=(call,))
    (found,) = encode(Trace(id="t", turns=(turn,)))["turns"]
    assert found["calls"] == [{"index": 0, "id": "1", "name": "x"}]


def refusal(document: Any) -> str:
    with pytest.raises(InvalidTrace) as caught:
        decode(document, where="run.json")
    assert str(caught.value).startswith("run.json: ")
    return str(caught.value).removeprefix("run.json: ")


def turn(**fields: Any) -> dict[str, Any]:
    known = {"index": 0, "role": "assistant", "origin": "agent"}
    return {"format": "tracedance.trace", "version": 1, "id": "t", "turns": [{**known, **fields}]}


def test_a_broken_trace_is_refused_with_what_and_where() -> None:
    head = {"format": "tracedance.trace", "version": 1}
    assert refusal([]) == snapshot("not a trace: 'format' is not 'tracedance.trace'")
    assert refusal({"format": "other"}) == snapshot(
        "not a trace: 'format' is not 'tracedance.trace'"
    )
    assert refusal(head) == snapshot("Field required @ $.id")
    assert refusal({**head, "id": ""}) == snapshot(
        "String should have at least 1 character, got '' @ $.id"
    )
    assert refusal({**head, "id": 5}) == snapshot("Input should be a valid string, got 5 @ $.id")
    assert refusal(turn(role="tool")) == snapshot(
        "Input should be 'system', 'user' or 'assistant', got 'tool' @ $.turns[0].role"
    )
    assert refusal(turn(index=1)) == snapshot("turn index 1, expected 0 @ $.turns[0]")
    assert refusal(turn(index="0")) == snapshot(
        "Input should be a valid integer, got '0' @ $.turns[0].index"
    )
    assert refusal(turn(calls=[{"index": 3, "id": "1", "name": "x"}])) == snapshot(
        "call index 3, expected 0 @ $.turns[0].calls[0]"
    )
    assert refusal(turn(calls=[{"index": 0, "id": "1"}])) == snapshot(
        "Field required @ $.turns[0].calls[0].name"
    )
    assert refusal(turn(content=[{"type": "song"}])) == snapshot(
        "Input tag 'song' found using 'type' does not match any of the expected tags: "
        "'text', 'reasoning', 'media', got {'type': 'song'} @ $.turns[0].content[0]"
    )
    assert refusal(turn(content=[{"type": "text", "text": 1}] * 30)) == snapshot(
        "Input should be a valid string, got 1 @ $.turns[0].content[0].text (and 29 more)"
    )
    assert refusal({**head, "id": "t", "metadata": "x" * 50 + "y" * 500}) == snapshot(
        "Input should be a valid dictionary, got "
        "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxyyyyyy... @ $.metadata"
    )


@pytest.mark.parametrize("version", [2, 0, "1", 1.0, True, None], ids=short_repr)
def test_another_version_is_refused_by_name(version: Any) -> None:
    with pytest.raises(UnsupportedVersion, match=f"format version {version!r}"):
        decode({"format": "tracedance.trace", "version": version, "id": "t"})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan of type float is no JSON value @ $.final_state.a[1]"),
        (float("-inf"), "-inf of type float is no JSON value @ $.final_state.a[1]"),
        (2**70, "of type int is no JSON value @ $.final_state.a[1]"),
        ("\ud800", "of type str is no JSON value @ $.final_state.a[1]"),
        (b"x", "of type bytes is no JSON value @ $.final_state.a[1]"),
        ({1: 2}, "1 of type int is no JSON key @ $.final_state.a[1]"),
    ],
    ids=short_repr,
)
def test_a_value_that_json_cannot_hold_is_named_and_not_changed(value: Any, shown: str) -> None:
    trace = Trace(id="t", final_state={"a": [None, value]})
    with pytest.raises(InvalidTrace) as caught:
        encode_json(trace)
    assert shown in str(caught.value)


TEXTS = st.text(alphabet='\\":[],nul a', max_size=12) | st.just('{"a\\\\":null}')
VALUES = st.recursive(
    st.none() | st.sampled_from([math.nan, math.inf, 1.5]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@given(VALUES)
def test_a_number_that_is_none_is_found_wherever_it_stands(value: Any) -> None:
    trace = Trace(id="t", final_state={"a": value})
    pending, is_finite = [value], True
    while pending:
        item = pending.pop()
        pending += item.values() if isinstance(item, dict) else item if type(item) is list else ()
        is_finite &= not isinstance(item, float) or math.isfinite(item)
    if is_finite:
        assert parse_json(encode_json(trace), where="trace") == encode(trace)
    else:
        with pytest.raises(InvalidTrace, match="of type float is no JSON value"):
            encode_json(trace)


def test_all_problems_are_listed() -> None:
    with pytest.raises(InvalidTrace) as caught:
        build({"turns": [{}, {}]}, "x")
    assert [problem.path for problem in caught.value.problems] == [
        "$.id",
        "$.turns[0].index",
        "$.turns[0].role",
        "$.turns[0].origin",
        "$.turns[1].index",
        "$.turns[1].role",
        "$.turns[1].origin",
    ]
    assert path_text(()) == "$"
