"""Runs that share an id: versions of one, the same from another place, and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.formats import Transcript
from tracedance_sdk.store import TraceStore
from tracedance_sdk.store.continuation import is_same_run
from tracedance_sdk.trace import Trace


def run(*said: str, results: tuple[str, ...] = (), uri: str = "a", **fields: Any) -> Trace:
    log = Transcript()
    for place, text in enumerate(said):
        if place % 2:
            log.say("assistant", text, origin="agent")
        else:
            log.say("user", text, origin="human")
    for number, content in enumerate(results):
        log.request("look", call_id=str(number), arguments={"n": number})
        log.answer(str(number), content=content)
    source = {"collector": "test", "uri": uri}
    return log.trace("one-id", where="a test", source=source, **fields)


def texts(store: TraceStore) -> list[str]:
    return sorted(" / ".join(turn.text for turn in trace.turns) for trace in store)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(run("Q"), run("Q", "A"), True, id="it grew"),
        pytest.param(run("Q", "A"), run("Q", "A more"), True, id="its last turn grew"),
        pytest.param(run("Q", "A"), run("Q", "B", "z"), False, id="another answer"),
        pytest.param(run("Q", "A", "x"), run("Q", "A more", "x"), False, id="an earlier turn"),
        pytest.param(run("Q", "A"), run("P", "A"), False, id="another question"),
        pytest.param(
            run("Q", "A", results=("1",)), run("Q", "A", results=("1", "2")), True, id="more calls"
        ),
        pytest.param(
            run("Q", "A", results=("1",)), run("Q", "A", results=("2",)), False, id="other result"
        ),
        pytest.param(run(outcome={"success": True}), run(outcome={}), True, id="outcome learned"),
        pytest.param(
            run(outcome={"success": True}), run(outcome={"success": False}), False, id="outcomes"
        ),
        pytest.param(
            run("Ann asks a@b.org", "A"),
            run("user-0123456789 asks user-1123456789@example.invalid", "A", "z"),
            True,
            id="people were replaced",
        ),
        pytest.param(
            run("Ann asks [MASKED:a:0a] and user-0123456789"),
            run("user-1123456789 asks [MASKED:a:0b] and user-0123456789"),
            True,
            id="more people were replaced",
        ),
        pytest.param(
            run("Ann asks", "A"), run("user-0123456789 answers", "A"), False, id="of another text"
        ),
        pytest.param(run("Q", metadata={"a": 1}), run("Q"), True, id="more known of it"),
    ],
)
def test_a_run_is_the_same_where_one_says_first_what_the_other_said(
    one: Trace, other: Trace, *, same: bool
) -> None:
    assert is_same_run(one, other) is is_same_run(other, one) is same


@pytest.mark.parametrize("together", [True, False])
def test_two_runs_of_one_id_are_both_kept_and_kept_once(tmp_path: Path, *, together: bool) -> None:
    store = TraceStore.create(tmp_path / "store")
    first, second, third = run("Q", "A"), run("Q", "B", "z"), run("P")
    if together:
        assert store.add([first, second, third])[:1] == (3,)
    else:
        assert [store.add([trace]).apart for trace in (first, second, third)] == [0, 1, 1]
    assert texts(store) == ["P", "Q / A", "Q / B / z"]
    again = store.add([third, second, first])
    assert (again.added, again.replaced, len(store)) == (0, 0, 3)
    grown = store.add([run("Q", "B", "z", "end")])
    assert (grown.replaced, len(store)) == (1, 3)
    assert texts(store) == ["P", "Q / A", "Q / B / z / end"]


def test_the_same_run_from_another_place_changes_nothing(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "store")
    store.add([run("Q", "A", uri="a")])
    for uri in ("b", "a", "a/longer/path", "b"):
        found = store.add([run("Q", "A", uri=uri)])
        assert (found.unchanged, found.replaced, found.older, found.added) == (1, 0, 0, 0)


def test_of_two_versions_as_long_one_always_wins(tmp_path: Path) -> None:
    one, other = run("Q", metadata={"a": 1}), run("Q", metadata={"a": 2})
    kept = []
    for order, name in (((one, other), "x"), ((other, one), "y")):
        store = TraceStore.create(tmp_path / name)
        store.add(order)
        store.add(order)
        kept.append(store.get("one-id").metadata)
        assert store.add(order).replaced == 0
    assert kept[0] == kept[1]


def test_an_interruption_alone_is_no_recorded_result(tmp_path: Path) -> None:
    log = Transcript()
    log.say("assistant", origin="agent")
    for name in ("a", "b", "c"):
        log.request(name, call_id=name)
    log.answer("a", interrupted=True)
    log.answer("b", interrupted=True, content="half of it")
    store = TraceStore.create(tmp_path / "store")
    store.add([log.trace("one", where="a test")])
    calls = store.select("SELECT name, has_result, interrupted FROM calls ORDER BY name").rows
    assert calls == (("a", False, True), ("b", True, True), ("c", False, False))
    assert store.select("SELECT results FROM traces").rows == ((1,),)
