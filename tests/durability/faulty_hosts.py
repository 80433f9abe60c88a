"""Programs to which something goes wrong while they record, or that end in an unusual way.

    python -m tests.durability.faulty_hosts SCENARIO FOLDER REPORT {plain,recorded}

Run ``plain`` the program does the same without a recorder, so that both can be compared. What the
host itself sees (values, exceptions) goes to standard output; what `close` says, as JSON, to the
file REPORT.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

SCENARIOS: dict[str, Callable[[Host], None]] = {}
"""Name → the program."""

_FILLER: Final = "filler"


class Host:
    """One program: its folder, and whether it records.

    Attributes:
        folder: Of the journal.
        is_recorded: Whether it records.
    """

    def __init__(self, folder: Path, report: Path, *, recorded: bool) -> None:
        self.folder = folder
        self._report = report
        self.is_recorded = recorded
        self.act: Callable[..., Any] = self.tool(act)

    def tool(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as the program has it: decorated when it records."""
        if not self.is_recorded:
            return function
        from tracedance_sdk.recording import tool

        return tool(function)

    def recorder(self) -> Any:
        """Return a recorder, or something with as little effect when the program has none."""
        if not self.is_recorded:
            return nullcontext()
        from tracedance_sdk.recording import TraceRecorder

        return TraceRecorder(journal=self.folder, state={"n": 1})

    @contextmanager
    def run(self) -> Iterator[None]:
        """Be in a run; when it is over, report what `close` says."""
        recorder = self.recorder()
        if not self.is_recorded:
            yield
            return
        try:
            with recorder:
                yield
        finally:
            calls = [[call.name, call.arguments] for call in recorder.trace.calls]
            said = {**recorder.close()._asdict(), "calls": calls}
            self._report.write_text(json.dumps(said, default=dict))

    def work(self, start: int, calls: int = 5) -> None:
        """Make calls and show what came of them."""
        for n in range(start, start + calls):
            try:
                show("value", self.act(n))
            except ValueError as error:
                show("error", str(error))


def act(n: int) -> dict[str, Any]:
    """A tool: every third use fails."""
    if n % 3 == 2:
        raise ValueError(f"{n} cannot be done")
    return {"n": n, "text": "x" * 500}


def show(*what: object) -> None:
    """Print what the host sees."""
    print(json.dumps(what), flush=True)


def scenario(name: str) -> Callable[[Callable[[Host], None]], Callable[[Host], None]]:
    """Register a program."""

    def register(function: Callable[[Host], None]) -> Callable[[Host], None]:
        SCENARIOS[name] = function
        return function

    return register


@scenario("os._exit in a tool")
def _(host: Host) -> None:
    leave = host.tool(lambda: os._exit(7))
    with host.run():
        host.work(0)
        leave()


@scenario("abort in a tool")
def _(host: Host) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with host.run():
        host.work(0)
        host.tool(os.abort)()


@scenario("SIGTERM in a tool")
def _(host: Host) -> None:
    with host.run():
        host.work(0)
        host.tool(lambda: os.kill(os.getpid(), signal.SIGTERM))()


@scenario("SIGINT in a tool")
def _(host: Host) -> None:
    def wait() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    with host.run():
        host.work(0)
        host.tool(wait)()


@scenario("an unhandled exception")
def _(host: Host) -> None:
    with host.run():
        host.work(0, 2)
        host.act(2)


@scenario("sys.exit in a tool")
def _(host: Host) -> None:
    with host.run():
        host.work(0)
        host.tool(sys.exit)(5)


@scenario("sys.exit in a thread")
def _(host: Host) -> None:
    leave = host.tool(sys.exit)
    with host.run():
        thread = threading.Thread(target=leave, args=(5,))
        thread.start()
        thread.join()
        host.work(0)


@scenario("a daemon thread at exit")
def _(host: Host) -> None:
    begun = threading.Event()

    def on_and_on() -> None:
        for n in itertools.count():
            host.act(n * 3)
            begun.set()

    with host.run():
        threading.Thread(target=on_and_on, daemon=True).start()
        begun.wait()
        show("begun")


