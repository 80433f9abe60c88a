"""The final state, and that nothing else changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from inline_snapshot import snapshot

from tests.grading.runs import action, run, texts
from tests.support.traces import values
from tracedance_sdk.errors import InvalidSpec
from tracedance_sdk.grading import (
    Expected,
    FinalState,
    Report,
    TaskSpec,
    UnexpectedChanges,
    Verdict,
    evaluate,
)
from tracedance_sdk.grading.run_view import holds_opaque
from tracedance_sdk.trace import UNKNOWN, blob_stub, is_unobserved, mask_text

BLOB, OTHER_BLOB = blob_stub("ab" * 32, 40_000), blob_stub("cd" * 32, 40_000)
MASKED, OTHER_MASKED = mask_text("pin", "00ff"), mask_text("pin", "11ee")


def outcome(initial: Any, final: Any, frame: Any = None, **criterion: Any) -> Report:
    document: dict[str, Any] = {"id": "task", "outcomes": [criterion]}
    if frame is not None:
        document["unexpected_changes"] = frame
    return evaluate(run(initial=initial, final=final), document)


def changes(initial: Any, final: Any, expected: Any, **frame: Any) -> list[str]:
    """Return what the frame condition finds."""
    report = outcome(initial, final, frame or None, expected_state=expected)
    grade = next(item for item in report.grades if item.criterion == "unexpected_changes")
    return [item.what for item in grade.evidence]


def test_null_is_a_state_like_others() -> None:
    assert outcome(1, None, expected_state=None).passed
    assert outcome(None, 1, expected_state=None).verdict is Verdict.FAIL


def test_exact_match_refuses_what_was_not_expected() -> None:
    exact = {"match": "exact", "expected_state": {"a": 1}}
    assert outcome({}, {"a": 1}, **exact).passed
    report = outcome({}, {"a": 1, "b": {"c": 1}}, **exact)
    assert texts(report) == snapshot(["/b is {'c': 1}; expected nothing there"])
    assert outcome({}, {"a": 1, "b": {"c": 1}}, ignore_paths=["/*/c", "/b"], **exact).passed


def test_the_nearest_of_several_acceptable_ends_is_reported() -> None:
    ends = [{"status": "refunded", "amount": 5, "note": "x"}, {"status": "voucher", "amount": 5}]
    assert outcome({}, {"status": "voucher", "amount": 5}, any_of=ends).passed
    report = outcome({}, {"status": "voucher", "amount": 4}, any_of=ends)
    assert report.outcome.verdict is Verdict.FAIL
    assert [item.path for item in report.outcome.grades[0].evidence] == ["/amount"]


def test_an_end_that_may_have_been_reached_leaves_the_matter_open() -> None:
    ends = [{"pin": "1234"}, {"pin": None}]
    report = outcome(UNKNOWN, {"pin": MASKED}, any_of=ends)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert outcome(UNKNOWN, UNKNOWN, any_of=ends).verdict is Verdict.INCONCLUSIVE


LINES = {
    "lines": {
        "L1": {"owner": "Ann", "status": "active"},
        "L2": {"owner": "Bob", "status": "active"},
    },
    "log": [],
}
EXPECTED_LINES = {"lines": {"L1": {"status": "suspended"}}}


def with_status(**status: str) -> dict[str, Any]:
    lines = {
        name: {**line, "status": status.get(name, "active")}
        for name, line in LINES["lines"].items()  # type: ignore[attr-defined]
    }
    return {**LINES, "lines": lines}


def test_another_customers_record_that_changed_too_fails_under_its_own_grade() -> None:
    both = with_status(L1="suspended", L2="suspended")
    report = outcome(LINES, both, expected_state=EXPECTED_LINES)
    assert report.outcome.verdict is Verdict.PASS
    assert report.verdict is Verdict.FAIL
    failing = [grade for grade in report.grades if grade.verdict is Verdict.FAIL]
    assert [grade.criterion for grade in failing] == ["unexpected_changes"]
    evidence = failing[0].evidence[0]
    assert (evidence.path, evidence.expected, evidence.found) == (
        "/lines/L2/status", "active", "suspended",
    )  # fmt: skip
    assert evidence.what == snapshot("/lines/L2/status changed from 'active' to 'suspended'")


def test_the_change_that_was_asked_for_is_expected() -> None:
    assert outcome(LINES, with_status(L1="suspended"), expected_state=EXPECTED_LINES).passed


@pytest.mark.parametrize(
    "frame",
    [
        {"allow_changes": ["/lines/*/status"]},
        {"allow_changes": ["/**/status"]},
        {"allow_changes": ["/lines/L2"]},
        {"ignore_paths": ["/lines/L2/**"]},
        {"severity": "minor"},
        False,
    ],
    ids=str,
)
def test_changes_may_be_allowed(frame: Any) -> None:
    both = with_status(L1="suspended", L2="suspended")
    assert outcome(LINES, both, frame, expected_state=EXPECTED_LINES).passed


def test_a_record_named_by_its_id_when_it_stands_in_a_list() -> None:
    before = {"lines": [{"id": "L1", "on": True}, {"id": "L2", "on": True}]}
    after = {"lines": [{"id": "L1", "on": False}, {"id": "L2", "on": False}]}
    assert changes(before, after, {"lines": [{"on": False}]}) == snapshot(
        ["/lines/1/on (record 'L2') changed from True to False"]
    )


def test_created_records() -> None:
    before = {"orders": {"1": {"n": 1}}}
    after = {"orders": {"1": {"n": 1}, "2": {"n": 2, "at": "noon"}, "3": {"n": 3}}}
    described = {"orders": {"2": {"n": 2}}}
    assert changes(before, after, described) == snapshot(["/orders/3 was created: {'n': 3}"])
    assert changes(before, after, described, allow_changes=["/orders/3"]) == []
    assert changes(before, after, described, allow_changes=["/orders/*"]) == []
    # That a field may change does not allow records to come.
    assert changes(before, after, described, allow_changes=["/orders/*/n"]) == snapshot(
        ["/orders/3 was created: {'n': 3}"]
    )
    assert changes({}, after, described) == snapshot(
        ["/orders/1 was created: {'n': 1}", "/orders/3 was created: {'n': 3}"]
    )
    assert changes({"orders": []}, {"orders": [1, 2]}, {"orders": [1]}) == snapshot(
        ["/orders/1 was created: 2"]
    )


def test_removed_records() -> None:
    before = {"orders": {"1": {"n": 1}, "2": {"n": 2}}}
    after: dict[str, Any] = {"orders": {}}
    gone = {"orders": {"1": {"$absent": True}}}
    assert changes(before, after, gone) == snapshot(["/orders/2 was removed; it was {'n': 2}"])
    assert changes(before, {"orders": {"2": {"n": 2}}}, gone) == []
    assert changes([1, 2, 3, 4], [1, 3, 4], []) == snapshot(["/1 was removed; it was 2"])


def test_a_change_that_was_undone_is_none() -> None:
    place = "/lines/L2/status"
    suspend = action("set", state_change=[{"op": "replace", "path": place, "value": "suspended"}])
    restore = action("set", state_change=[{"op": "replace", "path": place, "value": "active"}])
    trace = run(suspend, restore, initial=LINES, final=with_status(L1="suspended"))
    document = {"id": "t", "outcomes": [{"expected_state": EXPECTED_LINES}]}
    assert evaluate(trace, document).passed


def test_an_empty_expected_object_asks_for_nothing_and_allows_nothing() -> None:
    assert changes({"a": 1}, {"a": 2}, {}) == snapshot(["/a changed from 1 to 2"])
    assert changes({"a": 1}, {"a": 1}, {}) == []


def test_doing_both_of_two_alternatives_is_one_too_many() -> None:
    before = {"refund": False, "voucher": False}
    ends = [{"refund": True}, {"voucher": True}]
    assert outcome(before, {"refund": True, "voucher": False}, any_of=ends).passed
    report = outcome(before, {"refund": True, "voucher": True}, any_of=ends)
    assert report.outcome.verdict is Verdict.PASS
    assert report.verdict is Verdict.FAIL


def test_several_criteria_speak_of_their_own_places() -> None:
    document = {
        "id": "t",
        "outcomes": [{"expected_state": {"a": 1}}, {"expected_state": {"b": 1}}],
    }
    assert evaluate(run(initial={"c": 0}, final={"a": 1, "b": 1, "c": 0}), document).passed
    assert not evaluate(run(initial={"c": 0}, final={"a": 1, "b": 1, "c": 1}), document).passed


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (MASKED, OTHER_MASKED, False),
        (BLOB, OTHER_BLOB, False),
        (MASKED, 5, False),
        (MASKED, MASKED, None),
        (BLOB, BLOB, None),
    ],
)
def test_a_veiled_value_may_have_changed_or_not(before: Any, after: Any, found: Any) -> None:
    report = outcome({"a": {"pin": before}}, {"a": {"pin": after}}, expected_state={})
    evidence = [item.certain for grade in report.grades for item in grade.evidence]
    assert evidence == ([] if found is None else [found])
    assert report.verdict is (Verdict.PASS if found is None else Verdict.INCONCLUSIVE)


def test_a_veiled_value_that_came_or_went_did_change() -> None:
    for before, after in (({"pin": MASKED}, {}), ({}, {"pin": BLOB})):
        assert outcome(before, after, expected_state={}).verdict is Verdict.FAIL


def test_the_frame_condition_needs_an_initial_state_and_a_criterion_on_the_final_one() -> None:
    report = outcome(UNKNOWN, {"a": 1}, expected_state={"a": 1})
    assert [grade.criterion for grade in report.grades] == ["final_state"]
    assert report.notes == snapshot(
        ("unexpected changes were not looked for: the initial state is not known",)
    )
    bare = evaluate(run(initial={"a": 0}, final={"a": 1}), {"id": "t"})
    assert bare.grades == ()
    known = {"id": "t", "initial_state": {"b": 0}, "outcomes": [{"expected_state": {"a": 1}}]}
    assert evaluate(run(final={"a": 1, "b": 1}), known).verdict is Verdict.FAIL


def test_an_unknown_final_state_leaves_the_frame_open() -> None:
    report = outcome({"a": 1}, UNKNOWN, expected_state={"a": 1})
    assert [grade.verdict for grade in report.grades] == [Verdict.INCONCLUSIVE] * 2


def test_specifications_can_be_built_in_python() -> None:
    spec = TaskSpec(
        id="t",
        outcomes=(FinalState(any_of=(Expected({"a": 1}), Expected({"b": 1}))),),
        unexpected_changes=UnexpectedChanges(allow_changes=("/log",)),
    )
    assert evaluate(run(initial={}, final={"a": 1, "log": [1]}), spec).passed


@pytest.mark.parametrize(
    "criterion",
    [
        {},
        {"expected_state": 1, "any_of": [1]},
        {"any_of": []},
        {"any_of": [{}] * 101},
        {"expected_state": 1, "match": "nearly"},
        {"expected_state": 1, "ignore_paths": ["a/b"]},
    ],
    ids=str,
)
def test_malformed_criteria_are_refused(criterion: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec):
        outcome({}, {}, **criterion)


def test_too_many_combinations_of_ends_are_refused() -> None:
    ends = [{"any_of": list(range(20))}] * 2
    with pytest.raises(InvalidSpec, match="400 combinations of acceptable final states"):
        evaluate(run(), {"id": "t", "outcomes": ends})


@given(values.filter(lambda value: not is_unobserved(value) and not holds_opaque(value)))
def test_nothing_changed_when_both_states_are_the_same(state: Any) -> None:
    report = outcome(state, state, expected_state={"$absent": False})
    assert report.verdict is Verdict.PASS
