from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tracedance_collectors import journal

from tests.support.traces import traces
from tracedance_sdk.formats import Collected, collect_paths, load_trace, save_trace
from tracedance_sdk.journal import JournalWriter
from tracedance_sdk.otel import trace_records
from tracedance_sdk.trace import Call, Result, Text, Trace, Turn, assess, blob_stub, encode_json


def a_trace(number: int, content: object = "found") -> Trace:
    call = Call(index=0, id="c", name="look", arguments={}, result=Result(ok=True, content=content))
    turns = (
        Turn(index=0, role="user", origin="human", content=(Text(text=f"Look {number}"),)),
        Turn(index=1, role="assistant", origin="agent", calls=(call,)),
    )
    return assess(Trace(id=f"{number:032x}", turns=turns, initial_state={}, final_state={}))


def write(folder: Path, *found: Trace) -> Path:
    before = set(folder.glob("*.jsonl"))
    writer = JournalWriter(folder)
    for trace in found:
        for record in trace_records(trace):
            writer.append(record)
    writer.close()
    (path,) = set(folder.glob("*.jsonl")) - before
    return path


def collected(*paths: Path) -> list[Collected]:
    return list(collect_paths(paths))


def ids(found: list[Collected]) -> list[str]:
    return [item.trace.id[-1] if item.trace else f"! {item.problem}" for item in found]


def test_a_journal_is_read_as_a_folder_and_as_a_file(tmp_path: Path) -> None:
    one, two = a_trace(1), a_trace(2)
    first, _ = write(tmp_path, one), write(tmp_path, two)
    found = collected(tmp_path)
    assert {item.collector for item in found} == {"journal"}
    assert {item.trace.id: item.trace for item in found if item.trace} == {
        one.id: one,
        two.id: two,
    }
    assert [item.trace for item in collected(first)] == [one]


@given(traces())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_what_a_journal_holds_is_collected_equal(
    tmp_path_factory: pytest.TempPathFactory, trace: Trace
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    write(folder, trace)
    assert [item.found for item in collected(folder)] == [trace]


def test_a_large_value_is_put_back_and_the_blobs_are_no_traces(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    writer = JournalWriter(tmp_path)
    digest = writer.put_blob(b'[{"role": "user", "content": "Hi"}]')
    for record in trace_records(a_trace(1, blob_stub(digest, 35))):
        writer.append(record)
    writer.close()
    (item,) = collected(tmp_path)
    assert item.trace is not None
    assert item.trace.calls[0].result is not None
    assert item.trace.calls[0].result.content == messages
    assert item.trace.fidelity.count("value_elsewhere") == 0


def test_a_blob_that_is_gone_leaves_its_stub_and_a_note(tmp_path: Path) -> None:
    stub = blob_stub("ab" * 32, 35)
    write(tmp_path, a_trace(1, stub))
    (item,) = collected(tmp_path)
    assert item.trace is not None
    assert item.trace.calls[0].result is not None
    assert item.trace.calls[0].result.content == stub
    assert item.trace.fidelity.count("value_elsewhere") == 1


def test_a_damaged_line_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, a_trace(1))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], b"{broken}\n", *lines[1:]]))
    read, problem = collected(path)
    assert read.trace is not None
    assert read.trace.turns == a_trace(1).turns
    assert read.trace.fidelity.count("record_altered") == 1
    assert str(problem.problem).startswith(f"{path}:2: ")


def test_lines_that_are_missing_are_a_problem_and_a_note(tmp_path: Path) -> None:
    path = write(tmp_path, a_trace(1), a_trace(2))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    *read, problem = collected(tmp_path)
    assert [item.trace and item.trace.fidelity.count("record_lost") for item in read] == [1, 1]
    assert str(problem.problem) == f"{path}:3: line 3 should stand here"


def test_the_key_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_trace(1))
    monkeypatch.setenv("TRACEDANCE_JOURNAL_KEY", "secret")
    read, problem = collected(tmp_path)
    assert read.trace is not None
    assert read.trace.fidelity.count("record_altered") > 0
    assert "chained without the key that was given" in str(problem.problem)


def test_other_files_of_the_folder_are_read_by_their_own_collectors(tmp_path: Path) -> None:
    write(tmp_path, a_trace(1))
    save_trace(a_trace(2), tmp_path / "saved.json")
    (tmp_path / "lines.jsonl").write_bytes(encode_json(a_trace(3)) + b"\n")
    (tmp_path / "torn.jsonl").write_bytes(b'{"resourceLogs": [{"sco')
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs", a_trace(4))
    found = collected(tmp_path)
    assert ids([item for item in found if item.trace]) == ["1", "3", "4", "2"]
    (problem,) = [item for item in found if item.problem]
    assert problem.path == tmp_path / "torn.jsonl"
    assert load_trace(tmp_path / "saved.json") == a_trace(2)


def test_a_folder_without_a_journal_is_none(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "a.jsonl").write_text("{}\n")
    assert not journal.collector.sniff(tmp_path, b"")
    assert not journal.collector.sniff(tmp_path / "blobs", b"")
    assert not journal.collector.sniff(tmp_path / "a.jsonl", b"{}\n")
    assert not journal.collector.sniff(tmp_path / "none", b"")
