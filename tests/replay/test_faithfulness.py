"""The nine points: what each says, when it holds, and what it needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.conversations import recording
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, Subject, Verdict
from tracedance_sdk.replay import (
    AnsweredCall,
    ChangedAgent,
    FaithfulnessEvidence,
    FaithfulnessLimits,
    FaithfulnessPoint,
    JudgedPair,
    Regraded,
    ReplayedTest,
    judged_pairs,
    measure_faithfulness,
    rates_of_rows,
    recorded_traces,
    replayed_tests,
)
from tracedance_sdk.replay.faithfulness.points import INPUTS, RULES, TITLES
from tracedance_sdk.replay.faithfulness.rates import rate_of
from tracedance_sdk.statistics import Trials


def replayed(
    number: int, production: bool | None, replay: bool | None, *doubts: str, **own: Any
) -> ReplayedTest:
    counts = own.pop("counts", not doubts and replay is not None)
    group = own.pop("group", f"g{number}")
    return ReplayedTest(
        f"t{number}", 0, group, f"r{number}", production, replay, counts, doubts, **own
    )


def outcomes(*counted: tuple[int, bool, bool, tuple[str, ...]]) -> list[ReplayedTest]:
    """Return so many tests of each production's verdict, replay's verdict, and doubts."""
    rows = [(old, new, doubts) for n, old, new, doubts in counted for _ in range(n)]
    return [replayed(n, old, new, *doubts) for n, (old, new, doubts) in enumerate(rows)]


def point(number: int, evidence: FaithfulnessEvidence, **limits: Any) -> FaithfulnessPoint:
    return measure_faithfulness(evidence, FaithfulnessLimits(**limits)).points[number - 1]


STEADY = {f"g{n}": Trials(3 if n % 2 else 0, 3) for n in range(40)}
"""Production that always does the same."""
WAVERING = {f"g{n}": Trials(2, 4) for n in range(40)}
"""Production that agrees with itself in a third of all pairs."""

# The published study: 100 re-runs, 58 without and 42 with an answer made up, 44 failures before.
STUDY = outcomes(
    (20, False, False, ()),
    (27, True, True, ()),
    (4, False, True, ()),
    (7, True, False, ()),
    (16, False, False, ("simulated",)),
    (12, True, True, ("simulated",)),
    (4, False, True, ("simulated",)),
    (10, True, False, ("simulated",)),
)


def test_the_published_figures_come_out() -> None:
    evidence = FaithfulnessEvidence(STUDY, production=STEADY)
    clean, doubtful, balance = (point(n, evidence) for n in (2, 3, 4))
    assert clean.told.startswith("47/58 = 81.0 % (69.1 to 89.1)")
    assert doubtful.told == "28/42 = 66.7 % (51.6 to 79.0); their verdicts do not count"
    assert doubtful.figures["resting_on_simulated"] == {"tests": 42, "of": 100}
    assert (balance.figures["replay_passes"], balance.figures["production_passes"]) == (47, 56)
    assert "47 of 100 pass, 56 in production (harsher)" in balance.told
    assert (balance.figures["fails_again"]["hits"], balance.figures["fails_again"]["n"]) == (36, 44)
    assert (balance.figures["passes_again"]["hits"], balance.figures["passes_again"]["n"]) == (
        39,
        56,
    )
    # 75 of 100 in all.
    assert clean.figures["match"]["hits"] + doubtful.figures["match"]["hits"] == 75


def test_each_point_has_a_title_a_rule_and_says_what_it_needs() -> None:
    found = measure_faithfulness(FaithfulnessEvidence([]))
    assert [p.number for p in found.points] == sorted(TITLES) == sorted(RULES)
    assert (found.word, found.exit_code) == ("not shown", 3)
    for item in found.points:
        assert item.state == "not measured"
        assert item.needs
        assert all(INPUTS[need] in item.line for need in item.needs)


def test_nobody_is_asked_for_what_was_given() -> None:
    evidence = FaithfulnessEvidence([], given=frozenset({"grader", "truth"}))
    assert point(1, evidence).needs == ("recordings",)
    assert point(5, evidence).needs == ("traces",)
    given = FaithfulnessEvidence([], given=frozenset({"recordings", "grader"}))
    assert point(1, given).needs == ("recordings", "grader")


REGRADED = [Regraded("a", True, Verdict.PASS), Regraded("b", False, Verdict.CRITICAL)]


@pytest.mark.parametrize(
    ("regraded", "state", "told"),
    [
        (REGRADED, "holds", "2 of 2 stored verdicts"),
        ([*REGRADED, Regraded("c", None, Verdict.FAIL)], "holds", "2 of 2 stored verdicts"),
        (
            [*REGRADED, Regraded("c", True, Verdict.FAIL)],
            "does not hold",
            "2 of 3 stored verdicts; not c",
        ),
        (
            [*REGRADED, Regraded("c", True, Verdict.INCONCLUSIVE)],
            "does not hold",
            "2 of 3 stored verdicts; not c",
        ),
        ([Regraded("c", None, Verdict.PASS)], "not measured", "no recording has a stored verdict"),
    ],
    ids=["all", "one without", "another", "undecided", "none stored"],
)
def test_point_1_wants_every_stored_verdict(
    regraded: list[Regraded], state: str, told: str
) -> None:
    found = point(1, FaithfulnessEvidence([], regraded=regraded))
    assert (found.state, found.told) == (state, told)


@pytest.mark.parametrize(
    ("n_same", "n_other", "production", "state", "says"),
    [
        (30, 0, STEADY, "not shown", "production agrees with itself in 100.0 %"),
        (80, 0, STEADY, "holds", ""),
        (60, 20, STEADY, "does not hold", ""),
        (30, 50, WAVERING, "holds", "in 33.3 %"),
        (78, 2, WAVERING, "does not hold", "more than it agrees with itself, so noise was fitted"),
        (80, 0, {"g1": Trials(1, 2)}, "not measured", "of at least two tasks"),
        (0, 0, STEADY, "not measured", "no replay rests on evidence alone"),
    ],
    ids=["too few", "as steady", "worse", "as wavering", "fitted", "one task", "none"],
)
def test_point_2_holds_matches_against_productions_own_agreement(
    n_same: int, n_other: int, production: dict[str, Trials], state: str, says: str
) -> None:
    tests = outcomes(
        (n_same, True, True, ()), (n_other, True, False, ()), (3, True, True, ("stale",))
    )
    found = point(2, FaithfulnessEvidence(tests, production=production))
    assert found.state == state
    assert says in found.line


def test_replays_of_one_task_are_no_independent_samples() -> None:
    alone = rate_of([True, False] * 20, [str(n) for n in range(40)])
    together = rate_of([n < 20 for n in range(40)], [str(n // 10) for n in range(40)])
    assert alone is not None
    assert together is not None
    assert alone.clustered is None
    assert together.clustered is not None
    assert together.wilson == alone.wilson
    assert together.interval.half_width > 1.3 * alone.interval.half_width
    assert rate_of([], []) is None


def test_point_3_holds_where_such_verdicts_do_not_count() -> None:
    doubtful = [replayed(n, True, n % 2 == 0, "failed") for n in range(40)]
    evidence = FaithfulnessEvidence(doubtful, production=STEADY)
    assert point(3, evidence).state == "holds"
    counting = [item._replace(counts=True) for item in doubtful]
    found = point(3, FaithfulnessEvidence(counting, production=STEADY))
    assert found.state == "does not hold"
    assert "40 of these verdicts count" in found.told
    unknown = point(3, FaithfulnessEvidence(counting, production={}))
    assert (unknown.state, unknown.needs) == ("not measured", ("trials",))
    clean = point(3, FaithfulnessEvidence([replayed(1, True, True)], production=STEADY))
    assert (clean.state, clean.told) == (
        "holds",
        "none of 1 replays rests on anything but evidence",
    )


@pytest.mark.parametrize(
    ("tests", "state", "word"),
    [
        (outcomes((100, True, True, ()), (100, False, False, ())), "holds", "as many"),
        (outcomes((100, True, True, ()), (40, True, False, ())), "does not hold", "harsher"),
        (outcomes((100, True, True, ()), (40, False, True, ())), "does not hold", "softer"),
        (outcomes((5, True, True, ()), (5, False, False, ())), "not shown", "as many"),
    ],
    ids=["as hard", "harsher", "softer", "too few to tell"],
)
def test_point_4_wants_as_many_passes(tests: list[ReplayedTest], state: str, word: str) -> None:
    found = point(4, FaithfulnessEvidence(tests))
    assert (found.state, f"({word})" in found.told) == (state, True)


def test_point_4_counts_what_cannot_be_compared() -> None:
    tests = [replayed(1, True, True), replayed(2, None, True), replayed(3, True, None)]
    assert point(4, FaithfulnessEvidence(tests)).figures["undecided"] == 2


def answer(stamp: str, is_right: bool | None, tool: str = "get_order", **own: Any) -> AnsweredCall:
    return AnsweredCall("t", own.pop("group", "g"), tool, stamp, is_right=is_right, **own)


def test_point_5_counts_wrong_answers_by_source_and_tool() -> None:
    answers = [
        *[answer("same", True)] * 99,
        answer("same", False),
        answer("same", False, stale=True),
        answer("simulated", False, "find_orders"),
        answer("failed", False, "find_orders"),
        answer("other", None),
    ]
    found = point(5, FaithfulnessEvidence([], answers=answers))
    assert found.state == "holds"
    assert found.told.startswith("wrong among evidence 1/100 = 1.0 %")
    assert "among made up, missing and stale 3/3; 1 without a real answer" in found.told
    assert found.figures["by_stamp"] == [
        {"stamp": "same", "n": 101, "wrong": 2},
        {"stamp": "simulated", "n": 1, "wrong": 1},
        {"stamp": "failed", "n": 1, "wrong": 1},
    ]
    assert [(row["tool"], row["stamp"]) for row in found.figures["by_tool"]] == [
        ("find_orders", "simulated"),
        ("find_orders", "failed"),
        ("get_order", "same"),
    ]
    assert point(5, FaithfulnessEvidence([], answers=answers), most_wrong=0.005).state == (
        "does not hold"
    )


@pytest.mark.parametrize(
    ("answers", "needs"),
    [
        (None, ("traces", "truth")),
        ([answer("same", None), answer("failed", False)], ("truth",)),
    ],
    ids=["no traces", "no truth"],
)
def test_point_5_needs_the_real_system(
    answers: list[AnsweredCall] | None, needs: tuple[str, ...]
) -> None:
    found = point(5, FaithfulnessEvidence([], answers=answers))
    assert (found.state, found.needs) == ("not measured", needs)


@pytest.mark.parametrize(
    ("answers", "state", "told"),
    [
        ([answer("failed", False, is_withheld=True)], "does not hold", "1/1 = 100.0 % (20.7 to"),
        (
            [
                answer("failed", False, is_withheld=True),
                answer("simulated", False, is_withheld=False),
                answer("simulated", True, is_withheld=True),
                answer("same", False, is_withheld=True),
            ],
            "holds",
            "1/2 = 50.0 %",
        ),
        ([answer("same", True)], "holds", "no answer was made up wrongly, none is missing"),
        ([answer("failed", False)], "not measured", ""),
        (
            [answer("simulated", None, is_withheld=True)],
            "not measured",
            "1 made-up answers of unknown worth",
        ),
    ],
    ids=["all lost", "half", "none missing", "tests unknown", "truth unknown"],
)
def test_point_6_counts_what_withheld_recordings_hold(
    answers: list[AnsweredCall], state: str, told: str
) -> None:
    found = point(6, FaithfulnessEvidence([], answers=answers))
    assert (found.state, told in found.told) == (state, True)


def persona(*wrong: int, n: int = 40, **own: Any) -> list[ReplayedTest]:
    return [replayed(k, True, k not in wrong, **(own if k in wrong else {})) for k in range(n)]


def test_point_7_says_which_matches_are_lost_and_why() -> None:
    sets = {
        "R1": persona(1, 2),
        "R2": [
            *persona(1, 3, 4, ended="loop")[:39],
            replayed(39, True, False, "simulated"),
        ],
        "R3": persona(1),
    }
    found = point(7, FaithfulnessEvidence([], persona=sets))
    assert found.state == "holds"
    lost = {row["what"]: row for row in found.figures["lost"]}
    assert lost["R3 matches, R2 does not"]["causes"] == {
        "answers that are no evidence": 1,
        "the agent made the same call again and again": 2,
    }
    assert lost["R3 matches, R1 does not"]["tests"] == ["t2"]
    assert lost["R3 matches, R1 does not"]["causes"] == {"the person, or chance": 1}
    assert lost["R1 matches, R3 does not"]["n"] == 0


def test_point_7_does_not_hold_where_another_rule_matches_more() -> None:
    sets = {"R1": persona(), "R2": persona(1), "R3": persona(*range(10))}
    assert point(7, FaithfulnessEvidence([], persona=sets)).state == "does not hold"
    few = {"R1": persona(), "R2": persona(), "R3": persona(1, 2)}
    assert point(7, FaithfulnessEvidence([], persona=few)).state == "holds"


def test_point_7_needs_all_three_rules_on_the_same_tests() -> None:
    two = {"R1": persona(), "R3": persona()}
    assert "no replays by R2" in point(7, FaithfulnessEvidence([], persona=two)).told
    apart = {"R1": persona(n=1), "R2": persona(n=1), "R3": persona(n=3)[1:]}
    found = point(7, FaithfulnessEvidence([], persona=apart))
    assert (found.state, found.told) == ("not measured", "no test has a verdict under every rule")


def rates(*passes: int) -> dict[str, Trials]:
    return {f"g{n}": Trials(k, 4) for n, k in enumerate(passes)}


@pytest.mark.parametrize(
    ("replayed_rates", "real", "state", "told"),
    [
        (rates(4, 1), rates(4, 0), "holds", "2 of 2 that moved point the right way"),
        (rates(0, 4), rates(4, 4), "does not hold", "nothing changes 0.500"),
        (rates(0, 1), rates(4, 0), "does not hold", "1 of 2 that moved point the right way"),
        (rates(0, 3), rates(0, 3), "holds", "error 0.000 over 2 tasks"),
        (rates(0, 4), rates(0, 4), "does not hold", "nothing changes 0.000"),
        ({"x": Trials(1, 1)}, rates(1, 1), "not measured", "no task has rates"),
    ],
    ids=["foreseen", "no better", "half the ways", "exact", "nothing changed", "other tasks"],
)
def test_point_8_asks_whether_another_agent_is_foreseen(
    replayed_rates: dict[str, Trials], real: dict[str, Trials], state: str, told: str
) -> None:
    changed = ChangedAgent(replayed_rates, real)
    found = point(8, FaithfulnessEvidence([], production=rates(0, 4), changed=changed))
    assert (found.state, told in found.told) == (state, True)


def test_point_9_asks_for_kappa_on_enough_runs() -> None:
    pairs = [JudgedPair(n % 2 == 0, n % 2 == 0) for n in range(60)]
    assert point(9, FaithfulnessEvidence([], judged=pairs)).state == "holds"
    assert point(9, FaithfulnessEvidence([], judged=pairs[:10])).state == "not shown"
    study = [JudgedPair(n < 63, True) for n in range(100)]
    found = point(9, FaithfulnessEvidence([], judged=study))
    assert found.state == "does not hold"
    assert found.told.startswith("agree on 63/100 = 63.0 % (53.2 to 71.8); kappa 0.00")
    same = point(9, FaithfulnessEvidence([], judged=[JudgedPair(True, True)] * 60))
    assert (same.state, "which proves nothing" in same.told) == ("not measured", True)
    assert point(9, FaithfulnessEvidence([], judged=[])).told == "no trace has a verdict of both"


def test_a_judge_is_paired_with_the_record_by_trace() -> None:
    def judgement(trace: str, verdict: str, **own: Any) -> ResultRow:
        subject = Subject(trace_id=trace, turn=own.get("turn"))
        grader = own.get("grader", "rubric:done")
        return ResultRow(subject=subject, grader=grader, verdict=Verdict(verdict))

    replays = [replayed(1, True, True), replayed(2, True, None)]
    recorded = recorded_traces([recording("a", success=False)])
    rows = [
        judgement("r1", "fail"),
        judgement("r2", "pass"),
        judgement("a", "fail"),
        judgement("r1", "pass", turn=3),
        judgement("r1", "pass", grader="spec:x"),
        judgement("r1", "inconclusive"),
    ]
    found = judged_pairs(rows, replays, recorded)
    assert found == [JudgedPair(False, True), JudgedPair(False, False)]
    with pytest.raises(InvalidOption, match="several rubrics: rubric:done, rubric:kind"):
        judged_pairs([*rows, judgement("r1", "pass", grader="rubric:kind")], replays)


def test_faithful_is_said_only_when_all_nine_hold() -> None:
    answers = [answer("same", True)]
    tests = outcomes((100, True, True, ()), (100, False, False, ()))
    judged = [JudgedPair(n % 2 == 0, n % 2 == 0) for n in range(60)]
    evidence = FaithfulnessEvidence(
        tests,
        production=STEADY,
        regraded=REGRADED,
        answers=answers,
        persona={"R1": persona(), "R2": persona(), "R3": persona()},
        changed=ChangedAgent({"g0": Trials(3, 3)}, {"g0": Trials(3, 3)}),
        judged=judged,
    )
    found = measure_faithfulness(evidence)
    assert (found.word, found.exit_code, found.counts["holds"]) == ("faithful", 0, 9)
    few = measure_faithfulness(evidence._replace(judged=judged[:9]))
    assert (few.word, few.exit_code, few.counts["not shown"]) == ("not shown", 3, 1)
    lacking = measure_faithfulness(evidence._replace(judged=None))
    assert (lacking.word, lacking.exit_code) == ("not shown", 3)
    wrong = measure_faithfulness(evidence._replace(answers=[answer("same", False)], judged=None))
    assert (wrong.word, wrong.exit_code) == ("not faithful", 1)
    json.dumps(found.as_json)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([True, False, None]),
            st.sampled_from([True, False, None]),
            st.sampled_from([(), ("stale",), ("failed", "simulated")]),
            st.integers(0, 3),
        ),
        max_size=30,
    )
)
def test_whatever_was_replayed_is_measured_and_can_be_written(
    rows: list[tuple[bool | None, bool | None, tuple[str, ...], int]],
) -> None:
    tests = [
        replayed(n, old, new, *doubts, group=f"g{group}")
        for n, (old, new, doubts, group) in enumerate(rows)
    ]
    found = measure_faithfulness(FaithfulnessEvidence(tests))
    assert len(found.points) == 9
    assert found.word != "faithful"
    for item in found.points:
        assert bool(item.needs) == (item.state == "not measured")
    assert json.loads(json.dumps(found.as_json))["verdict"] == found.word


def test_rows_of_replays_are_read() -> None:
    own: dict[str, Any] = {"production": "fail", "rests_on": ["stale"], "ended": "loop"}
    row = ResultRow(
        subject=Subject(trace_id="r", instance_id="t"),
        grader="replay",
        group="g",
        verdict=Verdict.INCONCLUSIVE,
        raw_verdict=Verdict.CRITICAL,
        **own,
    )
    (found,) = replayed_tests([row, row.model_copy(update={"grader": "spec:x"})])
    assert found == ReplayedTest("t", 0, "g", "r", False, False, False, ("stale",), "loop")
    bare = ResultRow(subject=Subject(instance_id="t"), grader="replay", verdict=Verdict.ERROR)
    (found,) = replayed_tests([bare])
    assert (found.production, found.replay, found.is_decided) == (None, None, False)
    passes = row.model_copy(update={"verdict": Verdict.PASS})
    assert rates_of_rows([passes, passes, row]) == {"g": Trials(2, 2)}
