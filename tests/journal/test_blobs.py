from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.journal.records import call_end
from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal import JournalWriter, blob_path, read_blob, read_journal, write_blob


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200))
def test_a_blob_written_is_read_back_under_its_hash(tmp_path: Path, data: bytes) -> None:
    digest = write_blob(tmp_path, data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert write_blob(tmp_path, data) == digest
    assert read_blob(tmp_path, digest) == data


def test_writing_leaves_one_file_and_no_drafts(tmp_path: Path) -> None:
    digest = write_blob(tmp_path, b"[1]", fsync=True)
    write_blob(tmp_path, b"[1]")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / "blobs" / digest[:2] / f"{digest}.json"]


def test_a_blob_that_was_changed_is_not_given_out(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(call_end())
    digest = writer.put_blob(b"[1]")
    assert writer.get_blob(digest) == b"[1]"
    blob_path(tmp_path, digest).write_bytes(b"[2]")
    assert writer.get_blob(digest) is None
    with pytest.raises(JournalError, match="was changed"):
        read_blob(tmp_path, digest)
    writer.close()
    contents = read_journal(tmp_path)
    assert contents.get_blob(digest) is None
    assert ["was changed" in problem.what for problem in contents.problems] == [True]


def test_an_absent_blob_is_none(tmp_path: Path) -> None:
    assert read_blob(tmp_path, "0" * 64) is None


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 64 + "\n"])
def test_a_digest_that_is_none_reaches_no_file(tmp_path: Path, digest: str) -> None:
    with pytest.raises(JournalError, match="64 hex characters"):
        blob_path(tmp_path, digest)
    assert JournalWriter(tmp_path).get_blob(digest) is None


def test_a_folder_that_cannot_be_written_raises_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("in the way")
    with pytest.raises(JournalError) as caught:
        write_blob(tmp_path, b"[1]")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fsync", [False, True])
def test_writing_a_value_again_repairs_its_blob(tmp_path: Path, fsync: bool) -> None:
    digest = write_blob(tmp_path, b"[1]")
    blob_path(tmp_path, digest).write_bytes(b"[2]")
    assert write_blob(tmp_path, b"[1]", fsync=fsync) == digest
    assert read_blob(tmp_path, digest) == b"[1]"


def test_a_kept_blob_is_handed_to_the_disk_when_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = write_blob(tmp_path, b"[1]")
    path = blob_path(tmp_path, digest)
    before, handed = path.stat().st_ino, []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        handed.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_blob(tmp_path, b"[1]")
    assert handed == []
    write_blob(tmp_path, b"[1]", fsync=True)
    assert handed == [before, path.parent.stat().st_ino]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="platform: no named pipes")
def test_a_pipe_in_place_of_a_blob_is_refused_and_replaced(tmp_path: Path) -> None:
    digest = write_blob(tmp_path, b"[1]")
    path = blob_path(tmp_path, digest)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(JournalError, match="no regular file"):
        read_blob(tmp_path, digest)
    write_blob(tmp_path, b"[1]")
    assert read_blob(tmp_path, digest) == b"[1]"
