"""Mask what a recorder is told of its run before it becomes the name of anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import orjson

from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.plans import Description
from tracedance_sdk.recording.runs import UNCHECKED
from tracedance_sdk.recording.values import freeze

_TEXTS: Final = ("agent", "version", "task_id", "group", "session_id")


def masked_description(
    description: Description, redact: Callable[[bytes], bytes] | None, *, faults: Counter[str]
) -> Description:
    """Return the description with secrets masked in its names and ids.

    Args:
        description: What the run is. Prompt, tools and metadata are masked where they are written.
        redact: Masks JSON; None when redaction is off.
        faults: Where to count a redactor that failed; then no text is left readable.
    """
    texts = [text for text in (getattr(description, name) for name in _TEXTS) if text is not None]
    if redact is None:
        return description
    masked = orjson.loads(
        GUARD.attempt("redaction", faults, redact, freeze([[text] for text in texts])) or UNCHECKED
    )
    if not isinstance(masked, list) or len(masked) != len(texts):
        masked = [[str(masked)]] * len(texts)
    readable: dict[str | None, str] = dict(
        zip(texts, (str(text) for (text,) in masked), strict=True)
    )
    return description._replace(
        agent=readable[description.agent],
        version=readable.get(description.version),
        task_id=readable.get(description.task_id),
        group=readable.get(description.group),
        session_id=readable.get(description.session_id),
    )
