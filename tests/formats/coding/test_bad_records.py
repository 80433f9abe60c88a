"""Records of sessions that say nothing: a problem and a note each, no branch and no turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.formats import ImportProblem, named_collector
from tracedance_sdk.trace import Trace


def read(path: Path, name: str, records: list[Any]) -> tuple[list[Trace], list[ImportProblem]]:
    file = path / "session.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = list(named_collector(name).collect(file))
    problems = [item for item in found if isinstance(item, ImportProblem)]
    return [item for item in found if isinstance(item, Trace)], problems


def pi(name: str, parent: str | None, role: str) -> dict[str, Any]:
    message = {"role": role, "content": name}
    return {"type": "message", "id": name, "parentId": parent, "message": message}


PI = [
    {"type": "session", "id": "s", "version": 3},
    pi("a", None, "user"),
    pi("b", "a", "assistant"),
]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"type": "message"}, id="a message without anything"),
        pytest.param({"type": "message", "message": 5}, id="a number"),
        pytest.param({"type": "message", "message": {}}, id="no role"),
        pytest.param({"type": "custom_message"}, id="no content"),
        pytest.param({"type": "compaction", "summary": 5}, id="no summary"),
        pytest.param({"type": None}, id="no type"),
        pytest.param({}, id="nothing"),
        pytest.param(5, id="no object"),
    ],
)
@pytest.mark.parametrize("has_id", [False, True], ids=["nameless", "named"])
def test_of_pi(tmp_path: Path, bad: Any, has_id: bool) -> None:
    if has_id and isinstance(bad, dict):
        bad = {**bad, "id": "x", "parentId": "b"}
        rest = [pi("c", "x", "user"), pi("d", "c", "assistant")]
    else:
        rest = [pi("c", "b", "user"), pi("d", "c", "assistant")]
    whole, _ = read(tmp_path, "pi", [*PI, *rest[1:]])
    (trace,), problems = read(tmp_path, "pi", [*PI, bad, *rest])
    assert [turn.text for turn in trace.turns] == ["a", "b", "c", "d"]
    assert trace.id == whole[0].id
    assert trace.fidelity.count("record_lost") == 1
    assert [problem.line for problem in problems] == [4]
    if isinstance(bad, dict):
        assert trace.metadata
        assert bad in [item["record"] for item in trace.metadata["pi"]["records"]]


def claude(name: str, parent: str | None, role: str) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": name}], "id": f"m-{name}"}
    return {
        "type": role, "uuid": name, "parentUuid": parent, "sessionId": "s", "message": message,
    }  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"type": "user"}, id="without a message"),
        pytest.param({"type": "assistant", "message": 5}, id="a number"),
        pytest.param({"type": "user", "message": {"role": "user"}}, id="without content"),
        pytest.param({}, id="nothing"),
    ],
)
@pytest.mark.parametrize("has_id", [False, True], ids=["nameless", "named"])
def test_of_claude_code(tmp_path: Path, bad: dict[str, Any], has_id: bool) -> None:
    first = [claude("a", None, "user"), claude("b", "a", "assistant")]
    above = "x" if has_id else "b"
    bad = {**bad, "uuid": "x", "parentUuid": "b", "sessionId": "s"} if has_id else bad
    rest = [claude("c", above, "user"), claude("d", "c", "assistant")]
    (trace,), problems = read(tmp_path, "claude_code", [*first, bad, *rest])
    assert [turn.text for turn in trace.turns] == ["a", "b", "c", "d"]
    assert trace.fidelity.count("record_lost") >= 1
    assert [problem.line for problem in problems] == [3]


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": fields}


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"type": "response_item"}, id="no payload"),
        pytest.param({"type": "response_item", "payload": {}}, id="an empty payload"),
        pytest.param({"type": "function_call", "payload": 5}, id="a number"),
        pytest.param({"type": "event_msg", "payload": []}, id="a list"),
        pytest.param({}, id="nothing"),
        pytest.param(None, id="null"),
    ],
)
def test_of_codex(tmp_path: Path, bad: Any) -> None:
    words = [{"type": "input_text", "text": "hi"}]
    first = [
        item("session_meta", id="s", cwd="/x"),
        item("response_item", type="message", role="user", content=words),
    ]
    last = item("response_item", type="message", role="assistant", content=words)
    (trace,), problems = read(tmp_path, "codex", [*first, bad, last])
    assert [turn.text for turn in trace.turns] == ["hi", "hi"]
    assert trace.fidelity.count("record_lost") == 1
    assert [problem.line for problem in problems] == [3]


@pytest.mark.parametrize("bad", [{}, {"type": None}, {"type": 5, "x": 1}])
def test_of_openclaws_telemetry(tmp_path: Path, bad: Any) -> None:
    start = {"type": "agent.start", "sessionKey": "k", "agentId": "main", "prompt": "hi"}
    (trace,), problems = read(tmp_path, "openclaw_telemetry", [start, bad])
    assert [turn.text for turn in trace.turns] == ["hi"]
    assert trace.fidelity.count("record_lost") == 1
    assert [problem.line for problem in problems] == [2]
    assert trace.metadata
    assert bad in [item["record"] for item in trace.metadata["openclaw"]["records"]]


@pytest.mark.parametrize(
    "bad", [{}, {"type": "item.completed"}, {"type": "item.started", "item": 5}]
)
def test_of_codex_exec(tmp_path: Path, bad: Any) -> None:
    said = {"id": "i", "type": "agent_message", "text": "hi"}
    first = {"type": "thread.started", "thread_id": "t"}
    last = {"type": "item.completed", "item": said}
    (trace,), problems = read(tmp_path, "codex_exec", [first, bad, last])
    assert [turn.text for turn in trace.turns] == ["hi"]
    assert trace.fidelity.count("record_lost") == 1
    assert [problem.line for problem in problems] == [2]
