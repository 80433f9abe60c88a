"""No word of a turn goes on record with a secret in it, wherever in the turn it stands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracedance_sdk as td
from tracedance_sdk.recording.scopes import find_scope

SECRET = "gh" + "p_" + "Zb7qLw2RtYx9KfPd4VnCs8HjGm3Au5Eo1Ti6"
WORDS = st.sampled_from(["plain", SECRET, f"use {SECRET} for it"])
JSON = st.recursive(
    WORDS | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "note", "text", "data", "type"]), inner, max_size=3)
    ),
    max_leaves=5,
)
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "reasoning"]), "text": WORDS},
    optional={"part": JSON, "refusal": JSON, "caption": JSON},
) | st.fixed_dictionaries(
    {"type": st.just("media"), "modality": WORDS},
    optional={"mime_type": WORDS, "uri": WORDS, "data": JSON, "title": JSON},
)
CALLS = st.fixed_dictionaries(
    {"name": WORDS, "id": WORDS}, optional={"arguments": JSON, "raw_arguments": WORDS}
)
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "name": WORDS,
        "model": WORDS,
        "finish_reason": WORDS,
        "settings": st.dictionaries(st.sampled_from(["stop", "user"]), JSON),
        "response_id": JSON,
        "error": JSON,
        "other_choices": JSON,
    },
)


@given(st.lists(PARTS, max_size=3), st.lists(CALLS, max_size=2), FACTS)
@settings(max_examples=400, deadline=None)
def test_a_secret_stands_nowhere_in_a_recorded_turn(
    content: list[Any], calls: list[Any], facts: dict[str, Any]
) -> None:
    with td.TraceRecorder() as recorder:
        scope = find_scope()
        assert scope is not None
        assert scope.run.turns is not None
        scope.run.turns.record("user", content, [])
        scope.run.turns.record("assistant", content, calls, **facts)
    assert not recorder.close().faults
    turns = recorder.trace.turns
    assert len(turns) == 2
    assert SECRET not in recorder.trace.model_dump_json()
    told = SECRET in str([content, calls, facts])
    assert ("[MASKED:" in recorder.trace.model_dump_json()) == told


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("answer", [b"not json", b"", "text", None], ids=repr)
def test_a_redactor_that_returns_no_json_leaves_nothing_readable_and_harms_nobody(
    answer: Any,
) -> None:
    class Odd:
        protects = ("secrets",)

        def redact(self, data: bytes) -> Any:
            return answer

    @td.tool
    def look(at: str) -> str:
        return f"seen {at}"

    with td.TraceRecorder(redaction=Odd(), state={"sky": "blue"}) as recorder:
        recorder.record_turn("user", "Look at the sky.")
        assert look("sky") == "seen sky"
    assert recorder.close().faults
    text = recorder.trace.model_dump_json()
    assert "Look at" not in text
    assert "seen sky" not in text
    assert "blue" not in text
