"""What single frameworks do in their spans, met in runs of the real ones (tests/frameworks)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracedance_sdk.otel import ForeignSpan, assemble
from tracedance_sdk.otel.foreign import SpanEvent
from tracedance_sdk.trace import Turn

OTEL = "0c" * 16


def span(
    number: int, attributes: dict[str, Any], *, parent: int | None = 1, **fields: Any
) -> ForeignSpan:
    """Return a span of a second that begins at the second of its number, unless told otherwise."""
    start, end = fields.pop("seconds", (number, number + 1))
    return ForeignSpan(
        fields.pop("name", f"span {number}"),
        OTEL,
        f"{number:016x}",
        None if parent is None else f"{parent:016x}",
        1,
        start * 10**9,
        end * 10**9,
        attributes,
        **fields,
    )


def agent(number: int = 1, *, parent: int | None = None, **fields: Any) -> ForeignSpan:
    attributes = {"gen_ai.operation.name": "invoke_agent", **fields.pop("attributes", {})}
    return span(number, attributes, parent=parent, **{"seconds": (1, 90), **fields})


def answer(*messages: Any) -> Turn:
    written = json.dumps([{"role": "assistant", **message} for message in messages])
    said = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": written}
    [trace] = assemble([agent(), span(2, said)])
    [turn] = trace.turns
    return turn


def text(words: str) -> dict[str, str]:
    return {"type": "text", "content": words}


def asking(arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": "look", "arguments": arguments}


CHUNKED = {
    "the whole at the end": (
        {"parts": [text("It is")], "finish_reason": ""},
        {"parts": [text(" clear.")], "finish_reason": ""},
        {"parts": [text("It is clear."), asking({"at": "Rome"})], "finish_reason": "stop"},
    ),
    "a piece at the end": (
        {"parts": [text("It is"), asking(None)], "finish_reason": ""},
        {"parts": [text(" clear."), asking({"at": "Rome"})], "finish_reason": "stop"},
    ),
}


@pytest.mark.parametrize("way", CHUNKED)
def test_chunks_of_a_streamed_answer_are_one_answer(way: str) -> None:
    turn = answer(*CHUNKED[way])
    assert "".join(turn.text.split("\n")) == "It is clear."
    assert [(c.id, c.name, c.arguments) for c in turn.calls] == [("c1", "look", {"at": "Rome"})]
    assert turn.finish_reason == "stop"
    assert "other_choices" not in (turn.model_extra or {})


def test_choices_that_each_end_stay_choices() -> None:
    turn = answer(
        {"parts": [text("Yes.")], "finish_reason": "stop"},
        {"parts": [text("No.")], "finish_reason": "length"},
    )
    assert (turn.text, (turn.model_extra or {})["other_choices"]) == ("Yes.", ["No."])


RAISED = {"exception.type": "app.NoSeats", "exception.message": "no seats left"}


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("NoSeats: no seats left", "no seats left"),
        ("app.NoSeats: no seats left", "no seats left"),
        ("NoSeats('no seats left')", "no seats left"),
        ("the train is full", "the train is full"),
        ("", "no seats left"),
    ],
)
def test_an_errors_message_does_not_repeat_its_type(status: str, told: str) -> None:
    tool = span(
        2,
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"},
        failed=True,
        message=status,
        events=(SpanEvent("exception", 1, RAISED),),
    )
    [trace] = assemble([agent(), tool])
    [call] = trace.calls
    assert call.result is not None
    assert call.result.error is not None
    assert (call.result.error.type, call.result.error.message) == ("app.NoSeats", told)


def tool(number: int, name: str, arguments: dict[str, Any], **fields: Any) -> ForeignSpan:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"c{number}",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
    }
    return span(number, attributes, **fields)


def asked(words: str) -> dict[str, Any]:
    said = [{"role": "user", "parts": [{"type": "text", "content": words}]}]
    return {"gen_ai.input.messages": json.dumps(said)}


def parents(spans: list[ForeignSpan]) -> dict[str, tuple[str, str | None] | None]:
    """Return, by the name of each agent, its caller's name and the call."""
    traces = assemble(spans)
    names = {trace.id: trace.agent.name for trace in traces}
    return {
        trace.agent.name: None
        if trace.parent is None
        else (names[trace.parent.trace_id], trace.parent.call_id)
        for trace in traces
    }


