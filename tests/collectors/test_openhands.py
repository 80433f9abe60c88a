"""OpenHands' own files: logs of model calls with verdicts, event streams, benchmark output."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tracedance_collectors.openhands import collector

from tests.counters.openhands import count
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import Place, messages_from_trace
from tracedance_sdk.formats.benchmarks import trace_from_completion_log
from tracedance_sdk.trace import Trace, parse_json


def files(name: str) -> list[Path]:
    return sorted((shared_data("openhands-swebench") / name).iterdir())


@pytest.fixture(scope="module")
def logged() -> list[Trace]:
    return imported(files("llm_completions"), collector)


@pytest.fixture(scope="module")
def streamed() -> list[Trace]:
    return imported(files("event-trajectories"), collector)


@pytest.mark.parametrize("name", ["llm_completions", "event-trajectories"])
def test_every_run_agrees_with_an_independent_count(name: str) -> None:
    assert differences(files(name), collector, count) == []


def test_the_verdicts_are_those_of_the_report_above(logged: list[Trace]) -> None:
    assert len({trace.id for trace in logged}) == len(logged) == 37
    verdicts = Counter(trace.outcome.success for trace in logged if trace.outcome)
    assert verdicts == {True: 21, False: 16}


def test_tools_are_recorded_and_the_last_call_has_its_cost(logged: list[Trace]) -> None:
    for trace in logged:
        assert {tool.origin for tool in trace.tools} == {"recorded"}
        assert {call.name for call in trace.calls} <= {tool.name for tool in trace.tools}
        usage = trace.turns[-1].usage
        assert usage is not None
        assert usage.cost_usd
        assert trace.turns[-1].model == trace.metadata["response"]["model"]


def test_the_harness_urges_in_the_users_name(logged: list[Trace]) -> None:
    origins = Counter(
        turn.origin for trace in logged for turn in trace.turns if turn.role == "user"
    )
    assert origins == {"human": 37, "harness": 26}


def test_the_messages_come_back_as_they_were(logged: list[Trace]) -> None:
    for trace in logged:
        assert trace.source is not None
        assert trace.source.uri is not None
        path = Path(trace.source.uri)
        record = parse_json(gzip.decompress(path.read_bytes()), where=path.name)
        expected = [*record["messages"][1:], record["response"]["choices"][0]["message"]]
        assert messages_from_trace(trace)[1:] == expected


def test_earlier_logs_of_a_run_are_the_same_trace() -> None:
    path = files("llm_completions")[0]
    record = parse_json(gzip.decompress(path.read_bytes()), where=path.name)
    whole = trace_from_completion_log(record, Place("whole"), instance="a")
    messages = record["messages"]
    for length in (4, 6):
        reply = {"choices": [{"message": messages[length], "finish_reason": "tool_calls"}]}
        earlier = {**record, "messages": messages[:length], "response": reply}
        trace = trace_from_completion_log(earlier, Place("earlier"), instance="a")
        assert trace.id == whole.id
        assert len(trace.turns) < len(whole.turns)


def test_streams_tell_prompt_tools_and_version(streamed: list[Trace]) -> None:
    rows = [trace for trace in streamed if trace.task_id]
    found = [(trace.task_id, trace.agent.version, len(trace.tools)) for trace in rows]
    assert found == snapshot(
        [
            ("ponylang__ponyc-4595", "0.35.0", 4),
            ("ponylang__ponyc-4593", "0.35.0", 4),
            ("ponylang__ponyc-4588", "0.35.0", 4),
        ]
    )
    assert all(trace.system_prompt for trace in rows)
    assert [
        trace.outcome.error.type if trace.outcome and trace.outcome.error else None
        for trace in rows
    ] == snapshot([None, None, "error"])


def test_what_the_agent_never_saw_is_reference_alone(streamed: list[Trace]) -> None:
    for trace in streamed:
        if trace.task_id:
            assert trace.metadata["reference"]["instance_id"] == trace.task_id


def test_events_that_are_no_conversation_are_kept(streamed: list[Trace]) -> None:
    gui = next(t for t in streamed if t.source and t.source.native_id == "trajs__basic_gui_mode")
    kinds = [event.get("action") or event["observation"] for event in gui.metadata["events"]]
    assert kinds == snapshot(
        [
            "agent_state_changed",
            "change_agent_state",
            "null",
            "agent_state_changed",
            "agent_state_changed",
            "null",
            "null",
            "agent_state_changed",
        ]
    )
