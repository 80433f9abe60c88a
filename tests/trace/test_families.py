"""What a run and its sub-agents did, looked at as one run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace import APART, Fidelity, Note, Trace, as_one_run, note

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def turn(role: str, *calls: str, after_s: float | None = None, **fields: Any) -> dict[str, Any]:
    started = None if after_s is None else NOON + timedelta(seconds=after_s)
    return {
        "role": role,
        "origin": "agent" if role == "assistant" else "human",
        "calls": [{"index": 0, "id": name, "name": name} for name in calls],
        "started_at": started,
        **fields,
    }


def trace(name: str, *turns: dict[str, Any], parent: Any = None, **fields: Any) -> Trace:
    numbered = [{"index": index, **turn} for index, turn in enumerate(turns)]
    told = None if parent is None else dict(zip(("trace_id", "call_id"), parent, strict=False))
    return Trace.model_validate({"id": name, "turns": numbered, "parent": told, **fields})


def done(whole: Trace) -> list[str]:
    assert [turn.index for turn in whole.turns] == list(range(len(whole.turns)))
    assert [call.index for call in whole.calls] == list(range(len(whole.calls)))
    return [call.name for call in whole.calls]


TOP = trace("a", turn("user"), turn("assistant", "look", "ask"), turn("assistant", "send"))


def test_what_a_sub_agent_did_stands_behind_the_turn_that_started_it() -> None:
    asked = trace("b", turn("user"), turn("assistant", "search"), parent=("a", "ask"))
    inner = trace("c", turn("assistant", "read"), parent=("b", "search"))
    for order in ((TOP, asked, inner), (inner, asked, TOP)):
        whole = as_one_run(order)
        assert done(whole) == ["look", "ask", "search", "read", "send"]
        assert whole.id == "a"
        assert [turn.role for turn in whole.turns].count("user") == 1


def test_where_no_call_is_known_it_stands_by_time_else_at_the_end() -> None:
    top = trace("a", turn("assistant", "one", after_s=0), turn("assistant", "two", after_s=9))
    beside = turn("assistant", "between")
    timed = trace("b", beside, parent=("a",), started_at=NOON + timedelta(seconds=5))
    assert done(as_one_run([top, timed])) == ["one", "between", "two"]
    assert done(as_one_run([top, trace("b", beside, parent=("a", "gone"))])) == [
        "one",
        "two",
        "between",
    ]


def test_what_an_agent_was_only_shown_is_not_its_own() -> None:
    handed = trace(
        "b",
        turn("user"),
        turn("assistant", "ask", copied_context=True),
        turn("assistant", "refund"),
        parent=("a", "ask"),
    )
    assert done(as_one_run([TOP, handed])) == ["look", "ask", "refund", "send"]


def test_changes_of_another_state_are_left_out_and_all_else_is_the_run_s_own() -> None:
    change = [{"op": "add", "path": "/x", "value": 1}]
    call = {"index": 0, "id": "x", "name": "x", "state_change": change}
    child = trace(
        "b", {"role": "assistant", "origin": "agent", "calls": [call]}, parent=("a", "ask")
    )
    top = TOP.model_copy(update={"final_state": {"x": 2}, "task_id": "t"})
    before = [top.model_dump(), child.model_dump()]
    whole = as_one_run([top, child])
    assert (whole.final_state, whole.task_id, whole.parent) == ({"x": 2}, "t", None)
    assert {call.state_change for call in whole.calls} == {None}
    assert [top.model_dump(), child.model_dump()] == before


@pytest.mark.parametrize(("n_started", "n_given", "lacking"), [(1, 1, 0), (3, 1, 2), (0, 0, 0)])
def test_how_many_sub_agents_are_lacking_is_noted(
    n_started: int, n_given: int, lacking: int
) -> None:
    notes = [note(APART, count=n_started)] if n_started else []
    guessed = Note(kind="boundary_guessed", count=2, places=("turns[1]",))
    top = TOP.model_copy(update={"fidelity": Fidelity(notes=(*notes, guessed))})
    children = [trace(f"b{n}", turn("assistant", "x"), parent=("a", "ask")) for n in range(n_given)]
    whole = as_one_run([top, *children])
    assert whole.fidelity.count(APART) == lacking
    assert whole.fidelity.count("boundary_guessed") == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no traces; give those of one run, such as recorder.traces"),
        ([trace("a"), trace("b")], "2 traces are not those of one run with its sub-agents"),
        ([trace("a"), trace("a")], "2 traces are not those of one run"),
        ([trace("a", parent=("b",)), trace("b", parent=("a",))], "2 traces are not those of one"),
        (["a"], "'a' is a str, not a trace"),
    ],
)
def test_what_is_not_one_run_is_refused(given: list[Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        as_one_run(given)
