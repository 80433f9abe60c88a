"""The page of a result set: what stands first, what its numbers are, where they lead."""

from __future__ import annotations

import copy

import pytest

from tests.support.report_pages import Seen, benchmark_row, items, reply_of, row, run, source
from tracedance_sdk.behaviors import THREATS
from tracedance_sdk.grading import ResultRow, Verdict
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report import (
    DecisionPlace,
    EvidenceMark,
    HtmlPage,
    PageBounds,
    ResultSource,
    rendered,
    results_page,
)
from tracedance_sdk.report.html.page import Table
from tracedance_sdk.statistics import wilson_interval
from tracedance_sdk.trace import Call

MIXED = [
    *(row(place) for place in range(6)),
    *(row(place, Verdict.FAIL) for place in range(6, 9)),
    row(9, Verdict.CRITICAL),
    row(10, Verdict.INCONCLUSIVE, missing_reason="no final state"),
    row(11, None, missing_reason="timeout: no answer in 60 s", missing="timeout"),
]


def table(page: HtmlPage, anchor: str) -> Table:
    return next(one for one in (page.left_out, *page.tables) if one.anchor == anchor)


def cells(page: HtmlPage, anchor: str) -> dict[str, list[str]]:
    return {line.name: [cell.text for cell in line.cells] for line in table(page, anchor).lines}


def test_what_is_left_out_stands_before_every_rate() -> None:
    manifest = {
        "command": "next-turn",
        "exclusions": {"no turn there": 2},
        "excluded": [
            {"trace_id": "t1", "turn": 3, "reason": "no turn there", "detail": "it has two turns"}
        ],
    }
    page = results_page(source(MIXED, manifest=manifest))
    assert cells(page, "left-out") == {
        "no turn there": ["2"],
        "spec:refund: timeout": ["1"],
        "spec:refund: no final state": ["1"],
    }
    html = rendered(page)
    assert html.index("no final state") < html.index("60.0 %")
    assert "trace t1, turn 3, it has two turns" in Seen(html).words


def test_rates_have_wilsons_interval_and_count_verdicts_alone() -> None:
    page = results_page(source(MIXED))
    low, high, _ = wilson_interval(6, 10)
    told = ["60.0 %", f"{100 * low:.1f} to {100 * high:.1f} %", "6", "4", "2", "12", "-"]
    assert cells(page, "rates")["grader spec:refund"] == told
    assert cells(page, "rates")["model model-a"] == told


def test_graders_that_decide_have_no_common_rate_of_a_model() -> None:
    rows = [
        *MIXED,
        *(row(place, Verdict.FAIL, grader="rubric:honest") for place in range(4)),
        row(0, None, grader="judge:honest:m", score=0.5),
    ]
    page = results_page(source(rows))
    assert list(cells(page, "by-grader")) == ["rubric:honest", "spec:refund", "judge:honest:m"]
    assert cells(page, "by-grader")["judge:honest:m"] == ["-", "-", "0", "0", "0", "1", "0.50"]
    assert list(cells(page, "by-model")) == [
        "model-a, by rubric:honest",
        "model-a, by spec:refund",
    ]


def test_trials_of_a_task_are_no_sample_of_their_own() -> None:
    verdicts = [Verdict.PASS] * 10 + [Verdict.FAIL] * 10
    rows = [
        row(place, verdict, task_id=f"task-{place // 5}", sample=place % 5)
        for place, verdict in enumerate(verdicts)
    ]
    page = results_page(source(rows))
    low, high, _ = wilson_interval(10, 20)
    told = cells(page, "rates")["grader spec:refund"]
    assert told[0] == "50.0 %"
    assert told[1] != f"{100 * low:.1f} to {100 * high:.1f} %"
    assert cells(page, "by-task")["task-0"][0] == "100.0 %"
    assert table(page, "rates").lines[0].note == "the sample is 4 tasks or sessions"
    assert table(results_page(source(MIXED)), "rates").lines[0].note == ""


def test_a_benchmark_is_counted_by_benchmark_behaviour_frame_and_group() -> None:
    rows = [
        *(benchmark_row(place, Verdict.FAIL) for place in range(3)),
        benchmark_row(3, Verdict.PASS),
        *(
            benchmark_row(
                place,
                Verdict.PASS,
                grader="rule:A05",
                benchmark="A05-00",
                behaviors=["A05"],
                frames=["action"],
                behavior_groups=["read-before-acting"],
            )
            for place in range(4, 8)
        ),
    ]
    page = results_page(source(rows, manifest={"command": "benchmark run"}))
    assert {name: told[0] for name, told in cells(page, "by-benchmark").items()} == {
        "A05-00": "100.0 %",
        "F01-00": "25.0 %",
    }
    assert list(cells(page, "by-behavior")) == ["A05", "F01"]
    assert list(cells(page, "by-frame")) == ["action", "failure"]
    assert list(cells(page, "by-group")) == ["handle-failure", "read-before-acting"]
    assert cells(page, "by-overall")["all"][0] == "62.5 %"


def test_every_page_of_a_benchmark_says_what_its_numbers_cannot_tell() -> None:
    page = results_page(source([benchmark_row(0, Verdict.PASS)]))
    words = Seen(rendered(page)).words
    assert all(threat in words for threat in THREATS)
    assert results_page(source(MIXED)).threats == ()


