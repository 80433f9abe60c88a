"""Turns reported by hand, and how executed calls find what the model asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.errors import InvalidOption, InvalidTrace
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.trace import Call, Media, Reasoning, Text, Trace, Usage


@tool
def pay(amount: float, to: str = "ann") -> str:
    return f"paid {amount}"


@tool
def look(what: str) -> str:
    return what


def asked(call_id: str | None, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments}


def outline(trace: Trace) -> list[Any]:
    return [
        (
            turn.role,
            turn.text,
            turn.synthetic,
            [(c.name, c.arguments, c.bound_by, c.result is not None) for c in turn.calls],
        )
        for turn in trace.turns
    ]


def test_a_conversation_with_its_calls_is_a_trace() -> None:
    with TraceRecorder(system_prompt="Be kind.") as recorder:
        recorder.record_turn("system", "You may pay.")
        recorder.record_turn("user", "Pay Ann 3", name="Bob")
        recorder.record_turn("assistant", "Paying.", calls=[asked("c1", "pay", amount=3)])
        pay(3)
        recorder.record_turn("assistant", "Done.", finish_reason="stop")
        look("log")
        recorder.record_turn("user", "Thanks")
        look("more")

    trace = recorder.trace
    assert trace.system_prompt == "Be kind."
    assert [turn.origin for turn in trace.turns] == [
        "harness", "human", "agent", "agent", "human", "agent",
    ]  # fmt: skip
    assert outline(trace) == snapshot(
        [
            ("system", "You may pay.", False, []),
            ("user", "Pay Ann 3", False, []),
            ("assistant", "Paying.", False, [("pay", {"amount": 3}, "key", True)]),
            ("assistant", "Done.", False, [("look", {"what": "log"}, "synthetic", True)]),
            ("user", "Thanks", False, []),
            ("assistant", "", True, [("look", {"what": "more"}, "synthetic", True)]),
        ]
    )


def test_calls_are_bound_by_id_then_by_key_then_in_order() -> None:
    with TraceRecorder() as recorder:
        recorder.record_turn(
            "assistant",
            calls=[
                asked("a", "pay", amount=1),
                asked("b", "pay", amount=2),
                asked("c", "look", what="x"),
                asked("d", "look", what="never"),
            ],
        )
        pay(2.0)
        with recorder.call("pay", {"amount": 99}, id="a"):
            pass
        look("y")
        pay(5)

    (turn,) = recorder.trace.turns
    assert [(c.id, c.arguments, c.bound_by) for c in turn.calls[:3]] == [
        ("b", {"amount": 2.0}, "key"),
        ("a", {"amount": 99}, "id"),
        ("c", {"what": "y"}, "order"),
    ]
    extra, never = turn.calls[3:]
    assert (extra.arguments, extra.bound_by) == ({"amount": 5}, "synthetic")
    assert (never.id, never.result) == ("d", None)


def test_a_request_without_id_is_given_one_that_its_call_takes() -> None:
    with TraceRecorder() as recorder:
        recorder.record_turn("assistant", calls=[asked(None, "look", what="x")])
        look("x")

    (call,) = recorder.trace.calls
    assert call.bound_by == "key"
    assert call.id.startswith("call_")


def test_calls_outside_any_turn_share_a_synthetic_one_until_the_next_turn() -> None:
    with TraceRecorder() as recorder:
        look("a")
        look("b")
        recorder.record_turn("user", "hm")
        look("c")

    assert [(turn.synthetic, len(turn.calls)) for turn in recorder.trace.turns] == [
        (True, 2),
        (False, 0),
        (True, 1),
    ]
    assert [call.index for call in recorder.trace.calls] == [0, 1, 2]


def test_a_simulated_users_call_stands_in_the_users_turn() -> None:
    with TraceRecorder() as recorder:
        recorder.record_turn("user", "let me look")
        with recorder.call("look", {"what": "sky"}, requested_by="user") as call:
            call.result = "blue"
        look("sea")

    trace = recorder.trace
    assert [[c.requested_by for c in turn.calls] for turn in trace.turns] == [["user"], ["agent"]]
    assert [c.arguments["what"] for c in trace.actions] == ["sea"]


def test_all_facts_of_a_turn_are_kept() -> None:
    started = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
    ended = datetime(2026, 5, 1, 12, 0, 1, tzinfo=UTC)
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    with TraceRecorder() as recorder:
        recorder.record_turn(
            "assistant",
            [Reasoning(text="hm"), "hello", {"type": "text", "text": "you"}, image],
            calls=[Call(index=0, id="k", name="look", arguments={"what": 1})],
            model="m-1",
            usage={"input_tokens": 5, "cost_usd": 0.25},
            settings={"temperature": 0.5, "custom": [1]},
            origin="harness",
            name="Bob",
            finish_reason="tool_calls",
            started_at=started,
            ended_at=ended,
        )

    (turn,) = recorder.trace.turns
    assert turn.content == (
        Reasoning(text="hm"), Text(text="hello"), Text(text="you"), Media(data=image),
    )  # fmt: skip
    assert (turn.model, turn.usage) == ("m-1", Usage(input_tokens=5, cost_usd=0.25))
    assert turn.settings == {"temperature": 0.5, "custom": [1]}
    assert (turn.origin, turn.name, turn.finish_reason) == ("harness", "Bob", "tool_calls")
    assert (turn.started_at, turn.ended_at) == (started, ended)
    assert [(c.id, c.arguments, c.result) for c in turn.calls] == [("k", {"what": 1}, None)]


def test_turns_are_frozen_when_they_are_reported_and_secrets_in_them_masked() -> None:
    part = {"type": "text", "text": "hello"}
    arguments = {"what": "x"}
    with TraceRecorder(system_prompt="use AKIAIOSFODNN7EXAMPLE") as recorder:
        recorder.record_turn("user", [part])
        recorder.record_turn("assistant", calls=[{"name": "look", "arguments": arguments}])
        part["text"] = arguments["what"] = "changed"
        recorder.record_turn("user", "my key is AKIAIOSFODNN7EXAMPLE")

    text = recorder.trace.model_dump_json()
    assert "changed" not in text
    assert "AKIAIOSFODNN7EXAMPLE" not in text
    assert text.count("[MASKED:") == 2


def test_the_same_secret_in_request_and_call_does_not_keep_them_apart() -> None:
    with TraceRecorder() as recorder:
        recorder.record_turn(
            "assistant",
            calls=[asked("a", "look", what="AKIAIOSFODNN7EXAMPLE"), asked("b", "look", what="x")],
        )
        look("x")
        look("AKIAIOSFODNN7EXAMPLE")

    assert [(c.id, c.bound_by) for c in recorder.trace.calls] == [("b", "key"), ("a", "key")]


def test_the_same_payment_twice_under_new_ids_is_found_by_its_key() -> None:
    from tracedance_sdk.trace import call_key

    @tool
    def transfer(**fields: Any) -> str:
        if fields.get("fail"):
            raise ConnectionError("reset")
        return "ok"

    with TraceRecorder() as recorder:
        for fields in (
            {"amount": 100, "to": "ann"},
            {"to": "ann", "amount": 100.0},
            {"amount": True, "to": "ann"},
            {"amount": "100", "to": "ann"},
        ):
            transfer(**fields)
        with pytest.raises(ConnectionError):
            transfer(amount=7, fail=True)

    calls = recorder.trace.calls
    keys = [call_key(call.name, call.arguments) for call in calls]
    assert len({call.id for call in calls}) == 5
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
    assert [call.failed for call in calls] == [False, False, False, False, True]


def test_a_turn_that_cannot_be_read_is_refused_and_recorded_nowhere() -> None:
    with TraceRecorder() as recorder:
        with pytest.raises(InvalidOption, match="role='tool' is none of user, system, assistant"):
            recorder.record_turn("tool", "x")  # type: ignore[arg-type]
        with pytest.raises(InvalidOption, match=r"calls\[1\]=\{\} has no name"):
            recorder.record_turn("assistant", calls=[asked("a", "x"), {}])
        with pytest.raises(InvalidTrace, match="input_tokens"):
            recorder.record_turn("assistant", usage={"input_tokens": "many"})
        with pytest.raises(InvalidTrace, match="origin"):
            recorder.record_turn("user", "x", origin="martian")  # type: ignore[arg-type]
        look("a")

    assert outline(recorder.trace) == [
        ("assistant", "", True, [("look", {"what": "a"}, "synthetic", True)])
    ]


def test_the_outcome_is_what_the_program_says_and_ended_by_default() -> None:
    with TraceRecorder() as silent:
        pass
    with TraceRecorder() as spoken:
        spoken.set_outcome(success=True, reward=0.5)
        spoken.set_outcome(ended=False, details={"why": "turn limit"})
        with pytest.raises(InvalidTrace, match="reward"):
            spoken.set_outcome(reward="high")  # type: ignore[arg-type]

    assert silent.trace.outcome is not None
    assert silent.trace.outcome.ended is True
    outcome = spoken.trace.outcome
    assert outcome is not None
    assert (outcome.success, outcome.reward, outcome.ended) == (True, 0.5, False)
    assert outcome.details == {"why": "turn limit"}
