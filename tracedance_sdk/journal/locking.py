"""Whether somebody is writing a journal file, told by a lock that ends with its process.

The writer holds an exclusive `flock` for as long as it has the file open; the system lets go of it
however the process ends. On Windows no lock is needed, as an open file cannot be removed there.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def lock_for_writing(descriptor: int) -> None:
    """Mark a file as being written; a file system without locks goes without the mark."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_being_written(path: Path) -> bool:
    """Whether a writer has the file open.

    Raises:
        OSError: It cannot be told, such as on a file system without locks.
    """
    if sys.platform == "win32":
        return False
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
