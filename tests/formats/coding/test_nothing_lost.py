"""Whatever a session's records say is somewhere in its traces, strings, numbers and times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared_data import SHARED_DATA, shared_data
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import encode

FIXTURES = shared_data("agent-sessions-fixtures")
CLIENTS = ("antigravity", "codex", "cursor", "droid", "gemini", "hermes", "openclaw", "pi")
FILES = [
    *(path for client in CLIENTS for path in sorted((FIXTURES / client).rglob("*.json*"))),
    *sorted(FIXTURES.glob("*.jsonl")),
    *sorted((FIXTURES / "grok").rglob("*.jsonl")),
    *sorted((FIXTURES / "opencode").iterdir()),
    *sorted((shared_data("openclaw-sessions") / "lru_demo").glob("*.jsonl")),
    shared_data("pi-mono-sessions") / "large-session.jsonl",
    shared_data("openclaw-telemetry") / "sample-telemetry.jsonl",
    *sorted((shared_data("otel-spans") / "strands-evals").glob("codex_*.json")),
]
STRUCTURE = {"type", "role"}
"""Fields that say what a record is: the traces say so by their form."""

WITHHELD = {"encrypted_content", "thinkingSignature"}
IN_PARTS = {"url": "data:", "nanos": "", "arguments": "{"}
"""Fields whose values are taken apart, and how those begin."""


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    pending = [(value, name)]
    while pending:
        item, key = pending.pop()
        if isinstance(item, dict):
            pending.extend((inner, name) for name, inner in item.items())
        elif isinstance(item, list):
            pending.extend((inner, key) for inner in item)
        elif item is not None and item != "" and not isinstance(item, bool):
            yield key, item


def seconds(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return value / 1000 if value > 1e11 else value if value > 1e9 else None


def records(path: Path) -> list[Any]:
    if path.is_dir():
        return [json.loads(file.read_text("utf-8")) for file in path.rglob("*.json")]
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        return [json.loads(text)]
    return [json.loads(line) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SHARED_DATA)) for p in FILES])
def test_nothing_of_a_file_is_lost(path: Path) -> None:
    documents = [encode(item.trace) for item in collect_paths([path]) if item.trace]
    kept = [value for document in documents for _, value in leaves(document)]
    texts = "\0".join(value for value in kept if isinstance(value, str))
    numbers = {value for value in kept if not isinstance(value, str)}
    times = {time for value in kept if (time := seconds(value)) is not None}
    lost = [
        (name, value)
        for name, value in leaves(records(path))
        if name not in STRUCTURE | WITHHELD
        and not (name in IN_PARTS and str(value).startswith(IN_PARTS[name]))
        and not (value in texts if isinstance(value, str) else value in numbers)
        and seconds(value) not in times
        and not all(line in texts for line in str(value).splitlines())
        and not (str(value).startswith('"') and json.loads(value) in texts)
    ]
    assert lost == []
