"""`tracedance judge` from end to end: real SDKs against a scripted endpoint on the loopback."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.conftest import Tracedance
from tests.formats.test_context_writing import call, numbered, turn
from tests.support.scripted_models import (
    Answer,
    Request,
    ScriptedModels,
    saying,
    scripted_models,
)
from tracedance_sdk.cli.judge import judge_command
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import ResultRow, read_results
from tracedance_sdk.judging import MOST_CHARACTERS, OUTPUT_CAP, rows_of_rubric
from tracedance_sdk.judging.condensing import FEWEST_CHARACTERS
from tracedance_sdk.llm import CONCURRENCY, RETRIES, TIMEOUT_S
from tracedance_sdk.replay import Instance, write_instances
from tracedance_sdk.statistics import clustered_rate, mean_interval
from tracedance_sdk.trace import Parent, ToolDefinition, Trace, assess

TURN_RUBRIC = """\
format: tracedance.rubric
version: 1
id: kind
title: Kindness
about: turn
question: Is it kind?
levels: {0: "No.", 5: "Yes."}
"""
RUN_RUBRIC = TURN_RUBRIC.replace("id: kind", "id: done").replace("about: turn", "about: trace")
PLANTED = "sk-planted-1357902468"


def trace(mark: str, said: str = "recorded", **fields: Any) -> Trace:
    turns = numbered(
        turn("user", f"question {mark}"),
        turn("assistant", calls=[call("look")]),
        turn("assistant", f"{said} {mark}"),
    )
    tools = (ToolDefinition(name="look", description="Looks."),)
    return assess(Trace(id=mark * 32, turns=turns, tools=tools, **fields))


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Make two traces, a rubric about turns and one about runs."""
    for mark in "ab":
        save_trace(trace(mark), tmp_path / "traces" / f"{mark}.json")
    (tmp_path / "kind.yaml").write_text(TURN_RUBRIC)
    (tmp_path / "done.yaml").write_text(RUN_RUBRIC)
    return tmp_path


Scores = Callable[[str], Any]
"""Score of what was said, or a word for a reply that is none."""


def text_of(request: Request) -> str:
    return str(request.body["messages"][-1]["content"])


def mark_of(request: Request) -> str:
    """Return the mark of the trace that a request is about."""
    return str(re.findall(r"question (.)", json.dumps(request.body["messages"]))[0])


def reply_to(request: Request, scores: Scores) -> Any:
    """Answer as a judge where a form of reply is asked for; else take the next turn."""
    body, text = request.body, text_of(request)
    is_anthropic = request.path.endswith("/messages")
    api = "anthropic" if is_anthropic else "openai"
    if "tool_choice" not in body and "response_format" not in body:
        return saying(api, f"{body['model']} says {mark_of(request)}")
    shown = re.findall(r'^<<<(R\d+) [0-9a-f]+\n\{"text":"(.*?)"', text, re.MULTILINE)
    if shown:
        entries = [{"id": i, "reasoning": "So.", "score": scores(said)} for i, said in shown]
        return saying(api, json.dumps({"responses": entries}))
    score = scores(text)
    if isinstance(score, str):
        return saying(api, score)
    given = json.dumps({"reasoning": "Because.", "score": score})
    if is_anthropic:
        return saying(api, None, (body["tools"][0]["name"], given))
    return saying(api, given)


def judging(scores: Scores) -> Callable[[Request, int], Answer]:
    return lambda request, _: Answer(reply_to(request, scores))


def judged_rows(out: Path, rubric: str = "kind") -> list[ResultRow]:
    return rows_of_rubric(read_results(out).rows, rubric)


def own(row: ResultRow) -> dict[str, Any]:
    return row.model_extra or {}


def take_turns(server: ScriptedModels, places: Path, model: str, *options: str) -> Path:
    from tracedance_sdk.cli import run

    out = places / f"replies-{model}"
    name = server.name("openai", model)
    assert run(["next-turn", str(places / "traces"), "--model", name, "--out", str(out), *options])\
        in (0, 3)  # fmt: skip
    return out


