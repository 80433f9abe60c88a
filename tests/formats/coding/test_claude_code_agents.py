"""Sub-agents of Claude Code: wherever their records lie, linked to the call that started them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from tracedance_collectors.claude_code import collector

from tests.support.claude_code_records import (
    SESSION,
    Record,
    chain,
    record,
    reply,
    result,
    told,
    traces_in,
    use,
    user,
    write,
)
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import Trace

PROMPT = "Count the roses."
LAUNCH = use("task1", "Task", prompt=PROMPT, subagent_type="counter")


def session(*, told_by: dict[str, Any] | None = None, launch: Record = LAUNCH) -> list[Record]:
    """Return a session that starts one sub-agent."""
    more = {} if told_by is None else {"toolUseResult": told_by}
    return chain(
        user("u1", None, "How many roses?"),
        reply("a2", None, "m1", launch),
        result("r3", None, "task1", "Seven.", **more),
        reply("a4", None, "m2", "There are seven."),
    )


def agent(agent_id: str | None, prompt: str = PROMPT, **fields: Any) -> list[Record]:
    """Return the records of a sub-agent."""
    own: dict[str, Any] = {"isSidechain": True, **fields}
    if agent_id is not None:
        own["agentId"] = agent_id
    name = agent_id or "side"
    return chain(
        user(f"{name}u1", None, prompt, **own),
        reply(f"{name}a2", None, f"{name}m1", use(f"{name}c1", "Grep"), **own),
        result(f"{name}r3", None, f"{name}c1", "7", **own),
    )


def read(path: Path) -> list[Trace]:
    found = list(collect_paths([path], collectors=[collector]))
    assert [str(item.problem) for item in found if item.problem] == []
    return [item.trace for item in found if item.trace]


def linked(main: Trace, sub: Trace, call_id: str | None = "task1") -> bool:
    assert sub.parent is not None
    assert sub.session_id == main.session_id
    return (sub.parent.trace_id, sub.parent.call_id) == (main.id, call_id)


LAYOUTS = [
    pytest.param("agent-x1.jsonl", id="beside the session"),
    pytest.param(f"{SESSION}/subagents/agent-x1.jsonl", id="in the session's folder"),
]


@pytest.mark.parametrize("place", LAYOUTS)
@pytest.mark.parametrize(
    "told_by",
    [
        pytest.param({"agentId": "x1", "status": "completed"}, id="by the result"),
        pytest.param(None, id="by the prompt"),
    ],
)
def test_an_agents_own_file_is_linked_to_its_call(
    place: str, told_by: dict[str, Any] | None, tmp_path: Path
) -> None:
    write(tmp_path / f"{SESSION}.jsonl", session(told_by=told_by))
    write(tmp_path / place, agent("x1"))
    traces = {trace.parent is None: trace for trace in read(tmp_path)}
    assert len(traces) == 2
    assert linked(traces[True], traces[False])
    assert told(traces[False])[0] == ("user", "agent", PROMPT)


def test_an_agents_file_alone_names_the_session_it_belongs_to(tmp_path: Path) -> None:
    (alone,) = read(write(tmp_path / "agent-x1.jsonl", agent("x1")))
    write(tmp_path / f"{SESSION}.jsonl", session(told_by={"agentId": "x1"}))
    main = next(trace for trace in read(tmp_path) if trace.parent is None)
    again = next(trace for trace in read(tmp_path) if trace.parent is not None)
    assert linked(main, alone, None)
    assert again.id == alone.id


def test_a_side_chain_inside_the_session_is_a_trace_of_its_own() -> None:
    records = session()
    main, sub = traces_in([*records[:2], *agent(None), *records[2:]])
    assert len(main.turns) == 3
    assert linked(main, sub)
    assert [call.name for call in sub.calls] == ["Grep"]


def test_a_side_chain_that_hangs_on_its_call_is_linked_by_it() -> None:
    records = session()
    side = agent(None, prompt="Something else")
    side[0]["parentUuid"] = "a2"
    main, sub = traces_in([*records[:2], *side, *records[2:]])
    assert linked(main, sub)
    assert sub.fidelity.count("record_lost") == 0


@pytest.mark.parametrize("is_beside", [False, True], ids=["inside", "in its own file"])
def test_an_agent_started_on_a_branch_is_linked_to_its_trace(
    is_beside: bool, tmp_path: Path
) -> None:
    records = session(told_by={"agentId": "x1"})
    start = [user("u0", None, "Hi"), reply("b0", "u0", "m0", "Hello"), user("c0", "b0", "First")]
    records[0]["parentUuid"] = "b0"
    side = agent("x1")
    write(tmp_path / f"{SESSION}.jsonl", [*start, *records, *([] if is_beside else side)])
    if is_beside:
        write(tmp_path / "agent-x1.jsonl", side)
    traces = read(tmp_path)
    second = next(trace for trace in traces if trace.metadata.get("branch") == "/u1")
    sub = next(trace for trace in traces if trace.parent is not None)
    assert linked(second, sub)


def test_two_calls_of_one_prompt_tell_nothing() -> None:
    records = chain(
        user("u1", None, "Twice"),
        reply("a2", None, "m1", LAUNCH, {**LAUNCH, "id": "task2"}),
    )
    main, sub = traces_in([*records, *agent(None)])
    assert linked(main, sub, None)


def progress(inner: Record, number: int) -> Record:
    """Return a progress record that holds one of a sub-agent's."""
    kept = {key: inner[key] for key in ("type", "message", "uuid", "timestamp")}
    data = {"type": "agent_progress", "agentId": "x1", "prompt": PROMPT, "message": kept}
    return record("progress", f"p{number}", "a2", data=data, parentToolUseID="task1")


