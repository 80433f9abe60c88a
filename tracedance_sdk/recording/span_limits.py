"""How long an attribute of an exported span may be."""

from __future__ import annotations

from typing import Any

from tracedance_sdk.settings import read_setting


def attribute_length() -> int | None:
    """Return OpenTelemetry's limit from the environment, in characters; None for no limit."""
    limit = read_setting("span_attribute_length")
    if limit is None:
        limit = read_setting("attribute_length")
    return None if limit is None else int(limit)


def provider_attribute_length(provider: Any) -> int | None:
    """Return the limit of an SDK provider, which its spans would cut longer texts to."""
    limits = getattr(provider, "_span_limits", None)
    for name in ("max_span_attribute_length", "max_attribute_length"):
        limit = getattr(limits, name, None)
        if isinstance(limit, int):
            return limit
    return None
