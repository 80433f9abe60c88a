"""One message in every spelling there is: the same speaker, parts, calls and results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import values
from tracedance_sdk.formats import Message, SeenCall, SeenResult, read_message
from tracedance_sdk.formats.conversation_shapes import read_talk
from tracedance_sdk.formats.transcript import read_arguments
from tracedance_sdk.trace import UNKNOWN

LANGCHAIN = ["langchain", "schema", "messages", "AIMessage"]
FUNCTION = {"name": "look", "arguments": '{"at": "sky"}'}

CALLS: dict[str, Any] = {
    "OpenAI": {"role": "assistant", "tool_calls": [{"id": "c", "function": FUNCTION}]},
    "Responses": {"type": "function_call", "call_id": "c", **FUNCTION},
    "Anthropic": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "c", "name": "look", "input": {"at": "sky"}}]},
    "Gemini": {"role": "model", "parts": [
        {"functionCall": {"id": "c", "name": "look", "args": {"at": "sky"}}}]},
    "Gemini, Python": {"role": "model", "parts": [
        {"function_call": {"id": "c", "name": "look", "args": {"at": "sky"}}}]},
    "Bedrock": {"role": "assistant", "content": [
        {"toolUse": {"toolUseId": "c", "name": "look", "input": {"at": "sky"}}}]},
    "Vercel": {"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "c", "toolName": "look", "args": {"at": "sky"}}]},
    "LangChain": {"type": "ai", "content": "", "tool_calls": [
        {"name": "look", "args": {"at": "sky"}, "id": "c", "type": "tool_call"}]},
    "LangChain, dumped": {"lc": 1, "id": LANGCHAIN, "kwargs": {"content": "", "tool_calls": [
        {"name": "look", "args": {"at": "sky"}, "id": "c"}]}},
    "LangChain, older": {"role": "assistant", "content": "", "additional_kwargs": {
        "tool_calls": [{"id": "c", "function": FUNCTION, "type": "function"}]}},
    "Pydantic AI": {"kind": "response", "parts": [
        {"part_kind": "tool-call", "tool_name": "look", "args": {"at": "sky"},
         "tool_call_id": "c"}]},
    "OpenTelemetry": {"role": "assistant", "parts": [
        {"type": "tool_call", "id": "c", "name": "look", "arguments": {"at": "sky"}}]},
    "Inspect": {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c", "function": "look", "arguments": {"at": "sky"}}]},
}  # fmt: skip

RESULTS: dict[str, Any] = {
    "OpenAI": {"role": "tool", "tool_call_id": "c", "content": "blue"},
    "Responses": {"type": "function_call_output", "call_id": "c", "output": "blue"},
    "Anthropic": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c",
         "content": [{"type": "text", "text": "blue"}]}]},
    "Gemini": {"role": "user", "parts": [
        {"functionResponse": {"id": "c", "name": "look", "response": "blue"}}]},
    "Bedrock": {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": "blue"}}]},
    "Vercel": {"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "c", "toolName": "look", "result": "blue"}]},
    "LangChain": {"type": "tool", "name": "look", "tool_call_id": "c", "content": "blue"},
    "Pydantic AI": {"kind": "request", "parts": [
        {"part_kind": "tool-return", "tool_name": "look", "content": "blue", "tool_call_id": "c"}]},
    "OpenTelemetry": {"role": "tool", "parts": [
        {"type": "tool_call_response", "id": "c", "response": "blue"}]},
}  # fmt: skip


@pytest.mark.parametrize("shape", CALLS)
def test_a_call_is_the_same_in_every_shape(shape: str) -> None:
    message = read_message(CALLS[shape])
    assert message is not None
    assert message.speaker == "assistant"
    (call,) = message.calls
    arguments = call.arguments if call.text is None else read_arguments(call.text)[0]
    assert (call.id, call.name, arguments) == ("c", "look", {"at": "sky"})
    assert message.parts == ()


@pytest.mark.parametrize("shape", RESULTS)
def test_a_result_is_the_same_in_every_shape(shape: str) -> None:
    message = read_message(RESULTS[shape])
    assert message is not None
    assert message.speaker == "tool"
    (result,) = message.results
    assert (result.call_id, result.content, result.ok) == ("c", "blue", None)
    assert result.name in (None, "look")


@pytest.mark.parametrize(
    ("block", "ok", "error"),
    [
        ({"type": "tool_result", "tool_use_id": "c", "is_error": True}, False, None),
        ({"type": "tool_result", "tool_use_id": "c", "is_error": False}, True, None),
        ({"toolResult": {"toolUseId": "c", "status": "error"}}, False, None),
        ({"toolResult": {"toolUseId": "c", "status": "success"}}, True, None),
        ({"part_kind": "retry-prompt", "tool_call_id": "c", "content": "no"}, False, None),
        ({"type": "mcp_call", "id": "c", "name": "f", "error": "bad"}, False, "bad"),
        ({"type": "web_search_call", "id": "c", "status": "completed"}, True, None),
        ({"type": "tool_result", "tool_use_id": "c", "content": {"error": "x"}}, None, None),
    ],
)
def test_a_result_failed_only_where_its_format_says_so(
    block: Any, ok: bool | None, error: str | None
) -> None:
    message = read_message({"role": "assistant", "content": [block]})
    assert message is not None
    (result,) = message.results
    assert result.ok is ok
    assert (result.error or {}).get("message") == error


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
         {"modality": "image", "mime_type": "image/png", "data": "aGk="}),
        ({"type": "input_image", "image_url": "https://a.example/b.png"},
         {"modality": "image", "uri": "https://a.example/b.png"}),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
         {"modality": "image", "mime_type": "image/png", "data": "aGk="}),
        ({"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}},
         {"modality": "document", "uri": "https://a.example/b.pdf"}),
        ({"inlineData": {"mimeType": "audio/mp3", "data": "aGk="}},
         {"modality": "audio", "mime_type": "audio/mp3", "data": "aGk="}),
        ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a/b"}},
         {"modality": "video", "mime_type": "video/mp4", "uri": "gs://a/b"}),
        ({"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
         {"modality": "audio", "mime_type": "audio/wav", "data": "aGk="}),
        ({"type": "image", "image": "data:image/gif;base64,aGk=", "detail": "low"},
         {"modality": "image", "mime_type": "image/gif", "data": "aGk=",
          "part": {"detail": "low"}}),
        ({"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGk="},
         {"modality": "image", "mime_type": "image/png", "data": "aGk="}),
        ({"type": "hologram", "beam": 7},
         {"modality": "hologram", "data": {"type": "hologram", "beam": 7}}),
    ],
)  # fmt: skip
def test_media_are_found_wherever_a_provider_puts_them(part: Any, expected: Any) -> None:
    message = read_message({"role": "user", "content": [part]})
    assert message is not None
    assert message.parts == ({"type": "media", **expected},)


def test_reasoning_is_apart_from_text_and_keeps_its_signature() -> None:
    message = read_message(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "Hi"},
            ],
        }
    )
    assert message is not None
    assert message.text == "Hi"
    assert message.parts[0] == {"type": "reasoning", "text": "Hm.", "part": {"signature": "s"}}
    assert message.parts[1]["part"] == {"data": "x", "type": "redacted_thinking"}


def test_what_a_message_says_beyond_the_known_is_kept() -> None:
    message = read_message({"role": "user", "content": "a", "cache": {"x": 1}, "name": "Sam"})
    assert message == Message(
        "user", ({"type": "text", "text": "a"},), "Sam", None, {"cache": {"x": 1}}
    )


@given(values)
def test_no_value_breaks_the_reader(value: Any) -> None:
    for wrapped in (
        value,
        {"role": "user", "content": value},
        {"role": "assistant", "parts": [value]},
    ):
        message = read_message(wrapped)
        assert message is None or all(
            isinstance(piece, (dict, SeenCall, SeenResult)) for piece in message.pieces
        )
    read_talk(value, speaker="user")


@given(st.lists(st.sampled_from(sorted(CALLS)), max_size=4))
def test_a_talk_has_all_messages_of_its_list(shapes: list[str]) -> None:
    talk = read_talk({"messages": [CALLS[shape] for shape in shapes]}, speaker="user")
    assert (0 if talk is None else len(talk.messages)) == len(shapes)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Hi", "Hi"),
        ({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}, "Hi"),
        ({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]}, "Hi"),
        ({"output": [{"type": "message", "role": "assistant", "content": "Hi"}]}, "Hi"),
        ({"generations": [[{"message": {"type": "ai", "content": "Hi"}}]]}, "Hi"),
        ({"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}}, "Hi"),
        ([{"type": "text", "text": "Hi"}], "Hi"),
        ([[{"role": "assistant", "content": "Hi"}]], "Hi"),
        ({"response": "Hi"}, "Hi"),
    ],
)
def test_a_reply_is_found_in_every_envelope(value: Any, text: str) -> None:
    talk = read_talk(value, speaker="assistant")
    assert talk is not None
    assert [(message.speaker, message.text) for message in talk.messages] == [("assistant", text)]


@pytest.mark.parametrize("value", [None, {}, [], {"count": 3}, 7, [1, 2], {"content": "role"}])
def test_what_is_no_talk_is_none(value: Any) -> None:
    assert read_talk(value, speaker="user") is None


def test_arguments_that_are_not_recorded_stay_unknown() -> None:
    message = read_message({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]})
    assert message is not None
    assert message.calls[0].arguments is UNKNOWN
