"""Count what Inspect's logs hold, from the bytes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of every sample of a log, in the order of the file."""
    return [_counted(sample) for sample in _samples(path)]


def _samples(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".json":
        yield from json.loads(path.read_bytes()).get("samples") or ()
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("samples/"):
                yield json.loads(archive.read(name))


def _counted(sample: dict[str, Any]) -> Counts:
    messages = sample["messages"]
    roles = [message["role"] for message in messages]
    return Counts(
        session=f"{sample['id']}/{sample['epoch']}",
        user_turns=roles.count("user"),
        assistant_turns=roles.count("assistant"),
        calls=sum(len(message.get("tool_calls") or ()) for message in messages),
        results=roles.count("tool"),
        errors=sum(
            message["role"] == "tool" and bool(message.get("error")) for message in messages
        ),
    )
