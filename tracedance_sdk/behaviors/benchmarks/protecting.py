"""Secrets and people are taken out of what goes into a benchmark, as an import takes them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracedance_sdk.recording import Pseudonymiser, SecretRedactor, redaction_key
from tracedance_sdk.trace import (
    MAX_TRACE_DEPTH,
    Json,
    Trace,
    assess,
    decode,
    encode_json,
    parse_json,
    spelled_out,
)

if TYPE_CHECKING:
    from tracedance_sdk.store import JSONRedactor

_WHERE: Final = "protected"


class Protection:
    """Masks secrets and replaces people; equal ones stay equal.

    Args:
        folder: Where the key of the pseudonyms lies, or is made: that of the store, so that a
            benchmark and its store agree.
        people: For each person all spellings of the name.
    """

    def __init__(self, folder: Path, *, people: Iterable[Iterable[str]] = ()) -> None:
        key = redaction_key(folder)
        self._redactors: Sequence[JSONRedactor] = (
            SecretRedactor(key=key),
            Pseudonymiser(key=key, people=people),
        )

    def trace(self, trace: Trace) -> Trace:
        """Return a trace without secrets and people.

        Raises:
            InvalidTrace: It holds a value that is not JSON.
        """
        data = encode_json(trace)
        clean = self._bytes(data)
        if clean == data:
            return trace
        document = parse_json(clean, where=_WHERE, max_depth=MAX_TRACE_DEPTH)
        return assess(decode(document, where=_WHERE))

    def value(self, value: Json) -> Json:
        """Return any JSON value without secrets and people."""
        import orjson

        data = orjson.dumps(spelled_out(value))
        return parse_json(self._bytes(data), where=_WHERE, max_depth=MAX_TRACE_DEPTH)

    def _bytes(self, data: bytes) -> bytes:
        for redactor in self._redactors:
            data = redactor.redact(data)
        return data
