"""The truth tables of matching: what fits what, in each mode, and what has no answer."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.grading.runs import action, graded, run
from tracedance_sdk.grading import Expected, Verdict
from tracedance_sdk.grading.action_pattern import input_fits
from tracedance_sdk.grading.matching import both, contrary, either
from tracedance_sdk.trace import UNKNOWN, blob_stub, mask_text, type_stub

NAN = math.nan
MASKED = mask_text("key", "4be1a0c2")
BLOB = blob_stub("ab" * 32, 40_000)


@pytest.mark.parametrize(
    ("actual", "expected", "fits"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="a further key is ignored"),
        pytest.param({"b": 2}, {"a": 1}, False, id="a missing key is not"),
        pytest.param({}, {"a": None}, False, id="a missing key is not null"),
        pytest.param({"a": None}, {"a": None}, True, id="null is null"),
        pytest.param({"a": 0}, {"a": None}, False, id="zero is not null"),
        pytest.param(None, None, True, id="null alone"),
        pytest.param(None, {}, False, id="null is no object"),
        pytest.param(1, {}, False, id="a scalar is no object"),
        pytest.param("x", [], False, id="a text is no list"),
        pytest.param(True, 1, False, id="true is not 1"),
        pytest.param(1, True, False, id="1 is not true"),
        pytest.param(0, False, False, id="0 is not false"),
        pytest.param(1, 1.0, True, id="1 is 1.0"),
        pytest.param(1, "1", False, id="1 is not the text 1"),
        pytest.param(2**53 + 1, float(2**53), False, id="long integers are exact"),
        pytest.param(NAN, NAN, True, id="NaN is NaN"),
        pytest.param(NAN, 0.0, False, id="NaN is no other number"),
        pytest.param(type_stub("float", "nan"), NAN, True, id="recorded NaN is NaN"),
        pytest.param(type_stub("int", str(2**70)), 2**70, True, id="a recorded long integer"),
        pytest.param(0.0, -0.0, False, id="zero has a sign"),
        pytest.param(-0.0, -0.0, True, id="minus zero is minus zero"),
        pytest.param(0, 0.0, True, id="integer zero is plus zero"),
        pytest.param([1, 2, 3], [1, 2], True, id="a list fits its beginning"),
        pytest.param([1], [1, 2], False, id="a list that is too short"),
        pytest.param([2, 1], [1, 2], False, id="list order matters"),
        pytest.param([1], [], True, id="an empty list fits every list"),
        pytest.param({"a": 1}, {}, True, id="an empty object fits every object"),
        pytest.param([1], {}, True, id="an empty object fits every list"),
        pytest.param({"a": 1}, [], False, id="an empty list fits no object"),
        pytest.param(["a"], {"0": "a"}, False, id="an object fits no list"),
        pytest.param({"0": "a"}, ["a"], False, id="a list fits no object"),
        pytest.param([{"a": 1, "b": 2}], [{"a": 1}], True, id="partial inside lists"),
        pytest.param({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 1}}}, True, id="deep"),
        pytest.param("ß", "ss", False, id="texts are compared as they are"),
    ],
)
def test_partial_matching(actual: Any, expected: Any, fits: bool) -> None:
    assert Expected(expected).holds(actual) is fits


@pytest.mark.parametrize(
    ("actual", "expected", "fits"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, False, id="a further key counts"),
        pytest.param([1, 2], [1], False, id="a longer list counts"),
        pytest.param([1], {}, False, id="an empty object fits no list"),
        pytest.param({}, {}, True, id="empty objects"),
        pytest.param({"b": [1, {"c": None}], "a": 1}, {"a": 1.0, "b": [1, {"c": None}]}, True,
                     id="key order and number form do not matter"),
    ],
)  # fmt: skip
def test_exact_matching(actual: Any, expected: Any, fits: bool) -> None:
    assert Expected(expected).holds(actual, mode="exact") is fits


@pytest.mark.parametrize(
    ("given", "acceptable", "fits"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="further inputs are allowed"),
        pytest.param({"a": {"x": 1}}, {"a": {"x": 1}}, True, id="nested values are equal"),
        pytest.param({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, False, id="nested is not partial"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="nested lists are not prefixes"),
        pytest.param({}, {"a": 1}, False, id="a missing input"),
        pytest.param({}, {}, True, id="nothing is required"),
        pytest.param(UNKNOWN, {}, True, id="nothing is required of unknown inputs"),
        pytest.param(UNKNOWN, {"a": 1}, None, id="unknown inputs"),
        pytest.param("text", {"a": 1}, False, id="inputs that are no object"),
    ],
)
def test_inputs(given: Any, acceptable: Any, fits: bool | None) -> None:
    call = action("tool", given, unknown=True)
    assert input_fits(call, Expected(acceptable)) is fits


@pytest.mark.parametrize(
    "veiled",
    [
        pytest.param(UNKNOWN, id="unknown"),
        pytest.param(MASKED, id="masked"),
        pytest.param(f"Bearer {MASKED} x", id="masked in part"),
        pytest.param(BLOB, id="kept elsewhere"),
    ],
)
@pytest.mark.parametrize("mode", ["partial", "exact", "input"])
@pytest.mark.parametrize(
    "expected",
    ["secret", 1, None, {}, [], {"a": 1}, MASKED, {"$regex": "secret"}, {"$range": {"min": 1}},
     {"$one_of": ["a", 1]}, {"$not": "secret"}, {"$glob": "*"}, {"$exact": "a"}],
    ids=str,
)  # fmt: skip
def test_a_veiled_value_is_neither_equal_nor_unequal(veiled: Any, mode: Any, expected: Any) -> None:
    assert Expected(expected).holds(veiled, mode=mode) is None
    assert Expected({"a": expected}).holds({"a": veiled}, mode=mode) is None


def test_a_certain_difference_outweighs_an_uncertain_one() -> None:
    assert Expected({"a": 1, "b": 2}).holds({"a": MASKED, "b": 3}) is False
    assert Expected({"a": 1, "b": 2}).holds({"a": MASKED, "b": 2}) is None


def test_a_value_that_is_there_is_there_even_when_it_is_veiled() -> None:
    assert Expected({"a": {"$absent": True}}).holds({"a": MASKED}) is False
    assert Expected({"a": {"$absent": False}}).holds({"a": BLOB}) is True
    assert Expected({"$absent": False}).holds(UNKNOWN) is None


def test_differences_name_the_place_by_json_pointer() -> None:
    expected = Expected({"a/b": [{"c": 1}], "d": {"$absent": True}, "e": 5})
    found = [item.path for item in expected.differences({"a/b": [{"c": 2}], "d": 0})]
    assert found == ["/a~1b/0/c", "/d", "/e"]


@pytest.mark.parametrize(
    ("answers", "all_hold", "any_holds"),
    [
        ((), True, False),
        ((True, None), None, True),
        ((False, None), False, None),
        ((None, False, True), False, True),
        ((True, True), True, True),
        ((None,), None, None),
    ],
)
def test_three_valued_logic(
    answers: tuple[bool | None, ...], all_hold: bool | None, any_holds: bool | None
) -> None:
    assert both(answers) is all_hold
    assert either(answers) is any_holds
    assert contrary(both(answers)) is either(map(contrary, answers))


def test_an_object_not_written_out_equals_nothing_for_sure() -> None:
    cart = type_stub("shop.Cart", "<shop.Cart object>")
    places: list[Any] = [1, {"items": []}, cart, {"$not": 1}, {"$regex": "Cart"}]
    for expected in places:
        assert Expected({"x": expected}).holds({"x": cart}) is None
    assert Expected({"x": {"$absent": False}}).holds({"x": cart}) is True


@pytest.mark.parametrize("kind", ["idempotence", "critical_errors"])
def test_calls_with_objects_not_written_out_cannot_be_told_apart(kind: str) -> None:
    cart = type_stub("shop.Cart", "<shop.Cart object>")
    pay = [action("pay", {"for": [cart]}), action("pay", {"for": [cart]})]
    rules = {"rules": [{"action": "pay", "matches": {"for": [{"items": ["x"]}]}}]}
    report = graded(run(*pay), type=kind, **(rules if kind == "critical_errors" else {}))
    assert report.verdict is Verdict.INCONCLUSIVE
    known = action("pay", {"for": [type_stub("int", str(2**70))]})
    assert graded(run(known, known), type="idempotence").verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("actual", "expected", "mode", "fits"),
    [
        ({MASKED: 1}, {"sk-1": 1}, "partial", None),
        ({MASKED: 1}, {"sk-1": {"$absent": True}}, "partial", None),
        ({MASKED: 1, "sk-1": 2}, {"sk-1": 1}, "partial", False),
        ({MASKED: 1, "sk-1": 1}, {"sk-1": 1}, "partial", True),
        ({"d": {MASKED: 1}}, {"d": {"sk-1": 1}}, "input", None),
        ({MASKED: 1}, {"sk-1": 1}, "exact", None),
        ({MASKED: 1, "sk-1": 1}, {"sk-1": 1}, "exact", False),
        ({"sk-1": 1}, {MASKED: 1}, "exact", None),
        ({MASKED: 1}, {MASKED: 1}, "exact", True),
    ],
)
def test_a_masked_key_may_be_any_key(actual: Any, expected: Any, mode: Any, fits: Any) -> None:
    assert Expected(expected).holds(actual, mode=mode) is fits
