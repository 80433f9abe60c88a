"""Models of Pydantic AI that say what a test wrote down, and what came of it in the record."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.testing import check_quiet
from tracedance_sdk.trace import Trace


def cell(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("pydantic-ai", capability, package="pydantic-ai-slim")


def text(words: str) -> Any:
    from pydantic_ai.messages import TextPart

    return TextPart(words)


def call(name: str, call_id: str, /, **arguments: Any) -> Any:
    from pydantic_ai.messages import ToolCallPart

    return ToolCallPart(name, arguments, tool_call_id=call_id)


def saying(*turns: list[Any]) -> Any:
    """Return a model that says these turns, one after the other."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, _: Any) -> Any:
        place = sum(message.kind == "response" for message in messages)
        return ModelResponse(parts=turns[place])

    return FunctionModel(answer)


def streaming(*turns: list[Any]) -> Any:
    """Return a model that streams these turns: text in pieces, calls in halves, pauses, notes."""
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    async def stream(messages: Any, _: Any) -> Any:
        said = turns[sum(message.kind == "response" for message in messages)]
        for place, part in enumerate(said):
            if isinstance(part, float):
                await asyncio.sleep(part)
                continue
            if isinstance(part, list):
                part.append("told")
                continue
            if isinstance(part, str):
                yield part
                continue
            args = part.args_as_json_str()
            yield {place: DeltaToolCall(part.tool_name, args[:4], tool_call_id=part.tool_call_id)}
            yield {place: DeltaToolCall(json_args=args[4:])}

    return FunctionModel(stream_function=stream)


@contextlib.contextmanager
def recording(**given: Any) -> Iterator[td.TraceRecorder]:
    """Have a recorder open, and check afterwards that nothing went wrong in it."""
    with td.TraceRecorder(**given) as recorder:
        yield recorder
    check_quiet(recorder)


def told(trace: Trace) -> list[tuple[Any, ...]]:
    """Return what a trace says: roles with texts, and calls with what came back."""
    found: list[tuple[Any, ...]] = []
    for turn in trace.turns:
        found.append((turn.role, turn.text))
        found += [(c.id, c.name, c.arguments, outcome(c.result)) for c in turn.calls]
    return found


def outcome(result: Any) -> Any:
    if result is None:
        return None
    if result.ok is False:
        return result.error.type.rpartition(".")[2]
    return result.content


def look(n: int) -> int:
    """Look up a number."""
    return n + 1
