"""A store of traces: a folder that many may write to and read from at once."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from tracedance_sdk.errors import InvalidOption, StoreError
from tracedance_sdk.formats import (
    ToolShapes,
    ToolTable,
    complete_tools,
    tool_table,
    tool_table_digest,
)
from tracedance_sdk.store.adding import Adding, AddSummary, OnNotable
from tracedance_sdk.store.compaction import GRACE, PATIENCE, CompactSummary, compact_store
from tracedance_sdk.store.facts import StoredDocument
from tracedance_sdk.store.fetching import ANSWER_MB, MEMORY_MB, MOST_ROWS, TIMEOUT_S, Limits
from tracedance_sdk.store.folder import PARTS, LocalFolder, present, require_whole
from tracedance_sdk.store.indexing import IndexSummary, index_store, unindexed
from tracedance_sdk.store.key_index import KeyIndex, Known
from tracedance_sdk.store.libraries import require_store_extra
from tracedance_sdk.store.listing import DataFile, SourceSummary, data_files, summaries
from tracedance_sdk.store.manifest import Manifest
from tracedance_sdk.store.meaning import MOST_NAMED, NATIVE, PREFIX, WHOLE, Meant, ambiguous
from tracedance_sdk.store.moving import live_rows, merged_shapes, read_traces
from tracedance_sdk.store.partition_reader import PartitionKey, partition_keys
from tracedance_sdk.store.partitions import read_shapes
from tracedance_sdk.store.queries import Selection, asks_features, run_select
from tracedance_sdk.store.query_process import run_apart
from tracedance_sdk.store.remote import RemoteFolder, is_remote
from tracedance_sdk.store.removal import PruneSummary, prune_traces, remove_traces
from tracedance_sdk.trace import Trace

ToolLimit = Literal["recorded", "known", "inferred"]
"""The weakest origin that a tool definition may have."""

_MOST_ROUNDS: Final = 5
_logger: Final = logging.getLogger(__name__)


def _place(name: str, *, create: bool) -> LocalFolder:
    """Return the folder by this name; one that is not there is made or an error.

    Raises:
        StoreError: It is not there, is no folder, or cannot be made.
    """
    if is_remote(name):
        return RemoteFolder(name)
    place = LocalFolder(Path(name))
    if create and not place.path.exists():
        place.make()
    if not place.path.is_dir():
        what = "is no folder" if place.path.exists() else "does not exist"
        raise StoreError(f"the store {name!r} {what}")
    return place


class TraceStore:
    """Traces in a folder of immutable files; open it with `open` or `create`.

    Each operation sees the store as it was when the operation began. Whatever others add,
    remove or compact meanwhile, it goes on undisturbed.

    Example:
        >>> import tempfile
        >>> store = TraceStore.create(tempfile.mkdtemp())
        >>> store.add([Trace(id="run-1"), Trace(id="run-2")])
        AddSummary(added=2, replaced=0, unchanged=0, older=0, less_protected=0, apart=0, refused=())
        >>> [trace.id for trace in store], store.get("run-2").id
        (['run-1', 'run-2'], 'run-2')
        >>> store.select("SELECT count(*) AS n FROM traces").rows
        ((2,),)
    """

    def __init__(self, folder: LocalFolder, *, tools: ToolLimit = "inferred") -> None:
        self._folder = folder
        self._tools: ToolLimit = tools
        self._index = KeyIndex(folder)
        self._shapes: tuple[int, ToolShapes] | None = None
        self._table: ToolTable | None = None

    @classmethod
    def create(cls, folder: str | os.PathLike[str], *, tools: ToolLimit = "inferred") -> TraceStore:
        """Return the store in a folder, which is made when it is not there.

        Args:
            folder: Where it lies; for its owner only when it is made.
            tools: See `open`.

        Raises:
            StoreError: The folder cannot be made, or holds something else.
            MissingDependency: The extra ``store`` is not installed; no folder is made.
        """
        return cls.open(folder, tools=tools, create=True)

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str], *, tools: ToolLimit = "inferred", create: bool = False
    ) -> TraceStore:
        """Return the store in a folder.

        Args:
            folder: Where it lies; a URL that fsspec understands opens a store that is read only.
            tools: The weakest origin of a tool definition that traces are given when they are
                read: ``inferred`` from all calls in the store, ``known`` from the table of
                clients, or ``recorded``, which leaves traces as they were stored.
            create: Make it when it is not there.

        Raises:
            StoreError: No store there, or it cannot be read.
            UnsupportedVersion: A store of another version.
            MissingDependency: The extra ``store`` is not installed.
        """
        if tools not in ("recorded", "known", "inferred"):
            raise InvalidOption(f"tools={tools!r}: recorded, known or inferred is needed")
        require_store_extra()  # before a folder is made that nothing could be kept in
        place = _place(os.fspath(folder), create=create)
        if not place.numbers():
            # An importer makes the key of its pseudonyms before it adds anything.
            own = (PARTS, "redaction.key", "redaction.people")
            others = [e for e in place.entries() if e not in own]
            if others:
                what = f"it holds {others[0]!r:.80} and no manifest"
                raise StoreError(f"{str(place)!r} is no store: {what}")
            if foreign := place.foreign():
                what = f"its folder {PARTS!r} holds {foreign[0]!r:.80}"
                raise StoreError(f"{str(place)!r} is no store: {what}")
            if not create and not place.is_made():
                raise StoreError(f"{str(place)!r} is no store: it is empty")
            place.make()
        present(place)
        return cls(place, tools=tools)

    def __repr__(self) -> str:
        return f"TraceStore.open({str(self._folder)!r})"

    @property
    def path(self) -> Path | None:
        """The folder it lies in; None for a store at a URL."""
        return None if isinstance(self._folder, RemoteFolder) else self._folder.path

    def __len__(self) -> int:
        return self._present().live

    def __iter__(self) -> Iterator[Trace]:
        """Yield every trace, in an order that stays the same until the store changes."""
        manifest = self._present()
        for partition in manifest.partitions:
            for _, trace in read_traces(self._folder, partition):
                yield self._completed(trace, manifest)

    def readable(self, where: str | None = None) -> Iterator[Trace | StoreError]:
        """Yield every trace that can be read, and one error for each partition that cannot.

        Iteration over the store stops at what is damaged; this goes on with what follows it.

        Args:
            where: See `traces`; to find the traces that it holds for, the tables must be whole.

        Raises:
            InvalidQuery: The condition is refused.
            StoreError: The traces that it holds for cannot be found.
        """
        manifest = self._present()
        wanted = None if where is None else self._rows(where, manifest)
        shapes: dict[str, ToolShapes] = {}
        errors: dict[str, StoreError] = {}
        for partition in manifest.partitions if self._tools == "inferred" else ():
            try:
                shapes[partition.name] = read_shapes(self._folder, partition)
            except StoreError as error:
                errors[partition.name] = error
        merged = merged_shapes(shapes.values())
        for partition in manifest.partitions:
            rows = live_rows(partition) if wanted is None else wanted.get(partition.name, ())
            count = 0
            try:
                for _, trace in read_traces(self._folder, partition, rows) if rows else ():
                    count += 1
                    yield self._complete(trace, merged)
            except StoreError as error:
                rest = f"{len(rows) - count} of its {partition.live} traces were not read"
                errors[partition.name] = StoreError(f"{error}; {rest}")
            if partition.name in errors:
                yield errors[partition.name]

    def add(
        self, traces: Iterable[Trace | StoredDocument], *, on_notable: OnNotable | None = None
    ) -> AddSummary:
        """Add traces.

        A trace whose id is there already replaces it when it is longer (more turns, else more
        calls, else more bytes), or as long and different; a shorter one is left out. Whatever their
        length, one that was masked or pseudonymised replaces a plain one, and is never replaced by
        one. Traces of one session, and sub-agents with who started them, are brought together in
        one partition.

        The traces are written in parts of about 32 MB. Each is committed as a whole: whoever reads
        meanwhile, or after this process was killed, sees all traces of a part or none.

        Args:
            traces: Any number; they are taken one by one.
            on_notable: Is told of each trace that was replaced or left out: how, by the names of
                `AddSummary`, and its id.

        Returns:
            What became of them. When nothing is new, nothing is written.

        Raises:
            InvalidOption: Something that is no trace; what came before may have been added.
            StoreError: The folder cannot be written to, or is damaged.
        """
        require_whole(self._folder)
        return Adding(self._folder, self._index, on_notable=on_notable).run(traces)

    def get(self, trace_id: str) -> Trace:
        """Return one trace.

        Args:
            trace_id: Its id; else the id that its source has for it, or the beginning of its id,
                if it is the only one.

        Raises:
            StoreError: No such trace, or several.
        """
        manifest = self._present()
        with self._index.at(manifest):
            known = self._found(trace_id, manifest)
            partition = self._index.partition(known.spot.partition)
        found = read_traces(self._folder, partition, [known.spot.row])
        return self._completed(next(found)[1], manifest)

    def _found(self, trace_id: str, manifest: Manifest) -> Known:
        known = self._index.find(trace_id)
        if known is None:
            known = self._index.find(self._only_id(trace_id, manifest))
        if known is None:
            raise StoreError(f"no trace {trace_id!r:.80} in the store {str(self._folder)!r}")
        return known

    def _only_id(self, wanted: str, manifest: Manifest) -> str:
        found = self._meant(wanted, manifest)
        if not found:
            raise StoreError(f"no trace {wanted!r:.80} in the store {str(self._folder)!r}")
        ids = [item.trace_id for item in found if item.rank == found[0].rank]
        if len(ids) > 1:
            raise StoreError(ambiguous(wanted, ids, is_prefix=found[0].rank == PREFIX))
        return ids[0]

    def meant(self, wanted: str) -> list[Meant]:
        """Return the traces that a text may mean, best first; at most one more than are named.

        Args:
            wanted: A whole id, an id at the source, or the beginning of an id.
        """
        return self._meant(wanted, self._present())

    def _meant(self, wanted: str, manifest: Manifest) -> list[Meant]:
        whole = wanted.encode(errors="ignore").decode()  # no halves of characters
        if not wanted or "\0" in wanted or wanted != whole:
            return []
        text = "'" + wanted.replace("'", "''") + "'"
        rows = run_select(
            self._folder,
            manifest,
            f"SELECT CASE WHEN trace_id = {text} THEN {WHOLE} WHEN native_id = {text} "  # noqa: S608 - quoted
            f"THEN {NATIVE} ELSE {PREFIX} END AS rank, trace_id FROM traces "
            f"WHERE native_id = {text} OR starts_with(trace_id, {text}) "
            f"ORDER BY rank, trace_id LIMIT {MOST_NAMED + 1}",
        ).rows
        return [Meant(*row) for row in rows]

    def traces(self, where: str | None = None) -> Iterator[Trace]:
        """Yield the traces that a condition holds for.

        Args:
            where: SQL over the columns of the view `traces`, such as
                ``agent = 'codex' AND fit_next_turn``; None for all.

        Raises:
            InvalidQuery: The condition is refused; see `select`.
        """
        if where is None:
            yield from self
            return
        manifest = self._present()
        wanted = self._rows(where, manifest)
        for partition in manifest.partitions:
            found = wanted.get(partition.name, ())
            for _, trace in read_traces(self._folder, partition, found) if found else ():
                yield self._completed(trace, manifest)

    def _rows(self, where: str, manifest: Manifest) -> dict[str, list[int]]:
        """Return the rows that a condition holds for, by partition and in ascending order."""
        # A condition that closes the bracket is one SELECT still, and can read nothing else.
        sql = f"SELECT trace_id FROM traces WHERE ({where}\n)"  # noqa: S608 - as just said
        rows = run_select(self._folder, manifest, sql, limits=Limits(most_rows=manifest.live)).rows
        wanted: dict[str, set[int]] = {}
        with self._index.at(manifest):
            for (trace_id,) in rows:
                known = self._index.find(trace_id)
                if known is not None:
                    wanted.setdefault(known.spot.partition, set()).add(known.spot.row)
        return {name: sorted(rows) for name, rows in wanted.items()}

    def select(
        self,
        sql: str,
        *,
        timeout_s: float = TIMEOUT_S,
        memory_mb: int = MEMORY_MB,
        most_rows: int = MOST_ROWS,
        answer_mb: int = ANSWER_MB,
        apart: bool = False,
    ) -> Selection:
        """Ask the views `traces`, `turns`, `calls` and `features` in SQL, as DuckDB speaks it.

        Where the query asks the view `features` and partitions lack theirs, as they do after every
        import, they are derived first, with one line of warning. A store that cannot be written
        to refuses such a query.

        Args:
            sql: One SELECT. It reads nothing but the views.
            timeout_s: Seconds after which it is stopped.
            memory_mb: Megabytes that DuckDB may use.
            most_rows: An answer with more rows is an error.
            answer_mb: So is one that takes more megabytes in Python.
            apart: Run it in a process of its own, which is killed when it goes beyond the limits;
                a single expression can otherwise. A store at a URL is asked in this process. A
                program that asks for it needs the usual guard, ``if __name__ == "__main__":``.

        Raises:
            InvalidQuery: More or less than one SELECT, or whatever DuckDB finds wrong, in one line.
            StoreError: The store is damaged, or lacks features and cannot be written to.
            MissingDependency: DuckDB is not installed.
        """
        manifest = self._derived() if asks_features(sql) else self._present()
        limits = Limits(timeout_s, memory_mb, most_rows, answer_mb)
        if apart and not isinstance(self._folder, RemoteFolder):
            return run_apart(self._folder.path, sql, limits)
        return run_select(self._folder, manifest, sql, limits=limits)

    def _derived(self) -> Manifest:
        """Return the present with all its features, derived now where it lacks them."""
        manifest, tools = self._present(), tool_table_digest()
        for _ in range(_MOST_ROUNDS):
            lacking = unindexed(manifest, tools=tools)
            if not lacking or not self._folder.is_writable():
                break
            _logger.warning(
                "deriving the features of %d of %d partitions of %r first",
                lacking,
                len(manifest.partitions),
                str(self._folder),
            )
            index_store(self._folder)
            manifest = self._present()
        return manifest

    def partitions(self) -> list[PartitionKey]:
        """Return the parts that can be searched one by one, their features derived first.

        Raises:
            StoreError: Features are lacking and the folder cannot be written to, or is damaged.
        """
        return partition_keys(self._derived())

    def index(self, *, processes: int = 1, force: bool = False) -> IndexSummary:
        """Derive the features of partitions that lack them, or whose features are out of date.

        Adding traces derives none, as that takes longer than all else; the view `features` needs
        them for all partitions. They are out of date when a release derives something else, when
        the table of known tools is another (``TRACEDANCE_TOOLS``), and when a message turns out to
        stand word for word in three or more sessions, which makes it a harness's.

        Args:
            force: Derive those of all partitions.
            processes: How many share the work, a partition each. A program that asks for several
                needs the usual guard, ``if __name__ == "__main__":``.

        Raises:
            StoreError: The folder cannot be written to, or is damaged.
        """
        return index_store(self._folder, processes=processes, force=force)

    def remove(self, ids: Iterable[str]) -> int:
        """Take traces out; their bytes go with `compact`, an hour later.

        Args:
            ids: As `get` takes them.

        Returns:
            How many were taken out.

        Raises:
            StoreError: One of them is not there, or not the only one; then none is taken out.
        """
        manifest = self._present()
        with self._index.at(manifest):
            whole = [self._found(name, manifest).member.trace_id for name in ids]
        with self._folder.writing():
            return remove_traces(self._folder, self._index, whole)

    def prune(self, older_than: timedelta | datetime) -> PruneSummary:
        """Take out traces that ended, or at least started, before a time.

        Args:
            older_than: An age, or an aware time. A trace without any time stays.

        Raises:
            InvalidOption: A time without a zone.
            StoreError: The folder cannot be written to, or is damaged.
        """
        with self._folder.writing():
            return prune_traces(self._folder, self._index, older_than)

    def compact(
        self, *, grace: timedelta = GRACE, patience: timedelta = PATIENCE
    ) -> CompactSummary:
        """Merge small partitions, leave removed rows behind, and clear away what nobody needs.

        Args:
            grace: How long files stay that only a manifest of the past names, so that whoever
                reads meanwhile is not disturbed.
            patience: How long to wait for those who write. Nothing is cleared away when they do
                not end in time, as `CompactSummary.clearing_skipped` then says.

        Raises:
            StoreError: The folder cannot be written to, or is damaged.
        """
        return compact_store(self._folder, grace=grace, patience=patience)

    def files(self) -> list[DataFile]:
        """Return the files that make up the store now, for other programs to read."""
        return data_files(self._folder, self._present())

    def summaries(self) -> list[SourceSummary]:
        """Return the store's traces counted by collector and agent."""
        return summaries(self._folder, self._present())

    def _present(self) -> Manifest:
        return present(self._folder).manifest

    def _completed(self, trace: Trace, manifest: Manifest) -> Trace:
        shapes = self._all_shapes(manifest) if self._tools == "inferred" else None
        return self._complete(trace, shapes)

    def _complete(self, trace: Trace, shapes: ToolShapes | None) -> Trace:
        if self._tools == "recorded":
            return trace
        self._table = self._table or tool_table()
        shapes = shapes if self._tools == "inferred" else None
        return complete_tools(trace, table=self._table, shapes=shapes, limit=self._tools)

    def _all_shapes(self, manifest: Manifest) -> ToolShapes:
        if self._shapes is None or self._shapes[0] != manifest.number:
            found = (read_shapes(self._folder, partition) for partition in manifest.partitions)
            self._shapes = manifest.number, merged_shapes(found)
        return self._shapes[1]
