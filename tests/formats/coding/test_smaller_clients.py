"""What the smaller clients write beside words: sub-agents, repeated messages, statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.coding_agents import traces_of
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import UNKNOWN, Media, Reasoning

FIXTURES = shared_data("agent-sessions-fixtures")


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(record) for record in records))
    return path


def document(path: Path, **fields: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(fields))


def storage(folder: Path) -> Path:
    """Write a session of OpenCode that starts another with its task tool."""
    for index, (name, parent) in enumerate([("ses_up", None), ("ses_down", "ses_up")]):
        time = {"created": 1730000000000 + index}
        path = folder / "session" / "p" / f"{name}.json"
        document(path, id=name, parentID=parent, version="1.2", directory="/w", time=time)
    message = folder / "message" / "ses_up" / "msg_1.json"
    tokens = {"input": 1, "output": 2, "cache": {"read": 3, "write": 4}}
    document(message, id="msg_1", role="assistant", modelID="m", tokens=tokens, cost=0.25)
    state = {"status": "running", "input": {"prompt": "x"}, "metadata": {"sessionId": "ses_down"}}
    part = {"id": "prt_1", "type": "tool", "callID": "c1", "tool": "task", "state": state}
    document(folder / "part" / "msg_1" / "prt_1.json", **part)
    failed = {"status": "error", "input": {}, "error": "No such file"}
    part = {"id": "prt_2", "type": "tool", "callID": "c2", "tool": "read", "state": failed}
    document(folder / "part" / "msg_1" / "prt_2.json", **part)
    return folder


def test_a_storage_of_opencode_is_one_source_with_its_sub_sessions(tmp_path: Path) -> None:
    folder = storage(tmp_path / "storage")
    document(folder / "todo" / "ses_up.json", todo=[{"content": "x"}])
    found = list(collect_paths([tmp_path]))
    assert [item.problem for item in found] == [None, None]
    down, up = (item.trace for item in found if item.trace)
    assert down.parent is not None
    assert (down.parent.trace_id, down.parent.call_id, down.session_id) == (up.id, "c1", "ses_up")
    assert up.metadata["opencode"]["todo"] == {"todo": [{"content": "x"}]}
    (turn,) = up.turns
    assert turn.usage is not None
    assert (turn.usage.input_tokens, turn.usage.cost_usd) == (8, 0.25)
    running, failed = turn.calls
    assert running.result is None
    assert failed.result is not None
    assert (failed.result.ok, failed.result.content) == (False, UNKNOWN)
    assert failed.result.error is not None
    assert failed.result.error.message == "No such file"


def test_one_session_of_a_storage_is_read_by_its_file(tmp_path: Path) -> None:
    folder = storage(tmp_path / "storage")
    (trace,) = traces_of(folder / "session" / "p" / "ses_down.json")
    assert trace in traces_of(folder)
    (item,) = collect_paths([folder / "part" / "msg_1" / "prt_1.json"])
    assert item.problem is not None
    assert item.problem.reason == f"part of OpenCode's storage: import the folder {str(folder)!r}"


def test_a_damaged_message_of_opencode_costs_itself_alone(tmp_path: Path) -> None:
    folder = storage(tmp_path / "storage")
    broken = folder / "message" / "ses_up" / "msg_2.json"
    broken.write_text('{"id": ')
    found = list(collect_paths([folder]))
    assert len([item for item in found if item.trace]) == 2
    (problem,) = [str(item.problem) for item in found if item.problem]
    assert problem.startswith(str(broken))


def test_a_message_of_gemini_written_again_takes_its_place(tmp_path: Path) -> None:
    head = {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"}
    asked = {"id": "c", "name": "ls", "args": {}, "status": "executing"}
    answer = {"functionResponse": {"response": {"error": "denied"}}}
    done = {**asked, "status": "error", "result": [answer]}
    turn = {"id": "g", "type": "gemini", "content": "", "model": "m"}
    (trace,) = traces_of(
        lines(
            tmp_path / "session.jsonl",
            head,
            {"id": "u", "type": "user", "content": "Hi"},
            {**turn, "toolCalls": [asked]},
            {**turn, "toolCalls": [done], "tokens": {"input": 5, "output": 1, "thoughts": 2}},
            {"id": "i", "type": "info", "content": "Update available"},
        )
    )
    assert [item.role for item in trace.turns] == ["user", "assistant"]
    (call,) = trace.calls
    assert call.result is not None
    assert (call.result.ok, call.result.content) == (False, "denied")
    usage = trace.turns[1].usage
    assert usage is not None
    assert (usage.output_tokens, usage.reasoning_tokens) == (3, 2)
    (kept,) = trace.metadata["gemini-cli"]["records"]
    assert kept["record"]["type"] == "info"


def test_a_picture_for_gemini_is_media() -> None:
    (trace,) = traces_of(FIXTURES / "gemini" / "schema_drift.json")
    (picture,) = (part for part in trace.turns[0].content if isinstance(part, Media))
    assert (picture.modality, picture.mime_type, picture.data) == ("image", "image/png", "AAAA")


def test_a_sub_agent_of_cursor_knows_the_call_whose_prompt_it_got() -> None:
    parent, child = traces_of(FIXTURES / "cursor" / "subagent")
    assert child.parent is not None
    assert child.parent.trace_id == parent.id
    call = parent.find_call(child.parent.call_id or "")
    assert call is not None
    assert call.arguments == {"prompt": "List files"}
    assert child.session_id == parent.session_id == "parent"


def test_an_unknown_block_of_cursor_with_words_is_words() -> None:
    (trace,) = traces_of(FIXTURES / "cursor" / "schema_drift.jsonl")
    turn = trace.turns[1]
    assert isinstance(turn.content[0], Reasoning)
    assert turn.text == "Cursor added an unknown block with visible text."
    assert turn.calls[0].result is not None
    assert (turn.calls[0].result.ok, turn.calls[0].bound_by) == (True, "order")


def test_reasoning_of_grok_belongs_to_the_answer_behind_it() -> None:
    child, parent = sorted(traces_of(FIXTURES / "grok"), key=lambda trace: trace.parent is None)
    assert child.parent is not None
    assert (child.parent.trace_id, child.session_id) == (parent.id, parent.session_id)
    assert parent.system_prompt is not None
    first = parent.turns[2]
    assert isinstance(first.content[0], Reasoning)
    assert first.text == "I'll read the file first."
    assert (first.model, first.settings) == ("grok-4.5", {"reasoning_effort": "high"})
    assert [call.name for call in parent.turns[3].calls] == ["web_search", "run_terminal_cmd"]
    assert [turn.origin for turn in parent.turns[:2]] == ["harness", "human"]


def test_sessions_of_grok_with_one_system_prompt_are_not_one_session(tmp_path: Path) -> None:
    record = {"type": "system", "content": "You are Grok."}
    for name in ("one", "two"):
        lines(tmp_path / name / "chat_history.jsonl", record)
    ids = [trace.id for trace in traces_of(tmp_path)]
    assert len(set(ids)) == 2


def test_how_a_command_of_droid_failed_stands_in_its_words() -> None:
    (trace,) = traces_of(FIXTURES / "droid" / "session_store_small.jsonl")
    result = trace.calls[0].result
    assert result is not None
    assert (result.ok, result.exit_code) == (False, 1)
    (trace,) = traces_of(FIXTURES / "droid" / "stream_json_small.jsonl")
    result = trace.calls[0].result
    assert result is not None
    assert (result.ok, result.exit_code) == (True, 0)
    assert trace.turns[-1].text == "Done"
    assert trace.outcome is not None
    assert trace.outcome.ended


def test_arguments_of_antigravity_are_unpacked_and_its_steps_answer_in_order() -> None:
    (trace,) = traces_of(FIXTURES / "antigravity" / "cli_small.jsonl")
    first = trace.calls[0]
    assert first.arguments == {"DirectoryPath": "/tmp/repo", "toolSummary": "Listing contents"}
    assert first.bound_by == "order"
    assert (trace.calls[1].name, trace.calls[1].bound_by) == ("view_file", "synthetic")
    assert trace.calls[1].result is not None
    assert trace.calls[1].result.truncated
    assert [turn.origin for turn in trace.turns if turn.role == "user"][:2] == ["human", "harness"]


def test_results_of_telemetry_say_how_a_tool_ended_and_not_what_it_gave() -> None:
    traces = traces_of(shared_data("openclaw-telemetry"))
    main, *children = traces
    assert len(children) == 3
    for child in children:
        assert child.parent is not None
        call = main.find_call(child.parent.call_id or "")
        assert call is not None
        assert (child.parent.trace_id, call.name) == (main.id, "sessions_spawn")
        result = child.calls[0].result
        assert result is not None
        assert (result.ok, result.content, result.truncated) == (True, UNKNOWN, True)
        assert child.calls[0].duration_ms is not None
    assert main.fidelity.count("value_masked") > 0
    assert "next_turn" not in children[0].fidelity.fit_for
