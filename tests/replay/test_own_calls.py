"""An agent that calls tools of its own while it is asked: the run answers, and nothing runs."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tracedance_sdk as td
from tests.replay.conversations import trace_of
from tests.replay.test_rebuilding import asked
from tracedance_sdk.errors import UnrecordedCall
from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.answering import open_sources
from tracedance_sdk.replay import (
    FunctionGrader,
    Players,
    RuleCustomer,
    RunLimits,
    Suite,
    SuiteSettings,
    rebuild,
    run_all,
)
from tracedance_sdk.replay.running import FunctionAgent, JudgedRun, ReplayedRun
from tracedance_sdk.trace import ToolDefinition, Trace

Messages = list[dict[str, Any]]
RAN: list[str] = []


@td.tool
def get_order(order_id: str) -> Any:
    RAN.append("get_order")


@td.tool
async def cancel_order(order_id: str) -> Any:
    RAN.append("cancel_order")


@td.tool
def double(number: int) -> int:
    RAN.append("double")
    return 2 * number


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield
    assert RAN == []
    assert not any(open_sources.values())


def a_suite(*orders: str) -> Suite:
    """Return the test of a conversation about each order."""
    return Suite(rebuild([_recorded(order) for order in orders]).tests)


def _recorded(order: str) -> Trace:
    trace = trace_of(
        f"about-{order}",
        order,
        ("get_order", {"order_id": order}, {"status": "open", "of": order}),
        ("cancel_order", {"order_id": order}, f"{order} is cancelled"),
        ("double", {"number": 1}, 2),
    )
    tools = (ToolDefinition(name="double", effect="pure"),)
    return asked(trace.model_copy(update={"tools": tools}), f"Please cancel {order}.")


def played(agent: Callable[[Messages], Any], **limits: Any) -> ReplayedRun:
    """Put an agent into the conversation about one order."""
    players = Players(agent=lambda: FunctionAgent(agent), customer=RuleCustomer)
    (found,) = run_all(a_suite("W-1001"), players, SuiteSettings(limits=RunLimits(**limits)))
    assert isinstance(found, JudgedRun)
    return found.run


def order_in(messages: Messages) -> str:
    return str(messages[0]["content"]).split()[-1].strip(".")


async def clerk(messages: Messages) -> str:
    found = get_order(order_in(messages))
    return str(found["status"] + " " + await cancel_order(found["of"]))


def with_threads(messages: Messages) -> str:
    with ThreadPoolExecutor() as pool:
        for work in (
            lambda: get_order("W-1001"),
            lambda: asyncio.run(cancel_order("W-1001")),
        ):
            pool.submit(contextvars.copy_context().run, work).result()
    return "Cancelled."


def with_bare_threads(messages: Messages) -> str:
    with ThreadPoolExecutor() as pool:
        pool.submit(get_order, "W-1001").result()
        pool.submit(lambda: asyncio.run(cancel_order("W-1001"))).result()
    return "Cancelled."


@pytest.mark.parametrize("agent", [clerk, with_threads, with_bare_threads])
def test_its_calls_are_answered_from_the_recordings(agent: Callable[[Messages], Any]) -> None:
    run = played(agent)
    assert [answer.stamp for answer in run.answers] == ["same", "same"]
    assert [
        (c.index, c.name, (c.model_extra or {})["answer"]["stamp"]) for c in run.trace.calls
    ] == [
        (0, "get_order", "same"),
        (1, "cancel_order", "same"),
    ]
    spoken = [(turn.role, [call.name for call in turn.calls]) for turn in run.trace.turns]
    assert spoken == [
        ("user", []),
        ("assistant", ["get_order"]),
        ("assistant", ["cancel_order"]),
        ("assistant", []),
    ]
    assert run.ended == "customer"


def test_runs_at_the_same_time_have_their_own_answers() -> None:
    orders = [f"W-{n}" for n in range(1000, 1012)]
    players = Players(agent=lambda: FunctionAgent(clerk), customer=RuleCustomer)
    found = run_all(a_suite(*orders), players, SuiteSettings(concurrency=6))
    assert [item.run.trace.turns[-1].text for item in found if isinstance(item, JudgedRun)] == [
        f"open {order} is cancelled" for order in orders
    ]
    assert {a.stamp for item in found if isinstance(item, JudgedRun) for a in item.run.answers} == {
        "same"
    }


def test_later_it_is_told_what_it_had_called() -> None:
    told: list[Messages] = []

    def agent(messages: Messages) -> str:
        told.append(messages)
        if len(told) > 1:
            return "Done."
        get_order("W-1001")
        return "Shall I cancel it?"

    played(agent)
    assert [message["role"] for message in told[1]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


def test_a_call_without_a_recording_raises_and_leaves_the_run_undecided() -> None:
    def agent(messages: Messages) -> str:
        with pytest.raises(ReplayedError, match="no recorded answer for get_order"):
            get_order("W-9")
        return "There is none."

    run = played(agent)
    assert {answer.miss for answer in run.answers} == {"something_new"}


def test_an_agent_that_calls_on_and_on_is_left_behind_and_refused() -> None:
    refused = threading.Event()

    def agent(messages: Messages) -> str:
        while True:
            try:
                get_order("W-1001")
            except UnrecordedCall:
                refused.set()
                return "I give up."

    run = played(agent)
    assert (run.ended, len(run.answers)) == ("loop", 4)
    assert run.problem == "at a call of 'get_order'"
    assert [call.name for call in run.trace.calls] == ["get_order"] * 4
    assert refused.wait(5)


def test_who_is_late_has_no_tool_run_after_the_end() -> None:
    over, refused = threading.Event(), threading.Event()

    def agent(messages: Messages) -> str:
        get_order("W-1001")
        over.wait(10)
        try:
            asyncio.run(cancel_order("W-1001"))
        except UnrecordedCall:
            refused.set()
        return "Late."

    run = played(agent, timeout_s=0.3)
    assert run.ended == "timeout"
    assert [call.name for call in run.trace.calls] == ["get_order"]
    over.set()
    assert refused.wait(5)


def test_an_agent_that_fails_leaves_its_calls_on_record() -> None:
    def agent(messages: Messages) -> str:
        get_order("W-1001")
        raise RuntimeError("out of ideas")

    run = played(agent)
    assert run.ended == "agent_error"
    assert [call.name for call in run.trace.calls] == ["get_order"]


def test_a_pure_tool_runs_though_it_is_the_agents_own_and_not_in_its_time() -> None:
    @td.tool(name="double", effect="pure")
    def slow(number: int) -> int:
        time.sleep(0.6)
        return 2 * number

    players = Players(
        agent=lambda: FunctionAgent(lambda messages: str(double(21))),
        customer=RuleCustomer,
        pure={"double": slow},
    )
    (found,) = run_all(a_suite("W-1001"), players, SuiteSettings(limits=RunLimits(timeout_s=0.5)))
    assert isinstance(found, JudgedRun)
    assert [answer.stamp for answer in found.run.answers] == ["pure"]
    assert found.run.trace.turns[-1].text == "42"


def test_a_grader_may_use_tools_while_other_runs_are_answered() -> None:
    world: list[str] = []

    @td.tool
    def apply(order: str) -> str:
        world.append(order)
        return order

    def graded(trace: Trace) -> bool:
        time.sleep(0.05)
        return apply(str(trace.calls[0].arguments)) is not None

    def patient(messages: Messages) -> str:
        get_order(order_in(messages))
        time.sleep(0.05)
        return "Here it is."

    players = Players(lambda: FunctionAgent(patient), RuleCustomer, FunctionGrader(graded, "own"))
    found = run_all(a_suite("W-1", "W-2", "W-3", "W-4"), players, SuiteSettings(concurrency=2))
    assert [item.verdict for item in found if isinstance(item, JudgedRun)] == ["pass"] * 4
    assert len(world) == 4


def test_a_run_that_is_asked_again_in_the_middle_of_its_calls_begins_anew() -> None:
    called = threading.Event()

    async def agent(messages: Messages) -> str:
        order = order_in(messages)
        if order == "W-1":
            await asyncio.to_thread(called.wait, 5)
            time.sleep(4)  # noqa: ASYNC251 - it blocks the other's loop
            return "Late."
        get_order(order)
        called.set()
        await asyncio.sleep(0.5)
        return str(await cancel_order(order))

    players = Players(agent=lambda: FunctionAgent(agent), customer=RuleCustomer)
    limits = RunLimits(timeout_s=2)
    found = run_all(a_suite("W-1", "W-2"), players, SuiteSettings(limits=limits))
    runs = [item.run for item in found if isinstance(item, JudgedRun)]
    assert [run.ended for run in runs] == ["timeout", "customer"]
    assert [call.name for call in runs[1].trace.calls] == ["get_order", "cancel_order"]
    assert [answer.stamp for answer in runs[1].answers] == ["same", "same"]
