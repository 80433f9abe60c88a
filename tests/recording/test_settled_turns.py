"""A turn goes on record by its document only where the turn itself would be written the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracedance_sdk as td
from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.otel import message_json, message_of
from tracedance_sdk.recording.messages import is_settled, turn_document, turn_of
from tracedance_sdk.recording.values import freeze

WORDS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
ODD: st.SearchStrategy[Any] = st.sampled_from([None, 3, True, ["x"], {}])
PARTS = st.one_of(
    WORDS,
    st.fixed_dictionaries({"type": st.just("text"), "text": WORDS}),
    st.fixed_dictionaries({"type": st.just("reasoning"), "text": WORDS, "part": JSON}),
    st.fixed_dictionaries({"type": st.just("media"), "modality": WORDS, "data": JSON}),
)
CALLS = st.fixed_dictionaries(
    {"name": WORDS},
    optional={"id": WORDS | ODD, "arguments": JSON, "raw_arguments": st.none() | WORDS},
)
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "origin": st.sampled_from(["human", "agent", "environment", "harness", "nobody"]),
        "name": WORDS | ODD,
        "model": WORDS | ODD,
        "finish_reason": WORDS | ODD,
        "usage": st.dictionaries(
            st.sampled_from(["input_tokens", "output_tokens", "cost_usd", "reasoning_tokens"]),
            st.integers() | st.floats() | st.none() | st.booleans(),
        ),
        "settings": st.dictionaries(WORDS, JSON, max_size=2) | ODD,
        "synthetic": st.booleans() | ODD,
        "response_id": JSON,
        "error": JSON,
    },
)


@given(st.sampled_from(["user", "system", "assistant"]), st.lists(PARTS), st.lists(CALLS), FACTS)
@settings(max_examples=1500, deadline=None)
def test_a_settled_document_is_written_as_its_turn(
    role: Any, content: list[Any], calls: list[Any], facts: dict[str, Any]
) -> None:
    document = orjson.loads(freeze(turn_document(role, content, calls, **facts)))
    if is_settled(document):
        turn = turn_of(document)
        assert message_of(document) == message_json(turn, placed=False)


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        datetime(2026, 3, 1, 9, 30),  # noqa: DTZ001  # taken as UTC
        datetime(2026, 3, 1, 11, 30, tzinfo=timezone(timedelta(hours=2))),
        "2026-03-01T11:30:00+02:00",
    ],
    ids=["UTC", "naive", "elsewhere", "text"],
)
def test_times_of_any_zone_are_the_same_time_on_record(moment: Any) -> None:
    with td.TraceRecorder() as recorder:
        recorder.record_turn("assistant", "Done.", started_at=moment, ended_at=moment)
    turn = recorder.trace.turns[0]
    assert turn.started_at == turn.ended_at == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "value"),
    [("model", 3), ("usage", {"input_tokens": "many"}), ("settings", [1]), ("started_at", "soon")],
)
def test_a_field_of_a_wrong_type_is_refused_and_leaves_no_turn(field: str, value: Any) -> None:
    with td.TraceRecorder() as recorder:
        with pytest.raises(InvalidTrace):
            recorder.record_turn("assistant", "Done.", **{field: value})
        recorder.record_turn("assistant", "Done again.")
    assert [turn.text for turn in recorder.trace.turns] == ["Done again."]
    assert recorder.trace.turns[0].index == 0
