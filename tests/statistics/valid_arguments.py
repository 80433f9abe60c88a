"""For every public name of statistics that can be called: arguments with which it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracedance_sdk import statistics as s

OLD: Final = [0.2, 0.4, 0.1, 0.9, 0.5, 0.3]
NEW: Final = [0.3, 0.6, 0.2, 0.8, 0.9, 0.4]
PASSED: Final = [1, 0, 1, 1, 0, 1]
PASSED_TOO: Final = [1, 1, 1, 0, 0, 1]
OWNERS: Final = ["a", "a", "b", "b", "c", "c"]
ESTIMATE: Final = s.Estimate(0.4, s.Interval(0.2, 0.6), 30)
SCORES: Final = {"m": {"x": [1, 0], "y": [1, 1]}, "n": {"x": [0, 0], "y": [1, 0]}}


def share_of_passes(kept: Sequence[int]) -> s.Estimate:
    """Return a coefficient of some items."""
    return s.pass_rate(sum(at % 3 > 0 for at in kept), len(kept))


PANEL: Final = s.Confusion(17, 21, 11, 119)

ARGUMENTS: Final[dict[str, dict[str, Any]]] = {
    "agreement_pairs": {"tasks": [s.Trials(2, 4), s.Trials(1, 3)]},
    "always_valid_interval": {"passes": 9, "n": 10, "level": 0.9},
    "bootstrap_interval": {
        "values": OLD,
        "statistic": None,
        "seed": 1,
        "clusters": OWNERS,
        "method": "percentile",
        "n_resamples": 200,
        "level": 0.9,
    },
    "clustered_coefficient": {
        "coefficient": share_of_passes,
        "clusters": OWNERS,
        "without": None,
        "level": 0.9,
    },
    "clustered_rate": {"outcomes": PASSED, "clusters": OWNERS, "level": 0.9},
    "clustered_rate_difference": {
        "old": OLD,
        "new": NEW,
        "clusters": OWNERS,
        "trials": 12,
        "seed": 1,
        "level": 0.9,
    },
    "clusters_for_difference": {
        "difference": 0.1,
        "half_width": 0.2,
        "n": 20,
        "level": 0.9,
        "power": 0.8,
        "alpha": 0.05,
    },
    "cohen_kappa": {
        "first": [1, 2, 3, 1, 2, 3],
        "second": [1, 2, 3, 2, 2, 3],
        "weights": "linear",
        "labels": [1, 2, 3],
        "level": 0.9,
    },
    "common_items": {"runs": {"a": {1: True, 2: None}, "b": {1: True, 2: True}}},
    "compare_replay": {
        "verdicts": [s.ReplayedVerdict(True, True), s.ReplayedVerdict(False, True, True)],
        "level": 0.9,
    },
    "confusion": {"judge": PASSED, "reference": PASSED_TOO},
    "confusion_matrix": {"first": PASSED, "second": PASSED_TOO, "labels": [0, 1]},
    "corrected_rate": {"passes": 40, "n": 100, "calibration": PANEL, "level": 0.9},
    "design_effect": {"outcomes": PASSED, "clusters": OWNERS},
    "estimate_difference": {"old": ESTIMATE, "new": ESTIMATE},
    "fisher_exact": {"old": (3, 7), "new": (6, 8)},
    "holm": {"p_values": [0.01, 0.04, 0.03]},
    "jaccard": {"first": {1, 2, 3}, "second": {2, 3, 4}},
    "kendall": {"first": OLD, "second": NEW, "level": 0.9},
    "krippendorff_alpha": {
        "ratings": [[1, 1], [2, 3], [1, 2], [2, 2], [3, 3]],
        "scale": "interval",
        "level": 0.9,
    },
    "least_runs_to_pass": {"min_rate": 0.8, "alpha": 0.05},
    "leniency": {"judge": OLD, "reference": NEW, "level": 0.9},
    "macro_mean": {"values": OLD, "groups": OWNERS, "level": 0.9},
    "mcnemar": {"old": PASSED, "new": PASSED_TOO},
    "mean_interval": {"values": OLD, "clusters": OWNERS, "level": 0.9},
    "mean_pass_at_k": {"tasks": [s.Trials(2, 4), s.Trials(1, 3)], "k": 2, "level": 0.9},
    "mean_pass_hat_k": {"tasks": [s.Trials(2, 4), s.Trials(1, 3)], "k": 2, "level": 0.9},
    "more_runs_for_half_width": {"passes": 8, "n": 10, "half_width": 0.1, "level": 0.9},
    "non_inferior_paired_rate": {"old": PASSED, "new": PASSED_TOO, "margin": 0.1, "alpha": 0.05},
    "non_inferior_rate": {"old": (90, 100), "new": (89, 100), "margin": 0.1, "alpha": 0.05},
    "paired_difference": {"old": OLD, "new": NEW, "clusters": OWNERS, "level": 0.9},
    "paired_rate_difference": {"old": PASSED, "new": PASSED_TOO, "level": 0.9},
    "pairs_for_difference": {"better": 0.2, "worse": 0.1, "power": 0.8, "alpha": 0.05},
    "pass_at_k": {"passes": 1, "n": 4, "k": 2},
    "pass_hat_k": {"passes": 3, "n": 4, "k": 2},
    "pass_rate": {"successes": 3, "n": 4, "level": 0.9},
    "percent_agreement": {"first": PASSED, "second": PASSED_TOO, "level": 0.9},
    "rank_models": {
        "scores": SCORES,
        "seed": 1,
        "two_level": True,
        "n_resamples": 200,
        "level": 0.9,
    },
    "rate_difference": {"old": (56, 100), "new": (51, 100), "level": 0.9},
    "reliability_curve": {"scores": OLD, "passed": PASSED, "n_bins": 10, "level": 0.9},
    "runs_for_difference": {"old_rate": 0.8, "new_rate": 0.9, "power": 0.8, "alpha": 0.05},
    "runs_for_half_width": {"half_width": 0.1, "expected_rate": 0.5, "level": 0.9},
    "sampling_floor": {"tasks": [s.Trials(2, 4), s.Trials(1, 3)]},
    "self_agreement": {"tasks": [s.Trials(2, 4), s.Trials(1, 3)], "level": 0.9},
    "self_preference": {
        "judge": OLD,
        "peers": NEW,
        "is_own": [True, True, False, False, True, False],
        "clusters": OWNERS,
        "level": 0.9,
    },
    "sequential_test": {"outcomes": PASSED, "min_rate": 0.8, "alpha": 0.05},
    "sign_flip_test": {"old": OLD, "new": NEW, "clusters": OWNERS, "seed": 1, "n_resamples": 200},
    "span_agreement": {"first": [(1, 4), (9, 9)], "second": [(2, 4)], "threshold": 0.3},
    "span_overlap": {"first": (3, 6), "second": (5, 8)},
    "spearman": {"first": OLD, "second": NEW, "level": 0.9},
    "stratified_difference": {
        "old": [[0, 1, 1], [1, 0]],
        "new": [[1, 1], [0, 0, 1]],
        "seed": 1,
        "n_resamples": 200,
        "level": 0.9,
    },
    "switch_error": {
        "old": [0.0, 1.0],
        "replayed": [0.5, 1.0],
        "new": [1.0, 0.25],
        "threshold": 0.5,
        "level": 0.9,
    },
    "two_level_bootstrap": {
        "values": OLD,
        "clusters": OWNERS,
        "seed": 1,
        "macro": True,
        "n_resamples": 200,
        "level": 0.9,
    },
    "wilcoxon_signed_rank": {"old": OLD, "new": NEW},
    "wilson_interval": {"successes": 75, "n": 100, "level": 0.9},
}
"""Every argument is given, so that each can be replaced."""

METHODS: Final[dict[str, Mapping[str, Any]]] = {
    **{f"Confusion.{name}": {"level": 0.9} for name in ("agreement", "precision", "recall")},
    **{f"Confusion.{name}": {"level": 0.9} for name in ("specificity", "kappa")},
    "Confusion.f1": {},
}
"""Methods that compute, with what they take besides the counts."""
