"""What a process needs once it records: care after forks, and an orderly end at exit.

A program may fork before anything was recorded in it (servers do), fork without telling Python
(uWSGI may), or end a worker past `atexit` (`multiprocessing` does): each process is therefore
looked after when its first run begins, whatever was done in the process it came from.
"""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import Final, Protocol

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.identifiers import reseed
from tracedance_sdk.recording.pipeline import EXPORTS, PIPELINES
from tracedance_sdk.recording.scopes import open_runs

_AFTER_EVERYTHING_ELSE: Final = -1000


class LookedAfter(Protocol):
    """What has to part from its parent after a fork, and to end in order."""

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process, whatever the locks were doing in its parent."""

    def give_up(self) -> None:
        """End: the process does."""


looked_after: Final[weakref.WeakSet[LookedAfter]] = weakref.WeakSet()
"""Whatever is looked after beside open runs and what they share."""


class ProcessCare:
    """Looks after the process it finds itself in; a forked one inherits it."""

    def __init__(self) -> None:
        self._prepared = 0
        self._parted = 0
        self._hooked = False

    def prepare(self) -> None:
        """Be ready to record in this process; does nothing the second time."""
        process = os.getpid()
        if self._prepared == process:
            return
        self._prepared = process
        if self._parted != process:
            self._part()
        if not self._hooked:
            self._hooked = True
            atexit.register(_at_exit)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._part)
        self._watch_exit()

    def _part(self) -> None:
        """Part from the parent: ids of our own, and locks that no thread of the parent holds."""
        self._parted = os.getpid()
        reseed()
        if not self._hooked:
            return
        PIPELINES.start_afresh_in_child()
        EXPORTS.start_afresh_in_child()
        for run in open_runs:
            run.start_afresh_in_child()
        for other in list(looked_after):
            other.start_afresh_in_child()
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            # A child of multiprocessing forgets its finalizers first, then calls this.
            util.register_after_fork(self, ProcessCare._watch_exit)

    def _watch_exit(self) -> None:
        """Make a process of multiprocessing, which ends past `atexit`, end in order too."""
        process = sys.modules.get("multiprocessing.process")
        util = sys.modules.get("multiprocessing.util")
        if process is not None and util is not None and process.parent_process() is not None:
            util.Finalize(None, _at_exit, exitpriority=_AFTER_EVERYTHING_ELSE)


def _at_exit() -> None:
    for run in list(open_runs):
        GUARD.attempt("exit", run.faults, run.give_up)
    for other in list(looked_after):
        GUARD.attempt("exit", PROCESS_FAULTS, other.give_up)
    PIPELINES.close()
    EXPORTS.close()


_CARE: Final = ProcessCare()


def prepare_process() -> None:
    """Be ready to record in this process; called whenever a run begins."""
    _CARE.prepare()
