"""`evaluate`: what it takes, foreign graders, judges, gates, and where it may be called."""

# ruff: noqa: E501 - messages are one line, however long

from __future__ import annotations

import asyncio
import contextvars
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.grading.runs import action, run
from tests.support.traces import values
from tracedance_sdk.errors import InvalidJudgement, InvalidOption, InvalidSpec, UnreadableFile
from tracedance_sdk.grading import (
    Calibration,
    Counts,
    Expected,
    FinalState,
    Grade,
    Idempotence,
    TaskRegistry,
    TaskSpec,
    Verdict,
    evaluate,
    evaluate_async,
    exit_code,
    worst,
)
from tracedance_sdk.grading.grades import brief
from tracedance_sdk.trace import Trace, is_type_stub

PASS, FAIL, CRITICAL = Verdict.PASS, Verdict.FAIL, Verdict.CRITICAL
OPEN, ERROR = Verdict.INCONCLUSIVE, Verdict.ERROR
DOCUMENT: dict[str, Any] = {"id": "t", "outcomes": [{"expected_state": {"a": 1}}]}
GOOD, BAD = run(final={"a": 1}, task_id="t"), run(final={"a": 2}, task_id="t")


def test_a_specification_may_come_in_many_shapes(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    path.write_text(
        json.dumps({"format": "tracedance.task", "version": 1, **DOCUMENT}), encoding="utf-8"
    )
    spec = TaskSpec.model_validate(DOCUMENT)
    shapes: list[Any] = [
        spec,
        DOCUMENT,
        path,
        str(path),
        TaskRegistry([spec]),
        list(spec.outcomes),
        (FinalState(expected_state=Expected({"a": 1})),),
        [{"type": "final_state", "expected_state": {"a": 1}}],
        lambda trace: trace.final_state == {"a": 1},
        [lambda trace: trace.final_state == {"a": 1}, Idempotence()],
    ]
    assert [evaluate(GOOD, shape).verdict for shape in shapes] == [PASS] * len(shapes)
    assert [evaluate(BAD, shape).verdict for shape in shapes] == [FAIL] * len(shapes)
    assert {evaluate(GOOD, shape).task_id for shape in shapes} == {"t"}


@pytest.mark.parametrize("shape", [5, None, [5], [None]], ids=repr)
def test_what_is_no_specification_is_refused(shape: Any) -> None:
    with pytest.raises(InvalidSpec) as caught:
        evaluate(GOOD, shape)
    assert "\n" not in str(caught.value)
    with pytest.raises(UnreadableFile):
        evaluate(GOOD, "no/such/file.yaml")


def grader_returning(value: Any) -> Any:
    def my_grader(trace: Trace) -> Any:
        return value

    return my_grader


@pytest.mark.parametrize(
    ("value", "verdict", "score"),
    [
        (True, PASS, 1.0),
        (False, FAIL, 0.0),
        (1, PASS, 1.0),
        (0.5, PASS, 0.5),
        (0.49, FAIL, 0.49),
        (0.0, FAIL, 0.0),
        (1.5, ERROR, None),
        (float("nan"), ERROR, None),
        (None, ERROR, None),
        ("yes", ERROR, None),
    ],
)
def test_what_a_function_may_return(value: Any, verdict: Verdict, score: float | None) -> None:
    report = evaluate(GOOD, grader_returning(value))
    grade = report.grades[0]
    assert (report.verdict, grade.score, grade.criterion) == (verdict, score, "my_grader")


def test_a_function_may_return_grades_of_its_own() -> None:
    own = [
        Grade(criterion="tone", type="own", verdict=OPEN, reason="hard to say"),
        Grade(criterion="tone", type="own", verdict=FAIL, severity="minor"),
    ]
    report = evaluate(GOOD, grader_returning(own))
    assert [grade.criterion for grade in report.grades] == ["my_grader.tone", "my_grader.tone-2"]
    assert report.verdict is OPEN
    assert evaluate(GOOD, grader_returning(own[1])).verdict is PASS


def test_a_function_may_say_how_it_is_to_be_taken() -> None:
    strict = grader_returning(0.8)
    strict.threshold, strict.severity, strict.id = 0.9, "critical", "strict"
    report = evaluate(GOOD, [strict, strict])
    assert [(g.criterion, g.verdict) for g in report.grades] == [
        ("strict", CRITICAL), ("strict-2", CRITICAL),
    ]  # fmt: skip


def test_a_grader_that_raises_is_an_error_and_the_others_still_run() -> None:
    def broken(trace: Trace) -> bool:
        raise KeyError("no\nsuch thing")

    async def broken_later(trace: Trace) -> bool:
        await asyncio.sleep(0)
        raise ValueError

    report = evaluate(GOOD, [broken, Idempotence(), broken_later, grader_returning(True)])
    assert [grade.verdict for grade in report.grades] == [PASS, ERROR, ERROR, PASS]
    assert report.verdict is ERROR
    assert [grade.reason for grade in report.errors] == snapshot(
        ["the grader raised KeyError: 'no\\nsuch thing'", "the grader raised ValueError"]
    )
    with pytest.raises(KeyboardInterrupt):
        evaluate(GOOD, _interrupted)


def _interrupted(trace: Trace) -> bool:
    raise KeyboardInterrupt


def test_a_grader_that_rewrites_the_trace_rewrites_only_its_own_copy() -> None:
    def greedy(trace: Trace) -> bool:
        trace.final_state["a"] = 99
        return True

    report = evaluate(GOOD, [greedy, lambda trace: trace.final_state == {"a": 1}])
    assert report.passed
    assert GOOD.final_state == {"a": 1}


def test_evaluate_works_inside_a_running_loop_and_waits_for_asynchronous_graders() -> None:
    asked: list[str] = []
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")

    async def patient(trace: Trace) -> bool:
        await asyncio.sleep(0.001)
        asked.append(tenant.get())
        return True

    async def main() -> list[Verdict]:
        tenant.set("blue")
        inside = evaluate(GOOD, patient)
        awaited = await evaluate_async(GOOD, patient)
        plain = evaluate(GOOD, DOCUMENT)
        return [inside.verdict, awaited.verdict, plain.verdict]

    assert asyncio.run(main()) == [PASS] * 3
    tenant.set("red")
    assert evaluate(GOOD, patient).passed
    assert asked == ["blue", "blue", "red"]


def test_an_error_in_the_private_thread_reaches_the_caller() -> None:
    async def main() -> None:
        evaluate(GOOD, _interrupted)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


class ScriptedJudge:
    """A judge that says what it was told to say."""

    name = "scripted"

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def judge(self, trace: Trace, spec: TaskSpec) -> Any:
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def judged(score: float) -> dict[str, Any]:
    return {"score": score, "reasoning": "", "strengths": [], "weaknesses": [], "issues": []}


@given(st.floats(0, 1), st.sampled_from([GOOD, BAD, run(), run("a", final={"a": 1})]))
def test_the_verdict_is_the_same_whatever_the_judge_says(score: float, trace: Trace) -> None:
    alone = evaluate(trace, DOCUMENT)
    heard = evaluate(trace, DOCUMENT, judge=ScriptedJudge(judged(score)))
    assert (heard.verdict, heard.grades) == (alone.verdict, alone.grades)
    assert heard.trajectory_score == score
    assert alone.trajectory_score is None


@pytest.mark.parametrize(
    "reply",
    [None, "", "8/10", {}, judged(1.5), judged(-0.1), {**judged(0.5), "extra": 1},
     {**judged(0.5), "score": "0.5"}, {**judged(0.5), "score": True}, [judged(0.5)],
     InvalidJudgement("quota"), RuntimeError("boom"), float("nan")],
    ids=repr,
)  # fmt: skip
def test_an_unusable_judgement_is_a_missing_score_with_a_reason(reply: Any) -> None:
    report = evaluate(GOOD, DOCUMENT, judge=ScriptedJudge(reply))
    assert report.verdict is PASS
    assert report.trajectory_score is None
    assert report.score_missing_reason
    assert report.to_dict()["trajectory"]["score"] is None


GATED = {**DOCUMENT, "judge": {"gate": True}, "unexpected_changes": False}
CALIBRATION = Calibration(judge="scripted", fail_below=0.3, pass_from=0.7)


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(0.0, FAIL), (0.29, FAIL), (0.3, OPEN), (0.69, OPEN), (0.7, PASS), (1.0, PASS)],
)
def test_a_calibrated_judge_may_gate_when_the_specification_opts_in(
    score: float, verdict: Verdict
) -> None:
    judge = ScriptedJudge(judged(score))
    report = evaluate(GOOD, GATED, judge=judge, calibration=CALIBRATION)
    assert (report.verdict, report.raw_verdict) == (verdict, PASS)
    assert any(note.startswith("gate:") for note in report.notes) is (verdict is not PASS)
    assert evaluate(GOOD, DOCUMENT, judge=judge, calibration=CALIBRATION).verdict is PASS
    assert evaluate(GOOD, GATED, judge=judge).verdict is PASS


