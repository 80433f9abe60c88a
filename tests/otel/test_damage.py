"""Damage to a journal shows in the runs whose records it may have touched, and in no others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.grading import Verdict, evaluate
from tracedance_sdk.journal import JournalWriter, SpanRecord, prune, read_journal
from tracedance_sdk.otel import assemble, recover, trace_records
from tracedance_sdk.trace import Trace

NEVER_A2 = {
    "id": "mail",
    "critical_errors": [{"action": "refund", "matches": {"order": "A-2"}, "description": "never"}],
}


def record(folder: Path, *orders: str) -> str:
    """Record a run that refunds these orders; return its trace's id."""
    with td.TraceRecorder(task_id="mail", journal=folder) as recorder:
        for order in orders:
            with recorder.call("refund", {"order": order}) as call:
                call.result = {"ok": True}
    return recorder.trace.id


def the_file(folder: Path) -> Path:
    [path] = folder.glob("*.jsonl")
    return path


def rewrite(folder: Path, change: Callable[[list[bytes]], Any]) -> None:
    """Change the lines of the only file."""
    path = the_file(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    change(lines)
    path.write_bytes(b"".join(lines))


def without(text: bytes) -> Callable[[list[bytes]], None]:
    """Take out the lines that tell of something, and the calls that begin so."""

    def change(lines: list[bytes]) -> None:
        lines[:] = [line for line in lines if text not in line]

    return change


def read(folder: Path) -> dict[str, Trace]:
    contents = read_journal(folder)
    return {trace.id: trace for trace in assemble(contents, blobs=contents.get_blob)}


def counts(trace: Trace) -> tuple[int, int]:
    return trace.fidelity.count("record_lost"), trace.fidelity.count("record_altered")


def test_a_call_taken_out_leaves_no_pass(tmp_path: Path) -> None:
    trace_id = record(tmp_path, "A-2", "A-1")
    assert evaluate(read(tmp_path)[trace_id], NEVER_A2).verdict is Verdict.CRITICAL
    rewrite(tmp_path, without(b"A-2"))
    trace = read(tmp_path)[trace_id]
    assert [call.arguments for call in trace.calls] == [{"order": "A-1"}]
    assert counts(trace) == (2, 0)
    assert "grading" not in trace.fidelity.fit_for
    for spec in (NEVER_A2, NEVER_A2 | {"requires": ["grading"]}):
        report = evaluate(trace, spec)
        assert report.verdict is Verdict.INCONCLUSIVE
        [grade] = [grade for grade in report.grades if grade.verdict is Verdict.INCONCLUSIVE]
        assert grade.reason.startswith("records were lost or altered (record_lost x2 at ")
        assert "tracedance verify" in grade.reason


def test_what_remains_still_proves_a_critical_error(tmp_path: Path) -> None:
    trace_id = record(tmp_path, "A-2", "A-1")
    rewrite(tmp_path, without(b"A-1"))
    trace = read(tmp_path)[trace_id]
    assert counts(trace) == (2, 0)
    assert evaluate(trace, NEVER_A2).verdict is Verdict.CRITICAL


@pytest.mark.parametrize(
    ("old", "new"), [(b'"scope"', b'"xscope"'), (b"A-1", b"A-3"), (b'{"res', b'{{"res')]
)
def test_an_edited_line_leaves_no_pass(tmp_path: Path, old: bytes, new: bytes) -> None:
    trace_id = record(tmp_path, "A-1", "A-1")

    def edit(lines: list[bytes]) -> None:
        lines[4] = lines[4].replace(old, new)

    rewrite(tmp_path, edit)
    trace = read(tmp_path)[trace_id]
    assert counts(trace) == (0, 1)
    assert evaluate(trace, NEVER_A2).verdict is Verdict.INCONCLUSIVE


def test_only_the_runs_around_a_gap_are_concerned(tmp_path: Path) -> None:
    before = record(tmp_path, "A-1")
    with td.TraceRecorder(task_id="mail", journal=tmp_path) as around:
        hit = record(tmp_path, "A-2", "A-1")
    after = record(tmp_path, "A-1")
    rewrite(tmp_path, without(b"A-2"))
    found = read(tmp_path)
    assert {trace_id: counts(trace) for trace_id, trace in found.items()} == {
        before: (0, 0),
        around.trace.id: (2, 0),
        hit: (2, 0),
        after: (0, 0),
    }
    assert evaluate(found[after], NEVER_A2).verdict is Verdict.PASS


@pytest.mark.parametrize("gone", [b'"tracedance.run.start"', b'"name":"invoke_agent agent"'])
def test_a_run_whose_beginning_or_end_is_gone_is_concerned(tmp_path: Path, gone: bytes) -> None:
    before, hit, after = (record(tmp_path, "A-1") for _ in range(3))

    def cut(lines: list[bytes]) -> None:
        places = [number for number, line in enumerate(lines) if gone in line]
        del lines[places[1]]

    rewrite(tmp_path, cut)
    found = read(tmp_path)
    whole = [trace for trace in found.values() if trace.id in (before, hit)]
    assert [counts(trace) for trace in whole] == [(0, 0), (1, 0)]
    # The line behind a gap cannot be checked: the next run may have begun in another way.
    assert counts(found[after])[0] == (1 if gone.endswith(b'agent"') else 0)


def test_a_tail_torn_by_a_kill_only_interrupts_calls(tmp_path: Path) -> None:
    trace_id = record(tmp_path, "A-1", "A-2")
    whole = the_file(tmp_path).read_bytes()
    interrupted = []
    for size in (len(whole) - 20, whole.rindex(b"execute_tool refund") + 40):
        the_file(tmp_path).write_bytes(whole[:size])
        trace = read(tmp_path)[trace_id]
        assert counts(trace) == (0, 0)
        assert "grading" in trace.fidelity.fit_for
        interrupted.append(trace.fidelity.count("result_interrupted"))
    assert interrupted == [0, 1]


def spans(calls: int) -> tuple[str, list[SpanRecord]]:
    """Return a trace's id, and the spans it consists of, by start."""
    with td.TraceRecorder(task_id="mail") as recorder:
        for number in range(calls):
            with recorder.call("refund", {"order": f"A-{number}"}) as call:
                call.result = {"ok": True}
    return recorder.trace.id, trace_records(recorder.trace)


def write_in_files(folder: Path, records: Iterable[SpanRecord]) -> list[Path]:
    """Write each record into a file of its own."""
    writer = JournalWriter(folder, max_bytes=1)
    for item in records:
        writer.append(item)
    writer.close()
    return sorted(folder.glob("*.jsonl"))


@pytest.mark.parametrize("place", [0, 1, 2, -1])
def test_a_file_of_the_chain_that_is_gone_leaves_no_pass(tmp_path: Path, place: int) -> None:
    trace_id, records = spans(3)
    files = write_in_files(tmp_path, records)
    assert len(files) > 3
    assert counts(read(tmp_path)[trace_id]) == (0, 0)
    files[place].unlink()
    [trace] = read(tmp_path).values()
    assert counts(trace)[0] >= 1
    assert evaluate(trace, NEVER_A2).verdict in (Verdict.INCONCLUSIVE, Verdict.CRITICAL)
    assert recover(tmp_path, out=tmp_path / "out").problems


def test_a_run_whose_beginning_was_pruned_says_so_without_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, days = time.time_ns, 10
    monkeypatch.setattr(time, "time_ns", lambda: real() - days * 86_400 * 10**9)
    _, records = spans(3)
    writer = JournalWriter(tmp_path, max_bytes=1)
    *early, last = records
    for item in early[:-1]:
        writer.append(item)
    old = sorted(tmp_path.glob("*.jsonl"))
    monkeypatch.undo()
    writer.append(early[-1])
    writer.append(last)
    writer.close()
    for path in old:
        os.utime(path, (time.time() - days * 86_400,) * 2)
    assert prune(tmp_path, older_than=timedelta(days=1)).files
    contents = read_journal(tmp_path)
    [trace] = assemble(contents)
    assert counts(trace)[0] >= 1
    assert contents.problems == []


def test_damage_to_a_journal_under_a_key_that_is_not_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEDANCE_JOURNAL_KEY", "secret")
    trace_id = record(tmp_path, "A-2", "A-1")
    monkeypatch.delenv("TRACEDANCE_JOURNAL_KEY")
    trace = read(tmp_path)[trace_id]
    assert trace.fidelity.count("hashes_unchecked") == 1
    assert "grading" in trace.fidelity.fit_for
    assert recover(tmp_path, out=tmp_path / "out").unchecked == 1
    rewrite(tmp_path, without(b"A-2"))
    assert counts(read(tmp_path)[trace_id]) == (2, 0)


def test_recovered_traces_keep_the_note(tmp_path: Path) -> None:
    record(tmp_path / "runs", "A-2", "A-1")
    rewrite(tmp_path / "runs", without(b"A-2"))
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    assert found.gaps == 1
    assert len(found.problems) == 1
    trace = td.load_trace(found.written[0])
    assert counts(trace) == (2, 0)
    assert evaluate(trace, NEVER_A2).verdict is Verdict.INCONCLUSIVE


def test_a_run_without_a_record_of_its_start_is_concerned_from_the_gap_on(tmp_path: Path) -> None:
    trace_id, records = spans(2)
    writer = JournalWriter(tmp_path)
    for item in records:
        writer.append(item)
    writer.close()
    rewrite(tmp_path, without(b"A-0"))
    assert counts(read(tmp_path)[trace_id]) == (1, 0)
