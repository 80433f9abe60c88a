"""`tracedance replay`: an agent in rebuilt tests, verdicts, and what they rest on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.replay.test_rebuilding import order_trace
from tests.support.scripted_models import Answer, saying, scripted_models
from tracedance_sdk.cli import run
from tracedance_sdk.formats import load_trace
from tracedance_sdk.grading import read_results
from tracedance_sdk.replay import rebuild, save_tests
from tracedance_sdk.trace import Outcome

AGENTS = """
import json

def call(name, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": "c", "type": "function", "function": function}]}

def answers(messages):
    return sum(m["role"] == "tool" for m in messages)

def careful(messages, tools):
    return [call("get_order", order="W-1001"), call("cancel_order", order="W-1001"),
            "It is too late."][min(answers(messages), 2)]

def curious(messages, tools):
    return [call("get_order", order="W-9999"), "I cannot find it."][min(answers(messages), 1)]

def broken(messages, tools):
    raise RuntimeError("no idea")

def adder(messages, tools):
    return [call("add", left=1, right=2), "Three."][min(answers(messages), 1)]

def add(left, right):
    return left + right

def asked_before_cancelling(trace):
    names = [call.name for call in trace.actions]
    return {"verdict": "pass" if "get_order" in names else "fail", "reason": f"calls: {names}"}

def leaving(trace):
    raise SystemExit(0)

def silly(trace):
    return "perhaps"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    traces = [
        order_trace(f"t{n}", f"g{n}").model_copy(update={"outcome": Outcome(success=n == 0)})
        for n in range(2)
    ]
    save_tests(rebuild(traces).tests, tmp_path / "rebuilt")
    (tmp_path / "agents.py").write_text(AGENTS)
    return tmp_path / "rebuilt"


def replay(suite: Path, agent: str, *options: str) -> tuple[int, dict[str, Any]]:
    place = suite.parent / "agents.py"
    given = agent if ":" in agent or agent == "recorded" else f"{place}:{agent}"
    out = suite.parent / "out"
    names = [option.replace("AGENTS", str(place)) for option in options]
    code = run(["replay", str(suite), "--agent", given, "--out", str(out), "--json", *names])
    rows = () if code == 2 else read_results(out).rows
    return code, {str(row.subject.instance_id): row for row in rows}


GRADED = ("--grader", "AGENTS:asked_before_cancelling")


def test_an_agent_that_does_the_same_is_graded(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rows = replay(suite, "careful", *GRADED, "--traces", str(suite.parent / "traces"))
    report = json.loads(capsys.readouterr().out)
    assert (code, report["verdicts"], report["answers"]) == (0, {"pass": 2}, {"same": 4})
    assert report["rest_on_simulated"] == {"tests": 0, "of": 2}
    row = rows["t0"]
    assert (row.verdict, row.score, row.group) == ("pass", 1.0, "g0")
    assert (row.model_extra["production"], row.model_extra["fidelity"]) == ("pass", 1.0)
    (file, _) = sorted((suite.parent / "traces").iterdir())
    trace = load_trace(file)
    assert trace.metadata["rebuilt_test"] == "t0"
    assert row.subject.trace_id == trace.id


def test_a_verdict_that_rests_on_a_missing_answer_is_inconclusive(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rows = replay(suite, "curious", *GRADED, "--nearest")
    report = json.loads(capsys.readouterr().out)
    assert (code, report["rest_on_simulated"]) == (3, {"tests": 2, "of": 2})
    assert report["misses"] == {"something_new": 2}
    row = rows["t0"]
    (call, answered) = (row.model_extra["reason"], row.model_extra["missed"])
    assert call == "a call had no answer; grader: calls: ['get_order']"
    assert [(item["name"], item["arguments"], item["miss"]) for item in answered] == [
        ("get_order", {"order": "W-9999"}, "something_new")
    ]
    assert {"conversation": "t0", "arguments": {"order": "W-1001"}, "differing": ["order"]} in (
        answered[0]["nearest"]
    )
    assert (row.verdict, row.raw_verdict, row.model_extra["rests_on"]) == (
        "inconclusive",
        "pass",
        ["failed"],
    )
    assert replay(suite, "curious", *GRADED, "--allow", "failed")[0] == 0
    assert replay(suite, "curious", *GRADED, "--allow", "failed", "--min-fidelity", "0.5")[0] == 3
    code, rows = replay(suite, "curious", *GRADED, "--simulator", "nearest")
    assert (code, rows["t0"].model_extra["rests_on"]) == (3, ["simulated"])


def test_the_line_about_simulated_answers_is_printed(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = suite.parent / "agents.py"
    arguments = ["--agent", f"{place}:curious", "--out", str(suite.parent / "out")]
    arguments += ["--test", "t0", "--nearest"]
    assert (
        run(["replay", str(suite), *arguments, "--grader", f"{place}:asked_before_cancelling"]) == 3
    )
    printed = capsys.readouterr().out
    assert "1/1 verdicts rest on made-up or missing answers\n" in printed
    assert "of these, 0 on made-up ones, 1 on missing ones" in printed
    assert "nearest recording" in printed
    assert "pass  calls: ['get_order']" in printed
    assert '{"order":"W-1001"}' in printed.replace(": ", ":")
    assert "the agent did something that no recording shows" in printed


def test_an_agent_that_fails_has_failed(suite: Path) -> None:
    code, rows = replay(suite, "broken", *GRADED, "--trials", "2")
    assert code == 1
    assert rows["t0"].model_extra["ended"] == "agent_error"
    assert "RuntimeError: no idea" in rows["t0"].model_extra["reason"]
    assert len(read_results(suite.parent / "out").rows) == 4


def test_without_a_grader_nothing_is_decided(suite: Path) -> None:
    code, rows = replay(suite, "careful", "--customer", "scripted")
    assert (code, rows["t0"].verdict, rows["t0"].missing_reason) == (
        3,
        "inconclusive",
        "there is no grader",
    )


def test_a_grader_that_makes_no_sense_is_an_error(suite: Path) -> None:
    code, rows = replay(suite, "careful", "--grader", "AGENTS:silly")
    assert (code, rows["t0"].verdict) == (3, "error")
    assert "'perhaps', which is no verdict" in rows["t0"].missing_reason


def test_a_grader_that_leaves_the_program_is_an_error(suite: Path) -> None:
    code, rows = replay(suite, "careful", "--grader", "AGENTS:leaving")
    assert (code, rows["t0"].verdict) == (3, "error")
    assert "SystemExit" in rows["t0"].missing_reason


def test_criteria_grade_the_calls_of_a_run(suite: Path) -> None:
    spec = suite.parent / "task.yaml"
    spec.write_text(
        "format: tracedance.task\nversion: 1\nid: look-first\n"
        "criteria:\n  - {type: required_actions, actions: [{action: get_order}]}\n"
    )
    assert replay(suite, "careful", "--spec", str(spec))[0] == 0
    spec.write_text(spec.read_text().replace("get_order", "call_a_friend"))
    assert replay(suite, "careful", "--spec", str(spec))[0] == 1


def test_a_customer_of_another_package_speaks(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "packages" / "curt-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: curt\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tracedance.customers]\ncurt = curt:Curt\n")
    (info.parent / "curt.py").write_text(
        "class Curt:\n    name = 'curt'\n    def __init__(self, person): pass\n"
        "    async def reply(self, conversation):\n"
        "        return 'Well?' if len(conversation) < 5 else None\n"
    )
    monkeypatch.syspath_prepend(str(info.parent))
    options = ("--customer", "curt", "--test", "t0", "--traces", str(tmp_path / "traces"))
    assert replay(suite, "careful", *GRADED, *options)[0] == 0
    (file,) = (tmp_path / "traces").iterdir()
    said = [turn.text for turn in load_trace(file).turns if turn.role == "user"]
    assert said == ["Please cancel W-1001.", "Well?"]


def test_pure_tools_are_run(suite: Path) -> None:
    for file in suite.iterdir():
        file.write_text(
            file.read_text()
            .replace("tools:\n", "tools:\n- {name: add, effect: pure}\n", 1)
            .replace("- {name: add", "  - {name: add")
        )
    code, rows = replay(suite, "adder", "--pure", "AGENTS:add", "--grader", "AGENTS:silly")
    assert (code, rows["t0"].model_extra["answers"]) == (3, {"pure": 1})


def test_models_may_speak_for_the_customer_judge_and_simulate(suite: Path) -> None:
    score = {"reasoning": "It looked first.", "score": 5}
    replies = [
        Answer(saying("openai", "[DONE]")),
        Answer(saying("openai", json.dumps(score))),
    ]
    with scripted_models(lambda _, number: replies[number]) as server:
        model = f"openai:m@{server.url}/v1"
        code, rows = replay(
            suite, "careful", "--customer", model, "--test", "t0", "--judge", model, "--offline"
        )
    assert (code, rows["t0"].verdict) == (0, "pass")
    assert "mean score 5.00" in rows["t0"].model_extra["reason"]
    with scripted_models(lambda _, number: Answer(saying("openai", "lost"))) as server:
        model = f"openai:m@{server.url}/v1"
        options = ("--simulator", model, "--test", "t0", "--offline")
        code, rows = replay(suite, "curious", *GRADED, *options)
    assert (code, rows["t0"].model_extra["answers"]) == (3, {"simulated": 1})


def test_a_service_that_cannot_be_reached_is_no_verdict_on_the_agent(suite: Path) -> None:
    code, rows = replay(suite, "http://127.0.0.1:9/agent", *GRADED)
    assert (code, rows["t0"].verdict) == (3, "error")
    assert "cannot be reached" in rows["t0"].missing_reason


@pytest.mark.parametrize(
    ("agent", "options", "says"),
    [
        ("nobody", (), "has no function 'nobody'"),
        ("careful", ("--test", "t9"), "no test 't9' among 2"),
        (
            "careful",
            ("--customer", "ghost"),
            "there is no customer 'ghost'; there are scripted, rules",
        ),
        ("careful", ("--simulator", "ghost"), "'ghost' is nobody"),
        ("careful", ("--pure", "AGENTS:add"), "'add' is not pure"),
        (
            "careful",
            ("--grader", "AGENTS:silly", "--judge", "openai:m@http://127.0.0.1:9"),
            "say once who grades",
        ),
        ("https://example.com/a", ("--offline",), "is not on this machine"),
    ],
    ids=["agent", "test", "customer", "simulator", "pure", "graders", "offline"],
)
def test_wrong_use_is_one_line(
    agent: str,
    options: tuple[str, ...],
    says: str,
    suite: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert replay(suite, agent, *options)[0] == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_folder_without_tests_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rebuilt").mkdir()
    assert replay(tmp_path / "rebuilt", "json:loads")[0] == 2
    assert "holds no rebuilt tests" in capsys.readouterr().err


def test_what_is_wrong_with_a_test_is_never_the_agents_fault(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = suite / "t0.yaml"
    good = file.read_text()
    file.write_text(good.replace("opening:", "openning:"))
    code, rows = replay(suite, "careful", *GRADED)
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    says = "t0.yaml: unknown field 'openning'; did you mean 'opening'? @ $.openning"
    assert line.startswith("tracedance: no test, left out: ")
    assert says in line
    assert (code, [*rows], rows["t1"].verdict) == (3, ["t1"], "pass")
    report = json.loads(captured.out)
    assert report["exclusions"] == {"no test": 1}
    assert says in report["broken"][0]
    assert replay(suite, "broken", *GRADED)[0] == 1
    assert replay(suite, "careful", *GRADED, "--test", "t0")[0] == 2
    other = (suite / "t1.yaml").read_text()
    (suite / "t1.yaml").write_text("- no\n- test\n")
    capsys.readouterr()
    assert replay(suite, "careful", *GRADED)[0] == 2
    assert "2 files are no tests" in capsys.readouterr().err
    (suite / "t1.yaml").write_text(other)
    capsys.readouterr()
    file.write_text(good.replace("order: W-1001", "order: 7", 1))
    assert replay(suite, "careful", *GRADED)[0] == 0
    assert "warning: t0: the arguments do not fit the schema" in capsys.readouterr().err


def test_the_recorded_agent_is_a_check_of_the_machinery(suite: Path) -> None:
    for file in suite.iterdir():
        text = file.read_text()
        assert "said:" in text
        file.write_text(text.replace("said:", "said:\n      - One\n      - Two\n      - Three", 1))
    traces = suite.parent / "traces"
    for options in ((), ("--customer", "scripted"), ("--customer", "rules")):
        _, rows = replay(suite, "recorded", *GRADED, "--traces", str(traces), *options)
        row = rows["t0"]
        # What the third call was answered was lost.
        answers = {"same": 2, "failed": 1}
        assert (row.model_extra["ended"], row.model_extra["answers"]) == ("customer", answers)
        trace = load_trace(next(traces.glob(f"*{row.subject.trace_id[:8]}*")))
        assert [turn.role for turn in trace.turns].count("user") == 1
        customer = read_results(suite.parent / "out").manifest["customer"]
        assert customer == (options[1] if options else "scripted")


def test_a_program_that_cannot_start_is_wrong_use(
    suite: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert replay(suite, f"cmd:{sys.executable} {suite.parent / 'absent.py'}", *GRADED)[0] == 2
    (line,) = [row for row in capfd.readouterr().err.splitlines() if "tracedance:" in row]
    assert "ended with exit code 2 before it replied to anything" in line
    assert not (suite.parent / "out" / "rows.jsonl").exists()


def test_where_no_run_was_made_no_verdict_rests_on_anything(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--agent", "http://127.0.0.1:9/agent", "--out", str(suite.parent / "out")]
    assert run(["replay", str(suite), *arguments]) == 3
    assert "verdicts rest on" not in capsys.readouterr().out


def test_the_worst_runs_come_first_and_none_is_left_out_silently(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (suite.parent / "moody.py").write_text(
        "def agent(messages, tools):\n"
        "    if 'W-1001' not in str(messages):\n"
        "        raise RuntimeError('lost')\n"
        "    return 'Well.'\n"
    )
    file = suite / "t1.yaml"
    file.write_text(file.read_text().replace("opening: Please cancel W-1001.", "opening: Hello."))
    arguments = ["--agent", f"{suite.parent / 'moody.py'}:agent", "--trials", "30"]
    grader = ["--grader", f"{suite.parent / 'agents.py'}:silly"]
    assert run(["replay", str(suite), *arguments, *grader, "--out", str(suite.parent / "o")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:31]] == ["t1"] * 30
    assert [line.split()[0] for line in lines[31:41]] == ["t0"] * 10
    assert lines[41].startswith("... and 20 more runs (20 error):")


def test_a_rubric_about_one_turn_is_refused_before_the_agent_is_run(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rubric = suite.parent / "turn.yaml"
    rubric.write_text(
        "format: tracedance.rubric\nversion: 1\nid: kind\ntitle: Kind\nabout: turn\n"
        "question: Is it kind?\nlevels: {0: 'no', 5: 'yes'}\n"
    )
    judge = ("--judge", "openai:m@http://127.0.0.1:9/v1", "--rubric", str(rubric))
    assert replay(suite, "careful", *judge)[0] == 2
    assert "is about one turn" in capsys.readouterr().err
    assert not (suite.parent / "out" / "rows.jsonl").exists()


SLOW = """
import sys, time

SLEEPS = [60, 0]

def slow(messages, tools):
    print("asked", file=sys.stderr, flush=True)
    time.sleep(SLEEPS.pop())
    return "Well."
"""


def test_what_was_run_before_an_interruption_is_kept(suite: Path) -> None:
    agents = suite.parent / "slow.py"
    agents.write_text(SLOW)
    out = suite.parent / "out"
    command = Path(sys.executable).with_name("tracedance")
    arguments = ["replay", str(suite), "--agent", f"{agents}:slow", "--out", str(out)]
    options = ["--customer", "scripted", "--runs", "1", "--max-turns", "1"]
    with subprocess.Popen([command, *arguments, *options], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"asked\n"
        assert process.stderr.readline() == b"asked\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
    assert process.returncode == 130, said
    assert "the runs so far are in the result set" in said
    found = read_results(out)
    assert [row.subject.instance_id for row in found.rows] == ["t0"]
    assert found.manifest["exclusions"] == {"interrupted": 1}
