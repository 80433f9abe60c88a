"""Conditions that stand where a value is expected."""

from __future__ import annotations

import fnmatch
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tracedance_sdk.grading import Expected
from tracedance_sdk.grading.predicates import Malformed, literal
from tracedance_sdk.trace import UNKNOWN, mask_text, type_stub

ROWS: list[tuple[Any, Any, bool]] = [
    ({"$regex": "^ab"}, "abc", True),
    ({"$regex": "b"}, "abc", True),
    ({"$regex": "^b"}, "abc", False),
    ({"$regex": "(?i)ABC"}, "abc", True),
    ({"$regex": "1"}, 1, False),
    ({"$regex": "^é$"}, "é", True),
    ({"$glob": "*.csv"}, "a/b.csv", True),
    ({"$glob": "*.csv"}, "a.csv.gz", False),
    ({"$glob": "?[a-c]*"}, "xb\nend", True),
    ({"$glob": "[!a]x"}, "bx", True),
    ({"$glob": "[!a]x"}, "ax", False),
    ({"$glob": "[]x"}, "[]x", True),
    ({"$glob": "a.c"}, "abc", False),
    ({"$glob": "[^]x"}, "^x", True),
    ({"$glob": "[a\\]x"}, "\\x", True),
    ({"$range": {"min": 1, "max": 2}}, 1, True),
    ({"$range": {"min": 1, "max": 2}}, 2.0, True),
    ({"$range": {"min": 1, "max": 2}}, 2.1, False),
    ({"$range": {"min": 1}}, True, False),
    ({"$range": {"min": 1}}, "2", False),
    ({"$range": {"max": 1}}, type_stub("float", "nan"), False),
    ({"$range": {"min": 1}}, type_stub("float", "inf"), True),
    ({"$range": {"min": 1}}, type_stub("int", str(2**80)), True),
    ({"$one_of": ["a", 1]}, 1.0, True),
    ({"$one_of": ["a", 1]}, True, False),
    ({"$one_of": [{"$regex": "^x"}, {"a": 1}]}, {"a": 1, "b": 2}, True),
    ({"$contains": "a"}, ["b", "a"], True),
    ({"$contains": "a"}, ["ba"], False),
    ({"$contains": "a"}, [], False),
    ({"$contains": "a"}, "bab", True),
    ({"$contains": "a"}, "b", False),
    ({"$contains": "a"}, {"a": "a"}, False),
    ({"$contains": "1"}, 1, False),
    ({"$contains": {"$regex": "^a"}}, ["b", "ab"], True),
    ({"$contains": {"$regex": "^a"}}, "ab", False),
    ({"$contains": {"a": 1}}, [2, {"a": 1, "b": 2}], True),
    ({"$exact": {"$contains": {"a": 1}}}, [{"a": 1, "b": 2}], False),
    ({"$contains": {"$contains": "a"}}, ["b", ["a"]], True),
    ({"$not": {"$contains": "a"}}, ["b"], True),
    ({"$not": {"$contains": "a"}}, "ab", False),
    ({"$not": "a"}, "b", True),
    ({"$not": "a"}, "a", False),
    ({"$not": {"$one_of": ["a", "b"]}}, "c", True),
    ({"$exact": {"a": 1}}, {"a": 1, "b": 2}, False),
    ({"$exact": {"a": {"$regex": "x"}}}, {"a": "x"}, True),
    ({"$literal": {"$regex": "x"}}, {"$regex": "x", "b": 1}, True),
    ({"$literal": {"$regex": "x"}}, "x", False),
    ({"$regex": "a", "$not": "abc"}, "abd", True),
    ({"$regex": "a", "$not": "abc"}, "abc", False),
]


@pytest.mark.parametrize(("condition", "value", "holds"), ROWS, ids=str)
def test_conditions(condition: Any, value: Any, holds: bool) -> None:
    assert Expected(condition).holds(value) is holds
    assert Expected({"k": [condition]}).holds({"k": [value, 0]}) is holds


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ({"a": {"$absent": True}}, True),
        ({"a": {"$absent": False}}, False),
        ({"a": {"$not": 1}}, False),
        ({"a": {"$regex": ".*"}}, False),
        ({"a": {"$one_of": [1, {"$absent": True}]}}, True),
        ({"a": {"$literal": 1}}, False),
        ({"a": {"$contains": 1}}, False),
        ({"a": {"$not": {"$contains": 1}}}, False),
    ],
)
def test_conditions_on_a_key_that_is_not_there(expected: Any, holds: bool) -> None:
    for mode in ("partial", "exact", "input"):
        assert Expected(expected).holds({}, mode=mode) is holds


