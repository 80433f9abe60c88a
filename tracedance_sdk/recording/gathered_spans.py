"""The spans of a process sorted by OpenTelemetry trace, until all of a trace have ended.

Nothing is read, converted or assembled here: under the lock there are a few steps of bookkeeping,
and whoever makes a gathering complete takes it away with him.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.failures import Failure, describe
from tracedance_sdk.recording.guard import PROCESS_FAULTS

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, Span

    from tracedance_sdk.recording.scopes import Scope
    from tracedance_sdk.recording.snapshots import StateReader

TOO_MANY: Final = "more spans than one run may have"
TOO_LARGE: Final = "more bytes than one run may have"
NOT_BEGUN_HERE: Final = "ended without having begun here, or after their run was handed over"
LATE_LOGS: Final = "log records of no run that is open"

_PAUSE_SECONDS: Final = 0.25
"""How often, at most, it is looked whether something has waited too long."""


class CollectorLimits(NamedTuple):
    """How much a `SpanCollector` holds.

    Attributes:
        open_seconds: A run that is open longer is handed over as it is, with ``outcome.ended``
            False.
        wait_seconds: How long spans that are still open are waited for once the root has ended.
        run_spans: Most spans of one OpenTelemetry trace; further ones are counted.
        run_bytes: Most text in them, roughly.
        spans: Most spans of all open runs; beyond, the run that began first is handed over.
        bytes: Most text in them, roughly; beyond, the same.
        kept_bytes: Most text in the traces that are kept, roughly; beyond, the oldest is dropped.
    """

    open_seconds: float = 3600.0
    wait_seconds: float = 30.0
    run_spans: int = 10_000
    run_bytes: int = 64 << 20
    spans: int = 100_000
    bytes: int = 256 << 20
    kept_bytes: int = 256 << 20


def checked_limits(limits: CollectorLimits | None) -> CollectorLimits:
    """Return the limits given, or the default ones.

    Raises:
        InvalidOption: Something else, or a limit that is no positive number.
    """
    if limits is None:
        return CollectorLimits()
    if not isinstance(limits, CollectorLimits):
        raise InvalidOption(f"limits={limits!r} are no CollectorLimits")
    for name, value in limits._asdict().items():
        is_number = isinstance(value, int) or (isinstance(value, float) and "seconds" in name)
        if isinstance(value, bool) or not is_number or not value > 0:
            raise InvalidOption(f"limits: {name}={value!r} is no positive number")
    return limits


def stopping_here() -> BaseException | None:
    """Return what is stopping the code here from outside, as a cancellation does; None else.

    OpenTelemetry marks the spans that an `Exception` leaves, and no others. An iterator that is
    closed may well have given all that was wanted of it.
    """
    error = sys.exc_info()[1]
    is_failure = error is None or isinstance(error, (Exception, GeneratorExit))
    return None if is_failure else error


class Gathering:
    """The spans of one OpenTelemetry trace, from the start of its first one here.

    Attributes:
        trace_id: OpenTelemetry's.
        began: When, by the clock of `GatheredSpans`.
        open: Spans that have not ended, by id.
        ended: Spans that have, in that order.
        known: Ids of all of them.
        roots: Ids of open spans whose parents are not here.
        logs: Log records of theirs.
        left_by: Spans → what stopped the code in them from outside, such as a cancellation.
        handled: Open spans that began while such an exception was dealt with → that one's `id`.
        scopes: Scopes of our own recorders in which spans were started, by id.
        first_scope: The one in which the first span was.
        size: Roughly, of the texts in them.
        lost: Spans that were not kept, by reason.
        cut: Attributes and events that the provider's limits left out.
        reader: Takes the state.
        before: The state when the first root began.
        after: The state when the last one ended.
        looking: How many looks at the state are being taken.
        around: The span around, of another provider in this process, if there is one.
        has_agent: One of them is an agent; only known where `around` is.
        looked_at: How many of those that ended were looked at for it.
        roots_ended: When the last root ended.
    """

    def __init__(self, trace_id: int, *, began: float, scope: Scope | None) -> None:
        self.trace_id = trace_id
        self.began = began
        self.open: dict[int, Span] = {}
        self.ended: list[ReadableSpan] = []
        self.known: set[int] = set()
        self.roots: set[int] = set()
        self.logs: list[Any] = []
        self.left_by: dict[int, Failure] = {}
        self.handled: dict[int, int] = {}
        self.scopes: dict[int, Scope] = {}
        self.first_scope = scope
        self.size = 0
        self.lost: Counter[str] = Counter()
        self.cut = 0
        self.reader: StateReader | None = None
        self.before: bytes | None = None
        self.after: bytes | None = None
        self.looking = 0
        self.around: Any = None
        self.has_agent = False
        self.looked_at = 0
        self.roots_ended: float | None = None

    def spans(self) -> list[ReadableSpan]:
        """Return all spans, those that have ended first."""
        return [*self.ended, *list(self.open.values())]

    @property
    def waits_for_around(self) -> bool:
        """Whether more may come under the span around, which has not ended.

        Model calls without an agent are one run as long as that lasts; an agent ends by itself.
        """
        return self.around is not None and not self.has_agent and self.around.is_recording()


class Begun(NamedTuple):
    """What came of a span's start.

    Attributes:
        gathering: Where it is kept; None when it is not.
        is_first: It is the first of its trace.
        is_much: More is held than may be; see `GatheredSpans.due`.
    """

    gathering: Gathering | None
    is_first: bool = False
    is_much: bool = False


class SpanCounts(NamedTuple):
    """What became of spans so far.

    Attributes:
        taken: Spans that ended.
        open_runs: Gatherings.
        open_spans: Spans in them that have not ended.
        dropped: Spans and log records that were not kept, by reason.
    """

    taken: int
    open_runs: int
    open_spans: int
    dropped: dict[str, int]


class GatheredSpans:
    """All open gatherings of a collector. Every method may be called from any thread.

    The lock is re-entrant: a finalizer that ends a span may run inside any of these steps.

    Args:
        limits: How much is held.
    """

    def __init__(self, limits: CollectorLimits) -> None:
        self._limits = limits
        self.start_afresh()

    def start_afresh(self) -> None:
        """Hold nothing, whatever the lock was doing; the child of a fork begins so."""
        self._lock = threading.RLock()
        self._gatherings: dict[int, Gathering] = {}
        self._waiting: dict[int, Gathering] = {}
        self._n_spans = 0
        self._n_bytes = 0
        self._next_look = 0.0
        self._taken = 0
        self._dropped: Counter[str] = Counter()

    def counts(self) -> SpanCounts:
        """Return what became of the spans so far."""
        with self._lock:
            dropped = dict(self._dropped)
            for gathering in self._gatherings.values():
                for reason, count in gathering.lost.items():
                    dropped[reason] = dropped.get(reason, 0) + count
            open_spans = sum(len(g.open) for g in self._gatherings.values())
            return SpanCounts(self._taken, len(self._gatherings), open_spans, dropped)

    def drop(self, reason: str, count: int) -> None:
        """Count spans that became part of no trace."""
        if count:
            with self._lock:
                self._dropped[reason] += count

    def begin(self, span: Span, *, now: float, scope: Scope | None) -> Begun:
        """Take a span that has just started.

        Args:
            span: It.
            now: Seconds of a monotonic clock.
            scope: The scope of our own recorder in which it was started.
        """
        context = span.get_span_context()
        parent = span.parent
        with self._lock:
            found = self._gatherings.get(context.trace_id)
            is_first = found is None
            if found is None:
                found = Gathering(context.trace_id, began=now, scope=scope)
                self._gatherings[context.trace_id] = found
            elif len(found.known) >= self._limits.run_spans:
                found.lost[TOO_MANY] += 1
                return Begun(None)
            if parent is None or parent.span_id not in found.known:
                found.roots.add(context.span_id)
                found.roots_ended = None
            found.open[context.span_id] = span
            found.known.add(context.span_id)
            if scope is not None:
                found.scopes[context.span_id] = scope
            stopping = stopping_here()
            if stopping is not None:
                found.handled[context.span_id] = id(stopping)
            self._n_spans += 1
            return Begun(found, is_first, self._is_full())

    def end(self, span: ReadableSpan, *, size: int, counts: bool = True) -> Gathering | None:
        """Take a span that has just ended; return what is to be looked at, if anything is.

        That is its gathering, once no root of it is open, while more is held than may be, and
        where it is long and `take_between` may take it.

        Args:
            span: It.
            size: Roughly, of the texts in it.
            counts: Count it as dropped where its start is not known.
        """
        context, stopping = span.get_span_context(), stopping_here()
        failure = None if stopping is None else describe(stopping, PROCESS_FAULTS)
        with self._lock:
            found = None if context is None else self._gatherings.get(context.trace_id)
            if context is None or found is None or found.open.pop(context.span_id, None) is None:
                if counts and not (found and found.lost):
                    self._dropped[NOT_BEGUN_HERE] += 1
                return None
            found.roots.discard(context.span_id)
            before = found.handled.pop(context.span_id, None)
            if failure is not None and id(stopping) != before:
                found.left_by[context.span_id] = failure
            self._taken += 1
            if found.size + size > self._limits.run_bytes:
                found.lost[TOO_LARGE] += 1
            else:
                found.ended.append(span)
                found.cut += span.dropped_attributes + span.dropped_events
                found.size += size
                self._n_bytes += size
            is_waiting = found.roots and not self._is_full() and not self._is_between(found)
            return None if is_waiting else found

    def add_log(self, record: Any, *, trace_id: int, size: int) -> None:
        """Take a log record of an open trace; others are counted."""
        with self._lock:
            found = self._gatherings.get(trace_id)
            if found is None:
                self._dropped[LATE_LOGS] += 1
            elif len(found.logs) >= self._limits.run_spans:
                found.lost[TOO_MANY] += 1
            elif found.size + size > self._limits.run_bytes:
                found.lost[TOO_LARGE] += 1
            else:
                found.logs.append(record)
                found.size += size
                self._n_bytes += size

    def start_looking(self, gathering: Gathering) -> bool:
        """Whether the last root has ended, whose state is to be read before `complete`."""
        with self._lock:
            if gathering.roots or gathering.roots_ended is not None:
                return False
            gathering.looking += 1
            return True

    def stop_looking(self, gathering: Gathering, state: bytes | None) -> None:
        """Keep the state after a run; the run may then be taken."""
        with self._lock:
            gathering.looking -= 1
            gathering.after = state

    def complete(self, gathering: Gathering, *, now: float) -> list[Gathering]:
        """Return the gathering, taken away, if all of it has ended, and whatever else is due."""
        with self._lock:
            if not gathering.roots:
                if gathering.roots_ended is None:
                    gathering.roots_ended = now
                if self._is_held(gathering) and not self._is_done(gathering):
                    self._waiting[gathering.trace_id] = gathering
            found = [gathering] if self._is_done(gathering) and self._take(gathering) else []
        return found + self.due(now=now)

    def due(self, *, now: float, at_once: bool = False) -> list[Gathering]:
        """Return, taken away, what has waited too long or is more than may be held.

        Args:
            now: Seconds of the clock.
            at_once: Look for what waits even if somebody did a moment ago.
        """
        limits = self._limits
        found: list[Gathering] = []
        with self._lock:
            while self._gatherings:
                oldest = next(iter(self._gatherings.values()))
                if not self._is_full() and now - oldest.began < limits.open_seconds:
                    break
                if not self._take(oldest):
                    break
                found.append(oldest)
            if not self._waiting or (now < self._next_look and not at_once):
                return found
            self._next_look = now + _PAUSE_SECONDS
            for gathering in list(self._waiting.values()):
                if gathering.roots:
                    del self._waiting[gathering.trace_id]
                elif self._has_waited(gathering, now) and self._take(gathering):
                    found.append(gathering)
        return found

    def take_between(self, gathering: Gathering) -> list[Gathering]:
        """Return the gathering, taken away, if it is long and nothing but its roots is open."""
        with self._lock:
            return [gathering] if self._is_between(gathering) and self._take(gathering) else []

    def take_ended(self) -> list[Gathering]:
        """Return, taken away, everything whose roots have ended."""
        with self._lock:
            ended = [g for g in self._gatherings.values() if not g.roots and not g.looking]
            return [gathering for gathering in ended if self._take(gathering)]

    def take_all(self) -> list[Gathering]:
        """Return, taken away, everything."""
        with self._lock:
            return [g for g in list(self._gatherings.values()) if self._take(g)]

    def _is_between(self, gathering: Gathering) -> bool:
        is_long = len(gathering.known) > self._limits.run_spans // 2
        if not is_long and gathering.size <= self._limits.run_bytes // 2:
            return False
        return bool(gathering.roots) and gathering.open.keys() <= gathering.roots

    def _is_full(self) -> bool:
        return self._n_spans > self._limits.spans or self._n_bytes > self._limits.bytes

    def _is_held(self, gathering: Gathering) -> bool:
        return self._gatherings.get(gathering.trace_id) is gathering

    @staticmethod
    def _is_done(gathering: Gathering) -> bool:
        busy = gathering.open or gathering.roots or gathering.looking
        return not busy and not gathering.waits_for_around

    def _has_waited(self, gathering: Gathering, now: float) -> bool:
        if gathering.looking or gathering.waits_for_around:
            return False
        since = now if gathering.roots_ended is None else gathering.roots_ended
        return not gathering.open or now - since >= self._limits.wait_seconds

    def _take(self, gathering: Gathering) -> bool:
        if not self._is_held(gathering):
            return False
        del self._gatherings[gathering.trace_id]
        self._waiting.pop(gathering.trace_id, None)
        self._n_spans -= len(gathering.known)
        self._n_bytes -= gathering.size
        self._dropped.update(gathering.lost)
        return True
