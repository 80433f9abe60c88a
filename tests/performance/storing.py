"""What importing into a store costs beside parsing the same bytes, and how its memory grows."""

from __future__ import annotations

import gc
import gzip
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from tests.performance.measuring import Budget, Chunk, Effort, Measured, compare, run_child, timed
from tests.performance.sample_data import conversation
from tests.performance.trace_files import PARSED, TAU_BENCH, parsing

SIZES_MB = (50, 100, 200)
MEMORY_LIMIT_MIB = 64.0

MEMORY_PROGRAM = """
import json, sys
from pathlib import Path
import orjson
from tests.performance.sample_data import conversation
from tracedance_sdk.formats import find_sources
from tracedance_sdk.recording import SecretRedactor
from tracedance_sdk.store import ImportPlan, TraceStore, import_sources

folder, megabytes = Path(sys.argv[1]), int(sys.argv[2])
chats = [conversation(seed) for seed in range(50)]
with open(folder / "chats.jsonl", "wb") as stream:
    number = 0
    while stream.tell() < megabytes * 1_000_000:
        document = {"id": f"run-{number}", "messages": chats[number % len(chats)]}
        stream.write(orjson.dumps(document) + b"\\n")
        number += 1
store = TraceStore.create(folder / "store")
plan = ImportPlan(redactor=SecretRedactor(key=b"k" * 32))
report = import_sources(find_sources([folder / "chats.jsonl"]), store, plan=plan)
assert report.stored.added == number, report.stored
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(int(peak) / 1024)
"""


def own_traces(effort: Effort, *, is_redacted: bool, n_traces: int = 100) -> Measured:
    """One file of different stored traces, one a line."""
    from tracedance_sdk.formats import trace_from_messages
    from tracedance_sdk.trace import encode_json

    lines = [
        encode_json(trace_from_messages(conversation(seed, n_calls=12), trace_id=f"run-{seed}"))
        for seed in range(effort.calls(n_traces))
    ]
    with _folder() as folder:
        path = folder / "traces.jsonl"
        path.write_bytes(b"\n".join(lines))
        return _storing(path, effort, is_redacted=is_redacted)


def tau_bench(effort: Effort, *, is_redacted: bool) -> Measured | str:
    """The 200 real airline conversations, unpacked."""
    if not TAU_BENCH.is_file():
        return "data: tau-bench absent"
    with _folder() as folder:
        path = folder / "runs.json"
        path.write_bytes(gzip.decompress(TAU_BENCH.read_bytes()))
        return _storing(path, effort, is_redacted=is_redacted)


def _storing(path: Path, effort: Effort, *, is_redacted: bool) -> Measured:
    from tracedance_sdk.formats import TraceSource
    from tracedance_sdk.recording import SecretRedactor
    from tracedance_sdk.store import ImportPlan, TraceStore, import_sources

    redactor = SecretRedactor(key=b"k" * 32) if is_redacted else None
    number = count()

    def ours() -> int:
        store = TraceStore.create(path.with_name(f"store-{next(number)}"))
        report = import_sources(
            [TraceSource(path, is_named=True)], store, plan=ImportPlan(redactor=redactor)
        )
        if report.problems or not report.stored.added:
            raise RuntimeError(f"not imported: {report.stored}, {report.problems[:1]}")
        return report.stored.added

    subject, baseline = _after_collection(timed(ours, 1)), _after_collection(parsing([path]))
    return compare(subject, baseline, rounds=effort.rounds)


def _after_collection(chunk: Chunk) -> Chunk:
    """Return a chunk that begins without garbage, so that neither side sweeps up the other's."""

    def collected() -> float:
        gc.collect()
        return chunk()

    return collected


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tracedance-bench-") as folder:
        yield Path(folder)


def memory(effort: Effort) -> Measured:
    """Return the growth of the peak resident set in MiB from the least size to the largest."""
    peaks = []
    for size in SIZES_MB:
        with _folder() as folder:
            peaks.append(float(run_child(["-c", MEMORY_PROGRAM, str(folder), str(size)]).stdout))
    growth = peaks[-1] - peaks[0]
    shown = ", ".join(f"{p:.0f} MiB at {s} MB" for s, p in zip(SIZES_MB, peaks, strict=True))
    return Measured(growth, growth, growth, shown)


def _row(
    name: str, what: str, measure: Callable[..., Measured | str], limit: float = 4.0
) -> Iterator[Budget]:
    yield Budget(
        f"store-{name}",
        f"importing {what} into a store, redaction off",
        PARSED,
        limit,
        "x",
        lambda effort: measure(effort, is_redacted=False),
    )
    yield Budget(
        f"store-{name}-redacted",
        f"importing {what} into a store, redaction on",
        PARSED,
        2 * limit,
        "x",
        lambda effort: measure(effort, is_redacted=True),
    )


BUDGETS = (
    *_row("own", "one file of 100 stored traces", own_traces),
    *_row("own-500", "one file of 500 stored traces", partial(own_traces, n_traces=500)),
    *_row("tau-bench", "the 200 airline conversations of tau-bench", tau_bench),
    Budget(
        "store-memory",
        f"growth of the peak memory of an import from {SIZES_MB[0]} to {SIZES_MB[-1]} MB",
        "itself",
        MEMORY_LIMIT_MIB,
        "MiB",
        memory,
    ),
)
