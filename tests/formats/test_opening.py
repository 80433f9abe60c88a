from __future__ import annotations

import gzip
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import keys, objects, values
from tracedance_sdk.errors import InvalidJSON, UnreadableFile
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    compressed,
    documents,
    opening,
    peek,
    peeking,
    read_document,
    read_head,
)
from tracedance_sdk.formats.run_together import pieces

Packer = Callable[[bytes], bytes]
PACKERS: dict[str, Packer] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        pytest.param("a.json", '{"a": 1}', [({"a": 1}, None)], id="one document"),
        pytest.param("a.json", '{\n "a": 1\n}\n', [({"a": 1}, None)], id="over several lines"),
        pytest.param("a.jsonl", '{"a": 1}\n', [({"a": 1}, 1)], id="lines by name"),
        pytest.param("a.ndjson", '{"a": 1}\n\n2', [({"a": 1}, 1), (2, 3)], id="a blank line"),
        pytest.param("a.json", '{"a": 1}\n[2]\n', [({"a": 1}, 1), ([2], 2)], id="lines by content"),
        pytest.param("a.json", '\n\n{"a": 1}\n{}', [({"a": 1}, 3), ({}, 4)], id="blanks first"),
        pytest.param("a.json", '{"a": 1}\n\n \n', [({"a": 1}, None)], id="blanks last"),
        pytest.param("a.json", "\ufeff[1]", [([1], None)], id="a byte order mark"),
        pytest.param("a.jsonl", "", [], id="no lines"),
        pytest.param("a.jsonl", "1\r\n2\r\n", [(1, 1), (2, 2)], id="lines of Windows"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()], ids=["plain", *PACKERS])
def test_documents_are_found_in_files(
    tmp_path: Path, name: str, text: str, found: list[tuple[Any, int | None]], pack: Packer
) -> None:
    suffix = "" if pack is bytes else ".gz"
    path = written(tmp_path / f"{name}{suffix}", pack(text.encode()))
    assert list(documents(path)) == [Document(value, line) for value, line in found]


def test_a_broken_line_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", b'{"a": 1}\n{"a": \n\xff\n{"a": 3}')
    first, second, third, fourth = documents(path)
    assert first == Document({"a": 1}, 1)
    assert isinstance(second, ImportProblem)
    assert str(second).startswith(f"{path}:2: not JSON: ")
    assert isinstance(third, ImportProblem)
    assert (third.line, str(third)) == (3, f"{path}:3: not UTF-8 at byte 0")
    assert fourth == Document({"a": 3}, 4)


def test_a_broken_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidJSON, match=r"a\.json: not JSON"):
        list(documents(written(tmp_path / "a.json", b'{"a": 1')))


def test_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", b"1\n" * 100_000)
    stream = documents(path)
    assert next(stream) == Document(1, 1)
    path.unlink()
    assert next(stream) == Document(1, 2)


@pytest.mark.parametrize("text", [b'"%s"', b'[\n"%s"]'], ids=["one line", "two lines"])
@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_packed_document_is_unpacked_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Packer, text: bytes
) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED_BYTES", 1000)
    bomb = written(tmp_path / "bomb.json", pack(text % (b"x" * 1_000_000)))
    assert bomb.stat().st_size < 2000
    with pytest.raises(UnreadableFile, match="more than 1,000 bytes"):
        list(documents(bomb))
    whole = written(tmp_path / "fits.json.gz", gzip.compress(b'"' + b"x" * 900 + b'"'))
    assert len(read_document(whole)) == 902


