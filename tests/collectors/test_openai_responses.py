"""What OpenAI's own SDK sends and returns, as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest
from tracedance_collectors.openai_responses import collector

from tests.support.scripted_api import scripted_api
from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.trace import Reasoning, Trace

TOOLS: list[Any] = [
    {
        "type": "function", "name": "look", "description": "Look.", "strict": True,
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    },
    {"type": "web_search"},
]  # fmt: skip


def body(number: int, *output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1767225600 + number,
        "status": "completed", "error": None, "incomplete_details": None, "instructions": None,
        "metadata": {}, "model": "gpt-x-1", "output": list(output), "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15,
        },
        **fields,
    }  # fmt: skip


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
CALL = {
    "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look",
    "arguments": '{"at":"sky"}', "status": "completed",
}  # fmt: skip
SEARCH = {
    "type": "web_search_call", "id": "ws_1", "status": "completed",
    "action": {"type": "search", "query": "weather"},
}  # fmt: skip


def said(text: str, number: int) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
        "content": [part],
    }  # fmt: skip


def talk(*replies: dict[str, Any], chained: bool = False) -> list[dict[str, str]]:
    """Run a conversation with the real SDK; return the bytes sent and the responses as dumped."""
    dumped: list[str] = []
    with scripted_api(*replies) as api:
        client = openai.OpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0)
        history: list[Any] = [{"role": "user", "content": "Look up."}]
        previous: Any = openai.omit
        for _ in replies:
            response = client.responses.create(
                model="gpt-x",
                instructions="Be brief.",
                tools=TOOLS,
                input=history,
                previous_response_id=previous,
            )
            dumped.append(response.model_dump_json())
            added: list[Any] = [
                {"type": "function_call_output", "call_id": item.call_id, "output": "blue"}
                for item in response.output
                if item.type == "function_call"
            ] or [{"role": "user", "content": "And now?"}]
            if chained:
                history, previous = added, response.id
            else:
                history = [*history, *response.output, *added]
        return [
            {"request": request.decode(), "response": response}
            for request, response in zip(api.requests, dumped, strict=True)
        ]


REPLIES = (
    body(1, THOUGHT, CALL),
    body(2, SEARCH, said("It is blue.", 2)),
    body(3, said("Grey.", 3)),
)


def read(path: Path) -> list[Trace]:
    assert collector.sniff(path, path.read_bytes()[:65536])
    found = list(collector.collect(path))
    assert not [item for item in found if isinstance(item, ImportProblem)]
    return [item for item in found if isinstance(item, Trace)]


def written(path: Path, records: list[dict[str, str]]) -> Path:
    lines = [{key: json.loads(text) for key, text in record.items()} for record in records]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize("chained", [False, True], ids=["history repeated", "responses chained"])
def test_a_conversation_with_the_real_sdk_is_one_trace_that_says_everything_once(
    tmp_path: Path, chained: bool
) -> None:
    (trace,) = read(written(tmp_path / "log.jsonl", talk(*REPLIES, chained=chained)))
    assert [(turn.role, turn.text) for turn in trace.turns] == [
        ("user", "Look up."),
        ("assistant", ""),
        ("assistant", "It is blue."),
        ("user", "And now?"),
        ("assistant", "Grey."),
    ]
    look, search = trace.calls
    assert (look.id, look.name, look.arguments) == ("call_1", "look", {"at": "sky"})
    assert look.result is not None
    assert (look.result.content, look.result.ok) == ("blue", None)
    assert search.name == "web_search"
    assert isinstance(search.arguments, dict)
    assert search.arguments["query"] == "weather"
    assert search.result is not None
    assert search.result.ok is True
    thought = trace.turns[1].content[0]
    assert isinstance(thought, Reasoning)
    assert thought.text == "Hm."
    assert trace.system_prompt == "Be brief."
    assert [tool.name for tool in trace.tools] == ["look", "web_search"]
    replies = [turn for turn in trace.turns if turn.role == "assistant"]
    assert [turn.model for turn in replies] == ["gpt-x-1"] * 3
    usage = replies[0].usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens, usage.reasoning_tokens) == (10, 4, 2)
    assert str(trace.started_at) == "2026-01-01 00:00:01+00:00"
    assert trace.fidelity.fit_for == ("reading", "grading", "next_turn", "rebuilt_test")


def test_an_id_stays_the_same_while_the_conversation_grows(tmp_path: Path) -> None:
    records = talk(*REPLIES)
    (begun,) = read(written(tmp_path / "a.jsonl", records[:2]))
    (grown,) = read(written(tmp_path / "b.jsonl", records))
    assert begun.id == grown.id
    assert len(begun.turns) < len(grown.turns)


def test_requests_alone_and_responses_alone_are_read(tmp_path: Path) -> None:
    records = talk(*REPLIES)
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(record["request"] for record in records), encoding="utf-8")
    (trace,) = read(path)
    assert [turn.text for turn in trace.turns if turn.role == "user"] == ["Look up.", "And now?"]
    assert len(trace.calls) == 2
    path = tmp_path / "response.json"
    path.write_text(records[0]["response"], encoding="utf-8")
    (alone,) = read(path)
    assert [call.name for call in alone.calls] == ["look"]


def test_a_chain_whose_start_is_not_in_the_file_says_that_a_record_is_lost(tmp_path: Path) -> None:
    records = talk(*REPLIES, chained=True)
    (trace,) = read(written(tmp_path / "log.jsonl", records[1:]))
    assert trace.fidelity.count("record_lost") == 1
    assert trace.fidelity.count("request_missing") == 1


def test_a_second_answer_to_the_same_request_is_a_branch(tmp_path: Path) -> None:
    records = talk(*REPLIES)
    again = json.loads(records[2]["response"]) | {"id": "resp_9"}
    other = {"request": records[2]["request"], "response": json.dumps(again)}
    first, second = read(written(tmp_path / "log.jsonl", [*records, other]))
    assert first.id != second.id
    marked = [bool((turn.model_extra or {}).get("copied_context")) for turn in second.turns]
    assert marked == [True, True, True, True, False]


def test_the_end_of_a_stream_is_its_response(tmp_path: Path) -> None:
    done = {"type": "response.completed", "sequence_number": 2, "response": REPLIES[0]}
    started = {"type": "response.created", "sequence_number": 0, "response": body(1)}
    path = tmp_path / "stream.jsonl"
    path.write_text("\n".join(map(json.dumps, [started, done])), encoding="utf-8")
    (trace,) = read(path)
    assert [call.name for call in trace.calls] == ["look"]


def test_a_failed_response_is_the_outcome(tmp_path: Path) -> None:
    failed = body(1, status="failed", error={"code": "server_error", "message": "Oh."})
    (trace,) = read(written(tmp_path / "log.jsonl", talk(failed)))
    assert trace.outcome is not None
    assert trace.outcome.error is not None
    assert (trace.outcome.ended, trace.outcome.error.type) == (False, "server_error")
    assert trace.turns[-1].finish_reason == "failed"


def test_a_bad_record_is_one_line_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = json.dumps({"request": {"model": "m", "input": "Hi"}, "response": REPLIES[2]})
    bad = json.dumps({"request": {"model": "m", "input": 7}, "response": REPLIES[2]})
    path.write_text(f"{bad}\n{good}\n[]\n7\n", encoding="utf-8")
    found = list(collector.collect(path))
    assert [str(item) for item in found if isinstance(item, ImportProblem)] == [
        f"{path}:1: expected text or a list, got 7 @ $.input",
        f"{path}:4: expected an object, got 7 @ $",
    ]
    assert sum(isinstance(item, Trace) for item in found) == 1