@given(st.one_of(st.floats(0, 1).map(judged), st.none()), st.sampled_from([BAD, run(), GOOD]))
def test_a_gate_never_makes_a_verdict_better(reply: Any, trace: Trace) -> None:
    report = evaluate(trace, GATED, judge=ScriptedJudge(reply), calibration=CALIBRATION)
    assert report.verdict.rank <= report.raw_verdict.rank
    if report.raw_verdict is not PASS:
        assert report.verdict is report.raw_verdict


def test_a_gate_that_cannot_work_says_so() -> None:
    other = Calibration(judge="other", fail_below=0.1, pass_from=0.2)
    judge = ScriptedJudge(judged(0.0))
    reports = [
        evaluate(GOOD, GATED, calibration=CALIBRATION),
        evaluate(GOOD, GATED, judge=judge),
        evaluate(GOOD, GATED, judge=judge, calibration=other),
        evaluate(GOOD, GATED, judge=ScriptedJudge(None), calibration=CALIBRATION),
    ]
    assert [(report.verdict.value, *report.notes) for report in reports] == snapshot(
        [
            ("pass", "the judge does not gate: no judge was asked"),
            ("pass", "the judge 'scripted' does not gate: it is not calibrated"),
            ("pass", "the judge 'scripted' does not gate: the calibration is of 'other'"),
            ("inconclusive", "gate: no score (the judge's reply is empty)"),
        ]
    )


