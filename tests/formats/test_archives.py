from __future__ import annotations

import errno
import os
import stat
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.test_collecting import FolderCollector, LineCollector
from tracedance_sdk.errors import UnreadableFile
from tracedance_sdk.formats import (
    Collected,
    ImportProblem,
    RecordCollector,
    Signature,
    unpacking,
)
from tracedance_sdk.formats.collecting import collect_paths, collect_source, find_sources
from tracedance_sdk.formats.unpacking import Bounds, unpack
from tracedance_sdk.trace import Source, Trace

READERS = (LineCollector(), FolderCollector())
SMALL = Bounds(
    members=5, directory_bytes=10_000, member_bytes=1000, total_bytes=2500, ratio=10, free_bytes=500
)


class Chats(LineCollector):
    """Names its file in two places, one of them odd."""

    name = "chats"

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        for found in super().collect(path):
            if isinstance(found, ImportProblem):
                yield found
                continue
            yield found.model_copy(
                update={
                    "source": Source(collector="chats", uri=str(path)),
                    "metadata": {"odd": [f"from {path} in {path.parent}"]},
                }
            )


def archive(path: Path, members: dict[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members.items():
            opened.writestr(name, data)
    return path


def texts(found: Iterator[Collected], root: Path) -> list[tuple[str, str]]:
    return [
        (
            item.path.relative_to(root).as_posix(),
            item.found.id if isinstance(item.found, Trace) else f"! {item.found.reason}",
        )
        for item in found
    ]


def test_an_archive_is_read_as_a_folder(tmp_path: Path) -> None:
    members: dict[str, bytes | str] = {
        "b.txt": "! two odd",
        "a/1.txt": "! one",
        "a/.hidden": "! no",
        "__MACOSX/a.txt": "! no",
        "run/MARK": "",
        "run/x.part": "part",
        "notes.md": "no trace",
        "broken.json": "",
    }
    archive(tmp_path / "logs.zip", members)
    (tmp_path / "z.txt").write_text("! last")
    assert texts(collect_paths([tmp_path], collectors=READERS), tmp_path) == [
        ("logs.zip!a/1.txt", "one"),
        ("logs.zip!b.txt", "two"),
        ("logs.zip!b.txt", "! odd"),
        ("logs.zip!broken.json", "! no collector recognises this file: it is empty"),
        ("logs.zip!run", "folder run"),
        ("z.txt", "last"),
    ]


def test_a_trace_of_an_archive_says_where_it_lies_and_nothing_of_where_it_was_unpacked(
    tmp_path: Path,
) -> None:
    path = archive(tmp_path / "logs.zip", {"a/1.txt": "! one odd refuse"})
    found = list(collect_paths([path], collectors=[Chats()]))
    trace = found[0].trace
    assert trace is not None
    assert trace.source is not None
    assert trace.source.uri == f"{path}!a/1.txt"
    assert trace.metadata == {"odd": [f"from {path}!a/1.txt in {path}!a"]}
    assert [str(item.problem) for item in found[1:]] == [
        f"{path}!a/1.txt:2: odd",
        f"{path}!a/1.txt is damaged",
    ]
    assert list(collect_paths([path], collectors=[Chats()])) == found


def test_nothing_is_left_of_what_was_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    path = archive(tmp_path / "logs.zip", {"1.txt": "! one", "2.txt": "! two"})
    stream = collect_paths([path], collectors=READERS)
    assert next(stream).trace is not None
    (unpacked,) = (tmp_path / "tmp").iterdir()
    assert stat.S_IMODE(unpacked.stat().st_mode) == 0o700
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert list((tmp_path / "tmp").iterdir()) == []


def raw_member(name: str, **fields: int) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    for key, value in fields.items():
        setattr(member, key, value)
    return member


@pytest.mark.parametrize(
    ("member", "data", "why"),
    [
        pytest.param(raw_member("../x.txt"), b"! x", "its name leads out", id="above"),
        pytest.param(raw_member("a/../../x.txt"), b"! x", "its name leads out", id="above, below"),
        pytest.param(raw_member("..\\x.txt"), b"! x", "its name leads out", id="Windows' above"),
        pytest.param(raw_member("/etc/x.txt"), b"! x", "its name leads out", id="absolute"),
        pytest.param(raw_member("C:\\x.txt"), b"! x", "its name leads out", id="a drive"),
        pytest.param(raw_member("a" * 300), b"! x", "too long", id="a long step"),
        pytest.param(raw_member("a/" * 600 + "b"), b"! x", "too long", id="a long name"),
        pytest.param(
            raw_member("x.txt", external_attr=(stat.S_IFLNK | 0o777) << 16),
            b"/etc/passwd",
            "a link",
            id="a link",
        ),
        pytest.param(
            raw_member("x.txt", external_attr=stat.S_IFIFO << 16),
            b"",
            "no regular file",
            id="pipe",
        ),
        pytest.param(raw_member("1.txt"), b"! x", "another file of the archive", id="same name"),
        pytest.param(raw_member("1.txt/x"), b"! x", "another file of the archive", id="below"),
        pytest.param(
            raw_member("x.txt", compress_type=zipfile.ZIP_LZMA),
            b"! x",
            "by a method (14)",
            id="lzma",
        ),
        pytest.param(
            raw_member("x.txt", compress_type=zipfile.ZIP_DEFLATED),
            b"! " + b"x" * 900,
            "more than 10 times its packed size",
            id="a bomb",
        ),
        pytest.param(raw_member("x.txt"), os.urandom(1001), "at most 1,000", id="large"),
    ],
)
def test_a_member_that_is_refused_is_one_problem_and_the_others_are_unpacked(
    tmp_path: Path, member: zipfile.ZipInfo, data: bytes, why: str
) -> None:
    path = tmp_path / "logs.zip"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as opened:
        warnings.filterwarnings("ignore", "Duplicate name")
        opened.writestr("1.txt", "! one")
        opened.writestr(member, data)
        opened.writestr("2.txt", "! two")
    into = tmp_path / "deep" / "into"
    into.mkdir(parents=True)
    (problem,) = unpack(path, into, bounds=SMALL)
    assert why in problem.reason
    assert problem.path == f"{path}!{member.filename}"
    assert sorted(item.name for item in into.iterdir()) == ["1.txt", "2.txt"]
    assert sorted(item.name for item in tmp_path.rglob("*.txt")) == ["1.txt", "2.txt"]
    assert (into / "1.txt").read_text() == "! one"


def test_together_the_members_have_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for name in "abcd":
            opened.writestr(name, os.urandom(900 if name != "d" else 100))
    (tmp_path / "into").mkdir()
    (problem,) = unpack(path, tmp_path / "into", bounds=SMALL)
    assert problem.path.endswith("!c")
    assert problem.reason.endswith("at most 2,500 are read of one archive")
    assert sorted(item.name for item in (tmp_path / "into").iterdir()) == ["a", "b", "d"]


def test_too_many_members_or_too_long_a_list_of_them_is_refused(tmp_path: Path) -> None:
    many = archive(tmp_path / "many.zip", {str(number): "" for number in range(6)})
    with pytest.raises(UnreadableFile, match="has 6 files; at most 5 are read"):
        list(unpack(many, tmp_path, bounds=SMALL))
    long = archive(tmp_path / "long.zip", {f"{n}/{'x' * 240}": "" for n in range(50)})
    with pytest.raises(UnreadableFile, match="has a list of files of"):
        list(unpack(long, tmp_path, bounds=SMALL))


def test_a_member_that_lies_about_its_size_is_not_unpacked_beyond_the_bounds(
    tmp_path: Path,
) -> None:
    data = bytearray(archive(tmp_path / "logs.zip", {"x.txt": b"x" * 100_000}).read_bytes())
    place = data.index(b"PK\x01\x02")
    struct.pack_into("<L", data, place + 24, 10)
    (tmp_path / "logs.zip").write_bytes(data)
    (problem,) = unpack(tmp_path / "logs.zip", tmp_path, bounds=SMALL)
    assert problem.reason.startswith("damaged: ")
    assert not (tmp_path / "x.txt").exists()


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    data = bytearray(archive(tmp_path / "logs.zip", {"x.txt": "! x", "y.txt": "! y"}).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    (tmp_path / "logs.zip").write_bytes(data)
    assert texts(collect_paths([tmp_path / "logs.zip"], collectors=READERS), tmp_path) == [
        ("logs.zip!x.txt", "! encrypted; unpack it yourself"),
        ("logs.zip!y.txt", "y"),
    ]


def test_a_full_disk_is_not_taken_for_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "logs.zip", {"x.txt": "! x"})
    (tmp_path / "into").mkdir()

    def full(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(unpacking, "_copied", full)
    (problem,) = unpack(path, tmp_path / "into")
    assert problem.reason == "cannot be unpacked: [Errno 28] No space left on device"
    assert list((tmp_path / "into").iterdir()) == []


def test_an_archive_inside_an_archive_is_a_problem(tmp_path: Path) -> None:
    inner = archive(tmp_path / "inner.zip", {"1.txt": "! one"}).read_bytes()
    path = archive(tmp_path / "logs.zip", {"a.zip": inner, "b.docx": inner, "c.txt": "! two"})
    assert texts(collect_paths([path], collectors=READERS), tmp_path) == [
        ("logs.zip!a.zip", "! an archive inside an archive is not opened; unpack it yourself"),
        ("logs.zip!c.txt", "two"),
    ]


def test_in_a_folder_only_what_is_called_so_is_an_archive(tmp_path: Path) -> None:
    archive(tmp_path / "letter.docx", {"1.txt": "! one"})
    assert texts(collect_paths([tmp_path], collectors=READERS), tmp_path) == []
    named = collect_paths([tmp_path / "letter.docx"], collectors=READERS)
    assert texts(named, tmp_path) == [("letter.docx!1.txt", "one")]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"PK\x03\x04 and no more", "is a damaged zip file: ", id="start only"),
        pytest.param(b"PK\x05\x06" + b"\0" * 18, "no traces in this archive", id="empty"),
    ],
)
def test_an_archive_without_traces_says_so(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "logs.zip").write_bytes(data)
    ((_, reason),) = texts(collect_paths([tmp_path / "logs.zip"], collectors=READERS), tmp_path)
    assert why in reason


