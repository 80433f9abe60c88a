"""Derive the features of a store: what is missing, of another version, or no longer true.

A message that stands word for word in several sessions was written by a harness, whoever the log
says it is from. That takes all sessions to see, so it is looked for here and not at import.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import StoreError
from tracedance_sdk.formats import tool_table_digest
from tracedance_sdk.store.columns import ROW
from tracedance_sdk.store.facts import Row
from tracedance_sdk.store.feature_columns import FEATURES, FEATURES_VERSION
from tracedance_sdk.store.features import DUPLICATE, Deriver
from tracedance_sdk.store.folder import LocalFolder, present
from tracedance_sdk.store.libraries import arrow, compute
from tracedance_sdk.store.manifest import Manifest, Partition, StoredFile
from tracedance_sdk.store.moving import read_traces
from tracedance_sdk.store.partitions import keep_table, numbered, read_table
from tracedance_sdk.store.queries import rows_of
from tracedance_sdk.store.worker_life import end_with_parent

LEAST_CHARACTERS: Final = 80
"""Shorter messages, such as "yes, please go on with it", are alike by chance."""

LEAST_MARKED: Final = 40
"""So many are enough for a message that begins as programs write them: see `_MARKED`."""

LEAST_SESSIONS: Final = 3
"""In how many sessions a message must stand; trials of one task count once."""

_MARKED: Final = r"^\s*(<[a-zA-Z_/!?]|\[|#|\{|You are |Your task |System:|Reminder:|IMPORTANT)"
SIMULATED: Final = ("agentrx", "tau2_bench", "tau_bench", "tau_bench_few_shot")
"""Collectors of benchmarks whose users are models: what they say is alike, and no harness's."""

_MEMORY_MB: Final = 4096
_MOST_ATTEMPTS: Final = 1_000

Marks = Mapping[int, frozenset[int]]
"""Row of a trace → indexes of its turns that are duplicates."""


class IndexSummary(NamedTuple):
    """What `index` did.

    Attributes:
        derived: Partitions whose features were derived.
        kept: Partitions whose features were as they should be.
        duplicates: Messages in the whole store that stand in several sessions.
    """

    derived: int
    kept: int
    duplicates: int


def unindexed(manifest: Manifest, *, tools: str) -> int:
    """Return how many partitions lack features of this version and of this table of tools."""
    return sum(not _is_current(part, tools) for part in manifest.partitions)


def _is_current(partition: Partition, tools: str) -> bool:
    made_with = (partition.features_version, partition.features_tools)
    return made_with == (FEATURES_VERSION, tools)


def index_store(folder: LocalFolder, *, processes: int = 1, force: bool = False) -> IndexSummary:
    """Derive what features lack; see `TraceStore.index`."""
    with folder.writing():
        manifest, tools = present(folder).manifest, tool_table_digest()
        marks = find_duplicates(folder, manifest)
        stale = [
            part
            for part in manifest.partitions
            if force
            or not _is_current(part, tools)
            or marked_rows(folder, part) != marks.get(part.name, {})
        ]
        jobs = [(str(folder.path), part, marks.get(part.name, {})) for part in stale]
        files = dict(zip((p.name for p in stale), _derived(jobs, processes), strict=True))
        if files:
            _commit(folder, files, tools)
    n_marks = sum(len(turns) for rows in marks.values() for turns in rows.values())
    return IndexSummary(len(files), len(manifest.partitions) - len(files), n_marks)


def _derived(jobs: Sequence[tuple[str, Partition, Marks]], processes: int) -> Iterable[StoredFile]:
    if processes <= 1 or len(jobs) <= 1:
        return [_derive(*job) for job in jobs]
    try:
        number = min(processes, len(jobs))
        with ProcessPoolExecutor(number, get_context("spawn"), end_with_parent) as pool:
            return list(pool.map(_derive, *zip(*jobs, strict=True)))
    except BrokenProcessPool as error:
        hint = "in a program of your own, index(processes=...) belongs under a main guard"
        raise StoreError(
            f"a process that derived features ended before its time; {hint}"
        ) from error


