"""What the process needs once recording begins: care at forks, and a flush at exit."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Final

from tracedance_sdk.recording.identifiers import reseed
from tracedance_sdk.recording.pools import POOL

_prepared: Final = threading.Event()


def prepare_process() -> None:
    """Register the hooks, the first time only."""
    if _prepared.is_set():
        return
    _prepared.set()
    atexit.register(_at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)


def _in_child() -> None:
    reseed()
    POOL.start_afresh_in_child()


def _at_exit() -> None:
    POOL.close()