def test_runs_and_turns_are_judged_as_they_were_recorded(
    places: Path, tracedance: Tracedance
) -> None:
    store = places / "store"
    assert tracedance("import", places / "traces", "--store", store).code == 0
    with scripted_models(judging(lambda text: 5 if "question a" in text else 2)) as server:
        done = tracedance(
            "judge", store, "--rubric", places / "kind.yaml", "--rubric", places / "done.yaml",
            "--model", server.name("openai"), "--model", server.name("anthropic"),
            "--out", places / "out", "--where", "turns > 1",
        )  # fmt: skip
        assert (done.code, done.err) == (0, "")
        assert len(server.requests) == 8
    found = [(row.subject.turn, str(row.verdict), own(row)["rubric_score"])
             for row in judged_rows(places / "out")]  # fmt: skip
    assert found == [(2, "pass", 5.0), (2, "fail", 2.0)]
    assert [row.subject.turn for row in judged_rows(places / "out", "done")] == [None, None]
    manifest = read_results(places / "out").manifest
    assert manifest["items"] == {"kind": 2, "done": 2}
    assert [rubric[0] for rubric in manifest["rubrics"]] == ["kind", "done"]
    assert {judge["model"] for judge in manifest["judges"]} == {
        server.name("openai"),
        server.name("anthropic"),
    }
    assert "kind: 2 items, passing from a mean of 4" in done.out
    assert "1 of 2" in done.out
    assert "8 calls sent, 0 from the cache" in done.out


def test_a_second_run_sends_nothing_and_finds_the_same(
    places: Path, tracedance: Tracedance
) -> None:
    with scripted_models(judging(lambda _: 3)) as server:
        command = (
            "judge", places / "traces", "--rubric", places / "kind.yaml",
            "--model", server.name("openai"), "--out", places / "out", "--repeats", "3",
        )  # fmt: skip
        assert tracedance(*command).code == 0
        first = (places / "out" / "rows.jsonl").read_bytes()
        again = tracedance(*command)
    assert again.code == 0
    assert "0 calls sent, 6 from the cache" in again.out
    assert len(server.requests) == 6
    assert (places / "out" / "rows.jsonl").read_bytes() == first
    recorded = f"recorded:{places / 'out.replies'}"
    assert tracedance(*command[:5], recorded, "--out", places / "same", *command[8:]).code == 0
    assert (places / "same" / "rows.jsonl").read_bytes() == first


def test_replies_of_several_models_are_judged_together(
    places: Path, tracedance: Tracedance
) -> None:
    scores = {"good": 5, "poor": 1}
    with scripted_models(judging(lambda said: scores[said.split()[0]])) as server:
        sets = [take_turns(server, places, model, "--samples", "2") for model in scores]
        n_taken = len(server.requests)
        done = tracedance(
            "judge", *sets, "--traces", places / "traces", "--rubric", places / "kind.yaml",
            "--model", server.name("openai", "j1"), "--model", server.name("openai", "j2"),
            "--out", places / "out", "--mode", "joint", "--seed", "7", "--json",
        )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    asked = [(request.body["model"], text_of(request)) for request in server.requests[n_taken:]]
    assert len(asked) == 4
    assert {text for model, text in asked if model == "j1"} == {
        text for model, text in asked if model == "j2"
    }
    for _, text in asked:
        assert len(set(re.findall(r"^<<<(R\d)", text, re.MULTILINE))) == 4
        assert "gpt" not in text
    rows = judged_rows(places / "out")
    assert len(rows) == 8
    for row in rows:
        assert str(row.verdict) == ("pass" if "good" in (row.model or "") else "fail")
    told = json.loads(done.out)
    assert (told["format"], told["mode"], told["seed"]) == ("tracedance.judging", "joint", 7)
    (summary,) = told["summaries"]
    by_model = {item["name"]: item for item in summary["models"]}
    assert by_model[server.name("openai", "good")]["pass_rate"] == 1
    assert by_model[server.name("openai", "poor")]["mean"] == 1
    assert [item["command"] for item in told["replies_of"]] == ["next-turn", "next-turn"]


def test_a_reply_that_is_no_answer_is_never_judged(places: Path, tracedance: Tracedance) -> None:
    def script(request: Request, _: int) -> Answer:
        if "response_format" not in request.body and mark_of(request) == "b":
            return Answer(saying("openai", None))
        return Answer(reply_to(request, lambda _: 4))

    with scripted_models(script) as server:
        out = take_turns(server, places, "m")
        n_taken = len(server.requests)
        done = tracedance(
            "judge", out, "--traces", places / "traces", "--rubric", places / "kind.yaml",
            "--model", server.name("openai"), "--out", places / "out",
        )  # fmt: skip
    assert done.code == 0
    assert len(server.requests) == n_taken + 1
    assert [row.subject.trace_id for row in judged_rows(places / "out")] == ["a" * 32]
    assert done.out.startswith("Left out          number\nno answer: empty       1\n")
    assert read_results(places / "out").manifest["exclusions"] == {"no answer: empty": 1}


