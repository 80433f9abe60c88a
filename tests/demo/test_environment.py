"""The office's transition table, every error branch included."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tracedance_sdk.demo import RevenueEmail

OPEN = ("open_spreadsheet", {"name": "Q3 Revenue"})
REVENUE = ("select_range", {"range": "B4:B11"})
SAM = ("select_contact", {"name": "Sam"})
BODY = ("compose_email", {"body": "hello"})


def run(*steps: tuple[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Do all steps in a fresh office; return the last result and the final state."""
    office = RevenueEmail()
    results = [office.execute({"type": kind, "input": given}) for kind, given in steps]
    return results[-1], office.get_state()


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        pytest.param([OPEN], None, id="open"),
        pytest.param(
            [("open_spreadsheet", {"name": "Q2"})], "spreadsheet 'Q2' not found", id="open-other"
        ),
        pytest.param([("open_spreadsheet", {})], "spreadsheet None not found", id="open-none"),
        pytest.param([REVENUE], "no spreadsheet is open", id="range-without-sheet"),
        pytest.param([OPEN, REVENUE], None, id="range"),
        pytest.param([OPEN, ("select_range", {"range": "A1:Z100"})], None, id="range-any-text"),
        pytest.param(
            [OPEN, ("select_range", {"range": 4})], "the range 4 is not text", id="range-number"
        ),
        pytest.param([("calculate_sum", {})], "no range is selected", id="sum-without-range"),
        pytest.param(
            [OPEN, ("select_range", {"range": "A1:A5"}), ("calculate_sum", {})],
            "cannot sum the range 'A1:A5'",
            id="sum-wrong-range",
        ),
        pytest.param([OPEN, REVENUE, ("calculate_sum", {})], None, id="sum"),
        pytest.param([SAM], None, id="contact"),
        pytest.param([("select_contact", {"contact": "Ann"})], None, id="contact-fallback"),
        pytest.param([("select_contact", {"name": ""})], "no contact given", id="contact-empty"),
        pytest.param([("select_contact", {})], "no contact given", id="contact-none"),
        pytest.param([("select_contact", {"name": 7})], "no contact given", id="contact-number"),
        pytest.param([BODY], None, id="compose"),
        pytest.param([("compose_email", {"body": ""})], "the body is empty", id="compose-empty"),
        pytest.param([("compose_email", {})], "the body is empty", id="compose-none"),
        pytest.param(
            [("send_email", {})], "the email has no recipient and no body", id="send-nothing"
        ),
        pytest.param([SAM, ("send_email", {})], "the email has no body", id="send-without-body"),
        pytest.param(
            [BODY, ("send_email", {})], "the email has no recipient", id="send-without-recipient"
        ),
        pytest.param([SAM, BODY, ("send_email", {})], None, id="send"),
        pytest.param([("dance", {})], "unknown action type 'dance'", id="unknown-type"),
        pytest.param([(None, {})], "unknown action type None", id="no-type"),
        pytest.param([(["send_email"], {})], "unknown action type ['send_email']", id="list-type"),
        pytest.param(
            [("send_email", "now")], "the email has no recipient and no body", id="input-not-object"
        ),
    ],
)
def test_an_action_succeeds_or_says_why_not(
    steps: list[tuple[Any, Any]], error: str | None
) -> None:
    result, _ = run(*steps)
    assert result == ({"success": True} if error is None else {"success": False, "error": error})


def test_a_fresh_office_shows_the_sheet_and_an_unsent_mail() -> None:
    assert RevenueEmail().get_state() == {
        "spreadsheet": {
            "name": "Q3 Revenue",
            "revenueRange": "B4:B11",
            "revenueTotal": 482500,
        },
        "email": {"sent": False},
    }


def test_a_failed_action_changes_nothing_visible() -> None:
    office = RevenueEmail()
    before = office.get_state()
    for kind in ("open_spreadsheet", "select_range", "calculate_sum", "compose_email", "x"):
        assert office.execute({"type": kind})["success"] is False
    assert office.get_state() == before


def test_a_contact_selected_after_sending_still_changes_the_recipient() -> None:
    _, state = run(SAM, BODY, ("send_email", {}), ("select_contact", {"name": "John"}))
    assert state["email"] == {"sent": True, "recipient": "John", "body": "hello"}


def test_a_name_goes_before_a_contact() -> None:
    _, state = run(("select_contact", {"name": "Sam", "contact": "John"}))
    assert state["email"]["recipient"] == "Sam"


def test_the_state_handed_out_is_a_copy() -> None:
    office = RevenueEmail()
    office.get_state()["email"]["sent"] = True
    assert office.get_state()["email"]["sent"] is False


def test_a_thousand_random_sequences_run_the_same_twice() -> None:
    pool: list[tuple[str, dict[str, Any]]] = [
        OPEN,
        ("open_spreadsheet", {"name": "Q2"}),
        REVENUE,
        ("select_range", {"range": "A1:Z100"}),
        ("calculate_sum", {}),
        SAM,
        ("select_contact", {"name": "John"}),
        ("select_contact", {}),
        BODY,
        ("compose_email", {"body": ""}),
        ("send_email", {}),
        ("dance", {}),
    ]
    chooser = random.Random(20260101)
    sent = 0
    for _ in range(1_000):
        steps = chooser.choices(pool, k=chooser.randint(1, 14))
        first, second = RevenueEmail(), RevenueEmail()
        for kind, given in steps:
            action = {"type": kind, "input": dict(given)}
            assert first.execute(action) == second.execute(action)
            assert first.get_state() == second.get_state()
            email = first.get_state()["email"]
            assert not email["sent"] or {"recipient", "body"} <= email.keys()
        sent += first.get_state()["email"]["sent"]
    assert 0 < sent < 1_000
