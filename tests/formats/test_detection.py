"""What a file is, from its first bytes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import objects
from tracedance_sdk.formats import Signature, survey
from tracedance_sdk.formats.detection import strength

HERE = Path("some.jsonl")


def paths_of(value: object, above: str = "") -> set[str]:
    if isinstance(value, list):
        return set().union(*(paths_of(item, f"{above}[]") for item in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    found = set()
    for key, item in value.items():
        path = f"{above}.{key}" if above else key
        found |= {path} | paths_of(item, path)
    return found


def test_paths_and_short_texts_are_seen() -> None:
    head = b'{"a": 1, "b": {"c": "x"}, "d": [{"e": "y"}, {"e": "z"}], "f": "w"}'
    (sketch,) = survey(head)
    assert sketch.paths == {"a", "b", "b.c", "d", "d[].e", "f"}
    assert sketch.values == {"b.c": {"x"}, "d[].e": {"y", "z"}, "f": {"w"}}
    assert (sketch.depth, sketch.is_whole) == (0, True)


def test_each_line_is_seen() -> None:
    head = b'{"type": "header"}\n\n{"type": "message", "message": {"role": "user"}}\n{"type": "cu'
    assert [sorted(sketch.paths) for sketch in survey(head)] == [
        ["type"],
        ["message", "message.role", "type"],
        ["type"],
    ]


@given(objects, st.integers(0, 3))
def test_what_is_seen_is_there(value: dict[str, object], lists: int) -> None:
    document: object = value
    for _ in range(lists):
        document = [document]
    (sketch,) = survey(json.dumps(document).encode())
    assert sketch.depth == lists
    keys = [step for path in paths_of(value) for step in path.split(".")]
    if all(keys) and max(map(len, keys), default=0) < 20:
        assert sketch.paths <= paths_of(value)


@given(objects, st.integers(0, 200))
def test_bytes_may_end_anywhere(value: dict[str, object], end: int) -> None:
    survey(json.dumps(value).encode()[:end])


@pytest.mark.parametrize(
    "data", [b'{"a":' * 40_000, b"[" * 200_000, b'{"' + b"\\" * 200_000, b'"' * 200_000]
)
def test_it_takes_time_in_proportion_whatever_the_bytes(data: bytes) -> None:
    started = time.monotonic()
    survey(data)
    assert time.monotonic() - started < 5


def test_the_signature_that_asks_for_most_wins() -> None:
    head = b'{"messages": [{"role": "user"}], "metadata": {"suite_name": "s"}}'
    weak = Signature.of("messages", is_weak=True)
    strong = Signature.of("messages", "metadata.suite_name")
    assert strength([weak], HERE, head) == 0
    assert strength([weak, strong], HERE, head) == 2
    assert strength([Signature.of("other")], HERE, head) is None


@pytest.mark.parametrize(
    ("signature", "fits"),
    [
        pytest.param(Signature.of(values={"a": "x"}), True, id="value"),
        pytest.param(Signature.of(values={"a": ["y", "z"]}), False, id="other values"),
        pytest.param(Signature.of("a", without=["b"]), False, id="without"),
        pytest.param(Signature.of("a", names=["*.jsonl"]), True, id="name"),
        pytest.param(Signature.of("a", names=["*.json"]), False, id="other name"),
        pytest.param(Signature.of(contains=[b'"x"', b'"b"']), True, id="bytes"),
        pytest.param(Signature.of("a", least_depth=1), False, id="not in a list"),
        pytest.param(Signature.of(names=["some*"]), True, id="name alone"),
    ],
)
def test_all_that_a_signature_names_must_hold(signature: Signature, *, fits: bool) -> None:
    assert signature.matches(HERE, b'{"a": "x", "b": 2}') is fits
