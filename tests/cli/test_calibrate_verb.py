"""`tracedance calibrate` as its users run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Ran, Tracedance
from tests.support.judged_sets import RUBRIC, judge_name, judged_set, label, rows_of, written
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import ResultRow
from tracedance_sdk.judging import Label, LabelHeader, LabelWriter, load_calibration
from tracedance_sdk.trace import Outcome, Trace

KINDS = [((5, 5, 4), 5)] * 24 + [((2, 1, 1), 1)] * 26 + [((4, 4, 4), 2)] * 3 + [((3, 4, 3), 4)] * 2


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def rows(prompt: str = "p") -> list[list[ResultRow]]:
    found = [
        rows_of(f"t{n:02}", dict(zip("abc", ([s] for s in scores), strict=True)), prompt=prompt)
        for n, (scores, _) in enumerate(KINDS)
    ]
    found.append(rows_of("gone", {"a": [None], "b": [None], "c": [None]}, prompt=prompt))
    return found + [
        rows_of(f"u{n}", {"a": [4], "b": [5], "c": [n]}, model="m", prompt=prompt) for n in range(5)
    ]


def labelled(path: Path, labels: list[Label], **header: Any) -> Path:
    head = LabelHeader(rubric=RUBRIC.id, rubric_sha256=RUBRIC.sha256)
    with LabelWriter(path, head.model_copy(update=header)) as writer:
        for item in labels:
            writer.add(item)
    return path


@pytest.fixture
def ann(here: Path) -> Path:
    """Write a result set, and labels of a labeller who differs in five items."""
    written(judged_set(rows()), here / "judged")
    labels = [label(f"t{n:02}", "ann", human) for n, (_, human) in enumerate(KINDS)]
    return labelled(here / "ann.jsonl", labels)


def test_a_calibration_is_printed_and_written(
    ann: Path, tracedance: Tracedance, here: Path
) -> None:
    ran = tracedance("calibrate", "judged", "--labels", ann, "--out", "calibration.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot("""\
panel of 3, rubric task-completion, passes from 4
55 items with labels by ann
judge A: openai:a#42dc4fca5920
judge B: openai:b#a9a1f8fd0236
judge C: openai:c#bea4e2596ca4

Left out                        number
no score by the judge: cut_off       1
no label                             5

Judge and people       value  95 % interval    pairs
agreement             90.9 %  80.4 to 96.1 %      55
Cohen's kappa          0.818  0.592 to 0.925      55
Krippendorff's alpha   0.820  0.592 to 0.926      55
precision of passes   88.9 %  71.9 to 96.1 %      27
recall of passes      92.3 %  75.9 to 97.9 %      26
recall of fails       89.7 %  73.6 to 96.4 %      29
Spearman, scores       0.999  0.987 to 1.000      55
Kendall, scores        0.986  0.925 to 0.998      55
alpha, scores          0.948  0.797 to 0.977      55
leniency, points       0.097  -0.059 to 0.253     55

              people pass  people fail
judge passes           24            3
judge fails             2           26

Judge's score  mean  people pass  95 % interval    pairs
1 to 2         1.33        0.0 %  0.0 to 12.9 %       26
3 to 4         3.33      100.0 %  34.2 to 100.0 %      2
4 to 5         4.59       88.9 %  71.9 to 96.1 %      27

Passing rule   passes  agreement  kappa  precision   recall
mean >= 3      56.7 %     94.5 %  0.891     89.7 %  100.0 %
mean >= 3.5    50.0 %     90.9 %  0.818     88.9 %   92.3 %
mean >= 4      48.3 %     90.9 %  0.818     88.9 %   92.3 %
mean >= 4.5    40.0 %     96.4 %  0.927    100.0 %   92.3 %
all >= 4       46.7 %     90.9 %  0.818     88.9 %   92.3 %
majority >= 4  53.3 %     90.9 %  0.818     88.9 %   92.3 %
A alone >= 4   53.3 %     90.9 %  0.818     88.9 %   92.3 %
B alone >= 4   56.7 %     94.5 %  0.891     89.7 %  100.0 %
C alone >= 4   46.7 %     90.9 %  0.818     88.9 %   92.3 %