def test_an_agent_inside_progress_records_is_a_trace_unless_it_has_a_file(tmp_path: Path) -> None:
    records = session()
    inner = [progress(item, number) for number, item in enumerate(agent("x1"), start=10)]
    path = write(tmp_path / f"{SESSION}.jsonl", [*records[:2], *inner, *records[2:]])
    main, sub = read(path)
    assert linked(main, sub)
    assert [turn.role for turn in sub.turns] == ["user", "assistant"]
    assert sub.calls[0].result is not None
    assert sub.calls[0].result.content == "7"
    write(tmp_path / SESSION / "subagents" / "agent-x1.jsonl", agent("x1"))
    both = read(tmp_path)
    assert sorted(trace.id for trace in both) == sorted([main.id, sub.id])


def test_an_agent_of_an_agent_names_the_agent_as_its_parent(tmp_path: Path) -> None:
    folder = tmp_path / SESSION / "subagents"
    write(tmp_path / f"{SESSION}.jsonl", session(told_by={"agentId": "x1"}))
    inner = use("task2", "Task", prompt="Deeper")
    own: dict[str, Any] = {"isSidechain": True, "agentId": "x1"}
    write(
        folder / "agent-x1.jsonl",
        chain(
            user("x1u1", None, PROMPT, **own),
            reply("x1a2", None, "x1m1", inner, **own),
            result("x1r3", None, "task2", "Ok", toolUseResult={"agentId": "x2"}, **own),
        ),
    )
    write(folder / "agent-x2.jsonl", agent("x2", prompt="Deeper"))
    traces = {trace.metadata["claude_code"].get("subagent"): trace for trace in read(tmp_path)}
    assert linked(traces[None], traces["x1"])
    assert linked(traces["x1"], traces["x2"], "task2")


def test_a_workflows_agents_are_linked_to_its_call_with_what_its_journal_says(
    tmp_path: Path,
) -> None:
    launch = use("task1", "Workflow", script="agent('x')")
    told_by = {"isAsync": True, "runId": "wf_1"}
    write(tmp_path / f"{SESSION}.jsonl", session(told_by=told_by, launch=launch))
    folder = tmp_path / SESSION / "subagents" / "workflows" / "wf_1"
    write(folder / "agent-x1.jsonl", agent("x1", sessionId=f"{SESSION}#agent-x1"))
    lines = [{"type": "started", "key": "k", "agentId": name} for name in ("x1", "x9")]
    write(folder / "journal.jsonl", lines)
    traces = {trace.parent is None: trace for trace in read(tmp_path)}
    assert linked(traces[True], traces[False])
    assert traces[False].metadata["claude_code"]["workflow"] == snapshot(
        {"run": "wf_1", "records": [{"type": "started", "key": "k", "agentId": "x1"}]}
    )


def test_the_file_beside_an_agents_tells_its_type(tmp_path: Path) -> None:
    path = write(tmp_path / "agent-x1.jsonl", agent("x1"))
    (tmp_path / "agent-x1.meta.json").write_text(json.dumps({"agentType": "counter"}))
    (trace,) = read(path)
    assert trace.metadata["claude_code"]["meta"] == {"agentType": "counter"}


@pytest.mark.parametrize("name", ["../agent", "..", "a/b", "/etc/passwd", ".hidden", "x" * 300])
def test_ids_that_are_no_names_lead_to_no_file(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    records = agent(name, sessionId=name)
    write(tmp_path / "agent.jsonl", session())
    (trace,) = traces_in(records, folder / "agent-x.jsonl")
    assert trace.parent is None
    assert trace.session_id == name


def test_what_a_checkpoint_says_comes_along_with_its_session_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "full.jsonl", session())
    said = {
        "checkpoint_id": "c",
        "session_id": SESSION,
        "files_touched": ["a.py"],
        "initial_attribution": {"agent_lines": 3},
        "summary": {"intent": "roses"},
    }
    (tmp_path / "metadata.json").write_text(json.dumps(said))
    (trace,) = read(path)
    assert trace.outcome is not None
    assert trace.outcome.details == snapshot(
        {"initial_attribution": {"agent_lines": 3}, "files_touched": ["a.py"]}
    )
    assert trace.outcome.success is None
    assert trace.metadata["annotations"] == said
    (tmp_path / "metadata.json").write_text(json.dumps({**said, "session_id": "another"}))
    (other,) = read(path)
    assert other.outcome is None


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "\xff"])
def test_a_damaged_file_beside_a_session_is_passed_over(text: str, tmp_path: Path) -> None:
    path = write(tmp_path / "full.jsonl", session())
    (tmp_path / "metadata.json").write_bytes(text.encode("latin-1"))
    (trace,) = read(path)
    assert trace.outcome is None