def test_a_judge_that_gives_no_score_is_missing_and_decides_nothing(
    places: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED)

    def script(request: Request, _: int) -> Answer:
        is_bad = request.body["model"] == "bad"
        return Answer(reply_to(request, lambda _: f"I will not, {PLANTED}." if is_bad else 4))

    with scripted_models(script) as server:
        done = tracedance(
            "judge", places / "traces", "--rubric", places / "kind.yaml",
            "--model", server.name("openai", "good"), "--model", server.name("openai", "bad"),
            "--out", places / "out",
        )  # fmt: skip
    assert done.code == 3
    assert [str(row.verdict) for row in judged_rows(places / "out")] == ["inconclusive"] * 2
    assert [own(row)["n_missing"] for row in judged_rows(places / "out")] == [1, 1]
    # Each unusable reply was asked for once more.
    assert len(server.requests) == 2 + 4
    assert re.search(r"^judge B: openai:bad@\S+#[0-9a-f]{12}$", done.out, re.MULTILINE)
    assert re.search(r"^B +2 +- +- +2 of 2$", done.out, re.MULTILINE)
    assert "scores missing, judge B: unparsable 2; the first says: the reply is not" in done.out
    files = [path.read_bytes() for path in places.rglob("*") if path.is_file()]
    assert not [data for data in files if PLANTED.encode() in data]
    assert PLANTED not in done.out + done.err


def one_line(text: str) -> str:
    """Return what was printed whatever the width at which it was wrapped."""
    return " ".join(text.split()) + " "


def test_judges_have_one_budget(places: Path, tracedance: Tracedance) -> None:
    with scripted_models(judging(lambda _: 4)) as server:
        done = tracedance(
            "judge", places / "traces", "--rubric", places / "kind.yaml",
            "--model", server.name("openai", "j1"), "--model", server.name("openai", "j2"),
            "--out", places / "out", "--max-calls", "3", "--concurrency", "1",
        )  # fmt: skip
    assert done.code == 3
    assert len(server.requests) == 3
    assert "not_asked 1; it says: the limit of 3 calls was reached" in one_line(done.out)
    assert "passing from a mean of 4; asked for 3 of 4 scores" in one_line(done.out)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), ["scores missing: error 2; the first says: "]),
        (
            ("--max-calls", "1", "--concurrency", "1"),
            [
                "scores missing: error 1; it says: ",
                "; then not_asked: the limit of 1 calls was reached",
                "scores missing: not_asked 1; it says: the limit of 1 calls was reached",
            ],
        ),
    ],
    ids=["no limit", "a limit"],
)
def test_a_judge_that_fails_says_why(
    options: tuple[str, ...], told: list[str], places: Path, tracedance: Tracedance
) -> None:
    broken = Answer({"error": {"message": "the disk is full"}}, status=500)
    with scripted_models(lambda *_: broken) as server:
        command = (
            "judge", places / "traces", "--rubric", places / "kind.yaml", "--retries", "0",
            "--model", server.name("openai"), "--out", places / "out", *options,
        )  # fmt: skip
        done = tracedance(*command)
        document = json.loads(tracedance(*command, "--json").out)
    assert done.code == 3
    for text in [*told, "the disk is full"]:
        assert text in one_line(done.out)
    first = document["summaries"][0]["unscored"][0]
    assert (first["kind"], "the disk is full" in first["first"]) == ("error", True)


def test_a_judge_that_cannot_be_reached_says_so(places: Path, tracedance: Tracedance) -> None:
    done = tracedance(
        "judge", places / "traces", "--rubric", places / "kind.yaml", "--retries", "0",
        "--model", LOCAL, "--out", places / "out",
    )  # fmt: skip
    assert done.code == 3
    assert re.search(r"scores missing: error 2; the first says: \S.{10}", done.out)


