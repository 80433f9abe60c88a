"""The frame condition where criteria hold conditions, and where only parts are allowed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grading.runs import run
from tests.support.traces import values
from tracedance_sdk.grading import Verdict, evaluate
from tracedance_sdk.grading.predicates import literal
from tracedance_sdk.trace import is_unobserved, same_json, type_stub


def changed(before: Any, after: Any, expected: Any, **frame: Any) -> list[str | None]:
    """Return the places that the frame condition finds changed."""
    document: dict[str, Any] = {"id": "task", "outcomes": [{"expected_state": expected}]}
    if frame:
        document["unexpected_changes"] = frame
    report = evaluate(run(initial=before, final=after), document)
    grade = next(item for item in report.grades if item.criterion == "unexpected_changes")
    return [item.path for item in grade.evidence]


ONE_TWO = [{"id": 1}, {"id": 2}]
OLD, NEW = {"st": "z", "mail": 1}, {"st": "a", "mail": 1}
MAILED = {"st": "a", "mail": 2}


@pytest.mark.parametrize(
    ("before", "after", "condition", "places"),
    [
        (ONE_TWO, [{"id": 7}], {"$contains": {"id": 7}}, ["/v/0/id", "/v/1"]),
        (ONE_TWO, [*ONE_TWO, {"id": 7, "n": 1}], {"$contains": {"id": 7}}, []),
        (ONE_TWO, [{"id": 7}, *ONE_TWO], {"$contains": {"id": 7}}, []),
        (ONE_TWO, [*ONE_TWO, {"id": 7}, {"id": 7}], {"$contains": {"id": 7}}, ["/v/3"]),
        (ONE_TWO, [{"id": 7}, {"id": 2}, {"id": 3}], {"$contains": {"id": 7}}, ["/v/0/id", "/v/2"]),
        ([OLD, OLD], [OLD, NEW], {"$contains": {"st": "a"}}, []),
        ([OLD, OLD], [OLD, MAILED], {"$contains": {"st": "a"}}, ["/v/1"]),
        ([{"id": 1, "st": "z"}], [{"id": 1, "st": "a"}], {"$contains": {"st": "a"}}, []),
        ([{"id": 1, "st": "z"}], [{"id": 7, "st": "a"}], {"$contains": {"st": "a"}}, ["/v/0"]),
        ([1, 2], [3, 1, 2, 4], {"$contains": 4}, ["/v/0"]),
        ({"a": 1}, [{"id": 7}], {"$contains": {"id": 7}}, []),
        ({"a": 1}, [{"id": 7}, {"id": 8}], {"$contains": {"id": 7}}, ["/v/1"]),
        (OLD, NEW, {"$one_of": [{"st": "a"}, {"st": "b"}]}, []),
        (OLD, MAILED, {"$one_of": [{"st": "a"}, {"st": "b"}]}, ["/v/mail"]),
        (OLD, MAILED, {"$one_of": [{"st": "a"}, {"st": "a", "mail": 2}]}, []),
        (None, MAILED, {"$one_of": [{"st": "a"}, {"st": "b"}]}, []),
        (OLD, NEW, {"$not": {"st": "z"}}, []),
        (OLD, MAILED, {"$not": {"st": "z"}}, ["/v/mail"]),
        (OLD, None, {"$not": {"st": "z"}}, ["/v"]),
        (OLD, MAILED, {"$not": None}, ["/v/st", "/v/mail"]),
        (None, MAILED, {"$not": None}, []),
        (OLD, MAILED, {"$not": {"$one_of": [{"st": "z"}, {"st": "y"}]}}, ["/v/mail"]),
        (OLD, MAILED, {"$not": {"$not": {"st": "a"}}}, ["/v/mail"]),
        ([*ONE_TWO, {"id": 7}], ONE_TWO, {"$not": {"$contains": {"id": 7}}}, []),
        ([*ONE_TWO, {"id": 7}], [{"id": 2}], {"$not": {"$contains": {"id": 7}}}, ["/v/0"]),
        (OLD, MAILED, {"$absent": False}, []),
        (OLD, MAILED, {"$literal": MAILED}, []),
        (OLD, MAILED, {"$literal": {"st": "a"}}, ["/v/mail"]),
        (OLD, MAILED, {"$exact": MAILED}, []),
        (OLD, MAILED, {"$one_of": [{"st": "a"}], "$not": {"st": "z"}}, ["/v/mail"]),
        (1, 2, {"$not": 1}, []),
    ],
    ids=str,
)  # fmt: skip
def test_a_condition_speaks_of_what_it_names(
    before: Any, after: Any, condition: Any, places: list[str]
) -> None:
    assert changed({"v": before}, {"v": after}, {"v": condition}) == places


@pytest.mark.parametrize(
    ("before", "after", "pattern", "place"),
    [
        ({}, {"7": {}}, "/*/email", "/7"),
        ({}, {"7": {"email": "x"}}, "/*/email", "/7"),
        ({"7": {"email": "x"}}, {}, "/*/email", "/7"),
        ({"carts": []}, {}, "/**/updated_at", "/carts"),
        ({"carts": {"9": {}}}, {"carts": {}}, "/**/updated_at", "/carts/9"),
    ],
    ids=str,
)
def test_a_field_that_may_change_does_not_allow_its_record_to_come_or_go(
    before: Any, after: Any, pattern: str, place: str
) -> None:
    assert changed(before, after, {}, allow_changes=[pattern]) == [place]
    assert changed(before, after, {}, allow_changes=[place]) == []


CART, OTHER = type_stub("shop.Cart", "<shop.Cart object>"), type_stub("shop.Cart", "<Cart 2>")
HASHED = type_stub("bytes", f"b'..'... (9 bytes, sha256 {'0' * 64})")


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (CART, CART, Verdict.INCONCLUSIVE),
        (CART, OTHER, Verdict.INCONCLUSIVE),
        ([CART], [CART], Verdict.INCONCLUSIVE),
        (HASHED, HASHED, Verdict.PASS),
        (type_stub("bytes", "b'x'"), type_stub("bytes", "b'x'"), Verdict.PASS),
        (type_stub("bytes", "b'x'"), type_stub("bytes", "b'y'"), Verdict.FAIL),
        (type_stub("float", "nan"), type_stub("float", "nan"), Verdict.PASS),
    ],
    ids=str,
)
def test_an_object_not_written_out_may_have_changed_inside(
    before: Any, after: Any, verdict: Verdict
) -> None:
    trace = run(initial={"a": 1, "cart": before}, final={"a": 1, "cart": after})
    document: dict[str, Any] = {"id": "task", "outcomes": [{"expected_state": {"a": 1}}]}
    assert evaluate(trace, document).verdict is verdict
    for places in ("allow_changes", "ignore_paths"):
        allowed = {**document, "unexpected_changes": {places: ["/cart"]}}
        assert evaluate(trace, allowed).passed
    document["outcomes"] = [{"expected_state": {"cart": {"$absent": False}}}]
    assert evaluate(trace, document).passed


states = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        st.sampled_from([1, 2, "x", None]),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("de"), inner, max_size=2)
        ),
        max_leaves=4,
    ),
    max_size=3,
)
severities = st.sampled_from(["minor", "major", "critical"])
criteria = st.fixed_dictionaries(
    {
        "expected_state": states,
        "severity": severities,
        "match": st.sampled_from(["partial", "exact"]),
        "negate": st.booleans(),
    }
)


@given(states, states, st.lists(criteria, min_size=1, max_size=2), criteria, severities)
def test_one_more_violation_never_makes_the_verdict_better(
    before: Any, after: Any, listed: list[Any], further: Any, severity: Any
) -> None:
    def verdict(*outcomes: Any) -> Verdict:
        document = {
            "id": "task",
            "outcomes": outcomes,
            "unexpected_changes": {"severity": severity},
        }
        return evaluate(run(initial=before, final=after), document).verdict

    alone = evaluate(run(final=after), {"id": "task", "outcomes": [further]})
    if alone.grades[0].verdict is not Verdict.PASS:
        assert verdict(*listed, further).rank <= verdict(*listed).rank


@given(states, states, states)
def test_one_alternative_is_as_good_as_none(before: Any, after: Any, expected: Any) -> None:
    plain = changed({"v": before}, {"v": after}, {"v": expected})
    assert changed({"v": before}, {"v": after}, {"v": {"$one_of": [expected]}}) == plain


@given(st.lists(values, max_size=5), values, st.data())
def test_whatever_else_a_list_lost_is_found(items: list[Any], new: Any, data: Any) -> None:
    # A record with other fields may be one that was changed in its place.
    if isinstance(new, dict) or is_unobserved(new):
        return
    if any(same_json(new, item) for item in items):
        return
    place = data.draw(st.integers(0, len(items)))
    expected = {"v": {"$contains": {"$exact": literal(new)}}}
    added = [*items[:place], new, *items[place:]]
    assert changed({"v": items}, {"v": added}, expected) == []
    if items:
        lost = data.draw(st.integers(0, len(items)))
        added.pop(lost if lost != place else (lost + 1) % len(added))
        assert changed({"v": items}, {"v": added}, expected) != []
