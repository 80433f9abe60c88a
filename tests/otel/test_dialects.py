"""The same run as each dialect would write it, by its reference: a model asks, a tool answers.

Which of them were also read from bytes of their real producers is told in docs/spans.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.otel import ForeignLog, ForeignSpan, assemble
from tracedance_sdk.otel.dialects.facts import PLACES
from tracedance_sdk.otel.dialects.kinds import DISCRIMINATORS
from tracedance_sdk.otel.foreign import SpanEvent
from tracedance_sdk.trace import Trace

OTEL = "0a" * 16


class Written(NamedTuple):
    """A run in one dialect: attributes and events of its four spans, by the end of the scope.

    Attributes:
        scope: Instrumentation scope.
        agent: Name and attributes of the agent's span.
        asking: Of the model call that asks for the tool.
        tool: Of the tool's span.
        events: Events of the model call and of the tool.
    """

    scope: str
    agent: tuple[str, dict[str, Any]]
    asking: tuple[str, dict[str, Any]]
    tool: tuple[str, dict[str, Any]]
    events: tuple[tuple[SpanEvent, ...], tuple[SpanEvent, ...]] = ((), ())


def j(value: Any) -> str:
    return json.dumps(value)


def event(name: str, **attributes: Any) -> SpanEvent:
    return SpanEvent(name, 1, {key.replace("__", "."): v for key, v in attributes.items()})


USER = {"role": "user", "content": "Weather in Rome?"}
CHAT_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "look", "arguments": '{"at":"Rome"}'},
}
CHAT_REPLY = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
ARGUMENTS = {"at": "Rome"}
OTEL_IN = [{"role": "user", "parts": [{"type": "text", "content": "Weather in Rome?"}]}]
OTEL_CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": ARGUMENTS}
OTEL_OUT = [{"role": "assistant", "parts": [OTEL_CALL], "finish_reason": "tool_call"}]
USED = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3}

OI_CALL = "llm.output_messages.0.message.tool_calls.0.tool_call"
VERCEL_IN = [{"role": "user", "content": [{"type": "text", "text": "Weather in Rome?"}]}]
VERCEL_CALL = {"toolCallId": "c1", "toolName": "look", "input": j(ARGUMENTS)}


def langchain(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", kind], "kwargs": kwargs}


LANGCHAIN_IN = {"messages": [langchain("HumanMessage", content="Weather in Rome?")]}
LANGCHAIN_REPLY = langchain(
    "AIMessage", content="", tool_calls=[{"id": "c1", "name": "look", "args": ARGUMENTS}]
)
LANGCHAIN_OUT = {
    "generations": [[{"text": "", "finish_reason": "tool_call", "message": LANGCHAIN_REPLY}]]
}
CHOICES = [{"index": 0, "finish_reason": "tool_call", "message": CHAT_REPLY}]
ADK_IN = {"model": "m", "contents": [{"role": "user", "parts": [{"text": "Weather in Rome?"}]}]}
ADK_CALL = {"function_call": {"id": "c1", "name": "look", "args": ARGUMENTS}}
ADK_OUT = {"content": {"role": "model", "parts": [ADK_CALL]}, "finish_reason": "tool_call"}
BEDROCK_CALL = {"toolUse": {"toolUseId": "c1", "name": "look", "input": ARGUMENTS}}
RUNS = {
    "OTel GenAI": Written(
        "lib",
        ("invoke_agent w", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w"}),
        (
            "chat m",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m",
                "gen_ai.provider.name": "openai",
                "gen_ai.input.messages": j(OTEL_IN),
                "gen_ai.output.messages": j(OTEL_OUT),
                "gen_ai.conversation.id": "s1",
                **USED,
            },
        ),
        (
            "execute_tool look",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "look",
                "gen_ai.tool.call.id": "c1",
                "gen_ai.tool.call.arguments": j(ARGUMENTS),
                "gen_ai.tool.call.result": "rain",
            },
        ),
    ),
    "OTel GenAI, old": Written(
        "lib",
        ("invoke_agent w", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w"}),
        (
            "chat m",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "gen_ai.conversation.id": "s1",
                "gen_ai.usage.prompt_tokens": 7,
                "gen_ai.usage.completion_tokens": 3,
            },
        ),
        ("execute_tool look", {"gen_ai.operation.name": "execute_tool"}),
        (
            (
                event("gen_ai.user.message", content="Weather in Rome?"),
                event("gen_ai.choice", index=0, finish_reason="tool_call", message=j(CHAT_REPLY)),
            ),
            (),
        ),
    ),
    "OpenInference": Written(
        "openinference.instrumentation.x",
        ("w", {"openinference.span.kind": "AGENT", "agent.name": "w", "session.id": "s1"}),
        (
            "llm",
            {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m",
                "llm.system": "openai",
                "llm.finish_reason": "tool_call",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.contents.0.message_content.type": "text",
                "llm.input_messages.0.message.contents.0.message_content.text": "Weather in Rome?",
                "llm.output_messages.0.message.role": "assistant",
                f"{OI_CALL}.id": "c1",
                f"{OI_CALL}.function.name": "look",
                f"{OI_CALL}.function.arguments": j(ARGUMENTS),
                "llm.token_count.prompt": 7,
                "llm.token_count.completion": 3,
            },
        ),
        (
            "look",
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "look",
                "tool.id": "c1",
                "input.value": j(ARGUMENTS),
                "input.mime_type": "application/json",
                "output.value": "rain",
            },
        ),
    ),
    "Traceloop before 0.55": Written(
        "opentelemetry.instrumentation.openai.v1",
        (
            "w.agent",
            {
                "traceloop.span.kind": "agent",
                "traceloop.entity.name": "w",
                "traceloop.association.properties.session_id": "s1",
            },
        ),
        (
            "openai.chat",
            {
                "llm.request.type": "chat",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Weather in Rome?",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.finish_reason": "tool_call",
                "gen_ai.completion.0.tool_calls.0.id": "c1",
                "gen_ai.completion.0.tool_calls.0.name": "look",
                "gen_ai.completion.0.tool_calls.0.arguments": j(ARGUMENTS),
                "gen_ai.usage.prompt_tokens": 7,
                "gen_ai.usage.completion_tokens": 3,
            },
        ),
        (
            "look.tool",
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "look",
                "traceloop.entity.input": j(
                    {"input_str": "{'at': 'Rome'}", "tags": [], "metadata": {}, "kwargs": {}}
                ),
                "traceloop.entity.output": j(
                    {"output": {"content": "rain", "tool_call_id": "c1"}, "kwargs": {}}
                ),
            },
        ),
    ),
    "Langfuse": Written(
        "langfuse-sdk",
        ("w", {"langfuse.observation.type": "agent", "session.id": "s1", "gen_ai.agent.name": "w"}),
        (
            "llm",
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.model.name": "m",
                "gen_ai.system": "openai",
                "langfuse.observation.input": j([USER]),
                "langfuse.observation.output": j({**CHAT_REPLY, "finish_reason": "tool_call"}),
                "langfuse.observation.usage_details": j({"input": 7, "output": 3}),
            },
        ),
        (
            "look",
            {
                "langfuse.observation.type": "tool",
                "langfuse.observation.input": j(ARGUMENTS),
                "langfuse.observation.output": "rain",
            },
        ),
    ),
    "Pydantic AI 1": Written(
        "pydantic-ai",
        ("agent run", {"agent_name": "w", "gen_ai.conversation.id": "s1"}),
        (
            "chat m",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "events": j(
                    [
                        {"event.name": "gen_ai.user.message", **USER},
                        {
                            "event.name": "gen_ai.choice",
                            "message": CHAT_REPLY,
                            "finish_reason": "tool_call",
                        },
                    ]
                ),
                **USED,
            },
        ),
        (
            "running tool: look",
            {
                "gen_ai.tool.name": "look",
                "gen_ai.tool.call.id": "c1",
                "tool_arguments": j(ARGUMENTS),
                "tool_response": "rain",
            },
        ),
    ),
    "Vercel": Written(
        "ai",
        (
            "ai.generateText",
            {
                "ai.operationId": "ai.generateText",
                "ai.telemetry.functionId": "w",
                "ai.telemetry.metadata.sessionId": "s1",
            },
        ),
        (
            "ai.generateText.doGenerate",
            {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.model.id": "m",
                "ai.model.provider": "openai",
                "ai.prompt.messages": j(VERCEL_IN),
                "ai.response.toolCalls": j([VERCEL_CALL]),
                "ai.response.finishReason": "tool_call",
                "ai.usage.promptTokens": 7,
                "ai.usage.completionTokens": 3,
            },
        ),
        (
            "ai.toolCall",
            {
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "look",
                "ai.toolCall.id": "c1",
                "ai.toolCall.args": j(ARGUMENTS),
                "ai.toolCall.result": j("rain"),
            },
        ),
    ),
    "LangSmith": Written(
        "langsmith",
        (
            "w",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "w",
                "langsmith.metadata.thread_id": "s1",
            },
        ),
        (
            "llm",
            {
                "langsmith.span.kind": "llm",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "gen_ai.prompt": j(LANGCHAIN_IN),
                "gen_ai.completion": j(LANGCHAIN_OUT),
                **USED,
            },
        ),
        (
            "look",
            {
                "langsmith.span.kind": "tool",
                "gen_ai.tool.name": "look",
                "gen_ai.prompt": j({"input_str": j(ARGUMENTS)}),
                "gen_ai.completion": j({"output": {"content": "rain", "tool_call_id": "c1"}}),
            },
        ),
    ),
    "MLflow": Written(
        "",
        ("w", {"mlflow.spanType": '"AGENT"', "gen_ai.agent.name": "w", "session.id": "s1"}),
        (
            "llm",
            {
                "mlflow.spanType": '"CHAT_MODEL"',
                "mlflow.llm.model": '"m"',
                "mlflow.llm.provider": '"openai"',
                "mlflow.spanInputs": j({"messages": [USER], "model": "m"}),
                "mlflow.spanOutputs": j({"choices": CHOICES}),
                "mlflow.chat.tokenUsage": j({"input_tokens": 7, "output_tokens": 3}),
            },
        ),
        (
            "look",
            {
                "mlflow.spanType": '"TOOL"',
                "mlflow.spanFunctionName": '"look"',
                "mlflow.spanInputs": j(ARGUMENTS),
                "mlflow.spanOutputs": '"rain"',
            },
        ),
    ),
    "Google ADK 1": Written(
        "gcp.vertex.agent",
        ("agent_run [w]", {"gen_ai.agent.name": "w"}),
        (
            "call_llm",
            {
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "gcp.vertex.agent.session_id": "s1",
                "gcp.vertex.agent.llm_request": j(ADK_IN),
                "gcp.vertex.agent.llm_response": j(ADK_OUT),
                **USED,
            },
        ),
        (
            "execute_tool look",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "look",
                "gen_ai.tool.call.id": "<not specified>",
                "gcp.vertex.agent.tool_call_args": j(ARGUMENTS),
                "gcp.vertex.agent.tool_response": j("rain"),
            },
        ),
    ),
    "Strands": Written(
        "strands.telemetry.tracer",
        (
            "invoke_agent w",
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w", "session.id": "s1"},
        ),
        (
            "chat",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                **USED,
            },
        ),
        (
            "execute_tool look",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "look",
                "gen_ai.tool.call.id": "c1",
                "gen_ai.tool.status": "success",
            },
        ),
        (
            (
                event("gen_ai.user.message", content=j([{"text": "Weather in Rome?"}])),
                event(
                    "gen_ai.choice",
                    finish_reason="tool_call",
                    message=j([BEDROCK_CALL]),
                ),
            ),
            (
                event("gen_ai.tool.message", role="tool", content=j(ARGUMENTS), id="c1"),
                event("gen_ai.choice", message="rain", id="c1"),
            ),
        ),
    ),
}


def spans_of(run: Written) -> list[ForeignSpan]:
    found = []
    for number, (name, attributes) in enumerate((run.agent, run.asking, run.tool), 1):
        events = ((), *run.events)[number - 1]
        found.append(
            ForeignSpan(
                name,
                OTEL,
                f"{number:016x}",
                None if number == 1 else f"{1:016x}",
                1,
                number * 10**9,
                10**11 if number == 1 else number * 10**9 + 5,
                attributes,
                events=events,
                scope=run.scope,
            )
        )
    return found


@pytest.mark.parametrize("dialect", RUNS)
def test_a_run_is_the_same_in_every_dialect(dialect: str) -> None:
    [trace] = assemble(spans_of(RUNS[dialect]))
    assert (trace.agent.name, trace.session_id) == ("w", "s1")
    user, assistant = trace.turns
    assert (user.role, user.text) == ("user", "Weather in Rome?")
    assert (assistant.model, assistant.finish_reason) == ("m", "tool_call")
    assert (assistant.model_extra or {})["provider"] == "openai"
    assert assistant.usage is not None
    assert (assistant.usage.input_tokens, assistant.usage.output_tokens) == (7, 3)
    [call] = trace.calls
    assert (call.id, call.name, call.arguments) == ("c1", "look", ARGUMENTS)
    assert call.result is not None
    if "old" in dialect:
        assert call.result.ok is True
        return
    assert (call.result.ok, call.result.content) == (True, "rain")


def test_the_page_names_every_dialect_of_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "spans.md").read_text("utf-8")
    dialects = {item.dialect for item in DISCRIMINATORS}
    dialects |= {place.dialect for places in PLACES.values() for place in places}
    assert {name for name in dialects if name.removesuffix(" SDK") not in page} == set()


FAILURES = {
    "status": ({}, True, ()),
    "error type": ({"error.type": "ValueError"}, False, ()),
    "exception with status": ({}, True, (event("exception", exception__type="ValueError"),)),
    "Langfuse": ({"langfuse.observation.level": "ERROR"}, False, ()),
    "Strands": ({"gen_ai.tool.status": "error"}, False, ()),
    "CrewAI": ({"crewai.tool.failure.kind": "x"}, False, ()),
    "MCP": ({"gen_ai.tool.call.result": j({"isError": True, "content": []})}, False, ()),
    "Bedrock": ({"gen_ai.tool.call.result": j({"toolResult": {"status": "error"}})}, False, ()),
}
SUCCESSES = {
    "nothing": ({}, ()),
    "handled exception": ({}, (event("exception", exception__type="ValueError"),)),
    "a key called error": ({"gen_ai.tool.call.result": j({"error": "none found"})}, ()),
}


def tool_with(attributes: dict[str, Any], *, failed: bool, events: Any) -> Trace:
    agent, _, tool = spans_of(RUNS["OTel GenAI"])
    facts = {**tool.attributes, **attributes}
    [trace] = assemble([agent, tool._replace(attributes=facts, failed=failed, events=events)])
    return trace


@pytest.mark.parametrize("way", FAILURES)
def test_every_way_to_say_that_a_tool_failed_is_heard(way: str) -> None:
    attributes, failed, events = FAILURES[way]
    [call] = tool_with(attributes, failed=failed, events=events).calls
    assert call.failed


@pytest.mark.parametrize("way", SUCCESSES)
def test_what_is_no_failure_is_none(way: str) -> None:
    attributes, events = SUCCESSES[way]
    [call] = tool_with(attributes, failed=False, events=events).calls
    assert call.result is not None
    assert call.result.ok is True


def test_what_was_switched_off_is_no_value() -> None:
    agent, asking, tool = spans_of(RUNS["OTel GenAI"])
    off = {key: "__REDACTED__" for key in asking.attributes if key.endswith("messages")}
    elided = {"gen_ai.tool.call.arguments": "<elided>", "gen_ai.tool.call.result": "[REDACTED]"}
    [trace] = assemble(
        [
            agent,
            asking._replace(attributes=asking.attributes | off),
            tool._replace(attributes=tool.attributes | elided),
        ]
    )
    [call] = trace.calls
    assert call.result is not None
    assert (str(call.arguments), str(call.result.content)) == ("Unknown.UNKNOWN",) * 2
    assert [turn.content for turn in trace.turns] == [()]
    assert trace.fidelity.count("content_off") >= 4
    assert "grading" not in trace.fidelity.fit_for


def test_json_that_was_cut_is_kept_as_text_and_noted() -> None:
    agent, asking, _ = spans_of(RUNS["OTel GenAI"])
    cut = {"gen_ai.input.messages": asking.attributes["gen_ai.input.messages"][:-9]}
    [trace] = assemble([agent, asking._replace(attributes=asking.attributes | cut)])
    assert trace.fidelity.count("result_truncated") == 1
    [turn] = trace.turns
    assert (turn.model_extra or {})["otel"]["spans"][0]["attributes"] == cut


def test_a_model_called_inside_a_tool_is_not_the_agents_turn() -> None:
    agent, asking, tool = spans_of(RUNS["OTel GenAI"])
    inside = asking._replace(span_id="f" * 16, parent_id=tool.span_id, start_ns=tool.start_ns + 1)
    outer, inner = assemble([agent, asking, tool, inside])
    assert len([turn for turn in outer.turns if turn.role == "assistant"]) == 1
    assert inner.parent is not None
    assert (inner.parent.trace_id, inner.parent.call_id) == (outer.id, "c1")
    assert [turn.model for turn in inner.turns] == [None, "m"]


def test_grades_come_along() -> None:
    agent, asking, _ = spans_of(RUNS["OTel GenAI"])
    grade = {"gen_ai.evaluation.name": "judge", "gen_ai.evaluation.score.value": 0.5}
    log = ForeignLog(OTEL, asking.span_id, SpanEvent("gen_ai.evaluation.result", 5, grade))
    flat = {"annotations.0.annotation.name": "kind", "annotations.0.annotation.score": 1}
    [trace] = assemble([agent._replace(attributes=agent.attributes | flat), asking, log])
    assert trace.metadata["annotations"] == snapshot(
        [
            {"annotation": {"name": "kind", "score": 1}},
            {"gen_ai.evaluation.name": "judge", "gen_ai.evaluation.score.value": 0.5},
        ]
    )


def test_facts_of_several_dialects_on_one_span_complete_each_other() -> None:
    agent, asking, _ = spans_of(RUNS["OpenInference"])
    more = {"operation.cost": 0.25, "gen_ai.usage.cache_read.input_tokens": 5, "my.own": [1]}
    [trace] = assemble([agent, asking._replace(attributes=asking.attributes | more)])
    turn = trace.turns[1]
    assert turn.usage is not None
    assert (turn.usage.cost_usd, turn.usage.cache_read_tokens, turn.usage.input_tokens) == (
        0.25,
        5,
        7,
    )
    assert (turn.model_extra or {})["otel"]["spans"][0]["attributes"]["my.own"] == [1]
