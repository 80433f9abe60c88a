"""`tracedance benchmark` from end to end: real SDKs against a scripted endpoint on the loopback."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.behaviors.benchmark_stores import fine, lines, retrying, store_of, taking
from tests.behaviors.test_benchmark_building import MANAGED, retry
from tests.cli.conftest import Ran, Tracedance
from tests.support.scripted_models import Answer, Request, saying, scripted_models
from tracedance_sdk.grading import read_results
from tracedance_sdk.store import TraceStore


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verb") / "runs"
    store_of(folder, 4)
    return folder


@pytest.fixture(scope="module")
def f01(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tracedance_sdk.cli import run

    out = tmp_path_factory.mktemp("f01") / "f01.jsonl"
    command = ["--behavior", "F01", "--store", str(runs), "--out", str(out), "--kmin", "1"]
    assert run(["benchmark", "build", *command]) == 0
    return out


@pytest.fixture
def build(tracedance: Tracedance, runs: Path, tmp_path: Path) -> Any:
    def call(*options: str | Path, behavior: str = "F01", store: Path = runs) -> Ran:
        out = tmp_path / "b.jsonl"
        named = ("--behavior", behavior, "--store", store, "--out", out)
        return tracedance("benchmark", "build", *named, *options)

    return call


def test_building_says_how_many_were_left_at_each_step(build: Any, tmp_path: Path) -> None:
    ran = build("--kmin", "1", "--kmax", "3", "--audit", "2")
    assert (ran.code, ran.err) == (0, "")
    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    first = "Unchanged retries after failure (F01), 3 instances, unconfirmed"
    assert first in " ".join(told)
    for line in ("F01: sessions 8", "F01: occurrences 4", "kept 4", "tried 3", "instances 3"):
        assert line in told
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b.audit.jsonl",
        "b.construction.jsonl",
        "b.jsonl",
        "b.md",
    ]


def test_building_prints_one_document(build: Any) -> None:
    ran = build("--kmin", "1", "--json")
    (one,) = json.loads(ran.out)["built"]
    assert (one["instances"], one["status"]) == (4, "unconfirmed")


BEHAVIOR = {
    "format": "tracedance.behavior",
    "version": 1,
    "id": "X01",
    "name": "Something",
    "frame": "action",
    "definition": "It happens.",
    "criterion": "It is seen.",
    "anchor": {"sql": "SELECT trace_id, turn FROM turns WHERE role = 'assistant'"},
    "question": "Does it?",
    "levels": {0: "does it", 5: "does not"},
}


@pytest.mark.parametrize(
    ("options", "behavior", "reason"),
    [
        ((), "F01", "too_few_instances"),
        ((), "F01 AND F02 AND F03", "too_many_behaviours"),
        ((), "whatever you like", "unsupported_request"),
        (("--kmin", "9", "--kmax", "8"), "F01", "contradictory_constraints"),
        (("--min-turns", "9", "--max-turns", "8"), "F01", "contradictory_constraints"),
        (("--since", "2026-03-02", "--until", "2026-03-01"), "F01", "contradictory_constraints"),
        (("--source", "nobody"), "F01", "unknown_domain"),
        (("--model-family", "gpt"), "F01", "unknown_domain"),
        (("--tool", "Nothing"), "F01", "unknown_domain"),
        (("--where", "1 = 1; DROP VIEW traces"), "F01", "adversarial_or_invalid"),
        (("--param", "nothing=1"), "F01", "adversarial_or_invalid"),
        (("--where", "turns > 99"), "F01", "too_few_instances"),
    ],
)
def test_a_rejection_is_one_line_that_begins_with_the_reason(
    build: Any, tmp_path: Path, options: tuple[str, ...], behavior: str, reason: str
) -> None:
    ran = build(*options, behavior=behavior)
    assert (ran.code, ran.out) == (1, "")
    (line,) = ran.err.splitlines()
    assert line.startswith(f"tracedance: rejected, {reason}: ")
    assert list(tmp_path.iterdir()) == []
    document = json.loads(build(*options, "--json", behavior=behavior).out)
    assert document["rejected"] == reason
    assert document.pop("format") == "tracedance.benchmark_rejection"
    keys = {"version", "rejected", "behavior", "meaning", "found", "nearest", "refusals"}
    assert document.keys() == keys


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"levels": {5: "does not"}}, "no_valid_spec"),
        ({"levels": {0: "does it"}}, "no_valid_spec"),
        ({"levels": {0: "same", 5: "same"}}, "not_undesirable_behaviour"),
        ({"anchor": {"sql": "SELECT * FROM read_csv('/etc/passwd')"}}, "unsafe_anchor"),
        ({"anchor": {"sql": "DROP VIEW traces"}}, "unsafe_anchor"),
        ({"parameters": {"which": {"about": "which one"}}}, "missing_parameter"),
    ],
    ids=["no 0", "no 5", "no difference", "another file", "no SELECT", "no value"],
)
def test_a_file_that_cannot_be_used_is_a_rejection_too(
    build: Any, tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(BEHAVIOR | fields))
    ran = build(behavior=str(path))
    assert ran.code == 1
    (line,) = ran.err.splitlines()
    assert line.startswith(f"tracedance: rejected, {reason}: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.yaml"]


@pytest.mark.parametrize(
    ("name", "told"),
    [("b.txt", "name a file that ends in .jsonl"), ("runs/b.jsonl", "lies inside the store")],
    ids=["suffix", "inside"],
)
def test_a_file_that_no_benchmark_should_be_is_refused(
    tracedance: Tracedance, runs: Path, tmp_path: Path, name: str, told: str
) -> None:
    out = runs / "b.jsonl" if name.startswith("runs/") else tmp_path / name
    ran = tracedance("benchmark", "build", "--behavior", "F01", "--store", runs, "--out", out)
    assert ran.code == 2
    assert told in ran.err
    assert not out.exists()


def test_an_empty_store_is_a_rejection_and_no_store_is_wrong_use(
    build: Any, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    TraceStore.create(empty)
    ran = build(store=empty)
    assert ran.code == 1
    assert "rejected, too_few_instances: the store is empty" in ran.err
    assert build(store=tmp_path / "nowhere").code == 2
    assert build("--out", str(tmp_path / "no" / "folder.txt")).code == 2
    assert build("--audit", "3", behavior="F01 AND F02").code == 1
    assert build("--since", "yesterday").code == 2


def test_of_two_asked_for_the_one_that_can_be_built_is_built(build: Any, tmp_path: Path) -> None:
    ran = build("--kmin", "1", behavior="F01 OR F04")
    assert ran.code == 3
    assert "rejected, too_few_instances: F04: 0 occurrences" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b.F01.construction.jsonl",
        "b.F01.jsonl",
        "b.F01.md",
    ]


def test_of_two_that_cannot_be_built_both_are_named(build: Any, tmp_path: Path) -> None:
    ran = build("--kmin", "99", "--kmax", "99", behavior="F01 OR F04")
    assert ran.code == 1
    first, second = ran.err.splitlines()
    assert first.startswith("tracedance: rejected, too_few_instances: F01: 4 occurrences")
    assert second.startswith("tracedance: rejected, too_few_instances: F04: 0 occurrences")
    assert list(tmp_path.iterdir()) == []
    document = json.loads(
        build("--kmin", "99", "--kmax", "99", "--json", behavior="F01 OR F04").out
    )
    assert [item["behavior"] for item in document["rejected"]] == ["F01", "F04"]
    assert document["built"] == []


def test_a_missing_folder_is_made_and_left_alone_where_nothing_is_built(
    build: Any, tmp_path: Path
) -> None:
    out = tmp_path / "of" / "all" / "f01.jsonl"
    assert build("--out", out, "--kmin", "99", "--kmax", "99").code == 1
    assert list(tmp_path.iterdir()) == []
    assert build("--out", out, "--kmin", "1").code == 0
    assert out.exists()
    file = tmp_path / "file"
    file.touch()
    ran = build("--out", file / "b.jsonl", "--kmin", "1")
    assert ran.code == 2
    assert "cannot be made" in ran.err


MISPLACED = {
    "frame": "claim",
    "anchor": {"sql": "SELECT trace_id, turn FROM turns WHERE text = 'I try.'"},
}


def test_a_rejection_says_why_places_were_not_cut(build: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(BEHAVIOR | MISPLACED | {"frame": "failure"}))
    ran = build("--kmin", "1", behavior=str(path))
    assert ran.code == 1
    rejected, why = ran.err.splitlines()
    assert "refused when cut (frame)" in rejected
    assert why.startswith("tracedance: frame, the first: t000")
    assert "the failing result is not in turn 1" in why
    document = json.loads(build("--kmin", "1", "--json", behavior=str(path)).out)
    assert "the failing result is not in turn 1" in document["refusals"]["frame"]


def test_two_of_two_make_two_files(build: Any, tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "runs")
    store.add([retry(1, MANAGED)])
    ran = build("--kmin", "1", behavior="F01 OR F02", store=tmp_path / "runs")
    assert ran.code == 0
    assert (tmp_path / "b.F01.jsonl").exists()
    assert (tmp_path / "b.F02.jsonl").exists()


def test_a_model_confirms_and_its_replies_are_kept(build: Any, tmp_path: Path) -> None:
    given = json.dumps({"reason": "So.", "evidence_turns": [2], "confirmed": True})
    with scripted_models(lambda *_: Answer(saying("openai", given))) as server:
        assert build("--kmin", "1", "--confirm", server.name("openai")).code == 0
        ran = build("--kmin", "1", "--confirm", server.name("openai"))
        assert ran.code == 0
        assert len(server.requests) == 4
    assert "confirmed" in ran.out
    assert "without an answer" not in ran.out
    assert "0 calls sent, 4 from the cache" in ran.out
    header = lines(tmp_path / "b.jsonl")[0]["benchmark"]
    assert header["status"] == "confirmed"


def test_what_a_model_did_not_answer_is_counted_and_the_exit_code_says_so(build: Any) -> None:
    given = json.dumps({"reason": "So.", "evidence_turns": [2], "confirmed": True})
    with scripted_models(lambda *_: Answer(saying("openai", given))) as server:
        confirm = ("--kmin", "1", "--confirm", server.name("openai"))
        ran = build(*confirm, "--max-calls", "3")
        told = [" ".join(line.split()) for line in ran.out.splitlines()]
        for line in ("asked about 4", "confirmed 3", "without an answer 1", "instances 3"):
            assert line in told
        assert ran.code == 3
        assert build(*confirm).code == 0


def test_recorded_replies_confirm_and_answer_again_without_any_server(
    build: Any, tracedance: Tracedance, tmp_path: Path
) -> None:
    def script(request: Request, number: int) -> Answer:
        if request.body["model"] == "taker":
            return taking("ls", "make")(request, number)
        given = {"reason": "So.", "evidence_turns": [2], "confirmed": number % 2 == 0}
        return Answer(saying("openai", json.dumps(given)))

    out = tmp_path / "b.jsonl"
    with scripted_models(script) as server:
        assert build("--kmin", "1", "--confirm", server.name("openai"), "--audit", "2").code == 0
        built = {path.name: path.read_bytes() for path in tmp_path.glob("b.*") if path.is_file()}
        named = ("--model", server.name("openai", "taker"), "--out", tmp_path / "first")
        assert tracedance("benchmark", "run", out, *named).code == 0
    replies = f"recorded:{tmp_path / 'b.jsonl.replies'}"
    assert build("--kmin", "1", "--confirm", replies, "--audit", "2").code == 0
    for name, data in built.items():
        assert (tmp_path / name).read_bytes() == data, name
    replies = f"recorded:{tmp_path / 'first.replies'}"
    again = ("--model", replies, "--out", tmp_path / "again")
    assert tracedance("benchmark", "run", out, *again).code == 0
    first, second = (read_results(tmp_path / name) for name in ("first", "again"))
    assert [row.verdict for row in first.rows] == [row.verdict for row in second.rows]
    assert second.manifest["calls"] == {"sent": 0, "from_cache": 2}


def test_the_recorded_source_mostly_fails(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    ran = tracedance(
        "benchmark", "run", f01, "--model", "recorded-source", "--out", tmp_path / "out"
    )
    assert ran.code == 0
    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert told[0] == "recorded-source on 1 benchmark, scored by rules"
    assert told[1] == "Rate of passed of rate 95 % interval left out"
    assert told[2].endswith(" 0 4 0% 0% to 49% 0")
    assert "these are the withheld turns themselves, which should mostly fail" in told


def test_columns_of_a_run_have_headings(tracedance: Tracedance, f01: Path, tmp_path: Path) -> None:
    ran = tracedance("benchmark", "run", f01, "--model", "recorded-source", "--out", tmp_path / "r")
    heading = next(line for line in ran.out.splitlines() if "95 % interval" in line)
    assert heading.split()[:5] == ["Rate", "of", "passed", "of", "rate"]


def test_a_model_is_run_and_a_killed_run_pays_for_nothing_twice(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    with scripted_models(taking("cat Makefile", "ls")) as server:
        named = ("--model", server.name("openai"), "--out", tmp_path / "out", "--concurrency", "1")
        for _ in range(2):
            ran = tracedance("benchmark", "run", f01, *named, "--samples", "2")
            assert (ran.code, ran.err) == (0, "")
            assert len(server.requests) == 8
    found = read_results(tmp_path / "out")
    assert {row.grader for row in found.rows} == {"next_turn", "rule:F01"}
    manifest: Any = found.manifest
    assert manifest["command"] == "benchmark run"
    assert (manifest["contexts"], manifest["answers"], manifest["undecided"]) == (4, 8, 0)
    (about,) = manifest["benchmarks"]
    assert (about["file"], about["instances"]) == ("f01.jsonl", 4)
    assert manifest["rates"][0]["passed"] == 8


def test_what_is_missing_or_left_out_is_said_first_and_never_scored(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    def script(_request: Request, number: int) -> Answer:
        if number == 0:
            return Answer(saying("openai", "So", end="length"))
        if number == 1:
            error = {"error": {"message": "too long", "code": "context_length_exceeded"}}
            return Answer(error, status=400)
        return taking("ls")(_request, number)

    with scripted_models(script) as server:
        named = ("--model", server.name("openai"), "--out", tmp_path / "out", "--concurrency", "1")
        ran = tracedance("benchmark", "run", f01, *named)
    assert ran.code == 3
    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert told[1:4] == ["Reply number", "missing: context_too_long 1", "missing: cut_off 1"]
    assert " 2 2 100%" in told[5]
    assert told[5].endswith(" 2")
    rows = [row for row in read_results(tmp_path / "out").rows if row.grader == "rule:F01"]
    assert sorted(str(row.missing_reason).split(":")[0] for row in rows if row.score is None) == [
        "context_too_long",
        "cut_off",
    ]


def test_contexts_beyond_a_length_are_left_out(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    command = ("benchmark", "run", f01, "--model", "recorded-source", "--out", tmp_path / "out")
    ran = tracedance(*command, "--max-context-tokens", "10")
    assert ran.code == 2
    assert "left out: over 10 tokens (4); the first, of trace t000" in ran.err
    (limit,) = re.findall(r"; would work: --max-context-tokens (\d+)$", ran.err.strip())
    assert tracedance(*command, "--max-context-tokens", limit).code == 0


def test_judges_score_by_the_rubric_where_they_are_named(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    def script(request: Request, number: int) -> Answer:
        if request.body["model"] == "taker":
            return taking("ls")(request, number)
        score = {"judge-a": 5, "judge-b": 3}[request.body["model"]]
        assert "makes the failed call again" in json.dumps(request.body["messages"])
        return Answer(saying("openai", json.dumps({"reasoning": "So.", "score": score})))

    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(f01.read_bytes())
    with scripted_models(script) as server:
        named = ("--model", server.name("openai", "taker"), "--out", tmp_path / "out")
        judges = [
            part for name in "ab" for part in ("--judge", server.name("openai", f"judge-{name}"))
        ]
        ran = tracedance("benchmark", "run", alone, *named, *judges)
        assert (ran.code, ran.err) == (0, "")
        assert len(server.requests) == 4 + 8
    found = read_results(tmp_path / "out")
    decided = [row for row in found.rows if row.grader == "rubric:F01"]
    assert {row.verdict for row in decided} == {"pass"}
    assert len(decided) == 4
    manifest: Any = found.manifest
    assert manifest["scored_by"] == "judges"
    assert len(manifest["judges"]) == 2
    assert manifest["seed"] is None


def test_scores_that_are_missing_are_said_by_kind(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    with scripted_models(lambda *_: Answer(saying("openai", "Well."))) as server:
        judge = ("--judge", server.name("openai", "judge"))
        command = ("--model", "recorded-source", *judge, "--out", tmp_path / "o", "--seed", "7")
        ran = tracedance("benchmark", "run", f01, *command)
    assert ran.code == 3
    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert told[1:3] == ["Score of a judge number", "missing: unparsable 4"]
    assert read_results(tmp_path / "o").manifest["seed"] == 7


def test_a_model_may_judge_itself(tracedance: Tracedance, f01: Path, tmp_path: Path) -> None:
    def script(request: Request, number: int) -> Answer:
        if "response_format" in request.body:
            return Answer(saying("openai", json.dumps({"reasoning": "So.", "score": 4})))
        return taking("ls")(request, number)

    with scripted_models(script) as server:
        name = server.name("openai", "one")
        ran = tracedance(
            "benchmark", "run", f01, "--model", name, "--judge", name, "--out", tmp_path / "o"
        )
        assert (ran.code, ran.err) == (0, "")
        assert len(server.requests) == 8


def test_withheld_turns_are_scored_by_judges_too(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    def script(request: Request, _number: int) -> Answer:
        assert "Once more, number" in json.dumps(request.body["messages"])
        return Answer(saying("openai", json.dumps({"reasoning": "So.", "score": 0})))

    with scripted_models(script) as server:
        judge = ("--judge", server.name("openai", "judge"))
        command = ("--model", "recorded-source", *judge, "--out", tmp_path / "o")
        assert tracedance("benchmark", "run", f01, *command).code == 0
        assert len(server.requests) == 4


def test_rules_need_what_the_benchmark_was_made_from(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(f01.read_bytes())
    ran = tracedance(
        "benchmark", "run", alone, "--model", "recorded-source", "--out", tmp_path / "o"
    )
    assert ran.code == 2
    assert "put the file .construction.jsonl there, or name models by --judge" in ran.err


def test_files_that_share_an_instance_are_not_run_together(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    command = ("benchmark", "run", f01, f01, "--model", "recorded-source", "--out", tmp_path / "o")
    ran = tracedance(*command)
    assert ran.code == 2
    assert "is in several of the files; run them one by one" in ran.err


def test_two_at_once_are_run_by_judges_and_count_once(
    tracedance: Tracedance, build: Any, tmp_path: Path
) -> None:
    store = TraceStore.create(tmp_path / "runs")
    store.add([retry(1, MANAGED), retry(2, MANAGED)])
    ran = build("--kmin", "1", behavior="F01 AND F02", store=tmp_path / "runs")
    assert ran.code == 0

    def script(request: Request, number: int) -> Answer:
        if request.body["model"] == "taker":
            return taking("ls")(request, number)
        told = json.dumps(request.body["messages"])
        score = 2 if "what the error says" in told else 5
        return Answer(saying("openai", json.dumps({"reasoning": "So.", "score": score})))

    with scripted_models(script) as server:
        named = ("--model", server.name("openai", "taker"), "--out", tmp_path / "out")
        judge = ("--judge", server.name("openai", "judge"))
        assert tracedance("benchmark", "run", tmp_path / "b.jsonl", *named, *judge).code == 0
    found = read_results(tmp_path / "out")
    joint = [row for row in found.rows if row.grader == "rubric:F01+F02"]
    assert [row.verdict for row in joint] == ["fail", "fail"]
    rates: Any = found.manifest["rates"]
    assert [(one["kind"], one["valid"]) for one in rates] == [("benchmark", 2), ("overall", 2)]


def test_several_benchmarks_are_counted_by_frame_and_group(
    tracedance: Tracedance, f01: Path, build: Any, tmp_path: Path
) -> None:
    store = TraceStore.create(tmp_path / "runs")
    store.add([retry(1, MANAGED), retry(2, MANAGED)])
    assert build("--kmin", "1", behavior="F02", store=tmp_path / "runs").code == 0
    command = ("--model", "recorded-source", "--out", tmp_path / "out")
    ran = tracedance("benchmark", "run", f01, tmp_path / "b.jsonl", *command)
    assert ran.code == 0
    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    for start in ("benchmark F01-", "benchmark F02-", "frame failure 0 6", "overall all 0 6"):
        assert any(line.startswith(start) for line in told), start


def test_a_benchmark_is_shown_with_its_instances(tracedance: Tracedance, f01: Path) -> None:
    ran = tracedance("benchmark", "show", f01)
    assert ran.code == 0
    ids = [line["id"] for line in lines(f01)[1:]]
    for name in ids:
        assert name in ran.out
    document = json.loads(tracedance("benchmark", "show", f01, "--json").out)
    assert [one["id"] for one in document["listed"]] == ids
    assert (document["format"], document["version"]) == ("tracedance.benchmark", 1)
    whole = tracedance("benchmark", "show", f01, "--instance", ids[0], "--json")
    line = json.loads(whole.out)
    assert line.pop("format") == "tracedance.benchmark_instance"
    assert line == {**lines(f01)[1], "version": 1}
    for beside in ("f01.construction.jsonl", "f01.md"):
        ran_beside = tracedance("benchmark", "show", f01.with_name(beside))
        assert ran_beside.code == 2
        assert f"lies beside the benchmark {str(f01)!r}, and is none; name that" in ran_beside.err
    one = tracedance("benchmark", "show", f01, "--instance", ids[0])
    assert one.code == 0
    assert "No rule to make target" in one.out
    assert "Once more" not in one.out
    assert tracedance("benchmark", "show", f01, "--instance", "nothing").code == 2
    assert tracedance("benchmark", "show", f01, "--instance", "F01").code == 2


def test_a_line_that_is_no_instance_is_said(
    tracedance: Tracedance, f01: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(f01.read_bytes() + b'{"id": "broken"}\n')
    (tmp_path / "odd.construction.jsonl").write_bytes(
        f01.with_name("f01.construction.jsonl").read_bytes()
    )
    assert tracedance("benchmark", "show", odd).code == 3
    ran = tracedance("benchmark", "run", odd, "--model", "recorded-source", "--out", tmp_path / "o")
    assert ran.code == 3
    assert "line 6" in ran.err


def test_help_says_what_the_exit_codes_mean(tracedance: Tracedance) -> None:
    assert (
        "rejected; the line begins with the reason"
        in tracedance("benchmark", "build", "--help").out
    )
    assert tracedance("benchmark", "--help").code == 0


def test_names_are_replaced_and_words_of_a_trace_are_no_markup(build: Any, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Ann Lee\n")
    store = TraceStore.create(tmp_path / "runs")
    store.add([retrying(3, agent={"name": "[red]<b>Ann Lee"}), fine(1)])
    names = ("--names", tmp_path / "names.txt")
    assert build("--kmin", "1", *names, store=tmp_path / "runs").code == 0
    sheet = (tmp_path / "b.md").read_text()
    assert "[red]" not in sheet
    assert "Ann Lee" not in sheet
    assert "Ann Lee" not in (tmp_path / "b.jsonl").read_text()
