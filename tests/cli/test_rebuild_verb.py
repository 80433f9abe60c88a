"""`tracedance rebuild`: test files of recorded conversations, and what was decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.replay.test_rebuilding import order_trace
from tracedance_sdk.cli import run
from tracedance_sdk.formats import save_trace
from tracedance_sdk.replay import Suite


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
        (("--pure", "get_ordr"), "no conversation has a tool 'get_ordr'"),
        (("--trace", "nobody"), "no conversation to make a test of"),
    ],
    ids=["no effect", "odd effect", "two effects", "no such tool", "no trace"],
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