@scenario("an exit inside the recorder's statement")
def _(host: Host) -> None:
    KEPT.append(host.recorder())
    KEPT[0].__enter__()
    host.work(0)


KEPT: Final[list[Any]] = []
"""What is never left."""


@scenario("a full disk")
def _(host: Host) -> None:
    with host.run():
        host.work(0)
        fill(host.folder)
        host.work(10)
        show("large", len(host.tool(large)()))
        (host.folder / _FILLER).unlink()
        host.work(20)


@scenario("a disk full from the start")
def _(host: Host) -> None:
    fill(host.folder)
    with host.run():
        host.work(0)


def fill(folder: Path) -> None:
    """Use up the space of the folder's disk to the last byte."""
    with (folder / _FILLER).open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass


def large() -> str:
    """A tool whose result is kept as a blob."""
    return "y" * 50_000


@scenario("a limit on file sizes")
def _(host: Host) -> None:
    with host.run():
        host.work(0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, resource.RLIM_INFINITY))
        host.work(10, 60)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


@scenario("a removed folder")
def _(host: Host) -> None:
    with host.run():
        host.work(0)
        shutil.rmtree(host.folder, ignore_errors=True)
        time.sleep(0.1)
        host.work(10)


@scenario("a folder that cannot be written")
def _(host: Host) -> None:
    with host.run():
        host.work(0)


@scenario("a clock that jumps back")
def _(host: Host) -> None:
    with host.run():
        host.work(0)
        CLOCK.append(lambda: REAL_CLOCK() - 3600 * 10**9)
        host.work(10)
        child = os.fork()
        if child == 0:
            host.act(90)
            os._exit(0)
        os.waitpid(child, 0)


def clock() -> int:
    """Stand in for ``time.time_ns``."""
    return CLOCK[-1]()


REAL_CLOCK: Final = time.time_ns
CLOCK: Final[list[Callable[[], int]]] = [REAL_CLOCK]
"""The last one is what the time is taken from."""


@scenario("no descriptors left")
def _(host: Host) -> None:
    with host.run():
        host.work(0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        taken = take_descriptors()
        host.work(10)
        show("large", len(host.tool(large)()))
        for descriptor in taken:
            os.close(descriptor)


@scenario("no descriptors from the start")
def _(host: Host) -> None:
    if host.is_recorded:
        _warm()
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken = take_descriptors()
    with host.run():
        host.work(0)
        for descriptor in taken:
            os.close(descriptor)


def take_descriptors() -> list[int]:
    """Use up the descriptors of this process."""
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return taken


def _warm() -> None:
    """Import what a recorder needs while files can still be opened."""
    from tracedance_sdk.recording import TraceRecorder, tool

    with TraceRecorder(state={"n": 1}) as recorder:
        tool(act)(1)
    assert recorder.trace.calls


@scenario("a closed sys.stderr, and a folder that cannot be written")
def _(host: Host) -> None:
    sys.stderr.close()
    with host.run():
        host.work(0)


@scenario("no standard descriptors")
def _(host: Host) -> None:
    for descriptor in (0, 2):
        os.close(descriptor)
    with host.run():
        host.work(0, 1)
        try:
            show("input", len(os.read(0, 100)))
        except OSError as error:
            show("error", error.errno)
        try:
            os.write(2, b"a message of the host, or of a library in C\n")
        except OSError as error:
            show("error", error.errno)
        host.work(1)


@scenario("descriptors closed behind our back")
def _(host: Host) -> None:
    own = host.folder.with_name(f"{host.folder.name}.own")
    with host.run():
        host.work(0)
        os.closerange(3, 4096)
        with own.open("w") as file:
            host.work(10)
            file.write("the host's own")
        show("own file", own.read_text())


def main() -> None:
    name, folder, report, mode = sys.argv[1:]
    if name == "a clock that jumps back":
        time.time_ns = clock
    SCENARIOS[name](Host(Path(folder), Path(report), recorded=mode == "recorded"))


if __name__ == "__main__":
    main()
