"""Every fact of a step, and the places where the dialects write it, best first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from tracedance_sdk.otel import names
from tracedance_sdk.otel.dialects.decoding import decoded, json_value, structure
from tracedance_sdk.otel.dialects.definitions import definitions, one_definition
from tracedance_sdk.otel.dialects.frameworks import (
    arguments,
    called_with,
    cost_total,
    event_messages,
    heard_events,
    litellm_answer,
    llama_index_answer,
    replied_events,
    result,
    result_call_id,
    result_status,
    run_answer,
    settings,
    task_told,
    typed_value,
    usage_field,
    vercel_answer,
    vercel_prompt,
)
from tracedance_sdk.otel.dialects.kinds import StepKind
from tracedance_sdk.otel.dialects.places import (
    AGENT,
    MODEL,
    SPEAKING,
    TOOL,
    FactPlace,
    at,
    count,
    flat,
    heard,
    inside,
    instructions,
    number,
    reason,
    replied,
    text,
)
from tracedance_sdk.trace import UNKNOWN, Json

OTEL: Final = "OTel GenAI"
OLD: Final = "OTel GenAI, old"
OI: Final = "OpenInference"
TRACELOOP: Final = "Traceloop"
LANGFUSE: Final = "Langfuse"
PYDANTIC: Final = "Pydantic AI"
VERCEL: Final = "Vercel"
LANGSMITH: Final = "LangSmith"
MLFLOW: Final = "MLflow"
ADK: Final = "Google ADK"
CLAUDE: Final = "Claude Code"
STRANDS: Final = "Strands"
CREWAI: Final = "CrewAI"
LITELLM: Final = "LiteLLM"

_ADK_REQUEST: Final = "gcp.vertex.agent.llm_request"
_ADK_ANSWER: Final = "gcp.vertex.agent.llm_response"
_MLFLOW_USAGE: Final = "mlflow.chat.tokenUsage"
_LANGFUSE_USAGE: Final = "langfuse.observation.usage_details"


def _unless_elided(value: Json) -> Json:
    found = result(value)
    return UNKNOWN if found in ({}, "N/A", "") else found


def _mlflow_text(value: Json) -> Json:
    return text(json_value(value))


CONTENT: Final[Mapping[str, tuple[FactPlace, ...]]] = {
    names.INPUT_MESSAGES: (
        at(LANGFUSE, "langfuse.observation.input", heard, kinds=SPEAKING),
        at(OTEL, names.INPUT_MESSAGES, heard, kinds=SPEAKING),
        at(VERCEL, "ai.prompt.messages", heard, kinds=SPEAKING),
        at(VERCEL, "ai.prompt", vercel_prompt, kinds=SPEAKING),
        at(ADK, _ADK_REQUEST, inside("contents", heard), kinds=MODEL),
        at(PYDANTIC, "events", heard_events, kinds=MODEL),
        flat(OI, "llm.input_messages", heard, kinds=SPEAKING),
        flat(TRACELOOP, "gen_ai.prompt", heard, kinds=SPEAKING),
        at(MLFLOW, "mlflow.spanInputs", heard, kinds=SPEAKING),
        at(TRACELOOP, "traceloop.entity.input", heard, kinds=AGENT),
        at(CLAUDE, "user_prompt", heard, kinds=AGENT),
        at(CLAUDE, "new_context", heard, kinds=MODEL),
        at("Genkit", "genkit:input", heard, kinds=SPEAKING),
        at("Laminar", "lmnr.span.input", heard, kinds=SPEAKING),
        at(OI, "input.value", heard, kinds=SPEAKING),
    ),
    names.OUTPUT_MESSAGES: (
        at(LANGFUSE, "langfuse.observation.output", replied, kinds=SPEAKING),
        FactPlace(LITELLM, (names.OUTPUT_MESSAGES, "gen_ai.completion."), litellm_answer, MODEL),
        FactPlace(
            TRACELOOP,
            (names.OUTPUT_MESSAGES, "traceloop.entity.output"),
            llama_index_answer,
            MODEL,
        ),
        at(OTEL, names.OUTPUT_MESSAGES, replied, kinds=SPEAKING),
        FactPlace(VERCEL, ("ai.response.", "ai.result."), vercel_answer, SPEAKING),
        at(ADK, _ADK_ANSWER, inside("content", replied), kinds=MODEL),
        at(PYDANTIC, "events", replied_events, kinds=MODEL),
        flat(OI, "llm.output_messages", replied, kinds=SPEAKING),
        flat(TRACELOOP, "gen_ai.completion", replied, kinds=SPEAKING),
        at(MLFLOW, "mlflow.spanOutputs", replied, kinds=SPEAKING),
        at(TRACELOOP, "traceloop.entity.output", replied, kinds=AGENT),
        at(CLAUDE, "response.model_output", replied, kinds=MODEL),
        at(PYDANTIC, "final_result", replied, kinds=AGENT),
        at("Genkit", "genkit:output", replied, kinds=SPEAKING),
        at("Laminar", "lmnr.span.output", replied, kinds=SPEAKING),
        at(OI, "output.value", replied, kinds=MODEL),
        at(OI, "output.value", run_answer, kinds=AGENT),
    ),
    names.CONVERSATION: (
        at(PYDANTIC, "pydantic_ai.all_messages", heard, kinds=AGENT),
        at(PYDANTIC, "all_messages_events", event_messages, kinds=AGENT),
        at(OI, "output.value", task_told, kinds=AGENT),
    ),
    names.SYSTEM_INSTRUCTIONS: (
        at(OTEL, names.SYSTEM_INSTRUCTIONS, instructions),
        at(ADK, _ADK_REQUEST, inside("config", inside("system_instruction", instructions))),
    ),
    names.TOOL_DEFINITIONS: (
        at(OTEL, names.TOOL_DEFINITIONS, definitions),
        flat(OI, "llm.tools", definitions),
        flat(TRACELOOP, "llm.request.functions", definitions),
        at(VERCEL, "ai.prompt.tools", definitions),
        at(ADK, _ADK_REQUEST, inside("config", inside("tools", definitions))),
        at(PYDANTIC, "model_request_parameters", definitions),
        at(MLFLOW, "mlflow.chat.tools", definitions),
        at(LANGFUSE, "langfuse.observation.input", inside("tools", definitions), kinds=MODEL),
        at(MLFLOW, "mlflow.spanInputs", inside("tools", definitions), kinds=MODEL),
        FactPlace(
            STRANDS,
            ("gen_ai.tool.json_schema", "gen_ai.tool.description"),
            one_definition("gen_ai.tool.json_schema", "gen_ai.tool.description"),
            TOOL,
        ),
    ),
    names.TOOL_ARGUMENTS: (
        at(LANGFUSE, "langfuse.observation.input", arguments, kinds=TOOL),
        at(OTEL, names.TOOL_ARGUMENTS, arguments, kinds=TOOL),
        at(VERCEL, "ai.toolCall.args", arguments, kinds=TOOL),
        at(ADK, "gcp.vertex.agent.tool_call_args", arguments, kinds=TOOL),
        at(PYDANTIC, "tool_arguments", arguments, kinds=TOOL),
        at(TRACELOOP, "traceloop.entity.input", arguments, kinds=TOOL),
        at(MLFLOW, "mlflow.spanInputs", arguments, kinds=TOOL),
        at(LANGSMITH, "gen_ai.prompt", arguments, kinds=TOOL),
        at(CLAUDE, "tool_input", arguments, kinds=TOOL),
        FactPlace(OI, ("input.value",), called_with, TOOL),
        at(OI, "tool.parameters", arguments, kinds=TOOL),
        at(TRACELOOP, "tool.arguments", arguments, kinds=TOOL),
    ),
    names.TOOL_RESULT: (
        at(LANGFUSE, "langfuse.observation.output", result, kinds=TOOL),
        at(OTEL, names.TOOL_RESULT, result, kinds=TOOL),
        at(VERCEL, "ai.toolCall.result", json_value, kinds=TOOL),
        at(ADK, "gcp.vertex.agent.tool_response", _unless_elided, kinds=TOOL),
        at(PYDANTIC, "tool_response", result, kinds=TOOL),
        at(TRACELOOP, "traceloop.entity.output", result, kinds=TOOL),
        at(MLFLOW, "mlflow.spanOutputs", json_value, kinds=TOOL),
        at(LANGSMITH, "gen_ai.completion", result, kinds=TOOL),
        FactPlace(
            OI,
            ("output.value", "output.mime_type"),
            typed_value("output.value", "output.mime_type"),
            TOOL,
        ),
    ),
}
"""What was said and done. Whatever else writes the same beside the first place is a repetition."""

FACTS: Final[Mapping[str, tuple[FactPlace, ...]]] = {
    names.AGENT_NAME: (
        at(CREWAI, "crewai.agent.role", text),
        at(OTEL, names.AGENT_NAME, text),
        at(OI, "agent.name", text),
        at(PYDANTIC, "agent_name", text),
        at(OI, "graph.node.id", text, kinds=AGENT),
        at(
            TRACELOOP,
            "traceloop.entity.output",
            inside("result", inside("current_agent_name", text)),
            kinds=AGENT,
        ),
        at(TRACELOOP, "traceloop.entity.name", text, kinds=AGENT),
        at(VERCEL, "ai.telemetry.functionId", text, kinds=AGENT),
    ),
    names.AGENT_VERSION: (at(OTEL, names.AGENT_VERSION, text),),
    names.CONVERSATION_ID: (
        at(OTEL, names.CONVERSATION_ID, text),
        at(OI, "session.id", text),
        at(LANGFUSE, "langfuse.session.id", text),
        at(ADK, "gcp.vertex.agent.session_id", text),
        at(LANGSMITH, "langsmith.metadata.thread_id", text),
        at(LANGSMITH, "langsmith.metadata.session_id", text),
        at(LANGSMITH, "langsmith.metadata.conversation_id", text),
        at(TRACELOOP, "traceloop.association.properties.session_id", text),
        at(TRACELOOP, "traceloop.association.properties.thread_id", text),
        at(VERCEL, "ai.telemetry.metadata.sessionId", text),
        at("LoongSuite", "gen_ai.session.id", text),
    ),
    names.USER_ID: (
        at(OI, "user.id", text),
        at(LANGFUSE, "langfuse.user.id", text),
        at(TRACELOOP, "traceloop.association.properties.user_id", text),
        at(VERCEL, "ai.telemetry.metadata.userId", text),
        at(TRACELOOP, "gen_ai.user", text),
        at(TRACELOOP, "llm.user", text),
        at("LoongSuite", "gen_ai.user.id", text),
    ),
    names.PROVIDER: (
        at(OTEL, names.PROVIDER, text),
        at(VERCEL, "ai.model.provider", text),
        at(OLD, "gen_ai.system", text),
        at(OI, "llm.system", text),
        at(OI, "llm.provider", text),
        at(MLFLOW, "mlflow.llm.provider", _mlflow_text),
    ),
    names.REQUEST_MODEL: (
        at(OTEL, names.REQUEST_MODEL, text),
        at(LANGFUSE, "langfuse.observation.model.name", text),
        at(OI, "llm.request.model_name", text),
        at(OI, "llm.model_name", text),
        at(VERCEL, "ai.model.id", text),
        at(PYDANTIC, "model_name", text),
        at(MLFLOW, "mlflow.llm.model", _mlflow_text),
        at(CLAUDE, "model", text, kinds=MODEL),
        at(ADK, _ADK_REQUEST, inside("model", text)),
    ),
    names.RESPONSE_MODEL: (
        at(OTEL, names.RESPONSE_MODEL, text),
        at(OI, "llm.response.model_name", text),
        at(VERCEL, "ai.response.model", text),
        at(ADK, _ADK_ANSWER, inside("model_version", text)),
    ),
    names.RESPONSE_ID: (
        at(OTEL, names.RESPONSE_ID, text),
        at(VERCEL, "ai.response.id", text),
    ),
    names.FINISH_REASONS: (
        at(OTEL, names.FINISH_REASONS, reason),
        at(OI, "llm.finish_reason", text),
        at(VERCEL, "ai.response.finishReason", text),
        at(CLAUDE, "stop_reason", text),
        at(ADK, _ADK_ANSWER, inside("finish_reason", text)),
    ),
    names.INPUT_TOKENS: (
        at(OTEL, names.INPUT_TOKENS, count),
        at(OI, "llm.token_count.prompt", count),
        at(OLD, "gen_ai.usage.prompt_tokens", count),
        at(LANGFUSE, _LANGFUSE_USAGE, usage_field("input", "input_tokens", "prompt_tokens")),
        at(VERCEL, "ai.usage.inputTokens", count),
        at(VERCEL, "ai.usage.promptTokens", count),
        at(MLFLOW, _MLFLOW_USAGE, usage_field("input_tokens")),
        at(PYDANTIC, "gen_ai.aggregated_usage.input_tokens", count, kinds=AGENT),
        at(CLAUDE, "input_tokens", count, kinds=MODEL),
    ),
    names.OUTPUT_TOKENS: (
        at(OTEL, names.OUTPUT_TOKENS, count),
        at(OI, "llm.token_count.completion", count),
        at(OLD, "gen_ai.usage.completion_tokens", count),
        at(LANGFUSE, _LANGFUSE_USAGE, usage_field("output", "output_tokens", "completion_tokens")),
        at(VERCEL, "ai.usage.outputTokens", count),
        at(VERCEL, "ai.usage.completionTokens", count),
        at(MLFLOW, _MLFLOW_USAGE, usage_field("output_tokens")),
        at(PYDANTIC, "gen_ai.aggregated_usage.output_tokens", count, kinds=AGENT),
        at(CLAUDE, "output_tokens", count, kinds=MODEL),
    ),
    names.CACHE_READ_TOKENS: (
        at(OTEL, names.CACHE_READ_TOKENS, count),
        at(OI, "llm.token_count.prompt_details.cache_read", count),
        at(TRACELOOP, "gen_ai.usage.cache_read_input_tokens", count),
        at(
            LANGFUSE,
            _LANGFUSE_USAGE,
            usage_field("cache_read_input_tokens", "input_cached_tokens"),
        ),
        at(
            LANGFUSE,
            _LANGFUSE_USAGE,
            inside("prompt_tokens_details", usage_field("cached_tokens")),
        ),
        at(VERCEL, "ai.usage.cachedInputTokens", count),
        at(MLFLOW, _MLFLOW_USAGE, usage_field("cache_read_input_tokens")),
        at(CLAUDE, "cache_read_tokens", count, kinds=MODEL),
    ),
    names.CACHE_WRITE_TOKENS: (
        at(OTEL, names.CACHE_WRITE_TOKENS, count),
        at(OTEL, names.CACHE_CREATION_TOKENS, count),
        at(OI, "llm.token_count.prompt_details.cache_write", count),
        at(TRACELOOP, "gen_ai.usage.cache_creation_input_tokens", count),
        at(STRANDS, "gen_ai.usage.cache_write_input_tokens", count),
        at(LANGFUSE, _LANGFUSE_USAGE, usage_field("cache_creation_input_tokens")),
        at(MLFLOW, _MLFLOW_USAGE, usage_field("cache_creation_input_tokens")),
        at(CLAUDE, "cache_creation_tokens", count, kinds=MODEL),
    ),
    names.REASONING_TOKENS: (
        at(OTEL, names.REASONING_TOKENS, count),
        at(OI, "llm.token_count.completion_details.reasoning", count),
        at(TRACELOOP, "gen_ai.usage.reasoning_tokens", count),
        at(VERCEL, "ai.usage.reasoningTokens", count),
    ),
    names.COST_USD: (
        at(OI, "llm.cost.total", number),
        at(LANGFUSE, "langfuse.observation.cost_details", cost_total),
        at(PYDANTIC, "operation.cost", number),
        at(MLFLOW, "mlflow.llm.cost", cost_total),
        at("OpenRouter", "gen_ai.usage.cost", number),
        at(CLAUDE, "cost_usd", number),
    ),
    names.SETTINGS: (
        at(OI, "llm.invocation_parameters", settings, kinds=SPEAKING),
        at(LANGFUSE, "langfuse.observation.model.parameters", settings),
        at(ADK, _ADK_REQUEST, inside("config", settings), kinds=MODEL),
    ),
    names.TOOL_NAME: (
        at(OTEL, names.TOOL_NAME, text, kinds=TOOL),
        at(OI, "tool.name", text, kinds=TOOL),
        at(VERCEL, "ai.toolCall.name", text, kinds=TOOL),
        at(TRACELOOP, "traceloop.entity.name", text, kinds=TOOL),
        at(MLFLOW, "mlflow.spanFunctionName", _mlflow_text, kinds=TOOL),
        at(CLAUDE, "tool_name", text, kinds=TOOL),
    ),
    names.TOOL_CALL_ID: (
        at(OTEL, names.TOOL_CALL_ID, text, kinds=TOOL),
        at(OI, "tool.id", text, kinds=TOOL),
        at(VERCEL, "ai.toolCall.id", text, kinds=TOOL),
        at(CLAUDE, "tool_use_id", text, kinds=TOOL),
        at(OI, "output.value", result_call_id, kinds=TOOL),
        at(TRACELOOP, "traceloop.entity.output", result_call_id, kinds=TOOL),
        at(OTEL, names.TOOL_RESULT, result_call_id, kinds=TOOL),
        at(LANGSMITH, "gen_ai.completion", result_call_id, kinds=TOOL),
        at(LANGFUSE, "langfuse.observation.output", result_call_id, kinds=TOOL),
    ),
    names.TOOL_STATUS: (
        at(STRANDS, "gen_ai.tool.status", text, kinds=TOOL),
        at(OI, "output.value", result_status, kinds=TOOL),
        at(TRACELOOP, "traceloop.entity.output", result_status, kinds=TOOL),
        at(OTEL, names.TOOL_RESULT, result_status, kinds=TOOL),
        at(LANGSMITH, "gen_ai.completion", result_status, kinds=TOOL),
    ),
    names.ERROR_TYPE: (
        at(OTEL, names.ERROR_TYPE, text),
        at(STRANDS, "strands.cancellation.type", text),
    ),
    names.EXIT_CODE: (at(OTEL, names.EXIT_CODE, count),),
    names.USER_METADATA: (at(OI, "metadata", structure),),
    names.TAGS: (
        at(OI, "tag.tags", decoded),
        at(LANGFUSE, "langfuse.trace.tags", decoded),
        at(LANGSMITH, "langsmith.span.tags", decoded),
    ),
}
"""Everything else that we have a field for."""


class FactIndex(NamedTuple):
    """Where to look for the facts of one kind of step, by the attributes that are there.

    Attributes:
        by_key: The places that a whole key may belong to.
        by_start: The places of keys with numbered steps, by what these keys begin with.
        starts: All of these beginnings.
    """

    by_key: Mapping[str, tuple[tuple[str, int], ...]]
    by_start: Mapping[str, tuple[tuple[str, int], ...]]
    starts: tuple[str, ...]

    def candidates(self, attributes: Mapping[str, Json]) -> dict[str, list[int]]:
        """Return, for each fact that may be there, the numbers of its places, best first."""
        found: dict[str, set[int]] = {}
        begun: set[str] = set()
        for key in attributes:
            for fact, rank in self.by_key.get(key, ()):
                found.setdefault(fact, set()).add(rank)
            if key.startswith(self.starts):
                begun.update(start for start in self.starts if key.startswith(start))
        for start in begun:
            for fact, rank in self.by_start[start]:
                found.setdefault(fact, set()).add(rank)
        return {fact: sorted(ranks) for fact, ranks in found.items()}


PLACES: Final[Mapping[str, tuple[FactPlace, ...]]] = {**CONTENT, **FACTS}
_SHARED: Final = (names.CONVERSATION_ID, names.USER_ID)


@cache
def fact_index(kind: StepKind) -> FactIndex:
    """Return where the facts of a kind of step stand; of mere structure few are looked for."""
    is_step, is_run_step = kind not in ("plain", "skip"), kind not in ("plain", "skip", "other")
    by_key: dict[str, list[tuple[str, int]]] = {}
    by_start: dict[str, list[tuple[str, int]]] = {}
    for fact, places in PLACES.items():
        wanted = is_run_step if fact in CONTENT else is_step or fact in _SHARED
        for rank, place in enumerate(places if wanted else ()):
            if kind in place.kinds or kind == "skip":
                for key in place.keys:
                    table = by_start if key.endswith(".") else by_key
                    table.setdefault(key, []).append((fact, rank))
    return FactIndex(
        {key: tuple(found) for key, found in by_key.items()},
        {key: tuple(found) for key, found in by_start.items()},
        tuple(by_start),
    )
