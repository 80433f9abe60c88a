"""Counts Grok's sessions: ``chat_history.jsonl`` with ``summary.json`` beside it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of a session.

    Reasoning and what the provider's own tools do belong to the answer that follows; at the end,
    and before a message of the user's, they are an answer of their own.
    """
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    kinds = [record["type"] for record in records]
    own = {"reasoning", "backend_tool_call"}
    alone = sum(
        kind in own and following not in {"assistant", *own}
        for kind, following in zip(kinds, [*kinds[1:], None], strict=True)
    )
    return [
        Counts(
            json.loads((path.parent / "summary.json").read_text("utf-8"))["info"]["id"],
            kinds.count("user"),
            kinds.count("assistant") + alone,
            sum(len(record.get("tool_calls", [])) for record in records)
            + kinds.count("backend_tool_call"),
            kinds.count("tool_result"),
            0,
        )
    ]
