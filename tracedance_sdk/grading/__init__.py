"""Hard constraints: criteria as data, graders, verdicts, reports and result sets.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.grading.action_pattern import ActionPattern, StateCondition
    from tracedance_sdk.grading.attempts import Idempotence, Recovery
    from tracedance_sdk.grading.counting import Budget, Counts
    from tracedance_sdk.grading.criterion import Criterion
    from tracedance_sdk.grading.drafting import draft_spec
    from tracedance_sdk.grading.expected import Expected
    from tracedance_sdk.grading.final_state import FinalState
    from tracedance_sdk.grading.gating import Calibration
    from tracedance_sdk.grading.grades import Dimension, Evidence, Grade
    from tracedance_sdk.grading.inputs import (
        AcceptableInputs,
        CriticalErrors,
        CriticalRule,
        Following,
        InputRule,
    )
    from tracedance_sdk.grading.invariants import Invariant
    from tracedance_sdk.grading.judgement import (
        JUDGEMENT_SCHEMA,
        Issue,
        Judge,
        JudgeAnswer,
        Judgement,
        ask_judge,
        judge_name,
        read_judgement,
        read_with_warnings,
    )
    from tracedance_sdk.grading.loading import load_spec, parse_spec, read_spec
    from tracedance_sdk.grading.matching import ABSENT, Difference
    from tracedance_sdk.grading.odd_fields import odd_field
    from tracedance_sdk.grading.plugin_graders import Grader
    from tracedance_sdk.grading.registry import TaskRegistry
    from tracedance_sdk.grading.replies import Reply
    from tracedance_sdk.grading.report import DimensionResult, Report
    from tracedance_sdk.grading.results import (
        ResultRow,
        ResultSet,
        ResultSetWriter,
        Subject,
        check_writable,
        read_results,
        rows_of,
    )
    from tracedance_sdk.grading.row_checks import SoundRows, rows_again_text, sound_rows
    from tracedance_sdk.grading.run_outcome import RunOutcome
    from tracedance_sdk.grading.run_view import RunView
    from tracedance_sdk.grading.running import Criteria, evaluate, evaluate_async
    from tracedance_sdk.grading.sequences import ForbiddenSequence, Order, RequiredActions
    from tracedance_sdk.grading.spec import CRITERION_TYPES, JudgePolicy, TaskSpec
    from tracedance_sdk.grading.trajectories import Trajectory
    from tracedance_sdk.grading.unexpected_changes import UnexpectedChanges
    from tracedance_sdk.grading.verdicts import Severity, Verdict, exit_code, worst

__all__ = [
    "ABSENT",
    "CRITERION_TYPES",
    "JUDGEMENT_SCHEMA",
    "AcceptableInputs",
    "ActionPattern",
    "Budget",
    "Calibration",
    "Counts",
    "Criteria",
    "Criterion",
    "CriticalErrors",
    "CriticalRule",
    "Difference",
    "Dimension",
    "DimensionResult",
    "Evidence",
    "Expected",
    "FinalState",
    "Following",
    "ForbiddenSequence",
    "Grade",
    "Grader",
    "Idempotence",
    "InputRule",
    "Invariant",
    "Issue",
    "Judge",
    "JudgeAnswer",
    "JudgePolicy",
    "Judgement",
    "Order",
    "Recovery",
    "Reply",
    "Report",
    "RequiredActions",
    "ResultRow",
    "ResultSet",
    "ResultSetWriter",
    "RunOutcome",
    "RunView",
    "Severity",
    "SoundRows",
    "StateCondition",
    "Subject",
    "TaskRegistry",
    "TaskSpec",
    "Trajectory",
    "UnexpectedChanges",
    "Verdict",
    "ask_judge",
    "check_writable",
    "draft_spec",
    "evaluate",
    "evaluate_async",
    "exit_code",
    "judge_name",
    "load_spec",
    "odd_field",
    "parse_spec",
    "read_judgement",
    "read_results",
    "read_spec",
    "read_with_warnings",
    "rows_again_text",
    "rows_of",
    "sound_rows",
    "worst",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "action_pattern": ("ActionPattern", "StateCondition"),
        "attempts": ("Idempotence", "Recovery"),
        "counting": ("Budget", "Counts"),
        "criterion": ("Criterion",),
        "drafting": ("draft_spec",),
        "expected": ("Expected",),
        "final_state": ("FinalState",),
        "gating": ("Calibration",),
        "grades": ("Dimension", "Evidence", "Grade"),
        "inputs": ("AcceptableInputs", "CriticalErrors", "CriticalRule", "Following", "InputRule"),
        "invariants": ("Invariant",),
        "judgement": (
            "JUDGEMENT_SCHEMA",
            "Issue",
            "Judge",
            "JudgeAnswer",
            "Judgement",
            "ask_judge",
            "judge_name",
            "read_judgement",
            "read_with_warnings",
        ),
        "loading": ("load_spec", "parse_spec", "read_spec"),
        "matching": ("ABSENT", "Difference"),
        "plugin_graders": ("Grader",),
        "registry": ("TaskRegistry",),
        "replies": ("Reply",),
        "report": ("DimensionResult", "Report"),
        "row_checks": ("SoundRows", "rows_again_text", "sound_rows"),
        "odd_fields": ("odd_field",),
        "results": (
            "ResultRow",
            "ResultSet",
            "ResultSetWriter",
            "Subject",
            "check_writable",
            "read_results",
            "rows_of",
        ),
        "run_outcome": ("RunOutcome",),
        "run_view": ("RunView",),
        "running": ("Criteria", "evaluate", "evaluate_async"),
        "sequences": ("ForbiddenSequence", "Order", "RequiredActions"),
        "spec": ("CRITERION_TYPES", "JudgePolicy", "TaskSpec"),
        "trajectories": ("Trajectory",),
        "unexpected_changes": ("UnexpectedChanges",),
        "verdicts": ("Severity", "Verdict", "exit_code", "worst"),
    },
)
