"""`tracedance next-turn` from end to end: real SDKs against a scripted endpoint on the loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_models import APIS, Answer, ScriptedModels, saying, scripted_models
from tracedance_sdk.cli import run
from tracedance_sdk.grading import read_results

CHAT: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "You book rooms."},
        {"role": "user", "content": "A room for Ada, please."},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "CANARY",
            "tool_calls": [
                {
                    "id": "call 1",
                    "type": "function",
                    "function": {"name": "find_rooms", "arguments": '{"guests":1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call 1", "content": '["blue"]'},
        {"role": "assistant", "content": "The blue room is free."},
        {"role": "user", "content": "Take it."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "book_room", "arguments": '{"room":"blue"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "ok"},
        {"role": "assistant", "content": "Booked."},
    ],
    "tools": [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in ("find_rooms", "book_room")
    ],
}
SPEC = """\
format: tracedance.task
version: 1
id: book-it
description: Books the room that was asked for.
criteria:
  - type: counts
    of: book_room
    min: 1
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    return path


def rows(out: Path, grader: str = "next_turn") -> list[Any]:
    return [row for row in read_results(out).rows if row.grader == grader]


def ask(server: ScriptedModels, api: str, source: Path, *options: str) -> int:
    out = source.parent / "out"
    model = server.name(api)
    return run(["next-turn", str(source), "--model", model, "--out", str(out), *options])


@pytest.mark.parametrize("api", APIS)
def test_a_model_takes_the_turn_before_a_call(api: str, source: Path, tmp_path: Path) -> None:
    body = saying(api, None, ("book_room", '{"room":"red"}'), ("fly", "{}"))
    with scripted_models(lambda *_: Answer(body)) as server:
        code = ask(server, api, source, "--before-call", "book_room", "--samples", "2")
    assert code == 0
    found = rows(tmp_path / "out")
    assert [row.sample for row in found] == [0, 1]
    assert {row.subject.turn for row in found} == {4}
    calls = found[0].model_extra["reply"]["calls"]
    assert [(call["name"], call["arguments"]) for call in calls] == [
        ("book_room", {"room": "red"}),
        ("fly", {}),
    ]
    assert found[0].model_extra["unknown_tools"] == ["fly"]
    assert found[0].missing_reason is None
    assert "CANARY" not in json.dumps([request.body for request in server.requests])


@pytest.mark.parametrize(
    ("reply", "verdict", "code"),
    [(("book_room", '{"room":"blue"}'), "pass", 0), (("find_rooms", "{}"), "fail", 1)],
    ids=["does it", "does something else"],
)
def test_the_turn_alone_is_checked_by_a_specification(
    reply: tuple[str, str], verdict: str, code: int, source: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "task.yaml"
    spec.write_text(SPEC)
    with scripted_models(lambda *_: Answer(saying("openai", None, reply))) as server:
        assert ask(server, "openai", source, "--spec", str(spec)) == code
    (row,) = rows(tmp_path / "out", "spec:book-it")
    assert (str(row.verdict), row.subject.turn, row.model) == (verdict, 5, server.name("openai"))
    assert read_results(tmp_path / "out").manifest["specs"][0][0] == "book-it"


def test_a_second_run_sends_nothing_and_finds_the_same(source: Path, tmp_path: Path) -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        assert ask(server, "openai", source, "--samples", "3") == 0
        first = (tmp_path / "out" / "rows.jsonl").read_bytes()
        assert ask(server, "openai", source, "--samples", "3") == 0
    assert len(server.requests) == 3
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == first
    assert read_results(tmp_path / "out").manifest["calls"] == {"sent": 0, "from_cache": 3}
