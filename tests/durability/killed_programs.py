"""What is killed: programs that record calls and tell at once, over a pipe, how far each one got.

A call is known by its *step*, a text that no other call of the run has. On the pipe there is one
line for each thing that happened, written after it happened:

    S 4711      process 4711 works for the run (the first line: the run is about to be opened)
    + t2.5      the body of the call t2.5 has begun
    - t2.5      the call returned, or raised, to its caller
    E 4711      process 4711 has done its work
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

from tracedance_sdk.recording import TraceRecorder, tool

STEPS: Final = 12
"""Calls of each line of work, calls inside calls not counted."""

LARGE_CHARS: Final = 40_000
"""Length of a result that is kept as a blob."""

_LONGEST_BODY_SECONDS: Final = 0.003


class Told(Exception):
    """What a call that fails raises."""


class Pipe:
    """Where the program says how far it got.

    Attributes:
        descriptor: To be written to; a line is one write, which a pipe takes whole or not at all.
        random: How long bodies take.
    """

    def __init__(self) -> None:
        self.descriptor = -1
        self.random = Random(0)

    def say(self, sign: str, what: object = "") -> None:
        if self.descriptor >= 0:
            os.write(self.descriptor, f"{sign} {what}\n".encode())

    def body(self, step: str) -> float:
        """Say that a body began; return how long it is to take."""
        self.say("+", step)
        return self.random.random() * _LONGEST_BODY_SECONDS


PIPE: Final = Pipe()


def value(step: str) -> dict[str, Any]:
    """Return what the call of a step returns; of every seventh it is large."""
    number = int(step.rpartition(".")[2].rstrip("i"))
    return {"step": step, "text": "x" * (LARGE_CHARS if number % 7 == 6 else 300)}


@tool
def work(step: str) -> dict[str, Any]:
    time.sleep(PIPE.body(step))
    return value(step)


@tool
def outer(step: str) -> dict[str, Any]:
    PIPE.body(step)
    inner = f"{step}i"
    work(inner)
    PIPE.say("-", inner)
    return value(step)


@tool
def stream(step: str) -> Iterator[Any]:
    seconds = PIPE.body(step)
    for part in (step, 1, 2):
        time.sleep(seconds / 3)
        yield part


@tool
def fail(step: str) -> None:
    time.sleep(PIPE.body(step))
    raise Told(step)


@tool
async def work_async(step: str) -> dict[str, Any]:
    await asyncio.sleep(PIPE.body(step))
    return value(step)


@tool
async def outer_async(step: str) -> dict[str, Any]:
    PIPE.body(step)
    inner = f"{step}i"
    await work_async(inner)
    PIPE.say("-", inner)
    return value(step)


@tool
async def stream_async(step: str) -> AsyncIterator[Any]:
    seconds = PIPE.body(step)
    for part in (step, 1, 2):
        await asyncio.sleep(seconds / 3)
        yield part


@tool
async def fail_async(step: str) -> None:
    await asyncio.sleep(PIPE.body(step))
    raise Told(step)


def line_of_work(name: str) -> None:
    """Make calls one after the other."""
    for number in range(STEPS):
        step = f"{name}.{number}"
        try:
            if number % 5 == 2:
                outer(step)
            elif number % 5 == 3:
                list(stream(step))
            elif number % 5 == 4:
                fail(step)
            else:
                work(step)
        except Told:
            pass
        PIPE.say("-", step)


async def task_of_work(name: str) -> None:
    """Make asynchronous calls one after the other."""
    for number in range(STEPS):
        step = f"{name}.{number}"
        try:
            if number % 5 == 2:
                await outer_async(step)
            elif number % 5 == 3:
                _ = [part async for part in stream_async(step)]
            elif number % 5 == 4:
                await fail_async(step)
            else:
                await work_async(step)
        except Told:
            pass
        PIPE.say("-", step)


def on_threads(recorder: TraceRecorder) -> None:
    """Two threads of the recorder's own pool, and one that joins because it is the only run."""
    bare = threading.Thread(target=line_of_work, args=("bare",))
    bare.start()
    with recorder.thread_pool(2) as pool:
        for _ in pool.map(line_of_work, ("pool0", "pool1")):
            pass
    bare.join()


def on_asyncio(recorder: TraceRecorder) -> None:
    async def main() -> None:
        await asyncio.gather(*(task_of_work(f"task{n}") for n in range(3)))

    asyncio.run(main())


def on_both(recorder: TraceRecorder) -> None:
    async def main() -> None:
        tasks = [task_of_work(f"task{n}") for n in range(2)]
        threads = [asyncio.to_thread(line_of_work, f"thread{n}") for n in range(2)]
        await asyncio.gather(*tasks, *threads)

    asyncio.run(main())


def in_forks(recorder: TraceRecorder) -> None:
    """Two forked processes and this one, which forks while another thread of it is recording."""
    thread = threading.Thread(target=recorder.wrap(line_of_work), args=("thread",))
    thread.start()
    children = [_forked(line_of_work, f"fork{n}") for n in range(2)]
    line_of_work("main")
    thread.join()
    for child in children:
        os.waitpid(child, 0)


def _forked(target: Callable[[str], None], name: str) -> int:
    child = os.fork()
    if child == 0:
        try:
            PIPE.say("S", os.getpid())
            target(name)
            PIPE.say("E", os.getpid())
        finally:
            os._exit(0)
    return child


KINDS: Final[dict[str, Callable[[TraceRecorder], None]]] = {
    "threads": on_threads,
    "asyncio": on_asyncio,
    "both": on_both,
    "forks": in_forks,
}
"""Name → the program's run."""


def record_run(kind: str, folder: Path, *, durability: Literal["os", "fsync"] = "os") -> None:
    """Do one run of a kind with the journal in a folder."""
    PIPE.say("S", os.getpid())
    with TraceRecorder(
        task_id=kind,
        journal=folder,
        durability=durability,
        system_prompt="Do all the steps.",
        state={"steps": STEPS},
    ) as recorder:
        recorder.record_turn("user", "go")
        KINDS[kind](recorder)
    PIPE.say("E", os.getpid())
