from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from tests.support.names import short_repr
from tests.support.traces import traces
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    ErrorInfo,
    Media,
    Reasoning,
    Result,
    Text,
    Trace,
    Turn,
)


def a_trace() -> Trace:
    return Trace(
        id="t1",
        turns=(
            Turn(index=0, role="user", origin="human", content=(Text(text="Hi"),)),
            Turn(
                index=1,
                role="assistant",
                origin="agent",
                content=(Reasoning(text="hm"), Text(text="a"), Media(data={}), Text(text="b")),
                calls=(
                    Call(index=0, id="1", name="pay", result=Result(ok=False)),
                    Call(index=1, id="2", name="look", requested_by="tool", parent_call_id="1"),
                    Call(index=2, id="1", name="confirm", requested_by="user"),
                ),
            ),
        ),
    )


def test_actions_are_the_agents_own_calls() -> None:
    trace = a_trace()
    assert [call.name for call in trace.calls] == ["pay", "look", "confirm"]
    assert [call.name for call in trace.actions] == ["pay"]
    assert [place for place, _ in trace.places()] == [f"turns[1].calls[{i}]" for i in range(3)]


def test_a_call_is_found_by_its_id_the_first_where_it_repeats() -> None:
    found = a_trace().find_call("1")
    assert found is not None
    assert found.name == "pay"
    assert a_trace().find_call("9") is None


def test_only_a_known_failure_is_a_failure() -> None:
    pay, look, _ = a_trace().calls
    assert pay.failed
    assert not look.failed
    assert not Call(index=0, id="1", name="x", result=Result()).failed


def test_what_became_of_a_turn_is_read_from_its_further_fields() -> None:
    told = {
        "error": {"type": "ValueError", "message": "no", "code": 7},
        **dict.fromkeys(("interrupted", "not_seen", "copied_context", "context_rewritten"), True),
    }
    turn = Turn.model_validate({"index": 1, "role": "assistant", "origin": "agent", **told})
    assert turn.error == ErrorInfo(type="ValueError", message="no")
    assert turn.interrupted
    assert turn.not_seen
    assert turn.copied_context
    assert turn.context_rewritten
    document = Trace(id="t", turns=(turn,)).to_dict()
    assert document["turns"][0].items() >= told.items()


@pytest.mark.parametrize("odd", [None, "no", 7, [], {}, {"type": 7}])
def test_a_turn_of_which_nothing_further_is_known_has_plain_values(odd: object) -> None:
    bare = Turn(index=1, role="assistant", origin="agent")
    foreign = bare.model_copy(update={"error": odd, "interrupted": "x", "not_seen": 1})
    for turn in (bare, foreign):
        assert turn.error is None
        assert not turn.interrupted
        assert not turn.not_seen
        assert not turn.copied_context
        assert not turn.context_rewritten


def test_what_a_model_saw_before_a_turn_has_no_reasoning() -> None:
    trace = a_trace()
    later = trace.model_copy(
        update={"turns": (*trace.turns, Turn(index=2, role="user", origin="human"))}
    )
    seen = later.before(2)
    assert [turn.index for turn in seen] == [0, 1]
    assert [part.type for part in seen[1].content] == ["text", "media", "text"]
    assert seen[1].calls == trace.turns[1].calls
    assert trace.before(0) == ()
    assert trace.before(2) == seen
    for place in (-1, 3):
        with pytest.raises(IndexError):
            trace.before(place)


def test_a_turns_text_leaves_reasoning_and_media_out() -> None:
    assert a_trace().turns[1].text == "a\nb"


@given(traces())
def test_every_call_has_one_place(trace: Trace) -> None:
    assert [call for _, call in trace.places()] == list(trace.calls)
    assert [call.index for call in trace.calls] == list(range(len(trace.calls)))


def test_a_trace_cannot_be_edited() -> None:
    trace = a_trace()
    with pytest.raises(ValidationError):
        trace.id = "t2"
    with pytest.raises(ValidationError):
        trace.turns[1].calls[0].name = "send"


@pytest.mark.parametrize(
    "fields",
    [
        {"ok": "yes"},
        {"ok": 1},
        {"interrupted": "false"},
        {"exit_code": "1"},
        {"exit_code": True},
        {"exit_code": 1.5},
        {"exit_code": 2**70},
        {"error": "boom"},
    ],
    ids=short_repr,
)
def test_evidence_is_not_coerced(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Result.model_validate(fields)


@pytest.mark.parametrize("duration", [float("nan"), float("inf"), "12", True], ids=short_repr)
def test_a_duration_is_a_finite_number(duration: Any) -> None:
    with pytest.raises(ValidationError):
        Call(index=0, id="1", name="x", duration_ms=duration)


@pytest.mark.parametrize(
    "time", [1700000000, 1.5, "1700000000", "yesterday", "", True, [], "0001-01-01T00:00:00+14:00"]
)
def test_a_time_is_iso_text(time: Any) -> None:
    with pytest.raises(ValidationError):
        Trace(id="t", started_at=time)


def test_times_are_aware_and_in_utc() -> None:
    east = timezone(timedelta(hours=9))
    for time in ("2026-01-02T03:04:05+09:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=east)):
        found = Trace.model_validate({"id": "t", "started_at": time}).started_at
        assert found == datetime(2026, 1, 1, 18, 4, 5, tzinfo=UTC)
        assert found is not None
        assert found.tzinfo is UTC
    naive = Trace.model_validate({"id": "t", "started_at": "2026-01-02T03:04:05.123Z"}).started_at
    assert naive == datetime(2026, 1, 2, 3, 4, 5, 123000, tzinfo=UTC)


def test_null_is_a_value_and_unknown_is_none() -> None:
    assert Result().content is UNKNOWN
    assert Result(content=None).content is None
    assert Trace(id="t").initial_state is UNKNOWN
    assert Trace(id="t", initial_state=None).initial_state is None


def test_a_lone_surrogate_becomes_its_escape() -> None:
    assert Text(text="a\ud800").text == "a\\ud800"
    assert Call(index=0, id="\udfff", name="x").id == "\\udfff"


@pytest.mark.parametrize("index", [-1, True, 0.0, 2**64])
def test_an_index_counts_from_nought(index: Any) -> None:
    with pytest.raises(ValidationError):
        Turn(index=index, role="user", origin="human")
    with pytest.raises(ValidationError):
        Call(index=index, id="1", name="pay")
