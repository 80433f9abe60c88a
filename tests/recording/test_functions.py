"""Every kind of function can be a tool, and its use is one call."""

from __future__ import annotations

import asyncio
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.trace import UNKNOWN, Call, Trace


def said(trace: Trace) -> list[tuple[str, Any, Any]]:
    return [
        (call.name, call.arguments, call.result and call.result.content) for call in trace.calls
    ]


def only_call(recorder: TraceRecorder) -> Call:
    (call,) = recorder.trace.calls
    return call


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def add_later(a: int, b: int = 1) -> int:
    await asyncio.sleep(0)
    return a + b


class Mailbox:
    def __init__(self) -> None:
        self.sent: list[str] = []

    @tool
    def send(self, to: str) -> int:
        self.sent.append(to)
        return len(self.sent)

    @tool
    async def send_later(self, to: str) -> int:
        self.sent.append(to)
        return len(self.sent)

    @tool
    def unread(self, n: int) -> Iterator[int]:
        yield from range(n)

    @classmethod
    @tool
    def outer_class(cls, x: int) -> str:
        return f"{cls.__name__}{x}"

    @tool
    @classmethod
    def inner_class(cls, x: int) -> str:
        return f"{cls.__name__}{x}"

    @staticmethod
    @tool
    def outer_static(x: int) -> int:
        return x

    @tool
    @staticmethod
    def inner_static(x: int) -> int:
        return x

    @tool
    def __call__(self, x: int) -> int:
        return x


def test_a_plain_function_is_one_call_with_the_arguments_that_were_passed() -> None:
    with TraceRecorder() as recorder:
        assert add(1) == 2
        assert add(1, b=5) == 6

    assert said(recorder.trace) == [("add", {"a": 1}, 2), ("add", {"a": 1, "b": 5}, 6)]


def test_a_coroutine_is_one_call() -> None:
    async def main() -> None:
        assert await add_later(2, b=3) == 5

    with TraceRecorder() as recorder:
        asyncio.run(main())

    assert said(recorder.trace) == [("add_later", {"a": 2, "b": 3}, 5)]


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        pytest.param(lambda box: box.send("ann"), ("send", {"to": "ann"}, 1), id="method"),
        pytest.param(
            lambda box: Mailbox.send(box, "ann"), ("send", {"to": "ann"}, 1), id="method-by-class"
        ),
        pytest.param(
            lambda box: asyncio.run(box.send_later("ann")),
            ("send_later", {"to": "ann"}, 1),
            id="async-method",
        ),
        pytest.param(
            lambda box: list(box.unread(2)), ("unread", {"n": 2}, [0, 1]), id="generator-method"
        ),
        pytest.param(
            lambda box: box.outer_class(1), ("outer_class", {"x": 1}, "Mailbox1"), id="classmethod"
        ),
        pytest.param(
            lambda box: Mailbox.outer_class(1),
            ("outer_class", {"x": 1}, "Mailbox1"),
            id="classmethod-by-class",
        ),
        pytest.param(
            lambda box: box.inner_class(1),
            ("inner_class", {"x": 1}, "Mailbox1"),
            id="classmethod-below",
        ),
        pytest.param(
            lambda box: Mailbox.inner_class(1),
            ("inner_class", {"x": 1}, "Mailbox1"),
            id="classmethod-below-by-class",
        ),
        pytest.param(
            lambda box: box.outer_static(1), ("outer_static", {"x": 1}, 1), id="staticmethod"
        ),
        pytest.param(
            lambda box: Mailbox.inner_static(1),
            ("inner_static", {"x": 1}, 1),
            id="staticmethod-below",
        ),
        pytest.param(lambda box: box(1), ("__call__", {"x": 1}, 1), id="callable-object"),
        pytest.param(
            lambda box: types.MethodType(Mailbox.__dict__["send"], box)("ann"),
            ("send", {"to": "ann"}, 1),
            id="bound-by-hand",
        ),
        pytest.param(
            lambda box: tool(box.send)("ann"), ("send", {"to": "ann"}, 1), id="bound-method"
        ),
    ],
)
def test_methods_are_recorded_without_the_object_they_belong_to(
    use: Callable[[Mailbox], Any], expected: tuple[str, Any, Any]
) -> None:
    with TraceRecorder() as recorder:
        use(Mailbox())

    assert said(recorder.trace)[0] == expected


class Doubler:
    def __call__(self, x: int) -> int:
        return 2 * x


class LaterDoubler:
    async def __call__(self, x: int) -> int:
        return 2 * x


def test_partials_callable_objects_and_builtins_have_names_and_arguments() -> None:
    with TraceRecorder() as recorder:
        tool(functools.partial(add.__wrapped__, 1))(b=2)  # type: ignore[attr-defined]
        tool(Doubler())(4)
        asyncio.run(tool(LaterDoubler())(5))
        tool(max)(1, 2)
        tool(lambda x: x)(7)

    assert said(recorder.trace) == snapshot(
        [
            ("add", {"b": 2}, 3),
            ("Doubler", {"x": 4}, 8),
            ("LaterDoubler", {"x": 5}, 10),
            ("max", {"args": [1, 2]}, 2),
            ("<lambda>", {"x": 7}, 7),
        ]
    )


