"""Requests to a model provider and its responses, as proxies and batches record them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.places import Misfit
from tracedance_sdk.formats.transcript import read_arguments
from tracedance_sdk.trace import UNKNOWN, Json

_BODIES: Final = ("body", "params", "json", "content", "message")
_PAIRS: Final = (
    ("request", "response"), ("request_body", "response_body"), ("params", "result"),
    ("body", "response"),
)  # fmt: skip
_TIMES: Final = ("started_at", "timestamp", "created_at", "time", "start_time")
_ENDS: Final = ("ended_at", "completed_at", "end_time")


class Exchange(NamedTuple):
    """One request and what came back.

    Attributes:
        request: Its body, or None.
        response: Its body, or None.
        beside: What the record says beyond the two.
    """

    request: dict[str, Any] | None
    response: dict[str, Any] | None
    beside: dict[str, Any]

    @property
    def started_at(self) -> str | None:
        """When the request was sent, as ISO-8601 text, where the record says."""
        return next((t for key in _TIMES if (t := time_text(self.beside.get(key)))), None)

    @property
    def ended_at(self) -> str | None:
        """When the response had come, as ISO-8601 text, where the record says."""
        return next((t for key in _ENDS if (t := time_text(self.beside.get(key)))), None)


def exchange_of(record: dict[str, Any]) -> Exchange | None:
    """Return the pair that a record holds; None when it is a lone body.

    Bodies may be wrapped (``{"status": 200, "body": {...}}``) or be text with JSON.

    Raises:
        Misfit: A body is text that is not JSON.
    """
    for asked, came in _PAIRS:
        if asked in record or came in record:
            request, sent_beside = _body(record.get(asked), asked)
            response, came_beside = _body(record.get(came), came)
            rest = {k: v for k, v in record.items() if k not in (asked, came)}
            if request is not None or response is not None:
                return Exchange(request, response, {**sent_beside, **came_beside, **rest})
    return None


def _body(value: Json, key: str) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return a body out of its wrappings, and what these say, without headers: they hold keys."""
    beside: dict[str, Any] = {}
    for _ in range(4):
        if isinstance(value, str):
            value, _ = read_arguments(value)
            if value is UNKNOWN:
                raise Misfit("text that is not JSON", key)
        if not isinstance(value, dict):
            return None, beside
        inner = next((name for name in _BODIES if _is_wrapped(value, name)), None)
        if inner is None:
            return value, beside
        beside.update({k: v for k, v in value.items() if k not in (inner, "headers")})
        value = value[inner]
    return None, beside


def _is_wrapped(value: dict[str, Any], name: str) -> bool:
    if "model" in value or "messages" in value or "output" in value:
        return False
    return isinstance(value.get(name), dict) or (
        name == "body" and isinstance(value.get(name), str)
    )


def time_text(value: Json) -> str | None:
    """Return a time as ISO-8601 text: ISO text itself, or seconds since 1970; else None."""
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            return None
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 2**33:
        return datetime.fromtimestamp(value, UTC).isoformat()
    return None
