"""Tools whose answers come from elsewhere: asked before the body, whatever kind of function."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.recording import (
    AskedCall,
    GivenAnswer,
    LetRun,
    ReplayedError,
    TraceRecorder,
    answers_from,
    tool,
    tool_let_run,
)
from tracedance_sdk.recording.answering import ASKING, open_sources
from tracedance_sdk.trace import UNKNOWN, ErrorInfo, Json, Result

RAN: list[str] = []


@dataclass
class Order:
    id: str
    n: int


@tool(effect="read")
def order(number: str, *, fresh: bool = False) -> Order:
    RAN.append("order")
    return Order(number, 0)


@tool
async def order_later(number: str) -> Order:
    RAN.append("order_later")
    return Order(number, 0)


@tool
def orders(n: int) -> Iterator[Order]:
    RAN.append("orders")
    for number in range(n):
        yield Order(str(number), 0)


@tool
async def orders_later(n: int) -> AsyncIterator[Order]:
    RAN.append("orders_later")
    for number in range(n):
        yield Order(str(number), 0)


class Shop:
    @tool
    def close(self, reason: str) -> str:
        RAN.append("close")
        return reason

    @classmethod
    @tool
    def found(cls, name: str) -> str:
        RAN.append("found")
        return name

    @tool
    @staticmethod
    def greet(name: str) -> str:
        RAN.append("greet")
        return name


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield
    assert not any(open_sources.values())
    assert ASKING.get() is None


class Told:
    """Gives the same answer to everybody, and remembers what it was asked."""

    def __init__(self, content: Json = None, error: ErrorInfo | None = None) -> None:
        self.asked: list[AskedCall] = []
        self._result = Result(ok=error is None, content=content, error=error)

    def answer(self, asked: AskedCall) -> GivenAnswer:
        self.asked.append(asked)
        return GivenAnswer(self._result, {"stamp": "same"})


class Lets:
    """Lets everything run."""

    def __init__(self, *, covers_inner: bool = False) -> None:
        self.told: list[tuple[str, Result]] = []
        self.inner = covers_inner

    def answer(self, asked: AskedCall) -> LetRun:
        def told(result: Result) -> None:
            self.told.append((asked.name, result))

        return LetRun({"stamp": "pure"}, told, self.inner)


async def listed(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


USES: dict[str, tuple[Callable[[], Any], Json, Any, dict[str, Json]]] = {
    "plain": (lambda: order("7"), {"id": "7", "n": 9}, Order("7", 9), {"number": "7"}),
    "coroutine": (
        lambda: asyncio.run(order_later("7")),
        {"id": "7", "n": 9},
        Order("7", 9),
        {"number": "7"},
    ),
    "generator": (lambda: list(orders(2)), [{"id": "a", "n": 1}], [Order("a", 1)], {"n": 2}),
    "async generator": (
        lambda: asyncio.run(listed(orders_later(2))),
        [{"id": "a", "n": 1}],
        [Order("a", 1)],
        {"n": 2},
    ),
    "method": (lambda: Shop().close("late"), "closed", "closed", {"reason": "late"}),
    "classmethod": (lambda: Shop.found("x"), "closed", "closed", {"name": "x"}),
    "staticmethod": (lambda: Shop.greet("x"), "closed", "closed", {"name": "x"}),
}


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "no recorder"])
@pytest.mark.parametrize("kind", USES)
def test_an_answer_is_given_and_the_body_never_runs(kind: str, recorded: bool) -> None:
    use, content, expected, arguments = USES[kind]
    source = Told(content)

    with answers_from(source):
        if recorded:
            with TraceRecorder() as recorder:
                assert use() == expected
            (call,) = recorder.trace.calls
            assert call.arguments == arguments
            assert call.result == Result(ok=True, content=content)
            assert call.model_extra == {"answer": {"stamp": "same"}}
        else:
            assert use() == expected

    assert [asked.arguments for asked in source.asked] == [arguments]
    assert RAN == []


@pytest.mark.parametrize("kind", USES)
def test_a_recorded_error_is_raised_as_one_of_its_own_class(kind: str) -> None:
    nothing: Json = [] if "generator" in kind else UNKNOWN
    source = Told(nothing, ErrorInfo(type="KeyError", message="no order 7"))

    with (
        answers_from(source),
        TraceRecorder() as recorder,
        pytest.raises(KeyError, match=r"^no order 7$") as caught,
    ):
        USES[kind][0]()

    assert isinstance(caught.value, ReplayedError)
    assert recorder.trace.calls[0].result is not None
    assert recorder.trace.calls[0].result.error == ErrorInfo(type="KeyError", message="no order 7")
    assert RAN == []


@pytest.mark.parametrize("kind", USES)
def test_a_source_may_let_the_body_run_and_is_told_what_came_of_it(kind: str) -> None:
    source = Lets()

    with answers_from(source), TraceRecorder() as recorder:
        USES[kind][0]()

    ((name, result),) = source.told
    (call,) = recorder.trace.calls
    assert [name] == RAN
    assert call.result == result
    assert call.model_extra == {"answer": {"stamp": "pure"}}


def test_a_generator_asks_when_its_first_item_is_wanted_and_no_sooner() -> None:
    source = Told([1, 2])

    with answers_from(source):
        items = orders(2)
        assert source.asked == []
        next(items)
        assert len(source.asked) == 1
        items.close()  # type: ignore[attr-defined]


def test_a_failure_that_the_tool_returned_is_returned() -> None:
    with answers_from(Told("Error: no order 7", ErrorInfo(type="Error", message="no order 7"))):
        assert Shop.greet("7") == "Error: no order 7"
        assert [str(item) for item in orders(1)] == ["Error: no order 7"]


def test_items_before_an_error_are_given_before_it_is_raised() -> None:
    source = Told([{"id": "a", "n": 1}], ErrorInfo(type="OSError", message="gone"))
    with answers_from(source):
        items = orders(3)
        assert next(items) == Order("a", 1)
        with pytest.raises(OSError, match="gone"):
            next(items)


def test_a_generator_that_is_let_run_gets_what_is_sent_and_thrown() -> None:
    @tool
    def echo() -> Generator[str, str, None]:
        said = "begin"
        while True:
            try:
                said = yield said
            except ValueError as error:
                said = f"caught {error}"

    source = Lets()
    with answers_from(source):
        talk: Any = echo()
        assert [next(talk), talk.send("a"), talk.throw(ValueError("b"))] == [
            "begin",
            "a",
            "caught b",
        ]
        talk.close()

    ((_, result),) = source.told
    assert result == Result(ok=None, content=["begin", "a", "caught b"], interrupted=True)


def test_an_asynchronous_generator_that_is_let_run_gets_them_too() -> None:
    @tool
    async def echo() -> AsyncGenerator[str, str]:
        said = "begin"
        while True:
            try:
                said = yield said
            except ValueError as error:
                said = f"caught {error}"

    async def use() -> list[str]:
        talk: Any = echo()
        got = [await anext(talk), await talk.asend("a"), await talk.athrow(ValueError("b"))]
        await talk.aclose()
        return got

    source = Lets()
    with answers_from(source):
        assert asyncio.run(use()) == ["begin", "a", "caught b"]
    assert source.told[0][1].interrupted


@pytest.mark.parametrize("covers_inner", [True, False])
def test_calls_inside_a_body_are_asked_about_unless_they_belong_to_it(covers_inner: bool) -> None:
    @tool
    def outer() -> str | None:
        order("7")
        return tool_let_run()

    source = Lets(covers_inner=covers_inner)
    with answers_from(source):
        assert outer() == "outer"
        assert tool_let_run() is None

    assert [name for name, _ in source.told] == (["outer"] if covers_inner else ["order", "outer"])


def test_a_coroutine_hidden_by_a_plain_wrapper_is_answered_when_awaited() -> None:
    async def fetch(n: int) -> Order:
        raise AssertionError("ran")

    @tool
    @functools.wraps(fetch)
    def wrapper(n: int) -> Any:
        return fetch(n)

    with answers_from(Told({"id": "a", "n": 1})):
        made = wrapper(3)
        assert asyncio.run(made) == Order("a", 1)


def test_a_source_with_an_awaited_method_is_awaited_by_tools_that_are() -> None:
    class Slow(Told):
        async def answer_async(self, asked: AskedCall) -> GivenAnswer:
            await asyncio.sleep(0)
            return GivenAnswer(Result(ok=True, content={"id": "slow", "n": 1}))

    with answers_from(Slow({"id": "fast", "n": 1})):
        assert asyncio.run(order_later("7")) == Order("slow", 1)
        assert asyncio.run(listed(orders_later(1))) == [Order("slow", 1)]
        assert order("7") == Order("fast", 1)


def test_wrong_arguments_are_refused_as_by_the_function_itself() -> None:
    source = Told({"id": "a", "n": 1})

    with answers_from(source), TraceRecorder():
        for use, given in ((order, ()), (order_later, ()), (orders, (1, 2))):
            with pytest.raises(TypeError, match=r"\(\): "):
                use(*given)

    assert source.asked == []


def test_what_a_source_raises_reaches_the_caller_and_is_on_record() -> None:
    class Broken:
        def answer(self, asked: AskedCall) -> GivenAnswer:
            error = LookupError("not recorded")
            return GivenAnswer(Result(ok=False), {"stamp": "failed"}, error)

    with (
        answers_from(Broken()),
        TraceRecorder() as recorder,
        pytest.raises(LookupError, match="not recorded"),
    ):
        order("7")

    (call,) = recorder.trace.calls
    assert call.failed
    assert call.model_extra == {"answer": {"stamp": "failed"}}


def test_secrets_in_a_note_are_masked_as_all_that_is_recorded() -> None:
    class Telling:
        def answer(self, asked: AskedCall) -> GivenAnswer:
            return GivenAnswer(Result(ok=True, content="x"), {"password": "hunter2secret"})

    with answers_from(Telling()), TraceRecorder() as recorder:
        Shop.greet("x")

    assert "hunter2secret" not in recorder.trace.model_dump_json()
    assert "MASKED" in str(recorder.trace.calls[0].model_extra)


def test_a_thread_without_context_is_answered_by_the_only_source() -> None:
    got: list[Any] = []
    with answers_from(Told({"id": "a", "n": 1})):
        thread = threading.Thread(target=lambda: got.append(order("7")))
        thread.start()
        thread.join()

    assert got == [Order("a", 1)]
    assert RAN == []


def test_of_several_sources_that_of_the_context_answers_and_nothing_runs_without_one() -> None:
    first, second = Told({"id": "first", "n": 1}), Told({"id": "second", "n": 1})
    bare = contextvars.copy_context()
    problems: list[BaseException] = []

    def without_context() -> None:
        try:
            bare.run(order, "7")
        except RecorderError as error:
            problems.append(error)

    with answers_from(first):
        with answers_from(second):
            assert order("7").id == "second"
            without_context()
        assert order("7").id == "first"

    assert "2 replays" in str(problems[0])
    assert RAN == []


def test_without_a_source_everything_is_as_before() -> None:
    with answers_from(Told({"id": "a", "n": 1})):
        pass
    assert order("7") == Order("7", 0)
    assert RAN == ["order"]