@pytest.mark.parametrize("bounds", [(0.7, 0.3), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5)])
def test_a_calibration_has_bounds_in_order(bounds: tuple[float, float]) -> None:
    with pytest.raises(InvalidOption):
        Calibration(judge="j", fail_below=bounds[0], pass_from=bounds[1])


@pytest.mark.parametrize("outcomes", [(), (1,), (2,), (1, 1), (1, 2), (2, 2)], ids=str)
def test_all_criteria_of_a_group_must_hold(outcomes: tuple[int, ...]) -> None:
    document = {
        "id": "t",
        "outcomes": [{"expected_state": {"a": value}} for value in outcomes],
    }
    report = evaluate(GOOD, document)
    assert report.passed is all(value == 1 for value in outcomes)
    assert len(report.outcome.grades) == len(outcomes)
    if not outcomes:
        assert (report.outcome.verdict, report.outcome.reason) == (PASS, "not specified")
        assert report.outcome.score is None
        assert report.to_dict()["dimensions"]["outcome"]["score"] is None


@pytest.mark.parametrize(
    ("verdicts", "summary", "code"),
    [
        ([], PASS, 0),
        ([PASS, PASS], PASS, 0),
        ([PASS, OPEN], OPEN, 3),
        ([OPEN, ERROR], ERROR, 3),
        ([ERROR, FAIL], FAIL, 1),
        ([FAIL, CRITICAL], CRITICAL, 1),
        ([OPEN, CRITICAL, PASS], CRITICAL, 1),
    ],
)
def test_the_order_of_verdicts_and_the_exit_code(
    verdicts: list[Verdict], summary: Verdict, code: int
) -> None:
    assert worst(verdicts) is summary
    assert exit_code(verdicts) == code
    assert exit_code(reversed(verdicts)) == code


