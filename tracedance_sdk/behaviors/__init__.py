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
    from tracedance_sdk.behaviors.benchmarks.about import BuildSettings
    from tracedance_sdk.behaviors.benchmarks.building import (
        Built,
        build_benchmark,
        build_benchmarks,
    )
    from tracedance_sdk.behaviors.benchmarks.confirming import Confirmation, Confirmer
    from tracedance_sdk.behaviors.benchmarks.constraints import TraceConstraints
    from tracedance_sdk.behaviors.benchmarks.datasheet import THREATS
    from tracedance_sdk.behaviors.benchmarks.file import (
        Benchmark,
        Construction,
        audit_path,
        construction_path,
        datasheet_path,
        read_benchmark,
    )
    from tracedance_sdk.behaviors.benchmarks.model_families import model_family
    from tracedance_sdk.behaviors.benchmarks.query import KMAX, KMIN, Query, parse_query
    from tracedance_sdk.behaviors.benchmarks.rates import (
        RATE_KINDS,
        BenchmarkRate,
        benchmark_rates,
    )
    from tracedance_sdk.behaviors.benchmarks.rejections import REASONS
    from tracedance_sdk.behaviors.benchmarks.running import (
        RECORDED_SOURCE,
        RULE_GRADER,
        Response,
        about_row,
        joint_rows,
        judged_by_rules,
        missing_row,
        recorded_responses,
        rubrics_of,
        rule_rows,
    )
    from tracedance_sdk.behaviors.catalogue import (
        behavior_named,
        judge_named,
        packaged_behaviors,
        predicate_named,
    )
    from tracedance_sdk.behaviors.cutting.cut import CHECKS, CutContext, Refusal, cut
    from tracedance_sdk.behaviors.cutting.sizes import MOST_TOKENS, rough_tokens
    from tracedance_sdk.behaviors.foreign.search import check_behavior
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
    from tracedance_sdk.behaviors.trying import Trial, try_behavior

__all__ = [
    "CHECKS",
    "DIMENSIONS",
    "GROUPS",
    "KMAX",
    "KMIN",
    "MOST_TOKENS",
    "RATE_KINDS",
    "REASONS",
    "RECORDED_SOURCE",
    "RULE_GRADER",
    "THREATS",
    "THRESHOLD",
    "Anchor",
    "Answered",
    "Behavior",
    "Benchmark",
    "BenchmarkRate",
    "BuildSettings",
    "Built",
    "Candidate",
    "Caps",
    "Confirmation",
    "Confirmer",
    "Construction",
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
    "Query",
    "Refusal",
    "Response",
    "RuleJudge",
    "Run",
    "SeenCall",
    "SeenTurn",
    "StoreScan",
    "TraceConstraints",
    "Trial",
    "Wanted",
    "about_row",
    "audit_path",
    "behavior_named",
    "benchmark_rates",
    "build_benchmark",
    "build_benchmarks",
    "check_behavior",
    "construction_path",
    "cut",
    "datasheet_path",
    "frequencies",
    "joint_rows",
    "judge_named",
    "judged_by_rules",
    "load_behavior",
    "missing_row",
    "model_family",
    "packaged_behaviors",
    "parse_behavior",
    "parse_query",
    "predicate_named",
    "read_benchmark",
    "read_occurrences",
    "recorded_responses",
    "rough_tokens",
    "rubrics_of",
    "rule_rows",
    "scan_partition",
    "scan_store",
    "try_behavior",
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
        "benchmarks.about": ("BuildSettings",),
        "benchmarks.building": ("Built", "build_benchmark", "build_benchmarks"),
        "benchmarks.confirming": ("Confirmation", "Confirmer"),
        "benchmarks.constraints": ("TraceConstraints",),
        "benchmarks.datasheet": ("THREATS",),
        "benchmarks.file": (
            "Benchmark",
            "Construction",
            "audit_path",
            "construction_path",
            "datasheet_path",
            "read_benchmark",
        ),
        "benchmarks.model_families": ("model_family",),
        "benchmarks.query": ("KMAX", "KMIN", "Query", "parse_query"),
        "benchmarks.rates": ("RATE_KINDS", "BenchmarkRate", "benchmark_rates"),
        "benchmarks.rejections": ("REASONS",),
        "benchmarks.running": (
            "RECORDED_SOURCE",
            "RULE_GRADER",
            "Response",
            "about_row",
            "joint_rows",
            "judged_by_rules",
            "missing_row",
            "recorded_responses",
            "rubrics_of",
            "rule_rows",
        ),
        "catalogue": ("behavior_named", "judge_named", "packaged_behaviors", "predicate_named"),
        "cutting.cut": ("CHECKS", "CutContext", "Refusal", "cut"),
        "cutting.sizes": ("MOST_TOKENS", "rough_tokens"),
        "foreign.search": ("check_behavior",),
        "hits": ("Answered", "Candidate", "Evidence", "Hit", "Judged", "Predicate", "RuleJudge"),
        "run": ("Run", "SeenCall", "SeenTurn"),
        "scanning.choosing": ("Caps",),
        "scanning.frequencies": ("Frequency", "frequencies"),
        "scanning.near_duplicates": ("THRESHOLD",),
        "scanning.occurrences": ("Occurrence", "read_occurrences", "write_occurrences"),
        "scanning.partition": ("DIMENSIONS", "Found", "Wanted", "scan_partition"),
        "scanning.store_scan": ("Funnel", "OnPartition", "StoreScan", "scan_store"),
        "trying": ("Trial", "try_behavior"),
    },
)
