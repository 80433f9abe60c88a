"""Records as a recorder writes them while a run goes on."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.support.traces import traces
from tracedance_sdk.journal import (
    CLIENT,
    INTERNAL,
    EventRecord,
    EvidenceRecord,
    JournalWriter,
    SpanRecord,
    read_journal,
)
from tracedance_sdk.otel import (
    CALL_START,
    RUN_START,
    TURN,
    assemble,
    call_attributes,
    json_text,
    message_json,
    messages_text,
    result_attributes,
    run_attributes,
    run_end_attributes,
    trace_records,
    turn_attributes,
)
from tracedance_sdk.trace import Call, Outcome, Text, Trace, Turn, blob_stub

OTEL = "0a" * 16
ROOT = "0b" * 8
AGENT = {"role": "assistant", "origin": "agent"}


def ns(second: float) -> int:
    return 1_790_000_000_000_000_000 + int(second * 1e9)


def start(trace_id: str = "t1", *, root: str = ROOT, **facts: Any) -> EventRecord:
    attributes = run_attributes(trace_id=trace_id, agent_name="clerk", **facts)
    return EventRecord(RUN_START, OTEL, root, ns(0), attributes)


def end(begun: EventRecord, *, parent: str | None = None, **facts: Any) -> SpanRecord:
    attributes = begun.attributes | run_end_attributes(**facts)
    span = begun.span_id
    return SpanRecord(
        "invoke_agent clerk", OTEL, span, parent, INTERNAL, begun.time_ns, ns(9), attributes
    )


def chat(turn: Turn, *, parent: str = ROOT, before: tuple[Turn, ...] = ()) -> SpanRecord:
    waiting = messages_text(before, placed=False) if before else None
    attributes = turn_attributes(message_json(turn, placed=False), before=waiting)
    span = f"c{turn.index:015x}"
    return SpanRecord("chat", OTEL, span, parent, CLIENT, ns(1), ns(2), attributes)


def call(index: int, turn: int, *, parent: str = ROOT, **facts: Any) -> EventRecord:
    known = {"name": "lookup", "call_id": f"call_{index}", "arguments": '{"id":7}'} | facts
    attributes = call_attributes(index=index, turn=turn, **known)
    return EventRecord(CALL_START, OTEL, f"e{index:015x}", ns(3 + index), attributes, parent)


def done(begun: EventRecord, **facts: Any) -> SpanRecord:
    attributes = begun.attributes | result_attributes(**{"ok": True, "content": "[1]", **facts})
    return SpanRecord(
        "execute_tool lookup",
        begun.trace_id,
        begun.span_id,
        begun.parent_id,
        INTERNAL,
        begun.time_ns,
        begun.time_ns + 2_500_000,
        attributes,
    )


def as_recorded(trace: Trace) -> list[EvidenceRecord]:
    """Return a trace's records with the events that precede the spans."""
    spans = trace_records(trace)
    *inner, root = spans
    events: list[EvidenceRecord] = [
        EventRecord(RUN_START, root.trace_id, root.span_id, root.start_ns, root.attributes)
    ]
    for turn in trace.turns:
        if turn.role != "assistant":
            attributes = turn_attributes(message_json(turn, placed=True))
            events.append(EventRecord(TURN, root.trace_id, root.span_id, root.start_ns, attributes))
    for span in inner:
        facts = {k: v for k, v in span.attributes.items() if not k.startswith("tracedance.result")}
        if span.name.startswith("execute_tool"):
            at = (span.trace_id, span.span_id, span.start_ns)
            events.append(EventRecord(CALL_START, *at, facts, span.parent_id))
        events.append(span)
    return [*events, root]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces(), st.integers())
def test_events_beside_the_spans_change_nothing(trace: Trace, seed: int) -> None:
    records = as_recorded(trace)
    assert assemble(records) == [trace]
    random.Random(seed).shuffle(records)
    assert assemble(records) == [trace]


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(traces())
def test_a_trace_kept_in_a_journal_is_read_back_equal(tmp_path: Path, trace: Trace) -> None:
    writer = JournalWriter(tmp_path / os.urandom(8).hex())
    for record in as_recorded(trace):
        writer.append(record)
    writer.close()
    contents = read_journal(writer.folder)
    assert assemble(contents, blobs=contents.get_blob) == [trace]