def test_a_report_is_json_with_the_evidence_of_every_grade() -> None:
    trace = run(action("pay", {"n": 1}), action("pay", {"n": 1.0}), initial={}, final={"a": 1})
    document = {
        **DOCUMENT,
        "description": "pay once",
        "criteria": [{"type": "idempotence", "name": "No double payment"}],
    }
    found = json.loads(json.dumps(evaluate(trace, document).to_dict()))
    assert {key: found[key] for key in ("format", "version", "verdict", "trajectory")} == snapshot(
        {
            "format": "tracedance.report",
            "version": 1,
            "verdict": "fail",
            "trajectory": {
                "score": None,
                "missing_reason": "no judge was asked",
                "judge": None,
                "judgement": None,
            },
        }
    )
    assert found["dimensions"]["further"] == snapshot(
        {
            "verdict": "fail",
            "score": 0.0,
            "reason": "No double payment: action 2 (pay) repeats action 1 (pay)",
        }
    )
    assert found["grades"][1] == snapshot(
        {
            "criterion": "idempotence",
            "name": "No double payment",
            "type": "idempotence",
            "verdict": "fail",
            "score": 0.0,
            "reason": "action 2 (pay) repeats action 1 (pay)",
            "evidence": [
                {
                    "what": "action 2 (pay) repeats action 1 (pay)",
                    "call_id": "2",
                    "action": 2,
                    "found": {"n": 1.0},
                    "severity": "major",
                }
            ],
            "severity": "major",
            "dimension": "further",
        }
    )


def test_long_values_are_shortened_in_evidence() -> None:
    trace = run(final={"a": "x" * 100_000})
    report = evaluate(trace, DOCUMENT)
    assert len(json.dumps(report.to_dict())) < 5_000
    found = report.outcome.grades[0].evidence[0].found
    assert (found["$type"], len(found["$repr"]) < 300) == ("str", True)


def test_criteria_built_in_python_are_checked_like_any_other() -> None:
    count = Counts.model_validate({"of": "pay", "max": 1})
    assert evaluate(run("pay"), [count]).passed
    with pytest.raises(ValueError, match="give 'min', 'max' or both"):
        Counts.model_validate({"of": "pay"})


def test_the_depth_and_size_of_a_state_make_no_grader_break() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    report = evaluate(run(initial={}, final=deep), DOCUMENT)
    assert [grade.verdict for grade in report.grades] == [FAIL, PASS]
    assert report.outcome.reason == snapshot(
        "final_state: /a is {'a': {'a': {'a': {'a': {'a': {'a': {'a': {'a': {'a': {'a': {'a': {'a': {'a':...; expected 1"
    )


@given(values, st.integers(10, 60))
def test_values_in_sentences_are_the_beginning_of_what_python_shows(value: Any, limit: int) -> None:
    shown = brief(value, limit=limit)
    assert len(shown) <= limit
    if not is_type_stub(value) and len(repr(value)) <= limit:
        assert shown == repr(value)


def test_a_literal_state_names_the_place_that_differs() -> None:
    document = {"id": "t", "outcomes": [{"expected_state": {"$literal": {"a": {"$b": 1}}}}]}
    report = evaluate(run(final={"a": {"$b": 2}}), document)
    assert report.outcome.grades[0].evidence[0].path == "/a/$b"


def test_a_report_prints_its_verdict_and_a_line_for_each_grade() -> None:
    document = {
        "id": "pay",
        "outcomes": [{"expected_state": {"paid": True}}],
        "critical_errors": [{"id": "ann", "action": "pay", "matches": {"to": "Ann"}}],
        "criteria": [{"type": "budget", "max_actions": 0, "severity": "minor"}],
    }
    trace = run(action("pay", {"to": "Ann"}), initial={}, final={"paid": True})
    assert str(evaluate(trace, document, judge=ScriptedJudge(judged(0.5)))) == snapshot("""\
critical: pay
  pass      final_state: the final state is as expected
  critical  ann: action 1 (pay): pay {'to': 'Ann'} must not happen
  fail      budget: actions 1; at most 0 allowed (minor)
  pass      unexpected_changes: nothing else changed
  judge scripted: 0.5\
""")
    assert str(evaluate(run(), [])) == snapshot("pass: no task")
    several = evaluate(run("b", "b"), [*({"type": "budget", "max_actions": 1},) * 2])
    assert several.further.reason == snapshot(
        "2 of 2 criteria do not pass; budget: actions 2; at most 1 allowed"
    )
