"""The short way of comparing two values gives the answer of the long one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.grading.matching import Mode, answer, differences, holds
from tracedance_sdk.trace import UNKNOWN, Json, blob_stub, type_stub

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, float("nan"), "a", "b", "[MASKED:key:ab]", UNKNOWN]),
)
STUBS = st.sampled_from(
    [blob_stub("0" * 64, 1), type_stub("float", "nan"), type_stub("int", "1"), type_stub("x", "y")]
)
KEYS = st.sampled_from(["a", "b", "$blob", "$size", "$type", "$repr"])
VALUES = st.recursive(
    st.one_of(SCALARS, STUBS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=5,
)


@given(VALUES, VALUES, st.sampled_from(["partial", "exact", "input"]))
def test_both_ways_agree(actual: Json, expected: Json, mode: Mode) -> None:
    assert holds(actual, expected, mode=mode) is answer(differences(actual, expected, mode=mode))


@given(VALUES, st.sampled_from(["partial", "exact", "input"]))
def test_both_ways_agree_on_a_value_and_itself(value: Json, mode: Mode) -> None:
    assert holds(value, value, mode=mode) is answer(differences(value, value, mode=mode))
