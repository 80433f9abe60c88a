"""One partition of a store, read as rows: what a scan works on, in a process of its own if need be.

All traces of a session, and sub-agents with who started them, lie in one partition. What is found
in it therefore depends on nothing else of the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from tracedance_sdk.errors import StoreError
from tracedance_sdk.store.allowed_sql import first_line
from tracedance_sdk.store.columns import CALLS, TURNS, public
from tracedance_sdk.store.facts import facts_of
from tracedance_sdk.store.feature_columns import FEATURES, FEATURES_VERSION
from tracedance_sdk.store.features import Deriver
from tracedance_sdk.store.folder import LocalFolder, present
from tracedance_sdk.store.lazy_rows import LazyRow, LazyTable
from tracedance_sdk.store.libraries import duck
from tracedance_sdk.store.manifest import Manifest, Partition
from tracedance_sdk.store.partitions import each_document, read_table
from tracedance_sdk.store.queries import connected
from tracedance_sdk.trace import Trace, parse_json

_AT_ONCE: Final = 200
_TURNS: Final = tuple(public(TURNS))
_CALLS: Final = tuple(public(CALLS))
_FEATURES: Final = tuple(public(FEATURES))


def _no_prompt() -> str | None:
    return None


class TraceRows(NamedTuple):
    """One trace as the views hold it, each row by the names of its columns.

    Attributes:
        trace_id: Its id.
        turns: Rows of the view `turns`, in order.
        calls: Rows of the view `calls`, in order.
        features: Rows of the view `features`, in the order of events.
        system_prompt: Gives the trace's system prompt, which no view holds; reading it takes the
            trace's document, and an open reader.
    """

    trace_id: str
    turns: Sequence[Mapping[str, Any]]
    calls: Sequence[Mapping[str, Any]]
    features: Sequence[Mapping[str, Any]]
    system_prompt: Callable[[], str | None] = _no_prompt


class PartitionKey(NamedTuple):
    """What names a partition and what is in it now.

    Attributes:
        name: Of its file of traces.
        live: How many traces count.
        sha256: Of its names and of what was dropped from it: equal for equal content and features.
    """

    name: str
    live: int
    sha256: str


def partition_keys(manifest: Manifest) -> list[PartitionKey]:
    """Return the partitions of a manifest that hold traces, in order."""
    return [_key(part) for part in manifest.partitions if part.live]


def _key(part: Partition) -> PartitionKey:
    names = [f"{kind}={file.name}" for kind, file in sorted(part.files.items())]
    told = "\n".join((*names, ",".join(map(str, part.dropped)), part.features_tools))
    return PartitionKey(part.name, part.live, hashlib.sha256(told.encode()).hexdigest())


class PartitionReader:
    """The views over one partition, closed off from everything else; a context manager.

    Args:
        folder: The store's folder.
        key: Of the partition.

    Raises:
        StoreError: The partition is not there any more, lacks features, or is damaged.
    """

    def __init__(self, folder: Path, key: PartitionKey) -> None:
        place = LocalFolder(folder)
        found = [part for part in present(place).manifest.partitions if part.name == key.name]
        if not found or _key(found[0]).sha256 != key.sha256:
            raise StoreError(f"the store {str(folder)!r} has changed: {key.name} is another now")
        if found[0].features_version != FEATURES_VERSION:
            raise StoreError(f"{key.name} of the store {str(folder)!r} lacks features: index it")
        self._place, self._part = place, found[0]
        self._connection = connected(place, Manifest(1, (found[0],)))

    def select(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query of our own.

        Raises:
            StoreError: DuckDB refuses it, or the files are damaged.
        """
        try:
            found: list[tuple[Any, ...]] = self._connection.execute(
                sql, list(parameters)
            ).fetchall()
        except duck().Error as error:
            raise StoreError(f"the partition cannot be searched: {first_line(error)}") from error
        return found

    def rows(self, trace_ids: Iterable[str]) -> Iterator[TraceRows]:
        """Yield the rows of some traces, in ascending order of their ids; others are not here."""
        wanted = sorted(set(trace_ids))
        for start in range(0, len(wanted), _AT_ONCE):
            ids = wanted[start : start + _AT_ONCE]
            turns = self._of("turns", _TURNS, ids, "turn")
            calls = self._of("calls", _CALLS, ids, "call")
            features = self._of("features", _FEATURES, ids, "turn, call NULLS FIRST")
            for name in ids:
                if name not in features:
                    continue
                prompt = partial(self.system_prompt, name)
                yield TraceRows(
                    name, turns.get(name, ()), calls.get(name, ()), features[name], prompt
                )

    def system_prompt(self, trace_id: str) -> str | None:
        """Return the system prompt of a trace; None where there is none.

        Raises:
            StoreError: The files are damaged.
        """
        row = self._numbers.get(trace_id)
        if row is None:
            return None
        _, _, data = next(each_document(self._place, self._part, [row]))
        document = parse_json(data, where=f"trace {trace_id!r:.80}")
        prompt = document.get("system_prompt") if isinstance(document, dict) else None
        return prompt if isinstance(prompt, str) else None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Rows of the traces that count, by id."""
        dropped = set(self._part.dropped)
        ids = read_table(self._place, self._part.files["traces"], ["trace_id"]).column(0)
        return {name: row for row, name in enumerate(ids.to_pylist()) if row not in dropped}

    def _of(
        self, view: str, columns: Sequence[str], ids: Sequence[str], order: str
    ) -> dict[str, list[LazyRow]]:
        names = ", ".join(f'"{name}"' for name in columns)
        wanted = ", ".join("'" + name.replace("'", "''") + "'" for name in ids)
        sql = (
            f"SELECT {names} FROM {view} WHERE trace_id IN ({wanted}) "  # noqa: S608 - ours, quoted
            f"ORDER BY trace_id, {order}"
        )
        try:
            table = LazyTable(self._connection.sql(sql).to_arrow_table())
        except duck().Error as error:
            raise StoreError(f"the partition cannot be searched: {first_line(error)}") from error
        grouped: dict[str, list[LazyRow]] = {}
        for place, name in enumerate(table.column("trace_id")):
            grouped.setdefault(name, []).append(LazyRow(table, place))
        return grouped

    def interrupt(self) -> None:
        """Stop the query that runs, from another thread."""
        self._connection.interrupt()

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def rows_of_trace(trace: Trace, *, deriver: Deriver | None = None) -> TraceRows:
    """Return a trace as the views would hold it, without a store.

    What takes all sessions of a store to see (`features.origin` of repeated messages) is not in it.

    Args:
        trace: Any trace.
        deriver: Remembers tools from trace to trace; by default one is made.
    """
    facts = facts_of(trace, size=0, digest="")
    derived = (deriver or Deriver()).rows(trace)
    return TraceRows(
        trace.id,
        tuple(dict(zip(_TURNS, row, strict=True)) for row in facts.turns),
        tuple(dict(zip(_CALLS, row, strict=True)) for row in facts.calls),
        tuple(dict(zip(_FEATURES, row, strict=True)) for row in derived),
        lambda: trace.system_prompt,
    )
