"""A program on a pseudo-terminal: what it shows is read, keys are sent to it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from pathlib import Path

TIMEOUT_S = 30


class Terminal:
    """Somebody at a terminal.

    Attributes:
        process: The program.
        shown: All that it has shown so far.
    """

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._descriptor = descriptor
        self._seen = 0

    def wait_for(self, text: str) -> str:
        """Read until a text is shown that was not waited for before; return what came up to it."""
        end = time.monotonic() + TIMEOUT_S
        while (at := self.shown.find(text, self._seen)) < 0:
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"no {text!r} in:\n{self.shown[self._seen :]}")
        found = self.shown[self._seen : at + len(text)]
        self._seen = at + len(text)
        return found

    def press(self, keys: str) -> None:
        """Send keys once the program takes them as they come, without Enter."""
        end = time.monotonic() + TIMEOUT_S
        while termios.tcgetattr(self._descriptor)[3] & termios.ICANON:
            if time.monotonic() > end:
                raise AssertionError(f"no keys are taken after:\n{self.shown}")
            time.sleep(0.005)
        os.write(self._descriptor, keys.encode())

    def type(self, line: str) -> None:
        """Send a line, with Enter."""
        os.write(self._descriptor, f"{line}\n".encode())

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        while self._read():
            pass
        return self.process.wait(TIMEOUT_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], TIMEOUT_S)
        if not ready:
            return False
        try:
            data = os.read(self._descriptor, 65_536)
        except OSError:  # the other end is closed
            return False
        self.shown += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


def _hears_hanging_up() -> None:
    """Undo what a parent that ignores it would pass on."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextlib.contextmanager
def on_terminal(
    arguments: Sequence[str | Path], *, cwd: Path, columns: int = 100, **environment: str
) -> Iterator[Terminal]:
    """Run the installed command on a pseudo-terminal of its own.

    Args:
        arguments: Of the command.
        cwd: Where it runs.
        columns: Width of the terminal.
        **environment: Further variables.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [Path(sys.executable).with_name("tracedance"), *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env={**inherited, "TERM": "xterm", "PYTHONUTF8": "1", **environment},
        start_new_session=True,
        preexec_fn=_hears_hanging_up,  # noqa: PLW1509 - one system call, no lock
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT_S)
        os.close(ours)
