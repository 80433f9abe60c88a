"""A session that is read while it grows keeps its ids, and what was read of it stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.shared_data import SHARED_DATA, shared_data
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import Trace

FIXTURES = shared_data("agent-sessions-fixtures")
TELEMETRY = shared_data("openclaw-telemetry") / "sample-telemetry.jsonl"
"""Its later events tell what was said between earlier ones."""

CLIENTS = ("antigravity", "codex", "cursor", "droid", "gemini", "grok", "openclaw", "pi")
FILES = [
    *(path for client in CLIENTS for path in sorted((FIXTURES / client).rglob("*.jsonl"))),
    *sorted(FIXTURES.glob("*.jsonl")),
    *sorted((shared_data("openclaw-sessions") / "lru_demo").glob("*.jsonl")),
    shared_data("pi-mono-sessions") / "large-session.jsonl",
    TELEMETRY,
]
MOST_CUTS = 12


def copied(path: Path, folder: Path) -> Path:
    """Copy a file with the small ones beside it that tell of it, such as its summary."""
    target = folder / path.parent.name
    target.mkdir(exist_ok=True)
    for beside in path.parent.glob("summary.json"):
        shutil.copy(beside, target)
    return target / path.name


def traces(path: Path) -> dict[str, Trace]:
    found = [item.trace for item in collect_paths([path])]
    assert None not in found
    return {trace.id: trace for trace in found if trace is not None}


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SHARED_DATA)) for p in FILES])
def test_a_file_cut_after_any_line_gives_the_same_traces_shorter(
    path: Path, tmp_path: Path
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    copy = copied(path, tmp_path)
    copy.write_bytes(b"".join(lines))
    whole = traces(copy)
    for size in range(1, len(lines), max(1, len(lines) // MOST_CUTS)):
        copy.write_bytes(b"".join(lines[:size]))
        found = list(collect_paths([copy]))
        if {item.collector for item in found} == {None}:
            continue
        for trace in (item.trace for item in found):
            assert trace is not None
            assert trace.id in whole
            assert len(trace.turns) <= len(whole[trace.id].turns)
            if path == TELEMETRY:
                continue
            assert [t.role for t in trace.turns] == [
                t.role for t in whole[trace.id].turns[: len(trace.turns)]
            ]
