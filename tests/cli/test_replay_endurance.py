"""`tracedance replay` among agents, graders and tools that never return, leave, or tell secrets."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.replay.test_rebuilding import order_trace
from tracedance_sdk.formats import load_trace
from tracedance_sdk.grading import ResultSet, read_results
from tracedance_sdk.replay import rebuild, save_tests

SECRET = "-".join(("sk", "ant", "api03", "abcdefghijklmnop" * 3))
TRACEDANCE = Path(sys.executable).with_name("tracedance")
AGENTS = """
import asyncio, os, sys, threading, time

def is_first(messages):
    return "W-1000" in messages[0]["content"]

def fine(messages, tools):
    return "It is too late."

def hanging(messages, tools):
    while is_first(messages):
        time.sleep(0.1)
    return "It is too late."

def lingering(messages, tools):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return "It is too late."

async def blocking(messages, tools):
    if is_first(messages):
        time.sleep(600)
    await asyncio.sleep(0.1)
    return "It is too late."

async def deaf(messages, tools):
    while is_first(messages):
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            pass
    return "It is too late."

async def in_executor(messages, tools):
    if is_first(messages):
        await asyncio.to_thread(time.sleep, 600)
    return "It is too late."

async def leaving_from_a_task(messages, tools):
    async def leave():
        raise SystemExit(9)
    if is_first(messages):
        await asyncio.gather(leave())
    await asyncio.sleep(0.2)
    return "It is too late."

def adder(messages, tools):
    if messages[-1]["role"] == "tool":
        return messages[-1]["content"]
    call = {"name": "add", "arguments": "{}"}
    return {"tool_calls": [{"id": "c", "type": "function", "function": call}]}

def talker(messages, tools):
    raise RuntimeError("no access with SECRET\\udc80")

def good(trace):
    return True

def never(trace):
    while "W-1000" in trace.turns[0].text:
        time.sleep(0.1)
    return True

async def never_async(trace):
    if "W-1000" in trace.turns[0].text:
        time.sleep(600)
    return True

def interrupting(trace):
    raise KeyboardInterrupt

def speechless(trace):
    class Odd(Exception):
        def __str__(self):
            raise ValueError
    raise Odd

def odd(trace):
    return {"verdict": "pass", "reason": "\\udc80", "seen": {1, float("nan")}, "of": object()}

def telling(trace):
    return {"verdict": "pass", "reason": "key SECRET"}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    traces = []
    for number in range(3):
        text = order_trace(f"t{number}", f"g{number}").model_dump_json()
        text = text.replace("Please cancel W-1001.", f"Please cancel W-{1000 + number}.")
        traces.append(type(order_trace()).model_validate_json(text))
    save_tests(rebuild(traces).tests, tmp_path / "rebuilt")
    (tmp_path / "agents.py").write_text(AGENTS.replace("SECRET", SECRET))
    return tmp_path / "rebuilt"


def command(suite: Path, agent: str, *options: str) -> list[str]:
    place = suite.parent / "agents.py"
    given = f"{place}:{agent}" if agent.isidentifier() else agent
    names = [option.replace("AGENTS", str(place)) for option in options]
    out = ["--out", str(suite.parent / "out"), "--traces", str(suite.parent / "traces")]
    return [str(TRACEDANCE), "replay", str(suite), "--agent", given, *out, *names]


