"""`tracedance next-turn` from end to end: real SDKs against a scripted endpoint on the loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_models import APIS, Answer, ScriptedModels, saying, scripted_models
from tracedance_sdk.cli import run
from tracedance_sdk.grading import read_results

CHAT: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "You book rooms."},
        {"role": "user", "content": "A room for Ada, please."},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "CANARY",
            "tool_calls": [
                {
                    "id": "call 1",
                    "type": "function",
                    "function": {"name": "find_rooms", "arguments": '{"guests":1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call 1", "content": '["blue"]'},
        {"role": "assistant", "content": "The blue room is free."},
        {"role": "user", "content": "Take it."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "book_room", "arguments": '{"room":"blue"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "ok"},
        {"role": "assistant", "content": "Booked."},
    ],
    "tools": [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in ("find_rooms", "book_room")
    ],
}
SPEC = """\
format: tracedance.task
version: 1
id: book-it
description: Books the room that was asked for.
criteria:
  - type: counts
    of: book_room
    min: 1
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    return path


def rows(out: Path, grader: str = "next_turn") -> list[Any]:
    return [row for row in read_results(out).rows if row.grader == grader]


PRICES = """\
format: tracedance.prices
version: 1
models:
  gpt-x: {input: 1000, output: 10000}
"""
PLANTED = "sk-planted-1357902468"


def ask(server: ScriptedModels, api: str, source: Path, *options: str) -> int:
    out = source.parent / "out"
    model = server.name(api)
    return run(["next-turn", str(source), "--model", model, "--out", str(out), *options])


@pytest.mark.parametrize("api", APIS)
def test_a_model_takes_the_turn_before_a_call(api: str, source: Path, tmp_path: Path) -> None:
    body = saying(api, None, ("book_room", '{"room":"red"}'), ("fly", "{}"))
    with scripted_models(lambda *_: Answer(body)) as server:
        code = ask(server, api, source, "--before-call", "book_room", "--samples", "2")
    assert code == 0
    found = rows(tmp_path / "out")
    assert [row.sample for row in found] == [0, 1]
    assert {row.subject.turn for row in found} == {4}
    calls = found[0].model_extra["reply"]["calls"]
    assert [(call["name"], call["arguments"]) for call in calls] == [
        ("book_room", {"room": "red"}),
        ("fly", {}),
    ]
    assert found[0].model_extra["unknown_tools"] == ["fly"]
    assert found[0].missing_reason is None
    assert "CANARY" not in json.dumps([request.body for request in server.requests])


