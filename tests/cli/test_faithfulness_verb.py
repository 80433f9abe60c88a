"""`tracedance faithfulness`: inputs in, nine points and a word out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.replay.conversations import CANCEL, LOOK, recording
from tracedance_sdk.cli import run
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.grading import ResultRow, ResultSetWriter, Subject, Verdict
from tracedance_sdk.replay import rebuild, save_tests
from tracedance_sdk.trace import Json

GRADERS = """
def cancelled(trace):
    return any(c.name == "cancel_order" and c.arguments == {"order": "W-1001", "refund": 20}
               for c in trace.actions)

def anything(trace):
    return True

def broken(trace):
    raise RuntimeError("no idea")
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with four recordings of two tasks, their tests, replays and graders."""
    (tmp_path / "graders.py").write_text(GRADERS)
    (tmp_path / "traces").mkdir()
    traces = [
        recording("a1"),
        recording("a2"),
        recording("b1", success=False, steps=(LOOK,)),
        recording("b2"),
    ]
    traces = [trace.model_copy(update={"group": trace.id[0]}) for trace in traces]
    for trace in traces:
        save_trace(trace, tmp_path / "traces" / f"{trace.id}.json")
    save_tests(rebuild(traces).tests, tmp_path / "tests")
    replay(tmp_path, "replays", "--traces", str(tmp_path / "runs"))
    return tmp_path


def replay(place: Path, out: str, *options: str) -> None:
    grader = f"{place / 'graders.py'}:cancelled"
    given = ["--agent", "recorded", "--customer", "scripted", "--grader", grader, *options]
    assert run(["replay", str(place / "tests"), "--out", str(place / out), *given]) == 1


def measured(
    place: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    names = [option.replace("PLACE", str(place)) for option in options]
    code = run(["faithfulness", *names, "--json"])
    printed = capsys.readouterr()
    assert printed.err == ""
    found: dict[str, Any] = json.loads(printed.out)
    assert found["exit_code"] == code
    return code, found


def states(found: dict[str, Any]) -> dict[int, str]:
    return {point["number"]: point["state"] for point in found["points"]}


def truth(place: Path, **wrong: Json) -> Path:
    """Write what the real system answers to the replays: the recorded answers, but for `wrong`."""
    lines: list[Any] = [{"format": "tracedance.truth", "version": 1}]
    for path in sorted((place / "runs").glob("*.json")):
        trace = load_trace(path)
        calls = [
            {"name": call.name, "answer": wrong.get(call.name, call.result.content)}
            for call in trace.actions
            if call.result is not None
        ]
        lines.append({"trace_id": trace.id, "calls": calls})
    (place / "truth.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return place / "truth.jsonl"


def test_results_alone_measure_what_they_can_and_ask_for_the_rest(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = measured(place, capsys, "PLACE/replays")
    assert (found["format"], found["replays"], found["tests"]) == (
        "tracedance.faithfulness",
        4,
        4,
    )
    assert [n for n, state in states(found).items() if state == "not measured"] == [
        1,
        5,
        6,
        7,
        8,
        9,
    ]
    asked = " ".join(point["found"] for point in found["points"])
    for option in ("recordings", "grader", "traces", "truth", "tests", "persona", "judged"):
        assert f"--{option}" in asked


def test_everything_that_is_given_is_measured(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rule in ("R1", "R2", "R3"):
        replay(place, rule)
    rates = [{"group": group, "passes": 2, "trials": 2} for group in "ab"]
    (place / "real.jsonl").write_text("\n".join(map(json.dumps, rates)))
    judgements(place)
    truth(place)
    code, found = measured(
        place,
        capsys,
        "PLACE/replays",
        *("--recordings", "PLACE/traces", "--grader", "PLACE/graders.py:cancelled"),
        *("--traces", "PLACE/runs", "--truth", "PLACE/truth.jsonl", "--tests", "PLACE/tests"),
        *("--persona", "R1=PLACE/R1", "--persona", "R2=PLACE/R2", "--persona", "R3=PLACE/R3"),
        *("--changed-replay", "PLACE/replays", "--changed-real", "PLACE/real.jsonl"),
        *("--judged", "PLACE/judged"),
    )
    assert "not measured" not in states(found).values()
    # Replays of the old agent foresee nothing of a better one.
    assert states(found)[8] == "does not hold"
    assert (code, found["verdict"]) == (1, "not faithful")
    assert {n for n, state in states(found).items() if state == "holds"} >= {1, 3, 5, 6, 7}
    points = {point["number"]: point["figures"] for point in found["points"]}
    assert points[5]["by_tool"] == [
        {"tool": "cancel_order", "stamp": "same", "n": 3, "wrong": 0},
        {"tool": "get_order", "stamp": "same", "n": 4, "wrong": 0},
    ]
    assert (points[8]["n_tasks"], points[8]["new_rate"]) == (2, 1.0)
    assert (points[9]["tp"], points[9]["tn"], points[9]["fp"]) == (3, 0, 1)


def judgements(place: Path) -> None:
    """Write a judge's set: it passes every replay."""
    with ResultSetWriter(place / "judged", manifest={"command": "judge"}) as writer:
        for path in sorted((place / "runs").glob("*.json")):
            subject = Subject(trace_id=load_trace(path).id)
            writer.add(ResultRow(subject=subject, grader="rubric:done", verdict=Verdict.PASS))


