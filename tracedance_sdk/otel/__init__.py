"""Traces as OpenTelemetry spans and back.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.otel.assembly import assemble
    from tracedance_sdk.otel.dialects.spoken import each_message_once
    from tracedance_sdk.otel.disassembly import trace_records
    from tracedance_sdk.otel.evaluations import evaluation_event
    from tracedance_sdk.otel.foreign import ForeignLog, ForeignSpan
    from tracedance_sdk.otel.json_texts import json_text
    from tracedance_sdk.otel.live import attribute_copy, foreign_log, foreign_span, is_agent_span
    from tracedance_sdk.otel.messages import (
        message_json,
        message_of,
        messages_text,
        tool_definitions,
    )
    from tracedance_sdk.otel.names import (
        CALL_START,
        CHAT,
        CONVENTION,
        ERROR_TYPE,
        EVALUATION,
        EXECUTE_TOOL,
        FINAL_STATE,
        INITIAL_STATE,
        INPUT_MESSAGES,
        INVOKE_AGENT,
        JSON_ATTRIBUTES,
        MADE_HERE,
        OURS,
        OUTCOME,
        PATCH,
        RUN_START,
        SCHEMA_URL,
        SCOPE,
        SCOPE_ATTRIBUTES,
        STATE_CHANGE,
        TIMES_UNKNOWN,
        TOOL_ARGUMENTS,
        TRACE_ID,
        TURN,
    )
    from tracedance_sdk.otel.otlp_file import otlp_lines
    from tracedance_sdk.otel.recovery import Recovery, recover
    from tracedance_sdk.otel.sdk import readable_span
    from tracedance_sdk.otel.spans import (
        call_attributes,
        joined_messages,
        result_attributes,
        run_attributes,
        run_end_attributes,
        turn_attributes,
    )
    from tracedance_sdk.otel.transport.files import is_binary, spans_of_document, spans_of_file

__all__ = [
    "CALL_START",
    "CHAT",
    "CONVENTION",
    "ERROR_TYPE",
    "EVALUATION",
    "EXECUTE_TOOL",
    "FINAL_STATE",
    "INITIAL_STATE",
    "INPUT_MESSAGES",
    "INVOKE_AGENT",
    "JSON_ATTRIBUTES",
    "MADE_HERE",
    "OURS",
    "OUTCOME",
    "PATCH",
    "RUN_START",
    "SCHEMA_URL",
    "SCOPE",
    "SCOPE_ATTRIBUTES",
    "STATE_CHANGE",
    "TIMES_UNKNOWN",
    "TOOL_ARGUMENTS",
    "TRACE_ID",
    "TURN",
    "ForeignLog",
    "ForeignSpan",
    "Recovery",
    "assemble",
    "attribute_copy",
    "call_attributes",
    "each_message_once",
    "evaluation_event",
    "foreign_log",
    "foreign_span",
    "is_agent_span",
    "is_binary",
    "joined_messages",
    "json_text",
    "message_json",
    "message_of",
    "messages_text",
    "otlp_lines",
    "readable_span",
    "recover",
    "result_attributes",
    "run_attributes",
    "run_end_attributes",
    "spans_of_document",
    "spans_of_file",
    "tool_definitions",
    "trace_records",
    "turn_attributes",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "assembly": ("assemble",),
        "dialects.spoken": ("each_message_once",),
        "disassembly": ("trace_records",),
        "evaluations": ("evaluation_event",),
        "foreign": ("ForeignLog", "ForeignSpan"),
        "json_texts": ("json_text",),
        "live": ("attribute_copy", "foreign_log", "foreign_span", "is_agent_span"),
        "messages": ("message_json", "message_of", "messages_text", "tool_definitions"),
        "names": (
            "CALL_START",
            "CHAT",
            "CONVENTION",
            "ERROR_TYPE",
            "EVALUATION",
            "EXECUTE_TOOL",
            "FINAL_STATE",
            "INITIAL_STATE",
            "INPUT_MESSAGES",
            "INVOKE_AGENT",
            "JSON_ATTRIBUTES",
            "MADE_HERE",
            "OURS",
            "OUTCOME",
            "PATCH",
            "RUN_START",
            "SCHEMA_URL",
            "SCOPE",
            "SCOPE_ATTRIBUTES",
            "STATE_CHANGE",
            "TIMES_UNKNOWN",
            "TOOL_ARGUMENTS",
            "TRACE_ID",
            "TURN",
        ),
        "otlp_file": ("otlp_lines",),
        "recovery": ("Recovery", "recover"),
        "sdk": ("readable_span",),
        "spans": (
            "call_attributes",
            "joined_messages",
            "result_attributes",
            "run_attributes",
            "run_end_attributes",
            "turn_attributes",
        ),
        "transport.files": ("is_binary", "spans_of_document", "spans_of_file"),
    },
)
