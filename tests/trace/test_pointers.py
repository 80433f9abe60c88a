from __future__ import annotations

from typing import Any

import jsonpointer
import pytest
from hypothesis import given

from tests.support.traces import values
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace import covers, find, join, matches, split


@given(values)
def test_every_place_has_a_pointer_that_leads_to_it(document: Any) -> None:
    for pointer, value in find("/**", document):
        assert jsonpointer.resolve_pointer(document, pointer) is value
        assert matches("/**", pointer)
        assert covers(pointer.replace("*", "x"), pointer) or "*" in pointer


@given(values)
def test_no_place_is_found_twice(document: Any) -> None:
    places = [pointer for pointer, _ in find("/**", document)]
    assert len(places) == len(set(places))


@given(values)
def test_what_is_found_fits_and_what_fits_is_found(document: Any) -> None:
    every = {pointer for pointer, _ in find("/**", document)}
    for pattern in ("/*", "/*/*", "/**/a", "/a/**", "/**/*/**", ""):
        found = {pointer for pointer, _ in find(pattern, document)}
        assert found == {pointer for pointer in every if matches(pattern, pointer)}


@pytest.mark.parametrize(
    ("pattern", "pointer", "fits", "below"),
    [
        ("", "", True, True),
        ("", "/a", False, True),
        ("/a", "/a", True, True),
        ("/a", "/a/b", False, True),
        ("/a", "/ab", False, False),
        ("/*", "/", True, True),
        ("/*/c", "/a/b/c", False, False),
        ("/**/c", "/c", True, True),
        ("/**/c", "/a/b/c", True, True),
        ("/a/**/c", "/a/c", True, True),
        ("/a/**", "/a", True, True),
        ("/**/a/**/a", "/a/a", True, True),
        ("/**/a/**/a", "/a", False, False),
        ("/a~1b", "/a~1b", True, True),
    ],
)
def test_patterns_fit_whole_pointers_and_cover_what_lies_below(
    pattern: str, pointer: str, fits: bool, below: bool
) -> None:
    assert matches(pattern, pointer) is fits
    assert covers(pattern, pointer) is below


def test_many_wildcards_cost_no_more_than_many_steps() -> None:
    assert not matches("/**/a" * 40 + "/b", "/a" * 60)


def test_a_step_is_escaped_and_read_back() -> None:
    for step in ("a/b", "~", "~1", "~0", "", "é"):
        assert split(join("", step)) == (step,)
    assert split(join(join("", "a"), 3)) == ("a", "3")


def test_a_pointer_starts_with_a_slash() -> None:
    with pytest.raises(InvalidOption, match="'a/b' is not a JSON Pointer"):
        split("a/b")
