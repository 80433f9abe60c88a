from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.formats import (
    messages_from_trace,
    read_messages,
    tools_from_trace,
    trace_from_messages,
)
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    ErrorInfo,
    Media,
    Reasoning,
    Result,
    Text,
    Trace,
    Turn,
)


def asks(*ids: str, name: str = "lookup", **more: Any) -> dict[str, Any]:
    requests = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": f'{{"n":"{i}"}}'}}
        for i in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": requests, **more}


def answers(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def says(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    """What each call got, in order; None for nothing."""
    calls = [call for turn in read_messages(messages).turns for call in turn.calls]
    return [None if call.result is None else call.result.content for call in calls]


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        pytest.param([asks("a"), answers("a", 1)], [1], id="one"),
        pytest.param([asks("a", "b"), answers("b", 2), answers("a", 1)], [1, 2], id="swapped"),
        pytest.param(
            [asks("a"), answers("a", 1), asks("a"), answers("a", 2)], [1, 2], id="id used again"
        ),
        pytest.param(
            [asks("a", "a"), answers("a", 1), answers("a", 2)], [1, 2], id="id twice in one turn"
        ),
        pytest.param(
            [asks("a"), says("?"), asks("a"), answers("a", 2)],
            [None, 2],
            id="id used again, the first never answered",
        ),
        pytest.param(
            [asks("a"), says("wait"), answers("a", 1)], [1], id="answered after a word between"
        ),
        pytest.param(
            [asks("a"), asks("b"), answers("a", 1), answers("b", 2)], [1, 2], id="answered late"
        ),
        pytest.param([asks("a"), answers("z", 9)], [None, 9], id="nobody asked"),
        pytest.param([answers("a", 1), asks("a")], [1, None], id="answered before it was asked"),
        pytest.param([asks("a", "b"), {"role": "tool", "content": 1}], [1, None], id="no id"),
        pytest.param([{"role": "tool"}], [UNKNOWN], id="a result alone"),
    ],
)
def test_a_result_goes_to_the_call_that_asked_for_it(
    messages: list[dict[str, Any]], found: list[Any]
) -> None:
    assert contents(messages) == found
    trace = trace_from_messages(messages, trace_id="t")
    assert messages_from_trace(trace) == messages


def test_a_result_nobody_asked_for_is_kept_and_noted() -> None:
    trace = trace_from_messages([says("Hi"), answers("z", "9", name="pay")], trace_id="t")
    (call,) = trace.calls
    assert trace.turns[1].synthetic
    assert (call.name, call.arguments, call.bound_by) == ("pay", UNKNOWN, "synthetic")
    assert trace.fidelity.count("request_missing") == 1
    assert "grading" not in trace.fidelity.fit_for


def test_the_older_function_calls_are_paired_by_name() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "function_call": {"name": "pay", "arguments": "{}"}},
        {"role": "function", "name": "pay", "content": "done"},
        {"role": "assistant", "content": "", "function_call": {"name": "pay", "arguments": "{}"}},
        {"role": "function", "name": "pay", "content": "again"},
    ]
    trace = trace_from_messages(messages, trace_id="t")
    assert contents(messages) == ["done", "again"]
    assert [(call.id, call.bound_by) for call in trace.calls] == [
        ("call_0", "order"),
        ("call_1", "order"),
    ]
    assert messages_from_trace(trace) == messages


