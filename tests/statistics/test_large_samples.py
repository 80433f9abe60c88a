"""Large samples take seconds, or are refused by a bound that is said."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from tracedance_sdk import statistics as s
from tracedance_sdk.errors import InvalidOption

DRAW: Final = random.Random(7)
VALUES: Final = [DRAW.gauss(0, 1) for _ in range(20_000)]
OTHERS: Final = [DRAW.gauss(0, 1) for _ in range(20_000)]
RUNS: Final = [DRAW.random() < 0.8 for _ in range(200_000)]

LARGE: Final[dict[str, Callable[[], Any]]] = {
    "sequential_test, 200,000 runs": lambda: s.sequential_test(RUNS, min_rate=0.8),
    "least_runs_to_pass": lambda: s.least_runs_to_pass(min_rate=0.99999),
    "sign_flip_test, 20,000 values": lambda: s.sign_flip_test(OTHERS, VALUES),
    "pass_at_k, a million trials": lambda: s.pass_at_k(400_000, 10**6, 300_000),
    "sampling_floor, a million trials": lambda: s.sampling_floor([s.Trials(400_000, 10**6)]),
    "krippendorff_alpha, 20,000 units": lambda: s.krippendorff_alpha(
        [[round(3 * a), round(3 * b)] for a, b in zip(VALUES, OTHERS, strict=True)],
        scale="interval",
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_samples_take_seconds(name: str) -> None:
    begun = time.perf_counter()
    LARGE[name]()
    assert time.perf_counter() - begun < 15


@pytest.mark.parametrize(
    "call",
    [
        lambda: s.fisher_exact((3, 10**9), (12, 10**9)),
        lambda: s.pass_at_k(1, 10**9, 10),
        lambda: s.always_valid_interval(1, 10**10),
        lambda: s.kendall([*VALUES, 1.0], [*OTHERS, 1.0]),
        lambda: s.sign_flip_test([0, 1], [1, 1], n_resamples=10**9),
        lambda: s.clusters_for_difference(1e-9, 1.0, 100),
    ],
)
def test_what_would_take_too_long_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(InvalidOption, match=r"at most|must be|must lie|more than a billion"):
        call()


def test_quotients_of_large_counts_go_on_from_the_exact_ones() -> None:
    for passes, k in ((3, 10), (500, 3), (990, 40), (999, 999)):
        exact = s.pass_hat_k(passes, 1_000, k)
        near = s.pass_hat_k(passes, 1_001, k)
        assert near == pytest.approx(exact, rel=0.1, abs=1e-3)
        assert 0 <= near <= 1
    assert s.pass_hat_k(1_000, 2_000, 2) == pytest.approx(1_000 * 999 / (2_000 * 1_999))
    assert s.pass_at_k(3, 2_000, 2) == pytest.approx(1 - 1_997 * 1_996 / (2_000 * 1_999))
