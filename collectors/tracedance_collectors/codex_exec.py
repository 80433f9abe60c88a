"""What ``codex exec --json`` prints, kept in a file: a run's items as they start and end."""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_codex_exec

_ITEMS = ["item.started", "item.completed"]

collector = SessionCollector(
    "codex_exec",
    [
        Signature.of("type", "thread_id", values={"type": "thread.started"}),
        Signature.of("type", "item.id", "item.type", values={"type": _ITEMS}),
        Signature.of("events[].type", "events[].item.type", values={"events[].type": _ITEMS}),
    ],
    read_codex_exec,
)