def test_an_agent_whose_span_stands_beside_the_call_that_began_it_has_that_call() -> None:
    spans = [
        agent(name="invoke_agent guide"),
        tool(2, "delegate", {"member": "a", "task": "Weather?"}, seconds=(2, 20)),
        tool(3, "delegate", {"member": "b", "task": "Weather?"}, seconds=(2, 30)),
        tool(4, "delegate", {"member": "c", "task": "Trains?"}, seconds=(2, 5)),
        tool(5, "look", {"at": "Rome"}, seconds=(2, 30)),
        agent(6, parent=1, name="a", seconds=(3, 19), attributes=asked("Weather?")),
        agent(7, parent=1, name="b", seconds=(4, 29), attributes=asked("Weather?")),
        agent(8, parent=1, name="c", seconds=(6, 9), attributes=asked("Trains?")),
        agent(9, parent=1, name="d", seconds=(6, 9), attributes=asked("Rome or Paris?")),
    ]
    assert parents(spans) == {
        "guide": None,
        "a": ("guide", "c2"),
        "b": ("guide", "c3"),
        "c": ("guide", None),
        "d": ("guide", None),
    }


@pytest.mark.parametrize("nested", [False, True])
def test_an_agent_to_which_a_conversation_is_handed_over_has_that_call(nested: bool) -> None:
    inside = 2 if nested else 1
    adk = {"scope": "gcp.vertex.agent"}
    human = asked("How is Rome?")
    spans = [
        span(1, {}, parent=None, name="invoke_workflow guide", seconds=(1, 60), **adk),
        agent(2, parent=1, name="invoke_agent guide", seconds=(2, 50 if nested else 9), **adk),
        tool(3, "transfer_to_agent", {"agent_name": "weather"}, parent=2, seconds=(3, 4), **adk),
        agent(4, parent=inside, name="invoke_agent other", seconds=(5, 6), **adk),
        agent(5, parent=inside, name="invoke_agent weather", attributes=human, seconds=(10, 49)),
        agent(6, parent=inside, name="invoke_agent weather2", attributes=human, seconds=(50, 59)),
    ]
    found = parents(spans)
    assert found["weather"] == ("guide", "c3")
    unlinked = ("guide", None) if nested else None
    assert (found["other"], found["weather2"]) == (unlinked, unlinked)
    [weather] = [trace for trace in assemble(spans) if trace.agent.name == "weather"]
    assert [turn.origin for turn in weather.turns] == ["human"]


def test_a_tool_that_is_only_called_like_a_transfer_hands_nothing_over() -> None:
    spans = [
        agent(1, name="invoke_agent guide", seconds=(1, 9)),
        tool(2, "transfer_to_agent", {"agent_name": "weather"}),
        agent(3, name="invoke_agent weather", seconds=(10, 19)),
    ]
    assert parents(spans) == {"guide": None, "weather": None}


def test_a_tool_that_only_its_own_span_describes_is_defined() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string"}}}
    described = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.description": "Look there.",
        "gen_ai.tool.json_schema": json.dumps(schema),
    }
    listed = json.dumps([{"name": "look", "description": "Look."}])
    [trace] = assemble([agent(), span(2, described)])
    [known] = assemble([agent(attributes={"gen_ai.tool.definitions": listed}), span(2, described)])
    [tool] = trace.tools
    assert (tool.name, tool.description, tool.parameters) == ("look", "Look there.", schema)
    assert [tool.description for tool in known.tools] == ["Look."]
    [call] = trace.calls
    assert "attributes" not in (call.model_extra or {})["otel"]["spans"][0]


def test_a_run_that_strands_says_was_cancelled_has_not_ended() -> None:
    [trace] = assemble([agent(attributes={"strands.cancellation.type": "CancelledError"})])
    assert trace.outcome is not None
    assert (trace.outcome.ended, trace.outcome.error and trace.outcome.error.type) == (
        False,
        "CancelledError",
    )


@pytest.mark.parametrize("name", ["execute_tool (merged)", "execute_tool (merged tools)"])
def test_adks_bundle_of_parallel_calls_is_no_call(name: str) -> None:
    merged = tool(3, "(merged tools)", {}, scope="gcp.vertex.agent")._replace(name=name)
    [trace] = assemble([agent(), tool(2, "look", {"at": "Rome"}), merged])
    assert [call.name for call in trace.calls] == ["look"]


def test_adks_account_of_another_agent_is_the_harnesss_in_all_its_parts() -> None:
    account = ["For context: below is a transcript of what another agent did.", "[guide] said: Hi"]
    parts = [{"type": "text", "content": words} for words in account]
    told = [{"role": "user", "parts": parts}, {"role": "user", "parts": parts[1:]}]
    asked = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(told)}
    [trace] = assemble([agent(), span(2, asked)])
    assert [turn.origin for turn in trace.turns] == ["harness", "human", "agent"]


def test_what_is_missing_around_an_agent_is_no_loss_beyond_a_span_around_it_either() -> None:
    spans = [
        span(1, {}, parent=99, name="invoke_workflow guide", seconds=(1, 60)),
        agent(2, parent=1, name="invoke_agent guide"),
        tool(3, "look", {"at": "Rome"}, parent=2),
    ]
    [trace] = assemble(spans)
    [cut] = assemble([*spans[:2], spans[2]._replace(parent_id=f"{98:016x}")])
    assert (trace.fidelity.count("record_lost"), cut.fidelity.count("record_lost")) == (0, 1)
