"""What anchors find in all real runs, how much of it is true, and what can be made of it.

Readers labelled up to 20 hits of each behaviour, among 10 places that its SQL named and its second
stage refused; see tools/sample_hits.py. No anchor was widened to reach a number.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.behaviors.labels import Label, labels
from tests.docs.test_pages import ROOT
from tests.support.tables import AddRow
from tools.sample_hits import MOST_HITS
from tracedance_sdk.behaviors import (
    RECORDED_SOURCE,
    Run,
    StoreScan,
    Wanted,
    build_benchmark,
    packaged_behaviors,
    parse_query,
    read_benchmark,
    recorded_responses,
    rule_rows,
    scan_store,
)
from tracedance_sdk.statistics import wilson_interval
from tracedance_sdk.store import TraceStore

pytestmark = pytest.mark.timeout(600)
LABELS = labels()
BEHAVIORS = packaged_behaviors()


class Found(NamedTuple):
    """How many are left of a behaviour.

    Attributes:
        candidates: Places that its SQL named.
        hits: What its second stage kept.
        kept: Without near-duplicates, and two of a session at most.
        instances: What could be cut; the one refusal is for A02's, which begins its run.
    """

    candidates: int
    hits: int
    kept: int
    instances: int


class Read(NamedTuple):
    """What readers say.

    Attributes:
        hits: Hits among the labelled places.
        shown: Of them, those that show the behaviour.
        untold: Of them, those where the window does not tell.
        others: Other labelled places, without those where the window does not tell.
        missed: Of them, those that show it all the same.
    """

    hits: int
    shown: int
    untold: int
    others: int
    missed: int


FOUND = {
    "A01": Found(23, 8, 6, 6),
    "A02": Found(430, 2, 2, 1),
    "A03": Found(217, 117, 78, 78),
    "A04": Found(377, 17, 16, 16),
    "A05": Found(258, 1, 1, 1),
    "A06": Found(241, 1, 1, 1),
    "A07": Found(389, 6, 5, 5),
    "A08": Found(22, 0, 0, 0),
    "A09": Found(84, 0, 0, 0),
    "A10": Found(2689, 2, 2, 2),
    "A11": Found(1208, 59, 43, 43),
    "A12": Found(167, 2, 2, 2),
    "A13": Found(40, 3, 3, 3),
    "C01": Found(78, 2, 2, 2),
    "C02": Found(178, 4, 3, 3),
    "C03": Found(283, 1, 1, 1),
    "C04": Found(2571, 1, 1, 1),
    "C05": Found(2066, 21, 20, 20),
    "F01": Found(111, 22, 20, 20),
    "F02": Found(1111, 15, 8, 8),
    "F03": Found(38, 0, 0, 0),
    "F04": Found(400, 6, 5, 5),
    "F05": Found(579, 3, 3, 3),
    "F06": Found(199, 0, 0, 0),
    "F07": Found(146, 0, 0, 0),
    "F08": Found(1286, 0, 0, 0),
    "F09": Found(20, 0, 0, 0),
    "F10": Found(340, 10, 9, 9),
}
READ = {
    "A01": Read(6, 6, 0, 10, 1),
    "A02": Read(2, 2, 0, 10, 0),
    "A03": Read(20, 19, 0, 10, 4),
    "A04": Read(16, 16, 0, 10, 0),
    "A05": Read(1, 1, 0, 10, 0),
    "A06": Read(1, 0, 0, 10, 0),
    "A07": Read(5, 5, 0, 10, 1),
    "A10": Read(2, 0, 2, 10, 0),
    "A11": Read(20, 19, 0, 10, 1),
    "A12": Read(2, 2, 0, 5, 2),
    "A13": Read(3, 1, 0, 10, 0),
    "C01": Read(2, 1, 0, 10, 0),
    "C02": Read(3, 3, 0, 10, 0),
    "C03": Read(1, 0, 0, 10, 0),
    "C04": Read(1, 1, 0, 9, 0),
    "C05": Read(20, 20, 0, 10, 0),
    "F01": Read(20, 20, 0, 10, 1),
    "F02": Read(8, 7, 0, 10, 1),
    "F04": Read(5, 5, 0, 10, 0),
    "F05": Read(3, 3, 0, 10, 0),
    "F10": Read(9, 8, 0, 10, 0),
}


@pytest.fixture(scope="module")
def scan(real_runs: TraceStore) -> StoreScan:
    return scan_store(real_runs, [Wanted(one, one.filled()) for one in BEHAVIORS.values()])


def read(scan: StoreScan, behavior: str) -> Read:
    found = {(item.trace_id, item.turn) for item in scan.occurrences[behavior]}
    hits = [label.shows for label in LABELS[behavior] if label.place in found]
    others = [label.shows for label in LABELS[behavior] if label.place not in found]
    told = len(others) - others.count(None)
    return Read(len(hits), hits.count(True), hits.count(None), told, others.count(True))


def test_how_many_are_found(scan: StoreScan, add_row: AddRow) -> None:
    assert scan.errors == ()
    assert {(funnel.sessions, funnel.traces) for funnel in scan.funnels} == {(4161, 7759)}
    for funnel in scan.funnels:
        steps = {name: getattr(funnel, name) for name in ("candidates", "hits", "kept")}
        add_row("behaviours in all real runs", id=funnel.behavior, **steps)
    found = {f.behavior: (f.candidates, f.hits, f.kept) for f in scan.funnels}
    assert found == {name: row[:3] for name, row in FOUND.items()}


@pytest.mark.parametrize("behavior", [name for name, found in FOUND.items() if found.hits])
def test_a_benchmark_of_each_is_failed_by_those_who_made_it(
    behavior: str, real_runs: TraceStore, tmp_path: Path, add_row: AddRow
) -> None:
    expected = FOUND[behavior]
    query = parse_query(behavior, kmin=1, kmax=1_000)
    built = build_benchmark(query, real_runs, tmp_path / "b.jsonl")
    benchmark = read_benchmark(built.path)
    assert len(benchmark.instances) == expected.instances
    refused = built.about["refused"]
    assert refused == ({"position": 1} if behavior == "A02" else {})
    assert sum(refused.values()) + expected.instances == expected.kept
    scores = Counter(
        (row.model_extra or {})["rubric_score"]
        for row in rule_rows(recorded_responses(benchmark), model=RECORDED_SOURCE)
    )
    add_row("scores of the withheld turns", id=behavior, scores=dict(sorted(scores.items())))
    assert sum(scores.values()) == expected.instances
    assert not [score for score in scores if score > 2], "the source shows the behaviour"
    assert scores[0] >= 0.8 * expected.instances


def test_every_hit_of_the_sample_is_labelled(scan: StoreScan) -> None:
    assert LABELS.keys() == {name for name in BEHAVIORS if scan.kept(name)}
    for behavior, found in LABELS.items():
        places = [label.place for label in found]
        assert len(places) == len(set(places))
        drawn = [(item.trace_id, item.turn) for item in scan.kept(behavior)[:MOST_HITS]]
        assert set(drawn) <= set(places), behavior


@pytest.mark.parametrize("behavior", LABELS)
def test_what_a_label_quotes_stands_in_its_trace(behavior: str, real_runs: TraceStore) -> None:
    for label in LABELS[behavior]:
        assert 0 < len(label.quote) <= 100
        assert label.quote in words(real_runs, label), label


def words(store: TraceStore, label: Label) -> str:
    """Return what stands in a trace up to a turn with its results."""
    turns = Run.of(store.get(label.trace_id)).turns[: label.turn + 1]
    calls = [call for turn in turns for call in turn.calls]
    said = [text for call in calls for text in (f"{call.name} {call.arguments_text}", call.result)]
    return "\n".join([turn.text for turn in turns] + said)


def test_how_many_hits_are_true(scan: StoreScan, add_row: AddRow) -> None:
    found = {behavior: read(scan, behavior) for behavior in LABELS}
    for behavior, row in found.items():
        n = row.hits - row.untold
        interval = wilson_interval(row.shown, n) if n else None
        told = "-" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]"
        add_row("labels of real runs", id=behavior, **row._asdict(), interval=told)
    assert found == READ
    shown = sum(row.shown for row in found.values())
    labelled = sum(row.hits - row.untold for row in found.values())
    assert (shown, labelled) == (139, 148)
    interval = wilson_interval(shown, labelled)
    assert (round(interval.low, 3), round(interval.high, 3)) == (0.888, 0.968)
    assert shown / labelled >= 0.8


def test_what_is_mostly_wrong_or_was_never_seen_is_experimental(scan: StoreScan) -> None:
    for name, behavior in BEHAVIORS.items():
        row = read(scan, name) if name in LABELS else Read(0, 0, 0, 0, 0)
        n = row.hits - row.untold
        is_trusted = n > 0 and row.shown / n >= 0.6
        assert behavior.status == ("stable" if is_trusted else "experimental"), name


def test_the_page_says_the_same() -> None:
    page = (ROOT / "docs" / "behaviors.md").read_text(encoding="utf-8")
    told = [line for line in page.splitlines() if line.startswith("| ") and line[2:5] in BEHAVIORS]
    assert told == [page_row(name) for name in BEHAVIORS]


def page_row(name: str) -> str:
    cells = [name, *(f"{number:,}" for number in FOUND[name])]
    row = READ.get(name)
    if row is None:
        cells += "---"
    else:
        n = row.hits - row.untold
        interval = wilson_interval(row.shown, n) if n else None
        told = "-" if interval is None else f"{interval.low:.0%} to {interval.high:.0%}"
        cells += [f"{row.shown} of {n}", told, f"{row.missed} of {row.others}"]
    return f"| {' | '.join([*cells, BEHAVIORS[name].status])} |"
