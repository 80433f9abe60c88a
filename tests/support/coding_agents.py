"""What the traces of a coding agent's sessions hold, in the numbers of the independent counters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.counters.counts import Counts
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import UNKNOWN, Trace


def traces_of(*paths: Path) -> list[Trace]:
    """Return the traces of some files, which must have no problem."""
    found = list(collect_paths(paths))
    assert [str(item.problem) for item in found if item.problem] == []
    return [item.trace for item in found if item.trace]


def numbers_of(trace: Trace) -> Counts:
    """Return the numbers of a trace.

    A turn that holds no more than results without a request is not one of the model's, and a
    result that only says that the call never ran is none.
    """
    results = [
        call.result
        for call in trace.calls
        if call.result and (call.result.content is not UNKNOWN or not call.result.interrupted)
    ]
    branch = trace.metadata.get("branch")
    native = trace.source.native_id if trace.source else None
    return Counts(
        session=f"{native or ''}" + (f"#{branch}" if branch else ""),
        user_turns=sum(turn.role == "user" for turn in trace.turns),
        assistant_turns=sum(
            turn.role == "assistant" and not turn.synthetic for turn in trace.turns
        ),
        calls=len(trace.actions),
        results=len(results),
        errors=sum(result.ok is False for result in results),
    )


def counted(path: Path, collector: str) -> list[Counts]:
    """Return the numbers of each session of a file, which this very collector reads."""
    found = list(collect_paths([path]))
    assert {item.collector for item in found} <= {collector}
    return [numbers_of(trace) for trace in traces_of(path)]


def table(traces: Iterable[Trace]) -> dict[str, int]:
    """Return for how many traces each fitness holds."""
    found: dict[str, int] = {}
    for trace in traces:
        for name in trace.fidelity.fit_for:
            found[name] = found.get(name, 0) + 1
    return found
