"""A process that shares in some work ends when the process that started it is gone."""

from __future__ import annotations

import multiprocessing
import os
import threading


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
