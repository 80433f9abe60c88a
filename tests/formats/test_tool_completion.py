"""Definitions that a source did not record, and what is never made up."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.shared_data import shared_data
from tracedance_sdk.formats import ToolShapes, collect_paths, complete_tools, tool_table
from tracedance_sdk.trace import (
    Agent,
    Call,
    Source,
    ToolDefinition,
    Trace,
    Turn,
    assess,
    note,
)

TABLE = tool_table()


def run(
    *calls: str, agent: str = "agent", tools: tuple[ToolDefinition, ...] = (), **fields: Any
) -> Trace:
    made = tuple(
        Call.model_validate(
            {"index": index, "id": "1", "name": name, "arguments": {"n": 1}, **fields}
        )
        for index, name in enumerate(calls)
    )
    turn = Turn(index=0, role="assistant", origin="agent", calls=made)
    return assess(Trace(id="t", agent=Agent(name=agent), turns=(turn,), tools=tools))


def origins(trace: Trace) -> list[tuple[str, str, str, str]]:
    return [(tool.name, tool.origin, tool.effect, tool.kind) for tool in trace.tools]


def test_called_tools_are_added_and_no_others() -> None:
    trace = complete_tools(
        run("Read", "mcp__x__send_note", "frob", "Read", agent="claude-code"), table=TABLE
    )
    assert origins(trace) == [
        ("Read", "known", "read", "read"),
        ("mcp__x__send_note", "inferred", "write", "send"),
        ("frob", "inferred", "unknown", "other"),
    ]
    assert trace.tools[2].parameters == {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    }


@pytest.mark.parametrize(
    ("limit", "added"),
    [("recorded", []), ("known", ["Read"]), ("inferred", ["Read", "frob"])],
)
def test_a_limit_says_which_definitions_are_good_enough(limit: Any, added: list[str]) -> None:
    trace = complete_tools(run("Read", "frob", agent="claude-code"), table=TABLE, limit=limit)
    assert [tool.name for tool in trace.tools] == added


def test_recorded_definitions_stay_and_others_are_not_added() -> None:
    recorded = (
        ToolDefinition(name="get_time", description="Now.", parameters={}),
        ToolDefinition(name="send_note", description="Writes.", effect="read"),
        ToolDefinition(name="delete_note", description="Gone.", kind="plan"),
        ToolDefinition(name="frob", description="?"),
    )
    trace = complete_tools(run("get_time", "made_up", tools=recorded), table=TABLE)
    assert origins(trace) == [
        ("get_time", "recorded", "read", "read"),
        ("send_note", "recorded", "read", "send"),
        ("delete_note", "recorded", "write", "plan"),
        ("frob", "recorded", "unknown", "other"),
    ]
    assert [(t.description, t.parameters) for t in trace.tools] == [
        (t.description, t.parameters) for t in recorded
    ]
    assert trace.fidelity.count("tools_missing") == 1


@pytest.mark.parametrize(
    ("name", "ok", "added"),
    [
        pytest.param("shell", True, ["shell"], id="of this client, and it worked"),
        pytest.param("shell", None, ["shell"], id="of this client, and it answered"),
        pytest.param("shell", False, [], id="of this client, but the call failed"),
        pytest.param("get_time", True, [], id="a name that tells something"),
        pytest.param("Bash", True, [], id="of another client"),
    ],
)
def test_beside_recorded_definitions_only_what_the_client_surely_has_is_added(
    name: str, ok: bool | None, added: list[str]
) -> None:
    own = ToolDefinition(name="mine", description="Mine.", parameters={})
    trace = run(name, agent="codex", tools=(own,), result={"ok": ok, "content": "done"})
    completed = complete_tools(trace, table=TABLE)
    assert [tool.name for tool in completed.tools] == ["mine", *added]
    assert completed.fidelity.count("tools_missing") == 1 - len(added)


def test_a_name_alone_is_filled_from_the_table_unless_more_was_kept_of_it() -> None:
    hosted = ToolDefinition.model_validate({"name": "Grep", "openai_chat": {"type": "Grep"}})
    tools = (ToolDefinition(name="Read"), hosted, ToolDefinition(name="never_called"))
    trace = complete_tools(run("Read", agent="claude-code", tools=tools), table=TABLE)
    assert origins(trace) == [
        ("Read", "known", "read", "read"),
        ("Grep", "recorded", "read", "search"),
        ("never_called", "recorded", "unknown", "other"),
    ]


def test_the_shapes_of_all_traces_beat_those_of_one() -> None:
    other = run("frob", "frob")
    shapes = ToolShapes([run("frob"), other.model_copy(update={"turns": ()})]).merged(
        ToolShapes([Trace(id="u", turns=(_asking({"n": 1, "m": "x"}),))])
    )
    trace = complete_tools(run("frob", "new"), table=TABLE, shapes=shapes)
    assert [tool.parameters for tool in trace.tools] == [
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "m": {"type": "string"}},
            "required": ["n"],
        },
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    ]


def _asking(arguments: dict[str, Any]) -> Turn:
    call = Call(index=0, id="0", name="frob", arguments=arguments)
    return Turn(index=0, role="assistant", origin="agent", calls=(call,))


def test_the_collector_stands_in_for_an_agent_without_a_name() -> None:
    trace = run("book_reservation").model_copy(update={"source": Source(collector="tau_bench")})
    assert origins(complete_tools(trace, table=TABLE)) == [
        ("book_reservation", "known", "write", "write")
    ]


@pytest.mark.parametrize("who", ["user", "tool"])
def test_tools_that_the_agent_did_not_use_itself_are_not_among_its_own(who: Any) -> None:
    trace = run("toggle_data", requested_by=who)
    assert complete_tools(trace, table=TABLE) is trace


@pytest.mark.parametrize("bound_by", ["order", "synthetic"])
def test_a_call_without_a_name_defines_no_tool(bound_by: Any) -> None:
    trace = run("unknown", bound_by=bound_by)
    assert complete_tools(trace, table=TABLE) is trace
    assert list(ToolShapes([trace]).tools()) == []


def test_fidelity_is_worked_out_anew_and_what_the_reader_noted_stays() -> None:
    noted = assess(run("frob"), notes=[note("result_recovered", ["turns[0].calls[0]"])])
    assert noted.fidelity.count("tools_missing") == 1
    trace = complete_tools(noted, table=TABLE)
    kinds = {item.kind for item in trace.fidelity.notes}
    assert {"result_recovered", "tools_inferred", "result_missing"} <= kinds
    assert "tools_missing" not in kinds
    again = complete_tools(trace, table=TABLE)
    assert again is trace


def test_definitions_inferred_from_tau_bench_are_met_by_its_calls() -> None:
    folder = shared_data("tau-bench")
    traces = [found.trace for found in collect_paths([folder]) if found.trace is not None]
    shapes = ToolShapes(traces)
    calls = 0
    for trace in traces:
        named = [call for call in trace.actions if call.name != "unknown"]
        completed = complete_tools(trace, table=TABLE, shapes=shapes)
        assert {tool.name for tool in completed.tools} == {call.name for call in named}
        for call in named:
            inferred = shapes.definition(trace.agent.name, call.name)
            assert inferred is not None
            assert inferred.parameters is not None
            assert Draft202012Validator(inferred.parameters).is_valid(call.arguments)
            calls += 1
    assert calls > 1_000


def test_the_tools_of_tau_bench_are_known_by_the_schemas_their_calls_meet() -> None:
    folder = shared_data("tau-bench-oracle")
    with gzip.open(folder / "airline.jsonl.gz", "rt", encoding="utf-8") as stream:
        calls = [call for line in stream for call in _calls(json.loads(line))]
    assert len(calls) > 1_000
    for name, arguments in calls:
        known = TABLE.lookup("tau-bench", name)
        assert known is not None, name
        assert known.parameters is not None, name
        assert Draft202012Validator(known.parameters).is_valid(arguments), (name, arguments)


def _calls(value: Any) -> list[tuple[str, Any]]:
    found, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if isinstance(item.get("name"), str) and isinstance(item.get("arguments"), dict):
                found.append((item["name"], item["arguments"]))
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return found