5 disagreements, the furthest apart first
Item  judge      people  the judge's reason
t50   4 pass     2 fail  A: it is worth 4 | B: it is worth 4 | C: it is worth 4
t51   4 pass     2 fail  A: it is worth 4 | B: it is worth 4 | C: it is worth 4
t52   4 pass     2 fail  A: it is worth 4 | B: it is worth 4 | C: it is worth 4
t53   3.33 fail  4 pass  A: it is worth 3 | B: it is worth 4 | C: it is worth 3
t54   3.33 fail  4 pass  A: it is worth 3 | B: it is worth 4 | C: it is worth 3

Pass rate of items without a label
      judge  95 % interval   corrected  95 % interval  items
all  40.0 %  11.8 to 76.9 %     36.2 %  0.0 to 84.9 %      5

the judge meets the minimum (kappa >= 0.6 on >= 50 items)
calibration: calibration.json
""")
    found = load_calibration(here / "calibration.json")
    assert [judge.name for judge in found.judges] == [judge_name(model) for model in "abc"]
    assert found.meets_minimum
    assert found.confusion.model_dump() == {"tp": 24, "fp": 3, "fn": 2, "tn": 26}


def test_the_document_has_every_disagreement_with_the_judges_reasons(
    ann: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("calibrate", "judged", "--labels", ann, "--json", "--judge", "openai:a")
    document = json.loads(ran.out)
    assert document["exit_code"] == ran.code == 0
    assert document["calibration"]["judges"][0]["model"] == "openai:a"
    assert len(document["disagreements"]) == 5
    first = document["disagreements"][0]
    assert first["item"]["trace_id"] == "t50"
    assert first["judge"]["reasons"] == {judge_name("a"): "it is worth 4"}
    assert first["people"]["labels"]["ann"]["score"] == 2
    assert [rate["n"] for rate in document["rates"]] == [5]


def test_a_calibration_is_applied_to_other_results(
    ann: Path, tracedance: Tracedance, here: Path
) -> None:
    tracedance("calibrate", "judged", "--labels", ann, "--out", "c.json")
    others = [
        rows_of(f"v{n}", {"a": [4], "b": [4], "c": [4 if n < 40 else 1]}, model=model)
        for n in range(60)
        for model in ("old", "new")[n % 2 :]
    ]
    written(judged_set([*rows()[:4], *others]), here / "others")
    ran = tracedance("calibrate", "others", "--apply", "c.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot("""\
panel of 3, rubric task-completion, passes from 4
judge A: openai:a#42dc4fca5920
judge B: openai:b#a9a1f8fd0236
judge C: openai:c#bea4e2596ca4

Left out                   number
in the calibration itself       4

Pass rate
      judge  95 % interval   corrected  95 % interval   items
all  66.7 %  56.4 to 75.5 %     68.7 %  53.5 to 87.4 %     90
new  66.7 %  54.1 to 77.3 %     68.7 %  51.0 to 89.1 %     60
old  66.7 %  48.8 to 80.8 %     68.7 %  44.9 to 92.7 %     30

