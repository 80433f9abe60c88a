"""The turns of a trace, as a reader of logs comes upon them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.formats import Transcript, media_part, read_arguments, reasoning_part, text_part
from tracedance_sdk.trace import UNKNOWN, Trace


def read(log: Transcript) -> Trace:
    return log.trace("t", where="a test")


def test_parts_and_fields_reach_the_trace() -> None:
    log = Transcript()
    parts = [reasoning_part("hm"), text_part("yes"), media_part("image", mime_type="image/png")]
    log.say("assistant", parts, origin="agent", model="m", started_at=None, own={"a": 1})
    turn = read(log).turns[0]
    assert [part.type for part in turn.content] == ["reasoning", "text", "media"]
    assert (turn.model, turn.started_at, turn.text) == ("m", None, "yes")
    assert (turn.__pydantic_extra__ or {})["own"] == {"a": 1}


def test_a_repeated_id_is_answered_in_the_latest_turn_and_there_in_order() -> None:
    log = Transcript()
    for turn in range(2):
        log.say("assistant", origin="agent")
        log.request("f", call_id="same", arguments={"n": 2 * turn})
        log.request("f", call_id="same", arguments={"n": 2 * turn + 1})
    for content in ("third", "fourth", "first", "second"):
        log.answer("same", content=content)
    contents = [call.result.content for call in read(log).calls if call.result]
    assert contents == ["first", "second", "third", "fourth"]


def test_an_answer_without_an_id_goes_to_the_next_unanswered_call_of_its_name() -> None:
    log = Transcript()
    log.say("assistant", origin="agent")
    log.request("f")
    log.request("g")
    log.answer(name="g", content=1)
    log.answer(content=2)
    calls = read(log).calls
    assert [(call.result.content, call.bound_by) for call in calls if call.result] == [
        (2, "order"),
        (1, "order"),
    ]


def test_an_answer_to_no_call_is_kept_and_noted() -> None:
    log = Transcript()
    log.say("user", "hi", origin="human")
    log.answer("nobody", content="x", ok=False, error={"type": "E", "message": "m"})
    trace = read(log)
    assert trace.turns[1].synthetic
    assert (trace.calls[0].id, trace.calls[0].bound_by) == ("nobody", "synthetic")
    assert trace.fidelity.count("request_missing") == 1
    assert not log.is_waiting("nobody")


def test_a_request_after_another_role_opens_a_synthetic_turn() -> None:
    log = Transcript()
    log.say("user", "hi", origin="human")
    log.request("mine", requested_by="user")
    log.request("its")
    trace = read(log)
    assert [(turn.role, len(turn.calls)) for turn in trace.turns] == [("user", 1), ("assistant", 1)]
    assert [call.name for call in trace.actions] == ["its"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('{"a": 1}', ({"a": 1}, '{"a": 1}'), id="spaced"),
        pytest.param('{"a":1}', ({"a": 1}, None), id="compact"),
        pytest.param("", ({}, ""), id="empty"),
        pytest.param('{"a": ', (UNKNOWN, '{"a": '), id="cut"),
    ],
)
def test_arguments_are_read_from_the_text_of_the_model(text: str, found: object) -> None:
    assert read_arguments(text) == found


def test_only_known_defects_are_noted() -> None:
    with pytest.raises(KeyError, match="is not a kind"):
        Transcript().note("bad luck")


@given(st.lists(st.tuples(st.sampled_from("sra"), st.sampled_from(["", "a", "b"])), max_size=30))
def test_no_answer_is_lost_whatever_the_order(steps: list[tuple[str, str]]) -> None:
    log = Transcript()
    answers = 0
    for step, call_id in steps:
        if step == "s":
            log.say("assistant", origin="agent")
        elif step == "r":
            log.request("f", call_id=call_id)
        else:
            log.answer(call_id, content=answers)
            answers += 1
    results = [call.result.content for call in read(log).calls if call.result is not None]
    assert sorted(results) == list(range(answers))
