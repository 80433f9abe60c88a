"""A foreign behaviour spoils nothing but itself: not another place, nor another behaviour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.test_behavior_files import written
from tests.behaviors.test_foreign_anchors import NOTHING, behavior
from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import StoreScan, Wanted, behavior_named, scan_store
from tracedance_sdk.cli import run as tracedance
from tracedance_sdk.errors import InvalidQuery
from tracedance_sdk.store import TraceStore

AGENT = "SELECT trace_id, turn FROM turns WHERE role = 'assistant'"
DEEP = "m = iter([1])\n    for _ in range(1000000):\n        m = map(str, m)\n    "
"""Ends the process by a stack that is too deep, as Python itself does not see it coming."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("apart") / "s"
    failing = call("Bash", {"command": "make"}, "error: no rule to make target", ok=False)
    made = TraceStore.create(path)
    made.add(
        [
            run(f"t{number}", human("Build."), agent("I try.", failing), agent("Again.", failing))
            for number in range(3)
        ]
    )
    made.index()
    return path


@pytest.fixture(scope="module")
def store(folder: Path) -> TraceStore:
    return TraceStore.open(folder)


def scanned(store: TraceStore, code: str | None, sql: str = AGENT, **how: Any) -> StoreScan:
    one, other = behavior(sql, code), behavior_named("F01")
    scan = scan_store(store, [Wanted(one, one.filled()), Wanted(other, other.filled())], **how)
    assert scan.funnels[1].hits == 3, "what else is looked for is found all the same"
    return scan


def places(scan: StoreScan) -> list[tuple[str, int]]:
    return sorted((item.trace_id, item.turn) for item in scan.occurrences["X01"])


def test_a_quote_that_the_source_wrote_into_the_run_does_not_stand_there(store: TraceStore) -> None:
    code = """
def anchor(run, place, parameters):
    for turn in run["turns"]:
        turn["text"] = "rm -rf / as root"
        for call in turn["calls"]:
            call["arguments"]["zz"] = "rm -rf / as root"
    shown = {"turn": place["turn"], "quote": "rm -rf / as root"}
    return {"turn": place["turn"], "evidence": [shown]}
"""
    scan = scanned(store, code)
    assert scan.funnels[0].hits == 0
    assert len(scan.errors) == 6
    assert "the quote 'rm -rf / as root' does not stand in turn 1" in scan.errors[0]


@pytest.mark.parametrize(
    ("top", "count"),
    [
        ("SEEN = []", "SEEN.append(1); n = len(SEEN)"),
        ("", "run.setdefault('seen', []).append(1); n = len(run['seen'])"),
        ("", "parameters['seen'].append(1); n = len(parameters['seen'])"),
        ("def counted(seen=[]):\n    seen.append(1)\n    return len(seen)", "n = counted()"),
        ("COUNT = iter(range(1, 99))", "n = next(COUNT)"),
    ],
    ids=["list", "run", "parameters", "default", "iterator"],
)
def test_what_source_keeps_is_gone_at_the_next_place(
    store: TraceStore, top: str, count: str
) -> None:
    code = f"{top}\n{NOTHING}{count}\n    return {{'turn': place['turn'], 'note': str(n)}}"
    seen = {"seen": {"about": "a list", "default": []}}
    one = behavior(AGENT, code, parameters=seen if "parameters" in count else {})
    scan = scan_store(store, [Wanted(one, one.filled())])
    assert scan.errors == ()
    assert [item.note for item in scan.occurrences["X01"]] == ["1"] * 6


def test_a_trace_with_many_slow_places_is_looked_at_to_its_end(store: TraceStore) -> None:
    sql = "SELECT trace_id, 1 AS turn, NULL::INT FROM traces UNION ALL SELECT 't0', 1, 0"
    busy = "n = 0\n    for _ in range(4000000):\n        n += 1\n    "
    both = f"{AGENT} UNION ALL SELECT trace_id, turn FROM turns WHERE role = 'user'"
    for asked, number in ((sql, 4), (both, 9)):
        scan = scanned(store, NOTHING + busy + "return None", asked)
        assert (scan.errors, scan.failed) == ((), ())
        assert scan.funnels[0].candidates == number


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (DEEP + "return {'turn': 1, 'note': next(m)}", "the second stage died; it may take 1 GB"),
        ("return [0] * 10**12 if sum([0] * 10**8) else sorted(range(10**9))", ""),
        ("return max(range(10**11))", "the second stage was killed after 3 s"),
    ],
    ids=["died", "memory", "killed"],
)
def test_a_process_that_dies_at_one_trace_goes_on_with_the_next(
    store: TraceStore, body: str, told: str
) -> None:
    code = f"{NOTHING}if run['trace_id'] != 't1': return {{'turn': place['turn']}}\n    {body}"
    scan = scanned(store, code)
    assert places(scan) == [("t0", 1), ("t0", 2), ("t2", 1), ("t2", 2)]
    assert scan.failed == ()
    assert scan.errors[0].startswith("X01: trace t1, turn 1: ")
    assert told in scan.errors[0]


