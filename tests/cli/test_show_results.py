"""`tracedance show` on result sets that evaluate, next-turn, judge and replay wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Tracedance
from tests.cli.test_judge_verb import TURN_RUBRIC, mark_of, reply_to, text_of, trace
from tests.cli.test_replay_verb import AGENTS
from tests.replay.test_rebuilding import order_trace
from tests.support.scripted_models import Answer, Request, saying, scripted_models
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import ResultRow, ResultSetWriter, Subject, Verdict
from tracedance_sdk.replay import rebuild, save_tests

EVIL = "\x1b[2J"
A, B = "a" * 32, "b" * 32


def script(request: Request, _: int) -> Answer:
    """Take turns: two calls about a, nothing about b; judge a with 5, b with 2, or not at all."""
    body = request.body
    if "response_format" not in body:
        if mark_of(request) == "b" and body["model"] == "quiet":
            return Answer(saying("openai", None))
        return Answer(saying("openai", f"Done {EVIL}.", ("look", '{"at":1}'), ("fly", "{}")))
    score: Any = 5 if "question a" in text_of(request) else 2
    if body["model"] == "shy" and score == 2:
        score = f"I will not {EVIL}"
    return Answer(reply_to(request, lambda _: score))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make replies of two models to two traces, and a set of two judges' scores, beside them."""
    from tracedance_sdk.cli import run

    place = tmp_path_factory.mktemp("judged")
    for mark in "ab":
        save_trace(trace(mark), place / "traces" / f"{mark}.json")
    (place / "kind.yaml").write_text(TURN_RUBRIC)
    traces, sets = str(place / "traces"), [str(place / name) for name in ("loud", "quiet")]
    with scripted_models(script) as server:
        for out in sets:
            name = server.name("openai", Path(out).name)
            assert run(["next-turn", traces, "--model", name, "--out", out]) in (0, 3)
        judges = [server.name("openai", name) for name in ("bold", "shy")]
        models = ["--model", judges[0], "--model", judges[1]]
        rubric = ["--rubric", str(place / "kind.yaml")]
        command = ["judge", *sets, "--traces", traces, *rubric, *models]
        assert run([*command, "--out", str(place / "scores")]) == 3
    text = (place / "scores" / "manifest.json").read_text()
    assert server.url in text
    return place


def shown_of(out: str) -> str:
    """Return what is printed below the words of the manifest, without what differs each time."""
    return out[out.index("Grader") :]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch, judged: Path) -> Path:
    monkeypatch.chdir(judged)
    monkeypatch.setenv("COLUMNS", "80")
    return judged