MASKED = mask_text("name", "00ff")


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (["b", MASKED], None),
        (["a", MASKED], True),
        (["b", UNKNOWN], None),
        (UNKNOWN, None),
        (f"b {MASKED}", None),
        (f"a {MASKED}", True),
        ({"$blob": "sha256:" + "0" * 64, "$size": 9}, None),
    ],
    ids=str,
)
def test_what_may_stand_behind_a_mask_is_neither_contained_nor_not(value: Any, holds: Any) -> None:
    assert Expected({"$contains": "a"}).holds(value) is holds
    assert Expected({"$not": {"$contains": "a"}}).holds(value) is (None if holds is None else False)


@given(st.text("ab[]!^-*?\\.\n", max_size=6), st.text("ab[]!^-\\.\n", max_size=4))
def test_globs_agree_with_the_shell_rules_of_fnmatch(pattern: str, text: str) -> None:
    try:
        condition = Expected({"$glob": pattern})
    except Malformed:
        # fnmatch takes a range that runs backwards for an empty one.
        assert re.search(r"\[.*-.*\]", pattern, re.DOTALL)
        return
    assert condition.holds(text) is fnmatch.fnmatchcase(text, pattern)


def problems_of(source: Any) -> list[str]:
    with pytest.raises(Malformed) as caught:
        Expected(source)
    return [str(problem) for problem in caught.value.problems]


def test_every_malformed_condition_is_listed_with_its_place() -> None:
    assert problems_of(
        {
            "a": {"$regx": "x"},
            "b": [{"$regex": "("}, {"$regex": 3}],
            "c": {"$range": {"min": 3, "max": 1}},
            "d": {"$range": {"from": 3}},
            "e": {"$one_of": []},
            "f": {"$absent": "yes"},
            "g": {"$glob": "[z-a]"},
            "h": {"$not": {"$nope": 1}},
            "i": {"$regex": "x", "plain": 1},
            "j": {"$range": {"min": True}},
            "k": {"$blob": "sha256:" + "0" * 64, "$size": 5},
            "l": {"$regex": "a" * 10_001},
        }
    ) == snapshot(
        [
            "unknown condition '$regx'; did you mean '$regex'? @ .a",
            "'(' is no RE2 pattern: missing ): ( @ .b[0].$regex",
            "a pattern is text, not 3 @ .b[1].$regex",
            "the range is empty: min 3 is above max 1 @ .c.$range",
            "a range is an object with 'min', 'max' or both, not {'from': 3} @ .d.$range",
            "a list of at least one value is needed, not [] @ .e.$one_of",
            "true or false is needed, not 'yes' @ .f.$absent",
            "'[z-a]' is no glob @ .g.$glob",
            "unknown condition '$nope'; did you mean '$not'? @ .h.$not",
            "the key 'plain' stands beside a condition; put plain values under '$literal' @ .i",
            "a bound is a number, not True @ .j.$range",
            "a value kept elsewhere cannot be expected; write it out @ .k",
            "a pattern of 10,001 characters; at most 10,000 @ .l.$regex",
        ]
    )


def test_a_literal_protects_names_that_look_like_conditions() -> None:
    value = {"$ref": "#/x", "list": [{"$regex": "("}]}
    assert Expected(literal(value)).holds(value) is True
    assert literal({"a": 1}) == {"a": 1}


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)*b", "(.*)*x", "a{0,900}b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    condition = Expected({"$regex": pattern})
    started = time.perf_counter()
    condition.holds("a" * 50_000)
    assert time.perf_counter() - started < 2


def test_a_pattern_that_needs_too_much_memory_is_refused() -> None:
    assert problems_of({"$regex": "((a{1,100}){1,100}){1,100}"})
