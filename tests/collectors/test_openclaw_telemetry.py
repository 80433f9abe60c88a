"""OpenClaw's telemetry: histories and events put together, each fact once."""

from __future__ import annotations

from tests.counters import openclaw_telemetry as counter
from tests.support.coding_agents import counted
from tests.support.shared_data import shared_data

FILE = shared_data("openclaw-telemetry") / "sample-telemetry.jsonl"


def test_the_file_agrees_with_the_counter() -> None:
    assert counted(FILE, "openclaw_telemetry") == counter.count(FILE)
