"""Other people's shapes: codecs both ways, and finding traces in files.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.anthropic_messages import traces_from_anthropic
    from tracedance_sdk.formats.anthropic_writing import anthropic_request
    from tracedance_sdk.formats.atif import traces_from_atif
    from tracedance_sdk.formats.atif_writing import write_atif
    from tracedance_sdk.formats.collecting import (
        GROUP,
        collect_paths,
        collect_source,
        find_sources,
        load_collectors,
        named_collector,
    )
    from tracedance_sdk.formats.detection import Signature, survey
    from tracedance_sdk.formats.guarding import guarded, unexpected
    from tracedance_sdk.formats.importing import (
        Collected,
        Collector,
        ImportProblem,
        StoredDocument,
    )
    from tracedance_sdk.formats.inspect_log import trace_from_inspect
    from tracedance_sdk.formats.inspect_log_archive import (
        InspectLog,
        InspectSample,
        open_inspect_log,
    )
    from tracedance_sdk.formats.known_tools import (
        KnownTool,
        ToolTable,
        tool_table,
        tool_table_digest,
    )
    from tracedance_sdk.formats.langchain_chat import (
        message_from_langchain,
        reply_facts_from_langchain,
        request_from_langchain,
    )
    from tracedance_sdk.formats.langfuse import traces_from_langfuse
    from tracedance_sdk.formats.mapping import MappingCollector, load_mapping
    from tracedance_sdk.formats.mcp_results import mcp_result, value_of_mcp_result
    from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult
    from tracedance_sdk.formats.message_shapes import read_message
    from tracedance_sdk.formats.model_replies import (
        Said,
        said_in_anthropic,
        said_in_chat,
        said_in_responses,
        turn_from_anthropic,
        turn_from_chat,
        turn_from_responses,
    )
    from tracedance_sdk.formats.model_requests import (
        ModelRequest,
        request_from_anthropic,
        request_from_chat,
        request_from_responses,
    )
    from tracedance_sdk.formats.openai_chat import (
        messages_from_trace,
        tools_from_trace,
        trace_from_messages,
        written_tools,
    )
    from tracedance_sdk.formats.openai_chat_request import chat_request
    from tracedance_sdk.formats.openai_export import MARK, chat_document, marked, read_mark
    from tracedance_sdk.formats.openai_reading import Conversation, ResultMark, read_messages
    from tracedance_sdk.formats.openai_responses import traces_from_responses
    from tracedance_sdk.formats.openai_responses_writing import responses_request
    from tracedance_sdk.formats.openai_tools import tools_from_chat
    from tracedance_sdk.formats.openai_writing import write_messages
    from tracedance_sdk.formats.opening import Document, documents, read_document, read_head
    from tracedance_sdk.formats.origins import (
        Attributed,
        Classified,
        OriginRules,
        attribute,
        classify,
        origin_rules,
    )
    from tracedance_sdk.formats.peeking import Outline, peek
    from tracedance_sdk.formats.places import Misfit, Place, expect, field, optional
    from tracedance_sdk.formats.pydantic_ai_messages import (
        PydanticAIReply,
        read_pydantic_ai,
        reply_from_pydantic_ai,
        request_from_pydantic_ai,
    )
    from tracedance_sdk.formats.readers import RecordCollector, SessionCollector, with_loss
    from tracedance_sdk.formats.repetition import Heard
    from tracedance_sdk.formats.tool_completion import complete_tools
    from tracedance_sdk.formats.tool_inference import ToolShapes
    from tracedance_sdk.formats.tool_shapes import read_tools
    from tracedance_sdk.formats.trace_json import load_trace, save_trace, trace_from_document
    from tracedance_sdk.formats.traceeval import (
        is_traceeval,
        trace_from_traceeval,
        traceeval_from_trace,
    )
    from tracedance_sdk.formats.transcript import (
        Transcript,
        media_part,
        read_arguments,
        reasoning_part,
        text_part,
    )
    from tracedance_sdk.formats.turn_origins import SUBAGENT_TASK, attribute_turns
    from tracedance_sdk.formats.walking import TraceSource

__all__ = [
    "GROUP",
    "MARK",
    "SUBAGENT_TASK",
    "Attributed",
    "Classified",
    "Collected",
    "Collector",
    "Conversation",
    "Document",
    "Heard",
    "ImportProblem",
    "InspectLog",
    "InspectSample",
    "KnownTool",
    "MappingCollector",
    "Message",
    "Misfit",
    "ModelRequest",
    "OriginRules",
    "Outline",
    "Piece",
    "Place",
    "PydanticAIReply",
    "RecordCollector",
    "ResultMark",
    "Said",
    "SeenCall",
    "SeenResult",
    "SessionCollector",
    "Signature",
    "StoredDocument",
    "ToolShapes",
    "ToolTable",
    "TraceSource",
    "Transcript",
    "anthropic_request",
    "attribute",
    "attribute_turns",
    "chat_document",
    "chat_request",
    "classify",
    "collect_paths",
    "collect_source",
    "complete_tools",
    "documents",
    "expect",
    "field",
    "find_sources",
    "guarded",
    "is_traceeval",
    "load_collectors",
    "load_mapping",
    "load_trace",
    "marked",
    "mcp_result",
    "media_part",
    "message_from_langchain",
    "messages_from_trace",
    "named_collector",
    "open_inspect_log",
    "optional",
    "origin_rules",
    "peek",
    "read_arguments",
    "read_document",
    "read_head",
    "read_mark",
    "read_message",
    "read_messages",
    "read_pydantic_ai",
    "read_tools",
    "reasoning_part",
    "reply_facts_from_langchain",
    "reply_from_pydantic_ai",
    "request_from_anthropic",
    "request_from_chat",
    "request_from_langchain",
    "request_from_pydantic_ai",
    "request_from_responses",
    "responses_request",
    "said_in_anthropic",
    "said_in_chat",
    "said_in_responses",
    "save_trace",
    "survey",
    "text_part",
    "tool_table",
    "tool_table_digest",
    "tools_from_chat",
    "tools_from_trace",
    "trace_from_document",
    "trace_from_inspect",
    "trace_from_messages",
    "trace_from_traceeval",
    "traceeval_from_trace",
    "traces_from_anthropic",
    "traces_from_atif",
    "traces_from_langfuse",
    "traces_from_responses",
    "turn_from_anthropic",
    "turn_from_chat",
    "turn_from_responses",
    "unexpected",
    "value_of_mcp_result",
    "with_loss",
    "write_atif",
    "write_messages",
    "written_tools",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "anthropic_messages": ("traces_from_anthropic",),
        "anthropic_writing": ("anthropic_request",),
        "atif": ("traces_from_atif",),
        "atif_writing": ("write_atif",),
        "collecting": (
            "GROUP",
            "collect_paths",
            "collect_source",
            "find_sources",
            "load_collectors",
            "named_collector",
        ),
        "detection": ("Signature", "survey"),
        "guarding": ("guarded", "unexpected"),
        "importing": ("Collected", "Collector", "ImportProblem", "StoredDocument"),
        "inspect_log": ("trace_from_inspect",),
        "inspect_log_archive": ("InspectLog", "InspectSample", "open_inspect_log"),
        "known_tools": ("KnownTool", "ToolTable", "tool_table", "tool_table_digest"),
        "langchain_chat": (
            "message_from_langchain",
            "reply_facts_from_langchain",
            "request_from_langchain",
        ),
        "langfuse": ("traces_from_langfuse",),
        "mapping": ("MappingCollector", "load_mapping"),
        "mcp_results": ("mcp_result", "value_of_mcp_result"),
        "message_pieces": ("Message", "Piece", "SeenCall", "SeenResult"),
        "message_shapes": ("read_message",),
        "model_replies": (
            "Said",
            "said_in_anthropic",
            "said_in_chat",
            "said_in_responses",
            "turn_from_anthropic",
            "turn_from_chat",
            "turn_from_responses",
        ),
        "model_requests": (
            "ModelRequest",
            "request_from_anthropic",
            "request_from_chat",
            "request_from_responses",
        ),
        "openai_chat": (
            "messages_from_trace",
            "tools_from_trace",
            "trace_from_messages",
            "written_tools",
        ),
        "openai_chat_request": ("chat_request",),
        "openai_export": ("MARK", "chat_document", "marked", "read_mark"),
        "openai_reading": ("Conversation", "ResultMark", "read_messages"),
        "openai_responses": ("traces_from_responses",),
        "openai_responses_writing": ("responses_request",),
        "openai_tools": ("tools_from_chat",),
        "openai_writing": ("write_messages",),
        "opening": ("Document", "documents", "read_document", "read_head"),
        "origins": (
            "Attributed",
            "Classified",
            "OriginRules",
            "attribute",
            "classify",
            "origin_rules",
        ),
        "peeking": ("Outline", "peek"),
        "places": ("Misfit", "Place", "expect", "field", "optional"),
        "pydantic_ai_messages": (
            "PydanticAIReply",
            "read_pydantic_ai",
            "reply_from_pydantic_ai",
            "request_from_pydantic_ai",
        ),
        "readers": ("RecordCollector", "SessionCollector", "with_loss"),
        "repetition": ("Heard",),
        "tool_completion": ("complete_tools",),
        "tool_inference": ("ToolShapes",),
        "tool_shapes": ("read_tools",),
        "trace_json": ("load_trace", "save_trace", "trace_from_document"),
        "traceeval": ("is_traceeval", "trace_from_traceeval", "traceeval_from_trace"),
        "transcript": ("Transcript", "media_part", "read_arguments", "reasoning_part", "text_part"),
        "turn_origins": ("SUBAGENT_TASK", "attribute_turns"),
        "walking": ("TraceSource",),
    },
)
