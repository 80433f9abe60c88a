from __future__ import annotations

import copy
import datetime as dt
import decimal
import math
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from tracedance_sdk.recording.values import MAX_VALUE_DEPTH, freeze
from tracedance_sdk.trace import is_type_stub

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=30,
)


class Odd:
    def __init__(self, text: Any) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text  # type: ignore[no-any-return]


ODD_LEAVES = (
    LEAVES
    | st.floats()
    | st.integers()
    | st.text(st.characters(), max_size=8)
    | st.binary(max_size=8)
    | st.decimals()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC))
    | st.timedeltas()
    | st.complex_numbers()
    | st.builds(Odd, st.text(st.characters()) | st.none())
)
HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=4) | st.binary(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
ODD = st.recursive(
    ODD_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.sets(HASHABLE, max_size=4)
    ),
    max_leaves=25,
)


@given(JSON)
def test_json_parses_back_to_itself(value: Any) -> None:
    assert exactly(orjson.loads(freeze(value)), value)


def exactly(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(exactly(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(exactly, left, right))
    if isinstance(left, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return bool(left == right)


@given(ODD)
@settings(max_examples=300)
def test_any_value_gives_json_within_bounds_and_stays_as_it_was(value: Any) -> None:
    before = copy.deepcopy(value)
    data = freeze(value)
    parsed = orjson.loads(data)
    assert depth(parsed) <= MAX_VALUE_DEPTH
    assert orjson.dumps(parsed) == data
    assert repr_of(before) == repr_of(value)
    assert freeze(value) == data


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


def repr_of(value: Any) -> str:
    """Spell a value out, order of sets aside, so that NaN can be compared."""
    if isinstance(value, (set, frozenset)):
        return str(sorted(map(repr_of, value)))
    if isinstance(value, dict):
        return "{" + ",".join(f"{repr_of(k)}:{repr_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "".join(map(str, map(repr_of, value)))
    return repr(value.text) if isinstance(value, Odd) else repr(value)


@given(st.dictionaries(HASHABLE, st.integers(0, 9), max_size=12))
def test_no_entry_is_lost_to_equal_keys(value: dict[Any, int]) -> None:
    assert sorted(orjson.loads(freeze(value)).values()) == sorted(value.values())


@given(st.sets(HASHABLE, max_size=6), st.randoms(use_true_random=False))
def test_a_set_is_written_the_same_in_whatever_order_it_was_filled(value: Any, random: Any) -> None:
    items = list(value)
    random.shuffle(items)
    assert freeze(set(items)) == freeze(value)


@given(st.floats() | st.integers() | st.decimals())
def test_no_number_is_silently_another(value: float | decimal.Decimal) -> None:
    parsed = orjson.loads(freeze({"a": None, "n": value}))["n"]
    if isinstance(value, decimal.Decimal):
        assert parsed == str(value)
    elif is_type_stub(parsed):
        kind = {"int": int, "float": float}[parsed["$type"]]
        assert repr(kind(parsed["$repr"])) == repr(value)
    else:
        assert exactly(parsed, value)
