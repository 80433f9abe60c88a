from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.support.traces import values
from tracedance_sdk.errors import InvalidJSON, TraceDanceError, UnreadableFile
from tracedance_sdk.trace import (
    MAX_DEPTH,
    UNKNOWN,
    parse_compact,
    parse_json,
    read_bytes,
    same_json,
    type_stub,
)


def refusal(data: bytes | str, *, unique_keys: bool = False) -> str:
    with pytest.raises(InvalidJSON) as caught:
        parse_json(data, where="x.json", unique_keys=unique_keys)
    return str(caught.value)


@pytest.mark.parametrize("unique_keys", [False, True], ids=["fast", "unique keys"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551616", type_stub("int", "18446744073709551616")),
        ("-9223372036854775809", type_stub("int", "-9223372036854775809")),
        ("9" * 5000, type_stub("int", "9" * 5000)),
        ('{"n":\t1180591620717411303424}', {"n": type_stub("int", "1180591620717411303424")}),
        ('{"n": "1180591620717411303424"}', {"n": "1180591620717411303424"}),
        ('[1, "a,1180591620717411303424", 1e300]', [1, "a,1180591620717411303424", 1e300]),
        ("NaN", type_stub("float", "nan")),
        ("[Infinity, -Infinity]", [type_stub("float", "inf"), type_stub("float", "-inf")]),
        ("1e400", type_stub("float", "1e400")),
        ("-0.0", -0.0),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\ud83d"', "\\ud83d"),
        ('{"\\ud83d": ["\\ude00"]}', {"\\ud83d": ["\\ude00"]}),
        ('"\\u0000"', "\0"),
        ("\ufeff{}", {}),
        (" \r\n\tnull\n", None),
    ],
    ids=lambda item: repr(item)[:40],
)
def test_what_json_can_say_is_read_exactly(text: str, value: Any, unique_keys: bool) -> None:
    found = parse_json(text.encode(), where="x.json", unique_keys=unique_keys)
    assert same_json(found, value)


def test_what_is_not_json_is_refused_in_one_line_with_its_place() -> None:
    assert refusal(b"") == snapshot("x.json: not JSON: Expecting value (line 1, column 1)")
    assert refusal(b'{"a": 1,}') == snapshot(
        "x.json: not JSON: Expecting property name enclosed in double quotes (line 1, column 9)"
    )
    assert refusal(b"{'a': 1}") == snapshot(
        "x.json: not JSON: Expecting property name enclosed in double quotes (line 1, column 2)"
    )
    assert refusal(b"[1]\n[2]") == snapshot("x.json: not JSON: Extra data (line 2, column 1)")
    assert refusal(b'"\xff"') == snapshot("x.json: not UTF-8 at byte 1")
    assert refusal('{"a": 1}'.encode("utf-16")) == snapshot(
        "x.json: not UTF-8 text (UTF-16 or binary); save it as UTF-8"
    )
    assert refusal('{"a": 1}'.encode("utf-16-le")) == snapshot(
        "x.json: not UTF-8 text (UTF-16 or binary); save it as UTF-8"
    )
    assert refusal(b"\x1f\x8b\x08\x00\x00") == snapshot(
        "x.json: not UTF-8 text (UTF-16 or binary); save it as UTF-8"
    )
    assert refusal(b'{"a": "\x00"}') == snapshot(
        "x.json: not UTF-8 text (UTF-16 or binary); save it as UTF-8"
    )
    assert refusal(b'{"a": {"b": 1, "b": 2}}', unique_keys=True) == snapshot(
        "x.json: the key 'b' stands twice in one object"
    )
    assert refusal(b'{"a": 1, "\\u0061": 2}', unique_keys=True) == snapshot(
        "x.json: the key 'a' stands twice in one object"
    )


