"""YAML for people: whatever is written is read back as it was."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.trace import parse_yaml, same_json, spelled_out, yaml_text

TEXT = st.text() | st.sampled_from(
    ["no", "1", "a: b", "x\ny", "x\n\n y \n", " - a\n# b", "<<", "~"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("blocks", [False, True])
@given(value=st.dictionaries(st.sampled_from(["a", "b"]), JSON, min_size=1))
def test_what_is_written_is_read_back(blocks: bool, value: dict[str, Any]) -> None:
    told = spelled_out(value)
    text = yaml_text(told, blocks=blocks)
    assert same_json(parse_yaml(text, where="x"), told)


def test_lines_are_written_as_lines() -> None:
    text = yaml_text({"said": "Hello.\nHow are you?"}, blocks=True)
    assert text == "said: |-\n  Hello.\n  How are you?\n"
    assert yaml.safe_load(text) == {"said": "Hello.\nHow are you?"}
