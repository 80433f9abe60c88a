"""What a collector does when runs never end, grow too large, or something fails."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider

from tests.support.live_spans import agent, attributes, model, run_of, tool
from tracedance_sdk.formats import load_trace
from tracedance_sdk.recording import CollectorLimits, SpanCollector
from tracedance_sdk.recording.gathered_spans import NOT_BEGUN_HERE, TOO_LARGE, TOO_MANY
from tracedance_sdk.recording.span_collector import OF_NO_RUN, UNREADABLE
from tracedance_sdk.trace import Trace


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("tracedance_sdk.recording.span_collector.monotonic", self)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def begun(collector: SpanCollector, name: str = "guide") -> Any:
    """An agent's run that has called a model and does not end."""
    tracer = collector.provider.get_tracer("mine")
    said = attributes("invoke_agent", agent__name=name)
    root = tracer.start_span(f"invoke_agent {name}", attributes=said)
    with otel.use_span(root, end_on_exit=False):
        model(tracer, "Weather?")
    return root


def ended(trace: Trace) -> bool | None:
    return None if trace.outcome is None else trace.outcome.ended


def lost(trace: Trace) -> int:
    return sum(note.count for note in trace.fidelity.notes if note.kind == "record_lost")


def test_flush_hands_over_a_run_that_has_not_ended_as_it_is() -> None:
    collector = SpanCollector()
    root = begun(collector)
    tracer = collector.provider.get_tracer("mine")
    with otel.use_span(root, end_on_exit=False):
        open_tool = tracer.start_span("execute_tool look", attributes=attributes("execute_tool"))
    summary = collector.flush()
    [trace] = collector.traces
    assert (ended(trace), trace.turns[0].text, summary.open_runs) == (False, "Weather?", 0)
    [call] = trace.calls
    assert call.result is None or call.result.interrupted
    open_tool.end()
    root.end()
    assert len(collector.traces) == 1
    assert collector.summary().dropped == {NOT_BEGUN_HERE: 2}


def test_the_provider_flushes_what_has_ended_and_leaves_the_rest_running() -> None:
    collector = SpanCollector()
    tracer = collector.provider.get_tracer("mine")
    running = begun(collector, "running")
    with agent(tracer, "done"):
        late = tracer.start_span("late")
    assert collector.provider.force_flush()
    assert [(trace.agent.name, ended(trace)) for trace in collector.traces] == [("done", True)]
    running.end()
    late.end()
    assert [trace.agent.name for trace in collector.traces] == ["done", "running"]


def test_shutdown_hands_over_everything_and_other_providers_go_on() -> None:
    collector, other = SpanCollector(), TracerProvider()
    other.add_span_processor(collector)
    begun(collector)
    collector.provider.shutdown()
    assert [ended(trace) for trace in collector.traces] == [False]
    run_of(other.get_tracer("mine"), "rain")
    assert len(collector.traces) == 2


def test_a_run_that_is_open_too_long_is_handed_over(clock: Clock) -> None:
    collector = SpanCollector(limits=CollectorLimits(open_seconds=60))
    begun(collector, "stuck")
    clock.now += 59
    assert collector.traces == []
    clock.now += 1
    run_of(collector.provider.get_tracer("mine"), "rain", name="next")
    assert [(t.agent.name, ended(t)) for t in collector.traces] == [
        ("stuck", False),
        ("next", True),
    ]


def test_children_that_never_end_are_not_waited_for_without_end(clock: Clock) -> None:
    collector = SpanCollector(limits=CollectorLimits(wait_seconds=5))
    tracer = collector.provider.get_tracer("mine")
    with agent(tracer):
        tracer.start_span(
            "execute_tool look", attributes=attributes("execute_tool", tool__name="look")
        )
    clock.now += 4
    assert collector.traces == []
    clock.now += 2
    [trace] = collector.traces
    assert ended(trace) is True
    assert [note.kind for note in trace.fidelity.notes if "interrupted" in note.kind]


def test_a_span_around_that_never_ends_is_not_waited_for_without_end(clock: Clock) -> None:
    collector = SpanCollector(limits=CollectorLimits(open_seconds=60))
    around = TracerProvider().get_tracer("web").start_span("worker")
    with otel.use_span(around, end_on_exit=False):
        model(collector.provider.get_tracer("mine"), "Hello.")
    assert collector.traces == []
    clock.now += 61
    assert len(collector.traces) == 1


def test_runs_that_never_end_are_bounded_in_number() -> None:
    collector = SpanCollector(limits=CollectorLimits(spans=100))
    roots = [begun(collector, f"w{number}") for number in range(500)]
    summary = collector.summary()
    assert summary.open_runs <= 50
    assert summary.traces == 500 - summary.open_runs
    assert {ended(trace) for trace in collector.traces} == {False}
    assert collector.traces[0].agent.name == "w0"
    assert len(roots) == 500


