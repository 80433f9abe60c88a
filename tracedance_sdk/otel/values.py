"""Read attribute values: JSON as text or structure, with large values fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.trace import UNKNOWN, Json, blob_digest, parse_json


class Values:
    """Reads JSON attributes and resolves blob stubs that are whole values.

    Args:
        blobs: Returns a blob's bytes by its digest, or None when it is not at hand.

    Attributes:
        fetched: How many values were fetched from elsewhere so far.
    """

    def __init__(self, blobs: Callable[[str], bytes | None] | None) -> None:
        self._blobs = blobs
        self.fetched = 0

    def read(self, value: object) -> Json:
        """Return the value of a JSON attribute; `UNKNOWN` when it is absent or cut JSON."""
        if not isinstance(value, str):
            return UNKNOWN if value is None else self.resolved(_listed(value))
        try:
            return self.resolved(parse_json(value, where="attribute"))
        except InvalidJSON:
            return UNKNOWN

    def read_or_text(self, value: object) -> Json:
        """Return the value of an attribute that may be JSON; other text stands for itself."""
        found = self.read(value)
        return value if found is UNKNOWN and isinstance(value, str) else found

    def resolved(self, value: Json) -> Json:
        """Return what a blob stub stands for, if it is at hand; any other value as it is."""
        digest = blob_digest(value)
        data = None if digest is None or self._blobs is None else self._blobs(digest)
        if data is None:
            return value
        try:
            found = parse_json(data, where="blob")
        except InvalidJSON:
            return value
        self.fetched += 1
        return found

    def resolved_part(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a part of a turn's content with its text or data fetched."""
        if part.get("type") != "media" or blob_digest(part.get("data")) is None:
            return part
        data = self.resolved(part["data"])
        if isinstance(data, str) and part.get("modality") in ("text", "reasoning"):
            return {"type": part["modality"], "text": data}
        return {**part, "data": data}


def text_of(value: object) -> str | None:
    """Return an attribute that should be text; None where there is none or something else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def _listed(value: object) -> Json:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
