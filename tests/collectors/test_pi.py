"""Sessions of pi and OpenClaw: what an independent count finds in the files is in the traces."""

from __future__ import annotations

import pytest

from tests.counters import pi as counter
from tests.support.coding_agents import counted
from tests.support.shared_data import shared_data

FOLDERS = (
    "openclaw-sessions",
    "pi-mono-sessions",
    "agent-sessions-fixtures/openclaw",
    "agent-sessions-fixtures/pi",
)
FILES = [
    (folder, str(path.relative_to(shared_data(folder))))
    for folder in FOLDERS
    for path in sorted(shared_data(folder).rglob("*.jsonl"))
]


@pytest.mark.parametrize(("folder", "name"), FILES, ids=[name for _, name in FILES])
def test_every_file_agrees_with_the_counter(folder: str, name: str) -> None:
    path = shared_data(folder) / name
    assert counted(path, "pi") == counter.count(path)
