"""What the process needs once recording begins: care at forks, and an orderly end at exit."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Final

from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.identifiers import reseed
from tracedance_sdk.recording.pipeline import EXPORTS, PIPELINES
from tracedance_sdk.recording.scopes import open_runs

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
    """Part from the parent: ids of our own, and locks that no thread of the parent holds."""
    reseed()
    PIPELINES.start_afresh_in_child()
    EXPORTS.start_afresh_in_child()
    for run in open_runs:
        run.start_afresh_in_child()


def _at_exit() -> None:
    for run in list(open_runs):
        GUARD.attempt("exit", run.faults, run.give_up)
    PIPELINES.close()
    EXPORTS.close()
