"""What happens in the midst of writing: signals, finalizers, full disks, descriptors taken away."""

from __future__ import annotations

import errno
import gc
import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journal.records import call_end
from tests.journal.test_writer import in_child, needs_fork
from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal import JournalWriter, read_journal, verify

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="platform: no timer")


class Interruption(BaseException):
    """Raised by the tests' signal handler, as Ctrl-C is by Python's."""


def numbers(folder: Path) -> list[int]:
    found = [record.attributes["tracedance.call.index"] for record in read_journal(folder)]
    return [number for number in found if isinstance(number, int)]


@pytest.fixture
def interrupting() -> Iterator[None]:
    """Interrupt the program again and again, at any instruction."""

    def interrupt(*_: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@needs_timer
def test_interruptions_at_any_instruction_leave_the_chain_whole(
    tmp_path: Path, interrupting: None
) -> None:
    writer = JournalWriter(tmp_path, max_bytes=20_000)
    acknowledged = []
    interrupted = number = 0
    while number < 3000:
        try:
            while number < 3000:
                number += 1
                if number % 5 == 0:
                    signal.setitimer(signal.ITIMER_REAL, 0.00002 + number % 70 / 1e6)
                writer.append(call_end(number))
                acknowledged.append(number)
        except Interruption:
            interrupted += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    writer.close()
    assert interrupted > 20
    found = verify(tmp_path)
    assert found.breaks == ()
    written = numbers(tmp_path)
    assert written == sorted(set(written))
    assert set(acknowledged) <= set(written)


def test_a_finalizer_that_appends_in_the_midst_of_appending_waits_its_turn(
    tmp_path: Path,
) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(call_end(0))
    appended = []

    class Ending:
        def __init__(self, number: int) -> None:
            self.number = number
            self.itself = self

        def __del__(self) -> None:
            writer.append(call_end(self.number))
            appended.append(self.number)

    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for number in range(1, 400):
            Ending(10_000 + number)
            writer.append(call_end(number))
    finally:
        gc.set_threshold(*before)
    gc.collect()
    writer.close()
    assert len(appended) == 399
    assert verify(tmp_path).ok
    assert sorted(numbers(tmp_path)) == sorted([*range(400), *appended])


@needs_timer
def test_a_signal_handler_may_append_and_close(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    seen: list[int] = []

    def note(*_: object) -> None:
        seen.append(len(seen))
        if len(seen) < 20:
            writer.append(call_end(100_000 + len(seen)))
        else:
            writer.close()

    before = signal.signal(signal.SIGALRM, note)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    written: list[int] = []

    def write_on() -> None:
        while True:
            writer.append(call_end(len(written)))
            written.append(len(written))

    try:
        with pytest.raises(JournalError, match="is closed"):
            write_on()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    found = verify(tmp_path)
    assert (found.breaks, found.open_tails) == ((), ())
    assert found.records >= len(written) + 19


@needs_fork
def test_rotation_waits_while_there_can_be_no_new_file(tmp_path: Path) -> None:
    folder = tmp_path / "traces"

    def work() -> None:
        writer = JournalWriter(folder, max_bytes=3000)
        writer.append(call_end(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        for number in range(1, 20):
            writer.append(call_end(number))
        assert writer.close().records == 20

    assert in_child(work) == 0
    assert numbers(folder) == list(range(20))
    found = verify(folder)
    assert (found.files, found.breaks, found.open_tails) == (1, (), ())


@needs_fork
def test_a_disk_that_is_full_for_a_while_costs_only_the_records_it_refuses(
    tmp_path: Path,
) -> None:
    def work() -> None:
        writer = JournalWriter(tmp_path, max_bytes=4000)
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        refused = 0
        for number in range(60):
            full = 20 <= number < 40
            resource.setrlimit(resource.RLIMIT_FSIZE, (1500 if full else most, most))
            try:
                writer.append(call_end(number))
            except JournalError:
                refused += 1
        assert refused == 20
        assert writer.close().records == 40

    assert in_child(work) == 0
    assert numbers(tmp_path) == [*range(20), *range(40, 60)]
    found = verify(tmp_path)
    assert (found.breaks, found.open_tails) == ((), ())
    assert found.files > 2


@needs_fork
def test_a_line_that_cannot_be_taken_back_is_left_behind_and_the_chain_goes_on(
    tmp_path: Path,
) -> None:
    def work() -> None:
        writer = JournalWriter(tmp_path)
        writer.append(call_end(0))
        path = writer.path
        assert path is not None
        torn = os.write

        def write_half(descriptor: int, data: bytes) -> int:
            torn(descriptor, data[: len(data) // 2])
            raise OSError(errno.EIO, "Input/output error")

        def refuse(*_: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "write", write_half)
            patched.setattr(os, "ftruncate", refuse)
            with pytest.raises(JournalError, match="cannot be written"):
                writer.append(call_end(1))
        writer.append(call_end(2))
        assert writer.path != path
        assert writer.close().records == 2

    assert in_child(work) == 0
    assert numbers(tmp_path) == [0, 2]
    contents = read_journal(tmp_path)
    assert (len(list(contents)), contents.torn, contents.problems) == (2, 1, [])
    found = verify(tmp_path)
    assert (found.files, found.breaks, found.open_tails) == (2, (), ())


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[:100]))
    writer = JournalWriter(tmp_path)
    for number in range(3):
        writer.append(call_end(number))
    writer.close()
    monkeypatch.undo()
    assert numbers(tmp_path) == [0, 1, 2]
    assert verify(tmp_path).ok


def test_a_clock_that_jumps_back_does_not_disorder_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time_ns
    writer = JournalWriter(tmp_path, max_bytes=1500)
    for number in range(4):
        back = number * 3_600_000_000_000
        monkeypatch.setattr(time, "time_ns", lambda back=back: real() - back)
        writer.append(call_end(number))
    writer.close()
    assert numbers(tmp_path) == [0, 1, 2, 3]
    assert verify(tmp_path).ok


def test_a_folder_removed_again_and_again_never_stops_the_writer(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    writer = JournalWriter(folder, max_bytes=5000)
    stop = threading.Event()

    def remove() -> None:
        while not stop.is_set():
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.01)

    thread = threading.Thread(target=remove)
    thread.start()
    refused = 0
    try:
        for number in range(1500):
            if number == 750:
                # The thread may always come too late to meet a file that is still written.
                shutil.rmtree(folder, ignore_errors=True)
            try:
                writer.append(call_end(number))
            except JournalError:
                refused += 1
    finally:
        stop.set()
        thread.join()
    summary = writer.close()
    assert summary.records == 1500 - refused
    kept = len(numbers(folder)) if folder.exists() and any(folder.glob("*.jsonl")) else 0
    assert kept + summary.lost <= summary.records
    assert summary.lost > 0


def test_a_journal_named_like_a_file_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "traces")
    writer.append(call_end(0))
    path = writer.path
    assert path is not None
    before = path.read_bytes()
    other = JournalWriter(path)
    with pytest.raises(JournalError) as caught:
        other.append(call_end(1))
    assert str(caught.value).count("\n") == 0
    assert "no journal can be begun in" in str(caught.value)
    assert path.read_bytes() == before
