"""`tracedance compare`: sets of real runs, its exit codes, and every wrong use in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Tracedance
from tests.cli.test_judge_verb import TURN_RUBRIC, judging, trace
from tests.support.scripted_models import scripted_models
from tracedance_sdk.demo import record_run, task_text
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import ResultRow, ResultSetWriter, Subject, Verdict

HOSTILE = "\x1b[2Jgone\u202e"
OLD = {f"task-{n}": "pp" for n in range(8)}
NEW = {**{f"task-{n}": "ff" for n in range(7)}, "task-7": "pp"}


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracedance: Tracedance) -> Path:
    """Stand in a folder with old/ and new/: result sets of an agent before and after a change."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "98")
    (tmp_path / "task.yaml").write_text(task_text(), encoding="utf-8")
    runs = {"p": record_run("efficient"), "f": record_run("inefficient")}
    for name, outcomes in (("old", OLD), ("new", NEW)):
        folder = tmp_path / f"runs-{name}"
        folder.mkdir()
        for task, letters in outcomes.items():
            for number, letter in enumerate(letters):
                trace = runs[letter].model_copy(
                    update={"task_id": task, "id": f"{name}-{task}-{number}"}
                )
                save_trace(trace, folder / f"{name}-{number}-{task}.json")
        tracedance("evaluate", folder, "--spec", "task.yaml", "--out", name)
    return tmp_path


def written(folder: Path, outcomes: str, *, grader: str = "spec:t", name: str = "t") -> Path:
    with ResultSetWriter(folder, manifest={"command": "next-turn"}) as writer:
        for number, letter in enumerate(outcomes):
            verdict = {"p": Verdict.PASS, "f": Verdict.FAIL, "i": Verdict.INCONCLUSIVE}[letter]
            subject = Subject(trace_id=f"{name}{number}")
            evidence = ({"verdict": "fail", "reason": HOSTILE},)
            writer.add(
                ResultRow(subject=subject, grader=grader, verdict=verdict, evidence=evidence)
            )
    return folder


def test_a_changed_agent_that_is_worse_ends_with_1(sets: Path, tracedance: Tracedance) -> None:
    ran = tracedance("compare", "old", "new")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == snapshot("""\
A  old (evaluate, 16 rows)
B  new (evaluate, 16 rows)
paired by task

Grader                        n        A       B  B - A  95 % interval      p  p corr.  Verdict
spec:revenue-email pass rate  8  100.0 %  12.5 %  -87.5  -98.5 to -4.2  0.016    0.016  worse
spec:revenue-email pass rate: the sample is 8 pairs (16 and 16 runs)

7 subjects changed: 7 worse, 0 better
       Subject    A    B  Why
worse  task-0   2/2  0/2  acceptable inputs: action 2 (select...}; acceptable: {'range': 'B4:B11'}
worse  task-1   2/2  0/2  acceptable inputs: action 2 (select...}; acceptable: {'range': 'B4:B11'}
worse  task-2   2/2  0/2  acceptable inputs: action 2 (select...}; acceptable: {'range': 'B4:B11'}
worse  task-3   2/2  0/2  acceptable inputs: action 2 (select...}; acceptable: {'range': 'B4:B11'}
worse  task-4   2/2  0/2  acceptable inputs: action 2 (select...}; acceptable: {'range': 'B4:B11'}
worse  task-5   2/2  0/2  acceptable inputs: action 2 (select...}; acceptable: {'range': 'B4:B11'}
worse  task-6   2/2  0/2  acceptable inputs: action 2 (select...}; acceptable: {'range': 'B4:B11'}

B is worse than A
""")


def test_the_same_set_twice_ends_with_0(sets: Path, tracedance: Tracedance) -> None:
    ran = tracedance("compare", "new", "new")
    assert (ran.code, ran.err) == (0, "")
    assert "note: both sets have the same rows" in ran.out
    assert ran.out.endswith("\nno difference shown\n")


