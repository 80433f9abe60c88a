"""Values that stand for something we do not have: unknown, masked, moved away, unserialisable.

``null`` is a value. What was never seen is `UNKNOWN`; in files the field is absent. Three
further markers are ordinary JSON, so that a document holding them stays valid:

* masked text, ``[MASKED:<kind>:<pseudonym>]``, where a secret stood (equal secrets under one
  key have equal pseudonyms);
* a blob stub, ``{"$blob": "sha256:<64 hex>", "$size": <bytes>}``, where a large value stood;
* a type stub, ``{"$type": "<qualified name>", "$repr": "<text>"}``, where a value stood that
  JSON cannot express (NaN, integers beyond 64 bits, arbitrary objects).
"""

from __future__ import annotations

import enum
import re
from typing import Any, Final

Json = Any
"""A JSON value: null, boolean, number, string, list, or dict with string keys."""


class Unknown(enum.Enum):
    """The type of `UNKNOWN`, the marker for a value that was never observed."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN: Final = Unknown.UNKNOWN
"""Never observed; compare with ``is``."""

MASK: Final = re.compile(r"\[MASKED:[A-Za-z0-9_.-]{1,40}:[0-9a-f]{0,16}\]")
"""Matches one masked secret inside a text."""


_TELLING: Final = re.compile(r"""\bsha256[ =][0-9a-f]{64}\)?\Z|\Ab(['"]).*\1\Z""", re.DOTALL)


def mask_text(kind: str, pseudonym: str) -> str:
    """Return the text that replaces a secret, such as ``[MASKED:aws_key:4be1a0c2]``."""
    return f"[MASKED:{kind}:{pseudonym}]"


def is_masked(value: Json) -> bool:
    """Whether a string holds at least one masked secret (false for every other type)."""
    return isinstance(value, str) and "[MASKED:" in value and MASK.search(value) is not None


def blob_stub(digest: str, size: int) -> dict[str, Json]:
    """Return the stub for a value kept elsewhere.

    Args:
        digest: SHA-256 of the value's JSON bytes, 64 hex characters.
        size: Length of those bytes.
    """
    return {"$blob": f"sha256:{digest}", "$size": size}


def blob_digest(value: Json) -> str | None:
    """Return the 64 hex characters of a blob stub, or None when the value is no stub."""
    if not isinstance(value, dict) or "$blob" not in value or "$size" not in value:
        return None
    reference = value["$blob"]
    if not isinstance(reference, str) or not re.fullmatch(r"sha256:[0-9a-f]{64}", reference):
        return None
    return reference.removeprefix("sha256:")


def type_stub(type_name: str, text: str) -> dict[str, Json]:
    """Return the stub for a value that JSON cannot express."""
    return {"$type": type_name, "$repr": text}


def is_type_stub(value: Json) -> bool:
    """Whether the value stands for something JSON cannot express."""
    return isinstance(value, dict) and value.keys() == {"$type", "$repr"}


def is_opaque(value: Json) -> bool:
    """Whether a type stub does not tell its value: two objects may have one text, or one two.

    Numbers tell theirs, and so do bytes written out and whatever ends in a SHA-256 hash.
    """
    if not isinstance(value, dict) or "$type" not in value or not is_type_stub(value):
        return False
    if value["$type"] in ("int", "float"):
        return False
    text = value["$repr"]
    return not isinstance(text, str) or _TELLING.search(text) is None


def is_unobserved(value: Json) -> bool:
    """Whether a comparison with this very value can have no answer.

    So it is with what is unknown, masked, moved away, or an object that its stub does not tell.
    """
    if isinstance(value, dict):
        return blob_digest(value) is not None or is_opaque(value)
    return value is UNKNOWN or is_masked(value)
