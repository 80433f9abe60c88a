"""Generators: lazy, one call each, and every step passed on as without the decorator."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.journal import read_journal
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.recording.scopes import CLOSED, CURRENT
from tracedance_sdk.trace import Call, Result, Trace


def result_of(trace: Trace, name: str) -> Result:
    (call,) = [call for call in trace.calls if call.name == name]
    assert call.result is not None
    return call.result


@tool
def count(n: int) -> Iterator[int]:
    yield from range(n)


@tool
async def count_later(n: int) -> AsyncIterator[int]:
    for item in range(n):
        await asyncio.sleep(0)
        yield item


def echo(log: list[str]) -> Generator[str, str, str]:
    """A generator that shows everything that is done to it."""
    got = "start"
    try:
        while got != "stop":
            try:
                got = yield f"<{got}>"
                log.append(f"sent {got!r}")
            except KeyError as error:
                got = f"caught {error}"
        return "returned"
    finally:
        log.append("closed")


def test_a_generator_is_lazy_and_one_call_with_its_items() -> None:
    started: list[int] = []

    @tool
    def rows(n: int) -> Iterator[int]:
        started.append(n)
        yield from range(n)

    with TraceRecorder() as recorder:
        iterator = rows(3)
        before = recorder.trace
        assert (started, before.calls) == ([], ())
        assert list(iterator) == [0, 1, 2]

    (call,) = recorder.trace.calls
    assert call.arguments == {"n": 3}
    assert call.result == Result(ok=True, content=[0, 1, 2])


def test_a_generator_nobody_reads_is_no_call() -> None:
    with TraceRecorder() as recorder:
        count(3)
        count_later(3)

    assert recorder.trace.calls == ()


def test_values_sent_exceptions_thrown_and_the_return_value_pass_as_without_us() -> None:
    def outer(inner: Generator[str, str, str]) -> Generator[str, str, str]:
        return (yield from inner)

    def drive(make: Any) -> list[Any]:
        log: list[Any] = []
        generator = outer(make(log))
        log.append(next(generator))
        log.append(generator.send("a"))
        log.append(generator.throw(KeyError("k")))
        log.append(generator.throw(KeyError("m")))
        try:
            generator.send("stop")
        except StopIteration as stop:
            log.append(stop.value)
        return log

    with TraceRecorder() as recorder:
        recorded = drive(tool(echo))

    assert recorded == drive(echo)
    assert recorder.trace.calls[0].result == Result(
        ok=True, content=["<start>", "<a>", "<caught 'k'>", "<caught 'm'>"]
    )


def test_a_dropped_generator_ends_its_call_as_interrupted() -> None:
    closed: list[str] = []

    @tool
    def rows() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.append("closed")

    with TraceRecorder() as recorder:
        for row in rows():
            assert row == 1
            break
        gc.collect()
        assert closed == ["closed"]
        result = result_of(recorder.trace, "rows")

    assert result == Result(ok=None, content=[1], interrupted=True)


def test_an_exception_in_a_generator_keeps_the_items_before_it() -> None:
    @tool
    def rows() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with TraceRecorder() as recorder, pytest.raises(ValueError, match="no more"):
        list(rows())

    result = result_of(recorder.trace, "rows")
    assert (result.ok, result.content, result.error and result.error.message) == (
        False,
        [1],
        "no more",
    )


def test_a_generator_that_ignores_being_closed_fails_as_without_us() -> None:
    @tool
    def stubborn() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    with TraceRecorder():
        generator = stubborn()
        next(generator)
        with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
            generator.close()  # type: ignore[attr-defined]
        with pytest.raises(StopIteration):
            next(generator)


def test_wrong_arguments_are_refused_at_the_call_as_without_us() -> None:
    with TraceRecorder() as recorder:
        for function in (count, count_later):
            with pytest.raises(TypeError, match="missing 1 required positional argument"):
                function()  # type: ignore[call-arg]

    assert recorder.trace.calls == ()


def test_the_call_is_current_only_while_the_body_runs() -> None:
    @tool
    def look(who: str) -> str:
        return who

    @tool
    def rows() -> Iterator[int]:
        look("body")
        yield 1
        look("body")

    with TraceRecorder() as recorder:
        for _ in rows():
            look("reader")

    trace = recorder.trace
    outer = trace.calls[0]
    assert [(c.arguments["who"], c.parent_call_id == outer.id) for c in trace.calls[1:]] == [
        ("body", True),
        ("reader", False),
        ("body", True),
    ]


def test_two_nested_async_generators_are_one_call_each_inner_below_outer() -> None:
    @tool
    async def inner(n: int) -> AsyncIterator[str]:
        for item in range(n):
            await asyncio.sleep(0.01)
            yield f"piece {item}"

    @tool
    async def outer(n: int) -> AsyncIterator[str]:
        async for piece in inner(n):
            yield piece.upper()

    async def main() -> tuple[float, list[str], Trace]:
        stream = outer(3)
        before = recorder.trace
        began = time.perf_counter()
        items = [item async for item in stream]
        return time.perf_counter() - began, items, before

    with TraceRecorder() as recorder:
        seconds, items, before = asyncio.run(main())

    outer_call, inner_call = recorder.trace.calls
    assert before.calls == ()
    assert items == ["PIECE 0", "PIECE 1", "PIECE 2"]
    assert (outer_call.name, outer_call.result and outer_call.result.content) == ("outer", items)
    assert inner_call.parent_call_id == outer_call.id
    assert inner_call.result is not None
    assert inner_call.result.content == ["piece 0", "piece 1", "piece 2"]
    for call in (outer_call, inner_call):
        assert call.duration_ms is not None
        assert 30 <= call.duration_ms <= seconds * 1000


def test_an_async_generator_passes_every_step_on() -> None:
    async def body(log: list[str]) -> Any:
        try:
            got = yield "first"
            log.append(f"sent {got}")
            try:
                yield "second"
            except KeyError:
                log.append("caught")
                yield "third"
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def drive(make: Any) -> list[Any]:
        log: list[Any] = []
        stream = make(log)
        log.append(await anext(stream))
        log.append(await stream.asend("x"))
        log.append(await stream.athrow(KeyError("k")))
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return log

    with TraceRecorder() as recorder:
        recorded = asyncio.run(drive(tool(body)))

    assert recorded == asyncio.run(drive(body))
    assert result_of(recorder.trace, "body") == Result(
        ok=None, content=["first", "second", "third"], interrupted=True
    )


def test_an_abandoned_async_generator_ends_as_interrupted() -> None:
    async def main() -> None:
        async for _ in count_later(10):
            break
        gc.collect()
        await asyncio.sleep(0.01)

    with TraceRecorder() as recorder:
        asyncio.run(main())

    assert result_of(recorder.trace, "count_later") == Result(
        ok=None, content=[0], interrupted=True
    )


def test_a_cancelled_async_generator_is_recorded_and_cancelled() -> None:
    @tool
    async def slow() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(10)

    async def main() -> None:
        async def read() -> None:
            async for _ in slow():
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with TraceRecorder() as recorder:
        asyncio.run(main())

    result = result_of(recorder.trace, "slow")
    assert (result.ok, result.interrupted, result.content) == (False, True, [1])
    assert result.error is not None
    assert result.error.message == "cancelled"


def test_items_are_recorded_as_they_were_when_yielded() -> None:
    @tool
    def grow() -> Iterator[list[int]]:
        items: list[int] = []
        for n in range(3):
            items.append(n)
            yield items

    with TraceRecorder() as recorder:
        assert len({id(items) for items in grow()}) == 1

    assert result_of(recorder.trace, "grow").content == [[0], [0, 1], [0, 1, 2]]


def test_items_beyond_the_cap_are_passed_on_but_not_recorded() -> None:
    @tool(max_items=2)
    def rows(n: int) -> Iterator[int]:
        yield from range(n)

    with TraceRecorder() as recorder:
        assert list(rows(2)) == [0, 1]
        assert list(rows(5)) == [0, 1, 2, 3, 4]

    exact, capped = [call.result for call in recorder.trace.calls]
    assert exact == Result(ok=True, content=[0, 1])
    assert capped == Result(ok=True, content=[0, 1], truncated=True)


def test_reduce_makes_one_result_of_all_items() -> None:
    @tool(reduce="".join, max_items=1)
    def words() -> Iterator[str]:
        yield from ("to", "ge", "ther")

    @tool(reduce=sum)
    async def numbers() -> AsyncIterator[int]:
        for n in range(4):
            yield n

    async def main() -> list[int]:
        return [n async for n in numbers()]

    with TraceRecorder() as recorder:
        assert list(words()) == ["to", "ge", "ther"]
        assert asyncio.run(main()) == [0, 1, 2, 3]

    assert result_of(recorder.trace, "words") == Result(ok=True, content="together")
    assert result_of(recorder.trace, "numbers") == Result(ok=True, content=6)


@pytest.mark.usefixtures("forgiving")
def test_a_reduce_that_fails_leaves_the_result_unknown_and_the_reader_unharmed() -> None:
    @tool(reduce=sum)
    def words() -> Iterator[str]:
        yield "a"

    with TraceRecorder() as recorder:
        assert list(words()) == ["a"]

    (call,) = recorder.trace.calls
    assert call.result == Result(ok=True)
    assert recorder.close().faults == {"reduce: TypeError": 1}


def test_a_generator_under_another_decorator_is_still_one_call() -> None:
    import functools

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @tool
    @logged
    def rows(n: int) -> Iterator[int]:
        yield from range(n)

    @logged
    @tool
    def more(n: int) -> Iterator[int]:
        yield from range(n)

    with TraceRecorder() as recorder:
        assert list(rows(2)) == [0, 1]
        assert list(more(2)) == [0, 1]

    assert [(c.name, c.result and c.result.content) for c in recorder.trace.calls] == [
        ("rows", [0, 1]),
        ("more", [0, 1]),
    ]


def test_a_generator_read_in_another_thread_stays_in_its_run() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with TraceRecorder() as one, TraceRecorder() as other, ThreadPoolExecutor(1) as pool:
        assert pool.submit(list, count(2)).result() == [0, 1]

    assert one.trace.calls == ()
    assert result_of(other.trace, "count").content == [0, 1]


STEP = st.one_of(
    st.tuples(st.just("send"), st.integers()),
    st.tuples(st.just("throw"), st.sampled_from([KeyError, ValueError, KeyboardInterrupt])),
    st.tuples(st.just("close"), st.none()),
    st.tuples(st.just("next"), st.none()),
)


def scripted(yields: list[int], catches: bool) -> Generator[int, Any, str]:
    total = 0
    for item in yields:
        try:
            total += (yield item) or 0
        except (KeyError, ValueError):
            if not catches:
                raise
            total -= 1
    return f"total {total}"


def play(generator: Generator[int, Any, str], steps: list[tuple[str, Any]]) -> list[Any]:
    seen: list[Any] = []
    for step, value in [("next", None), *steps]:
        try:
            if step == "send":
                seen.append(generator.send(value))
            elif step == "throw":
                seen.append(generator.throw(value("thrown")))
            elif step == "close":
                generator.close()
            else:
                seen.append(next(generator))
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is compared
            seen.append((type(error), error.args))
    return seen


@given(yields=st.lists(st.integers(), max_size=5), catches=st.booleans(), steps=st.lists(STEP))
def test_whatever_is_done_to_a_recorded_generator_it_behaves_as_the_plain_one(
    yields: list[int], catches: bool, steps: list[tuple[str, Any]]
) -> None:
    with TraceRecorder() as recorder:
        recorded = play(tool(scripted)(yields, catches), steps)
        assert CURRENT.get() is not None

    assert recorded == play(scripted(yields, catches), steps)
    calls: tuple[Call, ...] = recorder.trace.calls
    assert len(calls) == 1


def test_a_generator_read_on_after_its_run_is_interrupted_in_it_before_its_end(
    tmp_path: Path,
) -> None:
    with TraceRecorder(journal=tmp_path) as recorder:
        stream, exhausted = count(5), count(1)
        assert [next(stream), next(stream), *exhausted] == [0, 1, 0]
    at_close = recorder.trace
    assert list(stream) == [2, 3, 4]

    interrupted, ended = (call.result for call in recorder.trace.calls)
    assert interrupted is not None
    assert ended is not None
    assert (interrupted.ok, interrupted.interrupted, interrupted.content) == (None, True, [0, 1])
    assert (ended.ok, ended.content) == (True, [0])
    assert recorder.trace == at_close
    names = [record.name for record in read_journal(tmp_path)]
    assert names[-1] == "invoke_agent agent"


def test_a_generator_made_in_a_run_and_begun_after_it_is_counted_and_not_recorded() -> None:
    with TraceRecorder() as recorder:
        stream, later = count(2), count_later(2)
        by_hand = recorder.call("late")

    async def read() -> list[int]:
        return [item async for item in later]

    assert list(stream) == [0, 1]
    assert asyncio.run(read()) == [0, 1]
    with by_hand as call:
        call.result = 1
    assert recorder.trace.calls == ()
    assert recorder.close().unattributed == {CLOSED: 3}