def test_the_other_way_round_it_is_better_and_all_is_there_as_json(
    sets: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("compare", "new", "old", "--json", "--by", "group")
    document = json.loads(ran.out)
    assert ran.code == document["exit_code"] == 0
    assert (document["format"], document["version"]) == ("tracedance.comparison", 1)
    assert (document["verdict"], document["paired_by"]) == ("better", "task")
    (line,) = document["lines"]
    assert (line["a"], line["b"], line["pairs"], line["runs"]) == (0.125, 1.0, 8, [16, 16])
    assert line["p"] == line["p_corrected"] == 2 * 2**-7
    assert len(document["beside"]) == 8
    assert document["n_changes"] == {"better": 7, "worse": 0}


def test_too_few_pairs_end_with_3(tmp_path: Path, tracedance: Tracedance) -> None:
    old, new = written(tmp_path / "a", "ppp"), written(tmp_path / "b", "fff")
    ran = tracedance("compare", old, new)
    assert (ran.code, ran.err) == (3, "")
    assert "3 pairs cannot give a p value below 0.25, and alpha is 0.05" in ran.out
    assert ran.out.endswith("\nnot enough data\n")


def test_a_margin_asks_another_question(tmp_path: Path, tracedance: Tracedance) -> None:
    old, new = written(tmp_path / "a", "p" * 80), written(tmp_path / "b", "p" * 78 + "ff")
    ran = tracedance("compare", old, new, "--margin", "0.1")
    assert ran.code == 0
    assert ran.out.endswith("\nB is not worse than A by more than 0.1\n")
    assert "90 % interval" in ran.out
    tight = tracedance("compare", old, new, "--margin", "0.01")
    assert tight.code == 3
    assert tight.out.endswith("\nnot shown whether B is worse than A by more than 0.01\n")


def test_what_is_left_out_comes_first_and_can_be_made_to_count(
    tmp_path: Path, tracedance: Tracedance
) -> None:
    old, new = written(tmp_path / "a", "p" * 9), written(tmp_path / "b", "p" * 7 + "ii")
    ran = tracedance("compare", old, new)
    assert ran.code == 0
    assert ran.out.index("inconclusive (rows)") < ran.out.index("95 % interval")
    strict = tracedance("compare", old, new, "--fail-on-missing")
    assert strict.code == 3
    assert strict.out.endswith("something was left out, and --fail-on-missing is given\n")
    assert (
        json.loads(tracedance("compare", old, new, "--fail-on-missing", "--json").out)["exit_code"]
        == 3
    )


def test_changed_subjects_are_bounded_unless_all_are_wanted_and_nothing_in_them_is_obeyed(
    tmp_path: Path, tracedance: Tracedance
) -> None:
    old = written(tmp_path / "a", "p" * 30, name=HOSTILE)
    new = written(tmp_path / "b", "f" * 30, name=HOSTILE)
    ran = tracedance("compare", old, new)
    assert ran.out.count("\nworse  ") == 10
    assert "and 20 more subjects; --all lists them" in ran.out
    every = tracedance("compare", old, new, "--all")
    assert every.out.count("\nworse  ") == 30
    assert not {"\x1b", "\u202e"} & {*ran.out, *every.out}


@pytest.mark.parametrize("width", ["40", "80"])
def test_narrow_terminals_get_blocks(
    sets: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    ran = tracedance("compare", "old", "new")
    assert ran.code == 1
    assert "worse" in ran.out
    assert max(map(len, ran.out.splitlines())) <= int(width)


WRONG = {
    "no folder": (("nowhere", "old"), "'nowhere' is not a folder with a result set"),
    "no result set": (("runs-old", "old"), "holds no manifest.json: no result set"),
    "one set": (("old",), "Missing argument 'B'"),
    "alpha": (("old", "new", "--alpha", "0.7"), "0.7 is not in the range 0<x<0.5"),
    "margin": (("old", "new", "--margin", "5"), "5.0 is not in the range 0<x<1"),
    "grader": (("old", "new", "--grader", "judge:*"), "set A has no rows of a grader like judge:*"),
    "model": (("old", "new", "--model-a", "gpt"), "no rows of model 'gpt'; none of its"),
    "tiny alpha": (("old", "new", "--alpha", "1e-300"), "alpha is 1e-300, and no set of rows"),
    "rubric": (("old", "new", "--rubric", "tone"), "set A has no rows by the rubric 'tone'"),
    "rule": (("old", "new", "--pair-by", "trace"), "no subject is in both sets, by trace"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_one_line(sets: Path, tracedance: Tracedance, name: str) -> None:
    arguments, text = WRONG[name]
    ran = tracedance("compare", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert text in ran.err


def rewritten(folder: Path, **fields: object) -> None:
    """Change the first row of a set and let its manifest describe that."""
    path = folder / "rows.jsonl"
    first, *rest = path.read_bytes().splitlines(keepends=True)
    changed = json.dumps({**json.loads(first), **fields}).encode() + b"\n"
    path.write_bytes(b"".join([changed, *rest]))
    described(folder)


def described(folder: Path, **fields: object) -> None:
    """Let a manifest describe the rows as they are."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    sha256 = hashlib.sha256((folder / "rows.jsonl").read_bytes()).hexdigest()
    changed = {**manifest, "rows_sha256": sha256, **fields}
    (folder / "manifest.json").write_text(json.dumps(changed), encoding="utf-8")


ODD: dict[str, tuple[dict[str, object], str]] = {
    "score above 1": ({"score": 1.5}, "less than or equal to 1, got 1.5 @ $.score"),
    "score as text": ({"score": "0.5"}, "got '0.5' @ $.score"),
    "score true": ({"score": True}, "got True @ $.score"),
    "score not a number": ({"score": float("nan")}, "rows.jsonl, line 1"),
    "rubric score 9": ({"rubric_score": 9}, "from 0 to 5 is needed, got 9 @ $.rubric_score"),
    "rubric score as text": ({"rubric_score": "4"}, "got '4' @ $.rubric_score"),
    "rubric score true": ({"rubric_score": True}, "got True @ $.rubric_score"),
    "passing score": ({"pass_from": "4"}, "got '4' @ $.pass_from"),
    "a judge's mean": ({"judges": {"m": 7}}, "got 7 @ $.judges['m']"),
    "repetition": ({"repeat": -1}, "got -1 @ $.repeat"),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("verb", ["compare", "calibrate"])
def test_scores_that_cannot_be_are_told_with_their_place(
    tmp_path: Path, tracedance: Tracedance, verb: str, name: str
) -> None:
    folder = written(tmp_path / "set", "p" * 8, grader="rubric:r")
    (tmp_path / "labels.jsonl").write_text(
        '{"format":"tracedance.labels","version":1,"rubric":"r"}\n', encoding="utf-8"
    )
    fields, text = ODD[name]
    rewritten(folder, **fields)
    others = (folder,) if verb == "compare" else ("--labels", tmp_path / "labels.jsonl")
    ran = tracedance(verb, folder, *others)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert text in ran.err
    assert "rows.jsonl, line 1" in ran.err


def test_sets_that_are_cut_short_are_told(tmp_path: Path, tracedance: Tracedance) -> None:
    folder = written(tmp_path / "set", "p" * 8)
    described(folder, n_rows=9)
    ran = tracedance("compare", folder, folder)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "rows there are 8, and manifest.json says 9; write the set anew" in ran.err
    described(folder, n_rows=8)
    assert tracedance("compare", folder, folder).code == 0


def test_repeated_rows_are_told_and_contradictions_refused(
    tmp_path: Path, tracedance: Tracedance
) -> None:
    good = written(tmp_path / "good", "p" * 8)
    rows = good.joinpath("rows.jsonl").read_bytes()
    (tmp_path / "good" / "rows.jsonl").write_bytes(rows + rows.splitlines(keepends=True)[0])
    described(good, n_rows=9)
    ran = tracedance("compare", good, good)
    assert "note: A: 1 row stands there twice and is counted once" in ran.out
    other = rows.splitlines(keepends=True)[0].replace(b'"verdict":"pass"', b'"verdict":"fail"')
    (tmp_path / "good" / "rows.jsonl").write_bytes(rows + other)
    described(good, n_rows=9)
    ran = tracedance("compare", good, good)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "set A: lines 1 and 9 of rows.jsonl contradict each other about trace 't0'" in ran.err


def test_other_criteria_are_noted(sets: Path, tracedance: Tracedance) -> None:
    other = task_text().replace("John", "Joan")
    (sets / "task.yaml").write_text(other, encoding="utf-8")
    tracedance("evaluate", "runs-old", "--spec", "task.yaml", "--out", "other")
    ran = tracedance("compare", "old", "other")
    assert "note: the criteria of spec:revenue-email are others in B" in ran.out
    assert "paired by trace" in ran.out


def test_two_models_are_taken_turns_with_judged_and_compared(
    tmp_path: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for mark in "abcdef01":
        save_trace(trace(mark), tmp_path / "traces" / f"{mark}.json")
    Path("kind.yaml").write_text(TURN_RUBRIC)
    scores = {"good": 5, "poor": 1}
    script = judging(lambda text: scores["good" if "good says" in text else "poor"])
    with scripted_models(script) as server:
        for model, judge in (("good", "j"), ("poor", "j"), ("poor", "k")):
            name = server.name("openai", model)
            tracedance("next-turn", "traces", "--model", name, "--samples", "2", "--out", model)
            done = tracedance(
                "judge", model, "--traces", "traces", "--rubric", "kind.yaml",
                "--model", server.name("openai", judge), "--out", f"{model}-{judge}",
            )  # fmt: skip
            assert done.code == 0
    worse = tracedance("compare", "good-j", "poor-j", "--json")
    document = json.loads(worse.out)
    assert (worse.code, document["paired_by"], document["notes"]) == (1, "trace", [])
    told = [(line["grader"], line["measure"], line["a"], line["b"], line["pairs"], line["runs"])
            for line in document["lines"]]  # fmt: skip
    assert told == [
        ("rubric:kind", "pass rate", 1.0, 0.0, 8, [16, 16]),
        ("rubric:kind", "score", 1.0, 0.2, 8, [16, 16]),
    ]
    (beside,) = document["beside"]
    assert beside["grader"].startswith("judge:kind:openai:j@")
    refused = tracedance("compare", "good-j", "poor-k")
    assert refused.code == 2
    assert "the judges of rubric 'kind' differ: A openai:j@" in refused.err
    allowed = tracedance("compare", "good-j", "poor-k", "--allow-different-judges")
    assert allowed.code == 1
    replies = tracedance("compare", "good", "poor")
    assert replies.code == 2
    assert "set A has neither verdicts nor scores, only rows of next_turn" in replies.err


def test_parts_by_two_at_once_are_refused(sets: Path, tracedance: Tracedance) -> None:
    ran = tracedance("compare", "old", "new", "--by", "group", "--by", "model")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("tracedance: --by group and --by model: one is shown at a time")
    assert ran.err.count("\n") == 1