def test_calls_stand_in_order_of_start_and_requests_never_executed_last() -> None:
    requests = tuple(
        Call(index=n, id=f"r{n}", name="lookup", arguments={"id": n}) for n in range(3)
    )
    turn = Turn(index=1, role="assistant", origin="agent", calls=requests)
    asked = Turn(index=0, role="user", origin="human", content=(Text(text="Look them up"),))
    second = call(0, 1, call_id="r2", bound_by="id")
    first = call(1, 1, call_id="r0", bound_by="key", arguments='{"id":0,"deep":true}')
    nested = call(2, 1, parent=first.span_id, requested_by="tool", parent_call_id="r0")
    alone = call(3, 1, bound_by="synthetic")
    run = start(system_prompt="Be brief", initial_state="null")
    records: list[EvidenceRecord] = [
        run,
        EventRecord(TURN, OTEL, ROOT, ns(0.5), turn_attributes(message_json(asked, placed=False))),
        chat(turn, before=(asked,)),
        second,
        first,
        nested,
        done(second),
        done(nested, ok=False, content=None, error_type="KeyError", error_message="7"),
        done(first),
        alone,
        done(alone, ok=None, exit_code=3),
        end(run, final_state='{"a":1}', outcome='{"success":true}'),
    ]
    [trace] = assemble(records)
    assert [(c.index, c.id, c.bound_by, c.requested_by) for c in trace.calls] == [
        (0, "r2", "id", "agent"),
        (1, "r0", "key", "agent"),
        (2, "call_2", None, "tool"),
        (3, "call_3", "synthetic", "agent"),
        (4, "r1", None, "agent"),
    ]
    assert [turn.role for turn in trace.turns] == ["user", "assistant"]
    assert trace.calls[1].arguments == {"id": 0, "deep": True}
    assert trace.calls[4].result is None
    assert trace.calls[0].duration_ms == 2.5
    assert trace.initial_state is None
    assert trace.outcome == Outcome(success=True)
    assert json_text(trace.to_dict()["turns"][1]["calls"][2]) == snapshot(
        '{"index":2,"id":"call_2","name":"lookup","arguments":{"id":7},"result":{"ok":false,"error":{"type":"KeyError","message":"7"}},"requested_by":"tool","parent_call_id":"r0","started_at":"2026-09-21T14:13:25Z","duration_ms":2.5}'
    )


def test_a_call_without_its_end_is_interrupted_and_a_run_without_its_end_has_not_ended() -> None:
    [trace] = assemble([start(), call(0, 0, bound_by="synthetic")])
    assert trace.outcome == Outcome(ended=False)
    assert trace.ended_at is None
    assert trace.turns[0].synthetic
    result = trace.calls[0].result
    assert result is not None
    assert (result.interrupted, result.ok, trace.calls[0].duration_ms) == (True, None, None)
    assert trace.fidelity.count("result_interrupted") == 1


def test_calls_outside_any_turn_share_a_synthetic_one_until_the_next_turn() -> None:
    said = Turn(index=1, content=(Text(text="Done"),), **AGENT)  # type: ignore[arg-type]
    run = start()
    calls = [call(0, 0), call(1, 0), call(2, 2)]
    records: list[EvidenceRecord] = [run, *calls, *map(done, calls), chat(said), end(run)]
    [trace] = assemble(records)
    assert [(turn.synthetic, len(turn.calls)) for turn in trace.turns] == [
        (True, 2),
        (False, 0),
        (True, 1),
    ]


def test_sub_agents_and_parallel_runs_in_one_otel_trace_are_kept_apart() -> None:
    outer, other = start("outer"), start("other", root="0c" * 8)
    ask = call(0, 0, name="ask_expert")
    inner = start("inner", root="0d" * 8, parent_trace_id="outer", parent_call_id="call_0")
    deep = call(1, 0, parent="0d" * 8)._replace(span_id="f" * 16)
    records: list[EvidenceRecord] = [outer, other, ask, inner, deep, done(deep), done(ask)]
    records += [end(outer), end(other), end(inner, parent=ask.span_id)]
    found = {trace.id: trace for trace in assemble(records)}
    assert {name: [c.name for c in trace.calls] for name, trace in found.items()} == {
        "outer": ["ask_expert"],
        "inner": ["lookup"],
        "other": [],
    }
    parent = found["inner"].parent
    assert parent is not None
    assert (parent.trace_id, parent.call_id) == ("outer", "call_0")


