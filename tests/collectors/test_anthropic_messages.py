"""What Anthropic's own SDK sends and returns, as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import pytest
from tracedance_collectors.anthropic_messages import collector

from tests.support.scripted_api import scripted_api
from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.trace import Media, Reasoning, Trace

TOOLS: list[Any] = [
    {"name": "look", "description": "Look.", "input_schema": {"type": "object"}},
    {"type": "web_search_20250305", "name": "web_search"},
]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def body(number: int, *content: dict[str, Any], stop_reason: str = "tool_use") -> dict[str, Any]:
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-x-1",
        "content": list(content), "stop_reason": stop_reason, "stop_sequence": None,
        "usage": {
            "input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 4, "service_tier": "standard",
        },
    }  # fmt: skip


REPLIES = (
    body(
        1,
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sky"}},
        {"type": "tool_use", "id": "t2", "name": "look", "input": {"at": "sea"}},
    ),
    body(
        2,
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "w"}},
        {
            "type": "web_search_tool_result", "tool_use_id": "s1",
            "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        },
        {"type": "text", "text": "Blue."},
        stop_reason="end_turn",
    ),
    body(3, {"type": "text", "text": "Grey."}, stop_reason="end_turn"),
)  # fmt: skip


def talk(*replies: dict[str, Any]) -> list[dict[str, str]]:
    """Run a conversation with the real SDK; return the bytes sent and the messages as dumped."""
    dumped: list[str] = []
    with scripted_api(*replies) as api:
        client = anthropic.Anthropic(base_url=api.url, api_key="none", max_retries=0)
        history: list[Any] = [
            {"role": "user", "content": [IMAGE, {"type": "text", "text": "Look."}]}
        ]
        for _ in replies:
            message = client.messages.create(
                model="claude-x",
                max_tokens=100,
                system=[{"type": "text", "text": "Be brief."}],
                tools=TOOLS,
                messages=history,
            )
            dumped.append(message.model_dump_json())
            results: list[Any] = [
                {
                    "type": "tool_result", "tool_use_id": block.id, "is_error": block.id == "t2",
                    "content": [{"type": "text", "text": f"seen {block.id}"}],
                }
                for block in message.content
                if block.type == "tool_use"
            ]  # fmt: skip
            added = {"role": "user", "content": results or "And now?"}
            history = [*history, {"role": "assistant", "content": message.content}, added]
        return [
            {"request": request.decode(), "response": response}
            for request, response in zip(api.requests, dumped, strict=True)
        ]


def read(path: Path) -> list[Trace]:
    assert collector.sniff(path, path.read_bytes()[:65536])
    found = list(collector.collect(path))
    assert not [item for item in found if isinstance(item, ImportProblem)]
    return [item for item in found if isinstance(item, Trace)]


def written(path: Path, records: list[dict[str, str]]) -> Path:
    lines = [{key: json.loads(text) for key, text in record.items()} for record in records]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_a_conversation_with_the_real_sdk_is_one_trace_that_says_everything_once(
    tmp_path: Path,
) -> None:
    (trace,) = read(written(tmp_path / "log.jsonl", talk(*REPLIES)))
    assert [(turn.role, turn.text) for turn in trace.turns] == [
        ("user", "Look."),
        ("assistant", "I look."),
        ("assistant", "Blue."),
        ("user", "And now?"),
        ("assistant", "Grey."),
    ]
    picture = trace.turns[0].content[0]
    assert isinstance(picture, Media)
    assert (picture.mime_type, picture.data) == ("image/png", "aGk=")
    thought = trace.turns[1].content[0]
    assert isinstance(thought, Reasoning)
    assert (thought.text, thought.model_extra) == ("Hm.", {"part": {"signature": "c2ln"}})
    told = [(call.name, call.arguments, call.result and call.result.ok) for call in trace.calls]
    assert told == [
        ("look", {"at": "sky"}, True),
        ("look", {"at": "sea"}, False),
        ("web_search", {"query": "w"}, False),
    ]
    contents = [call.result.content for call in trace.calls[:2] if call.result is not None]
    assert contents == ["seen t1", "seen t2"]
    searched = trace.calls[2].result
    assert searched is not None
    assert searched.error is not None
    assert searched.error.type == "max_uses_exceeded"
    assert trace.system_prompt == "Be brief."
    assert [tool.name for tool in trace.tools] == ["look", "web_search"]
    usage = trace.turns[1].usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (16, 4, 2)
    assert trace.turns[-1].finish_reason == "end_turn"
    assert trace.turns[-1].settings == {"max_tokens": 100}


@pytest.mark.parametrize("kind", ["request", "response"])
def test_a_request_alone_and_a_message_alone_are_read(tmp_path: Path, kind: str) -> None:
    record = talk(*REPLIES)[1]
    path = tmp_path / "one.json"
    path.write_text(record[kind], encoding="utf-8")
    (trace,) = read(path)
    wanted = {"request": ["look", "look"], "response": ["web_search"]}
    assert [call.name for call in trace.calls] == wanted[kind]


def test_the_last_request_of_a_conversation_has_all_but_the_last_reply(tmp_path: Path) -> None:
    records = talk(*REPLIES)
    path = tmp_path / "last.json"
    path.write_text(records[-1]["request"], encoding="utf-8")
    (last,), (whole,) = read(path), read(written(tmp_path / "log.jsonl", records))
    assert [turn.text for turn in last.turns] == [turn.text for turn in whole.turns[:-1]]
    assert [call.result for call in last.calls] == [call.result for call in whole.calls]


def test_an_error_is_the_outcome(tmp_path: Path) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    request = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"request": request, "response": error}]), encoding="utf-8")
    (trace,) = read(path)
    assert trace.outcome is not None
    assert trace.outcome.error is not None
    assert trace.outcome.error.type == "overloaded_error"


def test_batches_are_read_and_a_bad_record_is_one_line(tmp_path: Path) -> None:
    entry = {"custom_id": "a", "result": {"type": "succeeded", "message": REPLIES[2]}}
    path = tmp_path / "batch.jsonl"
    bad = {"request": {"messages": [{"colour": "red"}]}}
    lines = [json.dumps(entry), json.dumps(bad), "{"]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = list(collector.collect(path))
    problems = [str(item) for item in found if isinstance(item, ImportProblem)]
    assert f"{path}:2: expected a message, got {{'colour': 'red'}} @ $.messages[0]" in problems
    assert len(problems) == 2
    (trace,) = [item for item in found if isinstance(item, Trace)]
    assert trace.turns[0].text == "Grey."
    kept = (trace.turns[0].model_extra or {})["response"]
    assert kept["record"] == {"custom_id": "a", "type": "succeeded"}