@pytest.mark.parametrize(("width", "n_tables"), [(80, 1), (60, 2)])
def test_no_name_is_cut_on_a_narrow_screen(
    width: int, n_tables: int, places: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"a-model-with-quite-a-long-name-{mark}" for mark in ("one", "two")]
    with scripted_models(judging(lambda _: 4)) as server:
        sets = [take_turns(server, places, name) for name in names]
        done = tracedance(
            "judge", *sets, "--traces", places / "traces", "--rubric", places / "kind.yaml",
            "--model", server.name("openai", "j1"), "--model", server.name("openai", "j2"),
            "--out", places / "out", "--repeats", "2",
        )  # fmt: skip
    assert done.code == 0
    together = "".join(done.out.split())
    for number, name in enumerate(names, 1):
        assert f"model{number}:{server.name('openai', name)}" in together
        assert len(re.findall(rf"^of model {number} ", done.out, re.MULTILINE)) == n_tables
    assert max(map(len, done.out.splitlines())) <= width
    assert not re.search("…|\\.\\.\\.", done.out)


def test_the_cost_of_all_judges_is_limited_and_told(places: Path, tracedance: Tracedance) -> None:
    prices = places / "prices.yaml"
    prices.write_text(
        "format: tracedance.prices\nversion: 1\nmodels:\n"
        "  j1: {input: 1000, output: 10000}\n  j2: {input: 1000, output: 10000}\n"
    )
    with scripted_models(judging(lambda _: 4)) as server:
        command = (
            "judge", places / "traces", "--rubric", places / "kind.yaml",
            "--model", server.name("openai", "j1"), "--model", server.name("openai", "j2"),
            "--concurrency", "1", "--prices", prices, "--json",
        )  # fmt: skip
        done = tracedance(*command, "--out", places / "out", "--max-cost", "0.1")
    assert done.code == 3
    told = json.loads(done.out)
    assert told["calls"]["sent"] == len(server.requests) < 4
    assert told["cost_usd"] == pytest.approx(0.2 * len(server.requests))


def test_intervals_are_those_of_the_groups(tmp_path: Path, tracedance: Tracedance) -> None:
    scores = {"a": 5, "b": 5, "c": 2, "d": 4, "e": 1}
    groups = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z"}
    for mark, group in groups.items():
        save_trace(trace(mark, group=group), tmp_path / "traces" / f"{mark}.json")
    (tmp_path / "kind.yaml").write_text(TURN_RUBRIC)

    def script(request: Request, _: int) -> Answer:
        return Answer(reply_to(request, lambda _: scores[mark_of(request)]))

    with scripted_models(script) as server:
        done = tracedance(
            "judge", tmp_path / "traces", "--rubric", tmp_path / "kind.yaml", "--json",
            "--model", server.name("openai"), "--out", tmp_path / "out",
        )  # fmt: skip
    panel = json.loads(done.out)["summaries"][0]["panel"]
    mean = mean_interval(list(scores.values()), list(groups.values()))
    rate = clustered_rate([1, 1, 0, 1, 0], list(groups.values()))
    assert panel["mean"] == pytest.approx(mean.value) == pytest.approx(3.4)
    assert panel["interval"] == pytest.approx(mean.interval.within(0, 5)[:2])
    assert (panel["n_passed"], panel["n_decided"], panel["pass_rate"]) == (3, 5, 0.6)
    assert panel["pass_interval"] == pytest.approx([rate.interval.low, rate.interval.high])


def test_instances_are_judged_by_their_own_ids(tmp_path: Path, tracedance: Tracedance) -> None:
    whole, cut = trace("a"), trace("b")
    cut = assess(cut.model_copy(update={"turns": cut.turns[:2]}))
    asked = tmp_path / "asked.jsonl"
    write_instances(
        asked,
        [Instance(id="one", trace=whole, turn=2, group="g"), Instance(id="two", trace=cut, turn=2)],
    )
    (tmp_path / "kind.yaml").write_text(TURN_RUBRIC)
    with scripted_models(judging(lambda _: 4)) as server:
        judge = ("--rubric", tmp_path / "kind.yaml", "--model", server.name("openai", "j"))
        first = tracedance("judge", asked, *judge, "--out", tmp_path / "recorded")
        name = server.name("openai", "m")
        tracedance("next-turn", asked, "--model", name, "--out", tmp_path / "replies")
        second = tracedance(
            "judge", tmp_path / "replies", "--traces", asked, *judge, "--out", tmp_path / "out"
        )
    assert (first.code, second.code) == (0, 0)
    found = [row.subject.instance_id for row in judged_rows(tmp_path / "recorded")]
    assert found == ["one"]
    assert read_results(tmp_path / "recorded").manifest["exclusions"] == {"no recorded turn": 1}
    rows = judged_rows(tmp_path / "out")
    assert [(row.subject.instance_id, row.group) for row in rows] == [("one", "g"), ("two", None)]


