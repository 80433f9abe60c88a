"""Signals that end a verb as Ctrl-C does, so that what was done so far is kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

_NAMES: Final = ("SIGTERM", "SIGHUP")
_OFFSET: Final = 128


class Stopped:
    """Which signal came.

    Attributes:
        number: Of the signal; Ctrl-C is SIGINT.
    """

    def __init__(self) -> None:
        self.number = int(signal.SIGINT)

    @property
    def exit_code(self) -> int:
        """What shells say of a process that the signal ended: 130, 143, 129."""
        return _OFFSET + self.number


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[Stopped]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt meanwhile; ignored ones stay ignored."""
    stopped = Stopped()

    def stop(number: int, _: FrameType | None) -> None:
        stopped.number = number
        if callable(signal.getsignal(signal.SIGINT)):
            # Whoever handles Ctrl-C, such as a running loop, handles this.
            signal.raise_signal(signal.SIGINT)
        else:
            raise KeyboardInterrupt

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
