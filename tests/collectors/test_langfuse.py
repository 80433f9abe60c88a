"""Langfuse's exports of many frameworks, against the messages that Langfuse itself expects."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tracedance_collectors.langfuse import collector

from tests.counters.counts import Counts
from tests.counters.langfuse import count
from tests.support.shared_data import SHARED_DATA, shared_data
from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.trace import UNKNOWN, Json, Trace, Turn, canonical_json

FILES = sorted((SHARED_DATA / "langfuse-framework-traces").glob("*.trace.json"))

Said = tuple[str, ...]
"""What a message list says, piece by piece: ``("user", text)``, ``("call", ...)``, ..."""


def read(path: Path) -> list[Trace]:
    found = list(collector.collect(path))
    assert not [item for item in found if isinstance(item, ImportProblem)]
    return [item for item in found if isinstance(item, Trace)]


def plain_json(value: Any) -> str:
    """Return a value, or what a text of JSON says, as canonical JSON."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, list) and len(value) == 1 and set(value[0]) == {"type", "text"}:
        value = value[0]["text"]
    return canonical_json(value).decode()


def expected(messages: list[dict[str, Any]]) -> Iterator[Said]:
    for message in messages:
        role = message.get("role", "tool")
        content = message.get("content")
        if role == "tool":
            yield ("result", plain_json(content))
            continue
        blocks = content if isinstance(content, list) else []
        texts = [content] if isinstance(content, str) else [b.get("text") for b in blocks]
        yield from (({"model": "assistant"}.get(role, role), text) for text in texts if text)
        used = [b for b in blocks if b.get("type") == "tool_use"]
        yield from (("call", b["id"], b["name"], plain_json(b["input"])) for b in used)
        for call in message.get("tool_calls") or ():
            yield ("call", call["id"], call["name"], plain_json(call["arguments"]))


def told(trace: Trace, turns: tuple[Turn, ...], last: Turn) -> Iterator[Said]:
    """Return what the model of the last turn had before it, and what it said."""
    if trace.system_prompt:
        yield ("system", trace.system_prompt)
    for turn in (*turns, last):
        if turn.text:
            yield (turn.role, turn.text)
        for call in turn.calls:
            yield ("call", call.id, call.name, plain_json(call.arguments))
        for call in turn.calls if turn is not last else ():
            if call.result is not None and call.result.content is not UNKNOWN:
                yield ("result", plain_json(call.result.content))


def generations(traces: list[Trace]) -> Iterator[tuple[str, list[Said]]]:
    for trace in traces:
        for turn in trace.turns:
            seen = (turn.model_extra or {}).get("observation")
            if turn.role == "assistant" and isinstance(seen, dict):
                yield seen["id"], list(told(trace, trace.before(turn.index), turn))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".trace.json"))
def test_a_trace_gives_the_messages_that_langfuse_expects(path: Path) -> None:
    """The messages of every generation: roles, texts, calls with arguments, results, order.

    Langfuse leaves out the system prompt that OpenAI's Responses name beside their output; and
    where it could not read an input (the Claude agent's, whose tracer logged the word "role"
    instead of messages), the output alone is compared.
    """
    shared_data("langfuse-framework-traces")
    wanted = json.loads(path.with_name(path.name.replace(".trace.", ".chatml.")).read_bytes())
    found = dict(generations(read(path)))
    kinds = {o["id"]: o["type"] for o in json.loads(path.read_bytes())["observations"]}
    assert set(found) == {key for key, kind in kinds.items() if kind == "GENERATION"}
    for key, ours in found.items():
        before, after = wanted[key]["input"], wanted[key]["output"]
        assert after["success"]
        theirs = list(expected(after["data"]))
        if not before["success"]:
            assert path.name.startswith("claude-agent")
            assert ours[-len(theirs) :] == theirs
            continue
        whole = [*expected(before["data"]), *theirs]
        if path.name.startswith("openai-agents"):
            whole.insert(0, ("system", "You are a helpful agent."))
        assert ours == whole


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".trace.json"))
def test_generations_and_tools_are_as_many_as_an_independent_counter_finds(path: Path) -> None:
    shared_data("langfuse-framework-traces")
    assert collector.sniff(path, path.read_bytes()[:65536])
    traces = read(path)
    turns = [turn for trace in traces for turn in trace.turns if turn.role == "assistant"]
    seen = [c for t in traces for c in t.calls if (c.model_extra or {}).get("observation")]
    counted = Counts(
        session=str(traces[0].source and traces[0].source.native_id),
        user_turns=0,
        assistant_turns=sum(not turn.synthetic for turn in turns),
        calls=len(seen),
        results=sum(call.result is not None for call in seen),
        errors=sum(call.failed for call in seen),
    )
    assert [counted] == count(path)
    assert all(turn.usage and turn.usage.cost_usd and turn.model for turn in turns)


