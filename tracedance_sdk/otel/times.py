"""Nanoseconds since the epoch, as spans have them, and our times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LATEST: Final = 2**63


def to_ns(moment: datetime) -> int | None:
    """Return nanoseconds since the epoch, or None for a time that a span cannot hold."""
    found = (moment - _EPOCH) // _MICROSECOND * 1000
    return found if 0 <= found < _LATEST else None


def iso_time(nanoseconds: int) -> str:
    """Return a span's time as documents have it, to the microsecond."""
    moment = _EPOCH + nanoseconds // 1000 * _MICROSECOND
    return moment.isoformat().replace("+00:00", "Z")
