"""Order, required actions, forbidden sequences and trajectories."""

# ruff: noqa: E501 - messages are one line, however long

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.grading.runs import CUT_OFF, FAILED, UNCLEAR, action, graded, run, texts
from tracedance_sdk.grading import Verdict
from tracedance_sdk.grading.sequences import assign
from tracedance_sdk.trace import UNKNOWN

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
UNKNOWN_A = action("a", UNKNOWN, unknown=True)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["a", "b"], PASS),
        (["b", "a"], FAIL),
        (["b"], FAIL),
        (["a"], PASS),
        ([], PASS),
        (["c", "a", "c", "b", "b"], PASS),
    ],
    ids=str,
)
def test_order(actions: list[str], expected: Verdict) -> None:
    assert graded(run(*actions), type="order", first="a", then="b").verdict is expected
    contrary = graded(run(*actions), type="order", first="a", then="b", negate=True)
    assert contrary.passed is (expected is FAIL)


def test_an_action_that_may_not_count_leaves_the_order_open() -> None:
    first = {"action": "a", "success": True}
    report = graded(run(action("a", result=UNCLEAR), "b"), type="order", first=first, then="b")
    assert report.verdict is OPEN
    failed = graded(run(action("a", result=FAILED), "b"), type="order", first=first, then="b")
    assert failed.verdict is FAIL
    mended = run(action("a", result=UNCLEAR), action("a"), "b")
    assert graded(mended, type="order", first=first, then="b").verdict is PASS
    assert graded(run("a"), type="order", first="a", then="a").verdict is FAIL


@pytest.mark.parametrize(
    ("actions", "required", "in_order", "expected"),
    [
        (["a", "b"], ["b", "a"], False, PASS),
        (["a", "b"], ["b", "a"], True, FAIL),
        (["a", "x", "b"], ["a", "b"], True, PASS),
        (["a"], ["a", "a"], False, FAIL),
        (["a", "a"], ["a", "a"], False, PASS),
        (["b", "a"], [{"action": {"$glob": "*"}}, "b"], False, PASS),
        ([UNKNOWN_A], [{"action": "a", "matches": {"x": 1}}], False, OPEN),
        ([UNKNOWN_A], [{"action": "a", "matches": {"x": 1}}], True, OPEN),
        ([UNKNOWN_A], [{"action": "a", "matches": {"x": 1}}, "b"], False, FAIL),
        ([UNKNOWN_A], [{"action": "a", "matches": {"x": 1}}, "b"], True, FAIL),
        ([UNKNOWN_A], [{"action": "a", "matches": {"x": 1}}, "a"], False, FAIL),
    ],
)
def test_required_actions(
    actions: list[Any], required: list[Any], in_order: bool, expected: Verdict
) -> None:
    report = graded(run(*actions), type="required_actions", actions=required, in_order=in_order)
    assert report.verdict is expected


@pytest.mark.parametrize(
    ("actions", "options", "expected"),
    [
        (["a", "b"], {}, FAIL),
        (["a", "x", "b"], {}, FAIL),
        (["a", "x", "b"], {"contiguous": True}, PASS),
        (["a", "a", "b"], {"contiguous": True}, FAIL),
        (["b", "a"], {}, PASS),
        (["a", "x", "x", "b"], {"within": 2}, PASS),
        (["a", "x", "a", "b"], {"within": 2}, FAIL),
        ([], {}, PASS),
    ],
    ids=str,
)
def test_forbidden_sequences(
    actions: list[str], options: dict[str, Any], expected: Verdict
) -> None:
    criterion = {"type": "forbidden_sequence", "sequence": ["a", "b"], **options}
    assert graded(run(*actions), **criterion).verdict is expected


def test_a_sequence_that_may_have_happened() -> None:
    sequence = [{"action": "a", "success": True}, "b", "c"]
    trace = run(action("a", result=UNCLEAR), "b", "c")
    assert graded(trace, type="forbidden_sequence", sequence=sequence).verdict is OPEN
    whole = run("a", "b", "x", "c")
    report = graded(whole, type="forbidden_sequence", sequence=sequence)
    assert texts(report) == snapshot(
        [
            "action 1 (a) begins the forbidden sequence a that succeeds, then b, then c; it ends at action 4 (c)"
        ]
    )


def _naive(actions: list[str], sequence: list[str], *, contiguous: bool) -> bool:
    if contiguous:
        return any(actions[i : i + len(sequence)] == sequence for i in range(len(actions) + 1))
    rest = iter(actions)
    return all(name in rest for name in sequence)


