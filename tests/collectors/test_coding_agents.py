"""The smaller clients' sessions: what an independent count finds in the files is in the traces.

Most of these files are made by hand after the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.counters import antigravity, cursor, droid, gemini_cli, grok, hermes, opencode
from tests.counters.counts import Counts
from tests.support.coding_agents import counted
from tests.support.shared_data import shared_data

FIXTURES = shared_data("agent-sessions-fixtures")
COUNTERS: dict[str, Callable[[Path], list[Counts]]] = {
    "antigravity": antigravity.count,
    "cursor": cursor.count,
    "droid": droid.count,
    "gemini_cli": gemini_cli.count,
    "grok": grok.count,
    "hermes": hermes.count,
    "opencode": opencode.count,
}
FILES = [
    *(("antigravity", path) for path in sorted((FIXTURES / "antigravity").iterdir())),
    *(("cursor", path) for path in sorted((FIXTURES / "cursor").rglob("*.jsonl"))),
    *(("droid", path) for path in sorted((FIXTURES / "droid").iterdir())),
    *(("gemini_cli", path) for path in sorted((FIXTURES / "gemini").iterdir())),
    *(("grok", path) for path in sorted((FIXTURES / "grok").rglob("*.jsonl"))),
    *(("hermes", path) for path in sorted((FIXTURES / "hermes").iterdir())),
    *(("opencode", path) for path in sorted((FIXTURES / "opencode").iterdir())),
]


@pytest.mark.parametrize(
    ("client", "path"), FILES, ids=[f"{client} {path.stem}" for client, path in FILES]
)
def test_every_file_agrees_with_the_counter(client: str, path: Path) -> None:
    assert counted(path, client) == COUNTERS[client](path)
