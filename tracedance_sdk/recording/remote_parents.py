"""The call in another process that a run works for: how it is told over the wire, and believed.

Told is W3C's ``traceparent``, and beside it the ids of our trace and call. What comes from outside
is data of strangers: only what has exactly the expected form is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tracedance_sdk.recording.calls import OpenCall

TRACEPARENT: Final = "traceparent"
"""W3C Trace Context's name of trace and span."""

_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}")
_CALL_ID: Final = re.compile(r"[\x21-\x7e]{1,256}")


class RemoteParent(NamedTuple):
    """What a run in another process is part of.

    Attributes:
        otel_trace_id: Of the OpenTelemetry trace, 32 hex characters.
        span_id: Of the span that is the parent, 16 hex characters.
        trace_id: Our trace; None where only ``traceparent`` was told.
        call_id: The call in it.
    """

    otel_trace_id: str
    span_id: str
    trace_id: str | None = None
    call_id: str | None = None


def told_parent(call: OpenCall) -> dict[str, str]:
    """Return what to tell another process that works for a call.

    The call's id is left out where it is longer than 256 characters or not plain ASCII.

    Returns:
        ``traceparent``, ``trace_id`` and ``call_id``.
    """
    run = call.run
    told = {
        TRACEPARENT: f"00-{run.otel_trace_id}-{call.span_id}-01",
        "trace_id": run.identity.trace_id,
    }
    if call.call_id is not None and _CALL_ID.fullmatch(call.call_id):
        told["call_id"] = call.call_id
    return told


def believed_parent(told: object) -> RemoteParent:
    """Return what another process told with `told_parent`.

    Raises:
        ValueError: It is not of that form.

    Example:
        >>> span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        >>> believed_parent({"traceparent": span, "trace_id": "ab" * 16, "call_id": "c1"}).call_id
        'c1'
    """
    if not isinstance(told, Mapping):
        told = {}
    around = believed_traceparent(told.get(TRACEPARENT))
    trace_id, call_id = told.get("trace_id"), told.get("call_id")
    if not _is(trace_id, _TRACE_ID) or not (call_id is None or _is(call_id, _CALL_ID)):
        raise ValueError("the parent's ids are not of the form that they have")
    return around._replace(trace_id=trace_id, call_id=call_id)


def believed_traceparent(told: object) -> RemoteParent:
    """Return the trace and span that a ``traceparent`` names.

    Raises:
        ValueError: It is malformed, or all its digits are zero.
    """
    found = _TRACEPARENT.fullmatch(told) if isinstance(told, str) else None
    if found is None or not int(found[1], 16) or not int(found[2], 16):
        raise ValueError("the traceparent is malformed")
    return RemoteParent(found[1], found[2])


def _is(value: Any, form: re.Pattern[str]) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None
