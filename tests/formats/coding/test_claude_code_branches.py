"""Sessions of Claude Code that fork, resume, lose records or go in circles."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.support.claude_code_records import (
    chain,
    found_in,
    only,
    record,
    reply,
    result,
    traces_in,
    use,
    user,
)
from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.formats.coding import claude_code_branches
from tracedance_sdk.trace import Trace, encode_json

FORKED = [
    user("u1", None, "Plant a tree."),
    reply("a2", "u1", "m1", "Which?"),
    user("u3", "a2", "An oak."),
    reply("a4", "u3", "m2", "Planted."),
    user("u5", "a2", "A beech."),
    reply("a6", "u5", "m3", "Planted, too."),
]


def texts(trace: Trace) -> list[str]:
    return [turn.text for turn in trace.turns]


def branch_of(trace: Trace) -> Any:
    return trace.metadata["claude_code"].get("branch")


def test_each_branch_of_a_fork_is_a_trace_and_repeats_the_trunk() -> None:
    first, second = traces_in(FORKED)
    assert texts(first) == ["Plant a tree.", "Which?", "An oak.", "Planted."]
    assert texts(second) == ["Plant a tree.", "Which?", "A beech.", "Planted, too."]
    assert (branch_of(first), first.metadata.get("branch")) == (None, None)
    assert branch_of(second) == {"trunk_turns": 2, "of": first.id}
    assert second.metadata["branch"] == "/u5"
    assert first.session_id == second.session_id


def test_the_branch_that_began_first_keeps_the_sessions_id() -> None:
    (before,) = traces_in(FORKED[:4])
    assert traces_in(FORKED)[0].id == before.id


def test_results_of_parallel_calls_are_no_branches() -> None:
    trace = only(
        [
            user("u1", None, "Go"),
            reply("a2", "u1", "m1", use("c1")),
            record("progress", "p3", "a2", data={"type": "hook_progress"}),
            reply("a4", "a2", "m1", use("c2")),
            result("r5", "a2", "c1", "one"),
            result("r6", "a4", "c2", "two"),
            reply("a7", "r5", "m2", "Done."),
        ]
    )
    assert [call.result.content for call in trace.calls if call.result] == ["one", "two"]
    assert texts(trace) == ["Go", "", "Done."]


def test_commands_of_the_client_open_no_branch() -> None:
    trace = only(
        [
            user("u1", None, "<local-command-caveat>x</local-command-caveat>", isMeta=True),
            user("u2", "u1", "<command-name>/clear</command-name>"),
            user("u3", "u1", "<bash-input>ls</bash-input>"),
            user("u4", "u3", "<bash-stdout>a</bash-stdout>"),
            user("u5", "u4", "Hi"),
            reply("a6", "u5", "m1", "Hello"),
        ]
    )
    assert len(trace.turns) == 6


def test_a_conversation_begun_anew_in_the_same_file_is_a_trace_of_its_own() -> None:
    first, second = traces_in(
        [
            *chain(user("u1", None, "Plan it."), reply("a2", None, "m1", "Here.")),
            user("u3", None, "Implement the following plan:\n\n# Plan", planContent="# Plan"),
            reply("a4", "u3", "m2", "Done."),
        ]
    )
    assert (len(first.turns), len(second.turns)) == (2, 2)
    assert branch_of(second) == {"trunk_turns": 0}


def test_records_of_a_file_where_none_names_a_parent_follow_each_other() -> None:
    records = [user("u1", None, "Hi"), reply("a2", None, "m1", "Hello"), user("u3", None, "Bye")]
    assert texts(only(records)) == ["Hi", "Hello", "Bye"]


def test_a_resumed_session_is_a_trace_that_goes_on_from_the_earlier_one() -> None:
    other = {"sessionId": "0f0e0d0c-0000-4000-8000-000000000002"}
    first, second = traces_in(
        [
            *chain(user("u1", None, "Hi"), reply("a2", None, "m1", "Hello")),
            user("u3", "a2", "On.", **other),
            reply("a4", "u3", "m2", "Right.", **other),
        ]
    )
    assert (texts(first), texts(second)) == (["Hi", "Hello"], ["Hi", "Hello", "On.", "Right."])
    assert branch_of(second) == {"trunk_turns": 2, "of": first.id}
    assert second.session_id == other["sessionId"]


def test_a_parent_that_the_file_does_not_hold_is_a_lost_record() -> None:
    records = chain(user("u1", None, "Hi"), reply("a2", None, "m1", "Hello"))
    trace = only([*records, user("u4", "u3", "Bye")])
    assert texts(trace) == ["Hi", "Hello", "Bye"]
    assert trace.fidelity.count("record_lost") == 1


def test_a_file_that_begins_in_the_middle_is_another_trace_than_the_whole() -> None:
    whole, part = only(FORKED[:4]), only(FORKED[2:4])
    assert part.id != whole.id
    assert part.fidelity.count("record_lost") == 1
    assert only(FORKED[2:3]).id == part.id


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([user("u1", "u1", "Hi")], id="its own parent"),
        pytest.param([user("u1", "a2", "Hi"), reply("a2", "u1", "m1", "Hello")], id="two"),
        pytest.param(
            [user("u1", None, "Hi"), user("u3", "a2", "On"), reply("a2", "u3", "m1", "Hello")],
            id="behind the start",
        ),
    ],
)
def test_parents_in_a_circle_end_nowhere_else(records: list[Any]) -> None:
    trace = only(records)
    assert len(trace.turns) == len(records)
    assert trace.fidelity.count("record_lost") == 1


def test_records_of_one_id_that_differ_are_all_kept() -> None:
    records = [user("u1", None, "Hi"), reply("a2", "u1", "m1", "One"), user("a2", "u1", "Two")]
    assert sorted({text for trace in traces_in(records) for text in texts(trace)}) == [
        "Hi",
        "One",
        "Two",
    ]


@st.composite
def sessions(draw: st.DrawFn) -> list[Any]:
    """Records in which each follows some record before it, or one that is not there."""
    found: list[Any] = []
    for index in range(draw(st.integers(1, 14))):
        above = draw(st.sampled_from([*(item["uuid"] for item in found), None, "gone"]))
        kind = draw(st.sampled_from("uuarp"))
        name = f"{kind}{index}"
        if kind == "u":
            found.append(user(name, above, f"say {index}"))
        elif kind == "a":
            message = f"m{draw(st.integers(0, 4))}"
            found.append(reply(name, above, message, f"text {index}", use(f"c{index}")))
        elif kind == "r":
            found.append(result(name, above, f"c{draw(st.integers(0, 14))}", f"result {index}"))
        else:
            found.append(record("progress", name, above, data={"type": "hook_progress"}))
    return found


@given(sessions())
def test_every_record_is_in_some_trace(records: list[Any]) -> None:
    found = found_in(records)
    written = b"".join(encode_json(item) for item in found if isinstance(item, Trace)).decode()
    if not any(item["type"] in ("user", "assistant") for item in records):
        assert [type(item) for item in found] == [ImportProblem]
        return
    assert not any(isinstance(item, ImportProblem) for item in found)
    assert [item["uuid"] for item in records if f'"{item["uuid"]}"' not in written] == []


@given(sessions(), st.data())
def test_a_session_keeps_its_ids_when_it_grows(records: list[Any], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(records)))
    whole = {item.id for item in found_in(records) if isinstance(item, Trace)}
    part = [item for item in found_in(records[:cut]) if isinstance(item, Trace)]
    assert {item.id for item in part} <= whole


def test_many_records_in_one_line_are_no_deep_recursion() -> None:
    records = [user("u0", None, "start")]
    records += [user(f"u{n}", f"u{n - 1}", f"say {n}") for n in range(1, 5000)]
    assert len(only(records).turns) == 5000


def test_branches_beyond_the_bound_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code_branches, "MOST_RETOLD", 60)
    records = chain(*(user(f"u{n}", None, f"say {n}") for n in range(20)))
    records += [user(f"b{n}", "u19", f"branch {n}") for n in range(20)]
    found = found_in(records)
    (problem,) = [item for item in found if isinstance(item, ImportProblem)]
    assert len(found) == 8
    assert problem.reason == snapshot("13 branches left out, which repeat more than can be held")
