"""Pydantic AI's messages, requests and responses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.formats import (
    read_pydantic_ai,
    reply_from_pydantic_ai,
    request_from_pydantic_ai,
)
from tracedance_sdk.trace import UNKNOWN


def request(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), "timestamp": "2026-01-01T00:00:00Z"}


def response(*parts: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts), **facts}


SYSTEM = {"part_kind": "system-prompt", "content": "You look.", "dynamic_ref": None}
USER = {"part_kind": "user-prompt", "content": "What is it?"}
RETURN = {
    "part_kind": "tool-return",
    "tool_name": "look",
    "tool_call_id": "c1",
    "content": {"seen": 2},
}
ERRORS = [{"type": "missing", "loc": ["n"], "msg": "Field required"}]


def test_a_requests_parts_are_several_speakers_words() -> None:
    found = read_pydantic_ai(request(SYSTEM, USER, RETURN, USER))
    assert [(message.speaker, message.text) for message in found] == [
        ("system", "You look."),
        ("user", "What is it?"),
        ("tool", ""),
        ("user", "What is it?"),
    ]
    result = found[2].results[0]
    assert (result.call_id, result.name, result.content) == ("c1", "look", {"seen": 2})


@pytest.mark.parametrize(
    ("more", "ok", "kind"),
    [
        pytest.param({}, None, None, id="an older version says nothing"),
        pytest.param({"outcome": "success"}, True, None, id="success"),
        pytest.param({"outcome": "failed"}, False, None, id="failed"),
        pytest.param({"outcome": "denied"}, False, None, id="denied"),
        pytest.param({"outcome": "interrupted"}, None, None, id="interrupted"),
        pytest.param({"outcome": "retried", "content": "no"}, False, "ModelRetry", id="retried"),
        pytest.param(
            {"outcome": "retried", "content": ERRORS}, False, "ValidationError", id="refused"
        ),
        pytest.param(
            {"part_kind": "retry-prompt", "content": ERRORS}, False, "ValidationError", id="prompt"
        ),
    ],
)
def test_a_results_outcome_is_told(more: dict[str, Any], ok: bool | None, kind: str | None) -> None:
    result = read_pydantic_ai(request({**RETURN, **more}))[0].results[0]
    assert result.ok is ok
    assert (None if result.error is None else result.error["type"]) == kind


@pytest.mark.parametrize(
    "part",
    [
        {"part_kind": "retry-prompt", "content": "say yes", "tool_name": None},
        {"part_kind": "retry-feedback", "content": "say yes", "retry": {"cause": "model_retry"}},
        {
            "part_kind": "user-prompt",
            "content": "It failed (this is automated feedback, not a message from the user):\n"
            "<retry_feedback>\nsay yes\n</retry_feedback>",
        },
    ],
    ids=["old prompt", "part", "written out"],
)
def test_feedback_on_output_is_no_persons_word(part: dict[str, Any]) -> None:
    (message,) = read_pydantic_ai(request(part))
    assert message.speaker == "tool"
    assert not message.results
    assert "say yes" in message.text


@pytest.mark.parametrize("content", ["Look at it.", ["Look at it."]])
def test_what_a_tool_added_is_no_persons_word(content: Any) -> None:
    added = {"part_kind": "user-prompt", "content": content, "origin": "environment"}
    found = read_pydantic_ai(request(RETURN, added, USER))
    assert [(message.speaker, message.text) for message in found] == [
        ("tool", "Look at it."),
        ("user", "What is it?"),
    ]


def test_bookkeeping_is_not_told() -> None:
    kinds = ("instruction-digest", "tool-availability-delta", "model-settings-delta")
    assert read_pydantic_ai(request(*({"part_kind": kind} for kind in kinds))) == []


def test_what_a_user_shows_is_media() -> None:
    content = [
        "Look:",
        {"kind": "image-url", "url": "https://example.com/a.png", "force_download": False},
        {"kind": "binary", "data": "YWJj", "media_type": "audio/wav"},
        {"kind": "text-content", "content": "and listen"},
    ]
    (message,) = read_pydantic_ai(request({"part_kind": "user-prompt", "content": content}))
    assert [part["type"] for part in message.parts] == ["text", "media", "media", "text"]
    image, sound = message.parts[1:3]
    assert (image["modality"], image["uri"]) == ("image", "https://example.com/a.png")
    assert (sound["modality"], sound["mime_type"], sound["data"]) == ("audio", "audio/wav", "YWJj")


@pytest.mark.parametrize(
    ("args", "arguments", "written"),
    [
        ({"n": 1}, {"n": 1}, None),
        ('{"n": 1}', UNKNOWN, '{"n": 1}'),
        (None, {}, None),
        ("", {}, None),
    ],
    ids=["object", "text", "none", "empty"],
)
def test_a_call_has_its_arguments(args: Any, arguments: Any, written: str | None) -> None:
    part = {"part_kind": "tool-call", "tool_name": "look", "args": args, "tool_call_id": "c1"}
    (call,) = read_pydantic_ai(response(part))[0].calls
    assert (call.name, call.id, call.arguments, call.text) == ("look", "c1", arguments, written)


def test_a_reply_tells_model_usage_and_reason_in_the_providers_word() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2, "cache_read_tokens": 0, "details": {}}
    told = reply_from_pydantic_ai(
        response(
            {"part_kind": "thinking", "content": "hm", "signature": "s"},
            {"part_kind": "text", "content": "yes", "id": "m1"},
            usage={**usage, "details": {"reasoning_tokens": 5}},
            model_name="m-1",
            provider_details={"finish_reason": "end_turn"},
            finish_reason="stop",
            provider_response_id="r1",
        )
    )
    assert [part["type"] for part in told.message.parts] == ["reasoning", "text"]
    assert (told.model, told.finish_reason, told.response_id) == ("m-1", "end_turn", "r1")
    assert told.usage == {"input_tokens": 9, "output_tokens": 2, "reasoning_tokens": 5}


def test_an_empty_reply_that_counts_nothing_is_a_reply() -> None:
    told = reply_from_pydantic_ai(response(usage={"input_tokens": 0, "output_tokens": 0}))
    assert (told.message.speaker, told.message.pieces, told.usage) == ("assistant", (), None)


def test_a_request_has_one_system_prompt_that_ends_with_the_instructions() -> None:
    asked = request_from_pydantic_ai(
        read_pydantic_ai(request(SYSTEM, USER)),
        instructions="Be brief.",
        tools=[{"name": "look", "parameters_json_schema": {"type": "object"}}],
    )
    assert asked.system == "You look.\n\nBe brief."
    assert [message.text for message in asked.messages] == ["What is it?"]
    assert asked.tools == [{"name": "look", "parameters": {"type": "object"}}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KINDS = st.sampled_from(
    [
        "system-prompt", "user-prompt", "tool-return", "retry-prompt", "retry-feedback", "text",
        "thinking", "tool-call", "builtin-tool-call", "builtin-tool-return", "file", "unheard-of",
    ]
)  # fmt: skip
PARTS = st.dictionaries(
    st.sampled_from(["content", "tool_name", "tool_call_id", "args", "outcome", "id"]), JSON
).flatmap(lambda fields: KINDS.map(lambda kind: {**fields, "part_kind": kind}))


@given(st.sampled_from(["request", "response"]), st.lists(PARTS | JSON, max_size=4))
def test_whatever_the_parts_are_something_is_read(kind: str, parts: list[Any]) -> None:
    found = read_pydantic_ai({"kind": kind, "parts": parts})
    assert all(message.speaker for message in found)


@given(JSON)
def test_anything_else_is_no_message(value: Any) -> None:
    assert read_pydantic_ai(value) == []
    assert not any(m.pieces for m in read_pydantic_ai({"kind": "response", "parts": "none"}))


@given(st.lists(st.text(min_size=1), max_size=5))
def test_every_word_of_a_user_is_told_once(words: list[str]) -> None:
    parts = [{"part_kind": "user-prompt", "content": word} for word in words]
    found = read_pydantic_ai(request(*parts))
    assert [part["text"] for message in found for part in message.parts] == words
