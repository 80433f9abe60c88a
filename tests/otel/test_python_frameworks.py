"""What Python's agent frameworks write of a run, on plain rows, fact by fact.

The frameworks themselves are run in tests/frameworks; these rows are what they wrote there.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracedance_sdk.otel import ForeignSpan, assemble
from tracedance_sdk.trace import UNKNOWN, Trace

OI = "openinference.instrumentation"
LLAMA = f"{OI}.llama_index"
SMOL = f"{OI}.smolagents"
TRACELOOP = "opentelemetry.instrumentation.llamaindex"
AGENT = {"openinference.span.kind": "AGENT"}
MODEL = {"openinference.span.kind": "LLM"}
TOOL = {"openinference.span.kind": "TOOL"}
CHAIN = {"openinference.span.kind": "CHAIN"}
CALL = {"type": "function", "id": "c1", "function": {"name": "look", "arguments": '{"at":"Rome"}'}}
ASKED = "llm.output_messages.0.message.tool_calls.0.tool_call"
USER = {"role": "user", "parts": [{"type": "text", "content": "Look."}]}


def j(value: Any) -> str:
    return json.dumps(value)


def span(
    number: int, name: str, attributes: dict[str, Any], *, parent: int = 0, scope: str = OI
) -> ForeignSpan:
    return ForeignSpan(
        name,
        "0a" * 16,
        f"{number:016x}",
        f"{parent:016x}" if parent else None,
        1,
        number * 10**9,
        number * 10**9 + 5 * 10**8,
        attributes,
        scope=scope,
    )


def heard(*messages: tuple[str, str]) -> dict[str, Any]:
    """Return the attributes of a request with these messages, by role and text."""
    found: dict[str, Any] = {}
    for number, (role, text) in enumerate(messages):
        start = f"llm.input_messages.{number}.message"
        found |= {f"{start}.role": role, f"{start}.content": text}
    return found


def asking(name: str = "look", call_id: str = "c1", arguments: Any = None) -> dict[str, Any]:
    return {
        "llm.output_messages.0.message.role": "assistant",
        f"{ASKED}.id": call_id,
        f"{ASKED}.function.name": name,
        f"{ASKED}.function.arguments": j(arguments or {"at": "Rome"}),
    }


def saying(text: str) -> dict[str, Any]:
    return {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": text,
    }


def lines(trace: Trace) -> list[tuple[str, str, str]]:
    return [(turn.role, turn.origin, turn.text) for turn in trace.turns]


def notes(trace: Trace) -> set[str]:
    return {note.kind for note in trace.fidelity.notes} - {
        "initial_state_unknown",
        "final_state_unknown",
    }


SCHEMA = j({"properties": {"at": {"type": "string"}, "unit": {"type": "string"}}})
ARGUMENTS = {
    "as they are": ({"at": "Rome"}, None, {"at": "Rome"}),
    "named": ({"kwargs": {"at": "Rome"}}, SCHEMA, {"at": "Rome"}),
    "named, with the framework's own": (
        {"args": [], "kwargs": {"at": "Rome"}, "sanitize_inputs_outputs": True},
        None,
        {"at": "Rome"},
    ),
    "placed": ({"args": ["Rome"], "kwargs": {}}, SCHEMA, {"at": "Rome"}),
    "placed, the schema a bare list of fields": (
        {"args": ["Rome"], "kwargs": {"unit": "C"}},
        j({"at": {"type": "string"}, "unit": {"type": "string"}}),
        {"at": "Rome", "unit": "C"},
    ),
    "placed beyond what the schema names": (
        {"args": ["Rome", "C", 1], "kwargs": {}},
        SCHEMA,
        {"args": ["Rome", "C", 1], "kwargs": {}},
    ),
    "beside an object of the framework's": (
        {"kwargs": {"at": "Rome", "ctx": "<workflows.context.Context object at 0x7f19095b6990>"}},
        SCHEMA,
        {"at": "Rome"},
    ),
    "a parameter that has this name": (
        {"kwargs": {"a": 1}},
        j({"properties": {"kwargs": {"type": "object"}}}),
        {"kwargs": {"a": 1}},
    ),
}


@pytest.mark.parametrize("given", ARGUMENTS)
def test_a_functions_arguments_get_their_names(given: str) -> None:
    value, schema, expected = ARGUMENTS[given]
    attributes = {**TOOL, "tool.name": "look", "input.value": j(value)}
    if schema is not None:
        attributes["tool.parameters"] = schema
    [trace] = assemble([span(1, "x", AGENT), span(2, "look", attributes, parent=1)])
    assert trace.calls[0].arguments == expected


RESULTS = {
    "LlamaIndex's object": (
        {"blocks": [], "tool_name": "look", "raw_input": {}, "raw_output": 5, "is_error": False},
        (True, 5),
    ),
    "LlamaIndex's object for a failure": (
        {"blocks": [], "tool_name": "look", "raw_input": {}, "raw_output": "no", "is_error": True},
        (False, "no"),
    ),
    "a number as JSON": (5, (True, 5)),
}


@pytest.mark.parametrize("given", RESULTS)
def test_a_result_is_what_the_tool_returned(given: str) -> None:
    value, expected = RESULTS[given]
    brought = {"output.value": j(value), "output.mime_type": "application/json"}
    [trace] = assemble([span(1, "x", AGENT), span(2, "look", {**TOOL, **brought}, parent=1)])
    result = trace.calls[0].result
    assert result is not None
    assert (result.ok, result.content) == expected
    assert (result.error is None) is result.ok


NAMES = {
    "LlamaIndex": (LLAMA, "FunctionAgent.run", CHAIN, "FunctionAgent"),
    "LlamaIndex's workflow": (LLAMA, "AgentWorkflow.run", CHAIN, "AgentWorkflow"),
    "DSPy": (f"{OI}.dspy", "ReAct.forward", CHAIN, "ReAct"),
    "DSPy, asynchronous": (f"{OI}.dspy", "ReAct.aforward", CHAIN, "ReAct"),
    "smolagents": (SMOL, "booker.run", AGENT, "booker"),
    "CrewAI": (f"{OI}.crewai", "Booker._execute_core", AGENT, "Booker"),
}


@pytest.mark.parametrize("given", NAMES)
def test_a_run_is_known_and_named_by_its_span(given: str) -> None:
    scope, name, attributes, expected = NAMES[given]
    rows = [
        span(1, name, attributes, scope=scope),
        span(2, "m", {**MODEL, **heard(("user", "Look.")), **saying("Rain.")}, parent=1),
    ]
    [trace] = assemble(rows)
    assert trace.agent.name == expected
    assert trace.outcome is not None
    assert trace.outcome.ended


def test_the_making_of_a_request_is_no_model_call() -> None:
    written = "ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[TextBlock(text='Look.')])"
    outer = {**MODEL, "input.value": j({"messages": [written, written, written]})}
    made = {**outer, "output.value": j({"messages": [written], "tools": []})}
    rows = [
        span(1, "FunctionAgent.run", CHAIN, scope=LLAMA),
        span(2, "OpenAILike._prepare_chat_with_tools", made, parent=1, scope=LLAMA),
        span(3, "OpenAILike.achat", outer, parent=1, scope=LLAMA),
        span(4, "x", {**MODEL, **heard(("user", "Look.")), **saying("Rain.")}, parent=3),
    ]
    [trace] = assemble(rows)
    assert lines(trace) == [("user", "human", "Look."), ("assistant", "agent", "Rain.")]
    assert notes(trace) == set()


def test_tasks_of_traceloop_are_the_steps_they_tell_of() -> None:
    def task(number: int, parent: int = 0, **more: Any) -> ForeignSpan:
        kind = {"traceloop.span.kind": "task", **{k.replace("__", "."): v for k, v in more.items()}}
        return span(number, "x.task", kind, parent=parent, scope=TRACELOOP)

    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "FunctionAgent.workflow",
        "traceloop.entity.output": j({"result": {"current_agent_name": "booker"}}),
    }
    told = [{"role": "assistant", "parts": [{"type": "text", "content": "I look."}]}]
    message = {"role": "assistant", "additional_kwargs": {"tool_calls": [CALL]}, "blocks": []}
    output = {
        "tool_name": "look",
        "tool_id": "c1",
        "tool_output": {"tool_name": "look", "raw_input": {}, "raw_output": 5, "is_error": False},
    }
    rows = [
        span(1, "FunctionAgent.workflow", workflow, scope=TRACELOOP),
        task(
            2,
            1,
            gen_ai__operation__name="chat",
            gen_ai__input__messages=j([USER]),
            gen_ai__output__messages=j(told),
            traceloop__entity__output=j({"message": message}),
        ),
        task(
            3,
            1,
            tool__name="look",
            tool__arguments='{"at":"Rome"}',
            traceloop__entity__output=j(output),
        ),
        task(4, 3, traceloop__entity__name="FunctionTool.task"),
    ]
    [trace] = assemble(rows)
    assert trace.agent.name == "booker"
    assert lines(trace) == [("user", "human", "Look."), ("assistant", "agent", "I look.")]
    [call] = trace.calls
    assert (call.id, call.name, call.arguments, call.bound_by) == (
        "c1",
        "look",
        {"at": "Rome"},
        "id",
    )
    assert call.result is not None
    assert call.result.content == 5


OBSERVED = "Observation:\nrain"


def test_a_step_of_smolagents_repeats_its_request_and_tells_what_it_saw() -> None:
    repeated = "Calling tools:\n" + str([{**CALL, "function": {"name": "look", "arguments": {}}}])
    opening = ("user", "New task:\nLook.")
    tool = {**TOOL, "tool.name": "look", "input.value": j({"at": "Rome"}), "output.value": "rain"}
    rows = [
        span(1, "booker.run", AGENT, scope=SMOL),
        span(2, "m", {**MODEL, **heard(opening), **asking()}, parent=1, scope=SMOL),
        span(3, "SimpleTool", tool, parent=1, scope=SMOL),
        span(
            4,
            "m",
            {
                **MODEL,
                **heard(opening, ("tool-call", repeated), ("tool-response", OBSERVED)),
                **saying("Rain."),
            },
            parent=1,
            scope=SMOL,
        ),
    ]
    [trace] = assemble(rows)
    assert lines(trace) == [
        ("user", "human", opening[1]),
        ("assistant", "agent", ""),
        ("user", "environment", OBSERVED),
        ("assistant", "agent", "Rain."),
    ]
    assert [(call.id, call.bound_by) for call in trace.calls] == [("c1", "key")]
    assert notes(trace) == {"tools_missing"}


def test_code_that_a_model_wrote_is_not_told_twice() -> None:
    run = {"name": "python_interpreter", "arguments": "look('Rome')"}
    repeated = "Calling tools:\n" + str([{**CALL, "function": run}])
    rows = [
        span(1, "coder.run", AGENT, scope=SMOL),
        span(2, "m", {**MODEL, **heard(("user", "Look.")), **saying("look('Rome')")}, parent=1),
        span(
            3,
            "m",
            {
                **MODEL,
                **heard(
                    ("user", "Look."),
                    ("assistant", "look('Rome')"),
                    ("tool-call", repeated),
                    ("tool-response", OBSERVED),
                ),
                **saying("Rain."),
            },
            parent=1,
        ),
    ]
    [trace] = assemble(rows)
    assert [line[:2] for line in lines(trace)] == [
        ("user", "human"),
        ("assistant", "agent"),
        ("user", "environment"),
        ("assistant", "agent"),
    ]
    assert trace.calls == ()


def test_a_managed_agent_is_the_run_of_the_call_by_its_name() -> None:
    rows = [
        span(1, "guide.run", AGENT, scope=SMOL),
        span(2, "m", {**MODEL, **heard(("user", "Q?")), **asking("teller")}, parent=1),
        span(3, "teller.run", AGENT, parent=1, scope=SMOL),
        span(4, "m", {**MODEL, **heard(("user", "Look.")), **saying("Rain.")}, parent=3),
        span(
            5,
            "m",
            {
                **MODEL,
                **heard(("user", "Q?"), ("tool-response", OBSERVED)),
                **saying("It rains."),
            },
            parent=1,
        ),
    ]
    guide, teller = assemble(rows)
    assert teller.parent is not None
    assert (teller.parent.trace_id, teller.parent.call_id) == (guide.id, "c1")
    # The one call that is open has the result; no turn repeats it.
    [call] = guide.calls
    assert call.result is not None
    assert (call.result.ok, call.result.content) == (None, OBSERVED)
    assert lines(guide) == [
        ("user", "human", "Q?"),
        ("assistant", "agent", ""),
        ("assistant", "agent", "It rains."),
    ]


def test_crews_and_tasks_are_structure() -> None:
    said = {"gen_ai.output.messages": j([{"role": "assistant", "parts": []}])}
    told = {"gen_ai.input.messages": j([USER]), **said}
    rows = [
        span(1, "execute crew", {"gen_ai.operation.name": "invoke_workflow", **told}),
        span(2, "execute task", {"gen_ai.operation.name": "execute_task", **told}, parent=1),
        span(3, "execute agent", {"gen_ai.operation.name": "invoke_agent", **told}, parent=2),
    ]
    [trace] = assemble(rows)
    assert trace.otel is not None
    assert trace.otel.root_span_id == f"{3:016x}"


def test_words_written_as_python_text_are_what_they_say() -> None:
    schema = {
        "type": "object",
        "properties": {"at": "{'title': 'At', 'type': 'string'}"},
        "required": ["'at'"],
    }
    tools = [{"type": "function", "function": {"name": "look", "parameters": schema}}]
    again = "llm.input_messages.1.message"
    repeated = {
        f"{again}.role": "assistant",
        f"{again}.tool_calls.0.tool_call.id": "c1",
        f"{again}.tool_calls.0.tool_call.function.name": "'look'",
        f"{again}.tool_calls.0.tool_call.function.arguments": '{"at":"Rome"}',
    }
    # An answer that is nothing but requests is their list, without a message around it.
    answer = {**MODEL, "llm.tools": j(tools), "output.value": j([CALL])}
    rows = [
        span(1, "a", AGENT),
        span(2, "m", {**answer, **heard(("user", "Look."))}, parent=1),
        span(3, "look.run", {**TOOL, "input.value": '{"at":"Rome"}'}, parent=1),
        span(
            4, "m", {**MODEL, **heard(("user", "Look.")), **repeated, **saying("Rain.")}, parent=1
        ),
    ]
    [trace] = assemble([*rows[:2], rows[2]._replace(name="look"), rows[3]])
    assert [(call.id, call.name, call.bound_by) for call in trace.calls] == [("c1", "look", "key")]
    assert trace.tools[0].parameters == {
        "type": "object",
        "properties": {"at": {"title": "At", "type": "string"}},
        "required": ["at"],
    }
    assert notes(trace) == set()


def test_the_output_of_a_task_of_crewai_tells_its_whole_run() -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    more = {**CALL, "id": "c2", "function": {"name": "look", "arguments": '{"at":"Bari"}'}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look."},
        asked,
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {**asked, "tool_calls": [more]},
        {"role": "tool", "tool_call_id": "c2", "content": "sun"},
    ]
    output = {"description": "Look.", "messages": messages, "raw": "Both."}
    brought = {"output.value": j(output), "output.mime_type": "application/json"}
    rows = [span(1, "B._execute_core", {**AGENT, **brought}, scope=f"{OI}.crewai")]
    for number, at in ((2, "Rome"), (3, "Bari")):
        called = {**TOOL, "tool.name": "look", "input.value": j({"at": at}), "output.value": at}
        rows.append(span(number, "look.run", called, parent=1))
    [trace] = assemble(rows)
    assert trace.system_prompt == "Be brief."
    assert [turn.text for turn in trace.turns] == ["Look.", "", "", "Both."]
    # Requests of every turn are found: all of them were told before the first execution.
    assert [
        (call.id, call.bound_by, call.result and call.result.content) for call in trace.calls
    ] == [
        ("c1", "key", "Rome"),
        ("c2", "key", "Bari"),
    ]


def test_requests_beside_the_messages_of_litellm_get_the_ids_of_their_results() -> None:
    chat = {"gen_ai.operation.name": "chat"}
    first = {
        **chat,
        "gen_ai.input.messages": j([USER]),
        "gen_ai.output.messages": j([{"role": "assistant", "parts": [], "finish_reason": "x"}]),
        "gen_ai.completion.0.function_call.name": "look",
        "gen_ai.completion.0.function_call.arguments": '{"at":"Rome"}',
        "gen_ai.completion.1.function_call.name": "look",
        "gen_ai.completion.1.function_call.arguments": '{"at":"Bari"}',
    }
    more = {**CALL, "id": "c2"}
    history = [
        USER,
        {"role": "assistant", "parts": [], "tool_calls": [CALL, more]},
        {"role": "tool", "tool_call_id": "c1", "parts": [{"type": "text", "content": "rain"}]},
        {"role": "tool", "tool_call_id": "c2", "parts": [{"type": "text", "content": "sun"}]},
    ]
    second = {**chat, "gen_ai.input.messages": j(history)}
    [trace] = assemble(
        [
            span(1, "desk", {}, scope="mine"),
            span(2, "chat m", first, parent=1, scope="litellm"),
            span(3, "chat m", second, parent=1, scope="litellm"),
        ]
    )
    assert [
        (call.id, call.arguments, call.result and call.result.content) for call in trace.calls
    ] == [("c1", {"at": "Rome"}, "rain"), ("c2", {"at": "Bari"}, "sun")]
    assert trace.turns[1].finish_reason == "x"


def test_a_tool_with_a_title_answers_the_request_under_its_functions_name() -> None:
    asked = asking("ask_a_colleague", arguments={"q": 1})
    tool = {**TOOL, "tool.name": "Ask a colleague", "input.value": j({"q": 1})}
    rows = [
        span(1, "a", AGENT),
        span(2, "m", {**MODEL, **heard(("user", "Look.")), **asked}, parent=1),
        span(3, "Ask a colleague.run", tool, parent=1),
    ]
    [trace] = assemble(rows)
    assert [(call.id, call.name, call.bound_by) for call in trace.calls] == [
        ("c1", "ask_a_colleague", "key")
    ]


def test_a_tool_that_says_it_failed_and_nothing_else_is_told_by_its_result() -> None:
    output = {"tool_name": "look", "raw_input": {}, "raw_output": "no seats", "is_error": True}
    brought = {"output.value": j(output), "output.mime_type": "application/json"}
    [trace] = assemble([span(1, "a", AGENT), span(2, "look", {**TOOL, **brought}, parent=1)])
    result = trace.calls[0].result
    assert result is not None
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("_OTHER", "no seats")
    assert result.content is not UNKNOWN


def test_empty_words_are_no_words() -> None:
    part = "llm.output_messages.0.message.contents.0.message_content"
    empty = {f"{part}.type": "text", f"{part}.text": ""}
    rows = [span(1, "m", {**MODEL, **heard(("user", "Look.")), **asking(), **empty})]
    [trace] = assemble(rows)
    assert trace.turns[-1].content == ()
    assert [call.id for call in trace.calls] == ["c1"]
