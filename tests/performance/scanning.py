"""What it costs to look for behaviours in a store, beside one regular expression over its text."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.performance.coding_sessions import sessions
from tests.performance.measuring import Budget, Chunk, Effort, Measured, compare, run_child, timed

_TEXTS = (("turns", "text"), ("calls", "arguments"), ("calls", "result"))
PATTERN = "(?i)(all )?tests? (are |is )?(now )?pass(ing|ed|es)?"
MEMORY_PROGRAM = """
import sys
from pathlib import Path
from tests.performance.scanning import wanted
from tracedance_sdk.behaviors import scan_store
from tracedance_sdk.store import TraceStore

scan_store(TraceStore.open(sys.argv[1]), wanted(None))
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(int(peak) / 1024)
"""


def wanted(name: str | None) -> list[Any]:
    """Return one behaviour of the catalogue, or all of them."""
    from tracedance_sdk.behaviors import Wanted, packaged_behaviors

    found = packaged_behaviors().values()
    return [Wanted(one, one.filled()) for one in found if name is None or one.id == name]


def made_store(folder: Path, n_sessions: int) -> Any:
    """Return an indexed store of generated sessions."""
    from tracedance_sdk.store import TraceStore

    store = TraceStore.create(folder)
    store.add(sessions(n_sessions))
    store.index(processes=2)
    return store


def scanning(store: Any, asked: Sequence[Any]) -> Chunk:
    """A scan in this process, features derived before."""
    from tracedance_sdk.behaviors import scan_store

    return timed(lambda: len(scan_store(store, asked).funnels), n_calls=1)


def matching(store: Any) -> Chunk:
    """One regular expression over all text: what is said, asked of tools, and told by them."""
    from tracedance_sdk.store import PartitionReader

    def all_text() -> int:
        found = 0
        for key in store.partitions():
            with PartitionReader(store.path, key) as reader:
                for view, column in (
                    ("turns", "text"),
                    ("calls", "arguments"),
                    ("calls", "result"),
                ):
                    sql = f"SELECT count(*) FROM {view} WHERE regexp_matches({column}, ?)"
                    found += reader.select(sql, [PATTERN])[0][0]
        return found

    return timed(all_text, n_calls=1)


def one_anchor(effort: Effort) -> Measured:
    """F01 over 2,500 sessions."""
    return _measured(effort, "F01")


def all_anchors(effort: Effort) -> Measured:
    """The whole catalogue over 2,500 sessions."""
    return _measured(effort, None)


def _measured(effort: Effort, name: str | None) -> Measured:
    with _folder() as folder:
        store = made_store(folder / "s", effort.calls(2_500))
        return compare(scanning(store, wanted(name)), matching(store), rounds=min(effort.rounds, 9))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


GROWTH_LIMIT = 1.3
MEMORY_GROWTH_MIB = 256.0
SIZES = (2_500, 25_000)
SCALE_SESSIONS = 252_557


def memory(effort: Effort) -> Measured:
    """Growth of the peak memory of a scan for the whole catalogue, from the smaller store on."""
    with _folder() as folder:
        peaks = []
        for size in (effort.calls(n) for n in SIZES):
            made_store(folder / str(size), size)
            peaks.append(float(run_child(["-c", MEMORY_PROGRAM, str(folder / str(size))]).stdout))
    shown = ", ".join(f"{peak:.0f} MiB" for peak in peaks)
    growth = peaks[-1] - peaks[0]
    return Measured(growth, growth, growth, f"{shown} at {SIZES[0]:,} and {SIZES[1]:,} sessions")


def growth(effort: Effort) -> Measured:
    """Time for each session of the larger store, over that of the smaller one."""
    with _folder() as folder:
        stores = [made_store(folder / str(size), effort.calls(size)) for size in SIZES]
        small, large = (scanning(store, wanted(None)) for store in stores)
        ratio = SIZES[1] / SIZES[0]
        found = compare(large, small, rounds=3)
    return Measured(found.value / ratio, found.low / ratio, found.high / ratio, found.detail)


def at_scale() -> None:
    """Print what one anchor and all of them cost over 252,557 sessions, once."""
    with _folder() as folder:
        began = time.monotonic()
        store = made_store(folder / "s", SCALE_SESSIONS)
        print(
            f"{SCALE_SESSIONS:,} sessions made, stored and indexed in {_since(began)}", flush=True
        )
        below = matching(store)()
        print(f"one regular expression over the text: {below:.1f} s of processor time", flush=True)
        for told, name in (("one anchor", "F01"), ("the catalogue", None)):
            above = scanning(store, wanted(name))()
            print(f"{told}: {above:.1f} s, {above / below:.2f} x", flush=True)
        peak = float(run_child(["-c", MEMORY_PROGRAM, str(folder / "s")]).stdout)
        print(f"peak memory of a scan for the catalogue: {peak:.0f} MiB")


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.0f} s"


_AGAINST = "one regular expression of DuckDB's over the same text"
BUDGETS = (
    Budget("scan-one", "one anchor over 2,500 sessions", _AGAINST, 3.0, "x", one_anchor),
    Budget("scan-all", "the catalogue over 2,500 sessions", _AGAINST, 10.0, "x", all_anchors),
    Budget(
        "scan-growth",
        "time for each session at 25,000 sessions",
        "the same at 2,500",
        GROWTH_LIMIT,
        "x",
        growth,
    ),
    Budget(
        "scan-memory",
        "growth of the peak memory of a scan from 2,500 to 25,000 sessions",
        "itself",
        MEMORY_GROWTH_MIB,
        "MiB",
        memory,
    ),
)

if __name__ == "__main__":
    at_scale()
