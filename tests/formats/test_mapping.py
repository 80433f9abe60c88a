"""Mappings: what people write, what they get, and what they are told when it is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import values
from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.formats import (
    ImportProblem,
    MappingCollector,
    collect_source,
    find_sources,
    load_collectors,
    load_mapping,
)
from tracedance_sdk.formats.mapping_paths import follow, parse_path
from tracedance_sdk.formats.places import Misfit
from tracedance_sdk.trace import UNKNOWN, Trace

HEAD = {"format": "tracedance.mapping", "version": 1}
MESSAGES = {"at": "log", "role": "by", "text": "says"}


def mapping(tmp_path: Path, **fields: Any) -> MappingCollector:
    path = tmp_path / "mapping.yaml"
    path.write_text(yaml.safe_dump({**HEAD, **fields}), encoding="utf-8")
    return load_mapping(path)


def collect(tmp_path: Path, records: list[Any], **fields: Any) -> list[Trace | ImportProblem]:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return list(mapping(tmp_path, **fields).collect(path))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b[0].c", 1), ("a.b[].c", [1, 2]), ("/a/b/1/c", 2), ("/x.y", 3), ("a.none", UNKNOWN),
        ("a.b[7]", UNKNOWN), ("none[].c", []), ("$", None), ("[0]", UNKNOWN), ("a.null", None),
    ],
)  # fmt: skip
def test_a_path_leads_to_what_stands_there(path: str, found: object) -> None:
    record: Any = {"a": {"b": [{"c": 1}, {"c": 2}], "null": None}, "x.y": 3}
    assert follow(record, parse_path(path)) == (record if path == "$" else found)


@pytest.mark.parametrize("path", ["", "a..b.", ".a", "a[", "a[x]", "a]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(Misfit):
        parse_path(path)


@given(values, st.text("ab.[]01/$", max_size=8))
def test_any_path_into_any_record_ends(record: Any, path: str) -> None:
    try:
        steps = parse_path(path)
    except (Misfit, ValueError):
        return
    follow(record, steps)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"messagse": {}}, "unknown key 'messagse'; did you mean 'messages'? @ $.messagse"),
        ({"format": "x"}, "expected 'tracedance.mapping', got 'x' @ $.format"),
        ({"record": "line"}, "record 'line' is none of run, message, event @ $.record"),
        ({"messages": {"role": "by"}},
         "field required: where in a run its messages stand @ $.messages.at"),
        ({"record": "message", "messages": {}},
         "field required: which records are one run, as each is one message @ $.session"),
        ({"record": "event", "session": "s", "messages": {}},
         "field required: what an event is @ $.kind"),
        ({"messages": MESSAGES, "calls": {"at": "c"}}, "field required @ $.calls.name"),
        ({"messages": MESSAGES, "run": {"id": 5}},
         "expected a path, a list of paths or an object, got 5 @ $.run.id"),
        ({"messages": {**MESSAGES, "time": {"path": "t", "unit": "h"}}},
         "unit 'h' is none of s, ms, us, ns @ $.messages.time.unit"),
        ({"messages": {**MESSAGES, "role": {"path": "by", "map": 1}}},
         "expected an object, got 1 @ $.messages.role.map"),
        ({"messages": {**MESSAGES, "text": {"path": "a..["}}}, "is no path"),
        ({"messages": {**MESSAGES, "text": {}}},
         "expected either 'path' or 'value' @ $.messages.text"),
        ({}, "field required @ $.messages"),
        ({"version": 9}, "mapping of version 9: known is 1"),
    ],
)  # fmt: skip
def test_a_wrong_mapping_is_told_in_one_line(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TraceDanceError) as caught:
        mapping(tmp_path, **fields)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/mapping.yaml: ")
    assert reason in message
    assert "\n" not in message


def test_a_mapping_that_is_no_yaml_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(InvalidOption) as caught:
        load_mapping(path)
    assert "\n" not in str(caught.value)


def test_messages_of_one_session_are_one_trace_wherever_they_stand(tmp_path: Path) -> None:
    records = [
        {"chat": 1, "by": "human", "says": "a", "at": "2026-01-01T00:00:00Z"},
        {"chat": 2, "by": "human", "says": "x"},
        {"chat": 1, "by": "ai", "says": ["b"], "cost": 0.5, "mood": "calm",
         "calls": [{"tool": "f", "in": "{bad", "extra": 1}]},
        {"chat": 1, "by": "tool", "out": "done"},
        {"by": "human", "says": "lost"},
        {"chat": 2, "by": "robot", "says": "y"},
    ]  # fmt: skip
    found = collect(
        tmp_path,
        records,
        record="message",
        session="chat",
        messages={"role": "by", "text": "says", "time": "at", "cost_usd": "cost"},
        calls={"at": "calls", "name": "tool", "arguments": "in"},
        results={"content": "out"},
    )
    unknown = "is none of system, user, assistant, tool; map it under messages.role.map"
    problems = [str(item) for item in found if isinstance(item, ImportProblem)]
    assert problems == [
        f"{tmp_path}/log.jsonl:5: nothing that says which run it belongs to: see 'session' @ $",
        f"{tmp_path}/log.jsonl:6: role 'robot' {unknown} @ $",
    ]
    first, second = (item for item in found if isinstance(item, Trace))
    assert [turn.text for turn in first.turns] == ["a", "b"]
    reply = first.turns[1]
    assert reply.usage is not None
    assert reply.usage.cost_usd == 0.5
    assert (reply.model_extra or {})["record"] == {"mood": "calm"}
    (call,) = first.calls
    assert (call.raw_arguments, call.result and call.result.content) == ("{bad", "done")
    assert (call.model_extra or {})["record"] == {"extra": 1}
    assert (first.session_id, second.session_id) == ("1", "2")
    assert first.fidelity.count("arguments_unparsable") == 1


def test_a_session_that_grows_keeps_its_id_and_another_of_the_same_id_has_its_own(
    tmp_path: Path,
) -> None:
    rows = [{"s": "1", "by": "user", "says": text} for text in "abc"]
    told: dict[str, Any] = {
        "record": "message", "session": "s", "messages": {"role": "by", "text": "says"},
    }  # fmt: skip
    ids = []
    for records in (rows[:2], rows, rows[1:]):
        (trace,) = collect(tmp_path, records, **told)
        assert isinstance(trace, Trace)
        ids.append(trace.id)
    assert ids[0] == ids[1] != ids[2]


def test_messages_of_a_known_shape_need_no_role(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    log = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
    ]
    (trace,) = collect(tmp_path, [{"log": log}], messages={"at": "log"}, run={"model": "$.m"})
    assert isinstance(trace, Trace)
    assert [(c.name, c.arguments, c.result and c.result.content) for c in trace.calls] == [
        ("f", {"a": 1}, "ok")
    ]


def test_the_outcome_the_states_and_the_reference_come_along(tmp_path: Path) -> None:
    record = {
        "log": [], "score": 0.5, "verdict": "maybe", "why": {"code": "E1", "message": "m"},
        "before": {"n": 0}, "after": None, "gold": [1], "other": {"a": 1, "b": 2},
    }  # fmt: skip
    (trace,) = collect(
        tmp_path,
        [record],
        messages=MESSAGES,
        run={
            "reward": "score", "success": "verdict", "error": "why", "initial_state": "before",
            "final_state": "after", "reference": "gold", "task": "other.a",
        },
    )  # fmt: skip
    assert isinstance(trace, Trace)
    assert trace.outcome is not None
    assert trace.outcome.error is not None
    assert (trace.outcome.reward, trace.outcome.error.type) == (0.5, "E1")
    assert trace.outcome.details == {"success": "maybe"}
    assert (trace.initial_state, trace.final_state, trace.task_id) == ({"n": 0}, None, "1")
    assert "state_grading" in trace.fidelity.fit_for
    assert trace.metadata == {"reference": [1], "record": {"other": {"b": 2}}}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"by": "user", "when": 5},
         "expected a time, got 5, and the mapping names no unit @ $.log[0]"),
        ({"by": "user", "when": "noon"}, "expected a time, got 'noon' @ $.log[0]"),
        ({"by": "tool"}, "a result, and the mapping has no section 'results' @ $.log[0]"),
        ({"says": "a"}, "role nothing is none of system, user, assistant, tool"),
    ],
)  # fmt: skip
def test_a_bad_record_is_one_line_with_its_place_and_the_others_are_read(
    tmp_path: Path, message: dict[str, Any], reason: str
) -> None:
    good = {"log": [{"by": "user", "says": "x"}]}
    bad, fine = collect(tmp_path, [{"log": [message]}, good], messages={**MESSAGES, "time": "when"})
    assert reason in str(bad)
    assert str(bad).startswith(f"{tmp_path}/log.jsonl:1: ")
    assert isinstance(fine, Trace)


RUN = {"messages": MESSAGES}
OF_CALLS = {"calls": {"at": "steps[].do", "name": "fn"}}
TOLD = {"record": "message", "session": "s", "messages": {"role": ["by", "who"], "text": "says"}}


@pytest.mark.parametrize(
    ("fields", "record", "is_claimed"),
    [
        (RUN, {"log": [{"by": "user", "says": "Hi"}]}, True),
        (RUN, {"log": {"by": "user", "says": "Hi"}}, True),
        (RUN, [{"log": []}, {"log": [{"by": "user"}]}], False),
        (RUN, {"messages": [{"role": "user", "content": "Hi"}]}, False),
        (RUN, {"log": [{"level": "info"}]}, False),
        ({"records": "data.runs", **RUN}, {"data": {"runs": [{"log": [{"by": "user"}]}]}}, True),
        ({"records": "data.runs", **RUN}, {"log": [{"by": "user"}]}, False),
        (OF_CALLS, {"steps": [{"do": {"fn": "look"}}]}, True),
        (OF_CALLS, {"steps": [{"do": {"name": "look"}}]}, False),
        (TOLD, {"s": 1, "who": "user"}, True),
        (TOLD, {"by": "user", "says": "Hi"}, False),
    ],
)
def test_a_mapping_claims_files_whose_records_have_the_places_it_asks_for(
    tmp_path: Path, fields: dict[str, Any], record: Any, is_claimed: bool
) -> None:
    path = tmp_path / "x.jsonl"
    assert mapping(tmp_path, **fields).sniff(path, json.dumps(record).encode()) is is_claimed


@pytest.mark.parametrize(
    ("fields", "record", "reason"),
    [
        (RUN, {"dialog": []}, "nothing at 'log', where the mapping has messages.at"),
        (RUN, {"log": None}, "nothing at 'log', where the mapping has messages.at"),
        ({"messages": {**MESSAGES, "at": "a[].log"}}, {"a": [{"x": 1}]},
         "nothing at 'a[].log', where the mapping has messages.at"),
        (OF_CALLS, {"steps": []}, None),
        (OF_CALLS, {}, "nothing at 'steps[].do', where the mapping has calls.at"),
        (RUN, {"log": []}, None),
        ({"calls": {"name": "fn"}}, {"name": "look"},
         "a run without messages and without a call: nothing at calls.name"),
    ],
)  # fmt: skip
def test_a_record_in_which_the_mapping_finds_nothing_is_a_problem_and_no_empty_trace(
    tmp_path: Path, fields: dict[str, Any], record: Any, reason: str | None
) -> None:
    (found,) = collect(tmp_path, [record], **fields)
    if reason is None:
        assert isinstance(found, Trace)
        assert found.fidelity.fit_for == ()
    else:
        assert isinstance(found, ImportProblem)
        assert reason in found.reason


def test_a_session_of_skipped_events_alone_is_a_problem(tmp_path: Path) -> None:
    (found,) = collect(
        tmp_path, [{"s": 1, "k": "skip"}], record="event", session="s", kind="k", messages={}
    )
    assert isinstance(found, ImportProblem)
    assert "session '1': no message, call or result in its records" in found.reason


def test_in_a_folder_other_collectors_keep_the_files_that_a_mapping_does_not_describe(
    tmp_path: Path,
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "own.jsonl").write_text(json.dumps({"log": [{"by": "user", "says": "Hi"}]}))
    chat = {"messages": [{"role": "user", "content": "Hi"}]}
    (logs / "chat.jsonl").write_text(json.dumps(chat))
    readers = (mapping(tmp_path, name="own", **RUN), *load_collectors())
    for source in find_sources([logs], collectors=readers):
        (found,) = collect_source(source, collectors=readers, is_forced=True)
        expected = "own" if source.path.name == "own.jsonl" else "openai_chat"
        assert (found.collector, found.problem) == (expected, None)
    (named,) = find_sources([logs / "chat.jsonl"], collectors=readers)
    (found,) = collect_source(named, collectors=readers, is_forced=True)
    assert (found.collector, "nothing at 'log'" in str(found.problem)) == ("own", True)