def test_runs_that_cannot_be_judged_are_left_out(tmp_path: Path, tracedance: Tracedance) -> None:
    child = trace("b", parent=Parent(trace_id="a" * 32, call_id="c1"))
    for mark, given in {"a": trace("a"), "b": child, "c": Trace(id="c" * 32)}.items():
        save_trace(given, tmp_path / "traces" / f"{mark}.json")
    (tmp_path / "done.yaml").write_text(RUN_RUBRIC)
    with scripted_models(judging(lambda _: 4)) as server:
        command = (
            "judge", tmp_path / "traces", "--rubric", tmp_path / "done.yaml",
            "--model", server.name("openai"), "--out", tmp_path / "out",
        )  # fmt: skip
        assert tracedance(*command).code == 0
        assert read_results(tmp_path / "out").manifest["exclusions"] == {
            "a sub-agent's run; --sub-agents takes it": 1,
            "no turns": 1,
        }
        assert tracedance(*command, "--sub-agents").code == 0
    assert len(judged_rows(tmp_path / "out", "done")) == 2


def test_a_reply_without_its_trace_is_told(places: Path, tracedance: Tracedance) -> None:
    with scripted_models(judging(lambda _: 4)) as server:
        out = take_turns(server, places, "m")
        command = (
            "judge", out, "--rubric", places / "kind.yaml",
            "--model", server.name("openai"), "--out", places / "out",
        )  # fmt: skip
        done = tracedance(*command, "--traces", places / "traces" / "a.json")
        assert done.code == 3
        assert "its trace is not among --traces       1" in done.out
        one = tracedance(*command, "--traces", places / "traces", "--trace", "aaaa")
        assert one.code == 0
    assert len(judged_rows(places / "out")) == 1