def replay(
    suite: Path, agent: str, *options: str
) -> tuple[subprocess.CompletedProcess[str], ResultSet]:
    """Run the verb as a process, which has to end, and read what it wrote."""
    ran = subprocess.run(
        command(suite, agent, *options), capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran, read_results(suite.parent / "out")


def verdicts(found: ResultSet) -> list[str]:
    return [str(row.verdict) for row in found.rows]


def why(found: ResultSet) -> str:
    extra: dict[str, Any] = found.rows[0].model_extra or {}
    return str(found.rows[0].missing_reason or extra["reason"])


GRADED = ("--grader", "AGENTS:good")
IN_TIME = ("--run-timeout", "2", "--helper-timeout", "2")


@pytest.mark.parametrize("agent", ["hanging", "blocking", "deaf", "in_executor"])
def test_an_agent_that_does_not_return_is_late_and_holds_nobody_up(suite: Path, agent: str) -> None:
    began = time.monotonic()
    ran, found = replay(suite, agent, *GRADED, *IN_TIME)
    assert (ran.returncode, verdicts(found)) == (1, ["fail", "pass", "pass"])
    assert why(found) == "the agent took longer than allowed: not over after 2 s"
    assert time.monotonic() - began < 30


def test_an_agent_whose_threads_never_end_does_not_keep_the_process(suite: Path) -> None:
    ran, found = replay(suite, "lingering", *GRADED)
    assert (ran.returncode, verdicts(found)) == (0, ["pass"] * 3)
    assert " ".join(ran.stdout.split()).endswith(f"result set: {suite.parent / 'out'}")


def test_an_agent_that_leaves_from_a_task_fails_alone(suite: Path) -> None:
    ran, found = replay(suite, "leaving_from_a_task", *GRADED)
    assert (ran.returncode, verdicts(found)) == (1, ["fail", "pass", "pass"])
    told = r"the agent failed: the agent raised SystemExit: 9 \(at agents\.py:\d+\)"
    assert re.fullmatch(told, why(found))


@pytest.mark.parametrize(
    ("grader", "says"),
    [
        ("never", "agents.py:never gave no verdict within 2 s"),
        ("never_async", "agents.py:never_async gave no verdict within 2 s"),
    ],
)
def test_a_grader_that_does_not_return_is_an_error_of_its_run(
    suite: Path, grader: str, says: str
) -> None:
    ran, found = replay(suite, "fine", "--grader", f"AGENTS:{grader}", *IN_TIME)
    assert (ran.returncode, verdicts(found)) == (3, ["error", "pass", "pass"])
    assert why(found).endswith(says)


@pytest.mark.parametrize(
    ("grader", "says"),
    [("interrupting", "raised KeyboardInterrupt"), ("speechless", "raised Odd")],
)
def test_whatever_a_grader_raises_is_an_error_of_its_run(
    suite: Path, grader: str, says: str
) -> None:
    ran, found = replay(suite, "fine", "--grader", f"AGENTS:{grader}")
    assert (ran.returncode, verdicts(found)) == (3, ["error"] * 3)
    assert why(found).endswith(says)


def test_odd_values_of_a_grader_are_written_as_the_recorder_writes_them(suite: Path) -> None:
    ran, found = replay(suite, "fine", "--grader", "AGENTS:odd")
    assert (ran.returncode, verdicts(found)) == (0, ["pass"] * 3)
    (evidence,) = found.rows[0].evidence
    assert isinstance(evidence, dict)
    assert evidence["reason"] == "\\udc80"
    assert evidence["seen"] == [1, {"$type": "float", "$repr": "nan"}]
    assert "object" in str(evidence["of"])


TOOLS = """
import time

def add():
    time.sleep(600)

async def add_async():
    return 3

def add_all():
    yield 1
    yield 2

class Odd:
    def add(self):
        return self

odd = Odd()

def add_badly():
    raise GeneratorExit("no")
"""


@pytest.mark.parametrize(
    ("tool", "told", "stamp", "miss"),
    [
        ("add", "no answer within 2 s", "failed", "tool_timeout"),
        ("add_async", "3", "pure", None),
        ("add_all", "[1,2]", "pure", None),
        ("odd.add", "Odd", "failed", "tool_untold"),
        ("add_badly", "GeneratorExit", "pure", None),
    ],
)
def test_whatever_a_pure_tool_does_there_is_an_answer(
    suite: Path, tool: str, told: str, stamp: str, miss: str | None
) -> None:
    for file in suite.iterdir():
        text = file.read_text()
        file.write_text(text.replace("tools:\n", "tools:\n  - {name: add, effect: pure}\n", 1))
    (suite.parent / "tools.py").write_text(TOOLS)
    pure = ("--pure", f"add={suite.parent / 'tools.py'}:{tool}")
    ran, _ = replay(suite, "adder", *pure, *GRADED, *IN_TIME)
    assert ran.returncode == (3 if miss else 0)
    trace = load_trace(next((suite.parent / "traces").iterdir()))
    answer = (trace.calls[0].model_extra or {})["answer"]
    assert (answer["stamp"], answer.get("miss")) == (stamp, miss)
    assert told in trace.turns[-1].text


def test_a_tool_that_there_is_not_is_told_so(suite: Path) -> None:
    ran, found = replay(suite, "adder", *GRADED)
    assert (ran.returncode, found.manifest["misses"]) == (3, {"unknown_tool": 3})
    assert "the agent called a tool that there is not" in ran.stdout
    trace = load_trace(next((suite.parent / "traces").iterdir()))
    assert "UnknownTool: there is no tool add" in trace.turns[-1].text


def test_secrets_reach_neither_the_set_nor_the_traces_nor_the_screen(suite: Path) -> None:
    for agent, grader in (("talker", "good"), ("fine", "telling")):
        ran, _ = replay(suite, agent, "--grader", f"AGENTS:{grader}")
        written = [*(suite.parent / "out").iterdir(), *(suite.parent / "traces").iterdir()]
        texts = [ran.stdout, ran.stderr, *(file.read_text() for file in written)]
        assert not [text for text in texts if "abcdefghijklmnop" in text]
        assert "[MASKED:anthropic_key:" in "".join(texts)
    ran, found = replay(suite, "talker", *GRADED, "--no-redact")
    assert SECRET in why(found)


@pytest.mark.parametrize("words", [("--api-key", "k3yk3yk3y"), ("--token=k3yk3yk3y",)])
def test_keys_among_the_words_of_a_command_are_masked(suite: Path, words: tuple[str, ...]) -> None:
    program = suite.parent / "program.py"
    program.write_text("import sys\nfor line in sys.stdin:\n    print('\"Well.\"', flush=True)\n")
    agent = " ".join((f"cmd:{sys.executable}", str(program), *words))
    ran, found = replay(suite, agent, *GRADED)
    assert ran.returncode == 0
    assert str(program) in found.manifest["agent"]
    assert "k3yk3yk3y" not in json.dumps(found.manifest)
    program.write_text("raise SystemExit(4)")
    said = subprocess.run(command(suite, agent), capture_output=True, text=True, check=False)
    assert (said.returncode, "k3yk3yk3y" in said.stderr) == (2, False)
    assert "ended with exit code 4" in said.stderr
    agent = f"python agent.py --api-key {SECRET}"
    said = subprocess.run(command(suite, agent), capture_output=True, text=True, check=False)
    assert (said.returncode, SECRET in said.stderr) == (2, False)
    assert "names no agent" in said.stderr


def test_what_an_address_asks_for_is_masked(suite: Path) -> None:
    ran, found = replay(suite, "http://127.0.0.1:9/agent?token=k3yk3yk3y&x=1", *GRADED)
    assert ran.returncode == 3
    assert found.manifest["agent"] == "http://127.0.0.1:9/agent?token=[MASKED]&x=[MASKED]"
    assert "k3yk3yk3y" not in ran.stdout


FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "a").write(f"{child.pid}\\n")
for line in sys.stdin:
    if len(sys.argv) > 2:
        import time
        time.sleep(600)
    print('"It is too late."', flush=True)