the judge meets the minimum (kappa >= 0.6 on >= 50 items)
""")
    document = json.loads(tracedance("calibrate", "others", "--apply", "c.json", "--json").out)
    assert document["in_calibration"] == 4
    assert document["rates"][0]["raw"]["value"] == pytest.approx(60 / 90)
    # Sensitivity 24/26, specificity 26/29.
    by_hand = (60 / 90 + 26 / 29 - 1) / (24 / 26 + 26 / 29 - 1)
    assert document["rates"][0]["corrected"]["value"] == pytest.approx(by_hand)


def test_results_of_another_judge_are_not_corrected(
    ann: Path, tracedance: Tracedance, here: Path
) -> None:
    tracedance("calibrate", "judged", "--labels", ann, "--out", "c.json")
    written(judged_set(rows(prompt="q")), here / "others")
    ran = tracedance("calibrate", "others", "--apply", "c.json")
    assert ran.code == 2
    assert "the calibration is of the judge 'openai:a#" in ran.err
    assert "calibrate this judge too" in ran.err
    assert ran.err.count("\n") == 1


def test_drift_against_an_earlier_calibration(
    ann: Path, tracedance: Tracedance, here: Path
) -> None:
    tracedance("calibrate", "judged", "--labels", ann, "--out", "then.json")
    same = tracedance("calibrate", "judged", "--labels", ann, "--against", "then.json")
    assert "the earlier calibration is of the same judge" in same.out
    assert "kappa +0.000 -" in " ".join(same.out.split())
    written(judged_set(rows(prompt="q")), here / "later")
    other = tracedance("calibrate", "later", "--labels", ann, "--against", "then.json")
    assert "not the same judge: the judge: openai:a#" in other.out
    assert "; its prompt" in " ".join(other.out.split())


LONG = (
    "anthropic/claude-sonnet-5-20260901",
    "openrouter/meta-llama/llama-4-405b-instruct",
    "gpt-5-mini-2026-02-01",
)


def long_names(here: Path) -> Path:
    """Write results of judges and models with long names, labelled by nine people."""
    models = {"agent-alpha-2026-01-01": 2, "agent-beta-preview-2026": 1, "agent-gamma": 0}
    runs = [(f"2026-01-17-run-{n:04}-{'ab' * 12}", n) for n in range(24)]
    found = []
    for name, n in runs:
        model, more = list(models.items())[n % 3]
        score = min(5, n % 5 + more)
        scores = dict(zip(LONG, ([score], [min(5, score + 1)], [score]), strict=True))
        found.append(rows_of(name, scores, model=model))
    written(judged_set(found), here / "judged")
    people = [f"labeller number {who}" for who in range(9)]
    return labelled(
        here / "l.jsonl", [label(name, who, n % 5) for who in people for name, n in runs]
    )


def test_long_names_have_letters_and_numbers_and_every_order_is_there_in_full(
    here: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = tracedance("calibrate", "judged", "--labels", long_names(here))
    assert ran.code in (1, 3)
    assert max(map(len, ran.out.splitlines())) <= 80
    before, rules = ran.out.split("Passing rule   passes")
    for number, name in enumerate(sorted(("agent-alpha-2026-01-01", "agent-beta-preview-2026"))):
        assert f"model {number + 1}: {name}\n" in before
    for letter, name in zip("ABC", sorted(judge_name(model) for model in LONG), strict=True):
        assert f"judge {letter}: {name}\n" in before
    assert "and 6 more pairs of labellers with fewer items" in before
    assert "labeller number 5 and 3 more" in before
    _, orders, changed = rules.split("\n\n")[:3]
    assert orders == snapshot("""\
