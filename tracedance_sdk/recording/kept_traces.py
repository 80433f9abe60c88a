"""Finished traces on their way to whoever wants them: a list, a folder, a function."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.scopes import CURRENT, QUIET

if TYPE_CHECKING:
    from tracedance_sdk.trace import Trace

PUSHED_OUT: Final = "traces dropped for newer ones"

_MOST_IDS: Final = 10_000
"""How many ids are remembered."""


class KeptTraces:
    """The newest finished traces, and what else becomes of every one.

    Args:
        out: Folder that takes a file of each; None for none.
        on_trace: Is called with each; None for nobody.
        max_traces: Most that are kept.
        max_bytes: Most text in them, roughly.
    """

    def __init__(
        self,
        *,
        out: Path | None,
        on_trace: Callable[[Trace], object] | None,
        max_traces: int,
        max_bytes: int,
    ) -> None:
        self._out = out
        self._on_trace = on_trace
        self._max_traces = max_traces
        self._max_bytes = max_bytes
        self.start_afresh()

    def start_afresh(self) -> None:
        """Keep nothing, whatever the lock was doing; the child of a fork begins so."""
        self._lock = threading.RLock()
        self._kept: deque[tuple[Trace, int]] = deque()
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._bytes = 0
        self.finished = 0
        self.written = 0
        self.pushed_out = 0

    def listed(self) -> list[Trace]:
        """Return the traces that are kept, oldest first."""
        with self._lock:
            return [trace for trace, _ in self._kept]

    def knows(self, trace_id: str) -> bool:
        """Whether a trace with this id was finished, as far as is remembered."""
        with self._lock:
            return trace_id in self._ids

    def add(self, trace: Trace, *, size: int, faults: Counter[str]) -> None:
        """Take a finished trace.

        Args:
            trace: It.
            size: Roughly, of its texts in bytes.
            faults: Where to count a file that cannot be written, and what the function raises.
        """
        with self._lock:
            self.finished += 1
            self._ids[trace.id] = None
            if len(self._ids) > _MOST_IDS:
                self._ids.popitem(last=False)
            self._kept.append((trace, size))
            self._bytes += size
            while len(self._kept) > self._max_traces or self._bytes > self._max_bytes:
                self._bytes -= self._kept.popleft()[1]
                self.pushed_out += 1
        if self._out is not None:
            GUARD.attempt("out", faults, self._write, trace, self._out)
        if self._on_trace is not None:
            GUARD.attempt("on_trace", faults, self._tell, trace, self._on_trace)

    def _write(self, trace: Trace, folder: Path) -> None:
        from tracedance_sdk.formats.trace_json import save_trace

        save_trace(trace, folder / f"{trace.id}.json", is_private=True)
        with self._lock:
            self.written += 1

    @staticmethod
    def _tell(trace: Trace, function: Callable[[Trace], object]) -> None:
        # What the function does is not part of any run: an agent that judges traces would be
        # collected, and judged, without end.
        token = CURRENT.set(QUIET)
        try:
            function(trace)
        finally:
            CURRENT.reset(token)
