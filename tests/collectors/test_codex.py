"""Sessions of Codex: what an independent count finds in the files is in the traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.counters import codex as counter
from tests.support.coding_agents import counted
from tests.support.shared_data import shared_data

FIXTURES = shared_data("agent-sessions-fixtures")
STRANDS = shared_data("otel-spans") / "strands-evals"
FILES = [
    *sorted(FIXTURES.glob("codex*.jsonl")),
    *sorted(FIXTURES.glob("session_*.jsonl")),
    *sorted((FIXTURES / "codex").iterdir()),
    STRANDS / "codex_session_rollout.json",
]


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_file_agrees_with_the_counter(path: Path) -> None:
    assert counted(path, "codex") == counter.count(path)


def test_what_exec_prints_agrees_with_the_counter() -> None:
    path = STRANDS / "codex_exec_json.json"
    assert counted(path, "codex_exec") == counter.count(path)
