"""Chat messages survive being a trace; a trace survives being messages as far as they can say."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import clean_texts, objects, traces, values
from tracedance_sdk.formats import (
    messages_from_trace,
    read_messages,
    tools_from_chat,
    trace_from_messages,
    write_messages,
    written_tools,
)
from tracedance_sdk.formats.places import Place
from tracedance_sdk.trace import Trace, decode, encode_json, parse_json, same_json

ids = st.sampled_from(["call_1", "call_2", "call_3"])
names = st.sampled_from(["lookup", "pay"])
arguments = st.one_of(
    objects.map(lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)),
    objects.map(json.dumps),
    values.map(json.dumps),
    st.sampled_from(["", " ", "{", '{"a": 1, "a": 2}', '{"a":NaN}', '{"a":1e400}', "1" * 25]),
    clean_texts,
)


def fields(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional={**optional, "x_extra": values})


parts = st.one_of(
    fields({"type": st.just("text"), "text": clean_texts}, {"cache_control": values}),
    fields({"type": st.just("refusal"), "refusal": clean_texts}, {}),
    st.fixed_dictionaries(
        {
            "type": st.just("image_url"),
            "image_url": fields(
                {"url": st.sampled_from(["https://a.example/b.png", "data:image/png;base64,aGk="])},
                {"detail": st.just("low")},
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("input_audio"),
            "input_audio": fields({"data": st.just("aGk="), "format": st.just("mp3")}, {}),
        }
    ),
    fields({"type": st.just("file"), "file": fields({"file_id": clean_texts}, {})}, {}),
    fields({"type": st.just("thinking"), "thinking": clean_texts}, {"signature": clean_texts}),
    fields({"type": st.just("hologram")}, {}),
)
contents = st.one_of(st.none(), clean_texts, st.lists(st.one_of(parts, clean_texts), max_size=3))
functions = fields({"name": names}, {"arguments": st.one_of(arguments, objects, st.none())})
requests = st.one_of(
    st.fixed_dictionaries(
        {
            "id": ids,
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": names, "arguments": arguments}),
        }
    ),
    fields({"function": functions}, {"id": st.one_of(ids, st.just(""), st.none())}),
    fields(
        {"type": st.just("custom"), "custom": fields({"name": names}, {"input": clean_texts})},
        {"id": ids},
    ),
)
speech = fields(
    {"role": st.sampled_from(["system", "developer", "user"]), "content": contents},
    {"name": clean_texts},
)
plain_speech = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "assistant"]), "content": clean_texts}
)
replies = fields(
    {"role": st.just("assistant")},
    {
        "content": contents,
        "name": clean_texts,
        "tool_calls": st.one_of(st.none(), st.lists(requests, max_size=3)),
        "function_call": st.one_of(st.none(), functions),
        "reasoning_content": clean_texts,
        "reasoning": clean_texts,
        "refusal": st.one_of(st.none(), clean_texts),
    },
)
answers = st.one_of(
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids, "content": clean_texts}),
    fields(
        {"role": st.sampled_from(["tool", "function"])},
        {
            "tool_call_id": st.one_of(ids, st.none()),
            "name": names,
            "content": st.one_of(contents, values),
        },
    ),
)
conversations = st.lists(st.one_of(plain_speech, speech, replies, answers), max_size=8)


@given(conversations)
def test_messages_come_back_as_they_were(messages: list[dict[str, Any]]) -> None:
    found = read_messages(messages)
    written = write_messages(found.turns, system_prompt=found.system_prompt, style=found.style)
    assert same_json(written, messages)


@given(conversations)
def test_messages_come_back_from_a_trace_file(messages: list[dict[str, Any]]) -> None:
    trace = trace_from_messages(messages, trace_id="t")
    loaded = decode(parse_json(encode_json(trace), where="t", max_depth=250))
    assert loaded == trace
    assert same_json(messages_from_trace(loaded), messages)


@given(conversations)
def test_every_request_and_every_result_is_one_call(messages: list[dict[str, Any]]) -> None:
    trace = trace_from_messages(messages, trace_id="t")
    asked = sum(_asked(message) for message in messages)
    answered = [m for m in messages if m["role"] in ("tool", "function")]
    orphans = trace.fidelity.count("request_missing")
    assert len(trace.calls) == asked + orphans
    found = [call.result for call in trace.calls if call.result is not None]
    assert len(found) == len(answered)
    held = [item.content for item in found if "content" in item.model_fields_set]
    told = [message["content"] for message in answered if "content" in message]
    assert sorted(map(json.dumps, told)) == sorted(json.dumps(c) for c in held if _is_json(c))


def _is_json(value: object) -> bool:
    return repr(value) != "UNKNOWN"


def _asked(message: dict[str, Any]) -> int:
    if message["role"] != "assistant":
        return 0
    return len(message.get("tool_calls") or []) or int(message.get("function_call") is not None)


@given(traces())
def test_a_trace_as_messages_is_read_as_the_trace_of_these_messages(trace: Trace) -> None:
    messages = messages_from_trace(trace)
    once = trace_from_messages(messages, trace_id="t")
    assert same_json(messages_from_trace(once), messages)
    assert trace_from_messages(messages_from_trace(once), trace_id="t") == once


tools = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "type": st.just("function"),
                "function": fields(
                    {"name": names}, {"description": clean_texts, "parameters": objects}
                ),
            }
        ),
        fields({"name": names}, {"description": clean_texts, "parameters": objects}),
        fields({"type": st.just("web_search")}, {}),
        fields({"type": st.just("custom"), "custom": fields({"name": names}, {})}, {}),
    ),
    max_size=3,
)


@given(tools)
def test_tool_definitions_come_back_as_they_were(entries: list[dict[str, Any]]) -> None:
    assert same_json(written_tools(tools_from_chat(entries, Place("x"))), entries)


def test_reasoning_and_media_of_other_formats_are_parts_that_are_read_again() -> None:
    trace = Trace.model_validate(
        {
            "id": "t1",
            "turns": [
                {
                    "index": 0,
                    "role": "assistant",
                    "origin": "agent",
                    "content": [
                        {"type": "reasoning", "text": "Hm.", "part": {"signature": "s"}},
                        {"type": "media", "modality": "image", "data": {"type": 7}},
                        {"type": "text", "text": "Yes."},
                    ],
                }
            ],
        }
    )
    messages = messages_from_trace(trace)
    again = trace_from_messages(messages, trace_id="t1")
    assert [part.type for part in again.turns[0].content] == ["reasoning", "media", "text"]
    assert messages_from_trace(again) == messages
