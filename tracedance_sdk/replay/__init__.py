"""The same past, a new agent: a model takes the next turn of a recorded run.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.replay.argument_checks import bad_arguments
    from tracedance_sdk.replay.instances import (
        Instance,
        is_instance_file,
        read_instances,
        write_instances,
    )
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
        instance_point,
        offered_tools,
        recorded_settings,
    )
    from tracedance_sdk.replay.next_turn_rows import GRADER, rows_of_turn, turn_alone, unknown_tools

__all__ = [
    "GRADER",
    "Cut",
    "DecisionPoint",
    "Exclusion",
    "Instance",
    "Sampling",
    "TakenTurn",
    "ToolLimit",
    "bad_arguments",
    "decision_points",
    "instance_point",
    "is_instance_file",
    "offered_tools",
    "read_instances",
    "recorded_settings",
    "rows_of_turn",
    "run_next_turns",
    "sendable",
    "take_next_turns",
    "turn_alone",
    "unknown_tools",
    "write_instances",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "argument_checks": ("bad_arguments",),
        "instances": ("Instance", "is_instance_file", "read_instances", "write_instances"),
        "next_turn": ("Sampling", "TakenTurn", "run_next_turns", "sendable", "take_next_turns"),
        "next_turn_contexts": (
            "Cut",
            "DecisionPoint",
            "Exclusion",
            "ToolLimit",
            "decision_points",
            "instance_point",
            "offered_tools",
            "recorded_settings",
        ),
        "next_turn_rows": ("GRADER", "rows_of_turn", "turn_alone", "unknown_tools"),
    },
)
