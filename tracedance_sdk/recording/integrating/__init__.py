"""For integrations: put agents, model calls and tools of foreign libraries on record.

An integration hooks into a library with an `Integration`, and says what happens there:
`start_agent` when an agent begins, `start_model_call` when a model is asked, `ToolUse` around the
code of a tool. Without an open recorder all three do nothing. What is said of a conversation is
recorded once, however often requests repeat it, and whichever integration tells it first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.recording.integrating.agent_runs import AgentOperation, start_agent
    from tracedance_sdk.recording.integrating.client_calls import ClientApi
    from tracedance_sdk.recording.integrating.client_replies import IN_PIECES, follow_replies
    from tracedance_sdk.recording.integrating.client_requests import as_json, history_here
    from tracedance_sdk.recording.integrating.faults import attempt
    from tracedance_sdk.recording.integrating.handovers import Relay
    from tracedance_sdk.recording.integrating.integration import Integration
    from tracedance_sdk.recording.integrating.model_calls import (
        ModelCall,
        ModelReply,
        overhear,
        reply_in,
        reply_of,
        start_model_call,
    )
    from tracedance_sdk.recording.integrating.patches import Patches
    from tracedance_sdk.recording.integrating.served_runs import start_served
    from tracedance_sdk.recording.integrating.streams import (
        Pieces,
        Reading,
        watched,
        watched_async,
    )
    from tracedance_sdk.recording.integrating.tool_uses import ToolOutcome, ToolUse

__all__ = [
    "IN_PIECES",
    "AgentOperation",
    "ClientApi",
    "Integration",
    "ModelCall",
    "ModelReply",
    "Patches",
    "Pieces",
    "Reading",
    "Relay",
    "ToolOutcome",
    "ToolUse",
    "as_json",
    "attempt",
    "follow_replies",
    "history_here",
    "overhear",
    "reply_in",
    "reply_of",
    "start_agent",
    "start_model_call",
    "start_served",
    "watched",
    "watched_async",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "agent_runs": ("AgentOperation", "start_agent"),
        "client_calls": ("ClientApi",),
        "client_replies": ("IN_PIECES", "follow_replies"),
        "client_requests": ("as_json", "history_here"),
        "faults": ("attempt",),
        "handovers": ("Relay",),
        "integration": ("Integration",),
        "model_calls": (
            "ModelCall",
            "ModelReply",
            "overhear",
            "reply_in",
            "reply_of",
            "start_model_call",
        ),
        "patches": ("Patches",),
        "served_runs": ("start_served",),
        "streams": ("Pieces", "Reading", "watched", "watched_async"),
        "tool_uses": ("ToolOutcome", "ToolUse"),
    },
)
