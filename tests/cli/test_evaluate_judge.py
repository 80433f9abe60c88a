"""`tracedance evaluate --judge MODEL`, and what a calibration lets it do."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tracedance
from tests.support.scripted_models import Answer, Request, ScriptedModels, saying, scripted_models
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.grading import Verdict, read_results
from tracedance_sdk.judging import TrajectoryJudge
from tracedance_sdk.llm import Asker, chat_model

GOOD: dict[str, Any] = {
    "reasoning": "Direct.",
    "strengths": [],
    "weaknesses": [],
    "issues": [],
    "score": 0.85,
}
VERDICTS = {"critical-error": "critical", "efficient": "pass", "failed": "critical"}
VERDICTS["inefficient"] = "fail"
EVALUATE = ("evaluate", "traces", "--spec", "task.yaml")


def saying_score(score: Any, **odd: Any) -> Callable[[Request, int], Answer]:
    return lambda *_: Answer(saying("openai", json.dumps({**GOOD, "score": score})), **odd)


def rows_at(folder: Path) -> list[tuple[str, str | None, float | None]]:
    found = read_results(folder).rows
    names = [Path(row.subject.instance_id or "").stem for row in found]
    return [
        (name, row.verdict and row.verdict.value, row.score)
        for name, row in zip(names, found, strict=True)
    ]


def judge_name(server: ScriptedModels) -> str:
    model = chat_model(server.name("openai"))
    return TrajectoryJudge(Asker(model), model_name=model.name).name


def test_runs_are_judged_at_a_time_and_the_set_tells_by_whom(
    work: Path, tracedance: Tracedance
) -> None:
    with scripted_models(saying_score(0.85, delay_s=0.1)) as server:
        model = server.name("openai")
        ran = tracedance(*EVALUATE, "--judge", model, "--out", "out", "--concurrency", "3")
        name = judge_name(server)
    assert ran.code == 1
    assert server.most_at_once == [3]
    assert "judge: 4 calls sent, 0 from the cache; cost not known" in ran.err
    manifest = read_results(work / "out").manifest
    assert manifest["judge"] == model
    assert [item["name"] for item in manifest["judges"]] == [name]
    assert (manifest["scores"], manifest["missing"]) == (4, {})
    assert manifest["calls"] == {"sent": 4, "from_cache": 0}
    by_grader: dict[str, list[Any]] = {}
    for row in read_results(work / "out").rows:
        by_grader.setdefault(row.grader, []).append(row)
    assert [row.score for row in by_grader[f"judge:{name}"]] == [0.85] * 4
    assert all(row.usage["input_tokens"] == 100 for row in by_grader[f"judge:{name}"])


def test_the_same_command_again_asks_nobody(work: Path, tracedance: Tracedance) -> None:
    with scripted_models(saying_score(0.85)) as server:
        model = server.name("openai")
        first = tracedance(*EVALUATE, "--judge", model, "--out", "out")
        again = tracedance(*EVALUATE, "--judge", model, "--out", "out")
        assert len(server.requests) == 4
    assert "0 calls sent, 4 from the cache" in again.err
    assert first.out == again.out
    # Whose replies are kept can be a judge without the model, and is the same one.
    (folder,) = (work / "out.replies").iterdir()
    recorded = tracedance(*EVALUATE, "--judge", f"recorded:{folder}", "--json")
    scores = [row["report"]["trajectory"] for row in json.loads(recorded.out)["rows"]]
    assert {item["score"] for item in scores} == {0.85}
    assert {item["judge"] for item in scores} == {judge_name(server)}


@pytest.mark.parametrize("score", [0, 0.5, 1, 7, None, "high"])
def test_whatever_it_says_the_verdicts_stand(
    work: Path, tracedance: Tracedance, score: Any
) -> None:
    plain = tracedance(*EVALUATE, "--out", "plain")
    with scripted_models(saying_score(score)) as server:
        ran = tracedance(*EVALUATE, "--judge", server.name("openai"), "--out", "out")
    assert ran.code == plain.code
    graded = [row for row in rows_at(work / "out") if row[1] is not None]
    assert graded == rows_at(work / "plain")
    assert {name: verdict for name, verdict, _ in graded} == VERDICTS


def test_missing_scores_are_counted_and_told(work: Path, tracedance: Tracedance) -> None:
    with scripted_models(lambda *_: Answer(saying("openai", "So so."))) as server:
        ran = tracedance(*EVALUATE, "--judge", server.name("openai"), "--out", "out")
        assert len(server.requests) == 8
    assert "note: 4 scores of 4 missing (unparsable 4); the first: unparsable: the reply" in ran.err
    assert read_results(work / "out").manifest["missing"] == {"unparsable": 4}


def test_a_limit_on_calls_is_kept(work: Path, tracedance: Tracedance) -> None:
    with scripted_models(saying_score(0.85)) as server:
        ran = tracedance(*EVALUATE, "--judge", server.name("openai"), "--max-calls", "1")
        assert len(server.requests) == 1
    assert "3 scores of 4 missing (not_asked 3)" in ran.err
    assert "the limit of 1 calls was reached" in ran.err


def test_one_trace_shows_what_the_judge_says(work: Path, tracedance: Tracedance) -> None:
    with scripted_models(saying_score(0.85)) as server:
        one = ("evaluate", "traces/efficient.json", "--spec", "task.yaml")
        ran = tracedance(*one, "--judge", server.name("openai"))
    assert ran.code == 0
    assert "Trajectory Quality 0.85 Direct." in " ".join(ran.out.split())


def calibration(path: Path, judge: str, *, n_items: int = 60, wrong: int = 4) -> Path:
    document = {
        "format": "tracedance.calibration",
        "version": 1,
        "judges": [{"name": judge}],
        "pass_from": 4.0,
        "fail_below": 2.0,
        "n_items": n_items,
        "n_pairs": n_items,
        "n_clusters": n_items,
        "confusion": {"tp": 30 - wrong, "fp": 0, "fn": wrong, "tn": n_items - 30},
        "measures": {},
    }
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def gated(work: Path) -> Path:
    """A task that lets a calibrated judge count."""
    text = (work / "task.yaml").read_text(encoding="utf-8")
    path = work / "gated.yaml"
    path.write_text(f"{text}\njudge: {{gate: true}}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(0.9, "pass"), (0.8, "pass"), (0.6, "inconclusive"), (0.2, "fail"), ("high", "inconclusive")],
)
def test_a_calibrated_judge_counts_where_the_task_lets_it(
    work: Path, tracedance: Tracedance, gated: Path, score: Any, verdict: str
) -> None:
    with scripted_models(saying_score(score)) as server:
        known = calibration(work / "known.json", judge_name(server))
        given = ("--judge", server.name("openai"), "--calibration", known, "--out", "out")
        ran = tracedance("evaluate", "traces/efficient.json", "--spec", gated, *given)
        alone = tracedance("evaluate", "traces/efficient.json", "--spec", gated, *given[:2])
        failed = tracedance("evaluate", "traces/failed.json", "--spec", gated, *given[:4])
    code = {"pass": 0, "inconclusive": 3, "fail": 1}[verdict]
    assert (ran.code, alone.code, failed.code) == (code, 0, 1)
    (row,) = [row for row in read_results(work / "out").rows if row.verdict is not None]
    assert (row.verdict, row.raw_verdict) == (Verdict(verdict), Verdict.PASS)
    assert "does not gate: it is not calibrated" in " ".join(alone.out.split())


def test_what_calibrate_writes_of_its_rows_lets_it_count(
    work: Path, tracedance: Tracedance, gated: Path
) -> None:
    (work / "many").mkdir()
    for path in (work / "traces").iterdir():
        trace = load_trace(path)
        for n in range(13):
            again = trace.model_copy(update={"id": f"{path.stem}-{n}", "group": f"group {n}"})
            save_trace(again, work / "many" / f"{path.stem}-{n}.json")

    def sees_john(request: Request, _: int) -> Answer:
        score = 0.2 if "John" in json.dumps(request.body) else 0.9
        return Answer(saying("openai", json.dumps({**GOOD, "score": score})))

    with scripted_models(sees_john) as server:
        judge = ("--judge", server.name("openai"))
        tracedance("evaluate", "many", "--spec", gated, *judge, "--out", "out")
        told = [row for row in read_results(work / "out").rows if row.verdict is None]
        lines: list[Any] = [{"format": "tracedance.labels", "version": 1, "rubric": "any"}]
        lines[0] |= {"rubric_sha256": None, "set": {}}
        lines += [
            {
                "subject": row.subject.model_dump(exclude_none=True),
                "sample": 0,
                "model": row.model,
                "group": row.group,
                "labeller": "ann",
                "score": None,
                "passed": (row.score or 0) > 0.5,
            }
            for row in told
        ]
        labels = work / "labels.jsonl"
        labels.write_text("".join(json.dumps(line) + "\n" for line in lines))
        made = tracedance("calibrate", "out", "--labels", labels, "--out", "known.json")
        given = ("--spec", gated, *judge, "--calibration", "known.json")
        good = tracedance("evaluate", "traces/efficient.json", *given)
    assert len(told) == 52
    assert (made.code, good.code) == (0, 0), made.err + good.err
    assert "gate" not in good.out


def test_a_calibration_without_a_task_that_lets_it_count_is_mentioned(
    work: Path, tracedance: Tracedance
) -> None:
    with scripted_models(saying_score(0.1)) as server:
        known = calibration(work / "known.json", judge_name(server))
        one = ("evaluate", "traces/efficient.json", "--spec", "task.yaml")
        ran = tracedance(*one, "--judge", server.name("openai"), "--calibration", known)
    assert ran.code == 0
    assert "no task here has 'judge: {gate: true}', so --calibration changes nothing" in ran.err


LOCAL = "openai:m@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(
            ("--judge", "gpt-x"), "unknown judge 'gpt-x'; choose one of recorded:FILE", id="bare"
        ),
        pytest.param(("--judge", "openai:"), "unknown judge 'openai:'; choose one", id="no-model"),
        pytest.param(
            ("--judge", "openia:gpt-x"), "unknown judge 'openia:gpt-x'; choose", id="provider"
        ),
        pytest.param(("--judge", "openai:gpt-x"), "OPENAI_API_KEY", id="no-key"),
        pytest.param(
            ("--judge", "openai:gpt-x", "--offline"), "is not on this machine", id="offline"
        ),
        pytest.param(("--judge", "recorded:empty"), "replies of one model; found: none", id="none"),
        pytest.param(
            ("--judge", LOCAL, "--jobs", "2"),
            "asked from one process: use --concurrency",
            id="jobs",
        ),
        pytest.param(
            ("--judge", LOCAL, "--max-cost", "1"), "price of openai:m@http://127.0.0.1:9", id="cost"
        ),
        pytest.param(
            ("--judge", "heuristic", "--max-calls", "5"),
            "--max-calls is for a model that judges, and none does; name one",
            id="limit-without-model",
        ),
        pytest.param(
            ("--timeout", "5"), "--timeout is for a model that judges, and none does", id="timeout"
        ),
        pytest.param(
            ("--calibration", "small.json"), "name it with --judge", id="calibration-alone"
        ),
        pytest.param(
            ("--judge", LOCAL, "--calibration", "none.json"),
            "'none.json' does not exist",
            id="no-file",
        ),
        pytest.param(
            ("--judge", LOCAL, "--calibration", "task.yaml"), "not JSON", id="calibration-no-json"
        ),
        pytest.param(
            ("--judge", LOCAL, "--calibration", "judgements.json"),
            "is no calibration: 'format' is not 'tracedance.calibration'",
            id="calibration-format",
        ),
        pytest.param(
            ("--judge", LOCAL, "--calibration", "small.json"),
            "may not gate: 40 items, and at least 50 are asked for",
            id="calibration-small",
        ),
        pytest.param(
            ("--judge", LOCAL, "--calibration", "poor.json"),
            "may not gate: kappa is 0.4",
            id="calibration-poor",
        ),
        pytest.param(
            ("--judge", LOCAL, "--calibration", "other.json"),
            "calibrates the judge 'somebody', and 'openai:m@http://127.0.0.1:9/v1#",
            id="calibration-other",
        ),
    ],
)
def test_wrong_use_is_one_line_exit_2_and_nothing_written(
    work: Path,
    tracedance: Tracedance,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (work / "empty").mkdir()
    calibration(work / "small.json", "somebody", n_items=40)
    calibration(work / "poor.json", "somebody", wrong=18)
    calibration(work / "other.json", "somebody")
    before = sorted(work.rglob("*"))
    ran = tracedance(*EVALUATE, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("tracedance: ")
    assert ran.err.count("\n") == 1
    assert said in ran.err
    assert sorted(work.rglob("*")) == before


def test_a_stopped_run_goes_on_without_paying_twice(work: Path, tracedance: Tracedance) -> None:
    slow = saying_score(0.85, delay_s=0.4)
    with scripted_models(slow) as server:
        model = server.name("openai")
        command = [str(Path(sys.executable).with_name("tracedance")), *EVALUATE]
        options = ["--judge", model, "--out", "out", "--concurrency", "1"]
        process = subprocess.Popen([*command, *options], cwd=work, stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while len(server.requests) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
        n_before = len(server.requests)
        ran = tracedance(*EVALUATE, *options)
    assert process.returncode == 130
    assert b"stopped; replies so far are kept" in told
    assert ran.code == 1
    # The call under way when it was stopped is the only one that is made again.
    assert (n_before, len(server.requests)) == (3, 5)
    assert "2 calls sent, 2 from the cache" in ran.err
