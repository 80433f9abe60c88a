"""How sure we are: intervals, agreement, tests, resampling, stopping and planning.

Pure functions of plain sequences and counts, without I/O. Impossible arguments are `InvalidOption`,
samples that give no answer `NotEnoughData`; nothing returns NaN. Whatever draws random numbers
takes a `seed`.

Submodules are imported when one of their names is first used, scipy and statsmodels (extra
`stats`) when a function first needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.statistics.bootstrap import (
        BootstrapMethod,
        bootstrap_interval,
        two_level_bootstrap,
    )
    from tracedance_sdk.statistics.clustered import (
        clustered_rate,
        design_effect,
        macro_mean,
        mean_interval,
        paired_difference,
    )
    from tracedance_sdk.statistics.clustered_pairs import (
        clustered_rate_difference,
        sign_flip_test,
    )
    from tracedance_sdk.statistics.corrected_rates import CorrectedRate, corrected_rate
    from tracedance_sdk.statistics.correlations import Correlation, kendall, spearman
    from tracedance_sdk.statistics.differences import estimate_difference
    from tracedance_sdk.statistics.intervals import Difference, Estimate, Interval, Significance
    from tracedance_sdk.statistics.krippendorff import Scale, krippendorff_alpha
    from tracedance_sdk.statistics.left_out import clustered_coefficient
    from tracedance_sdk.statistics.non_inferiority import (
        NonInferiority,
        non_inferior_paired_rate,
        non_inferior_rate,
    )
    from tracedance_sdk.statistics.paired_rates import mcnemar, paired_rate_difference
    from tracedance_sdk.statistics.planning import (
        clusters_for_difference,
        more_runs_for_half_width,
        pairs_for_difference,
        runs_for_difference,
        runs_for_half_width,
    )
    from tracedance_sdk.statistics.preference import self_preference
    from tracedance_sdk.statistics.proportions import pass_rate, rate_difference, wilson_interval
    from tracedance_sdk.statistics.rankings import (
        RankedModel,
        Ranking,
        common_items,
        rank_models,
    )
    from tracedance_sdk.statistics.ratings import (
        Confusion,
        ConfusionMatrix,
        Weights,
        cohen_kappa,
        confusion,
        confusion_matrix,
        leniency,
        percent_agreement,
    )
    from tracedance_sdk.statistics.reliability import (
        ReliabilityBin,
        ReliabilityCurve,
        reliability_curve,
    )
    from tracedance_sdk.statistics.reproduction import (
        ReplayedVerdict,
        Reproduction,
        SwitchError,
        compare_replay,
        switch_error,
    )
    from tracedance_sdk.statistics.sequential import (
        SequentialDecision,
        SequentialState,
        always_valid_interval,
        least_runs_to_pass,
        sequential_test,
    )
    from tracedance_sdk.statistics.significance import holm, wilcoxon_signed_rank
    from tracedance_sdk.statistics.spans import (
        Span,
        SpanAgreement,
        jaccard,
        span_agreement,
        span_overlap,
    )
    from tracedance_sdk.statistics.trials import (
        Trials,
        agreement_pairs,
        mean_pass_at_k,
        mean_pass_hat_k,
        pass_at_k,
        pass_hat_k,
        sampling_floor,
        self_agreement,
    )
    from tracedance_sdk.statistics.unpaired import fisher_exact, stratified_difference

__all__ = [
    "BootstrapMethod",
    "Confusion",
    "ConfusionMatrix",
    "CorrectedRate",
    "Correlation",
    "Difference",
    "Estimate",
    "Interval",
    "NonInferiority",
    "RankedModel",
    "Ranking",
    "ReliabilityBin",
    "ReliabilityCurve",
    "ReplayedVerdict",
    "Reproduction",
    "Scale",
    "SequentialDecision",
    "SequentialState",
    "Significance",
    "Span",
    "SpanAgreement",
    "SwitchError",
    "Trials",
    "Weights",
    "agreement_pairs",
    "always_valid_interval",
    "bootstrap_interval",
    "clustered_coefficient",
    "clustered_rate",
    "clustered_rate_difference",
    "clusters_for_difference",
    "cohen_kappa",
    "common_items",
    "compare_replay",
    "confusion",
    "confusion_matrix",
    "corrected_rate",
    "design_effect",
    "estimate_difference",
    "fisher_exact",
    "holm",
    "jaccard",
    "kendall",
    "krippendorff_alpha",
    "least_runs_to_pass",
    "leniency",
    "macro_mean",
    "mcnemar",
    "mean_interval",
    "mean_pass_at_k",
    "mean_pass_hat_k",
    "more_runs_for_half_width",
    "non_inferior_paired_rate",
    "non_inferior_rate",
    "paired_difference",
    "paired_rate_difference",
    "pairs_for_difference",
    "pass_at_k",
    "pass_hat_k",
    "pass_rate",
    "percent_agreement",
    "rank_models",
    "rate_difference",
    "reliability_curve",
    "runs_for_difference",
    "runs_for_half_width",
    "sampling_floor",
    "self_agreement",
    "self_preference",
    "sequential_test",
    "sign_flip_test",
    "span_agreement",
    "span_overlap",
    "spearman",
    "stratified_difference",
    "switch_error",
    "two_level_bootstrap",
    "wilcoxon_signed_rank",
    "wilson_interval",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "bootstrap": ("BootstrapMethod", "bootstrap_interval", "two_level_bootstrap"),
        "clustered": (
            "clustered_rate",
            "design_effect",
            "macro_mean",
            "mean_interval",
            "paired_difference",
        ),
        "clustered_pairs": ("clustered_rate_difference", "sign_flip_test"),
        "corrected_rates": ("CorrectedRate", "corrected_rate"),
        "correlations": ("Correlation", "kendall", "spearman"),
        "differences": ("estimate_difference",),
        "intervals": ("Difference", "Estimate", "Interval", "Significance"),
        "krippendorff": ("Scale", "krippendorff_alpha"),
        "left_out": ("clustered_coefficient",),
        "non_inferiority": ("NonInferiority", "non_inferior_paired_rate", "non_inferior_rate"),
        "paired_rates": ("mcnemar", "paired_rate_difference"),
        "planning": (
            "clusters_for_difference",
            "more_runs_for_half_width",
            "pairs_for_difference",
            "runs_for_difference",
            "runs_for_half_width",
        ),
        "preference": ("self_preference",),
        "proportions": ("pass_rate", "rate_difference", "wilson_interval"),
        "rankings": ("RankedModel", "Ranking", "common_items", "rank_models"),
        "ratings": (
            "Confusion",
            "ConfusionMatrix",
            "Weights",
            "cohen_kappa",
            "confusion",
            "confusion_matrix",
            "leniency",
            "percent_agreement",
        ),
        "reliability": ("ReliabilityBin", "ReliabilityCurve", "reliability_curve"),
        "reproduction": (
            "ReplayedVerdict",
            "Reproduction",
            "SwitchError",
            "compare_replay",
            "switch_error",
        ),
        "sequential": (
            "SequentialDecision",
            "SequentialState",
            "always_valid_interval",
            "least_runs_to_pass",
            "sequential_test",
        ),
        "significance": ("holm", "wilcoxon_signed_rank"),
        "spans": ("Span", "SpanAgreement", "jaccard", "span_agreement", "span_overlap"),
        "trials": (
            "Trials",
            "agreement_pairs",
            "mean_pass_at_k",
            "mean_pass_hat_k",
            "pass_at_k",
            "pass_hat_k",
            "sampling_floor",
            "self_agreement",
        ),
        "unpaired": ("fisher_exact", "stratified_difference"),
    },
)
