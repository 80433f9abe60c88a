"""Spec A.9: the table of four runs, from traces that the recorder itself made."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tracedance_sdk.demo import SCRIPTS, TASK_ID, demo_judge, demo_task, record_run
from tracedance_sdk.grading import Report, Verdict, evaluate, read_spec
from tracedance_sdk.judging import HeuristicJudge
from tracedance_sdk.trace import Trace, content_hash, decode, encode


def graded(trace: Trace) -> Report:
    return evaluate(trace, demo_task(), judge=demo_judge())


# Spec A.9, columns outcome, actions, critical, trajectory; overall by DESIGN 4's five verdicts.
TABLE = {
    "critical-error": ("pass", "fail", "critical", 0.85, "critical"),
    "efficient": ("pass", "pass", "pass", 0.98, "pass"),
    "failed": ("fail", "fail", "critical", 0.12, "critical"),
    "inefficient": ("pass", "fail", "pass", 0.88, "fail"),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_golden_table(name: str) -> None:
    report = graded(record_run(name))
    found = (
        report.outcome.verdict.value,
        report.actions.verdict.value,
        report.critical_errors.verdict.value,
        report.trajectory_score,
        report.verdict.value,
    )
    assert found == TABLE[name]


def test_one_of_four_passes() -> None:
    assert SCRIPTS.keys() == TABLE.keys()
    assert [name for name in SCRIPTS if graded(record_run(name)).passed] == ["efficient"]


def violations(report: Report, dimension: str) -> list[tuple[int | None, str | None]]:
    found = next(item for item in report.dimensions if item.dimension == dimension)
    return [(e.action, e.call_id) for grade in found.grades for e in grade.evidence]


@pytest.mark.parametrize(
    ("name", "actions", "critical"),
    [
        ("critical-error", [(4, "4")], [(4, "4")]),
        ("efficient", [], []),
        ("failed", [(2, "2"), (4, "4")], [(4, "4")]),
        ("inefficient", [(2, "2")], []),
    ],
)
def test_violations_name_the_action(
    name: str, actions: list[tuple[int, str]], critical: list[tuple[int, str]]
) -> None:
    report = graded(record_run(name))
    assert violations(report, "actions") == actions
    assert violations(report, "critical_errors") == critical


@pytest.mark.parametrize(
    ("name", "n_actions", "failed"),
    [("critical-error", 7, []), ("efficient", 6, []), ("failed", 6, ["3"]), ("inefficient", 7, [])],
)
def test_the_recorder_saw_every_action(name: str, n_actions: int, failed: list[str]) -> None:
    trace = record_run(name)
    assert [call.id for call in trace.actions] == [str(n) for n in range(1, n_actions + 1)]
    assert [call.id for call in trace.actions if call.failed] == failed
    assert trace.task_id == TASK_ID
    assert trace.initial_state["email"] == {"sent": False}
    assert trace.final_state["email"]["sent"] is True


def test_two_recordings_of_a_run_differ_in_id_and_not_in_content() -> None:
    first, second = record_run("efficient"), record_run("efficient")
    assert first.id != second.id
    assert content_hash(first) == content_hash(second)
    assert content_hash(decode(encode(first))) == content_hash(first)
    assert len({content_hash(record_run(name)) for name in SCRIPTS}) == len(SCRIPTS)


def test_a_run_nobody_judged_has_a_missing_score_and_the_same_verdict() -> None:
    trace = record_run("efficient").model_copy(update={"system_prompt": "Be quick."})
    report = graded(trace)
    assert report.trajectory_score is None
    assert re.fullmatch(
        r"no judgement is recorded for trace '[0-9a-f]{32}' \(content hash [0-9a-f]{12}\)",
        report.score_missing_reason or "",
    )
    assert report.verdict is Verdict.PASS


def test_the_heuristic_judge_ranks_efficient_above_inefficient_above_failed() -> None:
    scores = {
        name: evaluate(record_run(name), demo_task(), judge=HeuristicJudge()).trajectory_score
        for name in SCRIPTS
    }
    assert scores == {
        "critical-error": 0.6,
        "efficient": 1.0,
        "failed": 0.35,
        "inefficient": 0.9,
    }


def test_the_tasks_own_notation_and_traceevals_agree() -> None:
    rule = {"id": "j", "name": "John", "description": "no John"}
    spec = read_spec(
        {
            "task": {
                "id": "revenue-email",
                "description": "",
                "initialState": {},
                "expectedState": {
                    "email": {"recipient": "Sam", "body": "Total revenue: $482500", "sent": True}
                },
            },
            "actionCriteria": [
                {
                    "id": "a",
                    "name": "inputs",
                    "description": "",
                    "rules": [
                        {
                            "actionType": "open_spreadsheet",
                            "acceptableInputs": [{"name": "Q3 Revenue"}],
                        },
                        {"actionType": "select_range", "acceptableInputs": [{"range": "B4:B11"}]},
                        {"actionType": "calculate_sum"},
                        {"actionType": "select_contact", "acceptableInputs": [{"name": "Sam"}]},
                    ],
                }
            ],
            "criticalErrorCriteria": [
                {**rule, "actionType": "select_contact", "matches": {"name": "John"}}
            ],
        }
    )
    for name, expected in TABLE.items():
        assert evaluate(record_run(name), spec).verdict.value == expected[-1]


def test_the_data_files_are_packaged() -> None:
    folder = files("tracedance_sdk.demo")
    for name in ("task.yaml", "judgements.json"):
        assert folder.joinpath(name).is_file()
