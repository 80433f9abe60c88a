"""Count spans, model calls, tool calls and failures in files of spans, from raw bytes alone."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple


class SpanCounts(NamedTuple):
    """Numbers of one OpenTelemetry trace.

    Attributes:
        spans: All spans in it.
        agents: Spans of agents, those included that only hold other agents.
        models: Spans of model calls, of nested ones only the innermost.
        tools: Spans of tools, handoffs included.
        errors: Of those, the failed ones.
        input_tokens: Of the model calls counted; None where no span says.
    """

    trace: str
    spans: int
    agents: int
    models: int
    tools: int
    errors: int
    input_tokens: int | None


class Raw(NamedTuple):
    """What is looked at of one span."""

    trace: str
    id: str
    parent: str | None
    name: str
    facts: dict[str, Any]
    is_failed: bool
    bodies: list[Any]


def count(path: Path) -> list[SpanCounts]:
    """Count in a file, by OpenTelemetry trace."""
    traces: dict[str, list[Raw]] = defaultdict(list)
    for raw in _spans(json.loads(path.read_text("utf-8"))):
        traces[raw.trace].append(raw)
    return [_counted(trace, spans) for trace, spans in sorted(traces.items())]


def _counted(trace: str, spans: list[Raw]) -> SpanCounts:
    kinds = {raw.id: kind_of(raw) for raw in spans}
    parents = {raw.id: raw.parent for raw in spans}
    outer: set[str] = set()
    for raw in spans:
        if kinds[raw.id] == "model":
            above = raw.parent
            while above in kinds and kinds[above] not in ("tool", "agent"):
                if kinds[above] == "model":
                    outer.add(above)
                above = parents[above]
    models = [raw for raw in spans if kinds[raw.id] == "model" and raw.id not in outer]
    tools = [raw for raw in spans if kinds[raw.id] == "tool"]
    tokens = [n for raw in models if (n := _tokens(raw.facts)) is not None]
    return SpanCounts(
        trace,
        len(spans),
        sum(kind == "agent" for kind in kinds.values()),
        len(models),
        len(tools),
        sum(raw.is_failed or "error.type" in raw.facts for raw in tools),
        sum(tokens) if tokens else None,
    )


def kind_of(raw: Raw) -> str:
    facts = raw.facts
    said = facts.get("openinference.span.kind")
    if said is not None:
        return {"LLM": "model", "AGENT": "agent", "TOOL": "tool"}.get(said, "")
    operation = facts.get("ai.operationId")
    if operation is not None:
        if operation.endswith((".doGenerate", ".doStream")):
            return "model"
        return "agent" if operation.startswith(("ai.generate", "ai.stream")) else ""
    operation = facts.get("gen_ai.operation.name")
    if operation is not None:
        kinds = {"chat": "model", "generate_content": "model", "invoke_agent": "agent"}
        return {"execute_tool": "tool", "agent_handoff": "tool", **kinds}.get(operation, "")
    if raw.name == "call_llm" or facts.get("llm.request.type") == "chat":
        return "model"
    for body in raw.bodies:
        answer = body["output"]["messages"][0]["content"]
        if '"generations"' in answer:
            return "model"
        if '"tool_call_id"' in answer:
            return "tool"
    return ""


def _tokens(facts: dict[str, Any]) -> int | None:
    for key in (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
    ):
        if key in facts:
            return int(facts[key])
    return None


def _spans(document: Any) -> list[Raw]:
    if isinstance(document, dict) and "data" in document:
        return [_jaeger(span) for trace in document["data"] for span in trace["spans"]]
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list)]
        document = [item for items in lists for item in items]
    return [_plain(span) for span in document]


def _jaeger(span: dict[str, Any]) -> Raw:
    facts = {tag["key"]: tag["value"] for tag in span["tags"]}
    parents = [r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"]
    return Raw(
        span["traceID"],
        span["spanID"],
        parents[0] if parents else None,
        span["operationName"],
        facts,
        facts.get("otel.status_code") == "ERROR",
        [],
    )


def _plain(span: dict[str, Any]) -> Raw:
    context = span.get("spanContext")
    events = span.get("span_events", [])
    return Raw(
        span["trace_id"] if context is None else context["traceId"],
        span["span_id"] if context is None else context["spanId"],
        span.get("parent_span_id"),
        span["name"],
        span["attributes"],
        span["status"]["code"] in ("ERROR", 2),
        [event["body"] for event in events if "body" in event],
    )