@given(
    st.lists(st.sampled_from("abc"), max_size=8),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
    st.booleans(),
)
def test_forbidden_sequences_agree_with_a_plain_search(
    actions: list[str], sequence: list[str], contiguous: bool
) -> None:
    criterion = {"type": "forbidden_sequence", "sequence": sequence, "contiguous": contiguous}
    found = graded(run(*actions), **criterion).verdict is FAIL
    assert found is _naive(actions, sequence, contiguous=contiguous)


@pytest.mark.parametrize(
    ("actions", "verdicts"),
    [
        (["a", "b"], {"strict": PASS, "unordered": PASS, "subset": PASS, "superset": PASS}),
        (["b", "a"], {"strict": FAIL, "unordered": PASS, "subset": PASS, "superset": PASS}),
        (["a"], {"strict": FAIL, "unordered": FAIL, "subset": PASS, "superset": FAIL}),
        (["a", "b", "c"], {"strict": FAIL, "unordered": FAIL, "subset": FAIL, "superset": PASS}),
        (["a", "a"], {"strict": FAIL, "unordered": FAIL, "subset": FAIL, "superset": FAIL}),
        ([], {"strict": FAIL, "unordered": FAIL, "subset": PASS, "superset": FAIL}),
    ],
    ids=str,
)
def test_trajectories(actions: list[str], verdicts: dict[str, Verdict]) -> None:
    found = {
        mode: graded(run(*actions), type="trajectory", mode=mode, reference=["a", "b"]).verdict
        for mode in verdicts
    }
    assert found == verdicts


def test_the_direction_of_a_mode_is_said_in_words() -> None:
    def said(mode: str, *actions: str) -> str:
        report = graded(run(*actions), type="trajectory", mode=mode, reference=["a", "b"])
        return report.grades[0].reason

    assert [
        said("subset", "a"),
        said("subset", "c"),
        said("superset", "a"),
        said("strict", "b"),
        said("unordered", "a", "b", "c"),
    ] == snapshot(
        [
            "subset: the run does nothing beyond the reference, perhaps less (1 action)",
            "action 1 (c) is beyond the reference; subset: the run does nothing beyond the reference, perhaps less",
            "b is missing; superset: the run does all of the reference, perhaps more",
            "action 1 (b) is other than a; strict: the run does exactly the reference, in its order (and 1 more)",
            "action 3 (c) is beyond the reference; unordered: the run does exactly the reference, in any order",
        ]
    )


def test_actions_that_may_or_may_not_fit_leave_a_trajectory_open() -> None:
    reference = [{"action": "a", "matches": {"x": 1}}]
    for mode in ("strict", "unordered", "subset", "superset"):
        report = graded(run(UNKNOWN_A), type="trajectory", mode=mode, reference=reference)
        assert report.verdict is OPEN
    crowded = run(UNKNOWN_A, UNKNOWN_A)
    assert graded(crowded, type="trajectory", mode="subset", reference=reference).verdict is FAIL


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=4))
def test_assignments_are_as_large_as_can_be(fits: list[list[bool]]) -> None:
    found = assign(fits)
    assert all(fits[row][column] for row, column in found.items())
    assert len(set(found.values())) == len(found)
    assert len(found) == _most(fits, 0, frozenset())
    kept = assign(fits, start=assign(fits[:1]))
    assert set(assign(fits[:1])) <= set(kept)
    assert len(kept) == len(found)


def _most(fits: list[list[bool]], row: int, taken: frozenset[int]) -> int:
    if row == len(fits):
        return 0
    choices = [c for c in range(4) if fits[row][c] and c not in taken]
    return max(
        [_most(fits, row + 1, taken)] + [1 + _most(fits, row + 1, taken | {c}) for c in choices]
    )


@pytest.mark.parametrize("in_order", [True, False])
def test_an_action_that_was_cut_off_may_not_have_been_done(in_order: bool) -> None:
    cut_off = run("look_up", action("refund", result=CUT_OFF))
    criterion = {"type": "required_actions", "actions": ["refund"], "in_order": in_order}
    report = graded(cut_off, **criterion)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert texts(report) == [
        "whether refund happened cannot be told from what was recorded",
    ]
    tried_again = run(action("refund", result=CUT_OFF), "refund")
    assert graded(tried_again, **criterion).verdict is Verdict.PASS
