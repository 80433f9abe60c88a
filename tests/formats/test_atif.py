"""ATIF both ways: what is read out of trajectories, and what survives being written as one."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given

from tests.support.shared_data import SHARED_DATA, shared_data
from tests.support.traces import traces
from tracedance_sdk.errors import InvalidTrace, TraceDanceError
from tracedance_sdk.formats import Place, traces_from_atif, write_atif
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Media,
    Parent,
    Result,
    Text,
    Trace,
    Turn,
    assess,
    encode,
    parse_json,
)

FILES = sorted((SHARED_DATA / "atif-fixtures").glob("*.json"))


def read(document: Any) -> list[Trace]:
    return list(traces_from_atif(document, Place("t.json")))


def trajectory(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    agent = {"name": "a", "version": "1", "model_name": "m"}
    return {
        "schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": numbered,
        **fields,
    }  # fmt: skip


def test_a_step_becomes_a_turn_with_its_calls_results_tokens_and_times() -> None:
    document = trajectory(
        {"source": "system", "message": "Be brief."},
        {"source": "user", "message": [{"type": "text", "text": "See"}, {
            "type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}}]},
        {
            "source": "agent", "message": "ok", "timestamp": "2026-01-01T00:00:00Z",
            "reasoning_content": "hm", "reasoning_effort": "low",
            "tool_calls": [
                {"tool_call_id": "1", "function_name": "look", "arguments": {"at": "sky"}},
                {"tool_call_id": "2", "function_name": "look", "arguments": {}},
            ],
            "observation": {"results": [
                {"source_call_id": "2", "content": "dark"}, {"content": "blue"}]},
            "metrics": {"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 4,
                        "cost_usd": 0.5, "extra": {"reasoning_tokens": 2}, "logprobs": [-1.0]},
        },
        {"source": "agent", "message": "", "observation": {"results": [{"content": "> "}]}},
    )  # fmt: skip
    (trace,) = read(document)
    assert (trace.system_prompt, trace.session_id, trace.agent.name) == ("Be brief.", "s", "a")
    picture = trace.turns[0].content[1]
    assert isinstance(picture, Media)
    assert (picture.uri, picture.mime_type) == ("images/a.png", "image/png")
    reply = trace.turns[1]
    assert [part.type for part in reply.content] == ["reasoning", "text"]
    assert (reply.model, reply.settings) == ("m", {"reasoning_effort": "low"})
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.cost_usd, reply.usage.reasoning_tokens) == (
        9, 0.5, 2,
    )  # fmt: skip
    results = [(call.id, call.result and call.result.content) for call in trace.calls]
    assert results == [("1", "blue"), ("2", "dark")]
    assert [call.bound_by for call in trace.calls] == ["order", "id"]
    feedback = trace.turns[-1]
    assert (feedback.role, feedback.origin, feedback.text) == ("user", "environment", "> ")


def test_embedded_sub_agents_are_traces_that_name_their_call() -> None:
    grandchild = trajectory({"source": "user", "message": "c"}, trajectory_id="c")
    child = trajectory(
        {"source": "user", "message": "b"}, trajectory_id="b", subagent_trajectories=[grandchild]
    )
    child.pop("session_id")
    call = {"tool_call_id": "k", "function_name": "delegate", "arguments": {}}
    refers = {"source_call_id": "k", "subagent_trajectory_ref": [{"trajectory_id": "b"}]}
    step = {
        "source": "agent", "message": "", "tool_calls": [call],
        "observation": {"results": [refers]},
    }  # fmt: skip
    top, below, lowest = read(trajectory(step, subagent_trajectories=[child]))
    assert below.parent == Parent(trace_id=top.id, call_id="k")
    assert lowest.parent == Parent(trace_id=below.id)
    assert {trace.session_id for trace in (top, below, lowest)} == {"s"}
    again = read(write_atif(top, children=[below, lowest]))
    assert [(trace.id, trace.parent, trace.turns) for trace in again] == [
        (trace.id, trace.parent, trace.turns) for trace in (top, below, lowest)
    ]


def test_what_was_copied_from_an_earlier_segment_is_marked() -> None:
    steps = ({"source": "user", "message": "old", "is_copied_context": True},)
    (trace,) = read(trajectory(*steps))
    assert (trace.turns[0].model_extra or {})["copied_context"] is True
    steps_again: Any = write_atif(trace)["steps"]
    assert steps_again[0]["is_copied_context"] is True


def test_an_id_stays_the_same_while_a_trajectory_grows_and_differs_between_runs() -> None:
    first, second, other = ({"source": "user", "message": text} for text in "abc")
    (begun,), (grown,) = read(trajectory(first, second)), read(trajectory(first, second, other))
    assert begun.id == grown.id
    assert read(trajectory(other, second))[0].id != begun.id
    later = trajectory(first, second)
    later["agent"]["extra"] = {"continuation_index": 1}
    assert read(later)[0].id != begun.id


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema_version": "ATIF-v2.0"}, "t.json: ATIF of version 'ATIF-v2.0' is unknown"),
        ({"steps": {}}, "t.json: expected a list, got {} @ $.steps"),
        ({"steps": [{"source": "judge", "message": ""}]},
         "t.json: source 'judge' is none of system, user, agent @ $.steps[0].source"),
        ({"steps": [{"source": "agent", "tool_calls": [{"arguments": {}}]}]},
         "t.json: field required @ $.steps[0].tool_calls[0].function_name"),
        ({"steps": [{"source": "user", "message": "", "extra": {"tracedance": {"calls": [1]}}}]},
         "t.json: expected a list of calls, got [1] @ $.steps[0].extra.tracedance.calls"),
    ],
    ids=["version", "steps", "source", "call", "ours"],
)  # fmt: skip
def test_a_broken_trajectory_is_told_in_one_line(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(TraceDanceError) as caught:
        read({**trajectory(), **change})
    assert str(caught.value) == reason


@given(traces())
def test_a_trace_that_was_written_and_read_again_is_the_same(trace: Trace) -> None:
    trace = assess(trace, notes=trace.fidelity.notes)
    document = write_atif(trace)
    before = copy.deepcopy(document)
    (again,) = read(document)
    assert document == before
    assert encode(again) == encode(trace)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_real_trajectory_survives_being_written(path: Any) -> None:
    shared_data("atif-fixtures")
    (trace,) = read(parse_json(path.read_bytes(), where=path.name))
    written = json.loads(json.dumps(write_atif(trace)))
    (again,) = read(written)
    assert encode(again) == encode(trace)
    original = json.loads(path.read_bytes())
    assert written["final_metrics"]["total_cost_usd"] == pytest.approx(
        sum(step.get("metrics", {}).get("cost_usd", 0) for step in original["steps"])
    )
    assert written.get("continued_trajectory_ref") == original.get("continued_trajectory_ref")


def test_calls_of_one_id_keep_their_own_results() -> None:
    calls = (
        Call(index=0, id="x", name="f", arguments={}),
        Call(index=1, id="x", name="f", arguments=[1], result=Result(ok=True, content={"a": 1})),
        Call(index=2, id="y", name="g", raw_arguments="{", result=Result(ok=False)),
    )
    turn = Turn(index=0, role="assistant", origin="agent", content=(Text(text="t"),), calls=calls)
    (again,) = read(write_atif(Trace(id="r", turns=(turn,))))
    assert [(call.arguments, call.raw_arguments, call.result) for call in again.calls] == [
        (call.arguments, call.raw_arguments, call.result) for call in calls
    ]
    assert again.calls[2].arguments is UNKNOWN


def test_what_stands_in_a_field_of_ours_cannot_break_the_reader() -> None:
    for own in ({"turns": 7}, {"where": 1, "self": 2, "trace_id": 3}, {"metadata": 5}, {"id": ""}):
        read(trajectory(extra={"tracedance": own}))
    with pytest.raises(InvalidTrace):
        read(trajectory(extra={"tracedance": {"outcome": 5}}))
