"""Four scripted agents for one task: one does it well, three go wrong in different ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.demo.environment import RevenueEmail
from tracedance_sdk.recording import TraceRecorder
from tracedance_sdk.trace import Trace

TASK_ID: Final = "revenue-email"
REQUEST: Final = "Find the total Q3 revenue in the spreadsheet and email it to Sam."

_Step = tuple[str, dict[str, str]]
_OPEN: Final[_Step] = ("open_spreadsheet", {"name": "Q3 Revenue"})
_REVENUE: Final[_Step] = ("select_range", {"range": "B4:B11"})
_SUM: Final[_Step] = ("calculate_sum", {})
_SAM: Final[_Step] = ("select_contact", {"name": "Sam"})
_JOHN: Final[_Step] = ("select_contact", {"name": "John"})
_WRITE: Final[_Step] = ("compose_email", {"body": "Total revenue: $482500"})
_SEND: Final[_Step] = ("send_email", {})

SCRIPTS: Final[Mapping[str, tuple[_Step, ...]]] = {
    "critical-error": (_OPEN, _REVENUE, _SUM, _JOHN, _SAM, _WRITE, _SEND),
    "efficient": (_OPEN, _REVENUE, _SUM, _SAM, _WRITE, _SEND),
    "failed": (
        _OPEN,
        ("select_range", {"range": "A1:A5"}),
        _SUM,
        _JOHN,
        ("compose_email", {"body": "Total revenue: $100"}),
        _SEND,
    ),
    "inefficient": (
        _OPEN,
        ("select_range", {"range": "A1:Z100"}),
        _REVENUE,
        _SUM,
        _SAM,
        _WRITE,
        _SEND,
    ),
}
"""Agent's name → its actions in order, as ``(type, input)``."""


def script_actions(name: str) -> list[dict[str, Any]]:
    """Return one agent's actions, with the ids "1", "2", ... in order."""
    return [
        {"id": str(number), "type": kind, "input": dict(given)}
        for number, (kind, given) in enumerate(SCRIPTS[name], start=1)
    ]


def record_run(name: str) -> Trace:
    """Let one scripted agent work in a fresh environment and return the trace of it.

    Args:
        name: One of `SCRIPTS`.

    Example:
        >>> trace = record_run("efficient")
        >>> [call.name for call in trace.actions][:2]
        ['open_spreadsheet', 'select_range']
    """
    office = RevenueEmail()
    with TraceRecorder(task_id=TASK_ID, agent=name, environment=office, journal=False) as recorder:
        recorder.record_turn("user", REQUEST)
        for action in script_actions(name):
            recorder.execute(action)
    return recorder.trace
