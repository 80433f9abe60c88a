"""What `prune` removes, and everything it leaves."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from tests.journal.records import call_end
from tests.journal.tampering import KEY
from tracedance_sdk.errors import InvalidOption, JournalError, UnsupportedVersion
from tracedance_sdk.journal import (
    JournalWriter,
    blob_path,
    prune,
    read_journal,
    verify,
    write_blob,
)

DAY = timedelta(days=1)
_TEN_DAYS_NS = 10 * 86_400 * 10**9


def age(path: Path, *, days: float = 10) -> None:
    then = time.time() - days * 86_400
    os.utime(path, (then, then), follow_symlinks=False)


def chain(folder: Path, *, key: bytes | None = None, blob: str | None = None) -> list[Path]:
    """Write a closed chain of three files with six records; return its files, in order."""
    before = set(folder.glob("*.jsonl"))
    writer = JournalWriter(folder, key=key, max_bytes=1800)
    stub = json.dumps({"$blob": f"sha256:{blob}", "$size": 3}, separators=(",", ":"))
    for number in range(6):
        record = call_end(number)
        writer.append(record if blob is None else record._replace(attributes={"result": stub}))
    writer.close()
    return sorted(set(folder.glob("*.jsonl")) - before)


def old_chain(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    key: bytes | None = None,
    blob: str | None = None,
) -> list[Path]:
    """Write a chain ten days ago."""
    real = time.time_ns
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: real() - _TEN_DAYS_NS)
        files = chain(folder, key=key, blob=blob)
    for path in files:
        age(path)
    return files


def test_old_files_go_and_new_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = old_chain(tmp_path, monkeypatch), chain(tmp_path)
    size = sum(path.stat().st_size for path in old)
    found = prune(tmp_path, older_than=DAY)
    assert list(found.files) == old
    assert (found.bytes, found.kept, found.problems) == (size, (), ())
    assert sorted(tmp_path.glob("*.jsonl")) == new
    assert prune(tmp_path, older_than=DAY).files == ()


def test_a_dry_run_tells_the_same_and_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = old_chain(tmp_path, monkeypatch)
    age(blob_path(tmp_path, write_blob(tmp_path, b"[1]")))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    told = prune(tmp_path, older_than=DAY, dry_run=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    done = prune(tmp_path, older_than=DAY)
    assert list(done.files) == files
    assert told._replace(is_dry_run=False) == done


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_chain_without_its_beginning_still_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes | None, count: int
) -> None:
    files = old_chain(tmp_path, monkeypatch, key=key)
    assert len(files) == 3
    for path in files[count:]:
        age(path, days=0)
    found = prune(tmp_path, older_than=DAY, key=key)
    assert list(found.files) == files[:count]
    verified = verify(tmp_path, key=key)
    assert (verified.breaks, verified.open_tails, verified.pruned) == ((), (), 1)
    files[-1].unlink() if count == 1 else files[-1].rename(tmp_path / "x.jsonl")
    assert not verify(tmp_path, key=key).ok


def test_a_note_stays_as_long_as_a_file_refers_to_what_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = old_chain(tmp_path, monkeypatch)
    for path in rest:
        age(path, days=0)
    real = time.time_ns
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: real() - _TEN_DAYS_NS // 2)
        assert prune(tmp_path, older_than=DAY).files == (first,)
    [note] = set(tmp_path.glob("*.jsonl")) - set(rest)
    age(note)
    found = prune(tmp_path, older_than=DAY)
    assert found.files == ()
    assert [path for path, _ in found.kept] == [note]
    for path in rest:
        age(path)
    assert set(prune(tmp_path, older_than=DAY).files) == {note, *rest}


def test_a_chain_under_a_key_is_not_cut_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = old_chain(tmp_path, monkeypatch, key=KEY)
    age(files[-1], days=0)
    with pytest.raises(JournalError, match="is under a key"):
        prune(tmp_path, older_than=DAY)
    with pytest.raises(JournalError, match="the key given is not the one"):
        prune(tmp_path, older_than=DAY, key=b"other")
    assert sorted(tmp_path.glob("*.jsonl")) == files
    age(files[-1])
    assert list(prune(tmp_path, older_than=DAY).files) == files


def test_a_file_that_is_being_written_stays_whatever_its_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time_ns
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: real() - _TEN_DAYS_NS)
        writer = JournalWriter(tmp_path)
        writer.append(call_end(0))
    path = writer.path
    assert path is not None
    age(path)
    found = prune(tmp_path, older_than=DAY)
    assert (found.files, found.kept) == ((), ((path, "being written"),))
    writer.append(call_end(1))
    del writer
    age(path)
    assert prune(tmp_path, older_than=DAY).files == (path,)


def test_only_blobs_that_nothing_mentions_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_old, of_new, of_none, young = (write_blob(tmp_path, b"[%d]" % n) for n in range(4))
    old_chain(tmp_path, monkeypatch, blob=of_old)
    chain(tmp_path, blob=of_new)
    for digest in (of_old, of_new, of_none):
        age(blob_path(tmp_path, digest))
    draft = blob_path(tmp_path, of_old).with_name(f".{of_old[:16]}-123-0123abcd")
    draft.write_bytes(b"[")
    age(draft)
    found = prune(tmp_path, older_than=DAY)
    gone = {blob_path(tmp_path, of_old), blob_path(tmp_path, of_none), draft}
    assert set(found.blobs) == gone
    assert not any(path.exists() for path in gone)
    assert blob_path(tmp_path, of_new).exists()
    assert blob_path(tmp_path, young).exists()
    assert verify(tmp_path).ok


def test_a_blob_used_again_is_not_old(tmp_path: Path) -> None:
    chain(tmp_path)
    digest = write_blob(tmp_path, b"[1]")
    age(blob_path(tmp_path, digest))
    assert write_blob(tmp_path, b"[1]") == digest
    assert prune(tmp_path, older_than=DAY).blobs == ()


def test_old_blobs_used_again_while_pruning_runs_are_all_there(tmp_path: Path) -> None:
    chain(tmp_path)
    values = [b"[%d]" % number for number in range(300)]
    for value in values:
        age(blob_path(tmp_path, write_blob(tmp_path, value)))
    # Nobody uses this one again, so that each pruning has something to do.
    age(blob_path(tmp_path, write_blob(tmp_path, b"[-1]")))
    writer = JournalWriter(tmp_path)
    used = threading.Event()

    def use_all() -> None:
        for value in values:
            stub = json.dumps(
                {"$blob": f"sha256:{writer.put_blob(value)}", "$size": len(value)},
                separators=(",", ":"),
            )
            writer.append(call_end()._replace(attributes={"result": stub}))
        used.set()

    thread = threading.Thread(target=use_all)
    thread.start()
    removed = len(prune(tmp_path, older_than=timedelta(hours=1)).blobs)
    while not used.is_set():
        removed += len(prune(tmp_path, older_than=timedelta(hours=1)).blobs)
    thread.join()
    writer.close()
    found = verify(tmp_path)
    assert (found.breaks, found.blobs) == ((), 300)
    assert removed > 0


def test_links_are_neither_removed_nor_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "traces"
    [target, *_] = old_chain(outside, monkeypatch)
    digest = write_blob(outside, b"[1]")
    age(blob_path(outside, digest))
    chain(folder)
    link = folder / target.name
    link.symlink_to(target)
    age(link)
    (folder / "blobs").symlink_to(outside / "blobs")
    found = prune(folder, older_than=DAY)
    assert (found.files, found.blobs, found.kept) == ((), (), ((link, "a link"),))
    (folder / "blobs").unlink()
    (folder / "blobs").mkdir()
    (folder / "blobs" / digest[:2]).symlink_to(outside / "blobs" / digest[:2])
    assert prune(folder, older_than=DAY).blobs == ()
    assert target.exists()
    assert blob_path(outside, digest).exists()


def test_other_files_of_the_folder_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old_chain(tmp_path, monkeypatch)
    others = [tmp_path / name for name in ("redaction.key", "notes.jsonl", "a.txt", "blobs/ab/x")]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
        age(path)
    prune(tmp_path, older_than=DAY)
    assert all(path.exists() for path in others)


def test_another_version_stops_it_before_anything_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = old_chain(tmp_path, monkeypatch)
    version = b'"version","value":{"intValue":"%d"'
    files[0].write_bytes(files[0].read_bytes().replace(version % 1, version % 9))
    with pytest.raises(UnsupportedVersion):
        prune(tmp_path, older_than=DAY)
    assert sorted(tmp_path.glob("*.jsonl")) == files


@pytest.mark.parametrize("seconds", [0, -1])
def test_an_age_that_is_none_is_refused(tmp_path: Path, seconds: int) -> None:
    files = chain(tmp_path)
    with pytest.raises(InvalidOption, match="not positive"):
        prune(tmp_path, older_than=timedelta(seconds=seconds))
    with pytest.raises(InvalidOption, match="is no folder"):
        prune(files[0], older_than=DAY)
    assert len(list(read_journal(tmp_path))) == 6
