"""Traces without secrets, before tests are made of them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import orjson

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.recording import Redactor
from tracedance_sdk.trace import Trace, decode, encode_json

_KIND: Final = re.compile(rb"\[MASKED:([A-Za-z0-9_.-]{1,40}):[0-9a-f]{0,16}\]")


class TraceMasker:
    """Takes secrets out of whole traces, and counts them.

    Args:
        redactor: Finds them; None takes nothing out.

    Attributes:
        counts: What was masked so far, by kind.
    """

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self.counts: Counter[str] = Counter()

    def masked(self, trace: Trace) -> Trace | None:
        """Return a trace without its secrets; None where it could not be looked through."""
        if self._redactor is None:
            return trace
        data = encode_json(trace)
        clean = self._redactor.redact(data)
        if clean == data:
            return trace
        try:
            found = decode(orjson.loads(clean))
        except (TraceDanceError, orjson.JSONDecodeError):
            return None
        self.counts += _kinds(clean) - _kinds(data)
        return found


def _kinds(data: bytes) -> Counter[str]:
    return Counter(kind.decode() for kind in _KIND.findall(data))
