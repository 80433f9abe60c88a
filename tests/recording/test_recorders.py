"""Recorders after, inside and beside each other; agents; recorders used out of turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.errors import InvalidOption, RecorderError, StateSourceError
from tracedance_sdk.recording import TraceRecorder, agent, configure, tool
from tracedance_sdk.recording.scopes import open_runs
from tracedance_sdk.trace import Agent, Parent, Trace


@tool
def look(who: str) -> str:
    return who


@agent
async def helper(who: str) -> str:
    await asyncio.sleep(0.001)
    return look(who)


@tool
async def ask(who: str) -> str:
    return await helper(who)


def seen(trace: Trace) -> list[str]:
    return [call.arguments["who"] for call in trace.calls if call.name == "look"]


def test_a_recorder_inside_another_records_a_sub_agent() -> None:
    with TraceRecorder(task_id="out", session_id="s1", group="g1") as outer:
        look("outer")
        with TraceRecorder(agent=Agent(name="inner", version="2")) as inner:
            look("inner")
        look("outer again")

    assert seen(outer.trace) == ["outer", "outer again"]
    assert seen(inner.trace) == ["inner"]
    assert inner.trace.parent == Parent(trace_id=outer.trace.id)
    assert inner.trace.agent == Agent(name="inner", version="2")
    told = (inner.trace.task_id, inner.trace.session_id, inner.trace.group)
    assert told == ("out", "s1", "g1")
    assert outer.trace.otel is not None
    assert inner.trace.otel is not None
    assert inner.trace.otel.trace_id == outer.trace.otel.trace_id
    assert outer.traces == [outer.trace, inner.trace]


def test_what_a_sub_agent_s_recorder_is_told_goes_before_what_is_around_it() -> None:
    with (
        TraceRecorder(task_id="out", session_id="s1", group="g1"),
        TraceRecorder(task_id="in", session_id="s2", group="g2") as inner,
        TraceRecorder() as innermost,
    ):
        pass
    for found in (inner.trace, innermost.trace):
        assert (found.task_id, found.session_id, found.group) == ("in", "s2", "g2")


def test_recorders_side_by_side_close_in_any_order() -> None:
    one, other = TraceRecorder(), TraceRecorder()
    one.__enter__()
    look("one")
    other.__enter__()
    look("other")
    one.close()
    look("still other")
    other.close()

    assert seen(one.trace) == ["one"]
    assert seen(other.trace) == ["other", "still other"]


def test_recorders_in_tasks_at_once_do_not_mix() -> None:
    async def run(name: str) -> TraceRecorder:
        async with TraceRecorder(agent=name) as recorder:
            for _ in range(3):
                await asyncio.sleep(0.001)
                look(name)
        return recorder

    async def main() -> list[TraceRecorder]:
        return await asyncio.gather(*(run(name) for name in "abc"))

    recorders = asyncio.run(main())

    assert [seen(r.trace) for r in recorders] == [["a"] * 3, ["b"] * 3, ["c"] * 3]
    assert all(r.trace.parent is None for r in recorders)
    assert len({r.trace.otel and r.trace.otel.trace_id for r in recorders}) == 3


def test_a_thousand_recorders_in_a_row_share_one_journal_and_at_most_one_thread(
    tmp_path: Path,
) -> None:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    before = threading.active_count()
    exporter = InMemorySpanExporter()
    for number in range(1000):
        with TraceRecorder(journal=tmp_path, exporter=exporter) as recorder:
            look(str(number))
        if number % 100 == 0:
            assert seen(recorder.trace) == [str(number)]

    assert threading.active_count() - before <= 1
    assert len(list(tmp_path.glob("*.jsonl"))) == 1
    assert len(exporter.get_finished_spans()) == 2000
    assert not open_runs


def test_three_sub_agents_two_at_once_keep_their_parents_and_calls_apart() -> None:
    async def main() -> TraceRecorder:
        async with TraceRecorder(agent="lead") as recorder:
            assert list(await asyncio.gather(ask("a"), ask("b"))) == ["a", "b"]
            assert await ask("c") == "c"
        return recorder

    recorder = asyncio.run(main())

    lead, *helpers = recorder.traces
    assert [call.name for call in lead.calls] == ["ask", "ask", "ask"]
    assert [seen(trace) for trace in helpers] == [["a"], ["b"], ["c"]]
    assert [trace.agent.name for trace in helpers] == ["helper"] * 3
    asked = {call.arguments["who"]: call.id for call in lead.calls}
    for trace in helpers:
        assert trace.parent == Parent(trace_id=lead.id, call_id=asked[seen(trace)[0]])
    assert len({trace.otel and trace.otel.trace_id for trace in [lead, *helpers]}) == 1


def test_three_sub_agents_with_recorders_of_their_own_in_threads() -> None:
    def sub(who: str) -> str:
        with TraceRecorder(agent=who):
            return look(who)

    @tool
    def delegate(who: str) -> str:
        return sub(who)

    with TraceRecorder() as recorder, recorder.thread_pool(2) as pool:
        assert list(pool.map(delegate, "abc")) == ["a", "b", "c"]

    lead, *subs = recorder.traces
    asked = {call.arguments["who"]: call.id for call in lead.calls}
    assert sorted(trace.agent.name for trace in subs) == ["a", "b", "c"]
    for trace in subs:
        assert seen(trace) == [trace.agent.name]
        assert trace.parent == Parent(trace_id=lead.id, call_id=asked[trace.agent.name])
        assert trace.otel is not None
        assert lead.otel is not None
        assert trace.otel.trace_id == lead.otel.trace_id


def test_an_agent_of_every_kind_is_a_run_as_long_as_its_body() -> None:
    state = {"n": 0}

    @agent(name="sync", version="1", state=state, task_id="t")
    def plain(who: str) -> str:
        state["n"] += 1
        return look(who)

    @agent
    def rows(who: str) -> Iterator[str]:
        yield look(who)
        yield look(who + "2")

    @agent
    async def stream(who: str) -> AsyncIterator[str]:
        yield look(who)
        await asyncio.sleep(0)
        yield look(who + "2")

    async def read() -> list[str]:
        return [item async for item in stream("d")]

    with TraceRecorder() as recorder:
        assert plain("a") == "a"
        for item in rows("c"):
            look(f"reader of {item}")
        assert asyncio.run(read()) == ["d", "d2"]

    outer, first, second, third = recorder.traces
    assert seen(outer) == ["reader of c", "reader of c2"]
    assert (seen(first), seen(second), seen(third)) == (["a"], ["c", "c2"], ["d", "d2"])
    assert (first.agent, first.task_id) == (Agent(name="sync", version="1"), "t")
    assert (first.initial_state, first.final_state) == ({"n": 0}, {"n": 1})
    assert all(trace.outcome and trace.outcome.ended for trace in recorder.traces)


def test_an_agent_that_fails_says_so_in_its_outcome() -> None:
    @agent
    def fail() -> None:
        raise ValueError("lost")

    with TraceRecorder() as recorder, pytest.raises(ValueError, match="lost"):
        fail()

    outcome = recorder.traces[1].outcome
    assert outcome is not None
    assert outcome.ended is False
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == ("ValueError", "lost")


def test_an_agent_outside_any_recorder_writes_where_configure_says(tmp_path: Path) -> None:
    from tracedance_sdk.journal import read_journal
    from tracedance_sdk.otel import assemble

    configure(journal=tmp_path, metadata={"service": "desk"})

    assert asyncio.run(helper("x")) == "x"

    contents = read_journal(tmp_path)
    (trace,) = assemble(contents, blobs=contents.get_blob)
    assert (trace.agent.name, seen(trace), trace.metadata) == ("helper", ["x"], {"service": "desk"})


def test_an_agents_methods_and_options_are_checked_when_decorated() -> None:
    with pytest.raises(InvalidOption, match="unexpected keyword argument 'environment2'"):
        agent(environment2=1)  # type: ignore[call-overload]
    with pytest.raises(InvalidOption, match="5 is not callable"):
        agent(5)  # type: ignore[call-overload]
    with pytest.raises(StateSourceError):
        agent(state=5)


def test_a_recorder_is_opened_once_and_used_while_open() -> None:
    recorder = TraceRecorder()
    for use in (
        lambda: recorder.trace,
        lambda: recorder.traces,
        lambda: recorder.call("x"),
        lambda: recorder.execute({"type": "x"}),
        lambda: recorder.record_turn("user", "hi"),
        lambda: recorder.set_outcome(success=True),
        recorder.flush,
        recorder.close,
    ):
        with pytest.raises(RecorderError, match="not opened"):
            use()
    with recorder:
        pass
    for use in (
        lambda: recorder.call("x"),
        lambda: recorder.record_turn("user", "hi"),
        lambda: recorder.set_outcome(success=True),
    ):
        with pytest.raises(RecorderError, match="closed"):
            use()
    with pytest.raises(RecorderError, match="opened before"), recorder:
        pass
    assert recorder.close() == recorder.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"journal": 3}, "journal=3 is no folder's path"),
        ({"journal": "a\0b"}, "remove the NUL"),
        ({"journal": __file__}, "is a file; give a folder"),
        ({"journal": ""}, "journal='' is empty; give a folder's path, or False for no journal"),
        ({"journal": " "}, "journal=' ' is empty"),
        ({"exporter": ""}, "exporter='' is empty; give 'otlp' or 'console', or False for none"),
        ({"exporter": "jaeger"}, "exporter='jaeger' is neither"),
        ({"redaction": "yes"}, "redaction='yes' is neither"),
        ({"content": "maybe"}, "content='maybe' is neither 'on' nor 'off'"),
        ({"durability": "ram"}, "durability='ram' is neither 'os' nor 'fsync'"),
        ({"state_changes": "always"}, "state_changes='always' is not 'per_call'"),
        ({"tracer_provider": 3}, r"tracer_provider=3 has no get_tracer\(\)"),
        ({"agent": 3}, "agent=3 is neither a name nor an Agent"),
        ({"agent": ""}, "agent='' is empty"),
        ({"task_id": 3}, "task_id=3 is no text"),
        ({"task_id": ""}, "task_id='' is empty; give a text or leave it out"),
        ({"group": 3}, "group=3 is no text"),
        ({"session_id": ""}, "session_id='' is empty"),
        ({"tools": {"name": "x"}}, r"tools=.* is no list of tool definitions"),
        ({"metadata": [1]}, r"metadata=\[1\] is no mapping"),
        ({"tools": [{"description": "nameless"}]}, r"tools\[0\]=.* is no tool definition"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_option_that_cannot_be_used_is_refused_in_one_line(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidOption, match=message) as caught:
        TraceRecorder(**options)
    assert "\n" not in str(caught.value)
    if not options.keys() & {"agent", "task_id", "tools"}:
        with pytest.raises(InvalidOption, match=message):
            configure(**options)


def test_argument_beats_enclosing_recorder_beats_configure_beats_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def folder(recorder: TraceRecorder) -> str | None:
        journal = recorder.close().journal
        return journal and Path(journal).name

    monkeypatch.setenv("TRACEDANCE_JOURNAL", str(tmp_path / "environment"))
    with TraceRecorder() as by_environment:
        pass
    configure(journal=tmp_path / "configured")
    with TraceRecorder() as by_configure:
        pass
    with TraceRecorder(journal=tmp_path / "given") as given, TraceRecorder() as inside:
        pass
    with TraceRecorder(journal=False) as none:
        pass
    configure()
    with TraceRecorder() as again:
        pass

    assert [folder(r) for r in (by_environment, by_configure, given, inside, none, again)] == [
        "environment", "configured", "given", "given", None, "environment",
    ]  # fmt: skip


def test_a_variable_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEDANCE_DURABILITY", "ram")

    with pytest.raises(InvalidOption, match="TRACEDANCE_DURABILITY='ram' is not one of os, fsync"):
        TraceRecorder().__enter__()
    assert look("fine") == "fine"


def test_a_recorder_shows_what_it_records_and_how_far_it_has_come(tmp_path: Path) -> None:
    recorder = TraceRecorder(task_id="mail", agent="bot", journal=tmp_path)
    assert repr(recorder) == "<TraceRecorder agent='bot' task_id='mail' not opened>"
    with recorder:
        shown = repr(recorder)
    where = f"in {str(tmp_path)!r}"
    assert shown == f"<TraceRecorder agent='bot' task_id='mail' open 1 records {where}>"
    assert repr(recorder) == f"<TraceRecorder agent='bot' task_id='mail' closed 2 records {where}>"
    with TraceRecorder(journal=False) as quiet:
        pass
    assert repr(quiet) == "<TraceRecorder agent='agent' closed 2 records in memory>"
