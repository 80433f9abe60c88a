"""Spans that other programs write by the GenAI conventions."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tracedance_sdk.journal import CLIENT, INTERNAL, EventRecord, EvidenceRecord, SpanRecord
from tracedance_sdk.otel import assemble, trace_records
from tracedance_sdk.trace import Media, Reasoning, Text, Trace

OTEL = "0a" * 16


def span(
    number: int,
    operation: str,
    *,
    parent: int | None = 1,
    error: str | None = None,
    error_type: str | None = None,
    at: tuple[int, int] | None = None,
    **attributes: Any,
) -> SpanRecord:
    """Build a span; ``tool_name="pay"`` is the attribute ``gen_ai.tool.name``, and so on."""
    begin, end = at or (number * 100, number * 100 + 50)
    facts = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    if error_type is not None:
        facts["error.type"] = error_type
    return SpanRecord(
        name=operation,
        trace_id=OTEL,
        span_id=f"{number:016x}",
        parent_id=None if parent is None else f"{parent:016x}",
        kind=CLIENT if operation == "chat" else INTERNAL,
        start_ns=begin,
        end_ns=end,
        attributes={"gen_ai.operation.name": operation, **facts},
        error=error,
    )


def said(role: str, *parts: Any, **rest: Any) -> dict[str, Any]:
    listed = [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts]
    return {"role": role, "parts": listed, **rest}


def asks(call_id: str | None, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def brings(call_id: str | None, value: Any, key: str = "response") -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, key: value}


ASKED = said("user", "Weather in Paris?")
CALLED = said("assistant", asks("c1", "weather", {"city": "Paris"}), finish_reason="tool_call")
BROUGHT = said("tool", brings("c1", "rain"))
ANSWERED = said("assistant", "It rains.", finish_reason="stop")


def run(**attributes: Any) -> SpanRecord:
    return span(1, "invoke_agent", parent=None, at=(0, 10_000), agent__name="w", **attributes)


def weather_run(*, structured: bool = False) -> list[EvidenceRecord]:
    write: Any = (lambda value: value) if structured else json.dumps
    return [
        run(conversation__id="s1"),
        span(
            2,
            "chat",
            request__model="m",
            system_instructions=write([{"type": "text", "content": "Be brief"}]),
            tool__definitions=write(
                [{"type": "function", "name": "weather", "parameters": {"type": "object"}}]
            ),
            input__messages=write([ASKED]),
            output__messages=write([CALLED]),
            usage__input_tokens=7,
            usage__cache_creation__input_tokens=3,
            request__temperature=0.5,
            request__stop_sequences=("END",),
        ),
        span(
            3,
            "execute_tool",
            tool__name="weather",
            tool__call__id="c1",
            tool__call__arguments=write({"city": "Paris"}),
            tool__call__result=write({"sky": "rain"}),
        ),
        span(
            4,
            "chat",
            request__model="m",
            response__model="m-2",
            input__messages=write([ASKED, CALLED, BROUGHT]),
            output__messages=write([ANSWERED]),
            response__finish_reasons=("stop",),
        ),
    ]


def shape(trace: Trace) -> list[str]:
    """Return a trace's turns and calls in one line each."""
    found: list[str] = []
    for turn in trace.turns:
        found.append(f"{turn.role}: {turn.text}")
        for call in turn.calls:
            result = call.result
            what = "-" if result is None else f"{result.ok} {result.content}"
            found.append(f"  {call.id} {call.name}({call.arguments}) -> {what} [{call.bound_by}]")
    return found


@pytest.mark.parametrize("structured", [False, True], ids=["text", "structure"])
def test_a_run_of_models_and_tools_becomes_a_conversation(structured: bool) -> None:
    [trace] = assemble(weather_run(structured=structured))
    assert shape(trace) == snapshot(
        [
            "user: Weather in Paris?",
            "assistant: ",
            "  c1 weather({'city': 'Paris'}) -> True {'sky': 'rain'} [id]",
            "assistant: It rains.",
        ]
    )
    assert (trace.agent.name, trace.session_id, trace.system_prompt) == ("w", "s1", "Be brief")
    assert [tool.name for tool in trace.tools] == ["weather"]
    first, last = trace.turns[1], trace.turns[2]
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.cache_write_tokens) == (7, 3)
    assert first.settings == {"temperature": 0.5, "stop": ["END"]}
    assert (first.finish_reason, last.finish_reason) == ("tool_call", "stop")
    assert (first.model, last.model) == ("m", "m-2")
    assert trace.outcome is not None
    assert trace.outcome.ended is True
    assert [note.kind for note in trace.fidelity.notes] == [
        "final_state_unknown",
        "initial_state_unknown",
    ]


