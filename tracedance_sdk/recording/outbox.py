"""A bounded queue of ended spans, emptied by one thread, so that no call waits for a network.

OpenTelemetry's own batch processor is not used because it neither counts what it drops, nor
bounds its memory by size, nor ends a flush in time.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.journal import SpanRecord
from tracedance_sdk.recording.leaving import leaving, text_size
from tracedance_sdk.recording.tallies import CLOSED, FULL, Tally
from tracedance_sdk.settings import read_setting

MAX_QUEUE_BYTES: Final = 32 * 1024 * 1024
"""Most text that waits in a queue."""

MAX_BATCH_BYTES: Final = 2 * 1024 * 1024
"""Text in one request, less than the 4 MiB that gRPC receivers take; one span may be larger."""


class Parcel(NamedTuple):
    """A span on its way, and the count of the run it belongs to.

    Attributes:
        size: Of its texts as it was queued, in bytes.
    """

    record: SpanRecord
    tally: Tally
    size: int


class Limits(NamedTuple):
    """Bounds of a queue.

    Attributes:
        spans: Most spans that wait.
        batch: Most spans in one request.
        delay_seconds: How long a span waits for company.
    """

    spans: int
    batch: int
    delay_seconds: float


def limits_asked_for() -> Limits:
    """Return the bounds that OpenTelemetry's variables of the batch processor ask for."""
    spans, batch, delay = (
        int(read_setting(name) or 0) for name in ("bsp_queue", "bsp_batch", "bsp_delay")
    )
    return Limits(max(spans, 1), max(min(batch, spans), 1), delay / 1000)


class Outbox:
    """Takes spans at once and hands them to `send` in batches, in a thread of its own.

    The lock is re-entrant: a finalizer that ends a call may run anywhere, in `put` too.

    Args:
        send: Sends a batch and counts what became of it; must not raise.
        with_content: Whether what leaves holds content.
        limits: Bounds of the queue.
    """

    def __init__(
        self, send: Callable[[list[Parcel]], None], *, with_content: bool, limits: Limits
    ) -> None:
        self._send = send
        self._with_content = with_content
        self._limits = limits
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._parcels: deque[Parcel] = deque()
        self._size = 0
        self._put = self._done = 0
        self._hurried = self._closed = False
        self._told: list[tuple[int, Callable[[], object]]] = []
        self._thread: threading.Thread | None = None

    def start_afresh_in_child(self) -> None:
        """Leave what waits to the process this one was forked from."""
        self._begin()

    @property
    def idle(self) -> bool:
        """Whether nothing waits or is being sent."""
        return self._put == self._done

    def start(self) -> None:
        """Start the thread, unless it runs: none can be started while the interpreter exits."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="tracedance-export", daemon=True
                )
                # It is nobody's, whoever was the first to need it.
                contextvars.Context().run(self._thread.start)

    def put(self, record: SpanRecord, tally: Tally) -> None:
        """Queue a span, or count it as dropped when there is no room for it."""
        size = text_size(record)
        if size + self._size > MAX_QUEUE_BYTES:
            record = leaving(record, with_content=self._with_content)
            size = text_size(record)
        with self._changed:
            tally.handed += 1
            if self._closed:
                tally.failed[CLOSED] += 1
                return
            if len(self._parcels) >= self._limits.spans or size + self._size > MAX_QUEUE_BYTES:
                tally.failed[FULL] += 1
                return
            self._parcels.append(Parcel(record, tally, size))
            self._size += size
            self._put += 1
            if len(self._parcels) == 1 or self._is_worth_a_request():
                self._changed.notify_all()
        if self._thread is None:
            self.start()

    def flush(self, patience_seconds: float) -> bool:
        """Send what waits now; return whether that came to an end in time."""
        with self._changed:
            target = self._hurry()
            return self._changed.wait_for(lambda: self._done >= target, patience_seconds)

    def flush_and_tell(self, done: Callable[[], object]) -> None:
        """Send what waits now, and call `done` when that came to an end."""
        with self._changed:
            target = self._hurry()
            if self._done < target:
                self._told.append((target, done))
                return
        done()

    def close(self, patience_seconds: float) -> int:
        """Send what waits, for a bounded time; return how many spans are left over."""
        with self._changed:
            self._closed = True
            target = self._hurry()
            if self._thread is not None:
                self._changed.wait_for(lambda: self._done >= target, patience_seconds)
            left = list(self._parcels)
            self._parcels.clear()
            for parcel in left:
                parcel.tally.failed[CLOSED] += 1
            self._done += len(left)
            self._changed.notify_all()
            return self._put - self._done + len(left)

    def _hurry(self) -> int:
        self._hurried = bool(self._parcels)
        self._changed.notify_all()
        return self._put

    def _is_worth_a_request(self) -> bool:
        return len(self._parcels) >= self._limits.batch or self._size >= MAX_BATCH_BYTES

    def _work(self) -> None:
        while parcels := self._take():
            for batch in self._packed(parcels):
                self._send(batch)
                self._settle(batch)

    def _take(self) -> list[Parcel]:
        """Wait for spans that are worth a request; none means the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._parcels or self._closed)
            self._changed.wait_for(
                lambda: self._hurried or self._closed or self._is_worth_a_request(),
                self._limits.delay_seconds,
            )
            n_taken = min(len(self._parcels), self._limits.batch)
            taken = [self._parcels.popleft() for _ in range(n_taken)]
            self._hurried = self._hurried and bool(self._parcels)
            return taken

    def _packed(self, parcels: list[Parcel]) -> Iterator[list[Parcel]]:
        """Yield the parcels as they leave, in batches of a size that receivers take."""
        batch: list[Parcel] = []
        size = 0
        for parcel in parcels:
            record = leaving(parcel.record, with_content=self._with_content)
            n_bytes = text_size(record)
            if batch and size + n_bytes > MAX_BATCH_BYTES:
                yield batch
                batch, size = [], 0
            batch.append(parcel._replace(record=record))
            size += n_bytes
        yield batch

    def _settle(self, batch: list[Parcel]) -> None:
        """Note that these are on their way no more, and tell who waits for that."""
        with self._changed:
            self._done += len(batch)
            self._size -= sum(parcel.size for parcel in batch)
            ready = [done for target, done in self._told if target <= self._done]
            self._told = [waiting for waiting in self._told if waiting[0] > self._done]
            self._changed.notify_all()
        for done in ready:
            done()
