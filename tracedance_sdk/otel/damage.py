"""Which runs the damage to a journal concerns, and the notes they get for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from tracedance_sdk.journal import Gap, GapKind, JournalContents, Place, SpanRecord
from tracedance_sdk.otel.names import RUN_START
from tracedance_sdk.otel.tree import Key, Run
from tracedance_sdk.trace import Note, note

_NOTES: Final = {GapKind.LOST: "record_lost", GapKind.ALTERED: "record_altered"}


class _Extent(NamedTuple):
    """Where records of one span stand in one chain.

    Attributes:
        begins: Its start is among them.
        ends: Its end is among them.
    """

    first: Place
    last: Place
    begins: bool
    ends: bool


class Damage:
    """The damage to a journal that was read to its end.

    Where the records of a run stand is looked up only when there is damage, by reading again.
    """

    def __init__(self, contents: JournalContents) -> None:
        self._contents = contents
        self._gaps = list(contents.gaps)

    def notes(self, run: Run) -> Iterator[Note]:
        """Yield what a run's trace has to say about the damage."""
        if self._contents.unchecked:
            yield note("hashes_unchecked", [path.name for path in self._contents.unchecked])
        touched = [gap for gap in self._gaps if self._touches(gap, run)]
        for kind, name in _NOTES.items():
            gaps = [gap for gap in touched if gap.kind is kind]
            if gaps:
                places = [f"{gap.path.name}:{gap.line}" for gap in gaps]
                yield note(name, places, count=sum(gap.n_lines for gap in gaps))

    def _touches(self, gap: Gap, run: Run) -> bool:
        """Whether records of the run may be in a gap: it has some before, behind, or around it.

        A run whose beginning is not in this chain may have begun anywhere before, and one whose
        end is not may have gone on.
        """
        extents = self._extents.get(gap.chain, {})
        own = [extents[key] for key in _keys(run) if key in extents]
        if not own:
            return False
        root = extents.get(run.key)
        first, last = min(item.first for item in own), max(item.last for item in own)
        if root is None or not root.begins:
            first = min(first, gap.first)
        if root is None or not root.ends:
            last = max(last, gap.last)
        return gap.touches(first, last)

    @cached_property
    def _extents(self) -> dict[str, dict[Key, _Extent]]:
        found: dict[str, dict[Key, _Extent]] = {gap.chain: {} for gap in self._gaps}
        for chain, place, record in self._contents.placed():
            extents = found.get(chain)
            if extents is None:
                continue
            ends = isinstance(record, SpanRecord)
            extent = _Extent(place, place, record.name == RUN_START, ends)
            key = (record.trace_id, record.span_id)
            known = extents.get(key)
            extents[key] = extent if known is None else _joined(known, extent)
        return found


def _keys(run: Run) -> Iterable[Key]:
    return (run.key, *(node.key for node in run.nodes))


def _joined(one: _Extent, other: _Extent) -> _Extent:
    return _Extent(
        min(one.first, other.first),
        max(one.last, other.last),
        one.begins or other.begins,
        one.ends or other.ends,
    )
