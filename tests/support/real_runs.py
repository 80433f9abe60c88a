"""A pytest plugin: one store of all real traces beside the project, for behaviours and benchmarks.

It is made once for a whole run of the tests, also where several processes share it: half a minute.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.shared_data import SHARED_DATA

if TYPE_CHECKING:
    from tracedance_sdk.store import TraceStore

CODING = (
    "adp",
    "antigravity",
    "atif",
    "claude_code",
    "codex",
    "codex_exec",
    "cursor",
    "droid",
    "gemini_cli",
    "grok",
    "hermes",
    "mini_swe_agent",
    "openclaw_telemetry",
    "opencode",
    "openhands",
    "pi",
    "swe_agent",
)
"""Collectors of sessions of coding agents."""


@pytest.fixture(scope="session")
def real_runs(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    """The store, indexed; it is shared, so nobody may change it. Absent data skips the test."""
    from tracedance_sdk.cli import run
    from tracedance_sdk.store import TraceStore

    if not SHARED_DATA.is_dir():
        pytest.skip("data: absent")
    base = tmp_path_factory.getbasetemp()
    # Each process of pytest-xdist has a folder of its own in the one of the run.
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path, done = folder / "real-runs", folder / "real-runs.done"
    with Path(folder, "real-runs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            # As anybody would, with secrets masked, which matters to what is found; how they are
            # masked depends on the key.
            TraceStore.create(path)
            (path / "redaction.key").write_bytes(bytes(32))
            (path / "redaction.key").chmod(0o600)
            assert run(["import", str(SHARED_DATA), "--store", str(path), "--quiet"]) == 0
            TraceStore.open(path).index()
            done.touch()
    return TraceStore.open(path)