"""


def is_alive(number: int) -> bool:
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def await_ends(file: Path) -> list[int]:
    """Return which of the processes named in a file are alive after some seconds."""
    numbers = [int(line) for line in file.read_text().splitlines()]
    assert numbers
    until = time.monotonic() + 5
    while (left := [n for n in numbers if is_alive(n)]) and time.monotonic() < until:
        time.sleep(0.05)
    for number in left:
        os.kill(number, signal.SIGKILL)
    return left


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("ends", ["well", "late", "interrupted"])
def test_what_an_agents_program_started_ends_with_it(suite: Path, ends: str) -> None:
    program, pids = suite.parent / "family.py", suite.parent / "pids"
    program.write_text(FAMILY)
    agent = f"cmd:{sys.executable} {program} {pids}" + ("" if ends == "well" else " slow")
    if ends != "interrupted":
        _, found = replay(suite, agent, *GRADED, "--run-timeout", "5")
        assert verdicts(found) == ["pass" if ends == "well" else "fail"] * 3
    else:
        with subprocess.Popen(command(suite, agent), stderr=subprocess.PIPE) as process:
            try:
                await_file(pids)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=30)
            finally:
                process.kill()
            assert process.returncode == 130, said
    assert await_ends(pids) == []


def await_file(path: Path, *, holds: str = "") -> None:
    until = time.monotonic() + 30
    while not (path.exists() and (text := path.read_text()) and holds in text):
        assert time.monotonic() < until
        time.sleep(0.02)


STUCK = """
import time

def stuck(messages, tools):
    if "W-1002" in messages[0]["content"]:
        time.sleep(600)
    return "It is too late."
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
    ids=["term", "hup", "int", "kill"],
)
@pytest.mark.parametrize("is_in_background", [False, True])
def test_whatever_ends_it_the_runs_so_far_are_kept(
    suite: Path, number: int, code: int, is_in_background: bool
) -> None:
    if is_in_background and number == signal.SIGINT:
        pytest.skip("it is ignored there")
    (suite.parent / "agents.py").write_text(STUCK)
    rows, traces = suite.parent / "out" / "rows.jsonl", suite.parent / "traces"
    with subprocess.Popen(
        command(suite, "stuck", "--runs", "1"),
        stderr=subprocess.PIPE,
        preexec_fn=ignore_interrupts if is_in_background else None,  # noqa: PLW1509
    ) as process:
        try:
            await_file(rows, holds='"t1"')
            process.send_signal(number)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == code, said
    assert b"Traceback" not in said
    found = read_results(suite.parent / "out")
    assert [row.subject.instance_id for row in found.rows] == ["t0", "t1"]
    assert found.manifest["exclusions"] == {"interrupted": 1}
    assert len(list(traces.iterdir())) == 2


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize("option", ["--out", "--traces"])
def test_a_place_that_cannot_be_written_is_noticed_before_the_first_run(
    suite: Path, option: str
) -> None:
    (suite.parent / "file").write_text("x")
    asked = suite.parent / "asked"
    (suite.parent / "agents.py").write_text(f"def agent(m):\n    open({str(asked)!r}, 'w')\n")
    options = (option, str(suite.parent / "file" / "in it"))
    ran = subprocess.run(
        command(suite, "agent", *options), capture_output=True, text=True, check=False
    )
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert f"{option} '" in ran.stderr
    assert "cannot be written" in ran.stderr
    assert not asked.exists()
