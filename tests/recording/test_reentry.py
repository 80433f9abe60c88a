"""Finalizers and signal handlers that record may run anywhere, inside the recorder too."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tracedance_sdk.recording.reentry import OneAtATime

BEGIN = """
import faulthandler, gc, signal, sys
faulthandler.dump_traceback_later(40, exit=True)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tracedance_sdk import TraceRecorder, agent, tool

options = {"exporter": InMemorySpanExporter()}
if sys.argv[1] != "memory":
    options["journal"] = sys.argv[1]

@tool
def look(n):
    return {"n": n}
"""


def run(body: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(body), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr[-3000:]) == (0, "")
    return done.stdout


@pytest.mark.parametrize("threshold", [1, 3, 10, 50, 150])
@pytest.mark.parametrize("kept", ["memory", "journal"])
def test_abandoned_generators_may_be_closed_in_the_middle_of_a_record(
    kept: str, threshold: int, tmp_path: Path
) -> None:
    body = """
        @tool
        def rows(n):
            yield n
            yield n

        class Cycle:
            pass

        def abandon(n):
            cycle = Cycle()
            cycle.itself, cycle.rows = cycle, rows(n)
            next(cycle.rows)

        state = {"n": 0}
        gc.set_threshold(int(sys.argv[2]))
        with TraceRecorder(state=state, state_changes="per_call", **options) as recorder:
            for n in range(200):
                state["n"] = n
                abandon(n)
                look(n)
            gc.collect()
        summary = recorder.close()
        assert (summary.faults, summary.exported, summary.written) == ({}, 401, 802), summary
        calls = recorder.trace.calls
        assert sorted(call.name for call in calls) == ["look"] * 200 + ["rows"] * 200
        assert all(call.result.interrupted for call in calls if call.name == "rows")
        """
    run(body, tmp_path if kept == "journal" else "memory", threshold)


@pytest.mark.parametrize("kept", ["memory", "journal"])
def test_a_signal_handler_may_call_a_tool_in_the_middle_of_a_record(
    kept: str, tmp_path: Path
) -> None:
    body = """
        handled = 0

        def handle(number, frame):
            global handled
            handled += 1
            look(-1)

        signal.signal(signal.SIGALRM, handle)
        with TraceRecorder(**options) as recorder:
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
            n = 0
            while handled < 300:
                look(n)
                n += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
        summary = recorder.close()
        assert summary.faults == {}, summary
        trace = recorder.trace
        assert len(trace.calls) == n + handled, (len(trace.calls), n, handled)
        assert all(call.result.ok for call in trace.calls)
        assert [call.index for call in trace.calls] == list(range(n + handled))
        """
    run(body, tmp_path if kept == "journal" else "memory")


@pytest.mark.parametrize("threshold", [4, 10, 40])
def test_recorders_and_calls_in_abandoned_generators_are_closed_anywhere(threshold: int) -> None:
    body = """
        def steps(n):
            with TraceRecorder() as recorder:
                with recorder.call("by hand", {"n": n}):
                    yield n

        class Cycle:
            pass

        gc.set_threshold(int(sys.argv[2]))
        with TraceRecorder(state={"n": 1}, state_changes="per_call", **options) as recorder:
            for n in range(200):
                cycle = Cycle()
                cycle.itself, cycle.steps = cycle, steps(n)
                next(cycle.steps)
                del cycle
                with recorder.call("look", {"n": n}) as call:
                    call.result = n
        gc.collect()
        assert len(recorder.trace.calls) == 200
        """
    run(body, "memory", threshold)


def test_agents_that_are_abandoned_end_while_others_begin(tmp_path: Path) -> None:
    body = """
        @agent(**options)
        def answer(n):
            look(n)
            yield n
            yield n

        class Cycle:
            pass

        gc.set_threshold(20)
        for n in range(100):
            cycle = Cycle()
            cycle.itself, cycle.answer = cycle, answer(n)
            next(cycle.answer)
            del cycle
        gc.collect()
        """
    run(body, tmp_path)


def test_work_inside_work_waits_and_keeps_its_order() -> None:
    one = OneAtATime()
    done: list[str] = []

    def outer() -> None:
        one.do(done.append, "second")
        one.do(done.append, "third")
        done.append("first")

    one.do(outer)
    assert done == ["first", "second", "third"]


def test_work_that_fails_leaves_nothing_waiting() -> None:
    one = OneAtATime()
    done: list[str] = []

    def failing() -> None:
        one.do(done.append, "later")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.do(failing)
    one.do(done.append, "next")

    assert done == ["next", "later"]
