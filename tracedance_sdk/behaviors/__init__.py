"""One behaviour, many traces: what to look for, where it occurs, benchmarks made of it.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.behaviors.behavior import (
        GROUPS,
        Anchor,
        Behavior,
        Parameter,
        load_behavior,
        parse_behavior,
    )
    from tracedance_sdk.behaviors.catalogue import (
        behavior_named,
        judge_named,
        packaged_behaviors,
        predicate_named,
    )
    from tracedance_sdk.behaviors.cutting.cut import CHECKS, CutContext, Refusal, cut
    from tracedance_sdk.behaviors.hits import (
        Answered,
        Candidate,
        Evidence,
        Hit,
        Judged,
        Predicate,
        RuleJudge,
    )
    from tracedance_sdk.behaviors.run import Run, SeenCall, SeenTurn
    from tracedance_sdk.behaviors.scanning.choosing import Caps
    from tracedance_sdk.behaviors.scanning.frequencies import Frequency, frequencies
    from tracedance_sdk.behaviors.scanning.near_duplicates import THRESHOLD
    from tracedance_sdk.behaviors.scanning.occurrences import (
        Occurrence,
        read_occurrences,
        write_occurrences,
    )
    from tracedance_sdk.behaviors.scanning.partition import (
        DIMENSIONS,
        Found,
        Wanted,
        scan_partition,
    )
    from tracedance_sdk.behaviors.scanning.store_scan import (
        Funnel,
        OnPartition,
        StoreScan,
        scan_store,
    )

__all__ = [
    "CHECKS",
    "DIMENSIONS",
    "GROUPS",
    "THRESHOLD",
    "Anchor",
    "Answered",
    "Behavior",
    "Candidate",
    "Caps",
    "CutContext",
    "Evidence",
    "Found",
    "Frequency",
    "Funnel",
    "Hit",
    "Judged",
    "Occurrence",
    "OnPartition",
    "Parameter",
    "Predicate",
    "Refusal",
    "RuleJudge",
    "Run",
    "SeenCall",
    "SeenTurn",
    "StoreScan",
    "Wanted",
    "behavior_named",
    "cut",
    "frequencies",
    "judge_named",
    "load_behavior",
    "packaged_behaviors",
    "parse_behavior",
    "predicate_named",
    "read_occurrences",
    "scan_partition",
    "scan_store",
    "write_occurrences",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "behavior": (
            "GROUPS",
            "Anchor",
            "Behavior",
            "Parameter",
            "load_behavior",
            "parse_behavior",
        ),
        "catalogue": ("behavior_named", "judge_named", "packaged_behaviors", "predicate_named"),
        "cutting.cut": ("CHECKS", "CutContext", "Refusal", "cut"),
        "hits": ("Answered", "Candidate", "Evidence", "Hit", "Judged", "Predicate", "RuleJudge"),
        "run": ("Run", "SeenCall", "SeenTurn"),
        "scanning.choosing": ("Caps",),
        "scanning.frequencies": ("Frequency", "frequencies"),
        "scanning.near_duplicates": ("THRESHOLD",),
        "scanning.occurrences": ("Occurrence", "read_occurrences", "write_occurrences"),
        "scanning.partition": ("DIMENSIONS", "Found", "Wanted", "scan_partition"),
        "scanning.store_scan": ("Funnel", "OnPartition", "StoreScan", "scan_store"),
    },
)
