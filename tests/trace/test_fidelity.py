from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import tools, traces
from tracedance_sdk.trace import (
    KINDS,
    UNKNOWN,
    Call,
    ErrorInfo,
    Reasoning,
    Result,
    Source,
    Text,
    ToolDefinition,
    Trace,
    Turn,
    assess,
    blob_stub,
    mask_text,
    note,
    with_tools,
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def a_call(**fields: Any) -> Call:
    known = {"index": 0, "id": "1", "name": "pay", "arguments": {}, "result": Result(content="ok")}
    return Call.model_validate({**known, **fields})


def a_trace(*calls: Call, **fields: Any) -> Trace:
    numbered = tuple(call.model_copy(update={"index": i}) for i, call in enumerate(calls))
    known: dict[str, Any] = {
        "id": "t",
        "initial_state": {},
        "final_state": {},
        "tools": (ToolDefinition(name="pay"),),
        "turns": (
            Turn(index=0, role="user", origin="human", content=(Text(text="Pay"),)),
            Turn(index=1, role="assistant", origin="agent", calls=numbered),
        ),
    }
    return Trace.model_validate({**known, **fields})


LATER = Turn(index=2, role="assistant", origin="agent", content=(Text(text="Paid"),))


def then_said(*calls: Call) -> Trace:
    """A trace in which the model saw what the calls gave."""
    trace = a_trace(*calls)
    return trace.model_copy(update={"turns": (*trace.turns, LATER)})


ALL = ("reading", "grading", "state_grading", "next_turn", "rebuilt_test")


def test_a_whole_trace_has_no_notes_and_is_fit_for_everything() -> None:
    fidelity = assess(a_trace(a_call())).fidelity
    assert fidelity.notes == ()
    assert fidelity.fit_for == ALL


def test_a_masked_call_is_one_place_and_masked_words_and_states_are_noted_too() -> None:
    mask = mask_text("jwt", "0a")
    call = a_call(arguments={"a": mask}, result=Result(ok=False, content=[mask]))
    asked = Turn(index=0, role="user", origin="human", content=(Text(text=f"Pay with {mask}"),))
    thought = Turn(
        index=2, role="assistant", origin="agent", content=(Reasoning(text=f"It is {mask}"),)
    )
    whole = a_trace(call, system_prompt=f"The key is {mask}", final_state={"keys": [mask]})
    trace = whole.model_copy(update={"turns": (asked, whole.turns[1], thought)})
    [found] = assess(trace).fidelity.notes
    assert (found.kind, found.count) == ("value_masked", 5)
    assert found.places == (
        "system_prompt", "turns[0]", "turns[1].calls[0]", "turns[2]", "final_state",
    )  # fmt: skip


def test_a_masked_message_of_an_error_is_noted() -> None:
    told = ErrorInfo(type="ValueError", message=f"no key {mask_text('jwt', '0a')}")
    trace = a_trace(a_call(result=Result(ok=False, error=told)))
    assert assess(trace).fidelity.notes == (note("value_masked", ["turns[1].calls[0]"]),)


def test_a_state_that_has_come_to_be_known_is_not_noted_as_unknown() -> None:
    before = assess(a_trace(a_call(), initial_state=UNKNOWN, final_state=UNKNOWN, tools=()))
    tools = (ToolDefinition(name="pay"),)
    known = before.model_copy(update={"initial_state": {}, "final_state": {}, "tools": tools})
    again = assess(known, notes=[*before.fidelity.notes, note("boundary_guessed")])
    assert [item.kind for item in before.fidelity.notes] == [
        "final_state_unknown", "initial_state_unknown", "tools_missing",
    ]  # fmt: skip
    assert [item.kind for item in again.fidelity.notes] == ["boundary_guessed"]


def test_an_imported_trace_without_turns_is_fit_for_nothing_but_its_states() -> None:
    elsewhere = Source(collector="x")
    empty = a_trace(turns=(), source=elsewhere, final_state=UNKNOWN)
    assert assess(empty).fidelity.fit_for == ()
    assert assess(a_trace(turns=(), source=elsewhere)).fidelity.fit_for == ("state_grading",)


def test_a_recorded_run_without_turns_did_nothing_and_can_be_graded() -> None:
    assert assess(a_trace(turns=())).fidelity.fit_for == ("grading", "state_grading")


@pytest.mark.parametrize(
    ("trace", "kind", "unfit"),
    [
        pytest.param(
            then_said(a_call(), a_call(id="2", result=None)),
            "result_missing",
            {"next_turn", "rebuilt_test"},
            id="no result",
        ),
        pytest.param(
            a_trace(a_call(), a_call(id="2", result=None)),
            "result_missing",
            {"rebuilt_test"},
            id="no result of the last turn",
        ),
        pytest.param(
            then_said(a_call(result=Result(content="x", truncated=True))),
            "result_truncated",
            {"next_turn", "rebuilt_test"},
            id="cut result",
        ),
        pytest.param(
            a_trace(a_call(result=Result(interrupted=True))),
            "result_interrupted",
            set(),
            id="interrupted",
        ),
        pytest.param(
            a_trace(a_call(arguments={"a": [{"b": f"x {mask_text('jwt', '0a')}"}]})),
            "value_masked",
            set(),
            id="masked deep inside",
        ),
        pytest.param(
            then_said(a_call(result=Result(content=blob_stub("ab" * 32, 9)))),
            "value_elsewhere",
            {"next_turn", "rebuilt_test"},
            id="blob not at hand",
        ),
        pytest.param(
            a_trace(a_call(arguments=UNKNOWN, raw_arguments="{a")),
            "arguments_unparsable",
            set(),
            id="unparsable arguments",
        ),
        pytest.param(
            a_trace(a_call(arguments=UNKNOWN)),
            "arguments_unknown",
            {"grading", "rebuilt_test"},
            id="no arguments",
        ),
        pytest.param(
            a_trace(a_call(), a_call()), "duplicate_call_id", set(), id="a call id used twice"
        ),
        pytest.param(
            a_trace(a_call(), initial_state=UNKNOWN), "initial_state_unknown", set(), id="initial"
        ),
        pytest.param(
            a_trace(a_call(), final_state=UNKNOWN),
            "final_state_unknown",
            {"state_grading"},
            id="final",
        ),
        pytest.param(
            a_trace(a_call(), tools=(ToolDefinition(name="pay", origin="inferred"),)),
            "tools_inferred",
            set(),
            id="inferred tools",
        ),
        pytest.param(a_trace(a_call(), tools=()), "tools_missing", set(), id="no definition"),
        pytest.param(
            a_trace(
                turns=(
                    Turn(index=0, role="user", origin="human", started_at=BEGIN),
                    Turn(
                        index=1,
                        role="assistant",
                        origin="agent",
                        started_at=BEGIN - timedelta(seconds=1),
                        calls=(a_call(),),
                    ),
                )
            ),
            "clock_backwards",
            set(),
            id="a clock set back",
        ),
    ],
)
def test_each_defect_is_noted_and_takes_away_what_needs_the_missing_part(
    trace: Trace, kind: str, unfit: set[str]
) -> None:
    fidelity = assess(trace).fidelity
    assert [item.kind for item in fidelity.notes] == [kind]
    assert fidelity.count(kind) == 1
    assert set(ALL) - set(fidelity.fit_for) == unfit


def test_a_trace_without_turns_is_not_fit_for_reading() -> None:
    assert "reading" not in assess(a_trace(turns=())).fidelity.fit_for


def test_a_run_that_no_user_opened_is_no_rebuilt_test() -> None:
    lone = Turn(index=0, role="assistant", origin="agent", calls=(a_call(),))
    assert assess(a_trace(turns=(lone,))).fidelity.fit_for == ALL[:-1]
    synthetic = lone.model_copy(update={"synthetic": True})
    assert assess(a_trace(turns=(synthetic,))).fidelity.fit_for == ALL[:3]


def test_notes_of_the_reader_are_added_once() -> None:
    found = assess(a_trace(a_call()), notes=[note("record_lost", count=3)])
    assert found.fidelity.count("record_lost") == 3
    assert "grading" not in found.fidelity.fit_for
    again = assess(found, notes=[note("record_lost", count=3)])
    assert again == found
    assert assess(found).fidelity.notes == ()


def test_a_note_names_up_to_five_places_and_counts_them_all() -> None:
    calls = [a_call(id=str(i), result=None) for i in range(7)]
    (found,) = assess(a_trace(*calls)).fidelity.notes
    assert found.count == 7
    assert found.places == tuple(f"turns[1].calls[{i}]" for i in range(5))


def test_a_note_has_a_known_kind() -> None:
    with pytest.raises(KeyError, match="'typo' is not a kind"):
        note("typo")
    assert note("record_lost", ["a", "b"]).count == 2


@given(traces())
def test_assessing_again_changes_nothing_and_every_kind_is_known(trace: Trace) -> None:
    found = assess(trace)
    assert assess(found) == found
    assert {item.kind for item in found.fidelity.notes} <= KINDS.keys()
    assert found.model_copy(update={"fidelity": trace.fidelity}) == trace


@given(traces(), st.lists(tools, max_size=3), st.booleans())
def test_other_definitions_change_only_what_is_said_of_definitions(
    trace: Trace, others: list[ToolDefinition], is_called: bool
) -> None:
    if is_called:
        others += [ToolDefinition(name=call.name, origin="inferred") for call in trace.calls[:2]]
    readers = [note("result_recovered", count=2), note("boundary_guessed")]
    noted = assess(trace, notes=readers)
    expected = assess(trace.model_copy(update={"tools": tuple(others)}), notes=readers)
    assert with_tools(noted, others) == expected
    bare = trace.model_copy(update={"fidelity": Trace(id="t").fidelity})
    assert with_tools(bare, others) == assess(bare.model_copy(update={"tools": tuple(others)}))
