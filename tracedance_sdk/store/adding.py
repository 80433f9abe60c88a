"""Add traces: prepare them, decide which ones count, write a partition, commit.

What is prepared does not depend on the store. What counts does, so it is decided again when
another importer's manifest came first; the partition is written anew only if that changes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidTrace, StoreError
from tracedance_sdk.formats import ToolShapes
from tracedance_sdk.store.facts import Measure, StoredDocument, document_digest, facts_of
from tracedance_sdk.store.families import families, member_of
from tracedance_sdk.store.folder import LocalFolder, present
from tracedance_sdk.store.key_index import KeyIndex, Known, Spot
from tracedance_sdk.store.manifest import Manifest, Partition
from tracedance_sdk.store.moving import moved_shapes
from tracedance_sdk.store.partitions import Content, Fresh, Rows, write_partition
from tracedance_sdk.store.protection import is_as_protected
from tracedance_sdk.store.telling_apart import TellingApart
from tracedance_sdk.trace import Trace, encode_json, require_trace

BATCH_BYTES: Final = 32 * 1024**2
"""Documents that one partition holds, unless a single one or a family is larger."""

BATCH_ROWS: Final = 20_000
"""The most traces of one partition."""

FAMILY_BYTES: Final = 256 * 1024**2
"""A family larger than this is not moved any more when it grows; its rest lies elsewhere."""

_FAMILY_ROWS: Final = 20_000
_MOST_ATTEMPTS: Final = 1_000


OnNotable = Callable[[str, str], None]
"""Is told of a trace that was replaced or left out: how, and its id."""


class AddSummary(NamedTuple):
    """What `add` did with the traces it was given.

    Attributes:
        added: New in the store.
        replaced: More protected or longer than, or as long as and different from, what was there
            under their id.
        unchanged: Equal to what was there.
        older: Shorter than what is there, and left out.
        less_protected: Different from what is there, which is without secrets or people that they
            may have, and left out whatever their length.
        apart: Of the traces, those that shared their id with another run and got one of their own.
        refused: Traces that cannot be written as JSON, one line each.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    older: int = 0
    less_protected: int = 0
    apart: int = 0
    refused: tuple[str, ...] = ()

    def plus(self, other: AddSummary) -> AddSummary:
        """Return the sum of both."""
        return AddSummary(
            self.added + other.added,
            self.replaced + other.replaced,
            self.unchanged + other.unchanged,
            self.older + other.older,
            self.less_protected + other.less_protected,
            self.apart + other.apart,
            self.refused + other.refused,
        )


class _Batch:
    """Traces that become one partition."""

    def __init__(self) -> None:
        self.items: list[Fresh] = []
        self.bytes = 0
        self.shapes = ToolShapes()

    def add(self, item: StoredDocument, digest: str) -> None:
        """Take a trace apart and keep its rows."""
        trace, data, protection, supersedes = item
        facts = facts_of(trace, size=len(data), digest=digest, protection=protection)
        measure = Measure(len(facts.turns), len(facts.calls), len(data))
        self.items.append(
            Fresh(member_of(trace), measure, digest, data, facts, protection, supersedes)
        )
        self.shapes.add(trace)
        self.bytes += len(data)

    def is_full(self, coming: Trace, size: int) -> bool:
        """Whether the next trace should go into another partition."""
        if not self.items:
            return False
        if self.bytes + size > 2 * BATCH_BYTES or len(self.items) >= BATCH_ROWS:
            return True
        if self.bytes + size <= BATCH_BYTES:
            return False
        last, next_one = self.items[-1].member, member_of(coming)
        same_session = last.session_id is not None and last.session_id == next_one.session_id
        return not same_session and next_one.parent_id != last.trace_id


class _Plan(NamedTuple):
    """What a batch does to a store.

    Attributes:
        written: The traces to write, in order.
        dropped: Rows that no longer count.
        moved: Those of them that are taken over, as they belong to a family that grew.
        rows: The same by partition.
        summary: What becomes of the traces.
        kinds: What becomes of each, and its id.
    """

    written: tuple[Fresh, ...]
    dropped: frozenset[Spot]
    moved: tuple[Known, ...]
    rows: tuple[Rows, ...]
    summary: AddSummary
    kinds: tuple[tuple[int, str], ...]

    def is_written_like(self, other: _Plan) -> bool:
        """Whether both write the same partition."""
        return self.written == other.written and self.moved == other.moved


