"""A sample of what was not found, of two behaviours that have to show at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.benchmark_stores import fine, lines
from tests.behaviors.test_benchmark_building import MANAGED, NO_RULE, built, retry
from tracedance_sdk.behaviors import TraceConstraints, audit_path, build_benchmark, parse_query
from tracedance_sdk.behaviors.benchmarks.about import BuildSettings
from tracedance_sdk.store import TraceStore


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    """Return a store with two runs that show both, one that retries, and one without the fix."""
    store = TraceStore.create(tmp_path_factory.mktemp("audits") / "runs")
    store.add(
        [
            retry(1, NO_RULE),
            retry(2, MANAGED),
            retry(3, MANAGED, again="pip install requests --quiet"),
            retry(4, MANAGED),
            *map(fine, range(2)),
        ]
    )
    store.index()
    return store


@pytest.mark.parametrize(("number", "drawn"), [(2, (1, 1)), (3, (1, 2)), (9, (2, 2))])
def test_of_two_at_once_turns_with_one_of_them_are_drawn_and_turns_with_neither(
    store: TraceStore, tmp_path: Path, number: int, drawn: tuple[int, int]
) -> None:
    built(store, tmp_path / "b.jsonl", "F01 AND F02", audit=number)
    header, *places = lines(audit_path(tmp_path / "b.jsonl"))
    assert list(header)[:5] == ["format", "version", "behavior", "operator", "behaviors"]
    assert (header["behavior"], header["operator"]) == ("F01+F02", "AND")
    assert [one["id"] for one in header["behaviors"]] == ["F01", "F02"]
    assert all(one["criterion"] for one in header["behaviors"])
    of_one, elsewhere = (header["strata"][name] for name in ("one of two", "elsewhere"))
    assert (of_one["size"], of_one["drawn"]) == (2, drawn[0])
    assert elsewhere == {"size": 2, "drawn": drawn[1]}
    told = {(one["trace_id"], one["turn"], one.get("found")) for one in places}
    assert len(told) == len(places) == of_one["drawn"] + elsewhere["drawn"]
    single = {one for one in told if one[2] is not None}
    assert single <= {("b001", 2, "F01"), ("b003", 2, "F02")}
    assert not told & {(name, 2, None) for name in ("b002", "b004")}


def test_only_traces_within_the_limits_are_drawn_from(store: TraceStore, tmp_path: Path) -> None:
    limits = TraceConstraints(where="trace_id < 'b003'")
    query: Any = parse_query("F01 AND F02", kmin=1, constraints=limits)
    how = BuildSettings(audit=9)
    build_benchmark(query, store, tmp_path / "b.jsonl", settings=how)
    header, *places = lines(audit_path(tmp_path / "b.jsonl"))
    assert header["strata"]["one of two"] == {"size": 1, "drawn": 1}
    assert {one["trace_id"] for one in places} <= {"b001", "b002"}


def test_the_same_seed_draws_the_same(store: TraceStore, tmp_path: Path) -> None:
    for name in ("a", "b"):
        built(store, tmp_path / f"{name}.jsonl", "F01 AND F02", audit=3)
    assert audit_path(tmp_path / "a.jsonl").read_bytes() == (
        audit_path(tmp_path / "b.jsonl").read_bytes()
    )
