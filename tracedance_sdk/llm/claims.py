"""Who is about to pay for a reply, so that others who want the same one wait for it.

A claim is an exclusive `flock` on a file of its own, between processes as between tasks of one.
The system lets go of it however its process ends. On Windows, and on file systems without locks,
there are no claims, and two who ask the same at the same time both pay.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.5


@contextlib.asynccontextmanager
async def claimed(path: Path) -> AsyncIterator[None]:
    """Hold the claim of a file's name, once whoever holds it has let go.

    Args:
        path: Of the claim's own file; it is there while somebody holds the claim.

    Raises:
        OSError: The folder cannot be written.
    """
    pause_s = _FIRST_PAUSE_S
    while (descriptor := _taken(path)) is None:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    try:
        yield
    finally:
        _let_go(descriptor, path)


def _let_go(descriptor: int, path: Path) -> None:
    # Removed while it is locked: whoever opened it meanwhile sees that it is there no more.
    path.unlink(missing_ok=True)
    os.close(descriptor)


def _taken(path: Path) -> int | None:
    """Return the open file of a claim; None while another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o644)
    if sys.platform == "win32" or _is_locked(descriptor, path):
        return descriptor
    os.close(descriptor)
    return None


def _is_locked(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
