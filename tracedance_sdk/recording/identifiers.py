"""Random ids from a source of our own: whoever seeds `random` seeds nothing here."""

from __future__ import annotations

import random
from typing import Final

_SOURCE: Final = random.Random()  # noqa: S311  # ids need to be unique, not secret


def new_span_id() -> str:
    """Return 16 hex characters, never all zero."""
    return f"{_SOURCE.getrandbits(64) or 1:016x}"


def new_trace_id() -> str:
    """Return 32 hex characters, never all zero."""
    return f"{_SOURCE.getrandbits(128) or 1:032x}"


def new_call_id() -> str:
    """Return ``call_`` and 12 hex characters."""
    return f"call_{_SOURCE.getrandbits(48):012x}"


def reseed() -> None:
    """Part from the ids of the process this one was forked from."""
    _SOURCE.seed()
