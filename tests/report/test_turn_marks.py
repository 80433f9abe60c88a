"""What became of a turn is shown wherever a turn is shown, and what an error says is text."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.support.report_pages import HOSTILE, OBEYED, Seen, items, row, source
from tracedance_sdk.grading import Verdict
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report import (
    DecisionPlace,
    print_trace,
    print_turn,
    rendered,
    report_console,
    results_page,
)
from tracedance_sdk.trace import Call, Result, Trace, Turn

REFUSED = {"type": "openai.BadRequestError", "message": "Error code: 400 - refused"}
FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "a refused model call": (
        {"error": REFUSED},
        "failed: openai.BadRequestError: Error code: 400 - refused",
    ),
    "a reply that broke off": (
        {"error": {"type": "httpx.ReadError"}, "content": [{"type": "text", "text": "Half a"}]},
        "failed: httpx.ReadError",
    ),
    "a cancelled model call": (
        {"error": {"type": "asyncio.CancelledError", "message": "cancelled"}, "interrupted": True},
        "interrupted: asyncio.CancelledError: cancelled",
    ),
    "a reply that was left": (
        {"interrupted": True, "content": [{"type": "text", "text": "Half a"}]},
        "interrupted: it was left before its reply had come to its end",
    ),
    "a reply that was not seen": (
        {"not_seen": True},
        "not seen: a reply came that could not be recorded",
    ),
    "a turn of an earlier conversation": (
        {"copied_context": True},
        "copied context: the agent was handed this; it was not said in this run",
    ),
    "a context that was rewritten": (
        {"context_rewritten": True},
        "context rewritten: the model was shown something else than the turns before this one",
    ),
}
CASES = pytest.mark.parametrize(("fields", "told"), FIELDS.values(), ids=list(FIELDS))


def a_turn(**fields: Any) -> Turn:
    return Turn.model_validate({"index": 0, "role": "assistant", "origin": "agent", **fields})


def shown(turn: Turn, **options: Any) -> list[str]:
    out = io.StringIO()
    print_turn(turn, report_console(out, width=100), **options)
    return [line.strip() for line in out.getvalue().splitlines()]


def page_of(turn: Turn) -> str:
    return rendered(
        results_page(
            source(
                [],
                items=items(
                    [row(0, Verdict.FAIL)],
                    {"case-0": turn.model_dump(mode="json", exclude_unset=True)},
                ),
            )
        )
    )


@CASES
def test_it_is_shown_on_the_terminal_after_the_words_and_before_the_calls(
    fields: dict[str, Any], told: str
) -> None:
    call = Call(index=0, id="c", name="look", result=Result(ok=True, content=1))
    lines = shown(a_turn(**fields, calls=[call]))
    words = ["Half a"] if "content" in fields else []
    assert lines[: len(words) + 2] == [*words, told, "1. look (unknown)"]


@CASES
def test_it_is_shown_on_a_page(fields: dict[str, Any], told: str) -> None:
    html = page_of(a_turn(**fields))
    word, _, more = told.partition(": ")
    assert f"{word} {more}" in Seen(html).words
    assert ">The reply is empty.<" not in html


def test_nothing_is_shown_of_a_turn_that_came_as_it_should() -> None:
    assert shown(a_turn(content=[{"type": "text", "text": "Yes."}])) == ["Yes."]
    odd = a_turn(error="no", interrupted="x", content=[{"type": "text", "text": "Yes."}])
    assert shown(odd) == ["Yes."]


def test_a_long_error_is_shortened_unless_all_is_wanted() -> None:
    turn = a_turn(error={"type": "E", "message": "x" * 5000})
    assert 500 < "".join(shown(turn)).count("x") < 600
    assert "".join(shown(turn, full=True)).count("x") == 5000


@pytest.mark.parametrize("text", [HOSTILE, OBEYED], ids=["markup", "control characters"])
def test_what_an_error_says_is_obeyed_by_no_terminal_and_no_browser(text: str) -> None:
    turn = a_turn(error={"type": text, "message": text})
    out = io.StringIO()
    print_trace(Trace(id="t", turns=(turn,)), report_console(out, width=400), full=True)
    for odd in "\x1b\x00\u202e\u2066\u200b":
        assert odd not in out.getvalue()
    harmless = a_turn(error={"type": "E", "message": "no"})
    tags = [
        [(tag, sorted(attrs)) for tag, attrs in Seen(page_of(one)).tags] for one in (harmless, turn)
    ]
    assert tags[0] == tags[1]
    assert "\x1b" not in page_of(turn)


def test_a_call_that_never_came_to_its_end_says_so_on_a_page() -> None:
    call = Call(index=0, id="c", name="look", result=Result(interrupted=True))
    trace = Trace(id="t", turns=(a_turn(calls=[call]), a_turn(index=1, interrupted=True)))
    rows = [row(0, Verdict.FAIL)]
    place = DecisionPlace(trace, 2, "here")
    html = rendered(results_page(source(rows, places={ItemKey.of(rows[0]): place})))
    assert html.count(">interrupted<") == 2