def odd_rows() -> list[list[ResultRow]]:
    return [
        [],
        [row(0)],
        [row(place, None, missing_reason="no answer") for place in range(3)],
        [row(0, None, score=0.4, grader="judge:m")],
        [benchmark_row(0, Verdict.PASS, behaviors="F01", frames=None)],
        [benchmark_row(0, Verdict.PASS, benchmark={"id": 3})],
        [row(0, rubric_score="5", repeat="x", judges=[1], missing=3, reason={"a": 1})],
        [row(0, evidence=(None, 3, "x", [], {"criterion": 3}, {"reasoning": None}))],
        MIXED,
    ]


@pytest.mark.parametrize("rows", odd_rows(), ids=range(len(odd_rows())))
def test_every_number_leads_to_what_is_in_the_page(rows: list[ResultRow]) -> None:
    seen = Seen(rendered(results_page(source(rows))))
    assert len(seen.ids) == len(set(seen.ids))
    targets = [link for link in seen.links if link.startswith("#")]
    assert targets == seen.links
    assert {target[1:] for target in targets} <= set(seen.ids)


def test_a_number_and_its_list_agree() -> None:
    page = results_page(source(MIXED))
    lists = {f"#{one.anchor}": one for one in page.listings}
    numbers = [cell for one in page.tables for line in one.lines for cell in line.cells]
    for number in [*numbers, *(card.number for card in page.cards)]:
        if number.href is not None and number.text.isdigit():
            assert lists[number.href].number == len(lists[number.href].links) == int(number.text)


def test_the_same_source_gives_the_same_bytes_and_is_not_changed() -> None:
    given = source(MIXED, places={ItemKey.of(MIXED[0]): DecisionPlace(run("trace-0"), 2, "here")})
    before = copy.deepcopy(given)
    assert rendered(results_page(given)) == rendered(results_page(given))
    assert given == before
    assert results_page(given) == results_page(before)


def test_a_detail_shows_the_reply_the_reasons_and_what_came_before() -> None:
    call = Call(index=0, id="c", name="pay_back", arguments={"amount": 12})
    judged = row(
        0,
        Verdict.FAIL,
        grader="rubric:honest",
        rubric_score=2.5,
        pass_from=4,
        evidence=({"reasoning": "It claims what it cannot know."},),
        judges={"small": 2, "large": 3},
    )
    given = source(
        [],
        items=items([judged], {"case-0": reply_of("I paid it back.", call)}),
        places={
            ItemKey.of(judged): DecisionPlace(
                run("trace-0", answer="no order W-1 here"),
                2,
                "the store",
                (EvidenceMark(1, 0, "no order W-1"),),
                run("trace-0").turns[2],
            )
        },
    )
    html = rendered(results_page(given))
    words = Seen(html).words
    for told in (
        *("I paid it back.", "pay_back", '{"amount":12}', "Its calls were asked for"),
        *("It claims what it cannot know.", "2.5 of 5 (passing from 4)", "small 2 of 5"),
        *("Where is my money?", "look_up", "I give up.", "From the store."),
    ):
        assert told in words
    assert "<mark>no order W-1</mark> here" in html


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"role": 3}, "The reply is no turn"),
        ("just words", "The reply is no turn: just words"),
        ({"index": 0, "role": "assistant", "origin": "agent"}, "The reply is empty."),
    ],
    ids=["no turn", "text", "empty"],
)
def test_a_reply_that_cannot_be_shown_is_said_to_be_so(reply: object, told: str) -> None:
    given = source([], items=items([row(0)], {"case-0": reply}))
    assert told in Seen(rendered(results_page(given))).words


def test_long_texts_are_cut_and_say_so() -> None:
    text = "x" * 5_000
    given = source([], items=items([row(0, reason=text)], {"case-0": reply_of(text)}))
    words = Seen(rendered(results_page(given))).words
    assert words.count("(1,000 more characters are left out)") == 2


def test_twenty_thousand_rows_make_a_page_that_a_browser_opens() -> None:
    text = "word " * 500
    rows = [
        row(
            place,
            Verdict.PASS if place % 3 else Verdict.FAIL,
            group=f"group-{place % 700}",
            model=f"model-{place % 5}",
            evidence=({"reasoning": text},),
        )
        for place in range(20_000)
    ]
    page = results_page(source(rows))
    html = rendered(page)
    assert len(html) < 20_000_000
    assert 0 < len(page.details) <= PageBounds().details
    assert "of 20,000 subjects have details here" in page.details_note
    assert sum(len(one.links) for one in page.listings) <= PageBounds().listed
    listed = [link for one in page.listings for link in one.links]
    assert any(link.href is None for link in listed)
    assert all(any(link.href for link in one.links) for one in page.listings)
    seen = Seen(html)
    assert {link[1:] for link in seen.links} <= set(seen.ids)
    assert "640 more lines are not shown." in seen.words


def test_all_texts_together_are_bounded() -> None:
    rows = [row(place, reason="y" * 3_000) for place in range(50)]
    bounds = PageBounds(all_characters=30_000)
    page = results_page(ResultSource("x", {}, items(rows), bounds=bounds))
    assert 5 <= len(page.details) <= 12
    seen = Seen(rendered(page))
    assert {link[1:] for link in seen.links} <= set(seen.ids)
