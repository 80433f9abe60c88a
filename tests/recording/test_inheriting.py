"""Threads and the work of pools begin with a variable, for a while, and leave nothing behind."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.recording.inheriting import Inheritance

PLACE: ContextVar[str | None] = ContextVar("place", default=None)


@pytest.fixture
def inheritance() -> Iterator[Inheritance]:
    before = threading.Thread.start, ThreadPoolExecutor.submit
    made = Inheritance(PLACE, lambda place: f"{place}, born")
    made.begin()
    token = PLACE.set("here")
    yield made
    PLACE.reset(token)
    made.end()
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == before


def seen_in(thread: type[threading.Thread] = threading.Thread, **more: Any) -> list[str | None]:
    """Return what a thread sees."""
    seen: list[str | None] = []
    made = thread(target=lambda: seen.append(PLACE.get()), **more)
    before = set(vars(made))
    made.start()
    made.join()
    assert "run" not in set(vars(made)) - before
    return seen


@pytest.mark.usefixtures("inheritance")
def test_a_thread_begins_with_it_and_its_threads_do() -> None:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(seen_in()))
    thread.start()
    thread.join()
    assert seen_in() == ["here, born"]
    assert seen == [["here, born, born"]]


@pytest.mark.usefixtures("inheritance")
def test_threads_keep_what_is_their_own() -> None:
    class Odd(threading.Thread):
        def __init__(self, **more: Any) -> None:
            super().__init__(**more)
            self.inner = self.run
            self.run = self.inner  # type: ignore[method-assign]

    class Closed(threading.Thread):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "run":
                raise AttributeError(name)
            super().__setattr__(name, value)

    assert seen_in(Odd) == ["here, born"]
    assert seen_in(Closed) == [None]
    thread = threading.Thread(target=int)
    thread.start()
    with pytest.raises(RuntimeError, match="once"):
        thread.start()
    thread.join()
    assert "run" not in vars(thread)


@pytest.mark.usefixtures("inheritance")
def test_what_a_thread_raises_is_raised() -> None:
    told: list[Any] = []
    before, threading.excepthook = threading.excepthook, lambda args: told.append(args.exc_value)
    thread = threading.Thread(target=int, args=("x",))
    thread.start()
    thread.join()
    threading.excepthook = before
    assert [type(error) for error in told] == [ValueError]


@pytest.mark.usefixtures("inheritance")
def test_work_has_that_of_whoever_gave_it_whichever_thread_takes_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(PLACE.get).result() == "here"
        outside = contextvars.Context()
        assert outside.run(pool.submit, PLACE.get).result() is None
        other = contextvars.Context()
        other.run(PLACE.set, "there")
        assert pool.submit(other.run, PLACE.get).result() == "there"
        assert list(pool.map(lambda number: (number, PLACE.get()), [1])) == [(1, "here")]
        failed: Future[Any] = pool.submit(int, "x")
        assert isinstance(failed.exception(), ValueError)
        assert pool.submit(pow, 2, exp=3).result() == 8


def test_it_is_put_back_also_below_another_that_came_later() -> None:
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    first, second = Inheritance(PLACE), Inheritance(PLACE)
    first.begin()
    first.begin()
    second.begin()
    first.end()
    assert threading.Thread.start is not start
    token = PLACE.set("here")
    assert seen_in() == ["here"]
    PLACE.reset(token)
    second.end()
    assert seen_in() == [None]
    # What was below stays where it was kept, and changes nothing.
    threading.Thread.start = start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]


PROGRAM = """
import gc, threading
from concurrent.futures import ThreadPoolExecutor
from tests.replay.test_own_calls import *
from tracedance_sdk.replay import replaying

def replaced():
    gc.collect()
    return [bool(open_sources), threading.Thread.start is not START, Pool.submit is not SUBMIT]

Pool = ThreadPoolExecutor
START, SUBMIT = threading.Thread.start, Pool.submit
suite, go = a_suite("W-1001"), threading.Event()
for agent in (clerk, with_threads, with_bare_threads):
    assert len(played(agent).answers) == 2
    assert replaced() == [False] * 3
with replaying(suite.tests[0]):
    get_order("W-1001")
    assert replaced() == [True] * 3
    thread = threading.Thread(target=go.wait)
    thread.start()
assert replaced() == [True] * 3
assert list(open_sources.values()) == [None]
go.set()
thread.join()
assert replaced() == [False] * 3
"""


def test_nothing_is_replaced_once_nothing_of_a_replay_is_left() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
