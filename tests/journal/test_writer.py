from __future__ import annotations

import hashlib
import hmac
import json
import os
import resource
import shutil
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.records import call_end, call_start
from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal import EvidenceRecord, JournalWriter, read_journal

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="platform: no fork")


def lines(folder: Path) -> list[bytes]:
    files = sorted(folder.glob("*.jsonl"))
    return [line for path in files for line in path.read_bytes().split(b"\n")[:-1]]


def hashes(found: list[bytes]) -> list[str]:
    """Return the hash that each line carries."""
    return [line_hash(line) for line in found]


def line_hash(line: bytes) -> str:
    document = json.loads(line)
    [resource_] = document.get("resourceSpans") or document["resourceLogs"]
    [group] = resource_.get("scopeSpans") or resource_["scopeLogs"]
    return str(group["scope"]["attributes"][0]["value"]["stringValue"])


def expected_hashes(found: list[bytes], key: bytes | None = None) -> list[str]:
    """Return the hashes that a chain through these lines has, computed apart from the library."""
    chain = [""]
    for line in found:
        data = chain[-1].encode() + line.replace(line_hash(line).encode(), b"", 1)
        digest = hashlib.sha256(data) if key is None else hmac.new(key, data, "sha256")
        chain.append(digest.hexdigest())
    return chain[1:]


def event_name(line: bytes) -> str:
    log = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    return str(log["eventName"])


