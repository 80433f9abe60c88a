"""Claims that tests pass, and what only speaks of passing tests."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.store.claims import claims_passing


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass.",
        "All tests pass now. Let me run the linter.",
        "Done: all 12 unit tests passed",
        "Both tests pass, so I will push.",
        "The failing test now passes",
        "I verified that the whole suite is green.",
        "I ran pytest: 7 passed in 0.2s",
        "- All 6 new tests pass \u2705",
        "It is fixed and the checks succeeded!",
        "I did not touch the parser, and all tests pass.",
        "The tests ran successfully.",
        "Nothing else changed. 12/12 tests passing",
        "Tests pass, but the linter complains",
        "Everything works. Should I push? All specs are passing.",
    ],
)
def test_a_claim_is_one(text: str) -> None:
    assert claims_passing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do all tests pass?",
        "Let me verify all tests pass.",
        "Now let me check if the tests pass:",
        "Once tests pass, I will push.",
        "If the tests pass I will commit.",
        "When all tests pass, merge it.",
        "I'll make sure that the tests pass.",
        "The tests should pass now.",
        "With this, the tests will pass.",
        "I want to see all tests pass",
        "- [ ] tests pass",
        "2 failed, 5 passed",
        "5 tests passed, 1 failing",
        "Not all tests pass.",
        "I don't think the tests pass.",
        "The tests do not pass.",
        "0 tests passed",
        "Most tests pass.",
        "I wrote the tests.",
        "The user passed three arguments to the test.",
        "",
    ],
)
def test_what_only_speaks_of_passing_is_none(text: str) -> None:
    assert not claims_passing(text)


@given(st.lists(st.sampled_from(["all tests pass", "if ", ". ", "?", "\n", "not ", "1 failed, "])))
def test_any_text_can_be_looked_at(words: list[str]) -> None:
    claims_passing("".join(words))


@pytest.mark.parametrize(
    "piece", ["tests ", "tests pass ", "1 ", "1", "now ", "is ", "a", ". ", "tests ("]
)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    started = time.perf_counter()
    claims_passing(piece * (16_000 // len(piece)))
    assert time.perf_counter() - started < 1.0