def test_options_name_the_call_and_leave_parameters_out() -> None:
    @tool(name="pay_invoice", ignore=("session",))
    def pay(session: object, amount: int) -> str:
        return "paid"

    with TraceRecorder() as recorder:
        pay(object(), 7)

    assert said(recorder.trace) == [("pay_invoice", {"amount": 7}, "paid")]


def test_variable_arguments_stand_under_their_names() -> None:
    @tool
    def note(first: str, *more: str, **labels: str) -> None: ...

    @tool
    def shadow(x: int, /, y: int = 0, **x_too: int) -> None: ...

    with TraceRecorder() as recorder:
        note("a", "b", "c", colour="red")
        shadow(1, x=2, y=3, z=4)

    assert said(recorder.trace) == [
        ("note", {"first": "a", "more": ["b", "c"], "colour": "red"}, None),
        ("shadow", {"x": 1, "y": 3, "z": 4, "x_too": {"x": 2}}, None),
    ]


def test_a_call_inside_a_call_is_the_tools_and_names_the_outer_one() -> None:
    @tool
    def outer(x: int) -> int:
        return add(x) + add(x)

    with TraceRecorder() as recorder:
        outer(1)

    trace = recorder.trace
    assert [(c.name, c.requested_by, c.bound_by) for c in trace.calls] == [
        ("outer", "agent", "synthetic"),
        ("add", "tool", None),
        ("add", "tool", None),
    ]
    assert {c.parent_call_id for c in trace.calls[1:]} == {trace.calls[0].id}
    assert [c.name for c in trace.actions] == ["outer"]


def test_tasks_running_at_once_keep_their_own_nested_calls() -> None:
    @tool
    async def slow(n: int) -> int:
        await asyncio.sleep(0.001 * (3 - n))
        return add(n)

    async def main() -> None:
        await asyncio.gather(*(slow(n) for n in range(3)))
        async with asyncio.TaskGroup() as group:
            for n in range(3, 6):
                group.create_task(slow(n))
        await asyncio.to_thread(add, 100)

    with TraceRecorder() as recorder:
        asyncio.run(main())

    trace = recorder.trace
    by_id = {call.id: call for call in trace.calls}
    nested = [call for call in trace.calls if call.parent_call_id]
    assert len(nested) == 6
    for call in nested:
        outer = by_id[call.parent_call_id or ""]
        assert outer.name == "slow"
        assert call.arguments == {"a": outer.arguments["n"]}
    assert [call.arguments for call in trace.actions if call.name == "add"] == [{"a": 100}]


def test_nothing_is_recorded_outside_a_run_and_the_function_still_works() -> None:
    with TraceRecorder() as recorder:
        pass

    assert add(1) == 2
    assert asyncio.run(add_later(1)) == 2
    assert recorder.trace.calls == ()


def test_arguments_and_results_are_recorded_as_they_were_at_the_time() -> None:
    @tool
    def fill(items: list[int]) -> list[int]:
        items.append(2)
        return items

    items = [1]
    with TraceRecorder() as recorder:
        given = fill(items)
        items.append(3)

    assert given is items
    assert said(recorder.trace) == [("fill", {"items": [1]}, [1, 2])]


def test_a_returned_iterator_or_awaitable_is_passed_on_untouched() -> None:
    source = iter([1, 2, 3])

    @tool
    def rows() -> Iterator[int]:
        return source

    async def main() -> None:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        @tool
        def promise() -> asyncio.Future[int]:
            return future

        assert promise() is future
        future.set_result(1)

    with TraceRecorder() as recorder:
        assert rows() is source
        asyncio.run(main())

    assert list(source) == [1, 2, 3]
    assert [call.result and call.result.ok for call in recorder.trace.calls] == [True, True]


def test_decorated_tools_become_tool_definitions() -> None:
    @tool(effect="write", kind="send", ignore=("connection",))
    def post(connection: object, to: str, copies: int = 1, *notes: str, **labels: int) -> None:
        """Post a letter."""

    with TraceRecorder(
        tools=[{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    ) as recorder:
        post(object(), "ann")
        add(1)

    assert [
        definition.model_dump(exclude_none=True) for definition in recorder.trace.tools
    ] == snapshot(
        [
            {
                "name": "add",
                "parameters": {"type": "object"},
                "origin": "recorded",
                "effect": "unknown",
                "kind": "other",
            },
            {
                "name": "post",
                "description": "Post a letter.",
                "parameters": {
                    "properties": {
                        "to": {"title": "To", "type": "string"},
                        "copies": {"default": 1, "title": "Copies", "type": "integer"},
                        "notes": {
                            "default": [],
                            "items": {"type": "string"},
                            "title": "Notes",
                            "type": "array",
                        },
                    },
                    "required": ["to"],
                    "type": "object",
                    "additionalProperties": True,
                },
                "origin": "recorded",
                "effect": "write",
                "kind": "send",
            },
        ]
    )


def test_what_is_not_callable_is_refused_where_it_is_decorated() -> None:
    with pytest.raises(InvalidOption, match="3 is not callable"):
        tool(3)  # type: ignore[call-overload]
    with pytest.raises(InvalidOption, match="max_items=-1 is negative"):
        tool(max_items=-1)


def test_a_call_without_result_has_none_known() -> None:
    with TraceRecorder() as recorder, recorder.call("look"):
        pass

    result = only_call(recorder).result
    assert result is not None
    assert (result.ok, result.content) == (True, UNKNOWN)