def in_child(work: Callable[[], None]) -> int:
    """Run work in a forked process and return its exit code."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the exit code is the child's only word
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_records_come_back_in_the_order_written(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "new" / "traces")
    written: list[EvidenceRecord] = [call_start(0), call_end(0), call_start(1)]
    for record in written:
        writer.append(record)
    assert list(read_journal(tmp_path / "new" / "traces")) == written
    summary = writer.close()
    contents = read_journal(tmp_path / "new" / "traces")
    assert list(contents) == written
    assert (contents.torn, contents.problems) == (0, [])
    assert summary.records == 3
    assert summary.bytes == contents.files[0].stat().st_size


def test_nothing_is_created_before_the_first_record(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "traces")
    assert writer.close() == (None, 0, 0, 0)
    assert not (tmp_path / "traces").exists()


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "traces")
    writer.append(call_end())
    assert writer.path is not None
    assert stat.S_IMODE(writer.path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "traces").stat().st_mode) == 0o700
    writer.close()


@pytest.mark.parametrize("key", [None, b"secret"], ids=["plain", "keyed"])
def test_each_line_carries_a_hash_over_itself_and_the_hash_before(
    tmp_path: Path, key: bytes | None
) -> None:
    writer = JournalWriter(tmp_path, key=key)
    for number in range(3):
        writer.append(call_end(number))
    head = writer.close().head
    found = lines(tmp_path)
    assert hashes(found) == expected_hashes(found, key)
    assert head == hashes(found)[-1]
    assert (event_name(found[0]), event_name(found[-1])) == (
        "tracedance.journal.header",
        "tracedance.journal.close",
    )


def test_closing_twice_gives_the_same_summary_and_no_more_records(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(call_end())
    assert writer.close() == writer.close()
    with pytest.raises(JournalError, match="is closed"):
        writer.append(call_end())


@pytest.mark.parametrize("limits", [{"max_bytes": 1000}, {"max_seconds": 0.0}], ids=["size", "age"])
def test_a_full_or_old_file_is_followed_by_another_in_the_same_chain(
    tmp_path: Path, limits: dict[str, float]
) -> None:
    writer = JournalWriter(tmp_path, **limits)  # type: ignore[arg-type]  # one table for both
    for number in range(5):
        writer.append(call_end(number))
        time.sleep(0.001)
    head = writer.close().head
    contents = read_journal(tmp_path)
    assert len(contents.files) > 2
    assert list(contents) == [call_end(number) for number in range(5)]
    found = lines(tmp_path)
    assert hashes(found) == expected_hashes(found)
    assert head == hashes(found)[-1]


def test_threads_write_whole_lines_into_one_chain(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)

    def work(start: int) -> None:
        for number in range(start, start + 100):
            writer.append(call_end(number))

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.close().records == 400
    found = lines(tmp_path)
    assert hashes(found) == expected_hashes(found)
    numbers = [record.attributes["tracedance.call.index"] for record in read_journal(tmp_path)]
    assert sorted(numbers, key=int) == list(range(400))  # type: ignore[arg-type]  # all integers


@needs_fork
def test_a_forked_process_writes_a_file_of_its_own(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(call_end(0))

    def work() -> None:
        writer.append(call_end(1))
        assert writer.close().records == 1

    assert in_child(work) == 0
    writer.append(call_end(2))
    assert writer.close().records == 2
    contents = read_journal(tmp_path)
    assert len(contents.files) == 2
    assert contents.problems == []
    per_file = [
        [record.attributes["tracedance.call.index"] for record in read_journal(path)]
        for path in contents.files
    ]
    assert sorted(per_file, key=str) == [[0, 2], [1]]


@needs_fork
def test_a_fork_while_another_thread_writes_does_not_block_the_child(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    stop = threading.Event()

    def write_on() -> None:
        while not stop.is_set():
            writer.append(call_end())

    thread = threading.Thread(target=write_on)
    thread.start()
    try:
        codes = [in_child(lambda: writer.append(call_start())) for _ in range(10)]
    finally:
        stop.set()
        thread.join()
    assert codes == [0] * 10
    writer.close()


@needs_fork
def test_a_full_disk_raises_and_leaves_no_torn_line(tmp_path: Path) -> None:
    def work() -> None:
        writer = JournalWriter(tmp_path)
        writer.append(call_end(0))
        size = writer.path.stat().st_size if writer.path else 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
        for _ in range(2):
            with pytest.raises(JournalError, match="cannot be written"):
                writer.append(call_end(1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        writer.append(call_end(2))
        assert writer.close().records == 2

    assert in_child(work) == 0
    contents = read_journal(tmp_path)
    assert list(contents) == [call_end(0), call_end(2)]
    assert contents.problems == []
    assert len(contents.files) == 1


@needs_fork
def test_a_disk_too_full_for_a_header_leaves_no_file(tmp_path: Path) -> None:
    def work() -> None:
        writer = JournalWriter(tmp_path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        with pytest.raises(JournalError):
            writer.append(call_end(1))

    assert in_child(work) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_removed_folder_is_made_anew_and_what_was_lost_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "traces"
    writer = JournalWriter(folder)
    writer.append(call_end(0))
    writer.append(call_end(1))
    shutil.rmtree(folder)
    time.sleep(0.06)
    writer.append(call_end(2))
    assert "records lost: 2" in caplog.text
    summary = writer.close()
    assert (summary.records, summary.lost) == (3, 2)
    assert list(read_journal(folder)) == [call_end(2)]


def test_a_folder_removed_just_before_closing_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    writer = JournalWriter(folder)
    for number in range(3):
        writer.append(call_end(number))
    shutil.rmtree(folder)
    assert writer.close().lost == 3
    assert not folder.exists()


def test_a_file_cut_while_it_is_written_counts_the_records_cut_off(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    for number in range(4):
        writer.append(call_end(number))
    path = writer.path
    assert path is not None
    content = path.read_bytes().splitlines(keepends=True)
    os.truncate(path, len(b"".join(content[:3])) + 10)
    assert writer.close().lost == 2
    assert list(read_journal(tmp_path)) == [call_end(0), call_end(1)]


@pytest.mark.parametrize("replaced", [False, True])
def test_after_its_folder_was_moved_a_writer_goes_on_in_the_folder_it_was_given(
    tmp_path: Path, replaced: bool
) -> None:
    writer = JournalWriter(tmp_path / "traces")
    writer.append(call_end(0))
    (tmp_path / "traces").rename(tmp_path / "moved")
    if replaced:
        (tmp_path / "other").mkdir()
        (tmp_path / "traces").symlink_to(tmp_path / "other")
    time.sleep(0.06)
    writer.append(call_end(1))
    assert writer.close().lost == 1
    assert list(read_journal(tmp_path / "moved")) == [call_end(0)]
    assert list(read_journal(tmp_path / "traces")) == [call_end(1)]


def test_a_folder_moved_before_closing_is_noticed_on_closing(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "traces")
    writer.append(call_end(0))
    (tmp_path / "traces").rename(tmp_path / "moved")
    assert writer.close().lost == 1


def test_a_change_of_the_current_folder_moves_no_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    writer = JournalWriter("traces")
    writer.append(call_end(0))
    monkeypatch.chdir(tmp_path / "elsewhere")
    time.sleep(0.06)
    writer.append(call_end(1))
    assert writer.close().lost == 0
    assert list(read_journal(tmp_path / "traces")) == [call_end(0), call_end(1)]


@needs_fork
def test_a_daemon_that_closes_every_descriptor_goes_on_in_another_file(tmp_path: Path) -> None:
    def work() -> None:
        writer = JournalWriter(tmp_path)
        writer.append(call_end(0))
        os.closerange(3, 256)
        kept = [os.open(os.devnull, os.O_RDWR) for _ in range(64)]
        time.sleep(0.06)
        writer.append(call_end(1))
        assert writer.close().lost == 0
        assert [os.fstat(descriptor).st_nlink for descriptor in kept] == [1] * 64

    assert in_child(work) == 0
    assert list(read_journal(tmp_path)) == [call_end(0), call_end(1)]


def test_a_folder_that_cannot_be_made_raises_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    writer = JournalWriter(tmp_path / "file" / "traces")
    with pytest.raises(JournalError) as caught:
        writer.append(call_end())
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "file" / "traces") in str(caught.value)


@needs_fork
def test_a_killed_process_loses_nothing_it_appended(tmp_path: Path) -> None:
    def work() -> None:
        writer = JournalWriter(tmp_path)
        for number in range(50):
            writer.append(call_end(number))
        os.kill(os.getpid(), 9)

    assert in_child(work) == -9
    contents = read_journal(tmp_path)
    assert list(contents) == [call_end(number) for number in range(50)]
    assert contents.torn == 0


def test_synced_records_read_the_same(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, durability="fsync")
    writer.append(call_end())
    digest = writer.put_blob(b"[1]")
    writer.close()
    assert list(read_journal(tmp_path)) == [call_end()]
    assert writer.get_blob(digest) == b"[1]"
