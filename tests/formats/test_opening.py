from __future__ import annotations

import gzip
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import keys, objects, values
from tracedance_sdk.errors import InvalidJSON, UnreadableFile
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    documents,
    opening,
    peek,
    peeking,
    read_document,
    read_head,
)


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
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_documents_are_found_in_files(
    tmp_path: Path, name: str, text: str, found: list[tuple[Any, int | None]], packed: bool
) -> None:
    data = text.encode()
    path = (
        written(tmp_path / f"{name}.gz", gzip.compress(data))
        if packed
        else written(tmp_path / name, data)
    )
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


@pytest.mark.parametrize("name", ["bomb.json.gz", "bomb.jsonl.gz"])
def test_a_packed_file_is_unpacked_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED_BYTES", 1000)
    bomb = written(tmp_path / name, gzip.compress(b'"' + b"x" * 1_000_000 + b'"'))
    assert bomb.stat().st_size < 2000
    with pytest.raises(UnreadableFile, match="more than 1,000 bytes"):
        list(documents(bomb))
    whole = written(tmp_path / "fits.json.gz", gzip.compress(b'"' + b"x" * 900 + b'"'))
    assert len(read_document(whole)) == 902


def test_a_damaged_packed_file_is_named(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps(list(range(9999))).encode())
    for broken in (data[:-100], data[:40] + b"\0" * 40 + data[80:], data[:5]):
        path = written(tmp_path / "a.json.gz", broken)
        with pytest.raises(UnreadableFile, match="damaged gzip file"):
            list(documents(path))


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