def test_what_is_left_of_a_run_whose_start_is_lost_is_still_a_trace() -> None:
    begun = call(0, 3)
    [trace] = assemble([begun, done(begun)])
    assert [c.id for c in trace.calls] == ["call_0"]
    assert trace.outcome == Outcome(ended=False)
    assert trace.fidelity.count("record_lost") == 4
    assert assemble([done(begun), begun]) == [trace]


def test_large_values_are_fetched_where_they_are_at_hand() -> None:
    kept = {"ab" * 32: b'"long text"'}
    turn = Turn(index=0, role="user", origin="human", content=(Text(text="long"),))
    kept["ef" * 32] = json_text([message_json(turn, placed=False)]).encode()
    stub = {name: json_text(blob_stub(name, 40_000)) for name in kept}
    long, message = stub["ab" * 32], stub["ef" * 32]
    run = start(initial_state=long, metadata=long)
    begun = call(0, 1, arguments=long)
    said = EventRecord(TURN, OTEL, ROOT, ns(1), {"tracedance.turn.index": 0})
    said.attributes["gen_ai.input.messages"] = message
    records: list[EvidenceRecord] = [
        run,
        said,
        begun,
        done(begun, content=long),
        end(run, final_state=long),
    ]
    [trace] = assemble(records, blobs=kept.get)
    assert trace.calls[0].arguments == "long text"
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.content == "long text"
    assert (trace.initial_state, trace.final_state) == ("long text", "long text")
    assert trace.turns[0] == turn
    [without] = assemble(records)
    assert without.calls[0].arguments == blob_stub("ab" * 32, 40_000)
    assert (without.turns[0].role, without.turns[0].text) == ("user", "")
    assert without.metadata == {}
    assert without.fidelity.count("value_elsewhere") > 0


def test_what_is_still_elsewhere_is_told_after_some_of_it_was_fetched() -> None:
    long, prompt = (json_text(blob_stub(name * 32, 40_000)) for name in ("ab", "cd"))
    run = start(initial_state="1")
    run.attributes["gen_ai.system_instructions"] = prompt
    begun = call(0, 1, arguments=long)
    [without] = assemble([run, begun, done(begun, content='"x"'), end(run, final_state="1")])
    assert without.fidelity.count("value_elsewhere") == 2
    exported = list(trace_records(without))
    assert assemble(exported) == [without]
    [partly] = assemble(exported, blobs={"ab" * 32: b'"long text"'}.get)
    assert partly.calls[0].arguments == "long text"
    [told] = [note for note in partly.fidelity.notes if note.kind == "value_elsewhere"]
    assert (told.count, told.places) == (1, ("system_prompt",))


def test_text_parts_that_are_blobs_become_text() -> None:
    stub = blob_stub("ab" * 32, 40_000)
    message = {
        "role": "user",
        "parts": [{"type": "text", "content": stub}, {"type": "reasoning", "content": stub}],
        "tracedance": {"index": 0, "origin": "human"},
    }
    said = EventRecord(TURN, OTEL, ROOT, ns(1), {"gen_ai.input.messages": json_text([message])})
    [trace] = assemble([start(), said], blobs={"ab" * 32: b'"long text"'}.get)
    assert [(p.type, getattr(p, "text", "")) for p in trace.turns[0].content] == [
        ("text", "long text"),
        ("reasoning", "long text"),
    ]
    [without] = assemble([start(), said])
    assert assemble(trace_records(without)) == [without]


def test_a_patch_that_does_not_fit_is_passed_over() -> None:
    run = start()
    patch = '[{"op":"remove","path":"/nowhere/at/all"}]'
    [trace] = assemble([end(run._replace(attributes=run.attributes | {"tracedance.patch": patch}))])
    assert trace.id == "t1"
