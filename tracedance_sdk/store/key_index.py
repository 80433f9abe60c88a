"""Find a trace's row by its id, session, parent or family, in 32 bytes of memory a trace."""

from __future__ import annotations

import contextlib
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from tracedance_sdk.store.facts import Measure
from tracedance_sdk.store.families import Member, family_link, id_link, member_links
from tracedance_sdk.store.folder import LocalFolder
from tracedance_sdk.store.libraries import arrow, compute
from tracedance_sdk.store.manifest import Manifest, Partition
from tracedance_sdk.store.partitions import read_table

_COLUMNS: Final = (
    "trace_id", "session_id", "parent_trace_id", "family", "turns", "calls", "document_bytes",
    "document_sha256", "protection",
)  # fmt: skip
_MOST_OPEN: Final = 8
_ROW_BITS: Final = 31


class Spot(NamedTuple):
    """Where a trace lies."""

    partition: str
    row: int


class Known(NamedTuple):
    """What is known of a stored trace without reading it."""

    spot: Spot
    member: Member
    family: str
    measure: Measure
    digest: str
    protection: str


class KeyIndex:
    """The rows of a store by what they are looked up by; kept up with its manifests.

    It may be used from several threads.

    Args:
        folder: The store's.
    """

    def __init__(self, folder: LocalFolder) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._partitions: dict[str, Partition] = {}
        self._dropped: dict[str, frozenset[int]] = {}
        self._sorted: list[tuple[Any, Any]] = []
        self._open: OrderedDict[str, dict[str, Any]] = OrderedDict()

    @contextlib.contextmanager
    def at(self, manifest: Manifest) -> Iterator[None]:
        """Follow a manifest, and let no other thread follow another one meanwhile.

        Raises:
            StoreError: A file is missing or damaged.
        """
        with self._lock:
            self.follow(manifest)
            yield

    def follow(self, manifest: Manifest) -> None:
        """Take in the partitions of a manifest that are new, and forget those it lacks.

        Raises:
            StoreError: A file is missing or damaged.
        """
        with self._lock:
            new = [part for part in manifest.partitions if part.name not in self._numbers]
            if new:
                self._take_in(new)
            before = self._partitions
            self._partitions = {part.name: part for part in manifest.partitions}
            for name, part in self._partitions.items():
                if name not in before or before[name].dropped != part.dropped:
                    self._dropped[name] = frozenset(part.dropped)
            for name in before.keys() - self._partitions.keys():
                self._open.pop(name, None)

    def _take_in(self, partitions: list[Partition]) -> None:
        pa, pc = arrow(), compute()
        keys, places = [], []
        for part in partitions:
            number = self._numbers[part.name] = len(self._names)
            self._names.append(part.name)
            table = read_table(self._folder, part.files["traces"], ("links", "family"))
            links = table.column("links").combine_chunks()
            families = [family_link(name) for name in table.column("family").to_pylist()]
            keys += [pc.list_flatten(links), pa.array(families, type=pa.uint64())]
            rows = pc.cast(pc.list_parent_indices(links), pa.int64())
            own = pa.array(range(len(families)), type=pa.int64())
            places += [pc.add(item, number << _ROW_BITS) for item in (rows, own)]
        self._sorted.append(_ordered(_chunks(keys, pa.uint64()), _chunks(places, pa.int64())))
        # As with binary counters: every key is sorted in again a logarithmic number of times.
        while len(self._sorted) > 1 and len(self._sorted[-1][0]) * 2 > len(self._sorted[-2][0]):
            second, first = self._sorted.pop(), self._sorted.pop()
            both = (pa.chunked_array([first[i], second[i]]) for i in range(2))
            self._sorted.append(_ordered(*both))

    def partition(self, name: str) -> Partition:
        """Return a partition of the present."""
        return self._partitions[name]

    def find(self, trace_id: str) -> Known | None:
        """Return the stored trace with this id, if there is one."""
        with self._lock:
            found = self._facts(self._spots([id_link(trace_id)]))
            return next((known for known in found if known.member.trace_id == trace_id), None)

    def related(self, members: Iterable[Member]) -> list[Known]:
        """Return the stored traces of every family that one of these traces would belong to."""
        links = {key for member in members for key in member_links(member)}
        with self._lock:
            near = list(self._facts(self._spots(links)))
            families = {family_link(known.family) for known in near}
            found = {known.spot: known for known in near}
            found.update((known.spot, known) for known in self._facts(self._spots(families)))
        return sorted(found.values(), key=lambda known: known.spot)

    def _spots(self, links: Iterable[int]) -> list[Spot]:
        found: set[Spot] = set()
        for key in links:
            for keys, places in self._sorted:
                at = bisect_left(_Scalars(keys), key)
                while at < len(keys) and keys[at].as_py() == key:
                    place = places[at].as_py()
                    spot = Spot(self._names[place >> _ROW_BITS], place & ((1 << _ROW_BITS) - 1))
                    if self._is_live(spot):
                        found.add(spot)
                    at += 1
        return sorted(found)

    def _is_live(self, spot: Spot) -> bool:
        return spot.partition in self._partitions and spot.row not in self._dropped[spot.partition]

    def _facts(self, spots: Iterable[Spot]) -> Iterator[Known]:
        for spot in spots:
            columns = self._columns(spot.partition)
            get = {name: columns[name][spot.row] for name in _COLUMNS}
            yield Known(
                spot,
                Member(get["trace_id"], get["session_id"], get["parent_trace_id"]),
                get["family"],
                Measure(get["turns"], get["calls"], get["document_bytes"]),
                get["document_sha256"],
                get["protection"],
            )

    def _columns(self, name: str) -> dict[str, Any]:
        if name in self._open:
            self._open.move_to_end(name)
            return self._open[name]
        table = read_table(self._folder, self._partitions[name].files["traces"], _COLUMNS)
        self._open[name] = {column: table.column(column).to_pylist() for column in _COLUMNS}
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return self._open[name]


class _Scalars:
    """An Arrow array whose items are Python numbers, for bisection."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, place: int) -> int:
        number: int = self._array[place].as_py()
        return number


def _chunks(arrays: list[Any], kind: Any) -> Any:
    return arrow().chunked_array(arrays, type=kind)


def _ordered(keys: Any, places: Any) -> tuple[Any, Any]:
    order = compute().sort_indices(keys)
    return _whole(keys.take(order)), _whole(places.take(order))


def _whole(column: Any) -> Any:
    """Return a column as one array."""
    found = column.combine_chunks()
    return found if not hasattr(found, "num_chunks") else arrow().concat_arrays(found.chunks)
