"""A recorder with a journal: what is on disk when, and reading it back."""

from __future__ import annotations

import multiprocessing
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal import EventRecord, EvidenceRecord, SpanRecord, read_journal, verify
from tracedance_sdk.otel import assemble
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.recording.pipeline import PIPELINES
from tracedance_sdk.recording.pools import MAX_IDLE
from tracedance_sdk.trace import Trace


def on_disk(folder: Path) -> list[EvidenceRecord]:
    return list(read_journal(folder))


def traces_on_disk(folder: Path) -> list[Trace]:
    contents = read_journal(folder)
    return assemble(contents, blobs=contents.get_blob)


def test_each_record_is_on_disk_before_the_next_thing_happens(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look() -> None:
        seen.append([record.name for record in on_disk(tmp_path)])

    @tool
    def act() -> str:
        look()
        return "done"

    with TraceRecorder(journal=tmp_path, system_prompt="s", state={"n": 1}) as recorder:
        look()
        recorder.record_turn("user", "go")
        look()
        act()
        look()

    start, turn, begun = "tracedance.run.start", "tracedance.turn", "tracedance.call.start"
    assert seen == [
        [start],
        [start, turn],
        [start, turn, begun],
        [start, turn, begun, "execute_tool act"],
    ]
    first = on_disk(tmp_path)[0]
    assert isinstance(first, EventRecord)
    assert {"gen_ai.system_instructions", "tracedance.state.initial"} <= first.attributes.keys()
    assert traces_on_disk(tmp_path) == [recorder.trace]


def test_a_failed_call_is_on_disk_before_its_exception_is_caught(tmp_path: Path) -> None:
    @tool
    def act() -> None:
        raise ValueError("no")

    with TraceRecorder(journal=tmp_path):
        with pytest.raises(ValueError, match="no"):
            act()
        last = on_disk(tmp_path)[-1]

    assert isinstance(last, SpanRecord)
    assert last.error == "no"


def test_the_journal_and_its_key_are_the_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "journal"
    with TraceRecorder(journal=folder):
        pass

    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_equal_secrets_have_equal_masks_in_every_run_of_a_journal(tmp_path: Path) -> None:
    @tool
    def login(key: str) -> None: ...

    for _ in range(2):
        with TraceRecorder(journal=tmp_path):
            login("AKIAIOSFODNN7EXAMPLE")
        PIPELINES.close()

    first, second = traces_on_disk(tmp_path)
    assert first.calls[0].arguments == second.calls[0].arguments
    assert "[MASKED:" in first.calls[0].arguments["key"]


def test_runs_share_a_file_and_each_reads_back_its_own(tmp_path: Path) -> None:
    @tool
    def look(n: int) -> int:
        return n

    recorders = []
    for n in range(5):
        with TraceRecorder(journal=tmp_path) as recorder:
            look(n)
        recorders.append(recorder)

    assert [r.trace.calls[0].arguments for r in recorders] == [{"n": n} for n in range(5)]
    assert traces_on_disk(tmp_path) == [r.trace for r in recorders]
    heads = {r.close().head for r in recorders}
    assert len(heads) == 1
    assert len(str(heads.pop())) == 64


def test_journals_no_recorder_uses_are_closed_beyond_a_few(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = open_files()
    for n in range(3 * MAX_IDLE):
        with TraceRecorder(journal=tmp_path / str(n)) as recorder:
            pass
        assert recorder.trace.outcome is not None

    assert open_files() - before <= MAX_IDLE


@pytest.mark.usefixtures("forgiving")
def test_a_journal_that_cannot_be_written_stops_neither_the_program_nor_the_record(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    (folder / "redaction.key").write_bytes(b"short")

    @tool
    def act() -> str:
        return "done"

    with TraceRecorder(journal=folder) as recorder:
        assert act() == "done"

    assert [call.name for call in recorder.trace.calls] == ["act"]
    assert recorder.close().faults == {"pipeline: JournalError": 1}


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_trace_whose_records_were_taken_away_is_refused_in_one_line(
    tmp_path: Path, is_moved: bool
) -> None:
    with TraceRecorder(journal=tmp_path / "traces") as recorder:
        recorder.call("pay", {})
    if is_moved:
        (tmp_path / "traces").rename(tmp_path / "moved")
    else:
        shutil.rmtree(tmp_path / "traces")
    with pytest.raises(JournalError, match="no longer in its journal") as caught:
        _ = recorder.trace
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("forgiving")
def test_a_disk_that_fills_up_costs_records_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool
    def act() -> str:
        return "done"

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with TraceRecorder(journal=tmp_path) as recorder:
        act()
        with monkeypatch.context() as patched:
            patched.setattr("os.write", full)
            assert act() == "done"
        assert act() == "done"

    assert recorder.close().faults == {"write: JournalError": 2}
    assert len(recorder.trace.calls) == 2
    assert traces_on_disk(tmp_path) == [recorder.trace]


def _work(n: int) -> int:
    return forked_tool(n)


@tool
def forked_tool(n: int) -> int:
    return n


def test_a_forked_process_writes_a_file_of_its_own_for_the_same_run(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with TraceRecorder(journal=tmp_path) as recorder:
        forked_tool(1)
        with context.Pool(2) as pool:
            assert pool.map(_work, range(10, 20), chunksize=1) == list(range(10, 20))
        forked_tool(2)

    trace = recorder.trace
    found = sorted(call.arguments["n"] for call in trace.calls)
    assert found == [1, 2, *range(10, 20)]
    assert len({call.id for call in trace.calls}) == 12
    assert len(list(tmp_path.glob("*.jsonl"))) >= 2
    assert traces_on_disk(tmp_path) == [trace]


def test_a_fork_that_leaves_through_the_statement_does_not_end_the_run(tmp_path: Path) -> None:
    run_program(
        """
        import os, sys
        from tracedance_sdk import TraceRecorder, tool

        @tool
        def act(who):
            return who

        with TraceRecorder(journal=sys.argv[1]) as recorder:
            act("before")
            child = os.fork()
            if child == 0:
                act("child")
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            act("after")
        assert len(recorder.trace.calls) == 3
        """,
        tmp_path,
    )

    (trace,) = traces_on_disk(tmp_path)
    assert [call.arguments["who"] for call in trace.calls] == ["before", "child", "after"]
    assert trace.outcome is not None
    assert trace.outcome.ended is True
    roots = [r for r in on_disk(tmp_path) if isinstance(r, SpanRecord) and r.parent_id is None]
    assert len(roots) == 1


def run_program(source: str, *arguments: Any) -> None:
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_a_program_that_exits_inside_a_run_still_flushes_and_ends_it(tmp_path: Path) -> None:
    run_program(
        """
        import sys
        from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
        from tracedance_sdk import TraceRecorder, tool

        class ToFile(SpanExporter):
            def export(self, spans):
                with open(sys.argv[1] + "/exported", "a") as file:
                    file.writelines(span.name + "\\n" for span in spans)
                return SpanExportResult.SUCCESS

        @tool
        def act():
            return 1

        recorder = TraceRecorder(journal=sys.argv[1] + "/journal", exporter=ToFile())
        recorder.__enter__()
        act()
        """,
        tmp_path,
    )

    (trace,) = traces_on_disk(tmp_path / "journal")
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert [call.result and call.result.ok for call in trace.calls] == [True]
    exported = (tmp_path / "exported").read_text().split("\n")
    assert exported == ["execute_tool act", "invoke_agent agent", ""]


def test_a_run_killed_in_the_middle_comes_back_with_its_open_call_interrupted(
    tmp_path: Path,
) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys
        from tracedance_sdk import TraceRecorder, tool

        @tool
        def act(n):
            if n == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return n

        with TraceRecorder(journal=sys.argv[1]):
            for n in range(1, 5):
                act(n)
        """
    )
    result = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, timeout=60)
    assert result.returncode == -9

    (trace,) = traces_on_disk(tmp_path)
    results = [call.result for call in trace.calls]
    assert [found and found.ok for found in results] == [True, True, None]
    assert [found and found.interrupted for found in results] == [False, False, True]
    assert trace.outcome is not None
    assert trace.outcome.ended is False


@pytest.mark.parametrize("from_file", [False, True])
def test_a_journals_key_is_read_as_the_verbs_read_it(
    from_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_bytes(b"a secret of mine\n")
    given = f"@{tmp_path / 'key'}" if from_file else "a secret of mine"
    monkeypatch.setenv("TRACEDANCE_JOURNAL_KEY", given)
    with TraceRecorder(journal=tmp_path / "journal") as recorder:
        pass
    head = recorder.close().head
    assert head is not None
    assert verify(tmp_path / "journal", key=b"a secret of mine", expect=head).ok
    with pytest.raises(JournalError, match="not the one"):
        verify(tmp_path / "journal", key=given.encode() + b"!")
