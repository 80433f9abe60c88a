"""What an agent or a test leaves behind has no tool run, and is answered by nobody, ever."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tests.replay.test_own_calls import Messages, a_suite, order_in
from tracedance_sdk.errors import RecorderError, UnrecordedCall
from tracedance_sdk.recording import unasked
from tracedance_sdk.replay import (
    FunctionGrader,
    Players,
    RuleCustomer,
    RunLimits,
    SuiteSettings,
    replaying,
    run_all,
)
from tracedance_sdk.replay.running import FunctionAgent, JudgedRun
from tracedance_sdk.trace import Trace

RAN: list[str] = []
RESULTS: queue.Queue[Any] = queue.Queue()
GO = threading.Event()


@td.tool(effect="read")
def get_order(order_id: str) -> Any:
    RAN.append(f"get_order {order_id}")


@td.tool(effect="write")
def cancel_order(order_id: str) -> str:
    RAN.append(f"cancel_order {order_id}")
    return "really"


@td.tool(name="cancel_order", effect="write")
async def cancel_later(order_id: str) -> str:
    RAN.append(f"cancel_later {order_id}")
    return "really"


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    RAN.clear()
    GO.clear()
    with contextlib.suppress(queue.Empty):
        while True:
            RESULTS.get_nowait()
    yield
    GO.set()
    TASKS.clear()


def cancel_when_over(order: str = "W-1001") -> None:
    """Wait for the end and call then, as what is left behind does."""
    GO.wait(10)
    try:
        RESULTS.put(cancel_order(order))
    except Exception as error:  # noqa: BLE001 - whoever looks is given it
        RESULTS.put(error)


def run_of(agent: Callable[..., Any], *orders: str, **more: Any) -> list[JudgedRun]:
    """Put an agent into conversations, one after the other."""
    limits = RunLimits(timeout_s=more.pop("timeout_s", 20))
    players = Players(lambda: FunctionAgent(agent), RuleCustomer, more.pop("grader", None))
    settings = SuiteSettings(limits=limits, concurrency=1)
    found = run_all(a_suite(*(orders or ("W-1001",))), players, settings, **more)
    assert all(isinstance(item, JudgedRun) for item in found)
    return [item for item in found if isinstance(item, JudgedRun)]


def a_thread_with_its_context(messages: Messages) -> str:
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(cancel_when_over,), daemon=True).start()
    return "Done."


def a_bare_thread(messages: Messages) -> str:
    threading.Thread(target=cancel_when_over, daemon=True).start()
    return "Done."


def a_thread_of_a_thread(messages: Messages) -> str:
    def start() -> None:
        GO.wait(10)
        threading.Thread(target=cancel_when_over, daemon=True).start()

    threading.Thread(target=start, daemon=True).start()
    return "Done."


def a_timer(messages: Messages) -> str:
    timer = threading.Timer(0.001, cancel_when_over)
    timer.daemon = True
    timer.start()
    return "Done."


class Worker(threading.Thread):
    def run(self) -> None:
        cancel_when_over()


def a_class_of_threads(messages: Messages) -> str:
    Worker(daemon=True).start()
    return "Done."


EARLIER = ThreadPoolExecutor(2)
EARLIER.submit(int).result()


def work_for_a_pool_that_was_there_before(messages: Messages) -> str:
    EARLIER.submit(cancel_when_over)
    return "Done."


def a_failure(messages: Messages) -> str:
    threading.Thread(target=cancel_when_over, daemon=True).start()
    raise ValueError("crashed")


async def a_task(messages: Messages) -> str:
    TASKS.append(asyncio.create_task(_wait_and_cancel()))
    return "Done."


async def a_sibling(messages: Messages) -> str:
    await asyncio.gather(asyncio.to_thread(get_order, "W-9"), _wait_and_cancel())
    return "Done."


async def _wait_and_cancel() -> None:
    await asyncio.to_thread(GO.wait, 10)
    try:
        RESULTS.put(await cancel_later("W-1001"))
    except Exception as error:  # noqa: BLE001 - whoever looks is given it
        RESULTS.put(error)


TASKS: list[asyncio.Task[None]] = []
LEAVING: list[Callable[..., Any]] = [
    a_thread_with_its_context,
    a_bare_thread,
    a_thread_of_a_thread,
    a_timer,
    a_class_of_threads,
    work_for_a_pool_that_was_there_before,
    a_failure,
    a_task,
    a_sibling,
]
FAILING = (a_failure, a_sibling)


@pytest.mark.parametrize("agent", LEAVING)
def test_what_an_agent_leaves_behind_is_refused_after_the_run(agent: Callable[..., Any]) -> None:
    (found,) = run_of(agent)
    GO.set()
    assert isinstance(RESULTS.get(timeout=5), UnrecordedCall)
    assert RAN == []
    assert "cancel_order" not in [call.name for call in found.run.trace.calls]


@pytest.mark.parametrize("agent", [agent for agent in LEAVING if agent not in FAILING])
def test_it_is_refused_while_the_grader_works(agent: Callable[..., Any]) -> None:
    late: list[Any] = []

    def grade(trace: Trace) -> bool:
        GO.set()
        late.append(RESULTS.get(timeout=5))
        get_order("graded")
        pool = ThreadPoolExecutor()
        pool.submit(get_order, "in a pool").result()
        thread = threading.Thread(target=get_order, args=("in a thread",))
        thread.start()
        thread.join()
        return True

    run_of(agent, grader=FunctionGrader(grade, "own"))
    assert isinstance(late[0], UnrecordedCall)
    assert RAN == ["get_order graded", "get_order in a pool", "get_order in a thread"]


@pytest.mark.parametrize("agent", LEAVING)
def test_no_later_run_answers_it_nor_shows_it(agent: Callable[..., Any]) -> None:
    late: list[Any] = []

    def left_and_then_patient(messages: Messages) -> Any:
        if order_in(messages) == "W-1001":
            return agent(messages)
        GO.set()
        late.append(RESULTS.get(timeout=5))
        return "Done."

    async def the_same(messages: Messages) -> Any:
        if order_in(messages) == "W-1001":
            return await agent(messages)
        GO.set()
        late.append(await asyncio.to_thread(RESULTS.get, timeout=5))
        return "Done."

    is_async = asyncio.iscoroutinefunction(agent)
    _, second = run_of(the_same if is_async else left_and_then_patient, "W-1001", "W-1002")
    assert isinstance(late[0], UnrecordedCall)
    assert second.run.trace.calls == ()
    assert second.run.answers == ()
    assert RAN == []


def test_who_is_late_has_what_it_started_refused_too() -> None:
    def agent(messages: Messages) -> str:
        threading.Thread(target=cancel_when_over, daemon=True).start()
        GO.wait(10)
        return "Late."

    (found,) = run_of(agent, timeout_s=0.3)
    assert found.run.ended == "timeout"
    GO.set()
    assert isinstance(RESULTS.get(timeout=5), UnrecordedCall)
    assert RAN == []


def test_what_is_started_when_an_agent_is_made_belongs_to_it_until_it_is_closed() -> None:
    class Agent:
        name = "its own threads"

        def __init__(self) -> None:
            self._jobs: queue.Queue[tuple[Future[Any], str]] = queue.Queue()
            threading.Thread(target=self._work, daemon=True).start()

        def _work(self) -> None:
            while True:
                future, order = self._jobs.get()
                try:
                    future.set_result(get_order(order))
                except Exception as error:  # noqa: BLE001 - whoever waits gets it
                    future.set_exception(error)

        def ask(self, order: str) -> Any:
            future: Future[Any] = Future()
            self._jobs.put((future, order))
            return future.result(5)

        async def reply(self, request: Any) -> Any:
            order = order_in(request.messages)
            return str((await asyncio.to_thread(self.ask, order))["status"])

        async def close(self) -> None:
            for call in (self.ask, get_order):
                with contextlib.suppress(UnrecordedCall):
                    RESULTS.put(await asyncio.to_thread(call, "W-1001"))

    players = Players(Agent, RuleCustomer)
    found = run_all(a_suite("W-1001", "W-1002"), players, SuiteSettings(concurrency=2))
    runs = [item.run for item in found if isinstance(item, JudgedRun)]
    assert [run.trace.turns[-1].text for run in runs] == ["open", "open"]
    assert [[answer.stamp for answer in run.answers] for run in runs] == [["same"], ["same"]]
    assert RESULTS.empty()
    assert RAN == []


def test_tools_are_not_run_when_an_agent_is_made() -> None:
    def made() -> Any:
        cancel_order("W-1001")

    (found,) = run_all(a_suite("W-1001"), Players(made, RuleCustomer), SuiteSettings())
    assert "cancel_order was called before the agent was asked anything" in str(found)
    assert RAN == []


def test_what_nobody_can_attribute_is_not_run_while_tests_are() -> None:
    jobs: queue.Queue[str] = queue.Queue()
    thread = threading.Thread(target=lambda: cancel_when_over(jobs.get()), daemon=True)
    thread.start()
    late: list[Any] = []

    def agent(messages: Messages) -> str:
        jobs.put("W-1001")
        return "Done."

    def grade(trace: Trace) -> bool:
        GO.set()
        late.append(RESULTS.get(timeout=5))
        return True

    run_of(agent, grader=FunctionGrader(grade, "own"))
    assert isinstance(late[0], UnrecordedCall)
    assert RAN == []


def test_of_several_runs_threads_have_their_own_answers() -> None:
    meet = threading.Barrier(2)

    def agent(messages: Messages) -> str:
        got: list[Any] = []
        meet.wait(5)
        thread = threading.Thread(target=lambda: got.append(get_order(order_in(messages))))
        thread.start()
        thread.join()
        with ThreadPoolExecutor() as pool:
            got.append(pool.submit(get_order, order_in(messages)).result())
        return str([found["of"] for found in got])

    players = Players(lambda: FunctionAgent(agent), RuleCustomer)
    found = run_all(a_suite("W-1", "W-2"), players, SuiteSettings(concurrency=2))
    runs = [item.run for item in found if isinstance(item, JudgedRun)]
    assert [run.trace.turns[-1].text for run in runs] == ["['W-1', 'W-1']", "['W-2', 'W-2']"]


def test_the_host_goes_on_with_threads_that_were_born_in_a_replay() -> None:
    test = a_suite("W-1001").tests[0]
    with ThreadPoolExecutor(1) as pool:
        with replaying(test):
            assert pool.submit(get_order, "W-1001").result()["of"] == "W-1001"
        pool.submit(get_order, "live").result()
        pool.submit(contextvars.copy_context().run, get_order, "live too").result()
        with replaying(test):
            assert pool.submit(get_order, "W-1001").result()["of"] == "W-1001"
    get_order("live as well")
    assert RAN == ["get_order live", "get_order live too", "get_order live as well"]


def test_a_loop_that_was_begun_in_a_replay_works_live_for_its_host_afterwards() -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)

    async def work(order: str) -> Any:
        return await asyncio.to_thread(get_order, order)

    with replaying(a_suite("W-1001").tests[0]):
        thread.start()
        assert asyncio.run_coroutine_threadsafe(work("W-1001"), loop).result(5)["of"] == "W-1001"
    asyncio.run_coroutine_threadsafe(work("live"), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    assert RAN == ["get_order live"]


@pytest.mark.parametrize("begin", [a_thread_with_its_context, a_bare_thread, a_timer])
def test_what_a_test_leaves_behind_is_refused_also_during_the_next_one(
    begin: Callable[..., Any],
) -> None:
    tests = a_suite("W-1001", "W-1002").tests
    with replaying(tests[0]):
        begin([])
    with replaying(tests[0]) as session:
        GO.set()
        assert isinstance(RESULTS.get(timeout=5), UnrecordedCall)
        assert session.answers == ()
    assert RAN == []


def test_a_thread_of_a_grader_that_outlives_it_works_for_nobody_in_particular() -> None:
    jobs: queue.Queue[str | None] = queue.Queue()

    def work() -> None:
        while (order := jobs.get()) is not None:
            GO.set()
            cancel_when_over(order)

    first, second = a_suite("W-1001", "W-1002").tests
    with replaying(first), replaying(second):
        outside = contextvars.Context()

        def grade() -> None:
            with unasked():
                threading.Thread(target=work, daemon=True).start()
                jobs.put("by the grader")
                assert RESULTS.get(timeout=5) == "really"

        outside.run(grade)
        jobs.put("later")
        assert isinstance(RESULTS.get(timeout=5), RecorderError)
        jobs.put(None)
    assert RAN == ["cancel_order by the grader"]


def test_a_coroutine_that_is_awaited_when_the_replay_is_over_is_not_run() -> None:
    with replaying(a_suite("W-1001").tests[0]):
        made = cancel_later("W-1001")
    with pytest.raises(UnrecordedCall, match="over"):
        asyncio.run(_await(made))
    assert RAN == []


async def _await(made: Any) -> Any:
    return await made


PROGRAM = """
import asyncio, contextvars, sys, threading, time
import tracedance_sdk as td
from tests.replay.test_own_calls import a_suite
from tracedance_sdk.replay import Players, RuleCustomer, replaying, run_all
from tracedance_sdk.replay.running import FunctionAgent

@td.tool(effect="write")
def cancel_order(order_id):
    print("ITS CODE RAN")

def late():
    for wait_s in (0.05, 0.5):
        time.sleep(wait_s)
        try:
            sys.stdout.write(f"{cancel_order('W-1001')}\\n")
        except BaseException as error:
            sys.stdout.write(f"{type(error).__name__}\\n")

def start(messages=None):
    for run in (late, lambda run=contextvars.copy_context().run: run(late)):
        threading.Thread(target=run, daemon=False).start()
    return "Done."

suite = a_suite("W-1001")
if sys.argv[1] == "agent":
    run_all(suite, Players(lambda: FunctionAgent(start), RuleCustomer))
else:
    with replaying(suite.tests[0]):
        start()
"""


@pytest.mark.parametrize("kind", ["agent", "test"])
def test_nothing_runs_when_the_program_is_about_to_end(kind: str) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["UnrecordedCall"] * 4
