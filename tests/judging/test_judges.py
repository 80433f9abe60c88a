"""The judges that need no model: recorded replies, and counting."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.errors import (
    InvalidJSON,
    InvalidJudgement,
    UnreadableFile,
    UnsupportedVersion,
)
from tracedance_sdk.grading import Judgement, TaskSpec, Verdict, evaluate, read_spec
from tracedance_sdk.judging import HeuristicJudge, RecordedJudge, save_judgements
from tracedance_sdk.trace import Call, ErrorInfo, Result, Trace, Turn, content_hash

GOOD = Judgement(score=0.5, reasoning="So so.", strengths=(), weaknesses=("slow",), issues=())


def run_of(*steps: tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], str]) -> Trace:
    """Build a trace of calls ``(name, arguments)``, failed ones with an error text."""
    calls = tuple(
        Call(
            index=index,
            id=f"c{index + 1}",
            name=step[0],
            arguments=step[1],
            result=Result(ok=True)
            if len(step) == 2
            else Result(ok=False, error=ErrorInfo(type="Failed", message=step[2])),
        )
        for index, step in enumerate(steps)
    )
    turn = Turn(index=0, role="assistant", origin="agent", calls=calls, synthetic=True)
    return Trace(id="t", task_id="task", turns=(turn,))


def task(**fields: Any) -> TaskSpec:
    return read_spec({"id": "task", **fields}, versioned=False)


def heuristic(trace: Trace, spec: TaskSpec | None = None, **given: Any) -> Judgement:
    judge = HeuristicJudge(**given)
    return asyncio.run(judge.judge(trace, spec or TaskSpec(id="task")))


def test_recorded_judgements_are_found_again_by_content(tmp_path: Path) -> None:
    trace = run_of(("send", {"to": "Sam"}))
    path = tmp_path / "judgements.json"
    save_judgements({content_hash(trace): GOOD}, path, judge="ann")
    judge = RecordedJudge.from_file(path)
    assert judge.name == "ann"
    again = trace.model_copy(update={"id": "another"})
    report = evaluate(again, TaskSpec(id="task"), judge=judge)
    assert report.judgement == GOOD
    other = evaluate(run_of(("send", {"to": "Ann"})), TaskSpec(id="task"), judge=judge)
    assert other.trajectory_score is None
    assert (other.score_missing_reason or "").startswith("no judgement is recorded for trace 't'")


HEAD = {"format": "tracedance.judgements", "version": 1}


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        pytest.param("{", InvalidJSON, "not JSON", id="no-json"),
        pytest.param("[]", InvalidJudgement, "not a file of judgements", id="list"),
        pytest.param('{"format": "other"}', InvalidJudgement, "'format' is not", id="format"),
        pytest.param(
            json.dumps({**HEAD, "version": 2}), UnsupportedVersion, "version 2", id="version"
        ),
        pytest.param(
            json.dumps({**HEAD, "version": True}), UnsupportedVersion, "version True", id="bool"
        ),
        pytest.param(
            json.dumps(HEAD), InvalidJudgement, "not an object @ $.judgements", id="no-judgements"
        ),
        pytest.param(
            json.dumps({**HEAD, "judgements": {"ab": 1}}),
            InvalidJudgement,
            "no 'judgement' in the entry @ $.judgements.ab",
            id="entry",
        ),
        pytest.param(
            '{"format": "tracedance.judgements", "version": 1, "judgements": {}, "judgements": {}}',
            InvalidJSON,
            "stands twice",
            id="duplicate-key",
        ),
    ],
)
def test_a_file_that_is_no_file_of_judgements_is_refused_in_one_line(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    path = tmp_path / "judgements.json"
    path.write_text(text)
    with pytest.raises(error, match=r"judgements\.json") as caught:
        RecordedJudge.from_file(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_of_judgements_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        RecordedJudge.from_file(tmp_path / "none.json")


def test_unusable_recorded_replies_leave_verdict_and_mean_alone() -> None:
    traces = [run_of(("send", {"n": n})) for n in range(3)]
    replies = {
        content_hash(traces[0]): GOOD.to_dict(),
        content_hash(traces[1]): {**GOOD.to_dict(), "score": "0.9"},
        content_hash(traces[2]): "",
    }
    judge = RecordedJudge(replies)
    reports = [evaluate(trace, TaskSpec(id="task"), judge=judge) for trace in traces]
    assert [report.trajectory_score for report in reports] == [0.5, None, None]
    assert {report.verdict for report in reports} == {Verdict.PASS}
    scores = [r.trajectory_score for r in reports if r.trajectory_score is not None]
    assert sum(scores) / len(scores) == 0.5


def test_nothing_to_fault_is_a_full_score() -> None:
    judgement = heuristic(run_of(("a", {}), ("b", {})))
    assert judgement.score == 1.0
    assert judgement.reasoning == "2 actions; nothing to fault"


@pytest.mark.parametrize(
    ("steps", "score", "issues"),
    [
        pytest.param(
            [("pay", {"amount": 100}), ("pay", {"amount": 100.0})],
            0.9,
            [("unnecessary_action", "c2")],
            id="same-call-again",
        ),
        pytest.param([("pay", {"n": 1}), ("pay", {"n": True})], 1.0, [], id="true-is-not-one"),
        pytest.param([("pay", {"n": 1}), ("pay", {"n": "1"})], 1.0, [], id="text-is-not-number"),
        pytest.param(
            [("pay", {"n": 1}, "timeout"), ("pay", {"n": 1})],
            0.85,
            [("other", "c1")],
            id="failed-first-try-is-no-duplicate",
        ),
        pytest.param(
            [("pay", {"n": 1}, "refused")], 0.85, [("poor_recovery", "c1")], id="never-recovered"
        ),
    ],
)
def test_failures_and_repetitions_cost_points(
    steps: list[Any], score: float, issues: list[tuple[str, str]]
) -> None:
    judgement = heuristic(run_of(*steps))
    assert judgement.score == score
    assert [(issue.type, *issue.action_ids) for issue in judgement.issues] == issues


def test_a_known_run_is_the_path() -> None:
    known = run_of(("look", {"id": 7}), ("send", {"to": "Sam"}))
    longer = run_of(("look", {"id": 7}), ("look", {"id": 8}), ("send", {"to": "Sam"}))
    judgement = heuristic(longer, known_runs=[longer, known])
    assert judgement.score == 0.9
    assert [issue.action_ids for issue in judgement.issues] == [("c2",)]


def test_a_reference_trajectory_is_the_path() -> None:
    spec = task(
        criteria=[
            {"type": "trajectory", "mode": "superset", "reference": ["look", "send"]},
            {"type": "trajectory", "mode": "superset", "reference": ["look", "look", "send"]},
        ],
    )
    trace = run_of(("look", {"id": 1}), ("look", {"id": 2}), ("send", {}))
    assert heuristic(trace, spec).score == 0.9


def test_a_required_action_with_acceptable_inputs_is_one_step() -> None:
    spec = task(
        actions=[{"rules": [{"action": "send"}, {"action": "look"}]}],
        criteria=[{"type": "required_actions", "actions": ["send"]}],
    )
    assert heuristic(run_of(("look", {}), ("send", {"n": 1})), spec).score == 1.0
    assert heuristic(run_of(("send", {"n": 1}), ("send", {"n": 2})), spec).score == 0.9


names = st.sampled_from(["look", "send", "pay"])
steps = st.lists(
    st.tuples(names, st.fixed_dictionaries({"n": st.integers(0, 2)}))
    | st.tuples(names, st.fixed_dictionaries({"n": st.integers(0, 2)}), st.just("no")),
    max_size=12,
)
SPEC = task(
    actions=[{"rules": [{"action": "look"}, {"action": "send", "acceptable_inputs": [{"n": 1}]}]}],
    critical_errors=[{"rules": [{"action": "pay", "matches": {"n": 2}}]}],
)


@given(steps)
def test_the_heuristic_score_is_a_score_and_the_same_again(given_steps: list[Any]) -> None:
    trace = run_of(*given_steps)
    first, second = heuristic(trace, SPEC), heuristic(trace, SPEC)
    assert first == second
    assert 0 <= first.score <= 1
    ids = {call.id for call in trace.calls}
    assert {i for issue in first.issues for i in issue.action_ids} <= ids


@given(steps)
def test_a_critical_call_more_never_scores_higher(given_steps: list[Any]) -> None:
    worse = [*given_steps, ("pay", {"n": 2})]
    assert heuristic(run_of(*worse), SPEC).score <= heuristic(run_of(*given_steps), SPEC).score


@given(st.dictionaries(st.text("0123456789abcdef", min_size=64, max_size=64), st.floats(0, 1)))
def test_a_file_of_judgements_is_read_back_the_same(scores: dict[str, float]) -> None:
    judgements = {
        digest: Judgement(score=score, reasoning="r", strengths=(), weaknesses=(), issues=())
        for digest, score in scores.items()
    }
    entries = {digest: {"judgement": item.to_dict()} for digest, item in judgements.items()}
    judge = RecordedJudge.from_document({**HEAD, "judge": "x", "judgements": entries})
    again = RecordedJudge.from_document(json.loads(json.dumps({**HEAD, "judgements": entries})))
    assert judge._judgements == again._judgements