def test_two_agents_in_one_trace_are_two_traces_of_one_session() -> None:
    folder = shared_data("langfuse-framework-traces")
    joker, judge = read(folder / "pydantic-ai-tools-2025-12-04.trace.json")
    assert joker.session_id == judge.session_id == joker.metadata["langfuse"]["id"]
    assert [turn.role for turn in joker.turns].count("user") == 2
    assert judge.system_prompt is not None
    assert judge.system_prompt.startswith("You are a joke critic")
    assert len(joker.tools) == 5


def observation(kind: str, key: str, second: int, **fields: Any) -> dict[str, Json]:
    moment = f"2026-01-01T00:00:{second:02}"
    return {
        "id": key, "traceId": "t", "type": kind, "name": key, "parentObservationId": None,
        "startTime": f"{moment}Z", "endTime": f"{moment}.5Z",
        "level": "DEFAULT", "input": None, "output": None, **fields,
    }  # fmt: skip


USER = {"role": "user", "content": "Go"}
CALL = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def collected(tmp_path: Path, value: Any) -> list[Trace | ImportProblem]:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return list(collector.collect(path))


def test_a_tool_that_failed_says_so_and_a_sub_agent_names_its_call(tmp_path: Path) -> None:
    rows = [
        observation("GENERATION", "g1", 1, input=[USER], output=ASKED),
        observation("TOOL", "run", 2, input={}, level="ERROR", statusMessage="broken"),
        observation(
            "GENERATION", "g2", 3, parentObservationId="run",
            input=[USER | {"content": "Sub"}], output={"role": "assistant", "content": "x"},
        ),
    ]  # fmt: skip
    top, below = collected(tmp_path, {"data": rows, "meta": {}})
    assert isinstance(top, Trace)
    assert isinstance(below, Trace)
    (call,) = top.calls
    assert call.result is not None
    assert call.result.error is not None
    assert (call.result.ok, call.result.error.message, call.duration_ms) == (False, "broken", 500.0)
    assert below.parent is not None
    assert (below.parent.trace_id, below.parent.call_id) == (top.id, "c")


def test_a_tool_nobody_asked_for_and_a_trace_without_generations_are_kept(tmp_path: Path) -> None:
    rows = [
        observation("SPAN", "root", 1, input={"question": "Why?"}, output="Because."),
        observation("TOOL", "look", 2, input={"at": "sky"}, output="blue"),
    ]
    (trace,) = collected(tmp_path, rows)
    assert isinstance(trace, Trace)
    assert [turn.text for turn in trace.turns if not turn.synthetic] == ["Why?", "Because."]
    (call,) = trace.calls
    assert (call.name, call.arguments, call.bound_by) == ("look", {"at": "sky"}, "synthetic")
    assert trace.fidelity.count("request_missing") == 1


def test_a_result_known_from_the_next_request_alone_is_noted(tmp_path: Path) -> None:
    answer = {"role": "tool", "tool_call_id": "c", "content": "done"}
    rows = [
        observation("GENERATION", "g1", 1, input=[USER], output=ASKED),
        observation("GENERATION", "g2", 2, input=[USER, ASKED, answer], output="ok"),
    ]
    (trace,) = collected(tmp_path, rows)
    assert isinstance(trace, Trace)
    assert trace.fidelity.count("result_recovered") == 1
    assert len(trace.turns) == 3


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([{"id": "x"}], "neither a trace with observations nor an observation @ $[0]"),
        ({"id": "t", "observations": [{"id": 5}]}, "expected text, got 5 @ $.observations[0].id"),
        (
            [observation("SPAN", "a", 1, startTime="noon")],
            "expected a time, got 'noon' @ $[0].startTime",
        ),
    ],
    ids=["no observation", "no id", "no time"],
)
def test_what_is_no_trace_is_one_line(tmp_path: Path, value: Any, reason: str) -> None:
    (problem,) = collected(tmp_path, value)
    assert str(problem) == f"{tmp_path}/export.json: {reason}"


def test_parents_in_a_circle_end(tmp_path: Path) -> None:
    rows = [
        observation("GENERATION", "a", 1, input="Hi", output="Ho", parentObservationId="b"),
        observation("SPAN", "b", 1, parentObservationId="c"),
        observation("SPAN", "c", 1, parentObservationId="b"),
    ]
    (trace,) = collected(tmp_path, rows)
    assert isinstance(trace, Trace)
    assert [turn.text for turn in trace.turns] == ["Hi", "Ho"]
