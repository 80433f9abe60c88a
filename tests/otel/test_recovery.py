"""Traces written from journals, whole, torn, growing and pruned."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

import tracedance_sdk as td
from tracedance_sdk.errors import InvalidOption, JournalError, UnreadableFile
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.journal import EventRecord, JournalWriter
from tracedance_sdk.otel import RUN_START, recover, run_attributes
from tracedance_sdk.trace import Trace


def record_run(folder: Path, *, calls: int = 2, large: bool = False) -> Trace:
    with td.TraceRecorder(task_id="mail", agent="clerk", journal=folder) as recorder:
        for number in range(calls):
            with recorder.call("send", {"to": number}) as call:
                call.result = {"sent": True, "receipt": "r" * (100_000 if large else 3)}
    return recorder.trace


def cut(folder: Path, *, lines: int) -> bytes:
    """Cut the only file after some of its lines and a bit of the next; return what it was."""
    [path] = folder.glob("*.jsonl")
    content = path.read_bytes()
    kept = content.splitlines(keepends=True)
    path.write_bytes(b"".join(kept[:lines]) + kept[lines][:40])
    return content


def snapshot_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_each_run_becomes_a_file_named_by_its_trace(tmp_path: Path) -> None:
    traces = [record_run(tmp_path / "runs", large=True) for _ in range(3)]
    before = snapshot_of(tmp_path / "runs")
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    assert {path.name for path in found.written} == {f"{trace.id}.json" for trace in traces}
    assert [load_trace(tmp_path / "out" / f"{trace.id}.json") for trace in traces] == traces
    assert (found.runs, found.open_runs, found.calls, found.interrupted) == (3, 0, 6, 0)
    assert (found.torn, found.missing_blobs, found.problems) == (0, 0, ())
    assert snapshot_of(tmp_path / "runs") == before


def test_doing_it_again_changes_nothing(tmp_path: Path) -> None:
    record_run(tmp_path / "runs")
    first = recover(tmp_path / "runs", out=tmp_path / "out")
    before = snapshot_of(tmp_path / "out")
    again = recover(tmp_path / "runs", out=tmp_path / "out")
    assert (again.written, again.unchanged) == ((), first.written)
    assert snapshot_of(tmp_path / "out") == before


def test_an_open_call_comes_back_as_interrupted(tmp_path: Path) -> None:
    trace = record_run(tmp_path / "runs")
    cut(tmp_path / "runs", lines=5)
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    assert (found.runs, found.open_runs, found.torn) == (1, 1, 1)
    assert (found.calls, found.interrupted) == (2, 1)
    recovered = load_trace(found.written[0])
    assert recovered.id == trace.id
    assert recovered.task_id == "mail"
    results = [call.result for call in recovered.calls]
    assert results[0] == trace.calls[0].result
    assert results[1] is not None
    assert results[1].interrupted


def test_a_trace_that_has_grown_is_replaced(tmp_path: Path) -> None:
    trace = record_run(tmp_path / "runs")
    whole = cut(tmp_path / "runs", lines=5)
    first = recover(tmp_path / "runs", out=tmp_path / "out")
    [path] = (tmp_path / "runs").glob("*.jsonl")
    path.write_bytes(whole)
    second = recover(tmp_path / "runs", out=tmp_path / "out")
    assert second.written == first.written
    assert load_trace(second.written[0]) == trace


def test_a_trace_that_has_lost_records_since_is_not_replaced(tmp_path: Path) -> None:
    trace = record_run(tmp_path / "runs")
    first = recover(tmp_path / "runs", out=tmp_path / "out")
    cut(tmp_path / "runs", lines=5)
    second = recover(tmp_path / "runs", out=tmp_path / "out")
    assert (second.written, second.kept) == ((), first.written)
    assert load_trace(first.written[0]) == trace


def test_where_each_side_holds_more_both_are_kept(tmp_path: Path) -> None:
    trace = record_run(tmp_path / "runs", calls=3)
    whole = cut(tmp_path / "runs", lines=5)
    [main] = recover(tmp_path / "runs", out=tmp_path / "out").written
    [path] = (tmp_path / "runs").glob("*.jsonl")
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[4:]))
    before = main.read_bytes()
    second = recover(tmp_path / "runs", out=tmp_path / "out")
    assert (second.kept, main.read_bytes()) == ((main,), before)
    [beside] = second.written
    assert beside.name.startswith(f"{trace.id}.")
    assert len(load_trace(beside).calls) == 2
    third = recover(tmp_path / "runs", out=tmp_path / "out")
    assert (third.written, third.unchanged) == ((), (beside,))


def test_no_other_file_is_overwritten(tmp_path: Path) -> None:
    first, second = record_run(tmp_path / "runs"), record_run(tmp_path / "runs")
    (tmp_path / "out").mkdir()
    notes = tmp_path / "out" / f"{first.id}.json"
    notes.write_text("my notes")
    other = tmp_path / "out" / f"{second.id}.json"
    td.save_trace(first, other)
    before = snapshot_of(tmp_path / "out")
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    assert snapshot_of(tmp_path / "out") == before
    assert found.written == ()
    assert [problem.split(" is left as it is")[0] for problem in found.problems] == [
        repr(str(notes)),
        repr(str(other)),
    ]


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_what_is_no_regular_file_is_neither_followed_nor_replaced(
    tmp_path: Path, kind: str
) -> None:
    trace = record_run(tmp_path / "runs")
    out, target = tmp_path / "out", tmp_path / "elsewhere.json"
    out.mkdir()
    path = out / f"{trace.id}.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    if kind == "link":
        save_trace(trace.model_copy(update={"turns": ()}), target)
    before = target.read_bytes() if target.exists() else None
    found = recover(tmp_path / "runs", out=out)
    assert found.written == ()
    assert ["no regular file" in problem for problem in found.problems] == [True]
    assert (target.read_bytes() if target.exists() else None) == before
    assert [item.name for item in out.iterdir()] == [path.name]


def test_damage_in_one_line_costs_only_that_line(tmp_path: Path) -> None:
    record_run(tmp_path / "runs", calls=4)
    [path] = (tmp_path / "runs").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"{", b"(", 1)
    path.write_bytes(b"".join(lines))
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    assert len(found.problems) == 1
    assert f"{path}:5" in found.problems[0]
    assert (found.runs, found.calls) == (1, 4)


def test_a_blob_that_is_gone_is_counted_and_its_stub_stays(tmp_path: Path) -> None:
    record_run(tmp_path / "runs", calls=1, large=True)
    for blob in (tmp_path / "runs").rglob("blobs/*/*"):
        blob.unlink()
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    assert found.missing_blobs == 1
    [call] = load_trace(found.written[0]).calls
    assert call.result is not None
    assert set(call.result.content) == {"$blob", "$size"}


@pytest.mark.parametrize("trace_id", ["../../escaped", "/etc/x", ".hidden", "a\0b", "x" * 500, ""])
def test_no_trace_id_leads_out_of_the_folder(tmp_path: Path, trace_id: str) -> None:
    about = run_attributes(trace_id=trace_id, agent_name="clerk")
    writer = JournalWriter(tmp_path / "runs")
    writer.append(EventRecord(RUN_START, "0a" * 16, "0b" * 8, 5, about))
    writer.close()
    before = set(tmp_path.rglob("*"))
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    new = set(tmp_path.rglob("*")) - before - {tmp_path / "out"}
    assert all(path.parent == tmp_path / "out" for path in new)
    if found.written:
        expected = hashlib.sha256(trace_id.encode()).hexdigest()[:32]
        assert [path.stem for path in found.written] == [expected]


@pytest.mark.parametrize("out", ["runs", "runs/blobs", "runs/blobs/ab", "link"])
def test_the_journal_itself_is_no_place_for_traces(tmp_path: Path, out: str) -> None:
    record_run(tmp_path / "runs")
    (tmp_path / "link").symlink_to(tmp_path / "runs")
    before = snapshot_of(tmp_path / "runs")
    with pytest.raises(InvalidOption, match="is the journal itself"):
        recover(tmp_path / "runs", out=tmp_path / out)
    assert snapshot_of(tmp_path / "runs") == before


def test_what_cannot_be_read_or_made_raises(tmp_path: Path) -> None:
    record_run(tmp_path / "runs")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnreadableFile, match="cannot be made"):
        recover(tmp_path / "runs", out=tmp_path / "file")
    with pytest.raises(JournalError, match="is no journal"):
        recover(tmp_path / "file", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_that_makes_no_trace_does_not_cost_the_others(tmp_path: Path) -> None:
    traces = [record_run(tmp_path / "runs") for _ in range(2)]
    writer = JournalWriter(tmp_path / "runs")
    about = run_attributes(trace_id="ab" * 16, agent_name="clerk")
    about["gen_ai.agent.name"] = 5
    writer.append(EventRecord(RUN_START, "0a" * 16, "0b" * 8, 5, about))
    writer.close()
    found = recover(tmp_path / "runs", out=tmp_path / "out")
    assert {path.stem for path in found.written} == {trace.id for trace in traces}
    [problem] = found.problems
    assert problem.startswith("records of one run (there are 1) make no trace: run abababab")
    assert problem.endswith("Input should be a valid string, got 5 @ $.agent.name")
