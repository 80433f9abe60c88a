from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.journal.records import call_end, call_start, records
from tracedance_sdk.errors import JournalError, UnsupportedVersion
from tracedance_sdk.journal import EvidenceRecord, JournalWriter, read_journal


def written(folder: Path, count: int = 3) -> Path:
    writer = JournalWriter(folder)
    for number in range(count):
        writer.append(call_end(number))
    path = writer.path
    writer.close()
    assert path is not None
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(records, max_size=6))
def test_a_journal_gives_exactly_the_records_written(
    tmp_path: Path, drawn: list[EvidenceRecord]
) -> None:
    folder = tmp_path / os.urandom(8).hex()
    writer = JournalWriter(folder)
    writer.append(call_start())
    for record in drawn:
        writer.append(record)
    writer.close()
    contents = read_journal(folder)
    assert list(contents) == [call_start(), *drawn]
    assert list(contents) == [call_start(), *drawn]
    assert contents.problems == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_gives_the_whole_records_before_the_cut(
    tmp_path: Path, data: st.DataObject
) -> None:
    raw = written(tmp_path / os.urandom(8).hex()).read_bytes()
    header = raw.index(b"\n") + 1
    cut = data.draw(st.integers(header, len(raw)))
    path = tmp_path / f"{os.urandom(8).hex()}.jsonl"
    path.write_bytes(raw[:cut])
    contents = read_journal(path)
    # A last line is whole with its newline or just without it.
    ends = [place for place in range(len(raw)) if raw[place : place + 1] == b"\n"]
    whole = sum(place <= cut for place in ends)
    assert list(contents) == [call_end(number) for number in range(min(3, whole - 1))]
    assert contents.torn == (cut not in ends and cut - 1 not in ends)
    assert contents.problems == []


def test_a_torn_last_line_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    contents = read_journal(path)
    assert list(contents) == [call_end(0), call_end(1), call_end(2)]
    assert contents.torn == 1


def test_garbage_between_lines_is_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    header, first, *rest = path.read_bytes().splitlines(keepends=True)
    odd = [b"nonsense\n", b'{"resourceSpans":5}\n', b"\xff\n"]
    path.write_bytes(b"".join([header, odd[0], first, *odd[1:], *rest]))
    contents = read_journal(tmp_path)
    assert list(contents) == [call_end(number) for number in range(3)]
    assert [(problem.path, problem.line) for problem in contents.problems] == [
        (path, 2),
        (path, 4),
        (path, 5),
    ]
    assert [problem.what for problem in contents.problems[:2]] == snapshot(
        [
            "not JSON: invalid literal, expected 'null': line 1 column 1 (char 0)",
            "not an OTLP document: 'int' object is not iterable",
        ]
    )


def test_a_line_beyond_the_bound_is_skipped_and_listed(tmp_path: Path) -> None:
    path = written(tmp_path)
    header, first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([header, first, b"x" * 5000 + b"\n", *rest]))
    contents = read_journal(path, max_line_bytes=2000)
    assert list(contents) == [call_end(number) for number in range(3)]
    assert [str(problem) for problem in contents.problems] == [
        f"longer than 2,000 bytes; skipped @ {path}:3"
    ]


def test_a_folder_is_read_in_order_of_creation(tmp_path: Path) -> None:
    for number in range(3):
        writer = JournalWriter(tmp_path)
        writer.append(call_end(number))
        writer.close()
    (tmp_path / "notes.txt").write_text("not a journal")
    assert list(read_journal(tmp_path)) == [call_end(number) for number in range(3)]


def test_a_file_that_is_no_journal_is_listed_beside_others(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"messages": []}\n')
    (tmp_path / "b.jsonl").write_text("")
    contents = read_journal(tmp_path)
    assert len(list(contents)) == 3
    assert [problem.path.name for problem in contents.problems] == ["a.jsonl", "b.jsonl"]


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    raw = path.read_bytes()
    version = b'"version","value":{"intValue":"%d"'
    path.write_bytes(raw.replace(version % 1, version % 2))
    assert path.read_bytes() != raw
    for place in (path, tmp_path):
        with pytest.raises(UnsupportedVersion, match="version 2; this release reads version 1"):
            read_journal(place)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        b"\xff\xfe\x00",
        b"{}\n",
        b'{"messages": []}\n',
        b'{"resourceLogs": []}\n',
        b"[" * 90_000,
    ],
)
def test_a_file_that_is_no_journal_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    for place in (path, tmp_path):
        with pytest.raises(JournalError) as caught:
            read_journal(place)
        assert "\n" not in str(caught.value)
        assert str(place) in str(caught.value)


@pytest.mark.parametrize("name", ["absent", "absent.jsonl", "nul\0"])
def test_a_missing_journal_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(JournalError, match="cannot be read"):
        read_journal(tmp_path / name)


def test_an_empty_folder_holds_no_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no journal in the folder"):
        read_journal(tmp_path)
