"""The state that a framework keeps for the agent that runs here, for whoever gathers its spans."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final
from weakref import WeakSet

FRAMEWORK_STATE: Final[ContextVar[Callable[[], object] | None]] = ContextVar(
    "tracedance_framework_state", default=None
)
"""Returns the state as it is when called; set by an integration while a framework's code runs.

A `SpanCollector` without a source of its own reads it where the first span starts that finds one,
and again when the last root of that OpenTelemetry trace has ended.
"""

watchers: Final[WeakSet[object]] = WeakSet()
"""Who would take such a state: the collectors that have no source of their own."""
