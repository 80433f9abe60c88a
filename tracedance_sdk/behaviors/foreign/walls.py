"""Around foreign source: limits of its process, and what else would be another each time.

What Python shows of a run's own making differs from process to process: the order of sets, the
zone of the clock, the addresses of objects. The first two are set here; an address is taken out of
what is told.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from tracedance_sdk.store import interruptions_held

_ROOM_BYTES: Final = 1 << 30
_FORBIDDEN: Final = (
    "open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.", "urllib.", "http.", "pty.",
    "code.__new__", "sys._getframe", "gc.",
)  # fmt: skip
"""Beginnings of the events that Python tells its audit hooks of and that end in a refusal."""

_SEED: Final = "PYTHONHASHSEED"
_STARTING: Final = threading.Lock()
_ASKED: Final = 0xFFFFFFFF
_ADDR_NO_RANDOMIZE: Final = 0x0040000
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]{4,16}\b")


def started(process: BaseProcess) -> None:
    """Start a process in which sets have the same order each time.

    That of texts is set by a seed. None and types are ordered by where they lie in memory, so the
    process is laid out there alike each time, where the system allows it.
    """
    with _STARTING, _laid_out_alike():
        before = os.environ.get(_SEED)
        os.environ[_SEED] = "0"
        try:
            with interruptions_held():
                process.start()
        finally:
            if before is None:
                del os.environ[_SEED]
            else:
                os.environ[_SEED] = before


@contextmanager
def _laid_out_alike() -> Iterator[None]:
    """Let what this thread starts lie in memory where it always does, which Linux offers."""
    before = _personality(_ASKED)
    if before >= 0:
        _personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        if before >= 0:
            _personality(before)


def _personality(value: int) -> int:
    """Set what Linux calls the personality of a thread; return what it was, -1 where it fails."""
    with suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes

        ask = ctypes.CDLL(None).personality
        ask.argtypes, ask.restype = (ctypes.c_ulong,), ctypes.c_int
        return int(ask(value))
    return -1


def keep_steady() -> None:
    """Set the zone of this process to UTC, whatever the machine's is."""
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()


def addresses(text: str) -> list[str]:
    """Return the addresses of memory that a text shows, as Python writes them.

    Example:
        >>> addresses("<function anchor at 0x7f12ab> is it")
        [' at 0x7f12ab']
    """
    return _ADDRESS.findall(text)


def without_addresses(text: str) -> str:
    """Return a text without the addresses of memory that it shows."""
    return _ADDRESS.sub("", text)


def limit() -> None:
    """Put up the walls of this process: memory, files, and what Python itself may be asked for."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        room = pages * resource.getpagesize() + _ROOM_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(_refuse)


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} is not allowed in an anchor")
