"""The same past, a new agent: a model takes the next turn of a recorded run.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.replay.answers import (
        MISSES,
        NOT_RECORDED,
        STAMPS,
        Answer,
        AnswerSession,
        Ladder,
        MissedCall,
        NearestSimulator,
        Simulator,
        Stamp,
        TemplateSimulator,
    )
    from tracedance_sdk.replay.argument_checks import bad_arguments
    from tracedance_sdk.replay.derivation import Proof, ProvenRule, Rule, RuleBook
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
    from tracedance_sdk.replay.people import (
        PERSONA_RULES,
        Decision,
        Persona,
        PersonaRule,
        persona_of,
    )
    from tracedance_sdk.replay.rebuilding import EFFECTS, Rebuilt, Suite, rebuild, save_tests
    from tracedance_sdk.replay.rebuilt_test import (
        Fact,
        Person,
        RebuiltTest,
        parse_test,
        read_test,
        written_test,
    )
    from tracedance_sdk.replay.recordings import (
        Conversation,
        RecordingIndex,
        Shelf,
        conversation_of,
    )

__all__ = [
    "EFFECTS",
    "GRADER",
    "MISSES",
    "NOT_RECORDED",
    "PERSONA_RULES",
    "STAMPS",
    "Answer",
    "AnswerSession",
    "Conversation",
    "Cut",
    "Decision",
    "DecisionPoint",
    "Exclusion",
    "Fact",
    "Instance",
    "Ladder",
    "MissedCall",
    "NearestSimulator",
    "Person",
    "Persona",
    "PersonaRule",
    "Proof",
    "ProvenRule",
    "Rebuilt",
    "RebuiltTest",
    "RecordingIndex",
    "Rule",
    "RuleBook",
    "Sampling",
    "Shelf",
    "Simulator",
    "Stamp",
    "Suite",
    "TakenTurn",
    "TemplateSimulator",
    "ToolLimit",
    "bad_arguments",
    "conversation_of",
    "decision_points",
    "instance_point",
    "is_instance_file",
    "offered_tools",
    "parse_test",
    "persona_of",
    "read_instances",
    "read_test",
    "rebuild",
    "recorded_settings",
    "rows_of_turn",
    "run_next_turns",
    "save_tests",
    "sendable",
    "take_next_turns",
    "turn_alone",
    "unknown_tools",
    "write_instances",
    "written_test",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "answers": (
            "MISSES",
            "NOT_RECORDED",
            "STAMPS",
            "Answer",
            "AnswerSession",
            "Ladder",
            "MissedCall",
            "NearestSimulator",
            "Simulator",
            "Stamp",
            "TemplateSimulator",
        ),
        "derivation": ("Proof", "ProvenRule", "Rule", "RuleBook"),
        "people": ("PERSONA_RULES", "Decision", "Persona", "PersonaRule", "persona_of"),
        "rebuilding": ("EFFECTS", "Rebuilt", "Suite", "rebuild", "save_tests"),
        "rebuilt_test": (
            "Fact",
            "Person",
            "RebuiltTest",
            "parse_test",
            "read_test",
            "written_test",
        ),
        "recordings": ("Conversation", "RecordingIndex", "Shelf", "conversation_of"),
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
