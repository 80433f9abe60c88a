"""What cannot be computed is one clear line, never NaN; an absent library says how to get it."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tracedance_sdk import statistics as s
from tracedance_sdk.errors import InvalidOption, NotEnoughData, TraceDanceError

NAN, INFINITY = math.nan, math.inf
PANEL = s.Confusion(17, 21, 11, 119)

REFUSED: list[tuple[str, Callable[[], Any], type[TraceDanceError], str]] = [
    ("no trials", lambda: s.pass_rate(0, 0), NotEnoughData, "there is no observation"),
    ("more than all", lambda: s.pass_rate(3, 2), InvalidOption, "3 of 2 is not a count"),
    ("negative", lambda: s.wilson_interval(-1, 2), InvalidOption, "-1 of 2 is not a count"),
    ("half a pass", lambda: s.wilson_interval(0.5, 2), InvalidOption, "0.5 of 2"),  # type: ignore[arg-type]
    ("level 95", lambda: s.pass_rate(1, 2, level=95), InvalidOption, "level is 95"),
    ("level nan", lambda: s.pass_rate(1, 2, level=NAN), InvalidOption, "level is nan"),
    ("empty side", lambda: s.rate_difference((0, 0), (1, 2)), NotEnoughData, "no observation"),
    ("one value", lambda: s.mean_interval([1.0]), NotEnoughData, "1 values; at least 2"),
    ("no values", lambda: s.mean_interval([]), NotEnoughData, "0 values; at least 2"),
    ("nan value", lambda: s.mean_interval([1, NAN]), InvalidOption, "value 1 is nan; leave out"),
    ("one cluster", lambda: s.clustered_rate([0, 1], "aa"), NotEnoughData, "1 clusters; at least"),
    ("clusters short", lambda: s.clustered_rate([0, 1], "a"), InvalidOption, "differ in length"),
    (
        "beyond 1",
        lambda: s.clustered_rate([0, 2], "ab"),
        InvalidOption,
        "outcome 1 is 2; it must",
    ),
    ("uniform", lambda: s.design_effect([1, 1], "ab"), NotEnoughData, "1 different outcomes"),
    ("no pairs", lambda: s.paired_difference([], []), NotEnoughData, "0 values"),
    ("no subjects", lambda: s.mcnemar([], []), NotEnoughData, "0 subjects"),
    ("unpaired", lambda: s.paired_rate_difference([True], []), InvalidOption, "1 and 0"),
    ("k too large", lambda: s.pass_at_k(1, 2, 3), InvalidOption, "k is 3; with 2 trials"),
    ("k 0", lambda: s.pass_hat_k(1, 2, 0), InvalidOption, "k is 0"),
    ("k half", lambda: s.pass_hat_k(1, 2, 1.5), InvalidOption, "k is 1.5"),  # type: ignore[arg-type]
    ("no tasks", lambda: s.mean_pass_hat_k([], 1), NotEnoughData, "0 tasks; at least 1"),
    ("one trial", lambda: s.self_agreement([s.Trials(1, 1)] * 2), InvalidOption, "k is 2"),
    ("floor of none", lambda: s.sampling_floor([]), NotEnoughData, "0 tasks"),
    ("floor of 0", lambda: s.sampling_floor([s.Trials(0, 0)]), NotEnoughData, "there is no trial"),
    ("one to draw", lambda: s.bootstrap_interval([1.0], seed=1), NotEnoughData, "1 values"),
    (
        "too few resamples",
        lambda: s.bootstrap_interval([1, 2], seed=1, n_resamples=9),
        InvalidOption,
        "n_resamples is 9",
    ),
    (
        "unknown bootstrap",
        lambda: s.bootstrap_interval([1, 2], seed=1, method="magic"),  # type: ignore[arg-type]
        InvalidOption,
        "unknown bootstrap 'magic'; choose one of percentile, bca",
    ),
    (
        "nan statistic",
        lambda: s.bootstrap_interval([1, 2], lambda _: NAN, seed=1),
        NotEnoughData,
        "not a finite number",
    ),
    (
        "step statistic",
        lambda: s.bootstrap_interval([1, 1, 1, 1, 1, 9], lambda v: float(sorted(v)[3]), seed=1),
        NotEnoughData,
        "use method='percentile'",
    ),
    ("one model", lambda: s.rank_models({"a": {"x": [1]}}, seed=1), NotEnoughData, "1 models"),
    (
        "other benchmarks",
        lambda: s.rank_models({"a": {"x": [1], "y": [1]}, "b": {"x": [1], "z": [1]}}, seed=1),
        InvalidOption,
        "'b' and 'a' have different benchmarks",
    ),
    (
        "other instances",
        lambda: s.rank_models({"a": {"x": [1], "y": [1]}, "b": {"x": [1], "y": [1, 0]}}, seed=1),
        InvalidOption,
        "differ in the instances of 'y': 2 and 1",
    ),
    (
        "empty benchmark",
        lambda: s.rank_models({"a": {"x": [1], "y": []}, "b": {"x": [1], "y": []}}, seed=1),
        NotEnoughData,
        "benchmark 'y' has no instances",
    ),
    ("one category", lambda: s.cohen_kappa("aaa", "aaa"), NotEnoughData, "the same category"),
    ("no items", lambda: s.cohen_kappa("", ""), NotEnoughData, "0 items"),
    ("label", lambda: s.cohen_kappa("ab", "bb", labels="ac"), InvalidOption, "'b' is not among"),
    ("label twice", lambda: s.cohen_kappa("a", "a", labels="aa"), InvalidOption, "stands twice"),
    (
        "weights",
        lambda: s.cohen_kappa("ab", "ba", weights="cubic"),  # type: ignore[arg-type]
        InvalidOption,
        "unknown weights 'cubic'",
    ),
    ("one unit", lambda: s.krippendorff_alpha([[1, 2]]), NotEnoughData, "1 units with two"),
    ("all alike", lambda: s.krippendorff_alpha([[1, 1]] * 5), NotEnoughData, "all ratings are"),
    (
        "all but one",
        lambda: s.krippendorff_alpha([[1, 1]] * 5 + [[1, 2]]),
        NotEnoughData,
        "rests on that one",
    ),
    (
        "words on a scale",
        lambda: s.krippendorff_alpha([["a", "b"]] * 3, scale="ordinal"),
        InvalidOption,
        "which is no number",
    ),
    (
        "scale",
        lambda: s.krippendorff_alpha([[1, 2]], scale="ratio"),  # type: ignore[arg-type]
        InvalidOption,
        "unknown scale 'ratio'",
    ),
    ("constant", lambda: s.spearman([1, 1, 1, 1], [1, 2, 3, 4]), NotEnoughData, "all 1"),
    ("too few to rank", lambda: s.kendall([1, 2, 3, 4], [1, 2, 3, 4]), NotEnoughData, "4 items"),
    ("nothing passed", lambda: s.Confusion(0, 0, 3, 4).precision(), NotEnoughData, "by the judge"),
    ("no true fail", lambda: s.Confusion(3, 0, 4, 0).specificity(), NotEnoughData, "reference"),
    ("nothing to find", lambda: s.Confusion(0, 0, 0, 4).f1(), NotEnoughData, "0 passes"),
    ("no raters", lambda: s.percent_agreement([], []), NotEnoughData, "no observation"),
    ("p of 2", lambda: s.holm([0.5, 2]), InvalidOption, "p value 1 is 2"),
    ("p of nan", lambda: s.holm([NAN]), InvalidOption, "p value 0 is nan"),
    ("infinite", lambda: s.wilcoxon_signed_rank([INFINITY], [0]), InvalidOption, "is inf"),
    (
        "margin",
        lambda: s.non_inferior_rate((1, 2), (1, 2), margin=0),
        InvalidOption,
        "margin is 0",
    ),
    (
        "alpha",
        lambda: s.non_inferior_paired_rate([True], [True], margin=0.1, alpha=0.5),
        InvalidOption,
        "2 * alpha is 1.0",
    ),
    ("rate 1", lambda: s.sequential_test([True], min_rate=1), InvalidOption, "min_rate is 1"),
    ("rate near 1", lambda: s.least_runs_to_pass(min_rate=1 - 1e-9), InvalidOption, "a million"),
    ("passes first", lambda: s.always_valid_interval(1, 0), InvalidOption, "1 of 0"),
    ("too narrow", lambda: s.runs_for_half_width(1e-9), InvalidOption, "more than a billion"),
    ("half of all", lambda: s.runs_for_half_width(0.5), InvalidOption, "2 * half_width is 1.0"),
    ("equal rates", lambda: s.runs_for_difference(0.5, 0.5), InvalidOption, "no number of runs"),
    ("too much", lambda: s.pairs_for_difference(0.9, 0.2), InvalidOption, "cannot be"),
    (
        "blind judge",
        lambda: s.corrected_rate(1, 2, calibration=s.Confusion(5, 5, 5, 5)),
        NotEnoughData,
        "no better than chance (sensitivity 0.50, specificity 0.50)",
    ),
    (
        "calibrated on passes",
        lambda: s.corrected_rate(1, 2, calibration=s.Confusion(5, 0, 5, 0)),
        NotEnoughData,
        "0 fails by the reference",
    ),
    (
        "no own model",
        lambda: s.self_preference([1, 2, 3], [1, 1, 1], [False] * 3),
        NotEnoughData,
        "0 responses by the judge's model; at least 2",
    ),
    (
        "one own instance",
        lambda: s.self_preference([1, 2] * 2, [1, 1] * 2, [True, False] * 2, clusters="aaaa"),
        NotEnoughData,
        "1 clusters; at least 2",
    ),
    (
        "no coefficient",
        lambda: s.clustered_coefficient(lambda kept: s.pass_rate(0, len(kept)), ""),
        NotEnoughData,
        "there is no observation",
    ),
    (
        "a score, no coefficient",
        lambda: s.clustered_coefficient(lambda _: s.mean_interval([4, 5]), "ab"),
        InvalidOption,
        "the coefficient is 4.5; it must lie between -1 and 1",
    ),
    (
        "kappa rests on a cluster",
        lambda: s.clustered_coefficient(
            lambda kept: s.cohen_kappa([at > 1 for at in kept], [at > 1 for at in kept]), "aabb"
        ),
        NotEnoughData,
        "the same category",
    ),
    (
        "two levels",
        lambda: s.estimate_difference(s.pass_rate(1, 2), s.pass_rate(1, 2, level=0.9)),
        InvalidOption,
        "the levels differ: 0.95 and 0.9",
    ),
    (
        "score of 4",
        lambda: s.reliability_curve([4], [True]),
        InvalidOption,
        "score 0 is 4; it",
    ),
    ("no scores", lambda: s.reliability_curve([], []), NotEnoughData, "0 items"),
    ("no bins", lambda: s.reliability_curve([1], [True], n_bins=0), InvalidOption, "n_bins is 0"),
    ("judged none", lambda: s.corrected_rate(0, 0, calibration=PANEL), NotEnoughData, "judged"),
    ("no verdicts", lambda: s.compare_replay([]), NotEnoughData, "0 verdicts"),
    (
        "rate of 2",
        lambda: s.switch_error([2], [0], [0]),
        InvalidOption,
        "rate 0 is 2; it must",
    ),
    ("turned span", lambda: s.span_overlap((3, 1), (1, 2)), InvalidOption, "ends before"),
    ("no spans", lambda: s.span_agreement([], []), NotEnoughData, "0 spans"),
    ("empty sets", lambda: s.jaccard(set(), set()), NotEnoughData, "either set"),
]


@pytest.mark.parametrize(
    ("call", "error", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_cannot_be_computed_is_refused_in_one_line(
    call: Callable[[], Any], error: type[TraceDanceError], said: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


WITHOUT = """
import sys
for name in ("numpy", "scipy", "statsmodels"):
    sys.modules[name] = None
