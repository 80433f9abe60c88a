"""Programs that end abruptly, and surroundings that fail: the host never notices, `close` tells.

Every program runs twice, with a recorder and without. Values, exceptions, exit code and standard
error must be the same, but for log lines of ours.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.durability.faulty_hosts import SCENARIOS
from tests.durability.kill_check import broken_chain
from tests.support.tables import AddRow
from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal import read_journal
from tracedance_sdk.otel import assemble
from tracedance_sdk.trace import Call, Trace

PROJECT = Path(__file__).parents[2]
OUR_LINE = re.compile(r"^(tracedance could not record \(|journal file ).*\n", re.MULTILINE)
OUR_FRAME = re.compile(r'^  File "[^"]*/tracedance_sdk/.*\n(?:    .*\n)*', re.MULTILINE)

FIRST = [0, 1, 2, 3, 4]
"""What most programs do before something happens."""


class Expected(NamedTuple):
    """What must come of one program.

    Attributes:
        exit_code: Of the host, with and without a recorder.
        on_disk: Values of ``n`` of the calls in the journal; None when there is no journal.
        interrupted: Names of the calls in the journal that have no end.
        faults: What `close` names; None when the program does not live to close.
        lost: Whether `close` says that records were taken away.
        log_lines: How many lines of ours stand on standard error.
        ended: Whether the run is on record as properly ended.
    """

    exit_code: int = 0
    on_disk: list[int] | None = FIRST
    interrupted: tuple[str, ...] = ()
    faults: frozenset[str] | None = frozenset()
    lost: bool = False
    log_lines: int = 0
    ended: bool = True


class Outcome(NamedTuple):
    """What came of one program."""

    exit_code: int
    stdout: str
    stderr: str
    closing: dict[str, Any] | None


WRITE = "write: JournalError"
BLOB = "blob: JournalError"
PIPELINE = "pipeline: JournalError"
LATER = [10, 11, 12, 13, 14]

KILLED = Expected(faults=None, ended=False)
NO_JOURNAL = Expected(on_disk=None, faults=frozenset({PIPELINE}), log_lines=1)

EXPECTED: dict[str, Expected] = {
    "os._exit in a tool": KILLED._replace(exit_code=7, interrupted=("<lambda>",)),
    "abort in a tool": KILLED._replace(exit_code=-signal.SIGABRT, interrupted=("abort",)),
    "SIGTERM in a tool": KILLED._replace(exit_code=-signal.SIGTERM, interrupted=("<lambda>",)),
    "SIGINT in a tool": Expected(-signal.SIGINT, interrupted=("wait",), ended=False),
    "an unhandled exception": Expected(1, [0, 1, 2], ended=False),
    "sys.exit in a tool": Expected(5, interrupted=("exit",), ended=False),
    "sys.exit in a thread": Expected(interrupted=("exit",)),
    "a daemon thread at exit": Expected(on_disk=[0]),
    "an exit inside the recorder's statement": Expected(faults=None, ended=False),
    "a full disk": Expected(
        on_disk=[*FIRST, 20, 21, 22, 23, 24], faults=frozenset({WRITE, BLOB}), log_lines=2
    ),
    "a disk full from the start": NO_JOURNAL,
    "a limit on file sizes": Expected(faults=frozenset({WRITE}), log_lines=1),
    "a removed folder": Expected(on_disk=LATER, lost=True, log_lines=1),
    "a clock that jumps back": Expected(on_disk=[*FIRST, *LATER, 90]),
    "no descriptors left": Expected(
        on_disk=[*FIRST, *LATER], faults=frozenset({BLOB}), log_lines=1
    ),
    "no descriptors from the start": NO_JOURNAL,
    "no standard descriptors": Expected(on_disk=[*FIRST, 5]),
    "descriptors closed behind our back": Expected(on_disk=[*FIRST, *LATER]),
}


def run(scenario: str, folder: Path, report: Path, mode: str) -> Outcome:
    done = subprocess.run(
        [sys.executable, "-m", "tests.durability.faulty_hosts", scenario, folder, report, mode],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    closing = json.loads(report.read_text()) if report.exists() else None
    return Outcome(done.returncode, done.stdout, done.stderr, closing)


def without_our_frames(stderr: str) -> str:
    return OUR_FRAME.sub("", OUR_LINE.sub("", stderr))


def trace_on_disk(folder: Path, *, lost: bool) -> Trace | None:
    """Return the trace of the journal's only run, having looked at every file.

    Args:
        folder: The journal.
        lost: Whether its first file was taken away, which reading must tell.
    """
    try:
        contents = read_journal(folder)
    except JournalError:
        return None
    (trace,) = assemble(contents, blobs=contents.get_blob)
    told = ["file 1 of this chain, which goes before, is not here"] if lost else []
    assert [problem.what for problem in contents.problems] == told
    assert [what for path in contents.files for what in broken_chain(path)] == []
    return trace


def check(
    scenario: str, expected: Expected, folder: Path, tmp_path: Path, add_row: AddRow, *, row: str
) -> Outcome:
    plain = run(scenario, folder, tmp_path / "plain.json", "plain")
    recorded = run(scenario, folder, tmp_path / "recorded.json", "recorded")

    assert plain.exit_code == expected.exit_code, plain.stderr
    assert recorded.exit_code == plain.exit_code, recorded.stderr
    assert recorded.stdout == plain.stdout
    assert without_our_frames(recorded.stderr) == without_our_frames(plain.stderr)
    lines = OUR_LINE.findall(recorded.stderr)
    assert len(lines) == expected.log_lines, recorded.stderr

    trace = trace_on_disk(folder, lost=expected.lost)
    add_row(
        "faults",
        what=row,
        exit_code=recorded.exit_code,
        on_disk="no journal" if trace is None else f"{len(trace.calls)} calls",
        interrupted="" if trace is None else len(interrupted(trace)),
        close_says=said(recorded.closing),
    )
    check_closing(recorded.closing, expected)
    check_trace(trace, recorded, expected)
    return recorded


def said(closing: dict[str, Any] | None) -> str:
    if closing is None:
        return ""
    told = [f"{count} x {fault}" for fault, count in closing["faults"].items()]
    if closing["lost"]:
        told.append(f"{closing['lost']} records lost")
    return ", ".join(told) or "all is well"


def check_closing(closing: dict[str, Any] | None, expected: Expected) -> None:
    if expected.faults is None:
        assert closing is None
        return
    assert closing is not None
    assert set(closing["faults"]) == expected.faults
    assert (closing["lost"] > 0) == expected.lost
    assert (closing["journal"] is None) == (expected.on_disk is None)


def check_trace(trace: Trace | None, outcome: Outcome, expected: Expected) -> None:
    if expected.on_disk is None:
        assert trace is None
        return
    assert trace is not None
    # Where space runs out within a call, its start is on record and its end is not.
    whole = [call for call in trace.calls if call.name == "act" and call not in cut_off(trace)]
    assert [call.arguments["n"] for call in whole][: len(expected.on_disk)] == expected.on_disk
    assert [call.name for call in interrupted(trace) if call.name != "act"] == [
        *expected.interrupted
    ]
    assert len(cut_off(trace)) <= (WRITE in (expected.faults or ()))
    assert all(call.duration_ms is None or call.duration_ms >= 0 for call in trace.calls)
    assert (trace.outcome is not None and trace.outcome.ended) == expected.ended
    if outcome.closing is not None:
        shown = [[call.name, call.arguments] for call in trace.calls]
        assert outcome.closing["calls"] == shown, "the recorder and its journal tell one story"


def interrupted(trace: Trace) -> list[Call]:
    return [call for call in trace.calls if call.result is not None and call.result.interrupted]


def cut_off(trace: Trace) -> list[Call]:
    return [call for call in interrupted(trace) if call.name == "act"]


ORDINARY = [name for name in SCENARIOS if "disk" not in name and "cannot be written" not in name]


@pytest.mark.parametrize("scenario", ORDINARY)
def test_the_host_does_not_notice(scenario: str, tmp_path: Path, add_row: AddRow) -> None:
    check(scenario, EXPECTED[scenario], tmp_path / "traces", tmp_path, add_row, row=scenario)


def mount(folder: Path, *options: str) -> None:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"mount: not permitted here ({done.stderr.strip()})")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    folder = tmp_path / "disk"
    mount(folder, "size=256k")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("scenario", ["a full disk", "a disk full from the start"])
def test_a_full_disk_costs_records_and_nothing_else(
    scenario: str, small_disk: Path, tmp_path: Path, add_row: AddRow
) -> None:
    check(scenario, EXPECTED[scenario], small_disk, tmp_path, add_row, row=scenario)


@pytest.fixture(params=["below a file", "read-only disk", "immutable folder"])
def closed_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing can be created, for root neither."""
    folder = tmp_path / "closed"
    if request.param == "below a file":
        folder.write_text("a file")
        yield folder / "traces"
    elif request.param == "read-only disk":
        mount(folder, "size=256k", "ro")
        yield folder
        subprocess.run(["umount", folder], check=True)
    else:
        folder.mkdir()
        done = subprocess.run(["chattr", "+i", folder], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("mount: no immutable files on this disk")
        yield folder
        subprocess.run(["chattr", "-i", folder], check=True)


def test_a_folder_that_cannot_be_written_costs_the_journal_and_nothing_else(
    closed_folder: Path, tmp_path: Path, add_row: AddRow, request: pytest.FixtureRequest
) -> None:
    scenario = "a folder that cannot be written"
    row = f"{scenario}: {request.node.callspec.params['closed_folder']}"
    recorded = check(scenario, NO_JOURNAL, closed_folder, tmp_path, add_row, row=row)

    assert recorded.closing is not None
    assert [call[1]["n"] for call in recorded.closing["calls"]] == FIRST


def test_a_log_that_cannot_be_written_either_is_not_the_hosts_trouble(
    tmp_path: Path, add_row: AddRow
) -> None:
    scenario = "a closed sys.stderr, and a folder that cannot be written"
    (tmp_path / "closed").write_text("a file")
    expected = NO_JOURNAL._replace(log_lines=0)
    check(scenario, expected, tmp_path / "closed" / "traces", tmp_path, add_row, row=scenario)