def test_source_that_is_stopped_too_often_is_given_up_and_nothing_else(store: TraceStore) -> None:
    sql = "SELECT trace_id, 1, NULL::INT FROM traces UNION ALL SELECT trace_id, 1, 0 FROM traces"
    scan = scanned(store, NOTHING + "n = 1\n    while n: n = 1", sql)
    assert scan.failed == ("X01",)
    assert len(scan.errors) == 6
    assert scan.errors[0] == "X01: trace t0, turn 1: more than 2 s for one place"
    assert scan.errors[-1] == (
        "X01: its source was stopped 5 times; it was not looked for in this part of the store from "
        "trace t2 on"
    )


def test_what_was_stopped_is_not_kept_for_the_next_scan(store: TraceStore, tmp_path: Path) -> None:
    code = f"{NOTHING}if run['trace_id'] == 't1' and place['turn'] == 1: max(range(10**11))"
    scan = scanned(store, code, kept=tmp_path / "kept")
    assert len(scan.errors) == 1
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize(
    "caught",
    [
        "try:\n        while n: n = 1\n    finally:\n        raise ValueError()",
        "try:\n        while n: n = 1\n    finally:\n        for x in []: break",
    ],
    ids=["raise", "loop"],
)
def test_what_was_stopped_and_goes_on_all_the_same_finds_nothing(
    store: TraceStore, caught: str
) -> None:
    inner = caught.replace("\n", "\n    ")
    code = f"{NOTHING}n = 1\n    try:\n        {inner}\n    except ValueError:\n        n = 2\n    "
    scan = scanned(store, code + "return {'turn': 1}", AGENT + " AND trace_id = 't0' AND turn = 1")
    assert scan.errors == ("X01: trace t0, turn 1: more than 2 s for one place",)
    assert scan.funnels[0].hits == 0


@pytest.mark.parametrize("code", [None, NOTHING + "return {'turn': 1}"], ids=["SQL", "source"])
@pytest.mark.parametrize("turn", [2**127 - 1, 1 - 2**127, 2**63, 2**53])
def test_a_turn_that_is_too_large_a_number_is_not_there(
    store: TraceStore, turn: int, code: str | None
) -> None:
    scan = scanned(store, code, f"SELECT 't0', {turn}::HUGEINT")
    assert scan.errors == (f"X01: trace t0: the SQL names turn {turn} of a run with 3 turns",)
    assert scan.funnels[0].candidates == 1


def test_places_of_many_long_names_are_told_as_not_there_or_refused(store: TraceStore) -> None:
    sql = "SELECT repeat('x', 9000) || range::VARCHAR, 0 FROM range({})"
    assert "2,999 more places are not there" in scanned(store, None, sql.format(3000)).errors[0]
    (told,) = scanned(store, None, sql.format(10000)).errors
    assert told.startswith("X01: the query names ids of more than 67,108,864 characters")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT repeat('x', 1000000) || range::VARCHAR, 0 FROM range(900)", "Out of Memory Error"),
        ("SELECT trace_id, trace_id::INT FROM traces", "Conversion Error"),
        (
            f"{AGENT} AND turn < (SELECT count(*) FROM range(1000000000000), range(9))",
            "interrupted after 2 s",
        ),
    ],
    ids=["memory", "conversion", "time"],
)
def test_a_query_that_fails_at_what_it_meets_ends_nothing_else(
    store: TraceStore, sql: str, told: str
) -> None:
    scan = scanned(store, None, sql)
    assert scan.failed == ("X01",)
    assert told in scan.errors[0]
    assert scan.errors[0].endswith("it was not looked for in this part of the store")


def test_a_query_that_is_wrong_is_refused(store: TraceStore) -> None:
    with pytest.raises(InvalidQuery, match="nothing"):
        scanned(store, None, "SELECT trace_id, nothing FROM traces")


def test_no_benchmark_is_built_of_a_behaviour_that_was_given_up(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT trace_id, turn FROM turns, range(100000), range(100000), range(10000)"
    file, out = written(tmp_path, anchor={"sql": sql}), tmp_path / "b.jsonl"
    command = ["benchmark", "build", "--store", str(folder), "--behavior", file, "--kmin", "1"]
    assert tracedance([*command, "--out", str(out)]) == 1
    told = capsys.readouterr().err
    # What a query of that size runs out of first, time or memory, is the machine's.
    assert "rejected, unsafe_anchor: the anchor of X01 is refused: X01: " in told
    assert not out.exists()


def test_the_verb_shows_the_others_and_ends_with_3(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = f"{NOTHING}if run['trace_id'] == 't1': max(range(10**11))"
    file = written(tmp_path, anchor={"sql": AGENT, "code": code})
    command = ["scan", str(folder), "--behavior", "F01", "--behavior", file, "--json"]
    assert tracedance(command) == 3
    told = capsys.readouterr()
    assert "X01: trace t1, turn 1: the second stage was killed after 3 s" in told.err
    found = {one["id"]: one["funnel"]["hits"] for one in json.loads(told.out)["behaviors"]}
    assert found == {"F01": 3, "X01": 0}