from tracedance_sdk import statistics as s
from tracedance_sdk.errors import MissingDependency
s.mean_pass_hat_k([s.Trials(1, 3), s.Trials(2, 3)], 2)
s.clustered_rate([0, 1, 1], "aab")
s.sequential_test([True] * 30, min_rate=0.8)
s.corrected_rate(4, 10, calibration=s.Confusion(9, 1, 1, 9))
s.non_inferior_rate((9, 10), (9, 10), margin=0.1)
s.paired_difference([1, 2], [2, 4])
for call in (
    lambda: s.bootstrap_interval([1, 2], seed=1),
    lambda: s.rank_models({"a": {}, "b": {}}, seed=1),
    lambda: s.cohen_kappa("ab", "ba"),
    lambda: s.krippendorff_alpha([[1, 2], [1, 1]]),
    lambda: s.spearman([1, 2, 3, 4], [1, 2, 4, 3]),
    lambda: s.mcnemar([True, True], [False, False]),
):
    try:
        call()
    except MissingDependency as error:
        print(error)
"""


def test_without_scipy_rates_work_and_the_rest_says_how_to_install_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True
    )
    lines = ran.stdout.splitlines()
    assert len(lines) == 6
    for line in lines:
        assert line.endswith(
            " is not installed; install it with: pip install 'tracedance-sdk[stats]'"
        )


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = (
        "import sys, tracedance_sdk.statistics as s; s.wilson_interval(1, 2);"
        "print({'numpy', 'scipy', 'pydantic'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