LOCAL = "openai:x@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("traces", "--rubric", "nowhere.yaml"), "neither a file nor a packaged rubric"),
        (("traces", "--rubric", "kind.yaml", "--rubric", "kind.yaml"), "'kind' is given twice"),
        (("traces", "--rubric", "kind.yaml", "--rubric", "other.yaml"), "two different rubrics"),
        (("traces", "--rubric", "kind.yaml", "--model", LOCAL), "is named twice"),
        (("traces", "--rubric", "kind.yaml", "--model", "hal:9000"), "unknown provider 'hal'"),
        (("traces", "--rubric", "kind.yaml", "--model", "openai:gpt-5"), "OPENAI_API_KEY"),
        (("traces", "--rubric", "kind.yaml", "--max-cost", "1"), "price of openai:x@http"),
        (
            ("traces", "--rubric", "kind.yaml", "--turn", "99"),
            ": turn 99 is not there: the last is 2",
        ),
        (("traces", "--rubric", "done.yaml", "--mode", "joint"), "use single mode"),
        (("traces", "--rubric", "kind.yaml", "--traces", "traces"), "no result set is given"),
        (("traces", "--rubric", "kind.yaml", "--trace", "ffff"), "nothing to judge there"),
        (("nowhere", "--rubric", "kind.yaml"), "'nowhere' does not exist"),
        (("nowhere", "--rubric", "kind.yaml", "--traces", "traces"), "'nowhere' does not exist"),
        (("replies", "nowhere", "--rubric", "kind.yaml"), "'nowhere' does not exist"),
        (("traces", "--rubric", "kind.yaml", "--max-characters", "5"), "characters"),
        (("empty", "--rubric", "kind.yaml"), "nothing to judge there"),
        (("replies", "--rubric", "kind.yaml"), "give the traces that they are about"),
        (("replies", "--rubric", "done.yaml", "--traces", "traces"), "is about whole traces"),
        (("replies", "traces", "--rubric", "kind.yaml"), "judge one or the other"),
        (("replies", "--rubric", "kind.yaml", "--traces", "empty"), "its trace is not among"),
        (("graded", "--rubric", "kind.yaml", "--traces", "traces"), "holds no replies"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_line_and_writes_nothing(
    options: tuple[str, ...],
    told: str,
    places: Path,
    tracedance: Tracedance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(places)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (places / "other.yaml").write_text(TURN_RUBRIC.replace("kind?", "polite?"))
    (places / "empty").mkdir()
    if "replies" in options:
        with scripted_models(judging(lambda _: 4)) as server:
            take_turns(server, places, "m").rename(places / "replies")
    if "graded" in options:
        (places / "task.yaml").write_text(
            "format: tracedance.task\nversion: 1\nid: t\ndescription: d\n"
            "criteria: [{type: counts, of: look, min: 1}]\n"
        )
        tracedance("evaluate", "traces", "--spec", "task.yaml", "--out", "graded")
    done = tracedance("judge", *options, "--model", LOCAL, "--out", "out")
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1
    assert not (places / "out").exists()


def test_different_replies_under_one_name_are_refused(places: Path, tracedance: Tracedance) -> None:
    count = 0

    def script(request: Request, _: int) -> Answer:
        nonlocal count
        count += 1
        return Answer(saying("openai", f"reply {count}"))

    with scripted_models(script) as server:
        first = take_turns(server, places, "m").rename(places / "first")
        (places / "replies-m.replies").rename(places / "kept")
        second = take_turns(server, places, "m")
        command = ("judge", "--traces", places / "traces", "--rubric", places / "kind.yaml")
        rest = ("--model", LOCAL, "--out", places / "out")
        done = tracedance(*command, *rest, first, second)
    assert done.code == 2
    assert "different replies of openai:m@" in done.err


def test_the_options_begin_with_what_the_library_does() -> None:
    options = {option.name: option for option in judge_command.params}
    for name, default in {
        "max_characters": MOST_CHARACTERS,
        "max_tokens": OUTPUT_CAP,
        "concurrency": CONCURRENCY,
        "timeout_s": TIMEOUT_S,
        "retries": RETRIES,
    }.items():
        assert options[name].default == default, name
    least = options["max_characters"].type
    assert isinstance(least, click.IntRange)
    assert least.min == FEWEST_CHARACTERS


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_run_that_is_stopped_keeps_what_was_judged(
    sent: signal.Signals, code: int, places: Path, tracedance: Tracedance
) -> None:
    def script(request: Request, number: int) -> Answer:
        # The second item is never judged to its end.
        return Answer(reply_to(request, lambda _: 4), delay_s=60 if number else 0)

    out = places / "out"
    with scripted_models(script) as server:
        command = [
            "judge", str(places / "traces"), "--rubric", str(places / "kind.yaml"),
            "--model", server.name("openai"), "--out", str(out), "--concurrency", "1",
        ]  # fmt: skip
        start = "from tracedance_sdk.cli import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", start, *command], stderr=subprocess.PIPE, text=True
        )
        try:
            while len(server.requests) < 2:
                assert process.poll() is None
                time.sleep(0.01)
            # The second item is asked about as soon as the first reply is there, before it counts.
            time.sleep(1)
            process.send_signal(sent)
            told = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert (process.returncode, told) == (
        code,
        "tracedance: stopped; replies so far are kept: the same command goes on from there\n",
    )
    assert [row.score for row in judged_rows(out)] == [0.8]
    manifest = read_results(out).manifest
    assert (manifest["scores"], manifest["exclusions"]) == (1, {"interrupted": 1})
    assert tracedance("show", out).code == 0


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_run_that_ended_half_way_goes_on_and_pays_nothing_twice(
    sent: signal.Signals, places: Path, tracedance: Tracedance
) -> None:
    def script(request: Request, _: int) -> Answer:
        return Answer(reply_to(request, lambda _: 4), delay_s=0.05)

    with scripted_models(script) as server:
        command = [
            "judge", str(places / "traces"), "--rubric", str(places / "kind.yaml"),
            "--model", server.name("openai"), "--out", str(places / "out"),
            "--repeats", "20", "--concurrency", "2",
        ]  # fmt: skip
        start = "from tracedance_sdk.cli import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", start, *command], stderr=subprocess.PIPE, text=True
        )
        while len(server.requests) < 6:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sent)
        told = process.communicate(timeout=60)[1]
        if sent is signal.SIGINT:
            assert process.returncode == 130
            assert told == (
                "tracedance: stopped; replies so far are kept: "
                "the same command goes on from there\n"
            )
        assert not (places / "out" / "manifest.json").exists()
        kept = len(list((places / "out.replies").rglob("??/*.json")))
        n_sent = len(server.requests)
        assert n_sent - 2 <= kept <= n_sent
        assert tracedance(*command).code == 0
    assert len(server.requests) == n_sent + 40 - kept
    assert len(judged_rows(places / "out")) == 2
