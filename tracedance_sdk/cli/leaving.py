"""How the process ends where code of others may never return."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Final, NoReturn

_GRACE_S: Final = 1.0
_LOOK_S: Final = 0.02
_IDLE: Final = ("tracedance agents", "tracedance customers", "tracedance graders")
"""Threads that only wait, and are no reason to leave in haste."""

_leaves_behind = False


def leave_threads_behind() -> None:
    """Let the process end though threads of others are still running."""
    global _leaves_behind  # noqa: PLW0603 - it is about the process
    _leaves_behind = True


def leave(code: int) -> NoReturn:
    """End the process.

    Threads that are not done after a second are waited for, unless `leave_threads_behind` was
    called: then the process ends at once, without what programs have asked to be called at exit.

    Args:
        code: The exit code.
    """
    if _leaves_behind and not _are_done():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _are_done() -> bool:
    """Whether other threads are done, or soon will be."""
    until = time.monotonic() + _GRACE_S
    while busy := _busy():
        if time.monotonic() > until:
            return False
        busy[0].join(_LOOK_S)
    return True


def _busy() -> list[threading.Thread]:
    own = threading.current_thread()
    return [
        thread
        for thread in threading.enumerate()
        if thread is not own and not thread.name.startswith(_IDLE)
    ]
