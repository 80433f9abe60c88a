"""What pi and OpenClaw write beside words: branches, summaries, settings, sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.coding_agents import traces_of
from tests.support.shared_data import shared_data
from tracedance_sdk.trace import Call, Result, Trace, Turn

HEADER = {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}


def written(folder: Path, *entries: dict[str, Any]) -> Path:
    path = folder / "s.jsonl"
    path.write_text("\n".join(json.dumps(entry) for entry in (HEADER, *entries)))
    return path


def entry(name: str, parent: str | None, role: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "timestamp": "2026-01-01T00:00:02Z",
        "message": {"role": role, "content": name, **fields},
    }


def extra(record: Turn | Call | Result, key: str = "pi") -> dict[str, Any]:
    found: dict[str, Any] = (record.__pydantic_extra__ or {}).get(key, {})
    return found


def texts(trace: Trace) -> list[str]:
    return [turn.text for turn in trace.turns]


def test_each_branch_is_a_trace_and_a_later_fork_changes_no_id(tmp_path: Path) -> None:
    trunk = [entry("a", None, "user"), entry("b", "a", "assistant"), entry("c", "b", "user")]
    (before,) = traces_of(written(tmp_path, *trunk))
    label = {"type": "label", "id": "l", "parentId": "a", "label": "here"}
    forked = [entry("d", "a", "assistant"), entry("e", "l", "user"), entry("f", None, "user")]
    traces = traces_of(written(tmp_path, *trunk, label, *forked))
    assert [texts(trace) for trace in traces] == [["a", "b", "c"], ["a", "d"], ["a", "e"], ["f"]]
    assert traces[0].id == before.id
    assert [trace.metadata.get("branch") for trace in traces] == [None, "d", "l", "f"]
    assert len({trace.id for trace in traces}) == 4
    assert {trace.session_id for trace in traces} == {"s"}
    main, *others = traces
    assert [trace.metadata.get("pi", {}).get("branch") for trace in others] == [
        {"of": main.id, "trunk_turns": 1},
        {"of": main.id, "trunk_turns": 1},
        None,
    ]


def test_a_summary_takes_the_place_of_what_was_before(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "id": "k", "parentId": "a", "summary": "Short."}
    branch = {"type": "branch_summary", "id": "l", "parentId": "k", "summary": "Elsewhere."}
    kept = {"firstKeptEntryId": "a", "tokensBefore": 9}
    (trace,) = traces_of(written(tmp_path, entry("a", None, "user"), compaction | kept, branch))
    _, summary, other = trace.turns
    assert (summary.role, summary.origin, summary.text) == ("user", "harness", "Short.")
    assert (summary.__pydantic_extra__ or {})["compaction"] is True
    assert extra(summary)["firstKeptEntryId"] == "a"
    assert "compaction" not in (other.__pydantic_extra__ or {})


def test_usage_counts_the_cache_as_input_and_thinking_is_apart(tmp_path: Path) -> None:
    usage = {"input": 2, "output": 5, "cacheRead": 10, "cacheWrite": 3, "cost": {"total": 0.5}}
    content = [
        {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "abcd"},
        {"type": "text", "text": "Yes."},
    ]
    level = {"type": "thinking_level_change", "id": "t", "parentId": None, "thinkingLevel": "low"}
    fields = {"content": content, "usage": usage, "model": "m", "stopReason": "stop"}
    (trace,) = traces_of(written(tmp_path, level, entry("a", "t", "assistant", **fields)))
    (turn,) = trace.turns
    assert turn.usage is not None
    assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cost_usd) == (15, 5, 0.5)
    assert (turn.model, turn.finish_reason, turn.settings) == (
        "m",
        "stop",
        {"thinkingLevel": "low"},
    )
    assert turn.text == "Yes."
    assert turn.content[0].type == "reasoning"
    assert (turn.content[0].__pydantic_extra__ or {})["encrypted_chars"] == 4


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"isError": False}, (True, None)),
        ({"isError": True}, (False, None)),
        ({}, (None, None)),
        ({"isError": False, "details": {"exitCode": 2}}, (False, 2)),
        ({"isError": True, "content": "no\n\nCommand exited with code 1"}, (False, 1)),
        ({"isError": False, "details": {"status": "failed"}}, (False, None)),
    ],
    ids=["well", "error", "no flag", "exit code", "exit code in words", "status"],
)
def test_how_a_result_tells_of_success(
    tmp_path: Path, fields: dict[str, Any], expected: tuple[bool | None, int | None]
) -> None:
    block = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "x"}}
    asking = entry("a", None, "assistant", content=[block], stopReason="toolUse")
    answer = entry("b", "a", "toolResult", toolCallId="c", toolName="bash", **fields)
    (trace,) = traces_of(written(tmp_path, asking, answer))
    result = trace.calls[0].result
    assert result is not None
    assert (result.ok, result.exit_code) == expected


def test_calls_of_a_message_that_was_cut_short_never_ran(tmp_path: Path) -> None:
    block = {"type": "toolCall", "id": "c", "name": "edit", "arguments": {"a": 1}}
    block["partialJson"] = '{"a": 1, "b'
    asking = entry("a", None, "assistant", content=[block], stopReason="aborted")
    (trace,) = traces_of(written(tmp_path, asking))
    (call,) = trace.calls
    assert call.raw_arguments == '{"a": 1, "b'
    assert call.result is not None
    assert (call.result.ok, call.result.interrupted) == (None, True)


def test_a_command_of_the_user_is_the_users_call(tmp_path: Path) -> None:
    command = entry("a", None, "bashExecution", command="ls", output="x\n", exitCode=0)
    (trace,) = traces_of(written(tmp_path, command))
    (call,) = trace.calls
    assert trace.actions == ()
    assert (trace.turns[0].origin, call.requested_by, call.name) == ("human", "user", "bash")
    assert call.result is not None
    assert (call.result.content, call.result.exit_code) == ("x\n", 0)


def test_what_is_not_known_is_kept_in_its_place(tmp_path: Path) -> None:
    strange = {"type": "telepathy", "id": "t", "parentId": "a", "what": "?"}
    role = entry("r", "t", "oracle")
    (trace,) = traces_of(written(tmp_path, entry("a", None, "user"), strange, role))
    assert trace.metadata["pi"]["records"] == [
        {"before_turn": 1, "record": strange},
        {"before_turn": 1, "record": role},
    ]


def test_sub_agents_of_openclaw_know_the_call_that_started_them() -> None:
    traces = traces_of(shared_data("openclaw-sessions"))
    by_id = {trace.id: trace for trace in traces}
    (top,) = (trace for trace in traces if trace.parent is None)
    children = [trace for trace in traces if trace.parent is not None]
    assert len(children) == 19
    assert {trace.session_id for trace in traces} == {top.session_id}
    for child in children:
        assert child.parent is not None
        call = by_id[child.parent.trace_id].find_call(child.parent.call_id or "")
        assert call is not None
        assert call.name == "sessions_spawn"
        assert child.turns[0].origin == "agent"
    assert sorted(
        sum(t.parent is not None and t.parent.trace_id == up.id for t in traces) for up in traces
    )[-3:] == [5, 5, 9]
    assert all(t.outcome is not None and t.outcome.ended for t in traces)
    index = top.metadata["openclaw"]["index"]
    assert index["systemPromptReport"]["systemPrompt"]["chars"] > 0


def test_what_the_gateway_says_in_the_models_place_is_the_harness_words() -> None:
    (top,) = (t for t in traces_of(shared_data("openclaw-sessions")) if t.parent is None)
    said = [turn for turn in top.turns if turn.model == "gateway-injected"]
    assert [turn.origin for turn in said] == ["harness", "harness"]
    origins = [turn.origin for turn in top.turns if turn.role == "user"]
    assert (origins.count("human"), origins.count("harness")) == (18, 12)
