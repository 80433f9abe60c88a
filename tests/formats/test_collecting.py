from __future__ import annotations

import gzip
import logging
import os
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tracedance_sdk.errors import UnreadableFile
from tracedance_sdk.formats import (
    Collected,
    ImportProblem,
    collect_paths,
    collecting,
    load_collectors,
)
from tracedance_sdk.trace import Trace


class LineCollector:
    """Reads files that start with ``!``: one trace a line."""

    name = "lines"

    def sniff(self, _path: Path, head: bytes) -> bool:
        return head.startswith(b"!")

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        for number, line in enumerate(path.read_text().split()[1:], 1):
            if line == "raise":
                raise RuntimeError("a fault of its own")
            if line == "refuse":
                raise UnreadableFile(f"{path} is damaged")
            yield ImportProblem(str(path), "odd", number) if line == "odd" else Trace(id=line)


class FolderCollector:
    """Takes a folder with a ``MARK`` file as one source, together with its ``.part`` files."""

    name = "folders"

    def sniff(self, path: Path, head: bytes) -> bool:
        return head == b"part" or (path / "MARK").exists()

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        yield Trace(id=f"folder {path.name}")


class FaultyCollector:
    """Fails when it is asked."""

    name = "faulty"

    def sniff(self, _path: Path, _head: bytes) -> bool:
        raise RuntimeError("cannot look")

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        yield Trace(id=str(path))


READERS = (LineCollector(), FolderCollector())
UNKNOWN = "no collector recognises this file"
HINT = "tracedance import reads it with --mapping FILE, or --from NAME"
NO_TEXT = "not UTF-8 text (UTF-16, UTF-32 or binary); save it as UTF-8"


def found(*paths: Path, root: Path) -> list[tuple[str, str]]:
    """What was collected: the source below `root`, and the trace's id or the problem."""
    return [
        (
            item.path.relative_to(root).as_posix(),
            item.found.id if isinstance(item.found, Trace) else f"! {item.found.reason}",
        )
        for item in collect_paths(paths, collectors=READERS)
    ]


def test_folders_are_walked_in_order_and_hidden_entries_left_out(tmp_path: Path) -> None:
    for name in ("b.txt", "a/2.txt", "a/1.txt", "a/.hidden", ".git/c.txt", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"! {name}")
    (tmp_path / "README.md").write_text("no trace")
    assert [path for path, _ in found(tmp_path, root=tmp_path)] == [
        "a/1.txt",
        "a/2.txt",
        "b.txt",
        "c.txt",
    ]
    given = (tmp_path / "c.txt", tmp_path / "b.txt", tmp_path / "c.txt")
    assert [path for path, _ in found(*given, root=tmp_path)] == ["c.txt", "b.txt", "c.txt"]


def test_a_link_back_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.txt").write_text("! one")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert found(tmp_path, root=tmp_path) == [("a/1.txt", "one")]


def test_one_bad_file_does_not_stop_the_rest(tmp_path: Path) -> None:
    files = {"1": "! a", "2": "! b raise c", "3": "! d refuse", "4": "! odd e", "5.json": "{"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "6.json.gz").write_bytes(gzip.compress(b"! f")[:-4])
    (tmp_path / "7").write_text("! g")
    six = f"{str(tmp_path / '6.json.gz')!r} is a damaged gzip file"
    results = found(tmp_path, tmp_path / "none", root=tmp_path)
    assert [(path, re.sub(": (Comp|Expecting).*", "", text)) for path, text in results] == [
        ("1", "a"),
        ("2", "b"),
        ("2", "! collector 'lines' failed: RuntimeError: a fault of its own"),
        ("3", "d"),
        ("3", f"! {tmp_path / '3'} is damaged"),
        ("4", "! odd"),
        ("4", "e"),
        ("5.json", f"! {UNKNOWN}: not JSON"),
        ("6.json.gz", f"! {six}"),
        ("7", "g"),
        ("none", f"! {str(tmp_path / 'none')!r} does not exist"),
    ]