@pytest.mark.parametrize(
    ("reply", "verdict", "code"),
    [(("book_room", '{"room":"blue"}'), "pass", 0), (("find_rooms", "{}"), "fail", 1)],
    ids=["does it", "does something else"],
)
def test_the_turn_alone_is_checked_by_a_specification(
    reply: tuple[str, str], verdict: str, code: int, source: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "task.yaml"
    spec.write_text(SPEC)
    with scripted_models(lambda *_: Answer(saying("openai", None, reply))) as server:
        assert ask(server, "openai", source, "--spec", str(spec)) == code
    (row,) = rows(tmp_path / "out", "spec:book-it")
    assert (str(row.verdict), row.subject.turn, row.model) == (verdict, 5, server.name("openai"))
    assert read_results(tmp_path / "out").manifest["specs"][0][0] == "book-it"


def test_a_second_run_sends_nothing_and_finds_the_same(source: Path, tmp_path: Path) -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        assert ask(server, "openai", source, "--samples", "3") == 0
        first = (tmp_path / "out" / "rows.jsonl").read_bytes()
        assert ask(server, "openai", source, "--samples", "3") == 0
    assert len(server.requests) == 3
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == first
    assert read_results(tmp_path / "out").manifest["calls"] == {"sent": 0, "from_cache": 3}


def test_every_reply_is_one_row_whatever_became_of_it(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED)
    script = [
        Answer(saying("openai", "Fine.")),
        Answer(saying("openai", None)),
        Answer(saying("openai", "So", end="length")),
        Answer(saying("openai", None, refusal=f"No {PLANTED}.")),
        Answer(saying("openai", None, ("book_room", "{"))),
        Answer({"error": {"message": f"down {PLANTED}"}}, status=500),
        Answer({"error": {"code": "context_length_exceeded", "message": "no"}}, status=400),
    ]
    spec = tmp_path / "task.yaml"
    spec.write_text(SPEC)
    options = ("--samples", "8", "--concurrency", "1", "--retries", "0", "--max-calls", "7")
    with scripted_models(lambda _, n: script[n]) as server:
        assert ask(server, "openai", source, *options, "--spec", str(spec)) == 1
    kinds = [(row.sample, (row.model_extra or {}).get("missing")) for row in rows(tmp_path / "out")]
    assert kinds == list(
        enumerate(
            [
                None,
                "empty",
                "cut_off",
                "refused",
                "unparsable",
                "error",
                "context_too_long",
                "not_asked",
            ]
        )
    )
    checks = rows(tmp_path / "out", "spec:book-it")
    assert [(row.verdict and str(row.verdict), row.score) for row in checks] == [
        ("fail", 0.0),
        *[(None, None)] * 7,
    ]
    assert checks[1].missing_reason.startswith("no answer: empty")
    manifest = read_results(tmp_path / "out").manifest
    assert (manifest["answers"], sum(manifest["missing"].values())) == (1, 7)
    printed = capsys.readouterr()
    assert "missing: refused" in printed.out
    assert " was asked for 7 of 8 turns in 1 context\n" in printed.out
    assert " took " not in printed.out
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [data for data in files if PLANTED.encode() in data]
    assert PLANTED not in printed.out + printed.err


@pytest.mark.parametrize(("width", "is_below"), [("80", True), ("400", False)])
def test_a_reason_is_never_cut(
    source: Path,
    width: str,
    is_below: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    told = " ".join(f"reason{number}" for number in range(20))
    with scripted_models(lambda *_: Answer({"error": {"message": told}}, status=400)) as server:
        assert ask(server, "openai", source) == 3
    printed = capsys.readouterr().out
    assert f"HTTP 400: {told}" in " ".join(printed.split())
    assert ("missing: error; the first says: HTTP 400: reason0" in printed) == is_below
    assert max(map(len, printed.splitlines())) <= int(width)


def test_a_missing_reply_alone_exits_with_3(source: Path) -> None:
    with scripted_models(lambda *_: Answer(saying("openai", None))) as server:
        assert ask(server, "openai", source) == 3


def test_seeds_go_with_the_samples_and_recorded_settings_with_the_turn(
    source: Path, tmp_path: Path
) -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        options = ("--samples", "2", "--seed", "7", "--max-tokens", "50", "--temperature", "0.5")
        assert ask(server, "openai", source, *options, "--concurrency", "1") == 0
    asked = [request.body for request in server.requests]
    assert [(body["seed"], body["max_tokens"], body["temperature"]) for body in asked] == [
        (7, 50, 0.5),
        (8, 50, 0.5),
    ]
    assert read_results(tmp_path / "out").manifest["seed"] == 7


def test_the_cost_is_counted_and_limited_by_a_table_of_prices(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    options = ("--samples", "5", "--concurrency", "1", "--prices", str(prices), "--json")
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        assert ask(server, "openai", source, *options, "--max-cost", "0.3") == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["cost_usd"], told["missing"]) == (0.4, {"not_asked": 3})
    assert (told["format"], told["exit_code"]) == ("tracedance.next_turn", 3)


def test_recorded_replies_give_the_same_rows(source: Path, tmp_path: Path) -> None:
    with scripted_models(lambda *_: Answer(saying("anthropic"))) as server:
        assert ask(server, "anthropic", source) == 0
    out = tmp_path / "again"
    model = f"recorded:{tmp_path / 'out.replies'}"
    assert run(["next-turn", str(source), "--model", model, "--out", str(out), "--offline"]) == 0
    assert (out / "rows.jsonl").read_bytes() == (tmp_path / "out" / "rows.jsonl").read_bytes()


LOCAL = "openai:x@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--model", LOCAL, "--turn", "5", "--before-call", "look"), "say where to cut once"),
        (
            ("--model", LOCAL, "--turn", "99"),
            ": turn 99 is not there: the last is 5; the model's turns are 1, 2, 4, 5\n",
        ),
        (
            ("--model", LOCAL, "--turn", "0"),
            ": turn 0 is the user's; the model's turns are 1, 2, 4, 5\n",
        ),
        (
            ("--model", LOCAL, "--before-call", "bookroom"),
            ": the model does not call 'bookroom'; called are book_room, find_rooms\n",
        ),
        (("--model", LOCAL, "--max-cost", "1"), "x@http://127.0.0.1:9/v1 is not known"),
        (("--model", LOCAL, "--as-recorded", "--temperature", "1"), "either --as-recorded"),
        (("--model", LOCAL, "--spec", "nowhere.yaml"), "nowhere.yaml"),
        (("--model", LOCAL, "--prices", "nowhere.yaml"), "nowhere.yaml"),
        (("--model", "openai:x@https://a.example/v1", "--offline"), "not on this machine"),
        (("--model", "hal:9000"), "unknown provider 'hal'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_line_and_writes_nothing(
    options: tuple[str, ...], told: str, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = source.parent / "out"
    assert run(["next-turn", str(source), "--out", str(out), *options]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1
    assert not out.exists()


def test_a_folder_with_other_things_is_not_written_to(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["next-turn", str(source), "--model", LOCAL, "--out", str(tmp_path)]
    assert run(command) == 2
    assert "no part of a result set" in capsys.readouterr().err


def test_a_store_is_read_and_an_unreadable_file_is_told(source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run(["import", str(source), "--store", str(store)]) == 0
    broken = tmp_path / "broken.json"
    broken.write_text('{"messages": [{"role": "king"}]}')
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        out = str(tmp_path / "out")
        command = ["next-turn", str(store), "--model", server.name("openai"), "--out", out]
        assert run([*command, "--where", "turns > 1"]) == 0
        assert run([*command, str(broken)]) == 3
    assert len(rows(tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["int", "term", "hup"],
)
def test_an_interrupted_run_keeps_what_came_and_goes_on_where_it_stopped(
    source: Path, tmp_path: Path, number: int, code: int
) -> None:
    with scripted_models(lambda *_: Answer(saying("openai"), delay_s=0.05)) as server:
        options = ("--samples", "40", "--concurrency", "2")
        command = ["next-turn", str(source), "--model", server.name("openai"), *options]
        out = tmp_path / "out"
        start = "from tracedance_sdk.cli import main; main()"
        program = [sys.executable, "-c", start, *command, "--out", str(out)]
        process = subprocess.Popen(program, stderr=subprocess.PIPE, text=True)
        while len(server.requests) < 6:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.communicate(timeout=60)[1] == (
            "tracedance: stopped; replies so far are kept: the same command goes on from there\n"
        )
        assert process.returncode == code
        so_far = read_results(out)
        assert [row.sample for row in so_far.rows] == sorted(row.sample for row in so_far.rows)
        assert len(so_far.rows) >= 2
        assert so_far.manifest["answers"] == len(so_far.rows)
        assert so_far.manifest["exclusions"] == {"interrupted": 40 - len(so_far.rows)}
        kept = len(list((tmp_path / "out.replies").rglob("??/*.json")))
        sent = len(server.requests)
        assert sent - 2 <= kept <= sent
        assert ask(server, "openai", source, *options) == 0
    assert len(server.requests) == sent + 40 - kept
    assert len(rows(out)) == 40
    assert read_results(out).manifest["exclusions"] == {}
