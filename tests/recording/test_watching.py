"""The state looked at after each call, by a source that waits for the program's own locks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import tracedance_sdk as td

PATIENCE = 20


def in_time(work: Any) -> Any:
    """Return what the work gives; a hang fails the test instead of stopping it."""
    found: Future[Any] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # noqa: BLE001  # raised where the result is awaited
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found.result(PATIENCE)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


class Shop:
    """Changes and snapshots under one lock of its own."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.n = 0

    def snapshot(self) -> dict[str, int]:
        with self.lock:
            return {"n": self.n}

    @td.tool
    def add(self) -> None:
        self.n += 1

    @td.tool
    def add_two(self) -> None:
        with self.lock:
            self.add()
            self.add()


@pytest.mark.usefixtures("forgiving")
def test_a_lock_held_around_tools_and_taken_by_the_snapshot_never_hangs_two_threads() -> None:
    shop = Shop()

    def work() -> td.Trace:
        recorder = td.TraceRecorder(state=shop.snapshot, state_changes="per_call")
        with recorder, recorder.thread_pool(2) as pool:
            list(pool.map(lambda _: shop.add_two(), range(300)))
        return recorder.trace

    trace = in_time(work)
    assert shop.n == 600
    assert len(trace.calls) == 900
    seen = [call.state_change for call in trace.calls if isinstance(call.state_change, list)]
    values = [step["value"] for change in seen for step in change]
    assert len(values) == len(set(values)), "a look was kept that another one had overtaken"


@pytest.mark.usefixtures("forgiving")
def test_a_snapshot_that_waits_for_a_bare_thread_using_a_tool_does_not_hang(
    pool: ThreadPoolExecutor,
) -> None:
    @td.tool
    def read() -> int:
        return 1

    @td.tool
    def act() -> int:
        return 2

    def work() -> tuple[int, Any]:
        def state() -> dict[str, int]:
            return {"v": pool.submit(read).result()}

        with td.TraceRecorder(state=state, state_changes="per_call") as recorder:
            given = act()
        return given, recorder

    given, recorder = in_time(work)
    assert given == 2
    assert recorder.trace.final_state == {"v": 1}
    (call,) = [call for call in recorder.trace.calls if call.name == "act"]
    assert call.state_change == []


def test_a_snapshot_that_waits_for_the_recorders_own_pool_records_nothing_of_it() -> None:
    @td.tool
    def read() -> int:
        return 1

    @td.tool
    def act() -> int:
        return 2

    def work() -> td.Trace:
        def state() -> dict[str, int]:
            return {"v": pools[0].submit(read).result() if pools else 0}

        pools: list[Any] = []
        recorder = td.TraceRecorder(state=state, state_changes="per_call")
        with recorder, recorder.thread_pool(1) as pool:
            pools.append(pool)
            act()
            pools.clear()
        return recorder.trace

    trace = in_time(work)
    assert [call.name for call in trace.calls] == ["act"]
    assert trace.calls[0].state_change == [{"op": "replace", "path": "/v", "value": 1}]


def test_a_snapshot_that_reports_a_call_by_hand_is_not_taken_again_for_it() -> None:
    looks = 0

    def state() -> dict[str, int]:
        nonlocal looks
        looks += 1
        if looks == 2:
            with recorder.call("look", {}):
                pass
        return {"n": 1}

    recorder = td.TraceRecorder(state=state, state_changes="per_call")
    with recorder, recorder.call("act", {}):
        pass
    assert looks == 3
