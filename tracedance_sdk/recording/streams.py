"""The call of a generator: one call, whose result is its items."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import result_attributes
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.failures import describe
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.values import freeze

Reduce = Callable[[list[Any]], object]
"""Makes one result of all items; called once, when the generator has ended."""

MAX_ITEM_BYTES: Final = 16 * 1024 * 1024
"""Most JSON bytes of items kept for one call."""


class StreamCall(OpenCall):
    """An open call that collects items, each as it was when it was yielded."""

    __slots__ = ("_cut", "_frozen", "_items", "_max_items", "_reduce", "_size")

    def collect(self, reduce: Reduce | None, max_items: int) -> None:
        """Say what becomes of the items.

        Args:
            reduce: Makes the result of them; None records the items themselves.
            max_items: How many are recorded without `reduce`; further ones set ``truncated``.
        """
        self._reduce = reduce
        self._max_items = max_items
        self._items: list[Any] = []
        self._frozen: list[bytes] = []
        self._size = 0
        self._cut = False
        self.run.streams.add(self)

    def add(self, item: object) -> None:
        """Take the next item, until the call has ended."""
        if self._ended:
            return
        if self._reduce is not None:
            self._items.append(item)
        elif self._cut or len(self._frozen) >= self._max_items or self._size > MAX_ITEM_BYTES:
            self._cut = True
        else:
            GUARD.attempt("item", self.run.faults, self._freeze, item)

    def exhaust(self) -> None:
        """End: all items are there."""
        GUARD.attempt("result", self.run.faults, self._exhaust)

    def interrupt(self) -> None:
        """End before the generator does: its run is over."""
        facts = result_attributes(
            ok=None, content=self._content(), interrupted=True, truncated=self._cut
        )
        self._end(perf_counter_ns(), facts, None)

    def _end(self, clock: int, facts: Attributes, error: str | None) -> None:
        self.run.streams.discard(self)
        super()._end(clock, facts, error)

    def _exhaust(self) -> None:
        clock = perf_counter_ns()
        self.finish(self._content(), truncated=self._cut, clock=clock)

    def _fail(self, clock: int, error: BaseException) -> None:
        closed = isinstance(error, GeneratorExit)
        self.finish(
            self._content(),
            ok=None if closed else False,
            failure=None if closed else describe(error, self.run.faults),
            truncated=self._cut,
            interrupted=closed,
            clock=clock,
        )

    def _freeze(self, item: object) -> None:
        data = freeze(item)
        self._frozen.append(data)
        self._size += len(data)

    def _content(self) -> str | None:
        if self._reduce is None:
            return self.run.text(b"[" + b",".join(self._frozen) + b"]")
        reduced: list[object] = []
        GUARD.attempt("reduce", self.run.faults, self._reduce_into, reduced)
        return self.run.text(freeze(reduced[0])) if reduced else None

    def _reduce_into(self, reduced: list[object]) -> None:
        if self._reduce is not None:
            reduced.append(self._reduce(self._items))