def test_a_wrong_answer_is_not_faithful(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth(place, cancel_order="refused")
    options = ("--traces", "PLACE/runs", "--truth", "PLACE/truth.jsonl")
    code, found = measured(place, capsys, "PLACE/replays", *options)
    assert (code, states(found)[5]) == (1, "does not hold")
    _, found = measured(place, capsys, "PLACE/replays", *options, "--most-wrong", "0.5")
    assert states(found)[5] == "holds"


def test_the_points_the_tables_and_the_word_are_printed(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth(place)
    given = ["--traces", str(place / "runs"), "--truth", str(place / "truth.jsonl")]
    capsys.readouterr()
    run(["faithfulness", str(place / "replays"), *given])
    printed = capsys.readouterr().out
    assert "4 replays of 4 tests" in printed
    assert "5  holds" in printed
    assert "cancel_order  same" in printed
    assert printed.splitlines()[-1].startswith("not ")


def test_real_rates_may_be_a_result_set(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--changed-replay", "PLACE/replays", "--changed-real", "PLACE/replays")
    _, found = measured(place, capsys, "PLACE/replays", *options)
    assert found["points"][7]["figures"]["error"] == 0


def test_half_of_what_a_point_needs_is_said(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--recordings", "PLACE/traces", "--changed-real", "PLACE/replays")
    _, found = measured(place, capsys, "PLACE/replays", *options, "--traces", "PLACE/runs")
    asked = {point["number"]: point["found"] for point in found["points"]}
    assert "--grader" in asked[1]
    assert "--recordings" not in asked[1]
    assert ("--changed-replay" in asked[8], "--changed-real" in asked[8]) == (True, False)
    assert ("--truth" in asked[5], "--traces" in asked[5]) == (True, False)


@pytest.mark.parametrize("source", ["traces", "tests"])
@pytest.mark.parametrize(
    ("grader", "code", "caught", "missed", "errors"),
    [("cancelled", 0, 6, 0, 0), ("anything", 1, 0, 6, 0), ("broken", 1, 0, 0, 0)],
)
def test_a_grader_is_checked(  # noqa: PLR0917 - a table and its fixtures
    place: Path,
    capsys: pytest.CaptureFixture[str],
    source: str,
    grader: str,
    code: int,
    caught: int,
    missed: int,
    errors: int,
) -> None:
    options = ("--self-check", f"PLACE/{source}", "--grader", f"PLACE/graders.py:{grader}")
    exit_code, found = measured(place, capsys, *options)
    assert (exit_code, found["caught"], found["missed"], found["errors"]) == (
        code,
        caught,
        missed,
        errors,
    )
    assert (found["recordings"], found["stored"]) == (4, 4)
    assert len(found["not_caught"]) == missed


def test_what_was_missed_is_printed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grader = f"{place / 'graders.py'}:anything"
    capsys.readouterr()
    assert run(["faithfulness", "--self-check", str(place / "traces"), "--grader", grader]) == 1
    printed = capsys.readouterr().out
    assert "3 of 4 stored verdicts are given back" in printed
    assert "the grader caught 0 of 6 alterations" in printed
    assert "left out: the call" in printed


def test_recordings_without_a_write_prove_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "graders.py").write_text(GRADERS)
    save_trace(recording("a", steps=(LOOK,)), tmp_path / "a.json")
    options = ("--self-check", "PLACE/a.json", "--grader", "PLACE/graders.py:anything")
    code, found = measured(tmp_path, capsys, *options)
    assert (code, found["possible"], found["without_writes"]) == (3, 0, 1)


def test_a_trace_that_cannot_be_read_is_said(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "traces" / "bad.json").write_text('{"format": "tracedance.trace", "version": 1')
    grader = f"{place / 'graders.py'}:cancelled"
    given = ["--self-check", str(place / "traces"), "--grader", grader, "--json"]
    capsys.readouterr()
    assert run(["faithfulness", *given]) == 3
    printed = capsys.readouterr()
    assert json.loads(printed.out)["unread"] == 1
    assert "bad.json" in printed.err


def test_names_in_recordings_do_nothing_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "graders.py").write_text(GRADERS)
    name, arguments, answer = CANCEL
    evil = (f"{name}\x1b[2J\n[red]", arguments, answer)
    save_trace(recording("a", steps=(evil,)), tmp_path / "a.json")
    grader = f"{tmp_path / 'graders.py'}:anything"
    assert run(["faithfulness", "--self-check", str(tmp_path / "a.json"), "--grader", grader]) == 1
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "[red]" in printed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("PLACE/traces",), "no result set"),
        (("PLACE/none",), "not a folder"),
        (("PLACE/judged",), "holds no replay of a rebuilt test"),
        (("PLACE/replays", "--persona", "R4=x"), "'R4=x' is not RULE=DIR"),
        (
            ("PLACE/replays", "--persona", "R1=PLACE/replays", "--persona", "R1=PLACE/replays"),
            "gives R1 twice",
        ),
        (("PLACE/replays", "--traces", "PLACE/traces"), "no trace of these replays"),
        (("PLACE/replays", "--traces", "PLACE/runs", "--truth", "PLACE/graders.py"), "first line"),
        (("PLACE/replays", "--grader", "PLACE/graders.py:none"), "has no function 'none'"),
        (("PLACE/replays", "--grader", "x:y", "--tasks", "z"), "say once who grades"),
        (
            ("PLACE/replays", "--changed-replay", "PLACE/replays", "--changed-real", "PLACE/x"),
            "x'",
        ),
        (("--self-check", "PLACE/traces"), "needs a grader"),
        (("--self-check", "PLACE/graders.py", "--grader", "PLACE/graders.py:anything"), ""),
        (
            ("--self-check", "PLACE/traces", "--truth", "x", "--grader", "json:loads"),
            "--truth is not for --self-check",
        ),
    ],
)
def test_wrong_use_is_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], says: str
) -> None:
    judgements(place)
    capsys.readouterr()
    assert run(["faithfulness", *(o.replace("PLACE", str(place)) for o in options)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err.splitlines()[-1]
    assert "Traceback" not in printed.err


def covered(place: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["faithfulness", "--coverage", str(place / "tests"), *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (found["format"], found["version"]) == ("tracedance.coverage", 1)
    return found


def test_coverage_says_where_the_calls_of_siblings_are_answered_from(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = covered(place, capsys)
    assert (found["tests"], found["pairs"], found["clean"], found["calls"]) == (4, 4, 4, 7)
    assert found["by_tool"] == {
        "cancel_order": {"other": 1, "same": 2, "withheld": 0},
        "get_order": {"same": 4, "withheld": 0},
    }
    assert covered(place, capsys, "--siblings", "--no-derived")["calls"] == 7


def test_coverage_without_the_others_recordings_says_what_is_withheld(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (place / "tests").glob("a*.yaml"):
        path.unlink()
    capsys.readouterr()
    assert run(["faithfulness", "--coverage", str(place / "tests")]) == 0
    printed = capsys.readouterr().out
    assert "2 pairs of 2 tests" in printed
    assert "1 call without an answer; recordings that are withheld hold 0 of them" in printed
    assert "1 of 2 pairs have an answer to every call" in printed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("PLACE/tests", "--coverage", "--self-check"), "ask for one of them"),
        (("PLACE/replays", "--siblings"), "--siblings is for --coverage"),
        (("PLACE/replays", "--no-derived"), "--no-derived is for --coverage"),
        (("PLACE/tests", "PLACE/tests", "--coverage"), "takes one folder"),
        (("PLACE/tests", "--coverage", "--grader", "x:y"), "--grader is not for --coverage"),
        (("PLACE/tests", "--coverage", "--truth", "x"), "--truth is not for --coverage"),
        (("PLACE/runs", "--coverage"), "holds no rebuilt tests"),
        (("PLACE/lone", "--coverage"), "no two tests are of one group"),
    ],
    ids=["two", "siblings", "rules", "two folders", "grader", "truth", "no tests", "no siblings"],
)
def test_wrong_use_of_coverage_is_one_line(
    options: tuple[str, ...], says: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_tests(rebuild([recording("c1")]).tests, place / "lone")
    capsys.readouterr()
    assert run(["faithfulness", *(option.replace("PLACE", str(place)) for option in options)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
