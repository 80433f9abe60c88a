"""Where traces rest: a folder of Parquet files that can be searched in SQL.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.store.adding import AddSummary
    from tracedance_sdk.store.allowed_sql import views_asked
    from tracedance_sdk.store.columns import Column
    from tracedance_sdk.store.compaction import CompactSummary
    from tracedance_sdk.store.facts import StoredDocument
    from tracedance_sdk.store.feature_columns import FAMILIES
    from tracedance_sdk.store.features import Deriver
    from tracedance_sdk.store.folder import holds_store
    from tracedance_sdk.store.import_report import ORIGINS, ImportReport, SourceProblem, Tally
    from tracedance_sdk.store.importing import (
        ImportPlan,
        JSONRedactor,
        cleaned_text,
        import_sources,
    )
    from tracedance_sdk.store.indexing import IndexSummary
    from tracedance_sdk.store.libraries import require_store_extra
    from tracedance_sdk.store.listing import DataFile, SourceSummary
    from tracedance_sdk.store.manifest import FORMAT, is_data_name, manifest_number
    from tracedance_sdk.store.meaning import PREFIX, Meant, ambiguous, rank_of
    from tracedance_sdk.store.partition_reader import (
        PartitionKey,
        PartitionReader,
        TraceRows,
        rows_of_trace,
    )
    from tracedance_sdk.store.queries import VIEWS, Selection, columns_of_answer
    from tracedance_sdk.store.removal import PruneSummary
    from tracedance_sdk.store.trace_store import ToolLimit, TraceStore
    from tracedance_sdk.store.worker_life import end_with_parent, interruptions_held

__all__ = [
    "FAMILIES",
    "FORMAT",
    "ORIGINS",
    "PREFIX",
    "VIEWS",
    "AddSummary",
    "Column",
    "CompactSummary",
    "DataFile",
    "Deriver",
    "ImportPlan",
    "ImportReport",
    "IndexSummary",
    "JSONRedactor",
    "Meant",
    "PartitionKey",
    "PartitionReader",
    "PruneSummary",
    "Selection",
    "SourceProblem",
    "SourceSummary",
    "StoredDocument",
    "Tally",
    "ToolLimit",
    "TraceRows",
    "TraceStore",
    "ambiguous",
    "cleaned_text",
    "columns_of_answer",
    "end_with_parent",
    "holds_store",
    "import_sources",
    "interruptions_held",
    "is_data_name",
    "manifest_number",
    "rank_of",
    "require_store_extra",
    "rows_of_trace",
    "views_asked",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "adding": ("AddSummary",),
        "allowed_sql": ("views_asked",),
        "columns": ("Column",),
        "compaction": ("CompactSummary",),
        "facts": ("StoredDocument",),
        "feature_columns": ("FAMILIES",),
        "features": ("Deriver",),
        "folder": ("holds_store",),
        "import_report": ("ORIGINS", "ImportReport", "SourceProblem", "Tally"),
        "importing": ("ImportPlan", "JSONRedactor", "cleaned_text", "import_sources"),
        "indexing": ("IndexSummary",),
        "libraries": ("require_store_extra",),
        "listing": ("DataFile", "SourceSummary"),
        "manifest": ("FORMAT", "is_data_name", "manifest_number"),
        "meaning": ("PREFIX", "Meant", "ambiguous", "rank_of"),
        "partition_reader": ("PartitionKey", "PartitionReader", "TraceRows", "rows_of_trace"),
        "queries": ("VIEWS", "Selection", "columns_of_answer"),
        "removal": ("PruneSummary",),
        "trace_store": ("ToolLimit", "TraceStore"),
        "worker_life": ("end_with_parent", "interruptions_held"),
    },
)
