"""Damaged manifests, strays beside them, foreign files, importers that hang, many small adds."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store.stored import files_of, human, of_session, recorded, run
from tests.store.test_keeping import HOUR, TRAVERSAL, aged, small_store
from tracedance_sdk.errors import StoreError
from tracedance_sdk.store import TraceStore
from tracedance_sdk.store.folder import LocalFolder, present
from tracedance_sdk.store.manifest import StoredFile, encode_manifest
from tracedance_sdk.store.partitions import damaged, read_table

HEAD = b'{"format": "tracedance.store", "version": 1, "number": 5, "partitions": '
DAMAGE = {
    "empty": b"",
    "cut": b'{"format": "tracedance.sto',
    "foreign": b'{"format": "other", "version": 1}',
    "binary": b"\xff\xfe\x00",
    "files_list": HEAD + b'[{"rows": 1, "document_bytes": 1, "files": []}]}',
    "traversal": TRAVERSAL,
    "null": HEAD + b"null}",
    "number": HEAD.replace(b"5", b"7") + b"[]}",
}
USES: dict[str, Callable[[TraceStore], object]] = {
    "add": lambda store: store.add([run("late")]),
    "add_known": lambda store: store.add([run("t0")]),
    "remove": lambda store: store.remove(["t0"]),
    "prune": lambda store: store.prune(HOUR),
    "compact": lambda store: store.compact(),
    "index": lambda store: store.index(),
}


@pytest.mark.parametrize("data", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_newest_manifest_is_read_around_with_one_warning(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    small_store(tmp_path)
    (tmp_path / "manifest-00000005.json").write_bytes(data)
    with caplog.at_level(logging.WARNING):
        store = recorded(tmp_path)
        assert len(store) == len(list(store)) == 4
    (line,) = caplog.messages
    assert "manifest-00000005.json" in line
    assert line.endswith("the store is read as of manifest-00000004.json")
    assert "\n" not in line


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_nothing_is_written_after_a_damaged_newest_manifest(
    tmp_path: Path, use: Callable[[TraceStore], object]
) -> None:
    small_store(tmp_path)
    path = tmp_path / "manifest-00000005.json"
    path.write_bytes(DAMAGE["cut"])
    aged(tmp_path, 7200)
    before = files_of(tmp_path)
    expected = r"^nothing is written to [^\n]*00000005\.json: [^\n]*; remove that file to go on"
    with pytest.raises(StoreError, match=expected):
        use(recorded(tmp_path))
    assert files_of(tmp_path) == before
    path.unlink()
    use(recorded(tmp_path))


def test_a_manifest_that_names_a_partition_twice_is_damaged(tmp_path: Path) -> None:
    small_store(tmp_path)
    manifest = present(LocalFolder(tmp_path)).manifest
    twice = manifest._replace(number=5, partitions=manifest.partitions[:1] * 2)
    (tmp_path / "manifest-00000005.json").write_bytes(encode_manifest(twice))
    store = recorded(tmp_path)
    assert len(store) == 4
    with pytest.raises(StoreError, match="stands in it twice"):
        store.add([run("late")])


def _stray_file(folder: Path) -> None:
    (folder / "manifest-999999999999999.json").write_text("{}")


def _stray_copy(folder: Path) -> None:
    data = (folder / "manifest-00000004.json").read_bytes()
    (folder / "manifest-00000099.json").write_bytes(data)


def _stray_folder(folder: Path) -> None:
    (folder / "manifest-00000005.json").mkdir()


def _dangling_link(folder: Path) -> None:
    (folder / "manifest-00000005.json").symlink_to(folder / "nowhere")


def _other_spelling(folder: Path) -> None:
    data = (folder / "manifest-00000004.json").read_bytes()
    (folder / "manifest-000000004.json").write_bytes(data)


@pytest.mark.parametrize(
    "put", [_stray_file, _stray_copy, _stray_folder, _dangling_link, _other_spelling]
)
def test_what_only_has_a_manifests_name_neither_breaks_nor_hides_what_is_added(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    small_store(tmp_path)
    put(tmp_path)
    store = recorded(tmp_path)
    assert store.add([run("late")]).added == 1
    assert store.add([run("later")]).added == 1
    assert store.remove(["t0"]) == 1
    store.compact(grace=timedelta(0))
    ids = [trace.id for trace in recorded(tmp_path)]
    assert sorted(ids) == ["late", "later", "t1", "t2", "t3"]


def test_compaction_clears_nothing_that_is_not_the_stores(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    foreign = [".env", ".draft-notes", "traces-1.parquet", "notes.txt"]
    own = [".draft-12-0123456789abcdef", f"calls-{'0' * 32}.parquet"]
    for name in (*foreign, *own):
        (tmp_path / "parts" / name).write_text("x")
    aged(tmp_path, 7200)
    assert store.compact(grace=HOUR).files_removed >= len(own)
    left = {path.name for path in (tmp_path / "parts").iterdir()}
    assert left >= set(foreign)
    assert not left & set(own)


@pytest.mark.parametrize("name", [".env", "notes.txt"])
def test_a_folder_with_foreign_parts_becomes_no_store(tmp_path: Path, name: str) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / name).write_text("x")
    with pytest.raises(StoreError, match=rf"is no store: its folder 'parts' holds '{name}'$"):
        TraceStore.create(tmp_path)


def test_compaction_gives_up_clearing_behind_an_importer_that_hangs(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    aged(tmp_path, 7200)
    with (tmp_path / "parts" / ".lock").open("rb") as hanging:
        fcntl.flock(hanging, fcntl.LOCK_SH)
        found = store.compact(grace=HOUR, patience=timedelta(seconds=0.2))
        assert (found.partitions, found.files_removed, found.clearing_skipped) == (1, 0, True)
    aged(tmp_path, 7200)
    found = store.compact(grace=HOUR)
    assert found.files_removed > 0
    assert not found.clearing_skipped


def test_compaction_of_a_folder_that_is_read_only_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(tmp_path, 1)
    monkeypatch.setattr(os, "access", lambda *_args: False)
    with pytest.raises(StoreError, match=r"^the store '[^\n]*' cannot be written: no permission$"):
        recorded(tmp_path).compact()


def test_old_manifests_go_at_the_next_add_and_their_readers_go_on(tmp_path: Path) -> None:
    store = small_store(tmp_path, 20)
    reader = iter(store)
    first = next(reader)
    store.compact()
    assert len(list(tmp_path.glob("manifest-*"))) == 21, "all of them are new"
    aged(tmp_path, 7200)
    for path in tmp_path.glob("manifest-*"):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 7200 - 300))
    for number in range(20):
        store.add([run(f"late{number}")])
    assert [path.name for path in sorted(tmp_path.glob("manifest-*"))] == [
        f"manifest-{number:08d}.json" for number in range(21, 42)
    ]
    assert store.compact(grace=HOUR).files_removed == 0
    assert [first.id, *(trace.id for trace in reader)] == [f"t{n}" for n in range(20)]


def _other_document(folder: Path) -> str:
    """Put another store's documents, whole in themselves, in the place of this one's."""
    other = TraceStore.create(folder.parent / "other")
    other.add([run("t0", human("something else"))])
    found = next((folder / "parts").glob("documents-*"))
    shutil.copy(next((folder.parent / "other" / "parts").glob("documents-*")), found)
    return "trace 't0' is not what was stored"


def _flipped_bit(folder: Path) -> str:
    path = next((folder / "parts").glob("documents-*"))
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    return "is damaged: "


@pytest.mark.parametrize("damage", [_other_document, _flipped_bit])
@pytest.mark.parametrize(
    "use",
    [
        list,
        lambda store: store.get("t0"),
        lambda store: list(store.traces("turns > 0")),
        lambda store: store.compact(),
        lambda store: store.add([of_session("new", "s")]),
    ],
    ids=["iterate", "get", "traces", "compact", "move"],
)
def test_a_document_that_was_changed_is_never_passed_on(
    tmp_path: Path, damage: Callable[[Path], str], use: Callable[[TraceStore], object]
) -> None:
    store = TraceStore.create(tmp_path / "store", tools="recorded")
    store.add([of_session("t0", "s")])
    expected = damage(tmp_path / "store")
    store.add([run("t1")])
    with pytest.raises(StoreError, match=rf"^the file documents-[^\n]*{expected}"):
        use(recorded(tmp_path / "store"))


@pytest.mark.parametrize("kind", ["traces", "turns", "calls"])
def test_pages_of_every_table_have_checksums(tmp_path: Path, kind: str) -> None:
    small_store(tmp_path, 1)
    folder = LocalFolder(tmp_path)
    file = present(folder).manifest.partitions[0].files[kind]
    read_table(folder, file)
    path = folder.local(file)
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged"):
        read_table(folder, file)


def test_what_may_not_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    refused = PermissionError(13, "Permission denied")
    line = str(damaged(LocalFolder(tmp_path), StoredFile("calls-1.parquet", 1), refused))
    reason = "cannot be read: Permission denied"
    assert line == f"the file calls-1.parquet of the store '{tmp_path}' {reason}"


def test_a_damaged_partition_does_not_keep_others_from_being_read(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    part = present(LocalFolder(tmp_path)).manifest.partitions[1]
    (tmp_path / "parts" / part.files["documents"].name).write_bytes(b"PAR1")
    found = [str(item) if isinstance(item, StoreError) else item.id for item in store.readable()]
    assert [found[0], *found[2:]] == ["t0", "t2", "t3"]
    assert found[1].endswith("; 1 of its 1 traces were not read")
    reader = iter(store)
    assert next(reader).id == "t0"
    with pytest.raises(StoreError, match="is damaged"):
        next(reader)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="platform: no /proc")
def test_names_of_data_files_are_safe_before_a_manifest_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, link, replace = os.fsync, os.link, os.replace

    def fsync(descriptor: int) -> None:
        done.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        sync(descriptor)

    def named(source: Path, target: Path) -> None:
        done.append("manifest")
        link(source, target)

    def placed(source: Path, target: Path) -> None:
        done.append("file")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", named)
    monkeypatch.setattr(os, "replace", placed)
    store = TraceStore.create(tmp_path / "made", tools="recorded")
    assert {"sync made", f"sync {tmp_path.name}"} <= set(done)
    store.add([run("one")])
    last = done.index("manifest")
    assert done.index("sync parts") > max(n for n, what in enumerate(done) if what == "file")
    assert done.index("sync parts") < last < len(done) - 1 - done[::-1].index("sync made")