Passing rule       gap  models by passes, most first
mean >= 3       37.5 %  1 > 2 > 3
mean >= 3.5     37.5 %  1 > 2 > 3
mean >= 4       37.5 %  1 > 2 > 3
mean >= 4.5     37.5 %  1 > 2 > 3
all >= 4        37.5 %  1 > 2 > 3
majority >= 4   37.5 %  1 > 2 > 3
A alone >= 4    37.5 %  1 > 2 > 3
B alone >= 4    37.5 %  1 > 2 > 3
C alone >= 4    37.5 %  1 > 2 > 3\
""")
    assert changed.splitlines()[1].startswith("Item")
    assert "2026-01-17-run-00" in changed


def test_two_labellers_and_how_they_count(ann: Path, tracedance: Tracedance, here: Path) -> None:
    bob = labelled(here / "bob.jsonl", [label(f"t{n:02}", "bob", 4) for n in range(28)])
    ran = tracedance("calibrate", "judged", "--labels", ann, "--labels", bob)
    assert "an item passes when more than half of its labellers pass it" in ran.out
    assert "the labellers are split" in ran.out
    assert "ann and bob" in ran.out
    each = tracedance(
        "calibrate", "judged", "--labels", ann, "--labels", bob, "--humans", "each", "--json"
    )
    document = json.loads(each.out)["calibration"]
    plain = tracedance("calibrate", "judged", "--labels", ann, "--labels", bob, "--humans", "each")
    assert "where they share groups, too narrow" in " ".join(plain.out.split())
    assert (document["n_items"], document["n_pairs"]) == (55, 83)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(("--min-kappa", "0.95"), 1, "kappa is 0.818, and at least 0.95", id="kappa"),
        pytest.param(("--min-items", "56"), 3, "55 items, and at least 56", id="items"),
    ],
)
def test_a_judge_below_the_minimum_is_told_by_the_exit_code(
    arguments: tuple[str, ...], code: int, said: str, ann: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("calibrate", "judged", "--labels", ann, *arguments)
    assert ran.code == code
    assert said in " ".join(ran.out.split())


def traces(folder: Path, said: list[str]) -> Path:
    folder.mkdir()
    for number, word in enumerate(said):
        trace = Trace(
            id=f"{number + 10:x}" * 32,
            metadata={"says": {"verdict": word, "why": f"\x1b[31m{word}"}},
            outcome=Outcome(reward=float(number % 2)),
        )
        save_trace(trace, folder / f"{number}.json")
    return folder


RATINGS = """\
format: tracedance.ratings
version: 1
judge: an old judge
in: /metadata/says
verdict: {at: /verdict, pass: [yes, fine], fail: [no]}
reason: {at: /why}
truth: {at: /outcome/reward, pass: [1], fail: [0]}
"""


def test_ratings_in_traces_are_calibrated(here: Path, tracedance: Tracedance) -> None:
    (here / "ratings.yaml").write_text(RATINGS, encoding="utf-8")
    traces(here / "traces", ["no", "yes", "fine", "yes", "perhaps", "no"])
    ran = tracedance("calibrate", "traces", "--ratings", "ratings.yaml", "--out", "c.json")
    assert (ran.code, ran.err) == (3, "")
    assert ran.out == snapshot("""\
judge an old judge
5 items of which the trace tells the truth

Left out                                   number
verdict: the word 'perhaps' is in no list       1

Judge and truth        value  95 % interval    pairs
agreement             60.0 %  23.1 to 88.2 %       5
Cohen's kappa          0.167  -1.000 to 0.894      5
Krippendorff's alpha   0.250  -1.000 to 0.952      5
precision of passes   66.7 %  20.8 to 93.9 %       3
recall of passes      66.7 %  20.8 to 93.9 %       3
recall of fails       50.0 %  9.5 to 90.5 %        2

              truth: pass  truth: fail
judge passes            2            1
judge fails             1            1

