"""Run a query in a process of its own, which is killed when it goes beyond its limits.

DuckDB looks at its clock and counts its memory between pieces of work. A single expression over a
single value is one piece, however large the value.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import InvalidQuery, StoreError
from tracedance_sdk.store.allowed_sql import in_short
from tracedance_sdk.store.fetching import Limits
from tracedance_sdk.store.folder import LocalFolder, present
from tracedance_sdk.store.libraries import arrow, duck
from tracedance_sdk.store.queries import Selection, run_select

_START_S: Final = 60.0
_GRACE_S: Final = 1.0
_PIECE_ROWS: Final = 10_000
_ROOM_BYTES: Final = 768 << 20
"""For threads, buffers and Python, beside what DuckDB and the answer may take."""


def run_apart(path: Path, sql: str, limits: Limits) -> Selection:
    """Run a query over the store in a local folder; see `TraceStore.select`.

    Raises:
        InvalidQuery: As `run_select`; or the process had to be killed, or died of its limits.
        StoreError: The store is damaged, or no process can be started.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, path, sql, limits), daemon=True)
    try:
        process.start()
        sender.close()
        if not (receiver.poll(_START_S) and receiver.recv() == "ready"):
            raise StoreError(f"no process for the query came up within {_START_S:g} s")
        return _received(receiver, sql, limits)
    except (EOFError, ConnectionResetError) as error:
        what = f"the process of the query died; it may take {limits.memory_mb:,} MB"
        raise InvalidQuery(f"{what}: {in_short(sql)}") from error
    finally:
        receiver.close()
        if process.pid is not None:
            process.kill()
            process.join()


def _received(receiver: Connection, sql: str, limits: Limits) -> Selection:
    ends = time.monotonic() + limits.timeout_s + _GRACE_S
    rows: list[tuple[Any, ...]] = []
    while receiver.poll(max(0.0, ends - time.monotonic())):
        kind, value = receiver.recv()
        if kind == "rows":
            rows += value
        elif kind == "columns":
            return Selection(value, tuple(rows))
        else:
            raise StoreError(value) if kind == "store" else InvalidQuery(value)
    raise InvalidQuery(f"stopped after {limits.timeout_s:g} s: {in_short(sql)}")


def _answer(sender: Connection, path: Path, sql: str, limits: Limits) -> None:
    """Run in the new process: answer in pieces, then say the names of the columns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked is told, and ends this process
    duck(), arrow()
    _limit_memory((limits.memory_mb + 2 * limits.answer_mb << 20) + _ROOM_BYTES)
    with suppress(BrokenPipeError):
        sender.send("ready")
        try:
            folder = LocalFolder(path)
            found = run_select(folder, present(folder).manifest, sql, limits=limits)
        except InvalidQuery as error:
            sender.send(("query", str(error)))
        except StoreError as error:
            sender.send(("store", str(error)))
        except MemoryError:
            sender.send(("query", f"Out of Memory Error: {in_short(sql)}"))
        else:
            for start in range(0, len(found.rows), _PIECE_ROWS):
                sender.send(("rows", found.rows[start : start + _PIECE_ROWS]))
            sender.send(("columns", found.columns))


def _limit_memory(room: int) -> None:
    """Let this process take so many bytes more of addresses, where the system can say how many."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError):
        return
    wanted = pages * resource.getpagesize() + room
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
