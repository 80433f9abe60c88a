"""`tracedance benchmark` stopped half way, and twice at once: real processes, real signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.benchmark_stores import store_of, taking
from tests.cli.conftest import Tracedance
from tests.support.scripted_models import Answer, Request, ScriptedModels, saying, scripted_models
from tracedance_sdk.behaviors.benchmarks.holding import held
from tracedance_sdk.grading import read_results

STOPPED = "tracedance: stopped; replies so far are kept: the same command goes on from there\n"
SIGNALS = pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopping") / "runs"
    store_of(folder, 4)
    return folder


@pytest.fixture(scope="module")
def f01(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tracedance_sdk.cli import run

    out = tmp_path_factory.mktemp("f01") / "f01.jsonl"
    command = ["--behavior", "F01", "--store", str(runs), "--out", str(out), "--kmin", "1"]
    assert run(["benchmark", "build", *command]) == 0
    return out


@contextmanager
def started(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    start = "from tracedance_sdk.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, "benchmark", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stopped(
    process: subprocess.Popen[str], server: ScriptedModels, *, after: int, sent: signal.Signals
) -> tuple[int, str]:
    """Send a signal once so many requests were made; return the exit code and what was said."""
    while len(server.requests) < after:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(sent)
    told = process.communicate(timeout=60)[1]
    return process.returncode, told


@SIGNALS
def test_a_run_that_is_stopped_keeps_what_came_and_goes_on_from_there(
    sent: signal.Signals, code: int, f01: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    is_slow = True

    def script(request: Request, number: int) -> Answer:
        answer = taking("ls")(request, number)
        return answer._replace(delay_s=60 if number == 2 and is_slow else 0)

    out = tmp_path / "out"
    with scripted_models(script) as server:
        named = ("--model", server.name("openai"), "--out", out, "--concurrency", "1")
        with started("run", f01, *named) as process:
            assert stopped(process, server, after=3, sent=sent) == (code, STOPPED)
        found = read_results(out)
        manifest: Any = found.manifest
        assert manifest["exclusions"] == {"interrupted": 2}
        assert (manifest["contexts"], manifest["answers"]) == (2, 2)
        assert manifest["calls"]["sent"] == 3
        graders = sorted(row.grader for row in found.rows)
        assert graders == ["next_turn"] * 2 + ["rule:F01"] * 2
        assert [row.verdict for row in found.rows if row.grader == "rule:F01"] == ["pass"] * 2
        assert manifest["rates"][0]["valid"] == 2
        is_slow = False
        assert tracedance("benchmark", "run", f01, *named).code == 0
        assert len(server.requests) == 5
    whole: Any = read_results(out).manifest
    assert (whole["exclusions"], whole["answers"]) == ({}, 4)


@pytest.mark.parametrize(
    ("slow", "graders", "left"),
    [
        ("taker", ["next_turn"] * 2, 4),
        ("judge", ["next_turn"] * 4 + ["judge", "rubric"] * 2, 2),
    ],
)
def test_a_run_with_judges_that_is_stopped_keeps_what_came(
    slow: str, graders: list[str], left: int, f01: Path, tmp_path: Path
) -> None:
    def script(request: Request, number: int) -> Answer:
        model, count = request.body["model"], counts.setdefault(request.body["model"], 0)
        counts[model] += 1
        score = Answer(saying("openai", json.dumps({"reasoning": "So.", "score": 5})))
        answer = taking("ls")(request, number) if model == "taker" else score
        return answer._replace(delay_s=60 if model == slow and count == 2 else 0)

    counts: dict[str, int] = {}
    out = tmp_path / "out"
    with scripted_models(script) as server:
        taker, judge = server.name("openai", "taker"), server.name("openai", "judge")
        named = ("--model", taker, "--judge", judge, "--out", out, "--concurrency", "1")
        with started("run", f01, *named) as process:
            after = 3 if slow == "taker" else 7
            assert stopped(process, server, after=after, sent=signal.SIGTERM) == (143, STOPPED)
    found = read_results(out)
    manifest: Any = found.manifest
    assert sorted(row.grader.split(":")[0] for row in found.rows) == sorted(graders)
    assert manifest["exclusions"] == {"interrupted": left}
    assert manifest["scored_by"] == "judges"


def test_a_run_that_is_stopped_before_anything_came_writes_no_result_set(
    f01: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    never = Answer(saying("openai", "So."), delay_s=60)
    with (
        scripted_models(lambda *_: never) as server,
        started("run", f01, "--model", server.name("openai"), "--out", out) as process,
    ):
        assert stopped(process, server, after=1, sent=signal.SIGTERM) == (143, STOPPED)
    assert not (out / "manifest.json").exists()


CONFIRMED = json.dumps({"reason": "So.", "evidence_turns": [2], "confirmed": True})


@SIGNALS
def test_a_build_that_is_stopped_writes_nothing_and_holds_nothing_any_more(
    sent: signal.Signals, code: int, runs: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    is_slow = True

    def script(_: Request, number: int) -> Answer:
        return Answer(saying("openai", CONFIRMED), delay_s=60 if number == 1 and is_slow else 0)

    with scripted_models(script) as server:
        where = ("--behavior", "F01", "--store", runs, "--out", tmp_path / "b.jsonl")
        how = ("--kmin", "1", "--confirm", server.name("openai"), "--concurrency", "1")
        with started("build", *where, *how) as process:
            told = "tracedance: stopped; nothing was written; replies so far are kept\n"
            assert stopped(process, server, after=2, sent=sent) == (code, told)
        assert [path.name for path in tmp_path.iterdir()] == ["b.jsonl.replies"]
        is_slow = False
        assert tracedance("benchmark", "build", *where, *how).code == 0
        assert len(server.requests) == 2 + 3


def test_a_second_build_of_the_same_file_is_refused_while_the_first_goes_on(
    runs: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    def script(_: Request, number: int) -> Answer:
        return Answer(saying("openai", CONFIRMED), delay_s=0 if number else 3)

    out = tmp_path / "b.jsonl"
    with scripted_models(script) as server:
        where = ("--behavior", "F01", "--store", runs, "--kmin", "1")
        first = ("--out", out, "--kmax", "3", "--confirm", server.name("openai"))
        with started("build", *where, *first) as process:
            while not server.requests:
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)
            same = tracedance("benchmark", "build", *where, "--out", tmp_path / "." / "b.jsonl")
            other = tracedance("benchmark", "build", *where, "--out", tmp_path / "c.jsonl")
            assert process.wait(timeout=60) == 0
    told = f"tracedance: '{out}' is being written by another build; name another file, or wait\n"
    assert (same.code, same.err, same.out) == (2, told, "")
    assert other.code == 0
    names = [f"{stem}{end}" for stem in "bc" for end in (".construction.jsonl", ".jsonl", ".md")]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == names
    assert tracedance("benchmark", "show", out).code == 0
    assert tracedance("benchmark", "build", *where, "--out", out).code == 0


def test_a_second_run_into_the_same_folder_is_refused(
    f01: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    def script(request: Request, number: int) -> Answer:
        return taking("ls")(request, number)._replace(delay_s=0 if number else 3)

    out = tmp_path / "out"
    with (
        scripted_models(script) as server,
        started("run", f01, "--model", server.name("openai"), "--out", out) as process,
    ):
        while not server.requests:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        second = ("--model", "recorded-source", "--out", out)
        ran = tracedance("benchmark", "run", f01, *second)
        assert process.wait(timeout=60) == 0
    told = f"--out '{out}' is being written by another run; name another folder, or wait"
    assert (ran.code, ran.err) == (2, f"tracedance: {told}\n")
    assert read_results(out).manifest["answers"] == 4
    assert tracedance("benchmark", "run", f01, *second).code == 0


def test_of_two_asked_for_none_is_built_where_another_build_holds_one(
    runs: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    where = ("--store", runs, "--kmin", "1", "--out", tmp_path / "b.jsonl")
    with held([tmp_path / "b.F02.jsonl"]):
        ran = tracedance("benchmark", "build", "--behavior", "F01 OR F02", *where)
        assert ran.code == 2
        assert "b.F02.jsonl' is being written by another build" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_build_left_holds_nobody_up(
    runs: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    (tmp_path / ".b.jsonl.lock").touch()
    where = ("--behavior", "F01", "--store", runs, "--kmin", "1", "--out", tmp_path / "b.jsonl")
    assert tracedance("benchmark", "build", *where).code == 0
    assert not (tmp_path / ".b.jsonl.lock").exists()


@pytest.mark.parametrize("name", ["b.construction.jsonl", "b.audit.jsonl"])
def test_no_benchmark_takes_the_name_of_a_file_beside_another(
    name: str, runs: Path, tmp_path: Path, tracedance: Tracedance
) -> None:
    out = tmp_path / name
    ran = tracedance("benchmark", "build", "--behavior", "F01", "--store", runs, "--out", out)
    assert ran.code == 2
    assert "of files that lie beside a benchmark; name another" in ran.err