2 disagreements
Item          judge  truth  the judge's reason
cccccccccccc  pass   fail   \\x1b[31mfine
ffffffffffff  fail   pass   \\x1b[31mno

the judge does not meet the minimum (kappa >= 0.6 on >= 50 items): 5 items, and at least 50 are
asked for
calibration: c.json
""")
    assert load_calibration(here / "c.json").name == "an old judge"


def refused(ran: Ran) -> str:
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    return ran.err.removeprefix("tracedance: ").rstrip("\n")


WRONG_USES: list[tuple[str, tuple[str, ...], str]] = [
    ("nothing", (), "nothing to hold the judge against: give one of --labels FILE"),
    ("both", ("--labels", "ann.jsonl", "--apply", "c.json"), "--labels and --apply to hold"),
    ("no labels", ("--labels", "none.jsonl"), "'none.jsonl' does not exist"),
    ("no label file", ("--labels", "judged/rows.jsonl"), "is no file of labels"),
    ("another rubric", ("--labels", "tone.jsonl"), "by the rubric 'tone', not by 'task-compl"),
    ("another text", ("--labels", "text.jsonl"), "by another text of the rubric 'task-compl"),
    ("nothing in common", ("--labels", "far.jsonl"), "no item has a rating by the judge and one"),
    ("no such rubric", ("--labels", "ann.jsonl", "--rubric", "x"), "'judged': the result set has"),
    ("no such judge", ("--labels", "ann.jsonl", "--judge", "x"), "'x' is no judge of the result"),
    ("no calibration", ("--apply", "ann.jsonl"), "ann.jsonl"),
    ("not replaced", ("--labels", "ann.jsonl", "--out", "ann.jsonl"), "is no calibration; name a"),
    ("no earlier", ("--labels", "ann.jsonl", "--against", "ann.jsonl"), "ann.jsonl"),
    ("bounds", ("--labels", "ann.jsonl", "--fail-below", "4.5"), "between 0 and the passing score"),
    ("nan", ("--labels", "ann.jsonl", "--min-kappa", "nan"), "'nan' is not a finite number"),
    ("nowhere", ("--labels", "ann.jsonl", "--out", "no/c.json"), "'no/c.json' cannot be written"),
    ("condition", ("--labels", "ann.jsonl", "--where", "true"), "--where chooses among traces"),
    ("no words", ("--ratings", "ann.jsonl"), "ann.jsonl"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), [use[1:] for use in WRONG_USES], ids=[use[0] for use in WRONG_USES]
)
def test_wrong_use_is_one_line(
    arguments: tuple[str, ...], said: str, ann: Path, tracedance: Tracedance, here: Path
) -> None:
    labelled(here / "tone.jsonl", [label("t00", "ann", 4)], rubric="tone")
    labelled(here / "text.jsonl", [label("t00", "ann", 4)], rubric_sha256="0" * 64)
    labelled(here / "far.jsonl", [label("elsewhere", "ann", 4)])
    before = ann.read_bytes()
    assert said in refused(tracedance("calibrate", "judged", *arguments))
    assert ann.read_bytes() == before


CONTRADICTIONS: dict[str, tuple[list[Label], list[Label], str]] = {
    "score and passed": (
        [label("t01", "ann", 5), label("t02", "ann", 5, passed=False)],
        [],
        "a.jsonl, line 3: 'ann' gives score 5 and passed false, and a score passes from 4 on: mend",
    ),
    "two files": (
        [label("t01", "ann", 5)],
        [label("t01", "ann", 1)],
        "a.jsonl, line 2 and b.jsonl, line 2: 'ann' answers the same item differently; give one",
    ),
    "with and without instance": (
        [label("t01", "ann", 5), label("t01", "ann", 1, model="m")],
        [],
        "two answers by 'ann' for one item (trace 't01')",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_labels_that_contradict_each_other_are_refused_with_their_place(
    here: Path, tracedance: Tracedance, case: tuple[list[Label], list[Label], str]
) -> None:
    first, second, told = case
    of_a_model = rows_of("t01", {"a": [5]}, model="m")
    written(judged_set([of_a_model, rows_of("t02", {"a": [5]})]), here / "judged")
    labelled(Path("a.jsonl"), first)
    others = ("--labels", labelled(Path("b.jsonl"), second)) if second else ()
    ran = tracedance("calibrate", "judged", "--labels", "a.jsonl", *others)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert told in ran.err


def test_the_same_labels_in_two_files_count_once(ann: Path, tracedance: Tracedance) -> None:
    Path("copy.jsonl").write_bytes(ann.read_bytes())
    alone = tracedance("calibrate", "judged", "--labels", ann, "--json")
    both = tracedance("calibrate", "judged", "--labels", ann, "--labels", "copy.jsonl", "--json")
    assert both.out == alone.out


def test_a_labeller_whose_name_would_be_obeyed_is_refused(
    ann: Path, tracedance: Tracedance
) -> None:
    ann.write_bytes(ann.read_bytes().replace(b'"ann"', b'"ann\\u001b[2J\\u202e"', 1))
    ran = tracedance("calibrate", "judged", "--labels", ann)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert r"got 'ann\x1b[2J\u202e' @ $.labeller" in ran.err


def test_what_is_no_result_set_is_one_line(ann: Path, tracedance: Tracedance, here: Path) -> None:
    assert "is not a folder with a result set" in refused(
        tracedance("calibrate", "ann.jsonl", "--labels", ann)
    )
    written(judged_set([]), here / "empty")
    assert "no rows by judges; judge it first" in refused(
        tracedance("calibrate", "empty", "--labels", ann)
    )
    assert "2 result sets are given" in refused(
        tracedance("calibrate", "judged", "empty", "--labels", ann)
    )