def test_runs_that_never_end_are_bounded_in_bytes() -> None:
    collector = SpanCollector(
        max_traces=2, limits=CollectorLimits(bytes=10 << 20, kept_bytes=4 << 20)
    )
    tracer = collector.provider.get_tracer("mine")
    run_of(tracer, "rain")
    gc.collect()
    tracemalloc.start()
    for number in range(100):
        root = tracer.start_span("invoke_agent", attributes=attributes("invoke_agent"))
        with otel.use_span(root, end_on_exit=False):
            model(tracer, f"{number}" + "x" * (1 << 20))
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 40 << 20
    assert collector.summary().open_runs <= 10


def test_one_run_is_bounded_in_spans_and_says_so() -> None:
    collector = SpanCollector(limits=CollectorLimits(run_spans=10))
    tracer = collector.provider.get_tracer("mine")
    with agent(tracer):
        for number in range(20):
            with tool(tracer, "look", f"c{number}"):
                pass
        assert collector.summary().dropped == {TOO_MANY: 11}
    [trace] = collector.traces
    assert (len(trace.calls), lost(trace)) == (9, 11)
    assert "grading" not in trace.fidelity.fit_for
    assert collector.summary().dropped == {TOO_MANY: 11}


def test_one_run_after_the_other_under_one_span_is_not_one_run_too_long() -> None:
    collector = SpanCollector(limits=CollectorLimits(run_spans=20))
    tracer = collector.provider.get_tracer("mine")
    with tracer.start_as_current_span("main"):
        for number in range(20):
            run_of(tracer, f"w{number}", n_steps=1)
    assert [trace.calls[0].name for trace in collector.traces] == [f"w{n}" for n in range(20)]
    assert {ended(trace) for trace in collector.traces} == {True}
    assert len({trace.id for trace in collector.traces}) == 20
    assert collector.summary().dropped == {NOT_BEGUN_HERE: 1}


def test_one_run_is_bounded_in_bytes_and_says_so() -> None:
    collector = SpanCollector(limits=CollectorLimits(run_bytes=10_000))
    tracer = collector.provider.get_tracer("mine")
    with agent(tracer):
        for number in range(5):
            with tool(tracer, "look", f"c{number}", result="x" * 3000):
                pass
    [trace] = collector.traces
    assert (len(trace.calls), lost(trace)) == (3, 2)
    assert collector.summary().dropped == {TOO_LARGE: 2}


@pytest.mark.usefixtures("forgiving")
def test_a_folder_that_cannot_be_written_is_counted_and_the_trace_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    collector = SpanCollector(out=out)
    out.write_text("in the way")
    run_of(collector.provider.get_tracer("mine"), "rain")
    assert len(collector.traces) == 1
    summary = collector.summary()
    assert (summary.written, set(summary.faults)) == (
        0,
        {"redaction key: JournalError", "out: UnreadableFile"},
    )


@pytest.mark.usefixtures("forgiving")
def test_a_function_that_fails_is_counted_and_the_program_goes_on() -> None:
    def judge(trace: Trace) -> None:
        raise RuntimeError(trace.id)

    collector = SpanCollector(on_trace=judge)
    run_of(collector.provider.get_tracer("mine"), "rain")
    assert len(collector.traces) == 1
    assert collector.summary().faults == {"on_trace: RuntimeError": 1}


