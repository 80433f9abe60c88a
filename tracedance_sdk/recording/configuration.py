"""Defaults of every recorder of the process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from tracedance_sdk.recording.options import Durability, check_options, defaults
from tracedance_sdk.recording.redaction import Redactor


def configure(
    *,
    journal: str | os.PathLike[str] | Literal[False] | None = None,
    exporter: Any = None,
    tracer_provider: Any = None,
    redaction: bool | Redactor | None = None,
    state_changes: Literal["per_call"] | None = None,
    content: Literal["on", "off"] | None = None,
    group: str | None = None,
    session_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    durability: Durability | None = None,
) -> None:
    """Set what recorders do that are not told otherwise; call it once, when the service starts.

    Each call replaces the one before; ``configure()`` returns to the defaults. Recorders already
    open go on as they are. The arguments are those of `TraceRecorder`.

    Raises:
        InvalidOption: An argument that cannot be used; nothing is changed.

    Example:
        >>> configure(journal="traces/", metadata={"service": "shop"})
        >>> configure()  # back to the defaults
    """
    given = {
        "journal": journal,
        "exporter": exporter,
        "tracer_provider": tracer_provider,
        "redaction": redaction,
        "state_changes": state_changes,
        "content": content,
        "group": group,
        "session_id": session_id,
        "metadata": metadata,
        "durability": durability,
    }
    check_options(given)
    defaults.clear()
    defaults.update({key: value for key, value in given.items() if value is not None})