@pytest.mark.parametrize("lines", [False, True], ids=["document", "lines"])
@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_bomb_goes_off_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Packer, lines: bool
) -> None:
    monkeypatch.setattr(compressed, "FREE_BYTES", 100_000)
    monkeypatch.setattr(compressed, "MOST_RATIO", 10)
    data = b"1\n" * 500_000 if lines else b"[" + b" " * 1_000_000 + b"]"
    path = written(tmp_path / ("a.jsonl" if lines else "a.json"), pack(data))
    if not lines:
        with pytest.raises(UnreadableFile, match="unpacks to more than 100,000 bytes"):
            list(documents(path))
        return
    *read, last = documents(path)
    assert isinstance(last, ImportProblem)
    assert last.line == len(read) + 1 < 100_000
    assert "unpacks to more than 100,000 bytes" in last.reason


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_damaged_packed_file_is_named(tmp_path: Path, pack: Packer) -> None:
    random = Random(7)
    data = pack(json.dumps([random.random() for _ in range(9999)]).encode())
    for broken in (data[:-1], data[:-5000], data[:40] + b"\0" * 40 + data[80:], data[:5]):
        path = written(tmp_path / "a.json", broken)
        with pytest.raises(UnreadableFile, match=r"damaged (gzip|zstd) file"):
            list(documents(path))


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_of_lines_cut_off_what_is_there_is_read(tmp_path: Path, pack: Packer) -> None:
    random = Random(7)
    data = pack("".join(f"[{random.random()}]\n" for _ in range(100_000)).encode())
    *read, last = documents(written(tmp_path / "a.jsonl", data[: len(data) // 2]))
    assert len(read) > 10_000
    assert all(isinstance(item, Document) for item in read)
    assert isinstance(last, ImportProblem)
    assert last.line == len(read) + 1
    assert re.search(r"a\.jsonl' is a damaged (gzip|zstd) file: ", last.reason)


def test_several_frames_and_notes_between_them_are_one_file(tmp_path: Path) -> None:
    note = b"\x51\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    checked = zstandard.ZstdCompressor(write_checksum=True)
    frames = [zstandard.compress(b"[1]\n[2"), note, checked.compress(b"]\n" + b"[3]\n" * 999), note]
    path = written(tmp_path / "a.jsonl.zst", b"".join(frames))
    assert [item.value for item in documents(path) if isinstance(item, Document)][:3] == [
        [1],
        [2],
        [3],
    ]
    assert len(list(documents(path))) == 1001
    assert list(documents(written(path, note + frames[0][:0] + zstandard.compress(b"[1]")))) == [
        Document([1], 1)
    ]


def test_a_line_beyond_the_bound_is_a_problem_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED_BYTES", 1000)
    monkeypatch.setattr(opening, "_SKIPPED_AT_ONCE", 64)
    long = b'"' + b"x" * 5000 + b'"'
    path = tmp_path
    for name in ("a.jsonl", "a.json"):
        path = written(tmp_path / name, b"[1]\n" + long + b"\n[2]\n" + long)
        first, second, third, fourth = documents(path)
        assert (first, third) == (Document([1], 1), Document([2], 3))
        assert isinstance(second, ImportProblem)
        assert str(second) == f"{path}:2: a line of more than 1,000 bytes"
        assert isinstance(fourth, ImportProblem)
        assert fourth.line == 4
    whole = b'["' + b"x" * 995 + b'"]\n'
    assert len(list(documents(written(tmp_path / "c.jsonl", whole + whole)))) == 2
    first, second = documents(written(tmp_path / "b.json", long + b"\n[2]"))
    assert (isinstance(first, ImportProblem), second) == (True, Document([2], 2))


def test_a_line_of_a_gigabyte_costs_no_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as stream:
        stream.write(b'[1]\n"')
        stream.truncate(1_100_000_000)
        stream.seek(0, os.SEEK_END)
        stream.write(b'"\n[3]\n')
    code = (
        "import sys; from tests.support.peak_memory import peak_kib\n"
        "from tracedance_sdk.formats import documents\n"
        "found = list(documents(sys.argv[1]))\n"
        "print(len(found), found[2].value, peak_kib())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    number, value, peak_kib = ran.stdout.split()
    assert (number, value) == ("3", "[3]")
    assert int(peak_kib) < 700_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('{"a": 1}{"a": 2}', [({"a": 1}, 1), ({"a": 2}, 1)], id="two"),
        pytest.param("[1] [2]\t{}", [([1], 1), ([2], 1), ({}, 1)], id="with white space"),
        pytest.param('{"ä":\n"ü"}\n{"a":\n2}{}', [({"ä": "ü"}, 1), ({"a": 2}, 3), ({}, 4)], id="ü"),
        pytest.param('{"a": 1}}', [({"a": 1}, 1), "Expecting value", 1], id="garbage behind"),
        pytest.param("{}\0\0\0", [({}, 1), "Expecting value", 1], id="NUL behind"),
        pytest.param('{"a": "}{"}{', [({"a": "}{"}, 1), "Expecting property", 1], id="cut"),
        pytest.param('{"a": 1}[%s]' % ("[" * 9000), [({"a": 1}, 1), "nested deeper", 1], id="deep"),
        pytest.param("1 2", ["Extra data", 1], id="numbers"),
        pytest.param('x{"a": 1}', ["Expecting value", 1], id="garbage before"),
    ],
)
def test_documents_that_were_written_together_are_told_apart(
    tmp_path: Path, text: str, found: list[Any]
) -> None:
    for name in ("a.jsonl", "a.json"):
        if "\n" in text and name == "a.jsonl":
            continue
        path = written(tmp_path / name, text.encode())
        if name == "a.json" and isinstance(found[0], str):
            with pytest.raises(InvalidJSON, match=found[0]):
                list(documents(path))
            continue
        expected = list(found)
        for item in documents(path):
            if isinstance(item, Document):
                assert (item.value, item.line) == expected.pop(0)
            else:
                assert re.search(expected.pop(0), item.reason)
                assert item.line == expected.pop(0)
        assert expected == []


@given(st.lists(objects | st.lists(values, max_size=3), min_size=2, max_size=5), st.data())
def test_whatever_was_written_together_is_told_apart(items: list[Any], data: st.DataObject) -> None:
    gap = data.draw(st.sampled_from(["", " ", "\n", "\r\n "]))
    ascii_only = data.draw(st.booleans())
    text = gap.join(json.dumps(item, ensure_ascii=ascii_only) for item in items)
    found = list(pieces(text.encode()))
    assert [json.loads(piece.text) for piece in found] == items
    assert [text[: piece.start].count("\n") for piece in found] == [p.line for p in found]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for read in (read_head, read_document, lambda path: list(documents(path))):
        with pytest.raises(UnreadableFile, match="not a regular file"):
            read(tmp_path / "pipe.jsonl")


@given(objects, st.integers(0, 3), st.sampled_from([None, 2]))
def test_the_first_objects_fields_are_seen(value: Any, depth: int, indent: int | None) -> None:
    document: Any = value
    for _ in range(depth):
        document = [document, {"later": 1}]
    found = peek(json.dumps(document, indent=indent, ensure_ascii=False).encode())
    assert found.depth == depth
    assert found.keys == set(value)


@given(st.dictionaries(keys, values, max_size=4), st.integers(0, 400))
def test_a_cut_document_shows_some_of_its_fields(value: Any, end: int) -> None:
    data = json.dumps([value], ensure_ascii=False).encode()
    assert peek(data[:end]).keys <= set(value)


@pytest.mark.parametrize(
    "data", [b"", b"hello: world", b'"text"', b"[[[", b"\xff\xfe{", b"}{", b"1"]
)
def test_anything_can_be_looked_at(data: bytes) -> None:
    assert peek(data).keys == frozenset()


LONG = 300_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"a":"' + b'\\"' * LONG, id="escaped quotes, cut"),
        pytest.param(b'{"a":"' + b'\\"' * LONG + b'"}', id="escaped quotes, whole"),
        pytest.param(b'{"a":"' + b"\\" * (2 * LONG + 1), id="backslashes, cut in an escape"),
        pytest.param(b'{"' + b"a" * 2 * LONG, id="an open string"),
        pytest.param(b'{"a" ' + b" " * 2 * LONG, id="spaces"),
        pytest.param(b'{"a":' + b"[" * LONG, id="lists"),
        pytest.param(b"[" * 2 * LONG, id="lists only"),
        pytest.param(b'{"a":["' + b'x\\"","' * (LONG // 4), id="many texts"),
    ],
)
def test_looking_takes_time_in_proportion_to_the_bytes(text: bytes) -> None:
    def seconds(data: bytes) -> float:
        best = math.inf
        for _ in range(3):
            peeking.forget_peeked()
            start = time.process_time()
            peek(data)
            best = min(best, time.process_time() - start)
        return best

    short, long = seconds(text[: len(text) // 16]), seconds(text)
    # In proportion it is 16 times as much, by the square 256 times; the addend is for the clock.
    assert long < 64 * short + 0.05


def test_text_inside_an_open_string_is_no_field() -> None:
    inner = json.dumps(json.dumps({"role": "user", "content": [{"b": 1}]}))
    data = f'{{"first": 1, "second": {inner}, "third": 3}}'.encode()
    assert peek(data).keys == {"first", "second", "third"}
    end = data.index(b"content")
    assert peek(data[:end]).keys == {"first", "second"}
    assert peek(data[: data.index(b"\\") + 1]).keys == {"first", "second"}


def test_a_file_is_looked_at_once_however_many_ask() -> None:
    head = b'{"a": 1}'
    peeking.forget_peeked()
    assert peek(head) is peek(head)
