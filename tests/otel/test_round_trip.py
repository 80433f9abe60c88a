from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.traces import traces
from tracedance_sdk.otel import assemble, trace_records
from tracedance_sdk.trace import Trace, decode, encode

many = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(traces())
def test_a_trace_written_as_spans_and_read_back_is_equal(trace: Trace) -> None:
    assert assemble(trace_records(trace)) == [trace]


@many
@given(traces(), st.integers())
def test_the_order_of_records_does_not_matter(trace: Trace, seed: int) -> None:
    records = [*trace_records(trace), *trace_records(trace)[:2]]
    random.Random(seed).shuffle(records)
    assert assemble(records) == [trace]


@many
@given(traces())
def test_the_strategy_draws_traces_that_files_keep(trace: Trace) -> None:
    assert decode(encode(trace)) == trace