@pytest.mark.parametrize(
    ("text", "arguments", "raw"),
    [
        pytest.param('{"a":1}', {"a": 1}, None, id="compact"),
        pytest.param('{ "a" : "\\u00e9" }', {"a": "é"}, None, id="spelled in another way"),
        pytest.param('{"a": 1, "b": "\\u00e9"}', {"a": 1, "b": "é"}, None, id="as Python writes"),
        pytest.param('{"a": 1, "b": "é"}', {"a": 1, "b": "é"}, None, id="as Python may write"),
        pytest.param('{"a": 1, "a": 2}', {"a": 2}, '{"a": 1, "a": 2}', id="a spaced key twice"),
        pytest.param('{"a": 1e2}', {"a": 100.0}, None, id="a number spelled in another way"),
        pytest.param("[1]", [1], None, id="a list"),
        pytest.param("", {}, "", id="empty means none"),
        pytest.param('{"a": 1', UNKNOWN, '{"a": 1', id="cut"),
        pytest.param('{"a":1,"a":2}', {"a": 2}, '{"a":1,"a":2}', id="a key twice: the last"),
        pytest.param(
            '{"a":NaN}', {"a": {"$type": "float", "$repr": "nan"}}, '{"a":NaN}', id="no JSON number"
        ),
        pytest.param("[" * 300 + "]" * 300, UNKNOWN, "[" * 300 + "]" * 300, id="too deep"),
    ],
)
def test_arguments_are_parsed_and_kept_as_text_where_that_says_more(
    text: str, arguments: Any, raw: str | None
) -> None:
    message = asks("a")
    message["tool_calls"][0]["function"]["arguments"] = text
    trace = trace_from_messages([message], trace_id="t")
    (call,) = trace.calls
    assert call.arguments == arguments
    assert call.raw_arguments == raw
    assert messages_from_trace(trace) == [message]


def test_arguments_given_as_an_object_are_kept_as_an_object() -> None:
    message = asks("a")
    message["tool_calls"][0]["function"]["arguments"] = {"a": 1}
    trace = trace_from_messages([message], trace_id="t")
    assert trace.calls[0].arguments == {"a": 1}
    assert messages_from_trace(trace) == [message]


def test_a_leading_system_message_is_the_system_prompt_and_later_ones_are_turns() -> None:
    messages = [says("Be kind", "developer"), says("More", "system"), says("Hi")]
    trace = trace_from_messages(messages, trace_id="t")
    assert trace.system_prompt == "Be kind"
    assert [(turn.role, turn.origin, turn.text) for turn in trace.turns] == [
        ("system", "harness", "More"),
        ("user", "human", "Hi"),
    ]
    assert messages_from_trace(trace) == messages


def test_content_parts_become_text_media_and_reasoning() -> None:
    message = {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "thinking", "thinking": "hm"},
        ],
    }
    (turn,) = read_messages([message]).turns
    thinking = {"type": "thinking", "thinking": "hm"}
    assert turn.content == (
        Text(text="Look"),
        Media(modality="image", uri="https://a.example/b.png"),
        Media(modality="image", mime_type="image/png", data="aGk="),
        Media(modality="audio", mime_type="audio/mp3", data="aGk="),
        Media(modality="document", data={"type": "file", "file": {"file_id": "file-1"}}),
        Reasoning.model_validate({"text": "hm", "part": thinking}),
    )


def test_reasoning_and_refusals_beside_the_content_are_kept_apart_from_it() -> None:
    messages = [
        {"role": "assistant", "content": "4", "reasoning_content": "2 + 2"},
        {"role": "assistant", "content": None, "refusal": "I cannot"},
    ]
    trace = trace_from_messages(messages, trace_id="t")
    assert [turn.text for turn in trace.turns] == ["4", "I cannot"]
    assert trace.turns[0].content[0] == Reasoning(text="2 + 2")
    assert messages_from_trace(trace) == messages
    seen = trace.model_copy(update={"turns": trace.before(1)})
    assert messages_from_trace(seen) == [says("4", "assistant")]


def test_an_edited_turn_is_written_as_it_is_now() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "old", "cache": True}]}
    (turn,) = read_messages([message]).turns
    edited = turn.model_copy(update={"content": (Text(text="new"),)})
    assert messages_from_trace(Trace(id="t", turns=(edited,))) == [says("new")]


