"""The page on calibration: its tables are those of the code, its worked examples are run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.counters import tau2_judge_verdicts
from tests.docs.pages import code_names, page, section, table
from tests.docs.test_pages import fits, run
from tests.support.shared_data import shared_data
from tracedance_sdk.cli.calibrate import _EXIT_CODES
from tracedance_sdk.grading import ResultRow, Subject
from tracedance_sdk.judging import MEASURES
from tracedance_sdk.judging.judged_rows import UNDECIDED
from tracedance_sdk.judging.ratings import AMBIGUOUS, HOMELESS, SPLIT, UNLABELLED, UNSURE_LABEL
from tracedance_sdk.judging.row_fields import why_missing
from tracedance_sdk.statistics import Confusion

PAGE = page("calibration.md")


def test_the_figures_are_those_of_the_code() -> None:
    rows = table(section(PAGE, "What the figures say"))
    shown = [code_names(row[0])[0] for row in rows]
    assert shown == list(MEASURES.values())


def test_the_reasons_are_those_of_the_code() -> None:
    rows = table(section(PAGE, "Which items count"))
    shown = {code_names(row[0])[0] for row in rows}
    reasons = {UNDECIDED, UNLABELLED, UNSURE_LABEL, HOMELESS, AMBIGUOUS, SPLIT}
    missing = why_missing(ResultRow(subject=Subject(), grader="judge:m"))
    assert shown == reasons | {missing.replace("not told", "...")}


def test_the_exit_codes_are_those_of_the_help() -> None:
    rows = table(section(PAGE, "The minimum, and what may rest on it"))
    assert [(row[0], row[1]) for row in rows] == re.findall(r"(\d)  (.+)", _EXIT_CODES)


def given(name: str) -> str:
    """Return a file that the page gives."""
    found = re.search(
        rf"<!-- file: {re.escape(name)} -->\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
    assert found
    return found[1]


def shown_output(command: str) -> str:
    """Return what the page says a command prints."""
    found = re.search(rf"^\$ {re.escape(command)}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def test_two_annotations_of_the_same_runs_agree_as_the_page_says(tmp_path: Path) -> None:
    script = tmp_path / "steps.py"
    script.write_text(given("steps.py"), encoding="utf-8")
    folders = shared_data("whoandwhen"), shared_data("agentrx")
    ran = subprocess.run(
        [sys.executable, script, *folders], capture_output=True, text=True, check=True
    )
    assert ran.stdout == shown_output("python steps.py whoandwhen agentrx")
    # Counted once more: steps as AgentRx counts them, from 1.
    steps = {}
    for path in (folders[0] / "Hand-Crafted").glob("*.json"):
        one = json.loads(path.read_bytes())
        steps[one["question_ID"]] = int(one["mistake_step"]) + 1
    n = same = 0
    for other in json.loads(
        (folders[1] / "ground_truth" / "magentic_one_ground_truth.json").read_bytes()
    ):
        n += 1
        for failure in other["failures"]:
            if str(failure["failure_id"]) == str(other["root_cause"]["failure_id"]):
                same += failure["step_number"] == steps[other["trajectory_id"]]
    assert (same, n) == (12, 31)
    assert f"{same / n:6.1%}" in ran.stdout.splitlines()[0]


@pytest.mark.parametrize("prompt", tau2_judge_verdicts.PROMPTS)
def test_the_recorded_judge_is_as_the_page_says(prompt: str, tmp_path: Path) -> None:
    folder = shared_data("tau2-judge-verdicts")
    ratings = given("airline.yaml").replace("policy_chain_of_thought_v1", prompt)
    (tmp_path / "airline.yaml").write_text(ratings, encoding="utf-8")
    source = folder / "azure-airline-full.json.gz"
    command = f"tracedance calibrate {source} --ratings airline.yaml"
    output, code = run(f"{command} --json", tmp_path)
    document = json.loads(output)
    assert code == document["exit_code"] == 1
    calibration = document["calibration"]
    tp, fp, fn, tn = (calibration["confusion"][name] for name in ("tp", "fp", "fn", "tn"))
    rows = table(section(PAGE, "Verdicts that traces already hold"))
    cells = {code_names(row[0])[0]: row[1:] for row in rows}[prompt]
    assert cells == [str(n) for n in (tp, fp, fn, tn)] + [
        f"{Confusion(tp, fp, fn, tn).kappa().value:.3f}"
    ]
    if prompt in given("airline.yaml"):
        output, _ = run(command, tmp_path)
        assert fits(
            output,
            shown_output("tracedance calibrate azure-airline-full.json.gz --ratings airline.yaml"),
        )
