"""What an editing call puts in the place of what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tracedance_sdk.behaviors.run import SeenCall

OLD_KEYS: Final = ("old_string", "old_str", "oldText", "old_text", "search", "old_source", "old")
NEW_KEYS: Final = (
    "new_string", "new_str", "newText", "new_text", "replace", "new_source", "new", "content",
    "file_text", "contents", "code_edit", "text",
)  # fmt: skip
_PATCH_KEYS: Final = ("patch", "diff", "input")
_MOST: Final = 50


def replaced(call: SeenCall) -> Iterator[tuple[str | None, str]]:
    """Yield pairs of old and new text; the old one is None where the call does not say it."""
    given = call.arguments
    if isinstance(given, str):
        yield from _of_patch(given)
        return
    if not isinstance(given, dict):
        return
    edits = given.get("edits")
    places = (
        [edit for edit in edits[:_MOST] if isinstance(edit, dict)]
        if isinstance(edits, list)
        else []
    )
    for place in places or [given]:
        old, new = _first(place, OLD_KEYS), _first(place, NEW_KEYS)
        if old is not None or new is not None:
            yield old, new or ""
            continue
        patch = _first(place, _PATCH_KEYS)
        if patch is not None:
            yield from _of_patch(patch)


def _first(given: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if isinstance(text := given.get(key), str)), None)


def _of_patch(text: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()[:5_000]
    old = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    new = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    if old or new:
        yield "\n".join(old), "\n".join(new)
