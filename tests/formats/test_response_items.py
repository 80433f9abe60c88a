"""The quick reader of plain response items says what the reader of any message says."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tracedance_sdk.formats import Message, SeenCall, SeenResult
from tracedance_sdk.formats.message_shapes import read_object
from tracedance_sdk.formats.response_items import plain_response_item

WORDS: st.SearchStrategy[Any] = st.sampled_from(["", "a", "b c", None, 3])
MARKS = {
    "id": st.sampled_from([None, "", "x1", 3]),
    "status": st.sampled_from([None, "", "completed"]),
    "extra": st.sampled_from([None, "further"]),
}
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["output_text", "output_text", "input_text", "refusal"])},
    optional={
        "text": WORDS,
        "annotations": st.sampled_from([[], None, [{"type": "url_citation"}]]),
        "logprobs": st.sampled_from([[], None]),
        "refusal": WORDS,
    },
)
CONTENTS = st.one_of(WORDS, st.lists(PARTS, max_size=2), st.lists(WORDS, max_size=1))
KINDS = ["function_call", "function_call_output", "message", "reasoning", "custom_tool_call"]
ITEMS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("function_call"), "call_id": WORDS, "name": WORDS, "arguments": WORDS},
        optional=MARKS,
    ),
    st.fixed_dictionaries(
        {"type": st.just("function_call_output"), "call_id": WORDS, "output": CONTENTS},
        optional=MARKS,
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("message"),
            "role": st.sampled_from(["assistant", "assistant", "user"]),
            "content": CONTENTS,
        },
        optional=MARKS,
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from([*KINDS, None, 3])},
        optional={
            "call_id": WORDS,
            "name": WORDS,
            "arguments": WORDS,
            "output": WORDS,
            "role": WORDS,
            "content": CONTENTS,
            **MARKS,
        },
    ),
)


@given(ITEMS)
@settings(max_examples=2000, deadline=None)
def test_what_is_read_quickly_is_what_is_read_slowly(value: dict[str, Any]) -> None:
    found = plain_response_item(value)
    if found is not None:
        assert found == read_object(value)


def test_the_three_plain_items_are_read_quickly() -> None:
    part = {"type": "output_text", "text": "Done.", "annotations": [], "logprobs": []}
    mark = {"id": "fc_1", "status": "completed"}
    plain: list[dict[str, Any]] = [
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", **mark},
        {"type": "function_call_output", "call_id": "c1", "output": ""},
        {
            "type": "message",
            "role": "assistant",
            "content": [part],
            "id": "m1",
            "status": "completed",
        },
    ]
    assert [plain_response_item(value) for value in plain] == [
        Message("assistant", (SeenCall("look", "c1", text="{}", extra=mark),), None, "fc_1"),
        Message("tool", (SeenResult("c1", None, ""),)),
        Message(
            "assistant", ({"type": "text", "text": "Done."},), None, "m1", {"status": "completed"}
        ),
    ]