def test_a_recorded_trace_is_written_as_messages_that_claim_no_more_than_it_does() -> None:
    calls = (
        Call(
            index=0,
            id="a",
            name="pay",
            arguments={"n": 1},
            result=Result(ok=True, content={"k": 2}),
        ),
        Call(
            index=1,
            id="b",
            name="pay",
            arguments={},
            result=Result(ok=False, error=ErrorInfo(type="ValueError", message="no")),
        ),
        Call(index=2, id="c", name="pay", arguments={}, result=Result(interrupted=True)),
        Call(index=3, id="d", name="pay", arguments={}),
        Call(index=4, id="e", name="inner", requested_by="tool", parent_call_id="a"),
    )
    turn = Turn(index=0, role="assistant", origin="agent", synthetic=True, calls=calls)
    trace = Trace(id="t", system_prompt="Be kind", turns=(turn,))
    assert messages_from_trace(trace) == snapshot(
        [
            {"role": "system", "content": "Be kind"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "pay", "arguments": '{"n":1}'},
                    },
                    {"id": "b", "type": "function", "function": {"name": "pay", "arguments": "{}"}},
                    {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}},
                    {"id": "d", "type": "function", "function": {"name": "pay", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": '{"k":2}'},
            {"role": "tool", "tool_call_id": "b", "content": "ValueError: no"},
            {"role": "tool", "tool_call_id": "c"},
        ]
    )


def test_tools_are_read_with_the_conversation() -> None:
    tools = [
        {"type": "function", "function": {"name": "pay", "parameters": {}, "strict": True}},
        {"type": "web_search"},
    ]
    trace = trace_from_messages([says("Hi")], trace_id="t", tools=tools)
    assert [tool.name for tool in trace.tools] == ["pay", "web_search"]
    assert tools_from_trace(trace) == tools


def test_what_is_no_conversation_is_refused_with_its_place() -> None:
    def refusal(messages: Any, **more: Any) -> str:
        with pytest.raises(InvalidTrace) as caught:
            trace_from_messages(messages, trace_id="t", where="c.json", path="$.messages", **more)
        assert str(caught.value).startswith("c.json: ")
        return str(caught.value).removeprefix("c.json: ")

    call = {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    assert refusal({}) == snapshot("expected a list, got {} @ $.messages")
    assert refusal([1]) == snapshot("expected an object, got 1 @ $.messages[0]")
    assert refusal([{"content": "x"}]) == snapshot("field required @ $.messages[0].role")
    assert refusal([says("a"), says("b", "critic")]) == snapshot(
        "role 'critic' is none of system, developer, user, assistant, tool, function "
        "@ $.messages[1].role"
    )
    assert refusal([{"role": "user", "content": 5}]) == snapshot(
        "expected text, a list of parts or null, got 5 @ $.messages[0].content"
    )
    assert refusal([{"role": "user", "content": [5]}]) == snapshot(
        "expected an object, got 5 @ $.messages[0].content[0]"
    )
    assert refusal([{"role": "user", "content": [{"text": "x"}]}]) == snapshot(
        "field required @ $.messages[0].content[0].type"
    )
    assert refusal([{"role": "user", "content": [{"type": "text"}]}]) == snapshot(
        "field required @ $.messages[0].content[0].text"
    )
    assert refusal([{"role": "user", "content": "x", "name": 1}]) == snapshot(
        "expected text, got 1 @ $.messages[0].name"
    )
    assert refusal([{"role": "assistant", "tool_calls": {}}]) == snapshot(
        "expected a list, got {} @ $.messages[0].tool_calls"
    )
    assert refusal([{"role": "assistant", "tool_calls": [{**call, "function": {}}]}]) == snapshot(
        "field required @ $.messages[0].tool_calls[0].function.name"
    )
    assert refusal([{"role": "assistant", "tool_calls": [{**call, "id": 5}]}]) == snapshot(
        "expected text, got 5 @ $.messages[0].tool_calls[0].id"
    )
    assert refusal([{"role": "tool", "tool_call_id": 5}]) == snapshot(
        "expected text, got 5 @ $.messages[0].tool_call_id"
    )
    assert refusal([says("a")], tools={}) == snapshot("expected a list, got {} @ $.tools")
    assert refusal([says("a")], tools=[{"type": "function", "function": {}}]) == snapshot(
        "field required @ $.tools[0].function.name"
    )
