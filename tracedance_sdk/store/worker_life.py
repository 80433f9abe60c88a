"""A process that shares in some work leaves its end to the process that started it.

It ends when that one is gone, and Ctrl-C does not reach it: who started it is told, and ends it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def end_with_parent() -> None:
    """Let this process end when its parent does, however that ended.

    To be called first in a process of a pool: one whose parent was killed waits for work for ever
    otherwise. In a process that `multiprocessing` did not start it does nothing.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, name="end-with-parent", daemon=True).start()


@contextmanager
def interruptions_held() -> Iterator[None]:
    """Hold Ctrl-C back; processes that are started meanwhile begin with it held back, and keep so.

    Without it one that is still starting Python tells of the interruption at length.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
