"""What judges cost: calls add up, and shares of responses judged together add up to the call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.judging.items import added, shared_out
from tracedance_sdk.trace import Usage

COUNTS = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
)  # fmt: skip

usages = st.builds(
    Usage,
    **{name: st.one_of(st.none(), st.integers(0, 10**9)) for name in COUNTS},
    cost_usd=st.one_of(st.none(), st.floats(0, 1e6)),
)


@given(usage=usages, n=st.integers(1, 60))
def test_shares_add_up_to_the_call(usage: Usage, n: int) -> None:
    shares = shared_out(usage, n)
    assert len(shares) == n
    total = None
    for share in shares:
        total = added(total, share)
    assert total is not None
    for name in COUNTS:
        assert getattr(total, name) == getattr(usage, name)
        found = [getattr(share, name) for share in shares]
        assert None in found or max(found) - min(found) <= 1
    assert total.cost_usd == pytest.approx(usage.cost_usd)


@given(first=usages, second=usages)
def test_calls_add_up_in_any_order_and_nothing_known_is_lost(first: Usage, second: Usage) -> None:
    total = added(first, second)
    assert total == added(second, first)
    assert total is not None
    for name in (*COUNTS, "cost_usd"):
        known = [each for each in (getattr(first, name), getattr(second, name)) if each is not None]
        assert getattr(total, name) == (sum(known) if known else None)


def test_what_is_not_known_stays_so() -> None:
    assert added(None, None) is None
    assert added(None, Usage(input_tokens=1)) == Usage(input_tokens=1)
    assert shared_out(None, 3) == [None, None, None]
