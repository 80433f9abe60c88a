"""Which run a call in another thread belongs to."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.recording.scopes import CLOSED, ELSEWHERE, MANY_OPEN


@tool
def look(n: int) -> int:
    return n


def in_thread(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def seen(recorder: TraceRecorder) -> list[int]:
    return [call.arguments["n"] for call in recorder.trace.calls]


def test_bare_pool_threads_join_the_only_open_recorder() -> None:
    with ThreadPoolExecutor(2) as pool:
        pool.submit(look, 0).result()
        with TraceRecorder() as recorder:
            assert list(pool.map(look, range(1, 5))) == [1, 2, 3, 4]
        pool.submit(look, 9).result()

    assert sorted(seen(recorder)) == [1, 2, 3, 4]
    assert recorder.close().unattributed == {}


def test_with_two_recorders_open_bare_threads_join_none_and_are_counted() -> None:
    with TraceRecorder() as one, TraceRecorder() as other:
        in_thread(lambda: look(1))
        in_thread(lambda: look(2))

    assert seen(one) == seen(other) == []
    assert one.close().unattributed == {MANY_OPEN: 2}
    assert other.close().unattributed == {MANY_OPEN: 2}


def test_wrap_and_thread_pool_bind_to_the_run_whatever_else_is_open() -> None:
    with TraceRecorder() as one, TraceRecorder() as other:
        in_thread(one.wrap(lambda: look(1)))
        in_thread(other.wrap(lambda: look(2)))
        with one.thread_pool(2) as pool:
            assert list(pool.map(look, [3, 4])) == [3, 4]
            assert pool.submit(look, n=5).result() == 5

    assert sorted(seen(one)) == [1, 3, 4, 5]
    assert seen(other) == [2]
    assert one.close().unattributed == {}


def test_work_given_to_a_pool_inside_a_call_is_a_call_inside_it() -> None:
    with TraceRecorder() as recorder:

        @tool
        def outer() -> list[int]:
            with recorder.thread_pool() as pool:
                return list(pool.map(look, [1, 2]))

        outer()
        in_thread(recorder.wrap(lambda: look(3)))

    trace = recorder.trace
    outer_call = next(call for call in trace.calls if call.name == "outer")
    parents = {call.arguments["n"]: call.parent_call_id for call in trace.calls if call.arguments}
    assert parents == {1: outer_call.id, 2: outer_call.id, 3: None}


def test_a_wrapped_coroutine_function_is_bound_where_it_runs() -> None:
    async def work(n: int) -> int:
        await asyncio.sleep(0)
        return look(n)

    with TraceRecorder() as one, TraceRecorder():
        bound = one.wrap(work)
        assert asyncio.iscoroutinefunction(bound)
        in_thread(lambda: asyncio.run(bound(1)))

    assert seen(one) == [1]


def test_to_thread_and_tasks_carry_the_run() -> None:
    async def main() -> None:
        await asyncio.to_thread(look, 1)
        await asyncio.create_task(asyncio.to_thread(look, 2))

    with TraceRecorder(), TraceRecorder() as inner:
        asyncio.run(main())

    assert seen(inner) == [1, 2]


def test_another_task_of_the_same_loop_is_not_taken_for_the_run() -> None:
    async def stranger(go: asyncio.Event) -> None:
        await go.wait()
        look(1)

    async def main() -> TraceRecorder:
        go = asyncio.Event()
        task = asyncio.create_task(stranger(go))
        async with TraceRecorder() as recorder:
            go.set()
            await task
            look(2)
        return recorder

    recorder = asyncio.run(main())

    assert seen(recorder) == [2]
    assert recorder.close().unattributed == {ELSEWHERE: 1}


def test_code_run_in_an_empty_context_is_counted_and_not_guessed() -> None:
    with TraceRecorder() as recorder:
        contextvars.Context().run(look, 1)

    assert seen(recorder) == []
    assert recorder.close().unattributed == {ELSEWHERE: 1}


def test_what_outlives_the_recorder_is_counted_and_not_recorded() -> None:
    async def main() -> TraceRecorder:
        async def late() -> None:
            await asyncio.sleep(0.01)
            look(1)

        with TraceRecorder() as recorder:
            task = asyncio.create_task(late())
        with TraceRecorder():
            await task
        return recorder

    recorder = asyncio.run(main())

    assert seen(recorder) == []
    assert recorder.close().unattributed == {CLOSED: 1}


def test_a_call_that_ends_after_the_recorder_closed_keeps_its_result() -> None:
    started, go = threading.Event(), threading.Event()

    @tool
    def slow() -> str:
        started.set()
        go.wait(10)
        return "late"

    with TraceRecorder() as recorder:
        thread = threading.Thread(target=recorder.wrap(slow))
        thread.start()
        started.wait(10)
    (before,) = recorder.trace.calls
    go.set()
    thread.join()
    (after,) = recorder.trace.calls

    assert before.result is not None
    assert before.result.interrupted
    assert after.result is not None
    assert (after.result.ok, after.result.content) == (True, "late")


def test_many_threads_at_once_lose_and_mix_nothing() -> None:
    with TraceRecorder() as recorder, recorder.thread_pool(8) as pool:
        list(pool.map(look, range(400)))

    trace = recorder.trace
    assert sorted(seen(recorder)) == list(range(400))
    assert all(c.result and c.result.content == c.arguments["n"] for c in trace.calls)
    assert len({call.id for call in trace.calls}) == 400
    assert recorder.close().written == 1 + 800 + 1


def test_a_closed_recorder_binds_nothing_any_more() -> None:
    with TraceRecorder() as recorder:
        pool = recorder.thread_pool()
        bound = recorder.wrap(look)

    assert bound(1) == 1
    with pytest.raises(RecorderError, match="closed"):
        recorder.wrap(look)
    with pytest.raises(RecorderError, match="closed"):
        pool.submit(look, 1)
    pool.shutdown()
    assert seen(recorder) == []
