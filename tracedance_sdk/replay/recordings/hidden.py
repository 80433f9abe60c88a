"""Answers of which parts are not known: masked, moved away, or cut by whoever recorded them.

Such an answer can be given again. But nothing is to be learned from it: what a tool says is not
what stands there.
"""

from __future__ import annotations

import re
from typing import Final

from tracedance_sdk.trace import Json, Result, is_unobserved

_HIDDEN: Final = re.compile(
    r"\[(?:REDACTED|FILTERED|TRUNCATED|HIDDEN)\b[^\]\n]{0,80}\]"
    r"|<(?:redacted|filtered|truncated|hidden)\b[^>\n]{0,80}>"
    r"|(?:\.\.\.|\u2026|\() ?\[?(?:output |response |content )?(?:truncated|clipped)\b",
    re.IGNORECASE,
)
"""What others write where they have taken something out, beside our own masks."""


def is_hidden(value: Json) -> bool:
    """Whether a JSON value holds a part that is masked, was moved away, or was cut.

    Example:
        >>> is_hidden({"token": "[MASKED:token:4be1a0c2]"}), is_hidden(["done", 3])
        (True, False)
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if is_unobserved(item) or _may_hide(item):
                return True
        elif isinstance(item, dict):
            if is_unobserved(item):
                return True
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    return False


def is_partly_hidden(result: Result) -> bool:
    """Whether parts of what came back are not known."""
    error = result.error
    told = [] if error is None else [error.type, error.message]
    return is_hidden([*told, result.content])


def _may_hide(text: str) -> bool:
    return ("[" in text or "<" in text or "runcated" in text or "lipped" in text) and (
        _HIDDEN.search(text) is not None
    )