class Adding:
    """One `add`: batches are written in a thread of their own while the next is prepared.

    Args:
        folder: The store's; it is there.
        index: Kept up with the store as it grows.
        on_notable: Is told of each trace that was replaced or left out: how, and its id. The names
            are those of `AddSummary`.
    """

    def __init__(
        self, folder: LocalFolder, index: KeyIndex, *, on_notable: OnNotable | None = None
    ) -> None:
        self._on_notable = on_notable
        self._folder = folder
        self._index = index
        self._batch = _Batch()
        self._summary = AddSummary()
        self._waiting: set[str] = set()
        self._apart = TellingApart(folder, index)

    def run(self, traces: Iterable[Trace | StoredDocument]) -> AddSummary:
        """Add traces; see `TraceStore.add`."""
        self._index.follow(present(self._folder).manifest)
        with ThreadPoolExecutor(1, thread_name_prefix="tracedance-store") as pool:
            pending: Future[AddSummary] | None = None
            for coming in self._encoded(traces):
                digest = document_digest(coming.data)
                item = self._apart.take(coming, digest)
                trace, data, *_ = item
                if item is not coming:
                    digest = document_digest(data)
                if self._is_settled(item, digest):
                    continue
                if self._batch.is_full(trace, len(data)):
                    pending = self._hand_over(pool, pending)
                    self._waiting = {trace.id}
                self._waiting.add(trace.id)
                self._batch.add(item, digest)
            pending = self._hand_over(pool, pending)
            self._take(pending)
        return self._summary._replace(apart=self._apart.count)

    def _encoded(self, traces: Iterable[Trace | StoredDocument]) -> Iterator[StoredDocument]:
        for item in traces:
            if isinstance(item, StoredDocument):
                yield item
                continue
            trace = require_trace(item)
            try:
                yield StoredDocument(trace, encode_json(trace))
            except InvalidTrace as error:
                self._summary = self._summary.plus(AddSummary(refused=(str(error),)))

    def _is_settled(self, item: StoredDocument, digest: str) -> bool:
        """Whether the store has a trace as it is, or better: then it need not be taken apart."""
        trace, data, protection, supersedes = item
        known = None if trace.id in self._waiting else self._index.find(trace.id)
        if known is None:
            return False
        version = _Version(_measure(trace, len(data)), digest, protection, supersedes)
        kind = _compared(version, known)
        if kind <= _REPLACED:
            return False
        self._tell([(kind, trace.id)])
        counts = [0] * _KINDS
        counts[kind] = 1
        self._summary = self._summary.plus(_summary(counts))
        return True

    def _tell(self, settled: Iterable[tuple[int, str]]) -> None:
        if self._on_notable is not None:
            for kind, trace_id in settled:
                if kind in _NOTABLE:
                    self._on_notable(_NOTABLE[kind], trace_id)

    def _hand_over(
        self, pool: ThreadPoolExecutor, pending: Future[AddSummary] | None
    ) -> Future[AddSummary]:
        self._take(pending)
        batch, self._batch = self._batch, _Batch()
        self._apart.next_batch()
        return pool.submit(self._commit, batch)

    def _take(self, pending: Future[AddSummary] | None) -> None:
        if pending is not None:
            self._summary = self._summary.plus(pending.result())

    def _commit(self, batch: _Batch) -> AddSummary:
        if not batch.items:
            return AddSummary()
        written: tuple[_Plan, Partition] | None = None
        with self._folder.writing():
            for _ in range(_MOST_ATTEMPTS):
                manifest, number = present(self._folder)
                with self._index.at(manifest):
                    plan = self._plan(batch.items)
                if not plan.written:
                    self._tell(plan.kinds)
                    return plan.summary
                if written is None or not written[0].is_written_like(plan):
                    written = plan, self._write(plan, batch.shapes)
                changed = manifest_without(manifest, plan.dropped, number=number)
                new = changed._replace(partitions=(*changed.partitions, written[1]))
                if self._folder.commit(new):
                    self._index.follow(new)
                    self._tell(plan.kinds)
                    return plan.summary
        raise StoreError(f"the store {str(self._folder)!r} is busy: no manifest could be written")

    def _plan(self, items: Iterable[Fresh]) -> _Plan:
        kept: dict[str, Fresh] = {}
        before: dict[str, Known | None] = {}
        counts = [0] * _KINDS
        kinds: list[tuple[int, str]] = []
        for item in items:
            trace_id = item.member.trace_id
            if trace_id not in before:
                before[trace_id] = self._index.find(trace_id)
            known = kept.get(trace_id) or before[trace_id]
            kind = _compared(item, known)
            counts[kind] += 1
            kinds.append((kind, trace_id))
            if kind <= _REPLACED:
                kept[trace_id] = item
        replaced = {known.spot for trace_id in kept if (known := before[trace_id]) is not None}
        related = self._index.related(item.member for item in kept.values()) if kept else []
        moved = tuple(known for known in related if known.spot not in replaced)
        if sum(known.measure.bytes for known in moved) > FAMILY_BYTES or len(moved) > _FAMILY_ROWS:
            moved = ()
        dropped = frozenset(replaced | {known.spot for known in moved})
        rows, summary = self._rows(moved), _summary(counts)
        return _Plan(tuple(kept.values()), dropped, moved, rows, summary, tuple(kinds))

    def _rows(self, moved: Iterable[Known]) -> tuple[Rows, ...]:
        """Return stored traces by partition; they are in order of their spots."""
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for known in moved:
            rows[known.spot.partition].append(known.spot.row)
        return tuple(
            Rows(self._index.partition(name), tuple(numbers)) for name, numbers in rows.items()
        )

    def _write(self, plan: _Plan, shapes: ToolShapes) -> Partition:
        names = families(
            [item.member for item in plan.written] + [known.member for known in plan.moved],
            known=[None] * len(plan.written) + [known.family for known in plan.moved],
        )
        shapes = moved_shapes(self._folder, plan.rows, start=shapes)
        return write_partition(self._folder, Content(plan.written, plan.rows, names, shapes))


