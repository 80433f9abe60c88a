"""What kind of step a span is: the discriminators of every dialect, in the order they are tried.

A span carries facts of several dialects at once (a framework's, a client library's, a backend's).
The first discriminator that knows its value decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from tracedance_sdk.otel.foreign import ForeignSpan
from tracedance_sdk.trace import Json

StepKind = Literal["agent", "model", "tool", "handoff", "other", "plain", "skip"]
"""``other`` is a step that is kept as it is (a retrieval, a guardrail); ``plain`` is structure."""


class Discriminator(NamedTuple):
    """How one dialect tells what a span is.

    Attributes:
        dialect: Its name.
        key: The attribute that says it; empty when the span's name does.
        kinds: Lower-case value, or beginning of the name, and what it means. The longest
            beginning that fits counts. After ``*`` it is the end of the name; alone it stands for
            any value.
        scopes: Beginnings of the scope, one of which is needed; none for any scope.
    """

    dialect: str
    key: str
    kinds: Mapping[str, StepKind]
    scopes: tuple[str, ...] = ()


_OPERATIONS: Final[dict[str, StepKind]] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "text_completions": "model",
    "llm_call": "model",
    "invoke_agent": "agent",
    "agent_call": "agent",
    "execute_tool": "tool",
    "tool_call": "tool",
    "agent_handoff": "handoff",
    "handoff": "handoff",
    "invoke_workflow": "plain",
    "execute_task": "plain",
    "execute_method": "plain",
    "embeddings": "other",
    "retrieval": "other",
    "rerank": "other",
    "search_memory": "other",
    "create_memory": "other",
    "update_memory": "other",
    "upsert_memory": "other",
    "delete_memory": "other",
}

_TRACELOOP_LLAMA_INDEX: Final = ("opentelemetry.instrumentation.llamaindex",)

DISCRIMINATORS: Final = (
    Discriminator("Logfire", "logfire.span_type", {"pending_span": "skip"}),
    Discriminator(
        "Langfuse",
        "langfuse.observation.type",
        {
            "generation": "model",
            "agent": "agent",
            "tool": "tool",
            "embedding": "other",
            "retriever": "other",
            "guardrail": "other",
            "evaluator": "other",
        },
    ),
    Discriminator(
        "Claude Code",
        "",
        {
            "claude_code.interaction": "agent",
            "claude_code.llm_request": "model",
            "claude_code.tool": "tool",
            "claude_code.tool.": "plain",
        },
        ("com.anthropic.claude_code",),
    ),
    Discriminator("OpenInference", "", {"handoff to ": "handoff"}, ("openinference.",)),
    Discriminator(
        "OpenInference",
        "",
        # A run has no kind of its own there, and the making of a request is told as a model call.
        {
            "*Agent.run": "agent",
            "*AgentWorkflow.run": "agent",
            "*._prepare_chat_with_tools": "plain",
        },
        ("openinference.instrumentation.llama_index",),
    ),
    Discriminator(
        "OpenInference",
        "",
        {
            f"*{name}.{method}": "agent"
            for name in ("ReAct", "ReActV2", "CodeAct")
            for method in ("forward", "aforward")
        },
        ("openinference.instrumentation.dspy",),
    ),
    Discriminator(
        "OpenInference",
        "openinference.span.kind",
        {
            "llm": "model",
            "agent": "agent",
            "tool": "tool",
            "chain": "plain",
            "prompt": "plain",
            "embedding": "other",
            "retriever": "other",
            "reranker": "other",
            "guardrail": "other",
            "evaluator": "other",
            "decision": "other",
        },
    ),
    # Every step of LlamaIndex is a task there, the calls of models and tools among them.
    Discriminator(
        "Traceloop",
        "gen_ai.operation.name",
        {"chat": "model", "text_completion": "model"},
        _TRACELOOP_LLAMA_INDEX,
    ),
    Discriminator("Traceloop", "tool.name", {"*": "tool"}, _TRACELOOP_LLAMA_INDEX),
    Discriminator("Traceloop", "", {"*Agent.workflow": "agent"}, _TRACELOOP_LLAMA_INDEX),
    Discriminator(
        "Traceloop",
        "traceloop.span.kind",
        {"agent": "agent", "tool": "tool", "workflow": "plain", "task": "plain"},
    ),
    Discriminator(
        "LangSmith",
        "langsmith.span.kind",
        {
            "llm": "model",
            "tool": "tool",
            "chain": "plain",
            "prompt": "plain",
            "parser": "plain",
            "retriever": "other",
            "embedding": "other",
        },
    ),
    Discriminator(
        "MLflow",
        "mlflow.spanType",
        {
            "llm": "model",
            "chat_model": "model",
            "agent": "agent",
            "tool": "tool",
            "retriever": "other",
            "embedding": "other",
            "reranker": "other",
            "guardrail": "other",
            "evaluator": "other",
            "memory": "other",
        },
    ),
    Discriminator(
        "Vercel",
        "ai.operationId",
        {
            "ai.generatetext": "agent",
            "ai.streamtext": "agent",
            "ai.generateobject": "agent",
            "ai.streamobject": "agent",
            "ai.generatetext.dogenerate": "model",
            "ai.streamtext.dostream": "model",
            "ai.generateobject.dogenerate": "model",
            "ai.streamobject.dostream": "model",
            "ai.toolcall": "tool",
            "ai.embed": "other",
            "ai.embed.doembed": "other",
            "ai.embedmany": "other",
            "ai.embedmany.doembed": "other",
        },
    ),
    Discriminator("Google ADK", "", {"execute_tool (merged": "plain"}, ("gcp.vertex.agent",)),
    Discriminator("CrewAI", "", {"tool failure": "plain"}, ("crewai",)),
    Discriminator("OTel GenAI", "gen_ai.operation.name", _OPERATIONS),
    Discriminator("Traceloop", "llm.request.type", {"chat": "model", "completion": "model"}),
    Discriminator(
        "Google ADK", "", {"call_llm": "model", "agent_run": "agent"}, ("gcp.vertex.agent",)
    ),
    Discriminator(
        "Pydantic AI",
        "",
        {
            "agent run": "agent",
            "chat ": "model",
            "running tool": "tool",
            "running tools": "plain",
        },
        ("pydantic-ai",),
    ),
    Discriminator("Laminar", "lmnr.span.type", {"llm": "model", "tool": "tool"}),
    Discriminator(
        "Genkit", "genkit:metadata:subtype", {"model": "model", "tool": "tool", "agent": "agent"}
    ),
)
"""In the order they are tried."""

_TOOL_KEYS: Final = ("gen_ai.tool.name", "gen_ai.tool.call.id", "tool.name")
_MODEL_KEYS: Final = (
    "gen_ai.prompt.0.role",
    "gen_ai.completion.0.role",
    "gen_ai.completion.0.content",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "llm.input_messages.0.message.role",
    "llm.output_messages.0.message.role",
)
_MESSAGE_EVENTS: Final = ("gen_ai.choice", "gen_ai.user.message", "gen_ai.content.completion")


def step_kind(span: ForeignSpan) -> tuple[StepKind, str]:
    """Return what kind of step a span is, and the dialect that says so (empty for none)."""
    for discriminator in DISCRIMINATORS:
        if discriminator.scopes and not span.scope.startswith(discriminator.scopes):
            continue
        kind = _told(discriminator, span)
        if kind is not None:
            return kind, discriminator.dialect
    attributes = span.attributes
    if any(key in attributes for key in _TOOL_KEYS):
        return "tool", "OTel GenAI"
    if any(key in attributes for key in _MODEL_KEYS):
        return "model", "OTel GenAI"
    if any(event.name in _MESSAGE_EVENTS for event in span.events):
        return "model", "OTel GenAI"
    return "plain", ""


def _told(discriminator: Discriminator, span: ForeignSpan) -> StepKind | None:
    if discriminator.key:
        said = _word(span.attributes.get(discriminator.key))
        known = discriminator.kinds
        return None if said is None else known.get(said, known.get("*"))
    fitting = [text for text in discriminator.kinds if _is_named(span, text)]
    return discriminator.kinds[max(fitting, key=len)] if fitting else None


def _is_named(span: ForeignSpan, text: str) -> bool:
    return span.name.endswith(text[1:]) if text[:1] == "*" else span.name.startswith(text)


def _word(value: Json) -> str | None:
    # MLflow writes every value as JSON, so words stand in quotes.
    return value.strip('"').lower() if isinstance(value, str) else None
