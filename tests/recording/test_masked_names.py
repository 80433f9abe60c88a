"""Secrets outside of values: in names, in ids, and in what a call changes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.trace import MASK, apply_patch

SECRETS = [f"ghp_{n:02d}aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2dF4h" for n in range(9)]
PASSWORD = "hunter2Xq7Zt"  # made up


def written(journal: Path) -> str:
    return "".join(path.read_text() for path in sorted(journal.rglob("*.json*")))


class World:
    def execute(self, action: Any) -> dict[str, Any]:
        return {"success": True, "output": action["input"]}

    def get_state(self) -> dict[str, Any]:
        return {}


def test_secrets_in_names_and_ids_are_masked(tmp_path: Path) -> None:
    model, asked_id, asked, by_hand, hand_id, kind, named, action, action_id = SECRETS
    failure = type(f"E_{kind}", (Exception,), {})

    @td.tool
    def fail() -> None:
        raise failure("no")

    @td.tool(name=named)
    def tool() -> int:
        return 1

    with td.TraceRecorder(journal=tmp_path, environment=World()) as recorder:
        call = {"id": asked_id, "name": asked, "arguments": {}}
        recorder.record_turn("assistant", "x", model=model, calls=[call])
        with recorder.call(by_hand, {"a": 1}, id=hand_id) as done:
            done.result = 1
        recorder.execute({"type": action, "input": {}, "id": action_id})
        tool()
        with pytest.raises(failure):
            fail()
    text = written(tmp_path)
    assert [secret for secret in SECRETS if secret in text] == []
    trace = recorder.trace
    assert MASK.fullmatch(trace.turns[0].model or "")
    names = {call.name for call in trace.calls if MASK.fullmatch(call.name)}
    assert len(names) == 4


@pytest.mark.parametrize("by_id", [True, False])
def test_a_call_whose_name_and_id_are_masked_still_answers_its_request(by_id: bool) -> None:
    with td.TraceRecorder() as recorder:
        call = {"id": SECRETS[0], "name": SECRETS[1], "arguments": {"a": 1}}
        recorder.record_turn("assistant", "x", calls=[call])
        with recorder.call(SECRETS[1], {"a": 1}, id=SECRETS[0] if by_id else None) as done:
            done.result = 1
    (only,) = recorder.trace.calls
    assert only.bound_by == ("id" if by_id else "key")
    assert only.result is not None
    assert MASK.fullmatch(only.id)


def test_names_stay_as_they_are_without_redaction() -> None:
    with (
        td.TraceRecorder(redaction=False) as recorder,
        recorder.call(SECRETS[0], {}, id=SECRETS[1]) as done,
    ):
        done.result = 1
    assert [(call.name, call.id) for call in recorder.trace.calls] == [(SECRETS[0], SECRETS[1])]


def test_what_a_call_changes_is_masked_as_the_state_is(tmp_path: Path) -> None:
    state: dict[str, Any] = {
        "user": {"password": "firstXq7Zt99"},
        "settings": [{"key": "db_password", "value": "old7Zt9Xq"}],
    }

    @td.tool
    def reset() -> None:
        state["user"]["password"] = PASSWORD
        state["settings"][0]["value"] = PASSWORD

    with td.TraceRecorder(
        journal=tmp_path, state=lambda: state, state_changes="per_call"
    ) as recorder:
        reset()
        reset()
    assert PASSWORD not in written(tmp_path)
    trace = recorder.trace
    first, second = (call.state_change for call in trace.calls)
    assert isinstance(first, list)
    assert [step["path"] for step in first] == ["/user/password", "/settings/0/value"]
    assert second == []
    assert apply_patch(first, trace.initial_state) == trace.final_state


def test_what_a_call_changes_in_a_database_is_masked(tmp_path: Path) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("create table users(id integer primary key, password text)")
    database.execute("insert into users values(1, 'old')")

    @td.tool
    def reset() -> None:
        database.execute("update users set password=?", [PASSWORD])

    with td.TraceRecorder(journal=tmp_path, state=database, state_changes="per_call") as recorder:
        reset()
    assert PASSWORD not in written(tmp_path)
    assert recorder.trace.calls[0].state_change
    database.close()
