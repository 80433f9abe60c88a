"""What a store asks of a disk: files that appear once, folders that are safe, locks."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_TRY_AGAIN_S: Final = 0.1


def file_state(path: Path) -> tuple[int, ...]:
    """Return what changes when a file does; empty where it cannot be seen."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def lock_file(descriptor: int, *, exclusive: bool, patience_s: float | None) -> bool:
    """Lock a file; whether that was possible in time. None waits for as long as it takes."""
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    if patience_s is not None:
        kind |= fcntl.LOCK_NB
    end = time.monotonic() + (patience_s or 0)
    while True:
        try:
            fcntl.flock(descriptor, kind)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_TRY_AGAIN_S)
        except OSError:
            # A file system without locks goes without; the age of orphans protects them still.
            return True
        else:
            return True


def place_new(draft: Path, target: Path) -> None:
    """Give a finished file a name that must not be taken yet.

    Raises:
        FileExistsError: It is taken.
        OSError: The folder cannot be written to.
    """
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Where files have one name only: whoever is killed here leaves a manifest that is not
        # whole, which readers pass over and writers ask to be removed.
        with target.open("xb") as stream:
            stream.write(draft.read_bytes())
            stream.flush()
            os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Let the names in a folder outlast a power cut, where that can be asked for."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
