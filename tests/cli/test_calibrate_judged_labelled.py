"""Judge, label, calibrate: what one verb writes the next one reads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tracedance
from tests.cli.test_judge_verb import RUN_RUBRIC, TURN_RUBRIC, judging, take_turns, trace
from tests.support.scripted_models import Answer, Request, saying, scripted_models
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import read_results
from tracedance_sdk.judging import Label, LabelHeader, LabelWriter, load_calibration, read_labels

MARKS = "abcdef"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for mark in MARKS:
        save_trace(trace(mark, group=f"g{mark}"), tmp_path / "traces" / f"{mark}.json")
    (tmp_path / "kind.yaml").write_text(TURN_RUBRIC)
    (tmp_path / "done.yaml").write_text(RUN_RUBRIC)
    return tmp_path


def judgement_text(score: float) -> str:
    said = {"reasoning": "So.", "strengths": [], "weaknesses": [], "issues": [], "score": score}
    return json.dumps(said)


def score(text: str) -> int:
    """Be lenient: the judge is wrong of one run."""
    return 5 if any(f"question {mark}" in text for mark in "abcd") else 1


def look_at_all(monkeypatch: pytest.MonkeyPatch, tracedance: Tracedance, *command: Any) -> None:
    """Make a label of every item, all of them unsure."""
    monkeypatch.setattr("sys.stdin", io.StringIO("u\n" * 40))
    ran = tracedance("label", *command)
    assert ran.code in (0, 3), ran.err


def say(path: Path) -> None:
    """Put a verdict in place of each label's *unsure*: the runs of a, b and c are good."""
    lines = path.read_text().splitlines()
    said = [lines[0]]
    for line in lines[1:]:
        label = json.loads(line)
        is_good = label["subject"]["trace_id"][0] in "abc"
        said.append(json.dumps({**label, "passed": is_good, "score": 5 if is_good else 0}))
    path.write_text("\n".join(said) + "\n")


def test_replies_of_two_models_meet_their_labels(
    places: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_models(judging(score)) as server:
        sets = [take_turns(server, places, model, "--samples", "2") for model in ("old", "new")]
        judged = tracedance(
            "judge", *sets, "--traces", "traces", "--rubric", "kind.yaml",
            "--model", server.name("openai"), "--model", server.name("anthropic"),
            "--repeats", "2", "--out", "judged",
        )  # fmt: skip
        assert (judged.code, judged.err) == (0, "")
    told = ("judged", *sets, "--traces", "traces", "--rubric", "kind.yaml")
    look_at_all(monkeypatch, tracedance, *told, "--labeller", "ann", "--out", "ann.jsonl")
    assert len(read_labels("ann.jsonl").labels) == 24
    say(places / "ann.jsonl")
    ran = tracedance("calibrate", "judged", "--labels", "ann.jsonl", "--out", "c.json", "--json")
    document = json.loads(ran.out)
    assert ran.code == 3
    # Six contexts, two models, two samples: a, b, c good; the judges pass d as well.
    assert document["calibration"]["confusion"] == {"tp": 12, "fp": 4, "fn": 0, "tn": 8}
    assert document["calibration"]["exclusions"] == {}
    assert document["calibration"]["n_clusters"] == 6
    assert {rule["order"][0][0].partition("@")[0] for rule in document["rules"]} == {"openai:new"}
    found = load_calibration("c.json")
    assert [judge.model for judge in found.judges] == sorted(
        (server.name("anthropic"), server.name("openai"))
    )
    assert all(len(judge.prompt_sha256 or "") == 64 for judge in found.judges)
    assert found.settings == {"mode": "single", "repeats": 2}


def test_judged_runs_meet_labels_of_the_runs_themselves(
    places: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_models(judging(score)) as server:
        judged = tracedance(
            "judge", "traces", "--rubric", "kind.yaml", "--rubric", "done.yaml",
            "--model", server.name("openai"), "--out", "judged",
        )  # fmt: skip
        assert (judged.code, judged.err) == (0, "")
    for rubric in ("kind", "done"):
        told = ("traces", "--rubric", f"{rubric}.yaml", "--labeller", "ann")
        look_at_all(monkeypatch, tracedance, *told, "--out", f"{rubric}.jsonl")
        say(places / f"{rubric}.jsonl")
        # The labels say which of the two rubrics is meant.
        ran = tracedance("calibrate", "judged", "--labels", f"{rubric}.jsonl", "--json")
        calibration = json.loads(ran.out)["calibration"]
        assert calibration["rubric"] == rubric
        assert calibration["confusion"] == {"tp": 3, "fp": 1, "fn": 0, "tn": 2}
        assert calibration["exclusions"] == {}


def test_a_judge_of_runs_gates_by_the_calibration_that_it_earned(
    work: Path, tracedance: Tracedance
) -> None:
    (work / "gated.yaml").write_text((work / "task.yaml").read_text() + "\njudge: {gate: true}\n")

    def reply(request: Request, _: int) -> Answer:
        chose_john = '{\\"name\\":\\"John\\"}' in json.dumps(request.body).replace(" ", "")
        return Answer(saying("openai", judgement_text(0.2 if chose_john else 0.7)))

    with scripted_models(reply) as server:
        graded = ("evaluate", "traces", "--spec", "gated.yaml", "--judge", server.name("openai"))
        tracedance(*graded, "--out", "out")
        rows = [row for row in read_results("out").rows if row.grader.startswith("judge:")]
        head = LabelHeader(rubric="task-completion")
        with LabelWriter("ann.jsonl", head) as writer:
            for row in rows:
                assert row.score is not None
                writer.add(Label(subject=row.subject, labeller="ann", passed=row.score > 0.5))
        ran = tracedance(
            "calibrate", "out", "--labels", "ann.jsonl", "--out", "c.json", "--min-items", "4",
            "--pass-from", "3", "--fail-below", "2",
        )  # fmt: skip
        assert (ran.code, ran.err) == (0, "")
        found = load_calibration("c.json")
        assert found.judges[0].model == server.name("openai")
        assert found.gate().fail_below == 0.4
        gated = tracedance(*graded, "--calibration", "c.json", "--out", "again")
    assert gated.code == 1
    verdicts = {str(row.verdict) for row in read_results("again").rows if row.verdict is not None}
    assert verdicts == {"pass", "fail", "critical"}