@given(st.data())
def test_whatever_is_damaged_in_an_archive_nothing_is_raised(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = archive(root / "logs.zip", {"a/1.txt": "! one " * 50, "2.txt": "! two"})
        original = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(original) - 1))
            original[place] = data.draw(st.integers(0, 255))
        path.write_bytes(original[: data.draw(st.integers(4, len(original)))])
        found = list(collect_paths([path], collectors=READERS))
        assert found
        assert [item.name for item in root.iterdir()] == ["logs.zip"]


def test_a_file_that_belongs_to_runs_is_counted_in_a_folder_and_a_problem_when_named(
    tmp_path: Path,
) -> None:
    reader = RecordCollector(
        "runs",
        [Signature.of("run")],
        lambda value, place, uri: Trace(id=value["run"]),
        companions=[Signature.of("run", "report"), Signature.of(names=["*.policy"])],
    )
    (tmp_path / "a.json").write_text('{"run": "one"}')
    (tmp_path / "b.json").write_text('{"run": "one", "report": 1}')
    (tmp_path / "c.policy").write_text("be kind")
    archive(tmp_path / "d.zip", {"e.json": '{"run": "two"}', "f.policy": "be brief"})
    passed: list[tuple[str, str]] = []
    found = [
        item
        for source in find_sources([tmp_path], collectors=[reader])
        for item in collect_source(
            source,
            collectors=[reader],
            on_companion=lambda path, name: passed.append((path.name, name)),
        )
    ]
    assert texts(iter(found), tmp_path) == [("a.json", "one"), ("d.zip!e.json", "two")]
    assert passed == [("b.json", "runs"), ("c.policy", "runs"), ("d.zip!f.policy", "runs")]
    named = collect_paths([tmp_path / "b.json"], collectors=[reader])
    assert texts(named, tmp_path) == [
        ("b.json", "! it belongs to runs that 'runs' reads, and holds none itself")
    ]


def test_one_collector_can_be_made_to_read_a_file_whatever_it_looks_like(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("- one")
    (source,) = find_sources([tmp_path / "a.txt"], collectors=READERS)
    forced = collect_source(source, collectors=READERS[:1], is_forced=True)
    assert texts(forced, tmp_path) == [("a.txt", "one")]
    (found,) = collect_source(source, collectors=READERS[:1])
    assert found.problem is not None
    (below,) = find_sources([tmp_path], collectors=READERS)
    assert list(collect_source(below, collectors=READERS[:1], is_forced=True)) == []
