"""The page on statistics names every function, and every function says what it is by."""

from __future__ import annotations

import doctest
import re

import pytest

from tests.docs.pages import code_names, page, section
from tracedance_sdk import statistics

FUNCTIONS = [name for name in statistics.__all__ if name.islower()]
COUNTING = {
    "agreement_pairs", "common_items", "confusion", "confusion_matrix", "jaccard",
    "span_agreement", "span_overlap",
}  # fmt: skip
"""They count what is there: there is no formula to take from anywhere."""


def test_the_page_says_what_each_function_is_for() -> None:
    shown = code_names(section(page("statistics.md"), "Which function"))
    assert sorted(shown) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_shows_an_example_and_names_its_source(name: str) -> None:
    text = getattr(statistics, name).__doc__
    assert doctest.DocTestParser().get_examples(text)
    assert ("Source:" in text) is (name not in COUNTING)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_can_be_wrong_says_how(name: str) -> None:
    text = getattr(statistics, name).__doc__
    named = set(re.findall(r"^\s+(\w+):", text.partition("Raises:")[2], re.MULTILINE))
    errors = {"InvalidOption", "NotEnoughData", "MissingDependency"}
    assert name in {"agreement_pairs", "common_items"} or named & errors
