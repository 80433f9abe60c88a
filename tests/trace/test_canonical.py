from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.names import short_repr
from tests.support.traces import values
from tracedance_sdk.trace import call_key, canonical_json, json_digest, same_json, type_stub


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param(1, 1.0, True, id="one number type"),
        pytest.param(True, 1, False, id="true is no number"),
        pytest.param(False, 0, False, id="false is no number"),
        pytest.param(0.0, -0.0, False, id="the zeros differ"),
        pytest.param(0, -0.0, False, id="integer zero is the positive one"),
        pytest.param(math.nan, math.nan, True, id="NaN is NaN"),
        pytest.param(None, "null", False, id="null is no text"),
        pytest.param("1", 1, False, id="text is no number"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True, id="key order"),
        pytest.param([1, 2], [2, 1], False, id="list order"),
        pytest.param([], {}, False, id="list and object"),
        pytest.param({"a": None}, {}, False, id="null and absent"),
        pytest.param(2**63, float(2**63), True, id="large integral float"),
        pytest.param(2**53 + 1, float(2**53), False, id="beyond float precision"),
        pytest.param(10**400, 1.0, False, id="integer beyond float"),
    ],
)
def test_json_is_compared_without_coercion(left: Any, right: Any, same: bool) -> None:
    assert same_json(left, right) is same
    assert same_json(right, left) is same
    assert same_json([left], [right]) is same
    assert (canonical_json(left) == canonical_json(right)) is same


def test_equal_calls_have_equal_keys_however_they_are_spelled() -> None:
    assert call_key("pay", {"b": 1, "amount": 1e2}) == call_key("pay", {"amount": 100, "b": 1.0})
    assert call_key("pay", {"a": True}) != call_key("pay", {"a": 1})
    assert call_key("pay", {}) != call_key("pay", None)
    assert call_key("a", ["b"]) != call_key("b", ["a"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e16, "10000000000000000"),
        (1e300, "1e+300"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        ("1.0,", '"1.0,"'),
        ({"é": "\u2028"}, '{"é":"\u2028"}'),
        (math.inf, '{"$repr":"inf","$type":"float"}'),
        (2**70, '{"$repr":"1180591620717411303424","$type":"int"}'),
        ("\ud800", '"\\ud800"'),
    ],
    ids=short_repr,
)
def test_canonical_json_has_one_spelling(value: Any, text: str) -> None:
    assert canonical_json(value).decode() == text


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), {1: 2}, b"x"], ids=["set", "object", "key", "bytes"]
)
def test_what_is_not_json_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)


def test_deep_values_have_a_canonical_form() -> None:
    deep: Any = 1.0
    for _ in range(400):
        deep = [deep]
    assert canonical_json(deep) == b"[" * 400 + b"1" + b"]" * 400


def respelled(value: Any) -> Any:
    """The same JSON value, built anew with other key order and other number types."""
    if isinstance(value, dict):
        return {key: respelled(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [respelled(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value)
    return value


@given(values)
def test_the_same_value_has_the_same_digest(value: Any) -> None:
    assert same_json(value, respelled(value))
    assert json_digest(value) == json_digest(respelled(value))


@given(values, values)
def test_equality_and_canonical_json_agree(left: Any, right: Any) -> None:
    assert same_json(left, right) == (canonical_json(left) == canonical_json(right))


@given(values)
def test_canonical_json_is_json_that_says_the_same(value: Any) -> None:
    assert same_json(json.loads(canonical_json(value)), value)


@given(st.floats())
def test_every_float_is_itself_and_its_stub_is_stable(number: float) -> None:
    assert same_json(number, number)
    if not math.isfinite(number):
        assert canonical_json(number) == canonical_json(type_stub("float", repr(number)))
