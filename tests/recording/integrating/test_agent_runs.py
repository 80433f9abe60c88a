"""Which trace a framework's agent is recorded in."""

from __future__ import annotations

import asyncio
from typing import Any

import tracedance_sdk as td
from tracedance_sdk.recording.driving import await_in, iterate_in
from tracedance_sdk.recording.integrating import ToolUse, start_agent
from tracedance_sdk.recording.integrating.agent_runs import UNRECORDED_AGENT
from tracedance_sdk.trace import UNKNOWN


def run(name: str, body: Any = lambda: None, **of: Any) -> Any:
    operation = start_agent(name, **of)
    tokens = operation.enter()
    try:
        value = body()
    finally:
        operation.leave(tokens)
    operation.succeed(value)
    return value


def use(name: str) -> Any:
    return ToolUse(name, {}).run(lambda: name)


def shown(recorder: td.TraceRecorder) -> list[tuple[str, list[str], str | None]]:
    return [
        (
            trace.agent.name,
            [call.name for call in trace.calls],
            None if trace.parent is None else trace.parent.call_id,
        )
        for trace in recorder.traces
    ]


def test_the_first_agent_is_the_recorders_own() -> None:
    with td.TraceRecorder() as recorder:
        run("clerk", lambda: use("a"), version="2", system_prompt="Be brief.")
        run("clerk", lambda: use("b"))
    assert shown(recorder) == [("clerk", ["a", "b"], None)]
    assert (recorder.trace.agent.version, recorder.trace.system_prompt) == ("2", "Be brief.")


def test_the_name_that_the_recorder_was_given_stays() -> None:
    with td.TraceRecorder(agent="office") as recorder:
        run("clerk", lambda: use("a"))
    assert shown(recorder) == [("office", ["a"], None)]


def test_an_agent_inside_an_agent_and_one_in_a_tool_have_traces_of_their_own() -> None:
    def clerk() -> None:
        run("typist", lambda: use("type"))
        ToolUse("ask", {}, "c1").run(lambda: run("archivist", lambda: use("look")))

    with td.TraceRecorder() as recorder:
        run("clerk", clerk)
    assert shown(recorder) == [
        ("clerk", ["ask"], None),
        ("typist", ["type"], None),
        ("archivist", ["look"], "c1"),
    ]
    main, typist, _ = recorder.traces
    assert typist.parent is not None
    assert typist.parent.trace_id == main.id


def test_an_agent_that_was_handed_over_to_names_the_call() -> None:
    with td.TraceRecorder() as recorder:
        run("clerk", lambda: use("hand_over"))
        run("boss", lambda: use("decide"), call_id=recorder.trace.calls[0].id)
    (call,) = recorder.trace.calls
    assert shown(recorder) == [("clerk", ["hand_over"], None), ("boss", ["decide"], call.id)]


def test_another_agent_after_the_first_has_a_trace_of_its_own() -> None:
    with td.TraceRecorder() as recorder:
        run("clerk", lambda: use("a"))
        run("boss", lambda: use("b"))
    assert shown(recorder) == [("clerk", ["a"], None), ("boss", ["b"], None)]


def test_awaited_and_iterated_agents_are_runs() -> None:
    async def answer() -> str:
        return str(use("a"))

    def stream() -> Any:
        yield use("b")

    with td.TraceRecorder() as recorder:
        assert asyncio.run(await_in(lambda: start_agent("clerk"), answer)) == "a"
        assert list(iterate_in(lambda: start_agent("boss"), stream())) == ["b"]
    assert shown(recorder) == [("clerk", ["a"], None), ("boss", ["b"], None)]