def test_the_trace_of_a_foreign_run_survives_our_own_spans() -> None:
    [trace] = assemble(weather_run())
    assert assemble(trace_records(trace)) == [trace]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_foreign_spans_does_not_matter(seed: int) -> None:
    records = weather_run()
    random.Random(seed).shuffle(records)
    assert assemble(records) == assemble(weather_run())


@pytest.mark.parametrize("key", ["response", "result"])
def test_a_result_that_only_the_next_request_shows_is_recovered(key: str) -> None:
    brought = said("tool", brings("c1", "rain", key))
    records = [
        run(),
        span(2, "chat", input__messages=json.dumps([ASKED]), output__messages=json.dumps([CALLED])),
        span(4, "chat", input__messages=json.dumps([ASKED, CALLED, brought])),
    ]
    [trace] = assemble(records)
    assert shape(trace)[2] == "  c1 weather({'city': 'Paris'}) -> None rain [None]"
    assert trace.fidelity.count("result_recovered") == 1
    assert trace.fidelity.count("content_off") == 1


def test_an_answer_missing_in_its_own_span_is_taken_from_the_next_request() -> None:
    records = [
        run(),
        span(2, "chat", request__model="m", input__messages=json.dumps([ASKED])),
        span(4, "chat", input__messages=json.dumps([ASKED, CALLED, BROUGHT])),
    ]
    [trace] = assemble(records)
    assert shape(trace) == snapshot(
        [
            "user: Weather in Paris?",
            "assistant: ",
            "  c1 weather({'city': 'Paris'}) -> None rain [None]",
            "assistant: ",
        ]
    )
    assert trace.turns[1].model == "m"


def test_repeated_words_are_told_apart_from_repeated_history() -> None:
    yes, ok = said("user", "yes"), said("assistant", "ok")
    records = [
        run(),
        span(2, "chat", input__messages=json.dumps([yes]), output__messages=json.dumps([ok])),
        span(
            3,
            "chat",
            input__messages=json.dumps([yes, ok, yes]),
            output__messages=json.dumps([ok]),
        ),
    ]
    [trace] = assemble(records)
    assert shape(trace) == ["user: yes", "assistant: ok", "user: yes", "assistant: ok"]
    assert trace.fidelity.count("boundary_guessed") == 0


def test_a_history_that_was_rewritten_is_noted() -> None:
    records = [
        run(),
        span(
            2, "chat", input__messages=json.dumps([ASKED]), output__messages=json.dumps([ANSWERED])
        ),
        span(3, "chat", input__messages=json.dumps([said("user", "Summary: ...")])),
    ]
    [trace] = assemble(records)
    assert [turn.text for turn in trace.turns] == [
        "Weather in Paris?",
        "It rains.",
        "Summary: ...",
        "",
    ]
    assert trace.fidelity.count("boundary_guessed") == 1


def test_tools_without_ids_are_bound_by_what_they_say() -> None:
    both = said("assistant", asks(None, "pay", {"to": "a"}), asks(None, "pay", {"to": "b"}))
    records = [
        run(),
        span(2, "chat", output__messages=json.dumps([both])),
        span(3, "execute_tool", tool__name="pay", tool__call__arguments='{"to":"b"}'),
        span(4, "execute_tool", tool__name="pay", tool__call__arguments='{"to":"c"}'),
        span(5, "execute_tool", tool__name="other"),
    ]
    [trace] = assemble(records)
    assert [(c.name, c.arguments, c.bound_by) for c in trace.calls[:2]] == [
        ("pay", {"to": "b"}, "key"),
        ("pay", {"to": "c"}, "order"),
    ]
    assert (trace.calls[2].name, trace.calls[2].bound_by) == ("other", "synthetic")
    assert len({call.id for call in trace.calls}) == 3
    assert assemble(records) == [trace]


