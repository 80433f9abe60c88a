"""The memory of a long run is bounded by what is open, not by what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.durability.hosts import run_host
from tests.durability.receivers import http_receiver
from tests.support.tables import AddRow

MIB = 1024 * 1024


class Length(NamedTuple):
    """How much a run records.

    Attributes:
        large_every: Each so-many-th result has 1 MB.
        growth_mib: Most that the peak may grow by, from the 1,000th call.
    """

    calls: int
    bytes: int
    large_every: int = 0
    growth_mib: float = 100.0


LENGTHS = [
    pytest.param(Length(10_000, 1000, growth_mib=10), id="10,000 calls of 1 kB"),
    pytest.param(Length(3000, 1000, 30, growth_mib=30), id="100 values of 1 MB"),
    pytest.param(
        Length(100_000, 11_000), id="100,000 calls and 1 GB", marks=pytest.mark.durability
    ),
    pytest.param(Length(10_000, 1000, 10), id="1,000 values of 1 MB", marks=pytest.mark.durability),
]


def size_on_disk(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / MIB


@pytest.mark.timeout(600)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_long_run_with_a_journal_grows_by_little(
    length: Length, tmp_path: Path, add_row: AddRow
) -> None:
    asked = {
        **length._asdict(),
        "journal": str(tmp_path),
        "trace": length.calls <= 10_000,
        "timeout_seconds": 500,
    }
    said = run_host("long_run.py", asked).said

    curve = dict(said["curve"])
    on_disk = size_on_disk(tmp_path)
    n_content = length.calls * length.bytes
    if length.large_every:
        n_content += length.calls // length.large_every * 1_000_000
    assert on_disk > 0.9 * n_content / MIB
    assert said["summary"]["written"] == 2 * length.calls + 2
    assert said["summary"]["faults"] == {}
    growth = curve[length.calls] - curve[1000]
    name = f"{length.calls:,} calls, {on_disk:,.0f} MiB"
    add_row(
        "memory of a long run, with a journal",
        run=name,
        **{f"{part}0 %": f"{curve[length.calls * part // 10]:.0f} MiB" for part in range(1, 11)},
        growth=f"{growth:.1f} MiB",
        per_call=f"{said['seconds'] / length.calls * 1e6:.0f} µs",
    )
    if "trace" in said:
        trace = said["trace"]
        assert trace["calls"] == length.calls
        add_row(
            "recorder.trace of a long run",
            run=name,
            seconds=f"{trace['seconds']:.2f} s",
            held=f"{trace['held_mib']:.0f} MiB",
            peak=f"{trace['peak_mib']:.0f} MiB",
        )
    assert growth < length.growth_mib


def test_a_long_run_that_is_exported_grows_by_the_queue_at_most(
    tmp_path: Path, add_row: AddRow
) -> None:
    asked: dict[str, Any] = {
        "calls": 6000,
        "bytes": 10_000,
        "journal": str(tmp_path),
        "exporter": "otlp",
    }
    with http_receiver() as (endpoint, received):
        said = run_host("long_run.py", asked, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint).said

    curve = dict(said["curve"])
    growth = curve[6000] - curve[1000]
    summary = said["summary"]
    assert summary["exported"] == len(received.spans)
    assert summary["exported"] + sum(summary["dropped"].values()) == 6001
    add_row(
        "memory of an exported run",
        run=f"6,000 calls, {size_on_disk(tmp_path):,.0f} MiB",
        exported=summary["exported"],
        dropped=str(summary["dropped"] or "-"),
        growth=f"{growth:.1f} MiB",
    )
    # The queue, a request on its way, and copies of it while it is encoded.
    assert growth < 80
