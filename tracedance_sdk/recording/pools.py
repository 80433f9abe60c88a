"""Pipelines shared by all recorders of the process that want the same.

A pipeline no recorder uses is kept a while, so that one recorder after another writes one journal
and exports through one thread. Of those kept, the one unused longest is closed first; all are
closed when the interpreter exits.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from typing import Any, Final

from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.options import PipelineOptions
from tracedance_sdk.recording.pipeline import Pipeline, open_pipeline

MAX_IDLE: Final = 8
"""How many unused pipelines are kept open."""

_Key = tuple[Any, ...]


class PipelinePool:
    """Open pipelines by their options."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: Counter[_Key] = Counter()
        self._open: OrderedDict[_Key, Pipeline] = OrderedDict()

    def acquire(self, options: PipelineOptions) -> Pipeline:
        """Return the pipeline for these options; `release` it when done.

        Raises:
            JournalError: Its redaction key cannot be used.
        """
        key = _key(options)
        with self._lock:
            pipeline = self._open.get(key)
            if pipeline is None:
                pipeline = self._open[key] = open_pipeline(options)
            self._open.move_to_end(key)
            self._users[key] += 1
            return pipeline

    def release(self, options: PipelineOptions) -> None:
        """Give a pipeline back; it is closed when too many lie unused."""
        key = _key(options)
        with self._lock:
            self._users[key] -= 1
            idle = [other for other in self._open if self._users[other] <= 0]
            surplus = [self._forget(other) for other in idle[:-MAX_IDLE]]
        for pipeline in surplus:
            GUARD.attempt("close", Counter(), pipeline.close)

    def close(self) -> None:
        """Close every pipeline, used or not."""
        with self._lock:
            pipelines = [self._forget(key) for key in list(self._open)]
        for pipeline in pipelines:
            GUARD.attempt("close", Counter(), pipeline.close)

    def start_afresh_in_child(self) -> None:
        """Make the pool usable in a forked process, whatever its lock was doing."""
        self._lock = threading.Lock()

    def _forget(self, key: _Key) -> Pipeline:
        self._users.pop(key, None)
        return self._open.pop(key)


def _key(options: PipelineOptions) -> _Key:
    """Compare names by what they say, objects by what they are."""
    return tuple(
        value if value is None or isinstance(value, (str, bool)) else id(value) for value in options
    )


POOL: Final = PipelinePool()