def test_one_call_told_by_two_spans_is_one_call() -> None:
    facts: dict[str, Any] = {"tool__name": "pay", "tool__call__id": "c1"}
    records = [
        run(),
        span(2, "execute_tool", at=(200, 900), **facts),
        span(3, "execute_tool", parent=2, **facts),
        span(4, "execute_tool", parent=2, tool__name="inner"),
    ]
    [trace] = assemble(records)
    assert [(c.name, c.requested_by, c.parent_call_id) for c in trace.calls] == [
        ("pay", "agent", None),
        ("inner", "tool", "c1"),
    ]
    assert trace.turns[0].synthetic


def test_a_model_call_told_by_two_spans_is_one_turn() -> None:
    inner = span(3, "chat", parent=2, output__messages=json.dumps([ANSWERED]))
    outer = span(2, "chat", at=(200, 900), output__messages=json.dumps([ANSWERED]))
    [trace] = assemble([run(), outer, inner])
    assert shape(trace) == ["assistant: It rains."]


def test_failures_carry_their_type_and_message() -> None:
    records = [
        span(1, "invoke_agent", parent=None, at=(0, 9_000), error="boom", error_type="ValueError"),
        span(2, "execute_tool", tool__name="pay", error="no money"),
        span(3, "execute_tool", tool__name="pay", error_type="tool_error"),
    ]
    [trace] = assemble(records)
    assert trace.outcome is not None
    assert trace.outcome.error is not None
    assert (trace.outcome.ended, trace.outcome.error.type) == (False, "ValueError")
    errors = [call.result.error for call in trace.calls if call.result is not None]
    assert [(e.type, e.message) for e in errors if e is not None] == [
        ("_OTHER", "no money"),
        ("tool_error", ""),
    ]


def test_sub_agents_are_traces_of_their_own() -> None:
    records = [
        run(),
        span(2, "execute_tool", at=(200, 900), tool__name="ask", tool__call__id="c1"),
        span(3, "invoke_agent", parent=2, at=(300, 800), agent__name="expert"),
        span(4, "chat", parent=3, output__messages=json.dumps([ANSWERED])),
    ]
    outer, inner = assemble(records)
    assert (outer.agent.name, inner.agent.name) == ("w", "expert")
    assert inner.parent is not None
    assert (inner.parent.trace_id, inner.parent.call_id) == (outer.id, "c1")
    assert shape(inner) == ["assistant: It rains."]


def test_model_calls_without_an_agent_are_a_trace_and_other_spans_are_none() -> None:
    web = SpanRecord("GET /", OTEL, "0" * 15 + "9", None, INTERNAL, 0, 9_999, {"http.route": "/"})
    chat = span(2, "chat", parent=9, output__messages=json.dumps([ANSWERED]))
    [trace] = assemble([web, chat])
    assert shape(trace) == ["assistant: It rains."]
    assert assemble([web]) == []


def test_agents_that_tell_only_of_the_whole_are_read() -> None:
    records = [
        run(
            input__messages=json.dumps([said("system", "Be brief"), ASKED]),
            output__messages=json.dumps([ANSWERED]),
        )
    ]
    [trace] = assemble(records)
    assert trace.system_prompt == "Be brief"
    assert shape(trace) == ["user: Weather in Paris?", "assistant: It rains."]


def test_details_may_stand_in_an_event_beside_the_span() -> None:
    facts: dict[str, Any] = {"gen_ai.output.messages": json.dumps([ANSWERED])}
    name = "gen_ai.client.inference.operation.details"
    event = EventRecord(name, OTEL, f"{2:016x}", 250, facts)
    [trace] = assemble([run(), span(2, "chat"), event])
    assert shape(trace) == ["assistant: It rains."]


def test_parts_of_every_type_are_kept() -> None:
    parts = [
        {"type": "reasoning", "content": "hm"},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAE="},
        {"type": "uri", "modality": "audio", "uri": "https://example.com/a", "mime_type": None},
        {"type": "file", "modality": "document", "file_id": "f1"},
        {"type": "compaction", "id": "k"},
        {"type": "text", "content": None},
    ]
    message = said("assistant", *parts, finish_reason=None, name=None)
    [trace] = assemble([run(), span(2, "chat", output__messages=json.dumps([message]))])
    assert trace.turns[0].content == (
        Reasoning(text="hm"),
        Media(modality="image", mime_type="image/png", data="AAE="),
        Media(modality="audio", uri="https://example.com/a"),
        Media(modality="document", data=parts[3]),
        Media(modality="compaction", data=parts[4]),
    )


