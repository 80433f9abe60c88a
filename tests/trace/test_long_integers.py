"""No integer of a JSON document changes silently, wherever it stands and however long it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.trace import Json, parse_json, type_stub

INTEGERS = st.one_of(
    st.integers(),
    st.integers(min_value=2**62, max_value=2**66),
    st.integers(min_value=-(2**66), max_value=-(2**62)),
    st.integers(min_value=10**18, max_value=10**40),
)
DOCUMENTS = st.recursive(
    st.one_of(INTEGERS, st.text(alphabet='0123456789,:[- "\\', max_size=60)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def as_read(value: Json) -> Json:
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else type_stub("int", str(value))
    if isinstance(value, dict):
        return {key: as_read(item) for key, item in value.items()}
    return [as_read(item) for item in value] if isinstance(value, list) else value


@given(DOCUMENTS, st.sampled_from([None, 1]), st.booleans())
def test_every_integer_is_read_as_it_is_or_as_a_stub(
    document: Json, indent: int | None, wide: bool
) -> None:
    separators = (" , ", " : ") if wide else (",", ":")
    text = json.dumps(document, indent=indent, separators=separators)

    assert parse_json(text, where="document") == as_read(document)
    assert parse_json(text, where="document", unique_keys=True) == as_read(document)


@pytest.mark.parametrize("text", ["12345678901234567890123", "-12345678901234567890123"])
def test_a_document_may_be_nothing_but_one_long_integer(text: str) -> None:
    assert parse_json(text, where="document") == type_stub("int", text)
