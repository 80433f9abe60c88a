"""Links of a page: places in it, files beside it, occurrences and tests of the same trace."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.report_pages import Seen, items, row
from tracedance_sdk.behaviors import Occurrence
from tracedance_sdk.report import (
    HtmlPage,
    PageBounds,
    RebuiltFile,
    Relations,
    ResultSource,
    ScanSource,
    file_href,
    rendered,
    results_page,
    scan_page,
)
from tracedance_sdk.report.html.links import Anchors
from tracedance_sdk.report.html.page import Link


def occurrence(identity: str, trace_id: str, **fields: object) -> Occurrence:
    return Occurrence.model_validate(
        {
            "id": identity,
            "behavior": "F01",
            "trace_id": trace_id,
            "turn": 1,
            "session": trace_id,
            "note": "called again",
            "evidence": [{"turn": 1, "quote": "same again"}],
            **fields,
        }
    )


def replay_page() -> HtmlPage:
    """Return a page of a replay of one test, whose trace has an occurrence."""
    rows = [row(0, grader="replay"), row(1, grader="replay")]
    found = items(rows)
    relations = Relations(
        [occurrence("00aa", "recorded-0"), occurrence("00bb", "of another trace")],
        [
            RebuiltFile("case-0", "recorded-0", "Help!", "fail", 3, "./rebuilt/case-0.yaml", "c"),
            RebuiltFile("case-9", "recorded-9"),
        ],
        {found[0].name: ("trace-0", "recorded-0"), found[1].name: ("trace-1",)},
        "./scan/occurrences.html",
        {"F01": "Unchanged retries"},
    )
    return results_page(ResultSource("x", {}, found, relations=relations))


def test_results_occurrences_and_tests_of_a_trace_lead_to_each_other() -> None:
    page = replay_page()
    assert [one.href for one in page.details[0].related] == ["#occurrence-00aa", "#test-case-0"]
    assert page.details[1].related == ()
    (found,), (test,) = page.occurrences, page.tests
    assert [one.href for one in found.back] == ["#item-1", "#test-case-0"]
    assert [one.href for one in test.back] == ["#item-1", "#occurrence-00aa"]
    assert found.href == "./scan/occurrences.html#occurrence-00aa"
    assert test.href == "./rebuilt/case-0.yaml"
    assert found.quotes == ("same again",)


def test_what_is_of_other_traces_is_counted_and_not_shown() -> None:
    page = replay_page()
    assert page.occurrences_note == "1 occurrence of traces that this page is about, of 2 given."
    seen = Seen(rendered(page))
    assert "of another trace" not in seen.words
    inside = {link[1:] for link in seen.links if link.startswith("#")}
    assert inside <= set(seen.ids)


def test_a_scan_leads_to_the_tests_of_its_traces_and_back() -> None:
    found = [occurrence("00aa", "t"), occurrence("00bb", "t"), occurrence("00cc", "u")]
    relations = Relations(tests=[RebuiltFile("case", "t", href="./case.yaml")])
    page = scan_page(ScanSource("x", {}, found, relations=relations))
    assert [one.href for one in page.details[0].related] == ["#test-case"]
    assert page.details[2].related == ()
    assert [one.href for one in page.tests[0].back] == ["#occurrence-00aa", "#occurrence-00bb"]


def test_the_place_of_an_occurrence_is_the_same_in_both_pages() -> None:
    odd = "an id with <odd> characters"
    of_scan = scan_page(ScanSource("x", {}, [occurrence(odd, "t")])).details[0].anchor
    found = items([row(0)])
    relations = Relations([occurrence(odd, "t")], traces={found[0].name: ("t",)})
    of_results = results_page(ResultSource("x", {}, found, relations=relations))
    assert of_results.occurrences[0].anchor == of_scan


def test_very_many_occurrences_of_a_trace_are_bounded_and_counted() -> None:
    found = items([row(0)])
    many = [occurrence(f"{number:04x}", "t") for number in range(50)]
    relations = Relations(many, traces={found[0].name: ("t",)})
    bounds = PageBounds(related=30)
    page = results_page(ResultSource("x", {}, found, relations=relations, bounds=bounds))
    assert len(page.occurrences) == 30
    assert page.occurrences_note.endswith("The first 30 are shown.")
    assert page.details[0].related[-1] == Link("10 more are not shown")


@given(st.lists(st.text(max_size=80), max_size=30))
def test_anchors_are_plain_and_each_its_own(names: list[str]) -> None:
    anchors = Anchors()
    found = [anchors.named("test", name) for name in names]
    assert len(set(found)) == len(found)
    assert all(
        set(one) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        for one in found
    )


@pytest.mark.parametrize(
    ("file", "href"),
    [
        ("tests/a.yaml", "./tests/a.yaml"),
        ("../b.yaml", "../b.yaml"),
        ("javascript:alert(1).yaml", "./javascript%3Aalert%281%29.yaml"),
        ('"><script>.yaml', "./%22%3E%3Cscript%3E.yaml"),
        ("#top?x.yaml", "./%23top%3Fx.yaml"),
        ("//evil.example/x.yaml", "../../../evil.example/x.yaml"),
    ],
    ids=["below", "above", "a scheme", "markup", "fragment", "another host"],
)
def test_the_address_of_a_file_is_relative_and_no_scheme(file: str, href: str) -> None:
    page = Path("/data/runs/set/report.html")
    path = Path(file) if file.startswith("/") else page.parent / file
    found = file_href(path, page)
    assert found == href
    assert urlsplit(found).scheme == urlsplit(found).netloc == ""
    assert (page.parent / unquote(found)).resolve() == path.resolve()
