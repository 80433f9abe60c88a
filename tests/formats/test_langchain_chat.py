"""LangChain's messages, by their fields."""

from __future__ import annotations

from typing import Any

import pytest

from tracedance_sdk.formats import (
    message_from_langchain,
    reply_facts_from_langchain,
    request_from_langchain,
)

CALL = {"name": "look", "args": {"at": "sky"}, "id": "c1", "type": "tool_call"}


@pytest.mark.parametrize(
    ("fields", "speaker", "text"),
    [
        ({"type": "system", "content": "Be brief."}, "system", "Be brief."),
        ({"type": "human", "content": "Hi"}, "user", "Hi"),
        ({"type": "HumanMessageChunk", "content": "Hi"}, "user", "Hi"),
        ({"type": "ai", "content": "Hi"}, "assistant", "Hi"),
        (
            {"type": "AIMessageChunk", "content": [{"type": "text", "text": "Hi"}]},
            "assistant",
            "Hi",
        ),
        ({"type": "chat", "role": "assistant", "content": "Hi"}, "assistant", "Hi"),
        ({"type": "chat", "role": "critic", "content": "Hm"}, "user", "Hm"),
        ({"type": "ai", "content": ""}, "assistant", ""),
    ],
    ids=["system", "human", "human chunk", "ai", "ai chunk", "chat", "other role", "empty"],
)
def test_who_speaks_and_what(fields: dict[str, Any], speaker: str, text: str) -> None:
    message = message_from_langchain(fields)
    assert (message.speaker, message.text) == (speaker, text)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        {"type": "tool_use", "id": "c1", "name": "look", "partial_json": '{"at"', "index": 1},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "", "id": "fc_1"},
        {"type": "input_json_delta", "partial_json": "{}"},
    ],
    ids=["anthropic", "anthropic streamed", "responses", "delta"],
)
def test_a_call_is_read_once_and_whole(block: dict[str, Any]) -> None:
    said = {"type": "text", "text": "I look."}
    message = message_from_langchain({"type": "ai", "content": [said, block], "tool_calls": [CALL]})
    assert message.text == "I look."
    assert [(call.id, call.name, call.arguments) for call in message.calls] == [
        ("c1", "look", {"at": "sky"})
    ]


def test_a_call_whose_arguments_are_no_json_keeps_its_text() -> None:
    broken = {"name": "look", "args": '{"at": ', "id": "c1", "error": "no JSON"}
    message = message_from_langchain({"type": "ai", "content": "", "invalid_tool_calls": [broken]})
    assert [(call.name, call.text) for call in message.calls] == [("look", '{"at": ')]


def test_reasoning_beside_the_content_is_reasoning() -> None:
    beside = {"reasoning_content": "It is dark."}
    message = message_from_langchain(
        {"type": "ai", "content": "No.", "additional_kwargs": beside, "tool_calls": []}
    )
    assert [piece["type"] for piece in message.pieces if isinstance(piece, dict)] == [
        "reasoning",
        "text",
    ]


@pytest.mark.parametrize(("status", "ok"), [("success", True), ("error", False), (None, None)])
def test_a_tools_message_is_a_result(status: str | None, ok: bool | None) -> None:
    told = {"type": "tool", "content": "blue", "tool_call_id": "c1", "status": status}
    (result,) = message_from_langchain(told).results
    assert (result.call_id, result.content) == ("c1", "blue")
    assert result.ok is ok or (ok is True and result.ok is None)


def test_a_request_has_the_tools_and_the_settings_in_the_providers_words() -> None:
    tools = [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
        {"name": "fly", "input_schema": {"type": "object"}},
    ]
    given = {
        "model_name": "m-1", "model_kwargs": {}, "temperature": 0.0, "stop": ["END"],
        "tools": tools, "tool_choice": "any", "streaming": False, "seed": None,
    }  # fmt: skip
    asked = request_from_langchain(
        [message_from_langchain({"type": "human", "content": "Hi"})], given
    )
    assert [tool["name"] for tool in asked.tools] == ["look", "fly"]
    assert asked.model == "m-1"
    assert asked.settings == {"temperature": 0.0, "stop": ["END"], "tool_choice": "any"}
    assert asked.system is None


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({}, {}),
        ({"id": "lc_run--1", "response_metadata": {}}, {}),
        (
            {"id": "msg_1", "response_metadata": {"model": "m", "stop_reason": "end_turn"}},
            {"model": "m", "finish_reason": "end_turn", "response_id": "msg_1"},
        ),
        (
            {"id": "run-1", "response_metadata": {"id": "resp_1", "status": "completed"}},
            {"finish_reason": "completed", "response_id": "resp_1"},
        ),
    ],
    ids=["nothing", "own id", "anthropic", "responses"],
)
def test_what_a_reply_says_of_itself(fields: dict[str, Any], facts: dict[str, Any]) -> None:
    assert reply_facts_from_langchain(fields) == facts


def test_tokens_are_counted_by_our_names() -> None:
    told = {
        "input_tokens": 9,
        "output_tokens": 5,
        "total_tokens": 14,
        "input_token_details": {"cache_read": 4, "cache_creation": 3, "audio": 0},
        "output_token_details": {"reasoning": 2},
    }
    assert reply_facts_from_langchain({"usage_metadata": told}) == {
        "usage": {
            "input_tokens": 9,
            "output_tokens": 5,
            "cache_read_tokens": 4,
            "cache_write_tokens": 3,
            "reasoning_tokens": 2,
        }
    }
