"""What a trace holds, in the terms of the independent counters of raw files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tests.counters.counts import Counts
from tracedance_sdk.formats import Collector, collect_paths
from tracedance_sdk.trace import Trace


def counted(trace: Trace) -> Counts:
    """Return the counts of a trace; turns that the reader opened itself are no messages."""
    said = [turn.role for turn in trace.turns if not turn.synthetic]
    results = [call.result for call in trace.calls if call.result is not None]
    return Counts(
        session=trace.source.native_id or "" if trace.source else "",
        user_turns=said.count("user"),
        assistant_turns=said.count("assistant"),
        calls=len(trace.calls),
        results=len(results),
        errors=sum(result.ok is False for result in results),
    )


def imported(paths: Iterable[Path], collector: Collector) -> list[Trace]:
    """Return the traces of files, none of which may be unrecognised or have a problem."""
    found = list(collect_paths(paths, collectors=[collector]))
    assert [str(item.problem) for item in found if item.problem is not None] == []
    return [item.trace for item in found if item.trace is not None]


def differences(
    paths: Iterable[Path], collector: Collector, count: Callable[[Path], list[Counts]]
) -> list[tuple[str, Counts | None, Counts | None]]:
    """Return the records in which a counter and the import of the same files differ.

    Each is the file's name, what the counter says, and what the trace holds.
    """
    found: list[tuple[str, Counts | None, Counts | None]] = []
    for path in sorted(paths):
        raw: list[Counts | None] = [*count(path)]
        read: list[Counts | None] = [counted(trace) for trace in imported([path], collector)]
        longest = max(len(raw), len(read))
        raw += [None] * (longest - len(raw))
        read += [None] * (longest - len(read))
        found += [
            (path.name, said, held) for said, held in zip(raw, read, strict=True) if said != held
        ]
    return found
