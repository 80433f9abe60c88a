"""What a store holds: its files, and its traces counted by where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tracedance_sdk.store.folder import LocalFolder
from tracedance_sdk.store.manifest import Manifest
from tracedance_sdk.store.queries import rows_of


class DataFile(NamedTuple):
    """A file of the store that other programs may read.

    Attributes:
        kind: ``traces``, ``documents``, ``turns``, ``calls``, ``features`` or ``tools``.
        path: Where it lies.
        bytes: Its length.
        dropped: Values of ``trace_row`` (of ``traces`` and ``documents``: numbers of rows, from
            0) that no longer count.
    """

    kind: str
    path: Path
    bytes: int
    dropped: tuple[int, ...]


class SourceSummary(NamedTuple):
    """The traces of one collector and agent, counted.

    Attributes:
        collector: None where they were recorded here.
        sessions: Families: sessions, or single traces without one.
        fit_reading: How many are fit for reading, and so on.
        document_bytes: Length of their documents.
    """

    collector: str | None
    agent: str
    sessions: int
    traces: int
    turns: int
    calls: int
    fit_reading: int
    fit_grading: int
    fit_state_grading: int
    fit_next_turn: int
    fit_rebuilt_test: int
    document_bytes: int


def data_files(folder: LocalFolder, manifest: Manifest) -> list[DataFile]:
    """Return the files of a store, partition by partition."""
    return [
        DataFile(kind, folder.local(file), file.bytes, part.dropped)
        for part in manifest.partitions
        for kind, file in sorted(part.files.items())
    ]


def summaries(folder: LocalFolder, manifest: Manifest) -> list[SourceSummary]:
    """Return counts by collector and agent, in order of their names."""
    rows = rows_of(
        folder,
        manifest,
        """
        SELECT collector, agent, count(DISTINCT family), count(*), sum(turns)::BIGINT,
               sum(calls)::BIGINT, count_if(fit_reading), count_if(fit_grading),
               count_if(fit_state_grading), count_if(fit_next_turn), count_if(fit_rebuilt_test),
               sum(document_bytes)::BIGINT
        FROM traces GROUP BY collector, agent ORDER BY collector NULLS FIRST, agent
        """,
    )
    return [SourceSummary(*row) for row in rows]
