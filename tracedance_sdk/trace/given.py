"""What a caller gave where a trace is wanted."""

from __future__ import annotations

import os

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.trace.model import Trace


def require_trace(value: object) -> Trace:
    """Return a value that is a trace.

    Raises:
        InvalidOption: It is something else; the message says how to get at the trace.
    """
    if isinstance(value, Trace):
        return value
    kind = type(value).__name__
    if isinstance(getattr(type(value), "trace", None), property):
        hint = "pass recorder.trace" if kind.endswith("Recorder") else "pass its .trace"
    elif isinstance(value, (str, os.PathLike)):
        hint = f"read the file first: td.load_trace({os.fspath(value)!r:.80})"
    elif isinstance(value, (bytes, dict)):
        hint = "td.load_trace reads the bytes or the file of one"
    elif isinstance(value, (list, tuple)):
        hint = "pass one trace at a time"
    else:
        hint = "give a Trace, such as recorder.trace or what td.load_trace returns"
    raise InvalidOption(f"{shown(value)} is a {kind}, not a trace; {hint}")
