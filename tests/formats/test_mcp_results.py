"""Results of MCP tools as values, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.formats import mcp_result, value_of_mcp_result

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        pytest.param({"content": [text("sunny")]}, "sunny", id="one-text"),
        pytest.param({"content": []}, [], id="nothing"),
        pytest.param({"content": [text("a"), text("b")]}, [text("a"), text("b")], id="two-texts"),
        pytest.param(
            {"content": [{**text("a"), "annotations": {"priority": 1}}]},
            [{**text("a"), "annotations": {"priority": 1}}],
            id="a-text-that-says-more",
        ),
        pytest.param(
            {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
            [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
            id="an-image",
        ),
        pytest.param(
            {"content": [text('{"a": 1}')], "structuredContent": {"a": 1}}, {"a": 1}, id="object"
        ),
        pytest.param(
            {"content": [text("3")], "structuredContent": {"result": 3}}, 3, id="packed-number"
        ),
        pytest.param(
            {"content": [text("3")], "structuredContent": {"result": "3"}}, "3", id="packed-text"
        ),
        pytest.param(
            {"content": [text('{"result": 3}')], "structuredContent": {"result": 3}},
            {"result": 3},
            id="an-object-with-that-key",
        ),
        pytest.param(
            {"content": [], "structuredContent": {"result": []}}, [], id="packed-empty-list"
        ),
    ],
)
def test_a_result_stands_for_the_value_that_the_tool_gave(result: Any, value: Any) -> None:
    assert value_of_mcp_result(result) == value


@given(JSON, st.booleans())
def test_a_value_comes_back_from_its_result(value: Any, is_packed: bool) -> None:
    result = mcp_result(value, is_packed=is_packed)
    json.dumps(result)
    assert value_of_mcp_result(result) == value


@given(JSON)
def test_a_failure_is_marked_as_one(value: Any) -> None:
    assert mcp_result(value, failed=True)["isError"] is True
