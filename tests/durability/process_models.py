"""A service whose requests are runs of an agent, served by the processes of each model.

    python -m tests.durability.process_models MODEL [RECORDED_BEFORE]

With a second argument the parent records a run before it makes its processes; without, it has
only loaded the program, as prefork servers do. Journal and endpoint come from the environment.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

import tracedance_sdk as td

WORKERS: Final = 2
REQUESTS: Final = 3
"""Of each worker."""

CALLS: Final = 3
"""Of each request."""


@td.tool
def look_up(request: str, n: int) -> dict[str, Any]:
    return {"request": request, "n": n, "process": os.getpid()}


@td.agent(name="answer")
def answer(request: str) -> int:
    return sum(look_up(request, n)["n"] for n in range(CALLS))


def serve(worker: int) -> None:
    for n in range(REQUESTS):
        answer(f"{worker}.{n}")


def requests_of(workers: int) -> set[str]:
    return {f"{worker}.{n}" for worker in range(workers) for n in range(REQUESTS)}


def by_fork() -> None:
    """Processes that end by ``os._exit`` call `flush` themselves."""
    children = []
    for worker in range(WORKERS):
        child = os.fork()
        if child == 0:
            serve(worker)
            os._exit(0 if td.flush() else 1)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0] * WORKERS, codes


def by_fork_and_exit() -> None:
    """Processes that leave like any program."""
    children = []
    for worker in range(WORKERS):
        child = os.fork()
        if child == 0:
            serve(worker)
            sys.exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def by_method(method: str) -> Callable[[], None]:
    def start() -> None:
        context = multiprocessing.get_context(method)
        processes = [context.Process(target=serve, args=(n,)) for n in range(WORKERS)]  # type: ignore[attr-defined]  # each has it
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            assert process.exitcode == 0, process.exitcode

    return start


def by_executor(method: str) -> Callable[[], None]:
    def start() -> None:
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
            list(pool.map(serve, range(WORKERS)))

    return start


def by_pool() -> None:
    pool = multiprocessing.get_context("fork").Pool(WORKERS)
    pool.map(serve, range(WORKERS), chunksize=1)
    pool.close()
    pool.join()


MODELS: Final[dict[str, Callable[[], None]]] = {
    "os.fork, os._exit": by_fork,
    "os.fork, sys.exit": by_fork_and_exit,
    "multiprocessing, fork": by_method("fork"),
    "multiprocessing, forkserver": by_method("forkserver"),
    "multiprocessing, spawn": by_method("spawn"),
    "multiprocessing pool": by_pool,
    "ProcessPoolExecutor, fork": by_executor("fork"),
    "ProcessPoolExecutor, spawn": by_executor("spawn"),
}


if __name__ == "__main__":
    if len(sys.argv) > 2:
        answer("before")
    MODELS[sys.argv[1]]()
