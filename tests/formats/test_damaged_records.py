"""Records of other systems with anything anywhere: a trace or one line, never a crash."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collectors.test_inspect_log import HEADER, SAMPLE
from tests.support.traces import values
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    Place,
    trace_from_inspect,
    traces_from_anthropic,
    traces_from_atif,
    traces_from_langfuse,
    traces_from_responses,
)
from tracedance_sdk.trace import Trace, encode_json

PATH = Path("log.json")

Reader = Callable[[Any], Iterable[Trace | ImportProblem]]

ATIF: dict[str, Any] = {
    "schema_version": "ATIF-v1.7", "session_id": "s", "trajectory_id": "t",
    "agent": {"name": "a", "version": "1", "tool_definitions": [{"function": {"name": "f"}}]},
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be brief."},
        {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "go"}]},
        {"step_id": 3, "source": "agent", "message": "ok", "reasoning_content": "hm",
         "timestamp": "2026-01-01T00:00:00Z", "is_copied_context": True,
         "tool_calls": [{"tool_call_id": "1", "function_name": "f", "arguments": {"a": 1},
                         "extra": {"tracedance": {"duration_ms": 1.5}}}],
         "observation": {"results": [
             {"source_call_id": "1", "content": "x", "extra": {"tracedance": {"position": 0}},
              "subagent_trajectory_ref": [{"trajectory_id": "u"}]}]},
         "metrics": {"prompt_tokens": 1, "extra": {"reasoning_tokens": 1}},
         "extra": {"tracedance": {"name": "n"}}},
    ],
    "final_metrics": {"total_cost_usd": 1},
    "extra": {"tracedance": {"outcome": {"success": True}, "fidelity": {"notes": [
        {"kind": "record_lost", "count": 2, "places": ["x"]}]}}},
}  # fmt: skip
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
]  # fmt: skip
ANTHROPIC: list[Any] = [
    {"request": {"model": "m", "max_tokens": 5, "system": [{"type": "text", "text": "s"}],
                 "tools": [{"name": "f", "input_schema": {}}], "messages": CHAT[:1]},
     "response": {"id": "m1", "type": "message", "content": CHAT[1]["content"],
                  "stop_reason": "tool_use", "usage": {"input_tokens": 1}}},
    {"request": {"model": "m", "max_tokens": 5, "messages": CHAT},
     "response": {"id": "m2", "type": "message", "content": [{"type": "text", "text": "ok"}]}},
]  # fmt: skip
RESPONSES: list[Any] = [
    {"request": {"model": "m", "input": "go", "instructions": "s"},
     "response": {"id": "r1", "object": "response", "created_at": 1767225600, "output": [
         {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "h"}]},
         {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
         "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 1}}}},
    {"request": {"model": "m", "previous_response_id": "r1", "input": [
        {"type": "function_call_output", "call_id": "c", "output": "x"}]},
     "response": {"id": "r2", "object": "response", "previous_response_id": "r1", "output": [
         {"type": "message", "id": "i", "role": "assistant", "content": [
             {"type": "output_text", "text": "ok"}]}], "error": None}},
]  # fmt: skip
SPAN = {"traceId": "t", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:01Z"}
LANGFUSE: dict[str, Any] = {
    "trace": {"id": "t", "projectId": "p", "name": "n", "scores": [{"observationId": "g"}]},
    "observations": [
        {**SPAN, "id": "g", "type": "GENERATION", "parentObservationId": "a", "model": "m",
         "input": CHAT[:1], "output": CHAT[1], "usageDetails": {"input": 1},
         "costDetails": {"total": 0.5}, "metadata": {"attributes": {"gen_ai.tool.name": "f"}}},
        {**SPAN, "id": "f", "type": "TOOL", "parentObservationId": "a", "name": "f",
         "input": {"a": 1}, "output": {"content": [{"type": "text", "text": "x"}]}},
        {**SPAN, "id": "h", "type": "GENERATION", "parentObservationId": "f",
         "input": {"contents": "sub"}, "output": {"candidates": [{"content": {"parts": []}}]}},
        {**SPAN, "id": "a", "type": "AGENT", "name": "agent"},
    ],
}  # fmt: skip


def _inspect(sample: Any) -> Iterable[Trace]:
    return [trace_from_inspect(sample, HEADER, Place("log.json"))]


READERS: dict[str, tuple[Any, Reader]] = {
    "atif": (ATIF, lambda value: traces_from_atif(value, Place("log.json"))),
    "inspect": (SAMPLE, _inspect),
    "anthropic": (
        ANTHROPIC, lambda value: traces_from_anthropic([Document(value, None)], PATH)
    ),
    "responses": (
        RESPONSES, lambda value: traces_from_responses([Document(value, None)], PATH)
    ),
    "langfuse": (LANGFUSE, lambda value: traces_from_langfuse([Document(value, None)], PATH)),
}  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container of a document with each of its keys."""
    found, pending = [], [value]
    while pending:
        holder = pending.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        found += [(holder, key) for key in keys]
        pending += [holder[key] for key in keys if isinstance(holder[key], (dict, list))]
    return found


@pytest.mark.parametrize("name", READERS)
def test_the_whole_record_is_read(name: str) -> None:
    value, read = READERS[name]
    found = list(read(value))
    assert found
    assert all(isinstance(item, Trace) for item in found)


@pytest.mark.parametrize("name", READERS)
@given(damages=st.lists(st.tuples(st.floats(0, 0.999), values), min_size=1, max_size=3))
def test_anything_anywhere_gives_a_trace_or_one_line(
    name: str, damages: list[tuple[float, Any]]
) -> None:
    original, read = READERS[name]
    value = copy.deepcopy(original)
    for share, odd in damages:
        spots = places(value)
        if spots:
            holder, key = spots[int(share * len(spots))]
            holder[key] = copy.deepcopy(odd)
    before = copy.deepcopy(value)
    try:
        found = list(read(value))
    except TraceDanceError as error:
        found = [ImportProblem(str(PATH), str(error))]
    assert value == before
    for item in found:
        if isinstance(item, Trace):
            encode_json(item)
        else:
            assert "\n" not in str(item)
