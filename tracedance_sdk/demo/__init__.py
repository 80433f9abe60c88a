"""The packaged demo: an office to work in, four agents, their task and recorded judgements.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.demo.agents import REQUEST, SCRIPTS, TASK_ID, record_run, script_actions
    from tracedance_sdk.demo.environment import RevenueEmail
    from tracedance_sdk.demo.packaged import demo_judge, demo_task, judgements_text, task_text

__all__ = [
    "REQUEST",
    "SCRIPTS",
    "TASK_ID",
    "RevenueEmail",
    "demo_judge",
    "demo_task",
    "judgements_text",
    "record_run",
    "script_actions",
    "task_text",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "agents": ("REQUEST", "SCRIPTS", "TASK_ID", "record_run", "script_actions"),
        "environment": ("RevenueEmail",),
        "packaged": ("demo_judge", "demo_task", "judgements_text", "task_text"),
    },
)