@pytest.mark.usefixtures("forgiving")
def test_a_redactor_that_leaves_nothing_gives_no_readable_trace() -> None:
    class Broken:
        def redact(self, data: bytes) -> bytes:
            raise ValueError(data)

    collector = SpanCollector(redaction=Broken())
    run_of(collector.provider.get_tracer("mine"), "rain")
    assert collector.traces == []
    assert collector.summary().faults == {"run: ValueError": 1}


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("span_collector.outer_scope", "span start: OSError"),
        ("collected_runs.foreign_span", "assembly: OSError"),
        ("collected_runs.assemble", "assembly: OSError"),
        ("collected_runs.complete_tools", "run: OSError"),
    ],
)
def test_a_fault_of_ours_never_reaches_the_program(
    place: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no")

    collector = SpanCollector()
    monkeypatch.setattr(f"tracedance_sdk.recording.{place}", broken)
    run_of(collector.provider.get_tracer("mine"), "rain")
    assert fault in collector.summary().faults
    monkeypatch.undo()
    assert collector.traces == []


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize(
    ("place", "fault"), [("_size", "size: OSError"), ("_holds_agent", "agent: OSError")]
)
def test_a_fault_in_looking_at_a_span_costs_no_trace(
    place: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(f"tracedance_sdk.recording.span_collector.{place}", broken)
    collector = SpanCollector()
    with TracerProvider().get_tracer("web").start_as_current_span("GET /"):
        run_of(collector.provider.get_tracer("mine"), "rain")
    assert len(collector.traces) == 1
    assert fault in collector.summary().faults


@pytest.mark.usefixtures("forgiving")
def test_spans_that_cannot_be_assembled_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RecursionError

    collector = SpanCollector()
    with monkeypatch.context() as patch:
        patch.setattr("tracedance_sdk.recording.collected_runs.assemble", broken)
        run_of(collector.provider.get_tracer("mine"), "rain")
    run_of(collector.provider.get_tracer("mine"), "sun")
    assert collector.summary().dropped == {UNREADABLE: 5}
    assert [trace.calls[0].name for trace in collector.traces] == ["sun"]


def test_spans_that_began_before_the_collector_came_are_counted() -> None:
    provider, collector = TracerProvider(), SpanCollector()
    tracer = provider.get_tracer("mine")
    with agent(tracer):
        provider.add_span_processor(collector)
        model(tracer, "Hello.")
    assert collector.summary().dropped == {NOT_BEGUN_HERE: 1}


def test_runs_that_are_handed_over_while_threads_work_lose_no_call() -> None:
    collector, stop = SpanCollector(max_traces=10_000), threading.Event()
    tracer = collector.provider.get_tracer("mine")

    def work(thread: int) -> None:
        for number in range(40):
            with agent(tracer):
                for step in range(4):
                    with tool(tracer, "look", f"{thread}-{number}-{step}"):
                        pass

    def interfere() -> None:
        for look in itertools.cycle((collector.flush, collector.summary)):
            if stop.wait(0.005):
                return
            look()
            collector.force_flush()

    other = threading.Thread(target=interfere)
    other.start()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    stop.set()
    other.join()
    collector.flush()
    found = {call.id for trace in collector.traces for call in trace.calls}
    assert found == {f"{t}-{n}-{s}" for t in range(8) for n in range(40) for s in range(4)}
    summary = collector.summary()
    assert (summary.open_runs, summary.open_spans, summary.faults) == (0, 0, {})
    assert set(summary.dropped) <= {NOT_BEGUN_HERE, OF_NO_RUN}


def test_a_finalizer_that_ends_a_span_inside_the_collector_does_no_harm() -> None:
    collector = SpanCollector()
    tracer = collector.provider.get_tracer("mine")
    other = tracer.start_span("chat", attributes=attributes("chat", request__model="m"))
    with collector._spans._lock:
        other.end()
    assert len(collector.traces) == 1


def test_a_program_that_exits_inside_a_run_leaves_its_trace(tmp_path: Path) -> None:
    script = """
        import sys
        import tracedance_sdk as td
        collector = td.SpanCollector(out="traces")
        tracer = collector.provider.get_tracer("mine")
        tracer.start_span("run", attributes={"gen_ai.operation.name": "invoke_agent"})
        sys.exit(3)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, check=False, cwd=tmp_path)
    assert done.returncode == 3
    [path] = (tmp_path / "traces").glob("*.json")
    assert ended(load_trace(path)) is False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_of_a_fork_has_runs_of_its_own(tmp_path: Path) -> None:
    script = """
        import os, sys, threading, time
        import tracedance_sdk as td
        collector = td.SpanCollector(out="traces")
        tracer = collector.provider.get_tracer("mine")
        def run(name):
            with tracer.start_as_current_span(name, attributes={
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}):
                pass
        def holds_the_lock():
            with collector._spans._lock:
                time.sleep(1)
        run("before")
        parents = tracer.start_span("parent", attributes={
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "parent"})
        threading.Thread(target=holds_the_lock, daemon=True).start()
        time.sleep(0.1)
        child = os.fork()
        if child == 0:
            parents.end()
            run("child")
            names = [trace.agent.name for trace in collector.traces]
            os._exit(0 if names == ["child"] and not collector.summary().faults else 1)
        assert os.waitpid(child, 0)[1] == 0
        parents.end()
        assert [t.agent.name for t in collector.traces] == ["before", "parent"]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, check=True)
    names = {load_trace(path).agent.name for path in (tmp_path / "traces").glob("*.json")}
    assert names == {"before", "parent", "child"}


def test_the_collector_starts_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    run_of(SpanCollector(out=tmp_path, state=lambda: 1).provider.get_tracer("mine"), "rain")
    assert threading.active_count() == before


def test_what_is_of_no_run_leaves_no_memory_behind() -> None:
    collector = SpanCollector()
    tracer = collector.provider.get_tracer("web")
    for _ in range(1000):
        with tracer.start_as_current_span("GET /"):
            pass
    assert collector.summary().dropped == {OF_NO_RUN: 1000}
    assert not collector._spans._gatherings


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_process_of_multiprocessing_that_ends_inside_a_run_leaves_its_trace(
    tmp_path: Path,
) -> None:
    script = """
        import multiprocessing
        import tracedance_sdk as td
        collector = td.SpanCollector(out="traces")
        tracer = collector.provider.get_tracer("mine")
        def work():
            tracer.start_span("run", attributes={"gen_ai.operation.name": "invoke_agent"})
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        assert child.exitcode == 0 and not collector.traces
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, check=True)
    assert len(list((tmp_path / "traces").glob("*.json"))) == 1


def test_a_collector_that_nobody_holds_is_forgotten() -> None:
    collector = SpanCollector()
    run_of(collector.provider.get_tracer("mine"), "rain")
    held = weakref.ref(collector)
    del collector
    gc.collect()
    assert held() is None
