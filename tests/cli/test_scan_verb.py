"""`tracedance scan`: what it is asked, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.behaviors.benchmark_stores import store_of
from tests.cli.conftest import Tracedance


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand beside a store with four sessions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    store_of(tmp_path / "runs", 2)
    return tmp_path / "runs"


def test_rates_by_several_are_a_table_for_each(runs: Path, tracedance: Tracedance) -> None:
    by = ["--by", "week", "--by", "agent", "--by", "week"]
    ran = tracedance("scan", runs, "--behavior", "F01", *by)
    assert ran.code == 0
    heads = [
        line.split()[0] for line in ran.out.splitlines() if line.endswith("rate") or " hit " in line
    ]
    assert heads == ["id", "week", "agent"]


@pytest.mark.parametrize("by", [[], ["week"], ["agent", "week"]], ids=" ".join)
def test_each_rate_of_the_document_says_what_it_is_by(
    runs: Path, tracedance: Tracedance, by: list[str]
) -> None:
    options = [text for name in by for text in ("--by", name)]
    found = json.loads(tracedance("scan", runs, "--behavior", "F01", "--json", *options).out)
    assert found["by"] == by
    told = {rate["by"] for rate in found["behaviors"][0]["rates"]}
    assert told == (set(by) if by else {None})


@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("F01 AND F02", "--behavior F01 --behavior F02"),
        ("f01 or F02", "--behavior F01 --behavior F02"),
        ("F01,F02", "--behavior F01 --behavior F02"),
        ("F01 AND Z99", "--behavior F01"),
    ],
)
def test_two_behaviours_in_one_name_are_told_how_they_are_asked_for(
    runs: Path, tracedance: Tracedance, name: str, each: str
) -> None:
    ran = tracedance("scan", runs, "--behavior", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"tracedance: no behaviour {name!r}: one is named at a time, to scan for several {each}; "
        "AND and OR are for tracedance benchmark build\n"
    )