def test_scores_are_shown_with_the_replies_and_the_reasons(
    narrow: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("show", "scores")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("judge: scores, 9 rows about 3 items\nmade by: tracedance-sdk ")
    assert "\nrubrics: kind (passing from 4)\n" in ran.out
    assert "\njudge A: openai:bold@http://127.0.0.1:" in ran.out
    lines = [line for line in shown_of(ran.out).splitlines() if not line.startswith("  of ")]
    assert "\n".join(lines) == snapshot("""\
Grader          rows  fail  pass  missing  mean score
rubric:kind        3     1     2        0        0.80
judge A (kind)     3     0     0        0        0.80
judge B (kind)     3     0     0        1        1.00

Left out          number
no answer: empty       1

1 of 3  trace aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, turn 2, sample 0
  reply
    Done \\x1b[2J.
    1. look {"at":1}
    2. fly {}
  rubric:kind  ✓ PASS  5 of 5 (passing from 4)
  judge A (kind)  5 of 5
    Because.
  judge B (kind)  5 of 5
    Because.

2 of 3  trace aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, turn 2, sample 0
  reply
    Done \\x1b[2J.
    1. look {"at":1}
    2. fly {}
  rubric:kind  ✓ PASS  5 of 5 (passing from 4)
  judge A (kind)  5 of 5
    Because.
  judge B (kind)  5 of 5
    Because.

3 of 3  trace bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, turn 2, sample 0
  reply
    Done \\x1b[2J.
    1. look {"at":1}
    2. fly {}
  rubric:kind  ✗ FAIL  2 of 5 (passing from 4)
  judge A (kind)  2 of 5
    Because.
  judge B (kind)  missing: unparsable: the reply is not JSON: 'I will not
    \\x1b[2J': not JSON: Expecting value (line 1, column 1)

3 of 3 items shown\
""")


def test_one_row_of_many_is_found(narrow: Path, tracedance: Tracedance) -> None:
    ran = tracedance("show", "scores", "--subject", "bb", "--turn", "2", "--grader", "judge:*")
    assert ran.out.count("trace bbbb") == 1
    assert "  rubric:kind  " not in ran.out
    assert "judge B (kind)  missing: unparsable: the reply is not JSON" in ran.out
    assert ran.out.endswith("\n1 of 1 item (of 3) shown\n")
    failed = tracedance("show", "scores", "--verdict", "fail").out
    assert "  rubric:kind  ✗ FAIL  2 of 5 (passing from 4)" in failed
    assert "PASS " not in failed
    missing = tracedance("show", "scores", "--verdict", "missing", "--grader", "judge:*").out
    assert missing.endswith("\n1 of 1 item (of 3) shown\n")


def test_replies_of_a_model_are_shown_with_what_is_missing(
    narrow: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("show", "quiet")
    assert ran.out.startswith("next-turn: quiet, 2 rows about 2 items\n")
    assert r"    Done \x1b[2J." in ran.out
    assert '    1. look {"at":1}\n    2. fly {}\n    unknown tools: fly\n' in ran.out
    assert "no result was recorded" not in ran.out
    assert "  next_turn  missing: empty" in ran.out


def test_pages_follow_one_another(narrow: Path, tracedance: Tracedance) -> None:
    first = tracedance("show", "scores", "--limit", "2").out
    assert first.endswith("\n2 of 3 items shown; 1 more: --offset 2\n")
    second = tracedance("show", "scores", "--limit", "2", "--offset", "2").out
    assert "\n3 of 3  trace bbbb" in second
    assert second.endswith("\n1 of 3 items shown\n")


def test_json_has_the_rows_and_the_replies(narrow: Path, tracedance: Tracedance) -> None:
    ran = tracedance("show", "scores", "loud/rows.jsonl", "--json", "--limit", "1")
    told = json.loads(ran.out)
    assert (told["format"], told["version"]) == ("tracedance.shown_results", 1)
    scores, loud = told["sets"]
    assert (scores["folder"], scores["n_items"], scores["n_chosen"]) == ("scores", 3, 3)
    assert scores["manifest"]["command"] == "judge"
    (item,) = scores["items"]
    assert (item["subject"]["trace_id"], item["sample"]) == (A, 0)
    assert item["reply"]["calls"][1]["name"] == "fly"
    assert [row["grader"].partition(":")[0] for row in item["rows"]] == ["rubric", "judge", "judge"]
    assert item["rows"][1]["evidence"] == [{"reasoning": "Because."}]
    assert loud["manifest"]["command"] == "next-turn"
    assert EVIL not in ran.out


def test_replies_that_lie_elsewhere_are_missed_and_found_when_named(
    narrow: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    (tmp_path / "away").mkdir()
    for name in ("manifest.json", "rows.jsonl"):
        (tmp_path / "away" / name).write_bytes((narrow / "scores" / name).read_bytes())
    alone = tracedance("show", tmp_path / "away").out
    assert "3 items judged for a reply that is in no result set given or beside it" in " ".join(
        alone.split()
    )
    named = tracedance("show", tmp_path / "away", "loud", "quiet").out
    assert "judged for a reply" not in named
    assert named.count("  1. look ") == 3 + 2 + 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--grader", "kind"), "no grader is like 'kind'; there are rubric:kind, "),
        (("--verdict", "critical"), "no item like that in 'scores'; the verdicts there are pass"),
        (("--subject", "zz"), f"the traces there are {A}, {B}"),
        (("--turn", "7"), "the turns there are 2"),
        (("--instance", "x"), "it holds 3 items"),
        (("--offset", "3"), "--offset 3 is beyond the last item: there are 3"),
        (("traces",), "'scores' holds results and 'traces' does not: show one or the other"),
    ],
)
def test_wrong_use_is_one_line(
    options: tuple[str, ...], told: str, narrow: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("show", "scores", *options)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "option",
    [("--verdict", "fail"), ("--grader", "x"), ("--limit", "3"), ("--offset", "1"), ("--json",)],
)
def test_what_is_for_results_is_refused_for_traces(
    option: tuple[str, ...], narrow: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("show", "traces", *option)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tracedance: {option[0]} is for result sets, and 'traces' is none")


def test_a_set_that_was_changed_is_refused(
    narrow: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    for name in ("manifest.json", "rows.jsonl"):
        data = (narrow / "scores" / name).read_bytes()
        (tmp_path / name).write_bytes(data.replace(b"Because.", b"BECAUSE."))
    ran = tracedance("show", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "is not what its manifest describes" in ran.err


def test_evaluated_runs_are_shown_with_grades_and_the_judgement(
    work: Path, tracedance: Tracedance
) -> None:
    command = "evaluate traces --spec task.yaml --judge recorded:judgements.json --out graded"
    assert tracedance(*command.split()).code == 1
    ran = tracedance("show", "graded", "--instance", "traces/inefficient", "--verdict", "fail")
    assert ran.code == 0
    out = shown_of(ran.out)
    assert out[: out.index("\n  trace ")] == snapshot("""\
Grader              rows  critical  fail  pass  mean score
spec:revenue-email     4         2     1     1        0.25
judge A                4         0     0     0        0.71

1 of 1  instance traces/inefficient.json, sample 0\
""")
    assert out[out.index("  spec:") :] == snapshot("""\
  spec:revenue-email  ✗ FAIL
    ✓ the right mail was sent: the final state is as expected
    ✗ acceptable inputs: action 2 (select_range) was given {'range':
      'A1:Z100'}; acceptable: {'range': 'B4:B11'}
    ✓ never select John: no critical error
    ✓ unexpected_changes: nothing else changed
  judge A  0.88
    The agent first selected a range far beyond the revenue figures and
    corrected that itself before summing.
    + noticed the wrong range without an error to tell it
    - one needless selection
    ! low unnecessary_action: selecting A1:Z100 served no later step

1 of 1 item (of 4) shown
""")


def test_replayed_tests_are_shown_with_what_they_rest_on(
    work: Path, tracedance: Tracedance
) -> None:
    save_tests(rebuild([order_trace(f"t{n}", f"g{n}") for n in range(2)]).tests, work / "rebuilt")
    (work / "agents.py").write_text(AGENTS)
    ran = tracedance(
        "replay", "rebuilt", "--agent", "agents.py:curious", "--out", "played", "--nearest",
        "--grader", "agents.py:asked_before_cancelling",
    )  # fmt: skip
    assert ran.code == 3
    out = tracedance("show", "played", "--instance", "t1").out
    assert out.startswith("replay: played, 2 rows about 2 items\n")
    assert out[out.index("  replay  ") :] == snapshot("""\
  replay  ? INCONCLUSIVE (raw PASS)  missing: a call had no answer; grader:
    calls: ['get_order']
    verdict: pass
    reason: calls: ['get_order']
    answers: failed 1
    rests on: failed
    ended: customer
    missed: get_order {"order":"W-9999"} (something_new)
      nearest: {"order":"W-1001"} of t1, differing in order

1 of 1 item (of 2) shown
""")


def test_rows_that_anybody_wrote_are_shown_and_not_obeyed(
    tmp_path: Path, tracedance: Tracedance
) -> None:
    subject = Subject(trace_id=f"t{EVIL}", turn=3)
    odd: dict[str, Any] = {"reply": 5, "repeat": "x", "rubric": ["y"], "missed": [1, {"name": 2}]}
    high: dict[str, Any] = {"rubric_score": "high"}
    rows = [
        ResultRow(subject=subject, grader="next_turn", **odd),
        ResultRow(subject=subject, grader=f"judge:{EVIL}", score=0.5, evidence=(EVIL, 1, None)),
        ResultRow(
            subject=subject,
            grader="spec:x",
            verdict=Verdict.FAIL,
            evidence=({"criterion": EVIL, "verdict": "fail", "evidence": [3, {"what": EVIL}]},),
            **high,
        ),
        ResultRow(
            subject=subject,
            grader="judge:z",
            evidence=({"reasoning": EVIL, "strengths": [EVIL], "issues": [1, {"type": EVIL}]},),
        ),
    ]
    manifest: dict[str, Any] = {"command": EVIL, EVIL: EVIL, "rubrics": [1], "replies_of": ["x"]}
    with ResultSetWriter(tmp_path / "odd", manifest=manifest) as writer:
        writer.add(rows)
    for options in ((), ("--full",), ("--json",)):
        ran = tracedance("show", tmp_path / "odd", *options)
        assert (ran.code, ran.err) == (0, "")
        assert "\x1b" not in ran.out
    assert tracedance("show", tmp_path / "odd").out.endswith("\n1 of 1 item shown\n")


def test_lines_fit_a_narrow_terminal(
    narrow: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (30, 60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        out = tracedance("show", "scores").out
        assert max(map(len, out.splitlines())) <= width


def test_a_set_of_nothing_says_so(tmp_path: Path, tracedance: Tracedance) -> None:
    with ResultSetWriter(tmp_path / "none", manifest={"command": "evaluate"}):
        pass
    ran = tracedance("show", tmp_path / "none")
    assert ran.code == 0
    assert ran.out.endswith("\n0 of 0 items shown\n")
    assert "0 rows about 0 items" in ran.out


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ('{"format": "tracedance.results"', "manifest.json: not JSON: "),
        ('{"version": 1}', "is not of a result set: 'format' is not 'tracedance.results'"),
        ("", "manifest.json: not JSON: "),
    ],
    ids=["cut", "no format", "empty"],
)
def test_a_set_whose_manifest_is_broken_says_so(
    manifest: str, told: str, tmp_path: Path, tracedance: Tracedance
) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n")
    (tmp_path / "manifest.json").write_text(manifest)
    for path in (tmp_path, tmp_path / "rows.jsonl"):
        ran = tracedance("show", path)
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.err
        assert "collector" not in ran.err
