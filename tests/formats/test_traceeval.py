from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.support.traces import clean_texts, objects, traces, values
from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.formats import load_trace, trace_from_traceeval, traceeval_from_trace
from tracedance_sdk.trace import (
    UNKNOWN,
    ErrorInfo,
    Trace,
    decode,
    encode_json,
    parse_json,
    same_json,
)

FIXTURES = Path(__file__).parent.parent / "fixtures" / "traceeval"

stamps = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(  # noqa: DTZ001 - UTC text
    lambda time: time.isoformat(timespec="milliseconds") + "Z"
)
durations = st.one_of(st.floats(0, 1e9), st.integers(0, 10**6))
results = st.fixed_dictionaries(
    {"success": st.booleans()},
    optional={
        "output": values,
        "error": st.one_of(st.none(), clean_texts, st.just("KeyError: 'x'")),
        "raised": st.booleans(),
        "extra": values,
    },
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a TraceEval document, optional fields absent or null, with some fields of its own."""
    entries = []
    for index in range(draw(st.integers(0, 4))):
        call_id = draw(st.sampled_from(["1", "2", "3"]))
        action = st.fixed_dictionaries(
            {"id": st.just(call_id), "type": clean_texts, "input": objects}, optional={"x": values}
        )
        entry = st.fixed_dictionaries(
            {
                "id": st.just(call_id),
                "index": st.just(index),
                "timestamp": stamps,
                "action": action,
                "result": results,
            },
            optional={"durationMs": st.one_of(st.none(), durations), "x": values},
        )
        entries.append(draw(entry))
    known = st.fixed_dictionaries(
        {
            "id": clean_texts,
            "taskId": clean_texts,
            "startedAt": stamps,
            "initialState": values,
            "actions": st.just(entries),
            "finalState": values,
        },
        optional={"completedAt": st.one_of(st.none(), stamps), "x": values},
    )
    return draw(known)


@given(documents())
def test_a_traceeval_document_comes_back_as_it_was(document: dict[str, Any]) -> None:
    trace = trace_from_traceeval(document)
    assert same_json(traceeval_from_trace(trace), document)
    loaded = decode(parse_json(encode_json(trace), where="t", max_depth=250))
    assert loaded == trace
    assert same_json(traceeval_from_trace(loaded), document)


@given(documents())
def test_reading_again_gives_the_same_trace_and_leaves_the_document(
    document: dict[str, Any],
) -> None:
    before = json.dumps(document)
    assert trace_from_traceeval(document) == trace_from_traceeval(document)
    assert json.dumps(document) == before


@given(traces())
def test_every_trace_can_be_written_as_a_document_that_is_read_again(trace: Trace) -> None:
    document = traceeval_from_trace(trace)
    found = trace_from_traceeval(document)
    assert same_json(traceeval_from_trace(found), document)
    assert [call.name for call in found.actions] == [call.name for call in trace.actions]


def an_action(**fields: Any) -> dict[str, Any]:
    known = {
        "id": "1",
        "index": 0,
        "timestamp": "2026-01-01T00:00:01.500Z",
        "action": {"id": "1", "type": "open", "input": {"name": "Q3"}},
        "result": {"success": True},
    }
    return {**known, **fields}


def a_document(**fields: Any) -> dict[str, Any]:
    known = {
        "id": "run-1",
        "taskId": "revenue",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "initialState": {},
        "finalState": {},
        "actions": [],
    }
    return {**known, **fields}


def test_the_stamp_is_taken_after_the_action() -> None:
    document = a_document(actions=[an_action(durationMs=250.5)])
    (call,) = trace_from_traceeval(document).calls
    end = datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert call.started_at == end - timedelta(milliseconds=250.5)
    assert call.duration_ms == 250.5


def test_an_action_that_raised_has_the_exceptions_type() -> None:
    raised = {"success": False, "error": "KeyError: 'x'", "raised": True}
    failed = {"success": False, "error": "sheet: not found"}
    document = a_document(
        actions=[
            an_action(result=raised),
            an_action(index=1, result=failed),
            an_action(index=2, result={"success": True, "output": None}),
        ]
    )
    trace = trace_from_traceeval(document)
    first, second, third = (call.result for call in trace.calls)
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.error == ErrorInfo(type="KeyError", message="'x'")
    assert second.error == ErrorInfo(type="error", message="sheet: not found")
    assert [item.ok for item in (first, second, third)] == [False, False, True]
    assert [item.content for item in (first, second, third)] == [UNKNOWN, UNKNOWN, None]
    assert traceeval_from_trace(trace) == document


def test_optional_fields_may_be_absent_or_null() -> None:
    bare = {"id": "r", "taskId": "t", "actions": []}
    trace = trace_from_traceeval(bare)
    assert trace.initial_state is UNKNOWN
    assert trace.started_at is None
    assert trace.fidelity.count("final_state_unknown") == 1
    assert trace_from_traceeval(a_document(completedAt=None)).ended_at is None
    without_input = an_action(durationMs=None, action={"type": "sum"}, result={"success": True})
    (call,) = trace_from_traceeval(a_document(actions=[without_input])).calls
    assert call.arguments == {}
    null = trace_from_traceeval(a_document(initialState=None))
    assert null.initial_state is None


def test_an_edited_trace_is_written_as_it_is_now() -> None:
    trace = trace_from_traceeval(a_document(note="x"))
    assert traceeval_from_trace(trace)["note"] == "x"
    edited = trace.model_copy(update={"final_state": {"sent": True}})
    assert traceeval_from_trace(edited)["finalState"] == {"sent": True}


def test_a_document_that_breaks_the_format_is_refused_with_its_place() -> None:
    def refusal(document: Any) -> str:
        with pytest.raises(InvalidTrace) as caught:
            trace_from_traceeval(document, where="run.json")
        assert str(caught.value).startswith("run.json: ")
        return str(caught.value).removeprefix("run.json: ")

    def with_action(**fields: Any) -> dict[str, Any]:
        return a_document(actions=[an_action(**fields)])

    assert refusal([]) == snapshot("expected an object, got [] @ $")
    assert refusal({"taskId": "t", "actions": []}) == snapshot("field required @ $.id")
    assert refusal(a_document(id=5)) == snapshot("expected text, got 5 @ $.id")
    assert refusal(a_document(taskId=None)) == snapshot("expected text, got None @ $.taskId")
    assert refusal(a_document(actions={})) == snapshot("expected a list, got {} @ $.actions")
    assert refusal(a_document(startedAt=1700000000)) == snapshot(
        "expected text, got 1700000000 @ $.startedAt"
    )
    assert refusal(a_document(startedAt="soon")) == snapshot(
        "'soon' is no ISO-8601 time @ $.startedAt"
    )
    assert refusal(a_document(actions=["open"])) == snapshot(
        "expected an object, got 'open' @ $.actions[0]"
    )
    assert refusal(with_action(index=4)) == snapshot(
        "action index 4, expected 0 @ $.actions[0].index"
    )
    assert refusal(with_action(index="0")) == snapshot(
        "expected an integer, got '0' @ $.actions[0].index"
    )
    assert refusal(with_action(index=True)) == snapshot(
        "expected an integer, got True @ $.actions[0].index"
    )
    assert refusal(with_action(id=1)) == snapshot("expected text, got 1 @ $.actions[0].id")
    assert refusal(with_action(action={"id": "9", "type": "open"})) == snapshot(
        "action id '9', but the entry's is '1' @ $.actions[0].action.id"
    )
    assert refusal(with_action(action={"input": {}})) == snapshot(
        "field required @ $.actions[0].action.type"
    )
    assert refusal(with_action(action={"type": "open", "input": []})) == snapshot(
        "expected an object, got [] @ $.actions[0].action.input"
    )
    assert refusal(with_action(result={})) == snapshot(
        "field required @ $.actions[0].result.success"
    )
    assert refusal(with_action(result={"success": "true"})) == snapshot(
        "expected true or false, got 'true' @ $.actions[0].result.success"
    )
    assert refusal(with_action(result={"success": True, "error": {}})) == snapshot(
        "expected text, got {} @ $.actions[0].result.error"
    )
    assert refusal(with_action(result={"success": True, "raised": 1})) == snapshot(
        "expected true or false, got 1 @ $.actions[0].result.raised"
    )
    assert refusal(with_action(durationMs="12")) == snapshot(
        "expected a number, got '12' @ $.actions[0].durationMs"
    )
    assert refusal(with_action(durationMs=1e300)) == snapshot(
        "1e+300 is no duration in milliseconds @ $.actions[0].durationMs"
    )
    assert refusal(with_action(timestamp=5)) == snapshot(
        "expected text, got 5 @ $.actions[0].timestamp"
    )


@pytest.mark.parametrize("name", ["efficient", "inefficient", "critical-error", "failed"])
def test_the_fixtures_are_traces_of_the_revenue_task(name: str) -> None:
    trace = load_trace(FIXTURES / f"{name}.json")
    assert trace.task_id == "revenue-email"
    assert [call.id for call in trace.actions] == [str(i + 1) for i in range(len(trace.actions))]
    assert trace.fidelity.fit_for == ("reading", "grading", "state_grading")
    assert traceeval_from_trace(trace) == json.loads((FIXTURES / f"{name}.json").read_text())
