"""The state at the time of each call."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.grading.runs import CUT_OFF, action
from tracedance_sdk.grading.state_history import StateHistory
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.trace import UNKNOWN, Call, Json, Result

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def to(value: int, *, at: tuple[float, float] | None = None, **fields: Any) -> Call:
    """Return a call that sets ``n``; `at` is when it began and ended, in ms."""
    if at is not None:
        fields["started_at"] = NOON + timedelta(milliseconds=at[0])
        fields["duration_ms"] = at[1] - at[0]
    change = [{"op": "replace", "path": "/n", "value": value}]
    return action("set", state_change=change, **fields)


def history(*calls: Call) -> list[tuple[Json, Json]]:
    """Return ``n`` before and after each call; None where unknown."""
    numbered = [call.model_copy(update={"index": i}) for i, call in enumerate(calls)]
    states = StateHistory({"n": 0}, numbered)

    def n(state: Json) -> Json:
        return None if state is UNKNOWN else state["n"]

    return [(n(states.before(call)), n(states.after(call))) for call in numbered]


def test_one_call_after_the_other() -> None:
    assert history(to(1), to(2)) == [(0, 1), (1, 2)]
    assert history(to(1, at=(0, 5)), to(2, at=(5, 6))) == [(0, 1), (1, 2)]


def test_calls_at_the_same_time_change_the_state_in_the_order_they_end() -> None:
    slow, quick = to(2, at=(0, 9)), to(1, at=(1, 3))
    assert history(slow, quick, to(3, at=(9, 10))) == [(0, 2), (None, 1), (2, 3)]


def test_a_call_inside_another_ends_before_it() -> None:
    inner = to(1, requested_by="tool", parent_call_id="outer")
    assert history(to(2, id="outer"), inner, to(3)) == [(0, 2), (None, 1), (2, 3)]


def test_a_change_that_was_not_recorded_leaves_all_later_states_unknown() -> None:
    blind = action("set", result=CUT_OFF, started_at=NOON)
    assert history(to(1), blind, to(3)) == [(0, 1), (1, None), (None, None)]
    assert history(action("set"), action("set")) == [(0, None), (None, None)]


def test_what_was_requested_and_never_ran_changed_nothing() -> None:
    never = to(1).model_copy(update={"state_change": None, "result": None})
    assert history(never, to(2)) == [(None, None), (0, 2)]


def test_a_change_that_does_not_fit_tells_nothing() -> None:
    odd = action("set", state_change=[{"op": "remove", "path": "/x"}])
    assert history(odd, to(2)) == [(0, None), (None, None)]


def test_very_short_calls_come_one_after_the_other() -> None:
    calls = [to(n, at=(n * 0.001, n * 0.001 + 0.0015), result=Result(ok=True)) for n in (1, 2, 3)]
    assert history(*calls) == [(0, 1), (1, 2), (2, 3)]


def test_states_of_a_recorded_run_are_those_the_environment_had() -> None:
    world = {"n": 0}
    seen: dict[str, int] = {}

    @tool
    async def step(name: str, *, pause: float = 0, inner: bool = False) -> None:
        seen[name] = world["n"]
        await asyncio.sleep(pause)
        if inner:
            await step(f"{name}.inner")
        world["n"] += 1
        seen[f"{name}.after"] = world["n"]

    async def main() -> None:
        await step("a")
        await asyncio.gather(step("b", pause=0.05), step("c", pause=0.01))
        await step("d", inner=True)
        await step("e")

    with TraceRecorder(state=lambda: dict(world), state_changes="per_call") as recorder:
        asyncio.run(main())
    trace = recorder.trace
    states = StateHistory(trace.initial_state, trace.calls)
    known = 0
    for call in trace.calls:
        name = call.arguments["name"]
        before = states.before(call)
        if before is not UNKNOWN:
            assert before["n"] == seen[name]
            known += 1
        assert states.after(call)["n"] == seen[f"{name}.after"]
    assert known >= 4
