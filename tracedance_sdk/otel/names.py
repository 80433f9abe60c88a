"""Every attribute and event name we write or read, and the convention they follow.

The GenAI conventions have no stable release; `CONVENTION` names the state of them that our spans
keep to, and travels in the instrumentation scope.
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "tracedance"
CONVENTION: Final = "open-telemetry/semantic-conventions-genai@06ec68e722c4"
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
SCOPE_ATTRIBUTES: Final = {"tracedance.convention": CONVENTION}

# Conventional names.
OPERATION: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
PROVIDER: Final = "gen_ai.provider.name"
RESPONSE_ID: Final = "gen_ai.response.id"
USER_ID: Final = "user.id"
ERROR_TYPE: Final = "error.type"
EXIT_CODE: Final = "process.exit.code"

EVALUATION: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

INFERENCE_DETAILS: Final = "gen_ai.client.inference.operation.details"

INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"
CHAT: Final = "chat"
INFERENCE: Final = frozenset({CHAT, "generate_content", "text_completion"})

# What the conventions lack.
RUN_START: Final = "tracedance.run.start"
TURN: Final = "tracedance.turn"
CALL_START: Final = "tracedance.call.start"

TRACE_ID: Final = "tracedance.trace.id"
TASK_ID: Final = "tracedance.task.id"
GROUP: Final = "tracedance.group"
PARENT_TRACE_ID: Final = "tracedance.parent.trace_id"
PARENT_CALL_ID: Final = "tracedance.parent.call_id"
# Phoenix unpacks the JSON of every attribute whose name ends in "metadata".
METADATA: Final = "tracedance.metadata_json"
INITIAL_STATE: Final = "tracedance.state.initial"
FINAL_STATE: Final = "tracedance.state.final"
STATE_CHANGE: Final = "tracedance.state.change"
OUTCOME: Final = "tracedance.outcome"
FIDELITY: Final = "tracedance.fidelity"
PATCH: Final = "tracedance.patch"
TURN_INDEX: Final = "tracedance.turn.index"
CALL_INDEX: Final = "tracedance.call.index"
RAW_ARGUMENTS: Final = "tracedance.call.raw_arguments"
BOUND_BY: Final = "tracedance.call.bound_by"
REQUESTED_BY: Final = "tracedance.call.requested_by"
ENCLOSING_CALL_ID: Final = "tracedance.call.parent_id"
RESULT_OK: Final = "tracedance.result.ok"
RESULT_CONTENT: Final = "tracedance.result.content"
RESULT_INTERRUPTED: Final = "tracedance.result.interrupted"
RESULT_TRUNCATED: Final = "tracedance.result.truncated"
ERROR_MESSAGE: Final = "tracedance.error.message"
DURATION_MS: Final = "tracedance.duration_ms"
MADE_HERE: Final = "tracedance.call.made_here"
TIMES_UNKNOWN: Final = "tracedance.call.times_unknown"
DROPPED: Final = "tracedance.attributes.dropped"

# Facts of other programs' spans, between the reading of a dialect and that of a run: never written.
CONVERSATION: Final = "tracedance.foreign.conversation"
COST_USD: Final = "tracedance.foreign.cost_usd"
SETTINGS: Final = "tracedance.foreign.settings"
TOOL_STATUS: Final = "tracedance.foreign.tool_status"
USER_METADATA: Final = "tracedance.foreign.metadata"
TAGS: Final = "tracedance.foreign.tags"
KIND: Final = "tracedance.foreign.kind"
REST: Final = "tracedance.foreign.rest"
UNREAD: Final = "tracedance.foreign.unread"
ANNOTATIONS: Final = "tracedance.foreign.annotations"

OURS: Final = "tracedance"
"""Key of our own object inside a message, part or tool definition."""

JSON_ATTRIBUTES: Final = frozenset(
    {
        SYSTEM_INSTRUCTIONS, TOOL_DEFINITIONS, INPUT_MESSAGES, OUTPUT_MESSAGES, TOOL_ARGUMENTS,
        TOOL_RESULT, METADATA, INITIAL_STATE, FINAL_STATE, STATE_CHANGE, OUTCOME, FIDELITY, PATCH,
        RESULT_CONTENT,
    }
)  # fmt: skip
"""Attributes whose value is JSON text."""
