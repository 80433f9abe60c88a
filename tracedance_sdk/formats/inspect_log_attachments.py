"""Put the long texts of an Inspect sample back where references to them stand."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.trace import Json

PREFIX: Final = "attachment://"

_MOST_CHARACTERS: Final = 512 * 1024**2
"""How much a sample may grow: many references to one long text would be a bomb."""


class Attachments:
    """The texts of one sample by reference.

    Args:
        texts: The sample's ``attachments``.
    """

    def __init__(self, texts: Json) -> None:
        self._texts: dict[str, Json] = texts if isinstance(texts, dict) else {}
        self._left = _MOST_CHARACTERS
        self.missing = 0
        """References whose text the sample does not hold, or that would let it grow too large."""

    def add(self, texts: Json) -> None:
        """Add texts from another place of the sample."""
        if isinstance(texts, dict):
            self._texts = {**texts, **self._texts}

    def resolve(self, value: Json) -> Json:
        """Return a value with every reference replaced by its text; the value is unchanged."""
        root: list[Json] = [value]
        pending: list[tuple[Any, Any]] = [(root, 0)]
        while pending:
            holder, key = pending.pop()
            item = holder[key]
            if isinstance(item, str):
                if item.startswith(PREFIX):
                    holder[key] = self._text(item)
            elif isinstance(item, dict):
                copied: dict[str, Json] = dict(item)
                holder[key] = copied
                pending += [(copied, name) for name in copied]
            elif isinstance(item, list):
                entries = list(item)
                holder[key] = entries
                pending += [(entries, place) for place in range(len(entries))]
        return root[0]

    def _text(self, reference: str) -> str:
        text = self._texts.get(reference.removeprefix(PREFIX))
        if not isinstance(text, str) or len(text) > self._left:
            self.missing += 1
            return reference
        self._left -= len(text)
        return text