def test_the_frameworks_state_counts_where_the_recorder_has_none() -> None:
    state = {"n": 1}

    def work() -> None:
        state["n"] = 2

    with td.TraceRecorder() as recorder:
        run("clerk", work, state=lambda: dict(state))
    assert (recorder.trace.initial_state, recorder.trace.final_state) == ({"n": 1}, {"n": 2})
    with td.TraceRecorder(state=lambda: "ours") as recorder:
        run("clerk", state=lambda: dict(state))
    assert (recorder.trace.initial_state, recorder.trace.final_state) == ("ours", "ours")
    with td.TraceRecorder() as recorder:
        run("clerk")
    assert recorder.trace.final_state is UNKNOWN


def test_a_sub_agents_state_is_its_own() -> None:
    with td.TraceRecorder() as recorder:
        run("clerk", lambda: run("typist", state=lambda: {"page": 1}))
    main, typist = recorder.traces
    assert main.final_state is UNKNOWN
    assert (typist.initial_state, typist.final_state) == ({"page": 1}, {"page": 1})


def test_outside_a_recorder_nothing_happens() -> None:
    assert start_agent("clerk") is UNRECORDED_AGENT


def test_the_failure_of_the_recorders_own_agent_is_told_although_the_program_goes_on() -> None:
    with td.TraceRecorder() as recorder:
        operation = start_agent("clerk")
        tokens = operation.enter()
        operation.leave(tokens)
        operation.fail(LookupError("no such page"))
    outcome = recorder.trace.outcome
    assert outcome is not None
    assert outcome.error is not None
    assert (outcome.ended, outcome.error.message) == (False, "no such page")
    with td.TraceRecorder() as recorder:
        start_agent("clerk").fail(LookupError("no such page"))
        run("clerk")
    outcome = recorder.trace.outcome
    assert outcome is not None
    assert (outcome.ended, outcome.error) == (True, None)


def wait(name: str, place: str, body: Any = lambda: None) -> None:
    operation = start_agent(name, place=place)
    tokens = operation.enter()
    body()
    operation.leave(tokens)
    operation.pause()


def test_a_sub_agent_that_paused_goes_on_where_it_was() -> None:
    def clerk() -> None:
        wait("archivist", "desk 1", lambda: use("a"))
        wait("archivist", "desk 2", lambda: use("b"))
        run("archivist", lambda: use("c"), place="desk 1")
        run("archivist", lambda: use("d"), place="desk 1")

    with td.TraceRecorder() as recorder:
        run("clerk", clerk)
    assert shown(recorder) == [
        ("clerk", [], None),
        ("archivist", ["a", "c"], None),
        ("archivist", ["b"], None),
        ("archivist", ["d"], None),
    ]
    assert all(trace.ended_at is not None for trace in recorder.traces)
    assert not recorder.close().faults


def test_a_sub_agent_goes_on_in_the_call_that_it_paused_in_alone() -> None:
    def ask(call_id: str, body: Any) -> None:
        ToolUse("ask", {}, call_id).run(body)

    with td.TraceRecorder(agent="clerk") as recorder:
        ask("c1", lambda: wait("archivist", "desk", lambda: use("a")))
        ask("c2", lambda: run("archivist", lambda: use("b"), place="desk"))
        ask("c1", lambda: run("archivist", lambda: use("c"), place="desk"))
    archivists = [trace for trace in shown(recorder) if trace[0] == "archivist"]
    assert [(calls, call_id) for _, calls, call_id in archivists][1] == (["b"], "c2")


def test_an_awaited_sub_agent_that_paused_goes_on_too() -> None:
    async def answer() -> str:
        use("b")
        return "yes"

    async def go_on() -> None:
        assert await await_in(lambda: start_agent("helper", place="desk"), answer) == "yes"

    def clerk() -> None:
        wait("helper", "desk", lambda: use("a"))
        asyncio.run(go_on())

    with td.TraceRecorder(agent="clerk") as recorder:
        run("clerk", clerk)
    assert [(name, calls) for name, calls, _ in shown(recorder)] == [
        ("clerk", []),
        ("helper", ["a", "b"]),
    ]
    assert not recorder.close().faults