def _summary(counts: list[int]) -> AddSummary:
    added, replaced, unchanged, older, less_protected = counts
    return AddSummary(added, replaced, unchanged, older, less_protected)


_ADDED, _REPLACED, _UNCHANGED, _OLDER, _LESS_PROTECTED = range(5)
"""The places of the counts in an `AddSummary`."""

_NOTABLE: Final = {_REPLACED: "replaced", _OLDER: "older", _LESS_PROTECTED: "less_protected"}

_KINDS: Final = 5


class _Version(NamedTuple):
    measure: Measure
    digest: str
    protection: str
    supersedes: bool


def _measure(trace: Trace, size: int) -> Measure:
    return Measure(len(trace.turns), len(trace.calls), size)


def _compared(item: Fresh | _Version, known: Known | Fresh | None) -> int:
    if known is None:
        return _ADDED
    is_as_good = is_as_protected(item.protection, known.protection)
    if item.digest == known.digest and (not is_as_good or item.protection == known.protection):
        return _UNCHANGED
    if item.protection != known.protection:
        return _REPLACED if is_as_good else _LESS_PROTECTED
    if item.supersedes:
        return _REPLACED
    return _REPLACED if (item.measure, item.digest) > (known.measure, known.digest) else _OLDER


def manifest_without(manifest: Manifest, dropped: Iterable[Spot], *, number: int) -> Manifest:
    """Return a manifest in which some rows no longer count; a partition without any goes."""
    rows: defaultdict[str, set[int]] = defaultdict(set)
    for spot in dropped:
        rows[spot.partition].add(spot.row)
    changed = (
        part.without(rows[part.name]) if part.name in rows else part for part in manifest.partitions
    )
    return Manifest(number, tuple(part for part in changed if part.live))
