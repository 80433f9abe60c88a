"""How traces come to be: the recorder, the decorators, and what keeps them from being felt.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.recording.agents import agent
    from tracedance_sdk.recording.answering import (
        AnswerSource,
        AskedCall,
        GivenAnswer,
        InUse,
        LetRun,
        answers_from,
        asked_of,
        in_use,
        known_to_nobody,
        tool_let_run,
        unasked,
        unknown_refused,
    )
    from tracedance_sdk.recording.by_hand import HandCall
    from tracedance_sdk.recording.closing import CloseSummary
    from tracedance_sdk.recording.configuration import configure
    from tracedance_sdk.recording.environments import Environment
    from tracedance_sdk.recording.flushing import flush
    from tracedance_sdk.recording.gathered_spans import CollectorLimits
    from tracedance_sdk.recording.personal_names import read_names
    from tracedance_sdk.recording.pseudonymising import Pseudonymiser
    from tracedance_sdk.recording.pseudonyms import (
        holds_redaction_key,
        keep_redaction_key,
        redaction_key,
    )
    from tracedance_sdk.recording.recorder import TraceRecorder
    from tracedance_sdk.recording.redaction import Redactor, SecretRedactor
    from tracedance_sdk.recording.replayed_errors import ReplayedError
    from tracedance_sdk.recording.seen_work import SeenWork
    from tracedance_sdk.recording.span_collector import CollectorSummary, SpanCollector
    from tracedance_sdk.recording.state import state_source
    from tracedance_sdk.recording.tools import declared_effect, tool
    from tracedance_sdk.recording.values import freeze

__all__ = [
    "AnswerSource",
    "AskedCall",
    "CloseSummary",
    "CollectorLimits",
    "CollectorSummary",
    "Environment",
    "GivenAnswer",
    "HandCall",
    "InUse",
    "LetRun",
    "Pseudonymiser",
    "Redactor",
    "ReplayedError",
    "SecretRedactor",
    "SeenWork",
    "SpanCollector",
    "TraceRecorder",
    "agent",
    "answers_from",
    "asked_of",
    "configure",
    "declared_effect",
    "flush",
    "freeze",
    "holds_redaction_key",
    "in_use",
    "keep_redaction_key",
    "known_to_nobody",
    "read_names",
    "redaction_key",
    "state_source",
    "tool",
    "tool_let_run",
    "unasked",
    "unknown_refused",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "agents": ("agent",),
        "answering": (
            "AnswerSource",
            "AskedCall",
            "GivenAnswer",
            "InUse",
            "LetRun",
            "answers_from",
            "asked_of",
            "in_use",
            "known_to_nobody",
            "tool_let_run",
            "unasked",
            "unknown_refused",
        ),
        "by_hand": ("HandCall",),
        "closing": ("CloseSummary",),
        "configuration": ("configure",),
        "environments": ("Environment",),
        "flushing": ("flush",),
        "gathered_spans": ("CollectorLimits",),
        "personal_names": ("read_names",),
        "pseudonymising": ("Pseudonymiser",),
        "pseudonyms": ("holds_redaction_key", "keep_redaction_key", "redaction_key"),
        "recorder": ("TraceRecorder",),
        "redaction": ("Redactor", "SecretRedactor"),
        "replayed_errors": ("ReplayedError",),
        "seen_work": ("SeenWork",),
        "span_collector": ("CollectorSummary", "SpanCollector"),
        "state": ("state_source",),
        "tools": ("declared_effect", "tool"),
        "values": ("freeze",),
    },
)
