"""Where traces rest: a folder of Parquet files that can be searched in SQL.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.store.adding import AddSummary
    from tracedance_sdk.store.columns import Column
    from tracedance_sdk.store.facts import StoredDocument
    from tracedance_sdk.store.feature_columns import FAMILIES
    from tracedance_sdk.store.import_report import ORIGINS, ImportReport, SourceProblem, Tally
    from tracedance_sdk.store.importing import ImportPlan, import_sources
    from tracedance_sdk.store.queries import VIEWS, Selection
    from tracedance_sdk.store.trace_store import ToolLimit, TraceStore

__all__ = [
    "FAMILIES",
    "ORIGINS",
    "VIEWS",
    "AddSummary",
    "Column",
    "ImportPlan",
    "ImportReport",
    "Selection",
    "SourceProblem",
    "StoredDocument",
    "Tally",
    "ToolLimit",
    "TraceStore",
    "import_sources",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "adding": ("AddSummary",),
        "columns": ("Column",),
        "facts": ("StoredDocument",),
        "feature_columns": ("FAMILIES",),
        "import_report": ("ORIGINS", "ImportReport", "SourceProblem", "Tally"),
        "importing": ("ImportPlan", "import_sources"),
        "queries": ("VIEWS", "Selection"),
        "trace_store": ("ToolLimit", "TraceStore"),
    },
)