def test_a_part_that_only_looks_like_a_call_is_content_there_and_back() -> None:
    [trace] = assemble([run(input__messages={"type": "tool_call"})])
    assert trace.turns[0].content == (Media(modality="tool_call", data={"type": "tool_call"}),)
    assert assemble(trace_records(trace)) == [trace]


def test_tools_run_by_the_provider_are_calls_with_results() -> None:
    searched = {"type": "web_search", "query": "x"}
    parts = [
        {"type": "server_tool_call", "id": "s1", "name": "search", "server_tool_call": searched},
        {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": {"n": 1}},
        {"type": "text", "content": "Found"},
    ]
    message = said("assistant", *parts)
    [trace] = assemble([run(), span(2, "chat", output__messages=json.dumps([message]))])
    assert trace.turns[0].content == (Text(text="Found"),)
    assert trace.calls[0].arguments == searched
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.content == {"n": 1}


@pytest.mark.parametrize(
    ("arguments", "known", "raw"),
    [
        ('"{\\"a\\": 1}"', {"a": 1}, None),
        ('{"a": 1', None, '{"a": 1'),
        ('"{\\"a\\""', None, '{"a"'),
        ("", {}, None),
    ],
    ids=["text of text", "cut", "text of cut text", "empty"],
)
def test_arguments_are_read_in_every_wrapping(arguments: str, known: Any, raw: str | None) -> None:
    tool = span(2, "execute_tool", tool__name="pay", tool__call__arguments=arguments)
    [trace] = assemble([run(), tool])
    [call] = trace.calls
    assert call.raw_arguments == raw
    assert (call.arguments == known) if raw is None else (not call.arguments)


@pytest.mark.parametrize(
    "messages",
    ["", "not json", "5", "[5, null]", '[{"role": 5}]', '[{"parts": "x"}]', '[{"parts": [5, {}]}]'],
)
def test_odd_messages_never_break_the_reading(messages: str) -> None:
    chat = span(2, "chat", input__messages=messages, output__messages=messages)
    [trace] = assemble([run(), chat])
    assert assemble(trace_records(trace)) == [trace]


_KEYS = [
    "type",
    "role",
    "parts",
    "content",
    "name",
    "id",
    "arguments",
    "response",
    "modality",
    "uri",
    "mime_type",
    "finish_reason",
    "tracedance",
    "description",
    "parameters",
]
_TYPES = ["text", "tool_call", "tool_call_response", "blob", "uri", "file", "reasoning"]
_NAMES = [
    "agent__name",
    "conversation__id",
    "system_instructions",
    "tool__definitions",
    "input__messages",
    "output__messages",
    "request__model",
    "response__finish_reasons",
    "usage__input_tokens",
    "request__temperature",
    "request__stop_sequences",
    "tool__name",
    "tool__call__id",
    "tool__call__arguments",
    "tool__call__result",
]
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from(["", "a", "chat", "tool", "assistant", "{}", '"x"']),
)
_ODD = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(_KEYS), st.one_of(inner, st.sampled_from(_TYPES)), max_size=4
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["invoke_agent", "chat", "execute_tool", "plan"]),
            st.integers(0, 6),
            st.dictionaries(st.sampled_from(_NAMES), _ODD, max_size=6),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_whatever_other_programs_write_is_read_without_an_error(
    drawn: list[tuple[str, int, dict[str, Any], bool]],
) -> None:
    records: list[SpanRecord] = []
    for number, (operation, parent, facts, as_text) in enumerate(drawn, 1):
        told: dict[str, Any] = {k: json.dumps(v) if as_text else v for k, v in facts.items()}
        records.append(span(number, operation, parent=parent, **told))
    found = assemble(records)
    assert assemble(reversed(records)) == found
    for trace in found:
        assert assemble(trace_records(trace)) == [trace]