@pytest.mark.parametrize("unique_keys", [False, True], ids=["fast", "unique keys"])
@pytest.mark.parametrize("around", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_nesting_is_read_up_to_the_bound_and_refused_beyond(
    around: tuple[str, str], unique_keys: bool
) -> None:
    before, after = around

    def nested(depth: int) -> bytes:
        return (before * depth + "1" + after * depth).encode()

    parse_json(nested(MAX_DEPTH), where="x", unique_keys=unique_keys)
    for depth in (MAX_DEPTH + 1, MAX_DEPTH + 5, 1000, 1030, 100_000):
        assert "nested deeper" in refusal(nested(depth), unique_keys=unique_keys)


def test_a_deep_value_with_a_number_that_has_no_fast_path_is_refused_too() -> None:
    deep = b"[" * 260 + b"NaN" + b"]" * 260
    assert "nested deeper" in refusal(deep)


def test_a_deep_value_in_a_long_document_is_refused_too() -> None:
    deep = b'["' + b"x" * 200_000 + b'",' + b"[" * 260 + b"]" * 260 + b"]"
    assert "nested deeper" in refusal(deep)


@given(st.lists(values, max_size=3), st.sampled_from([None, 1]), st.integers(0, 2**70))
def test_a_long_list_is_read_as_a_short_one_is(
    items: list[Any], indent: int | None, number: int
) -> None:
    long = ["x" * 70_000, *items, number, *items]
    separators = (",", ":") if indent is None else None
    text = json.dumps(long, indent=indent, separators=separators, ensure_ascii=False)
    found = parse_json(text, where="x.json")
    assert found[1:] == [parse_json(json.dumps(item), where="x.json") for item in long[1:]]


@pytest.mark.parametrize("padding", range(40))
def test_a_long_integer_is_seen_wherever_it_stands_in_a_long_document(padding: int) -> None:
    text = f'["{"x" * (2**16 - 30 + padding)}", {2**64}, 1]'
    assert parse_json(text, where="x.json")[1] == type_stub("int", str(2**64))


@given(values, st.booleans(), st.text(alphabet=" \n,]1", max_size=2))
def test_a_compact_text_is_its_value_or_is_left_to_the_reader(
    value: Any, is_spaced: bool, more: str
) -> None:
    text = json.dumps(value, separators=None if is_spaced else (",", ":"), ensure_ascii=False)
    found = parse_compact(text + more)
    if found is not UNKNOWN:
        assert same_json(found, parse_json(text + more, where="x.json", unique_keys=True))
    assert parse_compact("[1,2.5]") == [1, 2.5]
    assert parse_compact("[" * 241 + "]" * 241) is UNKNOWN


def test_of_a_key_that_stands_twice_the_last_counts_where_it_is_allowed() -> None:
    assert parse_json(b'{"a": 1, "a": 2}', where="x") == {"a": 2}


@given(values)
def test_values_that_were_written_are_read_back(value: Any) -> None:
    text = json.dumps(value)
    assert same_json(parse_json(text, where="x"), value)
    assert same_json(parse_json(text, where="x", unique_keys=True), value)


@given(values)
def test_a_cut_document_is_refused_or_is_a_shorter_document(value: Any) -> None:
    data = json.dumps([value]).encode()
    for end in range(0, len(data), max(1, len(data) // 7)):
        with pytest.raises(TraceDanceError):
            parse_json(data[:end], where="x")


def test_only_regular_files_within_bounds_are_read(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    big = tmp_path / "big.json"
    big.write_bytes(b"0123456789")

    def refused(path: str | Path, **options: int) -> str:
        with pytest.raises(UnreadableFile) as caught:
            read_bytes(path, **options)
        return str(caught.value).replace(str(tmp_path), "DIR")

    assert refused(tmp_path / "none.json") == snapshot("'DIR/none.json' does not exist")
    assert refused(tmp_path / "big.json" / "below") == snapshot(
        "'DIR/big.json/below' does not exist"
    )
    assert refused(tmp_path) == snapshot("'DIR' is a folder, where a file is needed")
    assert refused(fifo) == snapshot("'DIR/pipe' is not a regular file")
    assert refused(big, limit=9) == snapshot("'DIR/big.json' has 10 bytes; at most 9 are read")
    assert refused("a\0b") == snapshot("'a\\x00b' cannot be read: embedded null byte")
    assert refused("x" * 5000)[-40:] == snapshot("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'")
    assert read_bytes(big, limit=10) == b"0123456789"


spaces = st.sampled_from(["", " ", "\n\t"])
names = st.sampled_from(["a", "b", '":', 'a": 1', "\u00e9", ""])


@st.composite
def objects_as_text(draw: st.DrawFn, depth: int = 2) -> tuple[str, bool]:
    """Draw the text of an object, and whether some object in it names a key twice."""
    members, found = [], []
    repeats = False
    for _ in range(draw(st.integers(0, 3))):
        name = draw(names)
        text, inner = ("1", False)
        if depth and draw(st.booleans()):
            text, inner = draw(objects_as_text(depth - 1))
        repeats = repeats or inner or name in found
        found.append(name)
        quoted = json.dumps(name, ensure_ascii=draw(st.booleans()))
        members.append(f"{draw(spaces)}{quoted}{draw(spaces)}:{draw(spaces)}{text}{draw(spaces)}")
    return "{" + ",".join(members) + "}", repeats


@given(objects_as_text())
def test_a_key_named_twice_is_always_seen(case: tuple[str, bool]) -> None:
    text, repeats = case
    if repeats:
        assert "stands twice in one object" in refusal(text, unique_keys=True)
    else:
        assert parse_json(text, where="x", unique_keys=True) == json.loads(text)