def test_an_unknown_file_is_a_problem_where_it_was_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert found(tmp_path, root=tmp_path) == []
    ((_, problem),) = found(tmp_path / "notes.txt", root=tmp_path)
    assert problem == f"! {UNKNOWN}: not JSON: Expecting value (line 1, column 1)"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b" \n\t\r\n", "only white space", id="blank"),
        pytest.param(b"\xef\xbb\xbf", "only white space", id="a byte order mark"),
        pytest.param(b" " * 300_000, "only white space", id="blank and long"),
        pytest.param(
            gzip.compress(b" " * 20_000_000),
            "only white space in its first 8,388,608 bytes",
            id="a packed bomb of spaces",
        ),
        pytest.param(b"\0" * 100, NO_TEXT, id="NUL"),
        pytest.param('{"a": 1}'.encode("utf-16"), NO_TEXT, id="UTF-16"),
        pytest.param('{"a": 1}'.encode("utf-16-le"), NO_TEXT, id="UTF-16 without a mark"),
        pytest.param('{"a": 1}'.encode("utf-32-be"), NO_TEXT, id="UTF-32"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", NO_TEXT, id="binary"),
        pytest.param(b'{"a": "\xe9"}', "not UTF-8 at byte 7", id="Latin-1"),
        pytest.param(b'{\n "a": ]', "not JSON: Expecting value (line 2, column 7)", id="not JSON"),
        pytest.param(b"[" * 5000, "nested deeper than 240 levels", id="deep"),
        pytest.param(b"[" * 300 + b"]" * 300, "nested deeper than 240 levels", id="deep and whole"),
        pytest.param(b'{"a": 1}', f"JSON, but of no shape that they know; {HINT}", id="JSON"),
        pytest.param(
            b'\n{"a": 1}\n{"b": 2}\n', f"JSON, but of no shape that they know; {HINT}", id="lines"
        ),
        pytest.param(
            b'{"a": "' + b"x" * 9_000_000 + b'"}',
            f"nothing that they know in its first 8,388,608 bytes; {HINT}",
            id="long",
        ),
    ],
)
def test_an_unknown_file_is_told_why_in_one_line(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "a.json").write_bytes(data)
    ((_, problem),) = found(tmp_path, root=tmp_path)
    assert problem == f"! {UNKNOWN}: {why}"


def test_a_folder_can_be_one_source_and_other_files_in_it_are_read_too(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "below").mkdir(parents=True)
    (run / "MARK").write_text("")
    (run / "x.part").write_text("part")
    (run / "y.txt").write_text("! beside")
    (run / "below" / "z.txt").write_text("! below")
    assert found(tmp_path, root=tmp_path) == [
        ("run", "folder run"),
        ("run/below/z.txt", "below"),
        ("run/y.txt", "beside"),
    ]


def test_large_files_are_problems(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("! one")
    (item,) = collect_paths([tmp_path / "a.txt"], collectors=READERS, max_file_bytes=3)
    assert item.problem is not None
    assert "has 5 bytes; at most 3 are read" in str(item.problem)
    assert item.trace is None


def test_traces_come_one_at_a_time(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"! {name}")
    stream = collect_paths([tmp_path], collectors=READERS)
    assert next(stream).found == Trace(id="a")
    (tmp_path / "b").write_text("! changed")
    assert next(stream).found == Trace(id="changed")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions: the superuser may read anything")
def test_a_folder_without_permission_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0)
    ((path, problem),) = found(tmp_path, root=tmp_path)
    assert path == "locked"
    assert "cannot be read" in problem


def test_the_distinguishing_field_may_stand_far_behind(tmp_path: Path) -> None:
    class Far(LineCollector):
        def sniff(self, _path: Path, head: bytes) -> bool:
            return b"MARK" in head

    (tmp_path / "a.json").write_bytes(b"x" * 200_000 + b"MARK\n one")
    (item,) = collect_paths([tmp_path], collectors=[Far()])
    assert item == Collected(tmp_path / "a.json", "lines", Trace(id="one"))


def test_a_collector_that_fails_to_look_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.txt").write_text("! one")
    readers = (FaultyCollector(), *READERS)
    (item,) = collect_paths([tmp_path / "a.txt"], collectors=readers)
    assert item.collector == "lines"
    assert "collector 'faulty' failed on" in caplog.text


def test_the_built_in_collectors_are_found_like_any_other() -> None:
    names = [collector.name for collector in load_collectors()]
    assert names == sorted(names)
    assert {"journal", "openai_chat", "tau_bench", "trace_json", "traceeval"} <= set(names)


def test_a_broken_entry_point_is_one_line_of_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = [
        EntryPoint("gone", "no_such_package_at_all:collector", collecting.GROUP),
        EntryPoint("odd", "json:dumps", collecting.GROUP),
        EntryPoint("typo", "json:no_such_name", collecting.GROUP),
        EntryPoint("lines", f"{__name__}:READERS", collecting.GROUP),
    ]
    monkeypatch.setattr(collecting, "entry_points", lambda group: points)
    with caplog.at_level(logging.WARNING):
        assert load_collectors() == ()
    assert [record.getMessage() for record in caplog.records] == [
        "collector 'gone' left out: ModuleNotFoundError: No module named 'no_such_package_at_all'",
        f"collector 'lines' left out: {__name__}:READERS is no collector",
        "collector 'odd' left out: json:dumps is no collector",
        "collector 'typo' left out: AttributeError: module 'json' has no attribute 'no_such_name'",
    ]
    assert all(record.exc_info is None for record in caplog.records)


def test_a_problem_reads_as_one_line_with_its_place() -> None:
    assert str(ImportProblem("a.jsonl", "not JSON", 3)) == "a.jsonl:3: not JSON"
    assert str(ImportProblem("a.json", "not JSON")) == "a.json: not JSON"
    assert str(ImportProblem("a.json", "a.json: not JSON")) == "a.json: not JSON"
    assert str(ImportProblem("a.json", "'a.json' is a folder")) == "'a.json' is a folder"
