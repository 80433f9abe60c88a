"""`tracedance report`: from folders and files to one page, or to a line that says why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.behaviors.benchmark_stores import store_of
from tests.store.stored import agent, call, human
from tests.store.stored import run as stored_run
from tests.support.report_pages import Seen, reply_of, row, run
from tracedance_sdk.behaviors import Occurrence
from tracedance_sdk.behaviors.scanning.occurrences import write_occurrences
from tracedance_sdk.cli import run as tracedance
from tracedance_sdk.grading import ResultRow, ResultSetWriter, Subject, Verdict
from tracedance_sdk.replay import (
    RebuiltTest,
)
from tracedance_sdk.replay.rebuilt_test import TestSource, written_test
from tracedance_sdk.store import TraceStore


def results(folder: Path, *rows: ResultRow, **manifest: object) -> Path:
    told = {"command": "evaluate", **manifest}
    with ResultSetWriter(folder, manifest=told) as writer:
        writer.add(rows)
    return folder


def occurrences(folder: Path, *found: Occurrence) -> Path:
    folder.mkdir()
    funnel = {"behavior": "F01", "sessions": 9, "hits": len(found), "hit_sessions": 1}
    write_occurrences(folder / "occurrences.jsonl", found, funnels=[funnel])
    return folder


def an_occurrence(trace_id: str, turn: int = 2) -> Occurrence:
    return Occurrence.model_validate(
        {
            "id": "00aa00aa00aa00aa",
            "behavior": "F01",
            "trace_id": trace_id,
            "turn": turn,
            "session": trace_id,
            "evidence": [{"turn": 1, "call": 0, "quote": "not there"}],
            "note": "called again",
        }
    )


def a_test(folder: Path, name: str, trace_id: str) -> Path:
    folder.mkdir(exist_ok=True)
    test = RebuiltTest(id=name, source=TestSource(trace_id=trace_id, group="g"), opening="Help!")
    (folder / f"{name}.yaml").write_text(written_test(test), encoding="utf-8")
    return folder


def report(tmp_path: Path, *arguments: object, code: int = 0) -> Seen:
    out = tmp_path / "page.html"
    assert tracedance(["report", *map(str, arguments), "--out", str(out)]) == code
    seen = Seen(out.read_text(encoding="utf-8"))
    inside = {link[1:] for link in seen.links if link.startswith("#")}
    assert inside <= set(seen.ids)
    return seen


def test_a_set_becomes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = results(tmp_path / "set", row(0), row(1, Verdict.FAIL))
    seen = report(tmp_path, folder, "--title", "Tuesday's run")
    assert seen.words.startswith("Tuesday's run")
    assert "50.0 %" in seen.words
    told = capsys.readouterr()
    assert "2 subjects, 2 with details" in told.out
    assert told.err == ""


@pytest.mark.parametrize(
    "rows",
    [[], [row(0)], [row(place, None, missing_reason="no answer") for place in range(3)]],
    ids=["empty", "one row", "only missing"],
)
def test_a_small_set_is_a_page_too(
    rows: list[ResultRow], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = report(tmp_path, results(tmp_path / "set", *rows))
    assert f"{len(rows)} subject" in capsys.readouterr().out
    assert ("Nothing is left out of the rates." in seen.words) == (len(rows) < 2)


def test_a_set_of_a_next_turn_shows_its_replies(tmp_path: Path) -> None:
    reply = row(0, None, grader="next_turn", reply=reply_of("I paid it back."))
    seen = report(tmp_path, results(tmp_path / "set", reply, row(0), command="next-turn"))
    assert "I paid it back." in seen.words


def test_scores_of_replies_show_the_replies_of_the_set_beside(tmp_path: Path) -> None:
    reply = row(0, None, grader="next_turn", reply=reply_of("I paid it back."))
    made = results(tmp_path / "replies", reply)
    digest = json.loads((made / "manifest.json").read_bytes())["rows_sha256"]
    judged = row(0, grader="rubric:honest")
    folder = results(tmp_path / "scores", judged, replies_of=[{"rows_sha256": digest}])
    assert "I paid it back." in report(tmp_path, folder).words
    shutil.rmtree(made)
    assert "so their texts are not shown" in report(tmp_path, folder).words


def test_the_context_comes_from_a_store(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "store")
    store.add([run("trace-0")])
    folder = results(tmp_path / "set", row(0), row(1))
    seen = report(tmp_path, folder, "--store", tmp_path / "store")
    assert "Where is my money?" in seen.words
    assert "The traces of 1 of the subjects shown are not in the store." in seen.words


def test_a_benchmark_from_the_scan_to_the_page(tmp_path: Path) -> None:
    store_of(tmp_path / "runs", 3)
    file, made = str(tmp_path / "f01.jsonl"), str(tmp_path / "set")
    build = ["build", "--behavior", "F01", "--store", str(tmp_path / "runs"), "--kmin", "1"]
    assert tracedance(["benchmark", *build, "--out", file]) == 0
    assert tracedance(["benchmark", "run", file, "--model", "recorded-source", "--out", made]) == 0
    scan = ["scan", str(tmp_path / "runs"), "--behavior", "F01", "--out", str(tmp_path / "scan")]
    assert tracedance(scan) == 0
    seen = report(tmp_path, made, "--benchmark", file, "--occurrences", tmp_path / "scan")
    for told in (
        *("From the benchmark f01.jsonl.", "What the recorded agent did here", "evidence"),
        *("What these numbers cannot tell", "behaviour F01 Unchanged retries after failure"),
        *("frame failure", "group of behaviours handle-failure", "0 of 5"),
    ):
        assert told in seen.words
    assert sum(link.startswith("#occurrence-") for link in seen.links) >= 3
    of_scan = report(tmp_path, tmp_path / "scan", "--store", tmp_path / "runs")
    assert "By week" in of_scan.words
    assert "What the recorded agent did here" in of_scan.words


def test_occurrences_become_a_page_with_their_evidence_marked(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "store")
    store.add([run("trace-0", answer="It is not there.")])
    found = occurrences(tmp_path / "scan", an_occurrence("trace-0"))
    seen = report(tmp_path, found / "occurrences.jsonl", "--store", tmp_path / "store")
    assert "F01 Unchanged retries after failure" in seen.words
    assert "It is not there." in seen.words
    assert report(tmp_path, found).words.startswith("Occurrences: scan")


def test_replayed_tests_and_occurrences_of_one_trace_lead_to_each_other(tmp_path: Path) -> None:
    tests = a_test(tmp_path / "rebuilt", "case-0", "recorded-0")
    scan = occurrences(tmp_path / "scan", an_occurrence("recorded-0"))
    replayed = results(tmp_path / "set", row(0, grader="replay"), command="replay")
    seen = report(tmp_path, replayed, "--tests", tests, "--occurrences", scan)
    assert "#occurrence-00aa00aa00aa00aa" in seen.links
    assert "./rebuilt/case-0.yaml" in seen.links
    of_scan = report(tmp_path, scan, "--tests", tests)
    assert {"#test-case-0", "./rebuilt/case-0.yaml"} <= set(of_scan.links)


def test_a_page_of_the_occurrences_is_linked_where_there_is_one(tmp_path: Path) -> None:
    scan = occurrences(tmp_path / "scan", an_occurrence("trace-0"))
    assert tracedance(["report", str(scan), "--out", str(scan / "occurrences.html")]) == 0
    seen = report(tmp_path, results(tmp_path / "set", row(0)), "--occurrences", scan)
    assert "./scan/occurrences.html#occurrence-00aa00aa00aa00aa" in seen.links
    there = Seen((scan / "occurrences.html").read_text(encoding="utf-8"))
    assert "occurrence-00aa00aa00aa00aa" in there.ids


def test_a_test_that_cannot_be_read_is_told_and_the_rest_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = a_test(tmp_path / "rebuilt", "case-0", "trace-0")
    (tests / "broken.yaml").write_text("format: [", encoding="utf-8")
    seen = report(tmp_path, results(tmp_path / "set", row(0)), "--tests", tests, code=3)
    assert "#test-case-0" in seen.links
    assert "broken.yaml" in capsys.readouterr().err


def test_a_page_is_written_anew_and_the_same(tmp_path: Path) -> None:
    folder = results(tmp_path / "set", row(0), row(1, Verdict.FAIL))
    report(tmp_path, folder)
    first = (tmp_path / "page.html").read_bytes()
    report(tmp_path, folder)
    assert (tmp_path / "page.html").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "'nowhere' is no result set and no file of occurrences"),
        (["set", "--out", "other.txt"], "'other.txt' is there and is no report"),
        (["set", "--out", "none/page.html"], "name a file in a folder that is there"),
        (["set", "--tests", "set/rows.jsonl"], "is no folder; rebuild --out writes one"),
        (["set", "--tests", "set"], "'set' holds no rebuilt tests"),
        (["set", "--occurrences", "set"], "no file of occurrences"),
        (["set", "--benchmark", "nowhere.jsonl"], "nowhere.jsonl"),
        (["set", "--store", "nowhere"], "nowhere"),
        (["scan", "--occurrences", "scan"], "are for result sets"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_wrong_use_is_one_line_and_writes_nothing(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    results(tmp_path / "set", row(0))
    occurrences(tmp_path / "scan", an_occurrence("t"))
    (tmp_path / "other.txt").write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert tracedance(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "other.txt").read_text(encoding="utf-8") == "mine"


def test_a_set_whose_rows_were_changed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = results(tmp_path / "set", row(0))
    with (folder / "rows.jsonl").open("ab") as file:
        file.write(b"{}\n")
    assert tracedance(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 2
    assert "is not what its manifest describes" in capsys.readouterr().err


KEY = "sk-ant-api03-" + "Ab1" * 30 + "AA"


def leaky_store(folder: Path) -> None:
    """A store that a program filled: two sessions that say a key, the one in a repeated call."""
    asked = {"command": f"make TOKEN={KEY} app"}
    failing = call("Bash", asked, f"no rule to make {KEY}", ok=False)
    told = (human(f"Build with {KEY}."), agent("I try.", failing), agent("Again.", failing))
    store = TraceStore.create(folder)
    store.add([stored_run("leaky", *told)])
    store.index()


def test_no_secret_of_a_store_reaches_a_page_unless_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaky_store(tmp_path / "runs")
    scan = ["scan", str(tmp_path / "runs"), "--behavior", "F01", "--out", str(tmp_path / "scan")]
    assert tracedance([*scan, "--examples", "1"]) == 0
    shown = capsys.readouterr().out
    assert KEY not in shown
    assert "make TOKEN=[MASKED:anthropic_key:1] app" in " ".join(shown.split())
    seen = report(tmp_path, tmp_path / "scan", "--store", tmp_path / "runs")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "sk-ant" not in html
    assert "make TOKEN=[MASKED:anthropic_key:1] app" in seen.words
    assert "1 secret is masked here" in seen.words
    report(tmp_path, tmp_path / "scan", "--store", tmp_path / "runs")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == html
    kept = report(tmp_path, tmp_path / "scan", "--store", tmp_path / "runs", "--no-redact")
    assert KEY in kept.words
    assert "Secrets are shown as they were recorded" in kept.words
    assert tracedance([*scan, "--examples", "1", "--no-redact"]) == 0
    assert KEY in "".join(capsys.readouterr().out.split())


def test_evidence_that_is_a_secret_is_marked_by_its_mask(tmp_path: Path) -> None:
    leaky_store(tmp_path / "runs")
    one = an_occurrence("leaky").model_dump()
    one["evidence"] = [{"turn": 1, "call": 0, "quote": KEY}, {"turn": 2, "quote": "Again."}]
    found = occurrences(tmp_path / "scan", Occurrence.model_validate(one))
    report(tmp_path, found, "--store", tmp_path / "runs")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<mark>[MASKED:anthropic_key:1]</mark>" in html
    assert "<mark>Again.</mark>" in html
    assert "sk-ant" not in html


def test_no_secret_of_a_result_set_reaches_a_page(tmp_path: Path) -> None:
    reply = row(0, None, grader="next_turn", reply=reply_of(f"I use {KEY}."))
    reason = row(1, Verdict.FAIL, reason=f"it says {KEY}")
    told = {"command": "next-turn", "endpoint": f"https://api.example/?key={KEY}"}
    report(tmp_path, results(tmp_path / "set", reply, reason, **told))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "sk-ant" not in html
    assert html.count("[MASKED:anthropic_key:1]") >= 3


def test_no_secret_of_a_benchmark_reaches_a_page(tmp_path: Path) -> None:
    leaky_store(tmp_path / "runs")
    file, made = str(tmp_path / "f01.jsonl"), str(tmp_path / "set")
    build = ["build", "--behavior", "F01", "--store", str(tmp_path / "runs"), "--kmin", "1"]
    assert tracedance(["benchmark", *build, "--out", file]) == 0
    assert tracedance(["benchmark", "run", file, "--model", "recorded-source", "--out", made]) == 0
    seen = report(tmp_path, made, "--benchmark", file)
    assert "What the recorded agent did here" in seen.words
    assert "make TOKEN=[MASKED:anthropic_key:" in seen.words
    assert "sk-ant" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_no_secret_of_a_rebuilt_test_reaches_a_page(tmp_path: Path) -> None:
    tests = tmp_path / "rebuilt"
    tests.mkdir()
    made = TestSource(trace_id="trace-0", group="g")
    test = RebuiltTest(id="case-0", source=made, opening=f"Help with {KEY}!")
    (tests / "case-0.yaml").write_text(written_test(test), encoding="utf-8")
    seen = report(tmp_path, results(tmp_path / "set", row(0)), "--tests", tests)
    assert "Help with [MASKED:anthropic_key:1]!" in seen.words


def test_a_name_that_begins_like_a_trace_of_the_store_is_not_that_trace(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "store")
    store.add([run("trace-0123456789")])
    short = row(0, subject=Subject(trace_id="trace-01", turn=2))
    seen = report(tmp_path, results(tmp_path / "set", short), "--store", tmp_path / "store")
    assert "Where is my money?" not in seen.words
