"""Names, ids and numbers that a program hands over in another form than a trace holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.errors import InvalidOption


def test_an_integer_id_becomes_text_and_binds_to_the_request_of_the_model() -> None:
    with td.TraceRecorder() as recorder:
        recorder.record_turn("assistant", calls=[{"id": "7", "name": "mcp", "arguments": {}}])
        with recorder.call("mcp", {}, id=7) as call:
            pass
    assert call.id == "7"
    assert [(found.id, found.bound_by) for found in recorder.trace.calls] == [("7", "id")]


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("journaled", [False, True])
@pytest.mark.parametrize(
    "odd",
    [None, 5, 2.5, b"x", ["a"], True, "\udc80", 10**5000, object()],
    ids=lambda odd: type(odd).__name__,
)
def test_no_name_or_id_costs_the_trace(odd: Any, journaled: bool, tmp_path: Path) -> None:
    with td.TraceRecorder(journal=tmp_path if journaled else False) as recorder:
        with recorder.call("before", {}):
            pass
        with recorder.call(odd, {}, id=odd) as call:
            call.result = 1
        with recorder.call("after", {}):
            pass
    trace = recorder.trace
    assert [found.result.content for found in trace.calls if found.result][1] == 1
    assert trace.calls[0].name == "before"
    assert trace.calls[2].name == "after"
    assert len({found.id for found in trace.calls}) == 3


@pytest.mark.usefixtures("forgiving")
def test_a_name_that_is_no_text_is_counted() -> None:
    with td.TraceRecorder() as recorder, recorder.call(None, {}):  # type: ignore[arg-type]
        pass
    assert [call.name for call in recorder.trace.calls] == ["unnamed"]
    assert recorder.close().faults == {"name: InvalidOption": 1}


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize(
    ("given", "kept"),
    [("1", 1), (3, 3), (True, 1), ("x", None), (2.5, None), (2**70, None), (object(), None)],
)
def test_an_exit_code_is_an_integer_or_unknown(given: Any, kept: int | None) -> None:
    with td.TraceRecorder() as recorder, recorder.call("sh", {}) as call:
        call.exit_code = given
        call.truncated = "yes"  # type: ignore[assignment]
    result = recorder.trace.calls[0].result
    assert result is not None
    assert result.exit_code == kept
    assert len(recorder.close().faults) == (kept is None)


@pytest.mark.parametrize(
    ("kind", "message", "told"),
    [
        (ValueError, None, ("ValueError", "")),
        ("Refused", ValueError("no"), ("Refused", "no")),
        (404, 7, ("404", "7")),
    ],
)
def test_a_failure_reported_in_another_form_than_text_is_told(
    kind: Any, message: Any, told: tuple[str, str]
) -> None:
    with td.TraceRecorder() as recorder, recorder.call("sh", {}) as call:
        call.fail(kind, message)
    result = recorder.trace.calls[0].result
    assert result is not None
    assert result.error is not None
    assert (result.error.type, result.error.message) == told


def test_another_word_for_who_asked_is_refused() -> None:
    with (
        td.TraceRecorder() as recorder,
        pytest.raises(InvalidOption, match="requested_by='robot' is neither"),
    ):
        recorder.call("x", requested_by="robot")  # type: ignore[arg-type]


def test_an_agents_version_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidOption, match="version=5 of the agent is no text"):
        td.agent(version=5)  # type: ignore[call-overload]
