"""What Codex writes beside words: outputs, events, tokens, sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.coding_agents import traces_of
from tracedance_sdk.formats.coding.codex_outputs import Ending, read_output
from tracedance_sdk.trace import Result, Trace

UUIDS = [f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123"]
TIME = "2026-01-01T00:00:00Z"


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **payload)


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return line("event_msg", type=kind, **payload)


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def call(name: str, arguments: str = "{}") -> dict[str, Any]:
    return item("function_call", call_id=name, name="shell", arguments=arguments)


def written(folder: Path, *lines: dict[str, Any], name: str = UUIDS[0]) -> Path:
    head = line("session_meta", id=name, timestamp=TIME, cwd="/w", cli_version="1.2.3")
    path = folder / f"rollout-2026-{name}.jsonl"
    first = () if lines and lines[0]["type"] == "session_meta" else (head,)
    path.write_text("\n".join(json.dumps(record) for record in (*first, *lines)))
    return path


def read(folder: Path, *lines: dict[str, Any]) -> Trace:
    (trace,) = traces_of(written(folder, *lines))
    return trace


def result(trace: Trace, index: int = 0) -> Result:
    found = trace.calls[index].result
    assert found is not None
    return found


FREEFORM = "Exit code: 2\nWall time: 0.5 seconds\nOutput:\nno such file"
UNIFIED = "Chunk ID: a\nWall time: 1.5000 seconds\nProcess exited with code 0\nOutput:\nok"
STILL = "Wall time: 1.0 seconds\nProcess running with session ID 3\nOutput:\n"
IN_JSON = '{"output":"ok","metadata":{"exit_code":0,"duration_seconds":0.2}}'
ABORTED = "aborted by user after 3.2s"
QUOTED = "Wall time: 1 second\nOutput:\nProcess exited with code 7"


@pytest.mark.parametrize(
    ("output", "ending"),
    [
        (FREEFORM, Ending(FREEFORM, ok=False, exit_code=2, duration_ms=500.0)),
        (UNIFIED, Ending(UNIFIED, ok=True, exit_code=0, duration_ms=1500.0)),
        (STILL, Ending(STILL, duration_ms=1000.0)),
        (IN_JSON, Ending(IN_JSON, ok=True, exit_code=0, duration_ms=200.0)),
        (ABORTED, Ending(ABORTED, interrupted=True)),
        (QUOTED, Ending(QUOTED, duration_ms=1000.0)),
        ([{"type": "input_text", "text": "hi"}], Ending("hi")),
        ({"content": "no", "success": False}, Ending("no", ok=False)),
        ({"type": "input_text", "text": "hi", "detail": None}, Ending("hi")),
        (["a", "b"], Ending(["a", "b"])),
        ("plain", Ending("plain")),
    ],
    ids=str,
)
def test_outputs_tell_exit_code_and_duration(output: Any, ending: Ending) -> None:
    assert read_output(output) == ending


def test_what_an_event_tells_again_is_no_second_turn(tmp_path: Path) -> None:
    lines = [
        event("user_message", message="Hi", images=[]),
        message("user", "Hi"),
        event("agent_reasoning", text="Think."),
        item("reasoning", summary=[{"type": "summary_text", "text": "Think."}]),
        event("agent_message", message="Hello", memory_citation={"path": "/m"}),
        message("assistant", "Hello"),
        event("agent_message", message="Only here"),
    ]
    trace = read(tmp_path, *lines)
    assert [(turn.role, turn.text) for turn in trace.turns] == [
        ("user", "Hi"),
        ("assistant", "Hello\nOnly here"),
    ]
    (kept,) = trace.metadata["codex"]["records"]
    assert kept["record"]["payload"] == {"type": "agent_message", "memory_citation": {"path": "/m"}}


def test_parallel_calls_stand_in_one_turn_and_borders_without_a_count_are_noted(
    tmp_path: Path,
) -> None:
    usage = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3}
    info = {"total_token_usage": usage, "last_token_usage": usage}
    outputs = [item("function_call_output", call_id=name, output=name) for name in ("a", "b", "c")]
    trace = read(
        tmp_path,
        message("user", "Go"),
        call("a"),
        call("b"),
        event("token_count", info=info),
        event("token_count", info=info),
        *outputs[:2],
        call("c"),
        outputs[2],
        message("assistant", "Done"),
    )
    assert [len(turn.calls) for turn in trace.turns] == [0, 2, 1, 0]
    first = trace.turns[1].usage
    assert first is not None
    assert (first.input_tokens, first.cache_read_tokens, first.output_tokens) == (10, 4, 3)
    assert trace.turns[2].usage is None
    assert trace.fidelity.count("boundary_guessed") == 1


def test_an_event_adds_to_a_call_what_its_output_does_not_say(tmp_path: Path) -> None:
    ended = event(
        "exec_command_end", call_id="a", exit_code=3, stdout="out", duration={"secs": 1, "nanos": 0}
    )
    output = item("function_call_output", call_id="a", output="out")
    trace = read(tmp_path, call("a", '{"command":["x"]}'), ended, output)
    (only,) = trace.calls
    assert only.arguments == {"command": ["x"]}
    assert only.duration_ms == 1000.0
    assert (result(trace).ok, result(trace).exit_code) == (False, 3)
    assert trace.fidelity.count("request_missing") == 0


def test_an_event_without_an_item_is_a_call_nobody_is_seen_to_ask_for(tmp_path: Path) -> None:
    invocation = {"server": "files", "tool": "read", "arguments": {"path": "a"}}
    answer = {"Ok": {"content": [{"type": "text", "text": "x"}], "isError": True}}
    ended = event("mcp_tool_call_end", call_id="m", invocation=invocation, result=answer)
    trace = read(tmp_path, message("user", "Go"), ended)
    (only,) = trace.calls
    assert (only.name, only.arguments, only.bound_by) == (
        "mcp__files__read",
        {"path": "a"},
        "synthetic",
    )
    assert result(trace).ok is False
    assert trace.fidelity.count("request_missing") == 1


def test_calls_open_when_the_turn_is_aborted_never_came_to_their_end(tmp_path: Path) -> None:
    trace = read(
        tmp_path, event("task_started"), call("a"), event("turn_aborted", reason="interrupted")
    )
    assert result(trace).interrupted
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert trace.outcome.details == {"aborted": "interrupted"}


def test_context_that_the_client_adds_is_the_harness(tmp_path: Path) -> None:
    lines = [
        message("developer", "Rules."),
        message("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        message("user", "Hello"),
        line("compacted", message="So far.", replacement_history=[]),
    ]
    trace = read(tmp_path, *lines)
    assert [(turn.role, turn.origin) for turn in trace.turns] == [
        ("system", "harness"),
        ("user", "harness"),
        ("user", "human"),
        ("user", "harness"),
    ]
    assert (trace.turns[3].__pydantic_extra__ or {})["compaction"] is True
    assert (trace.agent.name, trace.agent.version) == ("codex", "1.2.3")


def test_a_context_told_again_is_kept_by_what_changed(tmp_path: Path) -> None:
    first = line("turn_context", model="m-1", effort="low", cwd="/w")
    second = line("turn_context", model="m-2", effort="low")
    trace = read(tmp_path, first, message("assistant", "a"), second, message("user", "b"))
    (_, kept) = trace.metadata["codex"]["records"]
    assert kept["record"]["payload"] == {"model": "m-2"}
    assert kept["record"]["gone"] == ["cwd"]
    assert (trace.turns[0].model, trace.turns[0].settings) == ("m-1", {"effort": "low"})


def test_a_sub_agent_knows_the_call_that_started_it(tmp_path: Path) -> None:
    parent, child, _ = UUIDS
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}}
    head = line("session_meta", id=child, timestamp=TIME, source=source)
    spawn = item("function_call", call_id="c1", name="spawn_agent", arguments='{"message":"x"}')
    ended = event("collab_agent_spawn_end", call_id="c1", new_thread_id=child)
    files = [written(tmp_path, spawn, ended), written(tmp_path, head, name=child)]
    above, below = traces_of(*files)
    assert below.parent is not None
    assert (below.parent.trace_id, below.parent.call_id) == (above.id, "c1")
    assert below.session_id == above.session_id == parent


def test_bare_items_of_the_first_rollouts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rollout-old.jsonl"
    lines = [
        {"id": UUIDS[2], "timestamp": TIME, "instructions": "Be brief.", "git": {"branch": "main"}},
        {"record_type": "state"},
        message("user", "Hi")["payload"],
        call("a")["payload"],
    ]
    path.write_text("\n".join(json.dumps(record) for record in lines))
    (trace,) = traces_of(path)
    assert trace.system_prompt == "Be brief."
    assert trace.metadata["git_branch"] == "main"
    assert [turn.role for turn in trace.turns] == ["user", "assistant"]
    assert trace.metadata["codex"]["records"] == [
        {"before_turn": 0, "record": {"record_type": "state"}}
    ]
