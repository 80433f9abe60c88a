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
