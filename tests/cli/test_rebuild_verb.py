"""`tracedance rebuild`: test files of recorded conversations, and what was decided."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.replay.conversations import Step, trace_of
from tests.replay.test_rebuilding import ORDER, order_trace
from tracedance_sdk.cli import run
from tracedance_sdk.formats import save_trace
from tracedance_sdk.replay import Suite
from tracedance_sdk.trace import Text, ToolDefinition, Trace, Turn


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    for n in range(3):
        save_trace(order_trace(f"t{n}", f"g{n}"), folder / f"t{n}.json")
    return folder


def test_every_conversation_becomes_a_file(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rebuilt"
    assert run(["rebuild", str(source), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "3 tests of 3 groups with 9 recorded calls, 3 without an answer" in printed
    assert "cancel_order" in printed
    assert {test.id for test in Suite.load(out).tests} == {"t0", "t1", "t2"}


def test_the_report_says_what_was_decided_on_each_value(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--effect", "get_order=write", "--json")
    assert run(["rebuild", str(source), "--out", str(tmp_path / "o"), *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {tool["name"]: tool["effect"] for tool in report["tools"]} == {
        "get_order": "write",
        "cancel_order": "write",
    }
    (said,) = report["people"]["t0"]
    assert (said["value"], said["kept"], said["first_speaker"]) == ("W-1001", True, "person")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--effect", "get_order"), "is not TOOL=EFFECT"),
        (("--effect", "get_order=harmless"), "the effect is one of pure, read, write"),
        (("--effect", "get_order=read", "--pure", "get_order"), "two effects"),
        (("--overrule", "get_ordr"), "no conversation has a tool 'get_ordr'"),
        (("--names", "people.txt"), "--names FILE needs --pseudonymise"),
        (("--pure", "get_ordr"), "no conversation has a tool 'get_ordr'"),
        (("--trace", "nobody"), "no conversation to make a test of"),
    ],
    ids=[
        "no effect",
        "odd effect",
        "two effects",
        "overruled without a tool",
        "names for nothing",
        "no such tool",
        "no trace",
    ],
)
def test_wrong_use_is_one_line(
    options: tuple[str, ...],
    says: str,
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "rebuilt"
    assert run(["rebuild", str(source), "--out", str(out), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert not out.exists()


def test_nothing_is_overwritten(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rebuilt"
    assert run(["rebuild", str(source), "--out", str(out)]) == 0
    assert run(["rebuild", str(source), "--out", str(out)]) == 2
    assert "is there already" in capsys.readouterr().err


SECRET = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" * 3
LOG_IN = {"user": "ann_lee_1", "password": "hunter2-and-more"}
TOLD = {"order": "W-1001", "key": SECRET}


def secret_trace(identity: str) -> Trace:
    steps: tuple[Step, ...] = (("log_in", LOG_IN, "welcome"), ("get_key", ORDER, TOLD))
    trace = trace_of(identity, f"g-{identity}", *steps)
    said = f"I am ann@corp.com, my key is {SECRET}. Cancel W-1001."
    first = Turn(index=0, role="user", origin="human", content=(Text(text=said),))
    return trace.model_copy(update={"turns": (first, *trace.turns[1:])})


@pytest.fixture
def secretive(tmp_path: Path) -> Path:
    folder = tmp_path / "secretive"
    folder.mkdir()
    for name in ("s1", "s2"):
        save_trace(secret_trace(name), folder / f"{name}.json")
    return folder


def test_no_secret_comes_into_tests_or_reports(
    secretive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rebuilt"
    assert run(["rebuild", str(secretive), "--out", str(out), "--json"]) == 0
    report = capsys.readouterr().out
    texts = [report, *(path.read_text() for path in out.glob("*.yaml"))]
    assert len(texts) == 3
    for text in texts:
        assert "hunter2" not in text
        assert SECRET[:20] not in text
    assert json.loads(report)["masked"]["password"] == 2
    assert run(["rebuild", str(secretive), "--out", str(tmp_path / "more")]) == 0
    assert "masked: 4 anthropic_key, 2 password" in capsys.readouterr().out


def test_equal_secrets_stay_equal_and_are_recognised_in_a_replay(
    secretive: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rebuilt"
    assert run(["rebuild", str(secretive), "--out", str(out)]) == 0
    suite = Suite.load(out)
    one, other = (suite.test(name).recordings for name in ("s1", "s2"))
    assert one == other
    assert stat.S_IMODE((out / "redaction.key").stat().st_mode) == 0o600
    session = suite.ladder("s1").begin()
    answer = session.answer("log_in", LOG_IN)
    assert (answer.stamp, answer.result.content, answer.masked) == ("same", "welcome", False)
    assert session.answer("log_in", {**LOG_IN, "password": "wrong-and-more"}).stamp == "failed"
    # What a customer who was rebuilt says is masked already.
    assert session.answer("log_in", one[0].arguments).stamp == "same"
    assert session.answer("get_key", ORDER).masked is True
    assert "wrong-and-more" not in str(session.answers)
    # Tests that come later have the same pseudonyms.
    (secretive / "s1.json").unlink()
    (secretive / "s2.json").unlink()
    save_trace(secret_trace("s3"), secretive / "s3.json")
    assert run(["rebuild", str(secretive), "--out", str(out)]) == 0
    assert Suite.load(out).test("s3").recordings == one


def test_the_key_of_a_store_is_the_key_of_its_tests(secretive: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "rebuilt"
    assert run(["import", str(secretive), "--store", str(store), "--quiet"]) == 0
    assert run(["rebuild", str(store), "--out", str(out)]) == 0
    assert (out / "redaction.key").read_bytes() == (store / "redaction.key").read_bytes()
    identity = Suite.load(out).tests[0].id
    assert Suite.load(out).ladder(identity).begin().answer("log_in", LOG_IN).stamp == "same"


def test_secrets_stay_when_asked_for_and_people_go(secretive: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert run(["rebuild", str(secretive), "--out", str(kept), "--no-redact"]) == 0
    assert "hunter2-and-more" in (kept / "s1.yaml").read_text()
    assert not (kept / "redaction.key").exists()
    out = tmp_path / "people"
    assert run(["rebuild", str(secretive), "--out", str(out), "--pseudonymise"]) == 0
    text = (out / "s1.yaml").read_text()
    assert "ann@corp.com" not in text
    assert "@example.invalid" in text


def test_without_a_secret_there_is_no_key(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "rebuilt"
    assert run(["rebuild", str(source), "--out", str(out)]) == 0
    assert not (out / "redaction.key").exists()


def test_what_a_run_said_of_its_tools_is_overruled_only_when_it_is_said_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "t.json", tmp_path / "rebuilt"
    declared = ToolDefinition(name="cancel_order", effect="write")
    save_trace(order_trace().model_copy(update={"tools": (declared,)}), source)
    asked = ["rebuild", str(source), "--out", str(out), "--pure", "cancel_order"]
    assert run(asked) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'cancel_order' was recorded as 'write'" in line
    assert "--overrule cancel_order" in line
    assert not out.exists()
    assert run([*asked, "--overrule", "cancel_order"]) == 0
    assert "explicit, over write" in capsys.readouterr().out
    (test,) = Suite.load(out).tests
    tool = next(tool for tool in test.tools if tool.name == "cancel_order")
    assert (tool.effect, tool.effect_from, tool.overrules) == ("pure", "explicit", "write")


def test_the_table_does_not_speak_for_the_runs_of_a_store(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    assert run(["import", str(source), "--store", store, "--quiet"]) == 0
    capsys.readouterr()
    assert run(["rebuild", store, "--out", str(tmp_path / "o"), "--json"]) == 0
    tools = json.loads(capsys.readouterr().out)["tools"]
    assert {tool["effect_from"] for tool in tools} == {"table"}
