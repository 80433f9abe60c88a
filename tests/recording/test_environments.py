"""Actions in environments, and the state before, after and in between."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pydantic
import pytest

from tracedance_sdk.errors import InvalidOption, RecorderError
from tracedance_sdk.recording import TraceRecorder, agent, tool
from tracedance_sdk.trace import UNKNOWN, ErrorInfo, Result


class Counter:
    """A synchronous environment that gives out its own state and results, to be changed later."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"n": 0, "log": []}
        self.last: dict[str, Any] = {}

    def execute(self, action: Any) -> dict[str, Any]:
        if action["type"] == "explode":
            raise RuntimeError("boom")
        if action["type"] == "fail":
            self.last = {"success": False, "error": "not possible"}
        else:
            self.state["n"] += action["input"]["by"]
            self.last = {"success": True, "output": {"n": self.state["n"]}}
        return self.last

    def get_state(self) -> dict[str, Any]:
        return self.state


class AsyncCounter(Counter):
    async def execute(self, action: Any) -> dict[str, Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().execute(action)

    async def get_state(self) -> dict[str, Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return dict(self.state)


def add(action_id: str, by: int) -> dict[str, Any]:
    return {"id": action_id, "type": "add", "input": {"by": by}}


def test_actions_are_calls_and_the_environments_result_is_returned_unchanged() -> None:
    counter = Counter()
    with TraceRecorder(environment=counter) as recorder:
        assert recorder.execute(add("1", 2)) is counter.last
        counter.last["output"]["n"] = "changed later"
        recorder.execute({"id": "2", "type": "fail"})

    first, second = recorder.trace.calls
    assert (first.id, first.name, first.arguments) == ("1", "add", {"by": 2})
    assert first.result == Result(ok=True, content={"n": 2})
    assert second.result == Result(
        ok=False, error=ErrorInfo(type="ActionFailed", message="not possible")
    )
    assert recorder.trace.initial_state == {"n": 0, "log": []}
    assert recorder.trace.final_state == {"n": 2, "log": []}


def test_an_asynchronous_environment_is_awaited_and_recorded_alike() -> None:
    async def main() -> TraceRecorder:
        async with TraceRecorder(environment=AsyncCounter(), state_changes="per_call") as recorder:
            assert await recorder.execute(add("1", 2)) == {"success": True, "output": {"n": 2}}
            with pytest.raises(RuntimeError, match="boom"):
                await recorder.execute({"id": "2", "type": "explode"})
        return recorder

    trace = asyncio.run(main()).trace

    first, second = trace.calls
    assert first.state_change == [{"op": "replace", "path": "/n", "value": 2}]
    assert second.result == Result(ok=False, error=ErrorInfo(type="RuntimeError", message="boom"))
    assert (trace.initial_state["n"], trace.final_state["n"]) == (0, 2)


def test_an_environment_that_raises_is_recorded_and_raises() -> None:
    with TraceRecorder(environment=Counter()) as recorder, pytest.raises(RuntimeError):
        recorder.execute({"id": "1", "type": "explode"})

    (call,) = recorder.trace.calls
    assert call.result == Result(ok=False, error=ErrorInfo(type="RuntimeError", message="boom"))


@dataclasses.dataclass
class Action:
    id: str
    type: str
    input: dict[str, Any]


@dataclasses.dataclass
class Outcome:
    success: bool
    output: Any = None
    error: str | None = None


def test_actions_and_results_may_be_objects_and_results_of_another_shape() -> None:
    class World:
        def execute(self, action: Action) -> Any:
            return {"object": Outcome(True, 7), "text": "just text", "none": None}[action.type]

    with TraceRecorder(environment=World()) as recorder:
        for number, kind in enumerate(("object", "text", "none")):
            recorder.execute(Action(str(number), kind, {}))

    results = [call.result for call in recorder.trace.calls]
    assert results == [
        Result(ok=True, content=7), Result(ok=True, content="just text"),
        Result(ok=True, content=None),
    ]  # fmt: skip
    assert recorder.trace.initial_state is UNKNOWN


def test_duplicate_action_ids_and_actions_without_a_type_are_refused_and_not_done() -> None:
    counter = Counter()
    with TraceRecorder(environment=counter) as recorder:
        recorder.execute(add("1", 1))
        with pytest.raises(InvalidOption, match="the action id '1' was used before in this run"):
            recorder.execute(add("1", 1))
        with pytest.raises(InvalidOption, match="has no type"):
            recorder.execute({"id": "2"})
        recorder.execute({"type": "add", "input": {"by": 1}})
        recorder.execute({"type": "add", "input": {"by": 1}})

    assert counter.state["n"] == 3
    assert len(recorder.trace.calls) == 3


def test_a_recorder_without_an_environment_says_so() -> None:
    with TraceRecorder() as recorder, pytest.raises(RecorderError, match="has no execute"):
        recorder.execute(add("1", 1))


def test_the_trace_can_be_read_at_any_time_and_shows_the_state_then() -> None:
    counter = Counter()
    with TraceRecorder(environment=counter) as recorder:
        empty = recorder.trace
        recorder.execute(add("1", 1))
        one = recorder.trace
        counter.state["n"] = 50

    assert (empty.calls, empty.initial_state) == ((), empty.final_state)
    assert (one.final_state["n"], recorder.trace.final_state["n"]) == (1, 50)
    assert empty.id == one.id == recorder.trace.id
    assert (one.outcome, recorder.trace.outcome and recorder.trace.outcome.ended) == (None, True)


class Model(pydantic.BaseModel):
    n: int = 0


@dataclasses.dataclass
class Data:
    n: int = 0


def database(folder: Path) -> tuple[object, Callable[[int], object]]:
    def run(statement: str, *values: int) -> None:
        with closing(sqlite3.connect(folder / "state.db", isolation_level=None)) as connection:
            connection.execute(statement, values)

    run("create table counter (n integer)")
    run("insert into counter values (0)")
    return folder / "state.db", lambda n: run("update counter set n = ?", n)


def directory(folder: Path) -> tuple[object, Callable[[int], object]]:
    tree = folder / "tree"
    tree.mkdir()
    (tree / "n.txt").write_text("0")
    return tree, lambda n: (tree / "n.txt").write_text(str(n))


def keyed(_folder: Path) -> tuple[object, Callable[[int], object]]:
    state = {"n": 0}
    return state, lambda n: state.update(n=n)


def called(_folder: Path) -> tuple[object, Callable[[int], object]]:
    state = {"n": 0}
    return lambda: state, lambda n: state.update(n=n)


def called_later(_folder: Path) -> tuple[object, Callable[[int], object]]:
    state = {"n": 0}

    async def snapshot() -> dict[str, int]:
        await asyncio.sleep(0)
        return state

    return snapshot, lambda n: state.update(n=n)


def attributes(kind: type[Any]) -> Callable[[Path], tuple[object, Callable[[int], object]]]:
    def make(_folder: Path) -> tuple[object, Callable[[int], object]]:
        state = kind()
        return state, lambda n: setattr(state, "n", n)

    return make


@pytest.mark.parametrize(
    "source",
    [
        keyed, called, called_later, attributes(Data), attributes(Model), attributes(Counter),
        database, directory,
    ],
    ids=["dict", "callable", "async", "dataclass", "pydantic", "object", "sqlite", "directory"],
)  # fmt: skip
def test_state_of_every_kind_is_frozen_before_and_after_and_changes_are_per_call(
    source: Callable[[Path], tuple[object, Callable[[int], object]]], tmp_path: Path
) -> None:
    state, change = source(tmp_path)
    if isinstance(state, Counter):
        change = lambda n: state.state.update(n=n)  # noqa: E731

    @tool
    def set_to(n: int) -> None:
        change(n)

    with TraceRecorder(state=state, state_changes="per_call") as recorder:
        set_to(5)
        set_to(5)
        set_to(7)

    trace = recorder.trace
    assert trace.initial_state != trace.final_state
    changes = [call.state_change for call in trace.calls]
    assert [len(found or []) for found in changes] == [1, 0, 1]
    assert "5" in str(changes[0])
    assert "7" in str(changes[2])
    assert "state_grading" in trace.fidelity.fit_for


@pytest.mark.usefixtures("forgiving")
def test_a_state_source_that_fails_leaves_the_state_unknown_and_the_program_alone() -> None:
    def broken() -> object:
        raise OSError("disk gone")

    with (
        TraceRecorder(state=broken, state_changes="per_call") as recorder,
        recorder.call("x"),
    ):
        pass

    trace = recorder.trace
    assert (trace.initial_state, trace.final_state) == (UNKNOWN, UNKNOWN)
    assert recorder.close().faults == {"state: OSError": 2}


def test_tools_that_a_state_source_uses_are_no_calls_of_the_run() -> None:
    @tool
    def inspect_mailbox() -> dict[str, int]:
        return {"mails": 1}

    @tool
    async def inspect_later() -> dict[str, int]:
        return {"mails": 1}

    async def main() -> TraceRecorder:
        async with TraceRecorder(state=inspect_later, state_changes="per_call") as recorder:
            async with recorder.call("x"):
                pass
            with recorder.call("y"):
                pass
        return recorder

    with TraceRecorder(state=inspect_mailbox, state_changes="per_call") as recorder:
        with recorder.call("x"):
            pass
        assert recorder.trace.final_state == {"mails": 1}

    assert [call.name for call in recorder.trace.calls] == ["x"]
    assert recorder.close().unattributed == {}
    assert [call.name for call in asyncio.run(main()).trace.calls] == ["x", "y"]


@pytest.mark.usefixtures("forgiving")
def test_a_state_source_that_needs_the_blocked_loop_is_given_up_and_not_waited_for_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tracedance_sdk.recording.snapshots.PATIENCE_SECONDS", 0.1)

    async def main() -> TraceRecorder:
        loop = asyncio.get_running_loop()

        async def snapshot() -> int:
            answer = asyncio.run_coroutine_threadsafe(asyncio.sleep(0, 1), loop)
            return await asyncio.wrap_future(answer)

        recorder = TraceRecorder(state=snapshot)
        with recorder, recorder.call("x"):
            pass
        await asyncio.sleep(0.1)
        return recorder

    recorder = asyncio.run(main())

    assert recorder.trace.initial_state is UNKNOWN
    assert recorder.close().faults == {"state: TimeoutError": 2}


def test_an_agent_awaits_its_state_in_the_loop_it_runs_in() -> None:
    async def main() -> TraceRecorder:
        loop = asyncio.get_running_loop()

        async def snapshot() -> bool:
            await asyncio.sleep(0)
            return asyncio.get_running_loop() is loop

        @agent(state=snapshot)
        async def work() -> None: ...

        @agent(state=snapshot)
        async def stream() -> Any:
            yield 1

        async with TraceRecorder(state=snapshot) as recorder:
            await work()
            assert [n async for n in stream()] == [1]
        return recorder

    traces = asyncio.run(main()).traces

    assert [(t.initial_state, t.final_state) for t in traces] == [(True, True)] * 3


def test_state_read_inside_a_running_loop_from_an_async_source() -> None:
    async def snapshot() -> dict[str, int]:
        await asyncio.sleep(0)
        return {"n": 1}

    async def main() -> TraceRecorder:
        recorder = TraceRecorder(state=snapshot, state_changes="per_call")
        with recorder, recorder.call("x"):
            pass
        return recorder

    trace = asyncio.run(main()).trace

    assert (trace.initial_state, trace.final_state) == ({"n": 1}, {"n": 1})
    assert trace.calls[0].state_change == []
