"""A decorated function is, to everybody who uses it, the function as written."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import multiprocessing
import pickle
import random
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pydantic
import pytest
import wrapt
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.recording import TraceRecorder, agent, tool
from tracedance_sdk.trace import Result


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def double(x: int) -> int:
    return 2 * x


double_tool = tool(name="twice")(double)


@agent
def answer(x: int) -> int:
    return add(x)


async def later(x: int) -> int:
    return x


async def stream(x: int) -> Any:
    yield x


def rows(x: int) -> Iterator[int]:
    yield x


class Box:
    def __init__(self, content: int) -> None:
        self.content = content

    @tool
    def take(self, n: int) -> int:
        return self.content - n

    @classmethod
    @tool
    def make(cls, n: int) -> int:
        return n

    @tool
    @staticmethod
    def same(n: int) -> int:
        return n


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


@wrapt.decorator
def passing(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


@pytest.mark.parametrize("decorate", [tool, agent], ids=["tool", "agent"])
@pytest.mark.parametrize("function", [double, later, stream, rows])
def test_names_signature_hints_and_kind_stay(decorate: Any, function: Callable[..., Any]) -> None:
    decorated = decorate(function)

    assert decorated.__name__ == function.__name__
    assert decorated.__qualname__ == function.__qualname__
    assert decorated.__doc__ == function.__doc__
    assert inspect.signature(decorated) == inspect.signature(function)
    assert typing.get_type_hints(decorated) == typing.get_type_hints(function)
    for kind in (
        inspect.isfunction,
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
    ):
        assert kind(decorated) == kind(function)


def test_what_a_recorded_function_makes_carries_its_name() -> None:
    async def main() -> None:
        coroutine: Any = tool(later)(1)
        assert (inspect.iscoroutine(coroutine), coroutine.__qualname__) == (True, "later")
        await coroutine
        items = tool(stream)(1)
        assert (inspect.isasyncgen(items), items.__name__) == (True, "stream")

    with TraceRecorder():
        asyncio.run(main())
        generator: Any = tool(rows)(1)
        assert (inspect.isgenerator(generator), generator.__name__) == (True, "rows")


def test_a_coroutine_nobody_awaits_warns_once() -> None:
    with TraceRecorder() as recorder, pytest.warns(RuntimeWarning) as warned:
        tool(later)(1)  # type: ignore[unused-coroutine]  # the point of the test

    assert ["coroutine 'later' was never awaited" in str(w.message) for w in warned] == [True]
    assert recorder.trace.calls == ()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_decorated_functions_are_pickled_by_reference(protocol: int) -> None:
    functions: list[Any] = [add, answer, Box.make, Box.take, Box.same]
    for function in functions:
        again = pickle.loads(pickle.dumps(function, protocol))
        assert again == function
    assert pickle.loads(pickle.dumps(add, protocol)) is add
    assert pickle.loads(pickle.dumps(Box(3).take, protocol))(1) == 2


def test_a_decorated_function_under_another_name_is_decorated_again_when_unpickled() -> None:
    again = pickle.loads(pickle.dumps(double_tool))

    with TraceRecorder() as recorder:
        assert again(2) == 4

    assert [call.name for call in recorder.trace.calls] == ["twice"]


def test_copies_of_decorated_functions_are_themselves() -> None:
    box = Box(3)
    holder = {"tool": add, "agent": answer, "method": box.take, "box": box, "make": Box.make}

    copied = copy.deepcopy(holder)

    assert copied["tool"] is add
    assert copied["agent"] is answer
    assert copy.copy(add) is add
    copied["box"].content = 10  # type: ignore[attr-defined]
    assert copied["method"](1) == 9  # type: ignore[operator]
    assert box.take(1) == 2
    assert copied["make"](4) == 4  # type: ignore[operator]
    assert copy.copy(box.take)(1) == 2


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_decorated_functions_run_in_other_processes(method: str) -> None:
    context = multiprocessing.get_context(method)
    with TraceRecorder() as recorder, ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(add, 1, b=2).result(60) == 3
        assert list(pool.map(Box(5).take, [1, 2])) == [4, 3]

    # What happens in another process without a journal is not ours to see.
    assert recorder.trace.calls == ()


STACKS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "wraps above": lambda f: logged(tool(f)),
    "wraps below": lambda f: tool(logged(f)),
    "cache above": lambda f: functools.cache(tool(f)),
    "cache below": lambda f: tool(functools.cache(f)),
    "partial above": lambda f: functools.partial(tool(f)),
    "partial below": lambda f: tool(functools.partial(f)),
    "validate_call above": lambda f: pydantic.validate_call(tool(f)),
    "validate_call below": lambda f: tool(pydantic.validate_call(f)),
    "wrapt above": lambda f: passing(tool(f)),
    "wrapt below": lambda f: tool(passing(f)),
}


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_other_decorators_above_and_below_change_neither_value_nor_record(
    stack: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    def pay(amount: int, to: str = "ann") -> str:
        return f"{amount} to {to}"

    with TraceRecorder() as recorder:
        assert stack(pay)(3, to="bob") == "3 to bob"

    assert [(c.name, c.arguments, c.result) for c in recorder.trace.calls] == [
        ("pay", {"amount": 3, "to": "bob"}, Result(ok=True, content="3 to bob"))
    ]


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_coroutines_keep_working_under_and_over_other_decorators(
    stack: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    async def pay(amount: int) -> str:
        await asyncio.sleep(0)
        return f"{amount}"

    with TraceRecorder() as recorder:
        assert asyncio.run(stack(pay)(3)) == "3"

    assert [(c.arguments, c.result) for c in recorder.trace.calls] == [
        ({"amount": 3}, Result(ok=True, content="3"))
    ]


def test_validation_refuses_before_the_tool_runs_and_that_is_recorded_below_only() -> None:
    def pay(amount: int) -> int:
        return amount

    with TraceRecorder() as recorder:
        for stacked in (pydantic.validate_call(tool(pay)), tool(pydantic.validate_call(pay))):
            with pytest.raises(pydantic.ValidationError):
                stacked("much")  # type: ignore[arg-type]

    (call,) = recorder.trace.calls
    assert call.result is not None
    assert call.result.error is not None
    assert call.result.error.type == "pydantic_core._pydantic_core.ValidationError"


def test_seeding_the_random_module_seeds_nothing_here_and_recording_draws_nothing_there() -> None:
    def draw() -> tuple[list[float], list[str]]:
        random.seed(7)
        with TraceRecorder() as recorder:
            numbers = [random.random()]
            add(1)
            numbers.append(random.random())
        return numbers, [recorder.trace.id, recorder.trace.calls[0].id]

    first, second = draw(), draw()

    assert first[0] == second[0]
    assert set(first[1]).isdisjoint(second[1])


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)


def behaviour(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[str, Any]:
    try:
        return "returned", function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is compared
        return "raised", error


@given(
    args=st.lists(VALUES, max_size=3),
    kwargs=st.dictionaries(st.sampled_from(["a", "b", "c", "self", "wrapped", "args"]), VALUES),
    fails=st.sampled_from([None, ValueError("no"), KeyboardInterrupt(), SystemExit(3)]),
    asynchronous=st.booleans(),
)
def test_a_decorated_function_behaves_as_the_plain_one(
    args: list[Any], kwargs: dict[str, Any], fails: BaseException | None, asynchronous: bool
) -> None:
    def plain(a: Any, *rest: Any, b: Any = 0, **more: Any) -> Any:
        if fails is not None:
            raise fails
        return [a, rest, b, more]

    async def plain_later(a: Any, *rest: Any, b: Any = 0, **more: Any) -> Any:
        return plain(a, *rest, b=b, **more)

    def step(function: Any) -> Any:
        """Run a coroutine without a loop, which a KeyboardInterrupt would upset."""

        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                function(*args, **kwargs).send(None)
            except StopIteration as stop:
                return stop.value

        return run

    expected_of: Callable[..., Any] = step(plain_later) if asynchronous else plain
    recorded_of: Callable[..., Any] = step(tool(plain_later)) if asynchronous else tool(plain)
    expected = behaviour(expected_of, args, kwargs)
    with TraceRecorder() as recorder:
        found = behaviour(recorded_of, args, kwargs)

    assert found[0] == expected[0]
    if isinstance(expected[1], TypeError):
        assert str(found[1]) == str(expected[1])
    elif found[0] == "raised":
        assert found[1] is fails
        (call,) = recorder.trace.calls
        assert call.result is not None
        assert call.result.error is not None
        assert call.result.error.message
    else:
        for ours, theirs in zip(found[1], expected[1], strict=True):
            assert ours is theirs or type(ours) is type(theirs)
        assert len(recorder.trace.calls) == 1
