"""The page of a scan: what is left out, the funnel, rates by week and agent, each occurrence."""

from __future__ import annotations

from tests.report.test_html_links import occurrence
from tests.support.report_pages import Seen, run
from tracedance_sdk.report import (
    DecisionPlace,
    EvidenceMark,
    ScanSource,
    percent,
    rendered,
    scan_page,
)
from tracedance_sdk.report.html.charts import week_chart
from tracedance_sdk.statistics import pass_rate, wilson_interval

HEADER = {
    "format": "tracedance.occurrences",
    "version": 1,
    "funnels": [
        {
            "behavior": "F01",
            "sessions": 40,
            "traces": 50,
            "candidates": 9,
            "hits": 3,
            "hit_sessions": 2,
            "kept": 2,
            "errors": 1,
        },
        {"behavior": "C01", "sessions": 40, "traces": 50, "candidates": 4, "hits": 0, "kept": 0},
    ],
    "sessions": {"week": {"2026-W01": 10, "2026-W03": 30}, "agent": {"a": 25, "b": 15}},
}
FOUND = [
    occurrence("00aa", "t", week="2026-W01", agent="a", model="m"),
    occurrence("00bb", "t", week="2026-W01", agent="a", dropped="near-duplicate of 00aa"),
    occurrence("00cc", "u", week="2026-W03", agent="b", model="m"),
]


def cells(source: ScanSource, anchor: str) -> list[tuple[str, list[str]]]:
    page = scan_page(source)
    found = next(one for one in (page.left_out, *page.tables) if one.anchor == anchor)
    return [(line.name, [cell.text for cell in line.cells]) for line in found.lines]


def told(passed: int, of: int) -> list[str]:
    low, high, _ = wilson_interval(passed, of)
    return [f"{percent(passed / of)} %", f"{percent(low)} to {percent(high)} %"]


def test_the_funnel_and_the_share_of_sessions_are_shown_for_every_behaviour() -> None:
    lines = cells(ScanSource("x", HEADER, FOUND), "by-behavior")
    assert lines[0] == ("F01", ["40", "50", "9", "3", "2", "2", *told(2, 40)])
    assert lines[1][0] == "C01"
    assert lines[1][1][:5] == ["40", "50", "4", "0", "0"]


def test_what_is_left_out_is_told_first_by_reason() -> None:
    source = ScanSource("x", HEADER, FOUND)
    assert cells(source, "left-out") == [("near-duplicate", ["1"]), ("F01", ["1"])]
    html = rendered(scan_page(source))
    assert html.index("near-duplicate") < html.index("5.0 %")


def test_rates_by_week_and_agent_are_of_the_sessions_looked_at() -> None:
    source = ScanSource("x", HEADER, FOUND)
    assert cells(source, "by-week") == [
        ("2026-W01", ["2", "1", "10", *told(1, 10)]),
        ("2026-W03", ["1", "1", "30", *told(1, 30)]),
    ]
    assert cells(source, "by-agent")[0] == ("a", ["2", "1", "25", *told(1, 25)])


def test_where_sessions_are_not_known_there_are_counts_and_no_rates() -> None:
    source = ScanSource("x", {"funnels": "odd", "sessions": 3}, FOUND)
    assert cells(source, "by-week") == [("2026-W01", ["2", "1"]), ("2026-W03", ["1", "1"])]
    assert cells(source, "by-behavior") == [("F01", ["-", "-", "-", "3", "2", "-", "-", "-"])]


def test_weeks_are_columns_with_the_weeks_in_between() -> None:
    rates = {"2025-W52": pass_rate(1, 2), "2026-W02": pass_rate(1, 4), "": pass_rate(1, 1)}
    chart = week_chart("F01", rates, {})
    assert chart is not None
    assert [(bar.label, bar.text, bar.width) for bar in chart.bars] == [
        ("2025-W52", "50.0 %", 100.0),
        ("2026-W01", "no sessions", 0.0),
        ("2026-W02", "25.0 %", 50.0),
    ]
    assert chart.alt == "F01, from 2025-W52 to 2026-W02; the most is 50.0 % in 2025-W52"


def test_weeks_that_are_none_and_very_long_times_do_no_harm() -> None:
    odd = {"2026-W99": 3, "9999-W52": 1, "0001-W01": 1, "<b>": 1, "2026-W10": 2}
    chart = week_chart("x", {}, odd)
    assert chart is not None
    assert len(chart.bars) == 260
    assert chart.more > 0
    assert week_chart("x", {}, {"2026-W01": 3}) is None


def test_an_occurrence_shows_its_evidence_in_its_turns() -> None:
    trace = run("t", answer="order W-1 is not there")
    marks = (EvidenceMark(1, 0, "W-1 is not"), EvidenceMark(2, None, "give up"))
    place = DecisionPlace(trace, 2, "the store", marks, trace.turns[2])
    html = rendered(scan_page(ScanSource("x", HEADER, FOUND, {"00aa": place})))
    assert "order <mark>W-1 is not</mark> there" in html
    assert "I <mark>give up</mark>." in html
    assert "What the recorded agent did here" in html


def test_a_scan_without_occurrences_is_a_page_too() -> None:
    for header in ({}, HEADER):
        seen = Seen(rendered(scan_page(ScanSource("x", header, []))))
        assert {link[1:] for link in seen.links} <= set(seen.ids)
        assert "scan: 0 occurrences" in seen.words


def test_every_number_of_a_scan_leads_to_its_occurrences() -> None:
    page = scan_page(ScanSource("x", HEADER, FOUND))
    seen = Seen(rendered(page))
    assert len(seen.ids) == len(set(seen.ids))
    assert {link[1:] for link in seen.links} <= set(seen.ids)
    lists = {f"#{one.anchor}": one.number for one in page.listings}
    (line, *_) = page.tables[0].lines
    assert [lists[cell.href] for cell in line.cells if cell.href] == [3, 2, 3, 3, 3]