def _derive(path: str, partition: Partition, marks: Marks) -> StoredFile:
    folder = LocalFolder(Path(path))
    deriver = Deriver()
    rows: list[Row] = []
    numbers: list[int] = []
    tables: list[Any] = []
    for number, trace in read_traces(folder, partition):
        found = deriver.rows(trace, duplicates=marks.get(number, frozenset()))
        rows += found
        numbers += [number] * len(found)
        if len(rows) > 20_000:
            tables.append(numbered(FEATURES, rows, numbers))
            rows, numbers = [], []
    tables.append(numbered(FEATURES, rows, numbers))
    return keep_table(folder, f"features-v{FEATURES_VERSION}", arrow().concat_tables(tables))


def _commit(folder: LocalFolder, files: Mapping[str, StoredFile], tools: str) -> None:
    for _ in range(_MOST_ATTEMPTS):
        manifest, number = present(folder)
        partitions = tuple(
            part._replace(
                files={**part.files, "features": files[part.name]},
                features_version=FEATURES_VERSION,
                features_tools=tools,
            )
            if part.name in files
            else part
            for part in manifest.partitions
        )
        if folder.commit(Manifest(number, partitions)):
            return
    raise StoreError(f"the store {str(folder)!r} is busy: no manifest could be written")


def find_duplicates(
    folder: LocalFolder, manifest: Manifest
) -> dict[str, dict[int, frozenset[int]]]:
    """Return the human turns of each partition that stand word for word in several sessions.

    What an importer knew to be a human's by a rule of its own is left alone, and so are the runs
    of tasks (`Trace.task_id`) and of `SIMULATED`: their users are models, or given words on
    purpose.
    Trials of one task (`Trace.group`) count as one session, as they begin alike.
    """
    found = rows_of(
        folder,
        manifest,
        """
        WITH asked AS (
            SELECT u.trace_id, u.turn, hash(u.text) AS said, length(u.text) AS size,
                   coalesce(t.trace_group, t.family) AS place
            FROM turns AS u JOIN traces AS t USING (trace_id)
            WHERE u.role = 'user' AND u.origin = 'human' AND t.task_id IS NULL
              AND (t.collector IS NULL OR NOT list_contains(?, t.collector))
              AND (length(u.text) >= ?
                   OR length(u.text) >= ? AND regexp_matches(u.text, ?))
              AND (u.origin_rule IS NULL OR u.origin_rule = 'none')
        ), repeated AS (
            SELECT said, size FROM asked GROUP BY said, size HAVING count(DISTINCT place) >= ?
        )
        SELECT trace_id, turn FROM asked SEMI JOIN repeated USING (said, size)
        """,
        [list(SIMULATED), LEAST_CHARACTERS, LEAST_MARKED, _MARKED, LEAST_SESSIONS],
        memory_mb=_MEMORY_MB,
    )
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for trace_id, turn in found:
        wanted[trace_id].add(turn)
    marks: dict[str, dict[int, frozenset[int]]] = {}
    for part in manifest.partitions if wanted else ():
        ids = read_table(folder, part.files["traces"], ["trace_id"]).column(0).to_pylist()
        dropped = frozenset(part.dropped)
        own = {
            row: frozenset(wanted[trace_id])
            for row, trace_id in enumerate(ids)
            if trace_id in wanted and row not in dropped
        }
        if own:
            marks[part.name] = own
    return marks


def marked_rows(folder: LocalFolder, partition: Partition) -> dict[int, frozenset[int]]:
    """Return the turns that a partition's features call duplicates, for rows that count."""
    file = partition.files["features"]
    table = read_table(folder, file, [ROW, "turn", "origin_rule"])
    table = table.filter(compute().equal(table.column("origin_rule"), DUPLICATE))
    dropped = frozenset(partition.dropped)
    found: defaultdict[int, set[int]] = defaultdict(set)
    for row, turn in zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True):
        if row not in dropped:
            found[row].add(turn)
    return {row: frozenset(turns) for row, turns in found.items()}
