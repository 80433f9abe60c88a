"""A span as it leaves the process: large values as stubs, content only when wanted."""

from __future__ import annotations

import hashlib
from typing import Final

from tracedance_sdk.journal import Attributes, SpanRecord
from tracedance_sdk.otel import JSON_ATTRIBUTES
from tracedance_sdk.otel.names import ERROR_MESSAGE, ERROR_TYPE, RAW_ARGUMENTS
from tracedance_sdk.recording.evidence import BLOB_BYTES, stub_text

_CONTENT: Final = JSON_ATTRIBUTES | {ERROR_MESSAGE, RAW_ARGUMENTS}


def leaving(record: SpanRecord, *, with_content: bool) -> SpanRecord:
    """Return a span fit to leave the process.

    Args:
        record: As it is kept, secrets masked.
        with_content: Leave arguments, results, messages and states in, the large ones as stubs
            with size and hash. Without it an error is its type alone.
    """
    attributes: Attributes = {}
    changed = False
    for key, value in record.attributes.items():
        if not with_content and key in _CONTENT:
            changed = True
        elif isinstance(value, str) and len(value) > BLOB_BYTES:
            attributes[key] = _stub(value)
            changed = True
        else:
            attributes[key] = value
    if changed:
        record = record._replace(attributes=attributes)
    if with_content or record.error is None:
        return record
    return record._replace(error=str(attributes.get(ERROR_TYPE, "")))


def text_size(record: SpanRecord) -> int:
    """Return roughly how much memory a span's texts take, in bytes."""
    return sum(len(value) for value in record.attributes.values() if isinstance(value, str))


def _stub(text: str) -> str:
    data = text.encode("utf-8", "backslashreplace")
    return stub_text(hashlib.sha256(data).hexdigest(), len(data))
