from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import objects, texts, traces
from tracedance_sdk.trace import (
    Agent,
    Call,
    Fidelity,
    Note,
    OtelContext,
    Parent,
    Result,
    Source,
    Text,
    Trace,
    Turn,
    content_hash,
    decode,
    encode,
    imported_trace_id,
    random_trace_id,
    source_digest,
)

LATER = datetime(2027, 1, 1, tzinfo=UTC)


def moved(trace: Trace) -> Trace:
    """The same run recorded at another time, under other ids, from another source."""
    turns = tuple(
        turn.model_copy(
            update={
                "started_at": LATER,
                "ended_at": LATER,
                "calls": tuple(
                    call.model_copy(
                        update={
                            "id": f"other-{call.index}",
                            "parent_call_id": None,
                            "started_at": LATER,
                            "duration_ms": 1.0,
                            "bound_by": "order",
                        }
                    )
                    for call in turn.calls
                ),
            }
        )
        for turn in trace.turns
    )
    return trace.model_copy(
        update={
            "id": random_trace_id(),
            "session_id": "s",
            "parent": Parent(trace_id="p"),
            "otel": OtelContext(trace_id="a", root_span_id="b"),
            "source": Source(collector="c"),
            "fidelity": Fidelity(notes=(Note(kind="k"),)),
            "started_at": LATER,
            "ended_at": LATER,
            "turns": turns,
        }
    )


@given(traces())
def test_ids_times_and_provenance_do_not_change_the_content_hash(trace: Trace) -> None:
    assert content_hash(moved(trace)) == content_hash(trace)
    assert content_hash(decode(encode(trace))) == content_hash(trace)


def test_whatever_was_said_or_done_changes_the_content_hash() -> None:
    call = Call(index=0, id="1", name="pay", arguments={"a": 1}, result=Result(ok=True, content=2))
    turn = Turn(index=0, role="assistant", origin="agent", content=(Text(text="x"),), calls=(call,))
    trace = Trace(id="t", task_id="k", turns=(turn,), initial_state={"a": 1}, final_state=None)

    def with_call(**fields: object) -> Trace:
        changed = turn.model_copy(update={"calls": (call.model_copy(update=fields),)})
        return trace.model_copy(update={"turns": (changed,)})

    others = [
        with_call(name="send"),
        with_call(arguments={"a": True}),
        with_call(arguments={"a": 1, "b": None}),
        with_call(result=Result(ok=False, content=2)),
        with_call(result=Result(ok=True, content=None)),
        with_call(result=Result(ok=True)),
        with_call(result=None),
        with_call(requested_by="user"),
        trace.model_copy(update={"turns": ()}),
        trace.model_copy(update={"turns": (turn.model_copy(update={"content": ()}),)}),
        trace.model_copy(update={"initial_state": {"a": 2}}),
        trace.model_copy(update={"final_state": {}}),
        Trace(id="t", task_id="k", turns=(turn,), initial_state={"a": 1}),
        trace.model_copy(update={"agent": Agent(name="b")}),
        trace.model_copy(update={"task_id": "l"}),
    ]
    assert len({content_hash(item) for item in [trace, *others]}) == len(others) + 1


@given(st.tuples(texts, texts, texts, texts))
def test_an_imported_id_follows_from_its_source(parts: tuple[str, str, str, str]) -> None:
    found = imported_trace_id(*parts)
    assert re.fullmatch("[0-9a-f]{32}", found)
    assert found == imported_trace_id(*parts)


def test_parts_of_an_imported_id_do_not_run_together() -> None:
    ids = {
        imported_trace_id("a", "b", "c"),
        imported_trace_id("ab", "", "c"),
        imported_trace_id("a", "bc", ""),
        imported_trace_id("a", "b", "", "c"),
        imported_trace_id("a", "b\0c", ""),
    }
    assert len(ids) == 5
    assert random_trace_id() != random_trace_id()


@given(objects)
def test_a_source_is_known_by_what_it_says_in_any_order_of_keys(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert source_digest(turned) == source_digest(value)
    assert source_digest({**value, "more": 1}) != source_digest({**value, "more": 2})
    assert source_digest({**value, "more": "\ud800"}) != source_digest({**value, "more": 2})
