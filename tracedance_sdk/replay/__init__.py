"""The same past, a new agent: a model takes the next turn of a recorded run.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.replay.next_turn import (
        Sampling,
        TakenTurn,
        run_next_turns,
        sendable,
        take_next_turns,
    )
    from tracedance_sdk.replay.next_turn_contexts import (
        Cut,
        DecisionPoint,
        Exclusion,
        ToolLimit,
        decision_points,
        recorded_settings,
    )
    from tracedance_sdk.replay.next_turn_rows import GRADER, rows_of_turn, turn_alone, unknown_tools

__all__ = [
    "GRADER",
    "Cut",
    "DecisionPoint",
    "Exclusion",
    "Sampling",
    "TakenTurn",
    "ToolLimit",
    "decision_points",
    "recorded_settings",
    "rows_of_turn",
    "run_next_turns",
    "sendable",
    "take_next_turns",
    "turn_alone",
    "unknown_tools",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "next_turn": ("Sampling", "TakenTurn", "run_next_turns", "sendable", "take_next_turns"),
        "next_turn_contexts": (
            "Cut",
            "DecisionPoint",
            "Exclusion",
            "ToolLimit",
            "decision_points",
            "recorded_settings",
        ),
        "next_turn_rows": ("GRADER", "rows_of_turn", "turn_alone", "unknown_tools"),
    },
)
