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
    from tracedance_sdk.behaviors.scanning.partition import Found, Wanted, scan_partition

__all__ = [
    "GROUPS",
    "Anchor",
    "Answered",
    "Behavior",
    "Candidate",
    "Evidence",
    "Found",
    "Hit",
    "Judged",
    "Parameter",
    "Predicate",
    "RuleJudge",
    "Run",
    "SeenCall",
    "SeenTurn",
    "Wanted",
    "behavior_named",
    "judge_named",
    "load_behavior",
    "packaged_behaviors",
    "parse_behavior",
    "predicate_named",
    "scan_partition",
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
        "hits": ("Answered", "Candidate", "Evidence", "Hit", "Judged", "Predicate", "RuleJudge"),
        "run": ("Run", "SeenCall", "SeenTurn"),
        "scanning.partition": ("Found", "Wanted", "scan_partition"),
    },
)
