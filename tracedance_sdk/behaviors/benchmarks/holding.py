"""Who is building a benchmark, so that nobody else builds one of that name meanwhile.

A build holds an exclusive `flock` on a hidden file beside the benchmark, which is there for as long
as the build takes. The system lets go of it however the process ends. On Windows, and on file
systems without locks, nobody is held up.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tracedance_sdk.errors import InvalidOption, UnreadableFile

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def held(paths: Iterable[Path]) -> Iterator[None]:
    """Hold benchmarks, so that no other build writes them meanwhile.

    Folders that are missing are made, and taken away again when nothing was written there.

    Args:
        paths: Of the instances of each.

    Raises:
        InvalidOption: Another build holds one of them.
        UnreadableFile: Its folder cannot be written to.
    """
    with contextlib.ExitStack() as stack:
        for path in paths:
            stack.enter_context(_folder(path.parent))
            stack.enter_context(_held(path))
        yield


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableFile(f"{str(folder)!r} cannot be made: {error.strerror}") from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it holds something by now
            for one in missing:
                one.rmdir()


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    lock = path.parent.resolve() / f".{path.name}.lock"
    try:
        descriptor = _opened(lock)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from error
    if descriptor is None:
        raise InvalidOption(
            f"{str(path)!r} is being written by another build; name another file, or wait"
        )
    try:
        yield
    finally:
        # Removed while it is locked: whoever opened it meanwhile sees that it is there no more.
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _opened(lock: Path) -> int | None:
    """Return the open file of a lock; None while another holds it."""
    while True:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            return descriptor  # a file system without locks
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)
