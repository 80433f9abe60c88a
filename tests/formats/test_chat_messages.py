"""The quick reader of plain chat messages says what the reader of any message says."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tracedance_sdk.formats import Message, SeenCall, SeenResult
from tracedance_sdk.formats.chat_messages import plain_chat_message
from tracedance_sdk.formats.message_shapes import read_object

WORDS = st.sampled_from(["", "a", "b c"])
CALLS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["", "c1", "c2", None]),
        "type": st.sampled_from(["function", "function", "custom", None]),
        "function": st.one_of(
            st.fixed_dictionaries({"name": WORDS, "arguments": WORDS}),
            st.fixed_dictionaries({"name": WORDS, "arguments": WORDS, "strict": st.booleans()}),
            st.none(),
        ),
    },
    optional={"index": st.integers(0, 2)},
)
EMPTY: st.SearchStrategy[Any] = st.sampled_from([None, None, []])
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", 3])},
    optional={
        "content": st.one_of(WORDS, EMPTY),
        "tool_calls": st.one_of(st.none(), st.lists(CALLS, max_size=2)),
        "tool_call_id": st.sampled_from([None, "", "c1"]),
        "name": st.sampled_from([None, "", "Ann"]),
        "refusal": st.sampled_from([None, None, "no"]),
        "annotations": EMPTY,
        "function_call": EMPTY,
        "audio": st.sampled_from([None, None, {}]),
        "type": st.sampled_from([None, "human"]),
        "data": st.sampled_from([None, {"content": "inner"}]),
        "lc": st.none(),
    },
)


@given(MESSAGES)
@settings(max_examples=2000, deadline=None)
def test_what_is_read_quickly_is_what_is_read_slowly(value: dict[str, Any]) -> None:
    found = plain_chat_message(value)
    if found is not None:
        assert found == read_object(value)


def test_the_four_plain_messages_are_read_quickly() -> None:
    function = {"name": "look", "arguments": '{"at":"sky"}'}
    plain: list[dict[str, Any]] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hi", "name": "Ann"},
        {
            "role": "assistant",
            "content": "I look.",
            "refusal": None,
            "annotations": [],
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "blue"},
    ]
    assert [plain_chat_message(value) for value in plain] == [
        Message("system", ({"type": "text", "text": "Be brief."},)),
        Message("user", ({"type": "text", "text": "Hi"},), "Ann"),
        Message(
            "assistant",
            (
                {"type": "text", "text": "I look."},
                SeenCall("look", "c1", text='{"at":"sky"}'),
            ),
        ),
        Message("tool", (SeenResult("c1", None, "blue"),)),
    ]
