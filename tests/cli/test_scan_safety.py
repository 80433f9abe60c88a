"""`tracedance scan` and `behaviors`: what they print is safe, and where they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviors.test_behavior_files import written
from tests.store.stored import agent, call, human, run
from tracedance_sdk.cli import run as tracedance
from tracedance_sdk.store import TraceStore

RAW = "\x1b[31mred\x1b[0m \u202ertl\x00\x07\x9b \n\nfaked line"
SHOWN = "\\x1b[31mred\\x1b[0m \\u202ertl\\x00\\x07\\x9b faked line"
HARMFUL = "\x1b\u202e\x00\x07\x9b"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal so wide that no line of ours is broken."""
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = TraceStore.create(tmp_path / "runs")
    listed = call("Bash", {"command": "ls"}, "x", ok=True)
    made.add([run(f"t{RAW}", human("Go."), agent("I look.", listed), agent("Done."))])
    made.index()
    return tmp_path / "runs"


def own(folder: Path) -> str:
    code = f"def anchor(run, place, parameters):\n    return {{'turn': 1, 'note': {'n' + RAW!r}}}"
    sql = f"SELECT trace_id, 1 AS turn FROM traces -- {RAW}".replace("\x00", "").replace("\n", " ")
    return written(
        folder,
        name=f"Mine {RAW}",
        desirable=f"Not mine {RAW}",
        definition=f"d {RAW}",
        question=f"q {RAW}",
        levels={0: f"bad {RAW}", 5: f"good {RAW}"},
        parameters={"p": {"about": f"a {RAW}", "default": 1}},
        anchor={"sql": sql, "code": code},
    )


@pytest.mark.parametrize(
    "options", [(), ("--by", "agent"), ("--examples", "3")], ids=["table", "rates", "examples"]
)
def test_what_a_scan_shows_of_traces_and_files_is_not_obeyed_by_a_terminal(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    assert tracedance(["scan", str(folder), "--behavior", own(tmp_path), *options]) == 0
    told = capsys.readouterr().out
    assert not set(told) & set(HARMFUL)
    assert not any(line.startswith("faked") for line in told.splitlines())
    assert f"Mine {SHOWN}" in told
    if "--examples" in options:
        assert f"trace t{SHOWN}, turn 1: n{SHOWN}" in told


def test_what_is_shown_of_a_file_is_not_obeyed_by_a_terminal(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tracedance(["behaviors", own(tmp_path), "--try", str(folder)]) == 1
    told = capsys.readouterr().out
    assert not set(told) & set(HARMFUL)
    assert not any(line.strip().startswith("faked") for line in told.splitlines())
    assert told.count(SHOWN) >= 6


@pytest.mark.parametrize("place", ["", "found", "parts/found", "../runs", "../link/found"])
def test_a_scan_does_not_write_into_the_store_that_it_reads(
    folder: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (folder.parent / "link").symlink_to(folder)
    before = sorted(folder.rglob("*"))
    out = folder / place
    assert tracedance(["scan", str(folder), "--behavior", "F01", "--out", str(out)]) == 2
    said = capsys.readouterr()
    assert f"--out {str(out)!r} lies inside the store; name a folder elsewhere" in said.err
    assert sorted(folder.rglob("*")) == before
