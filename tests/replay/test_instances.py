"""Files of instances: round trips, what is wrong with them, and next turns from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.test_context_writing import call, numbered, turn
from tests.replay.test_next_turn_verb import rows
from tests.support.scripted_models import Answer, saying, scripted_models
from tracedance_sdk.cli import run
from tracedance_sdk.errors import TraceDanceError, UnknownFormat, UnsupportedVersion
from tracedance_sdk.grading import read_results
from tracedance_sdk.replay import (
    DecisionPoint,
    Instance,
    Sampling,
    instance_point,
    is_instance_file,
    read_instances,
    write_instances,
)
from tracedance_sdk.trace import ToolDefinition, Trace, assess

SCHEMA = {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}
TRACE = assess(
    Trace(
        id="f" * 32,
        task_id="rooms",
        turns=numbered(turn("user", "A room for Ada, please.")),
        tools=(ToolDefinition(name="book", parameters=SCHEMA),),
    )
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_FIELDS = st.dictionaries(st.from_regex(r"x_[a-z]{1,3}", fullmatch=True), _JSON, max_size=2)


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=9), st.integers(0, 1), _FIELDS),
        unique_by=lambda item: item[0],
        max_size=3,
    ),
    _FIELDS,
)
def test_instances_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, given: Any, header: Any
) -> None:
    path = tmp_path_factory.mktemp("instances") / "a.jsonl"
    instances = [Instance(id=i, trace=TRACE, turn=n, **extra) for i, n, extra in given]
    write_instances(path, instances, **header)
    assert is_instance_file(path)
    assert list(read_instances(path)) == instances
    assert json.loads(path.read_bytes().split(b"\n")[0]) == {
        **header,
        "format": "tracedance.instances",
        "version": 1,
    }


def lines(path: Path, *more: Any, version: Any = 1) -> Path:
    header = {"format": "tracedance.instances", "version": version}
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (header, *more)))
    return path


ONE = {"id": "a", "trace": TRACE.to_dict(), "turn": 1}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ([1], "line 2: an instance is an object, not [1]"),
        ({**ONE, "turn": 2}, "line 2: turn 2 of a trace with 1 turns @ $.turn"),
        ({**ONE, "turn": -1}, "@ $.turn"),
        ({**ONE, "turn": True}, "@ $.turn"),
        ({**ONE, "id": ""}, "@ $.id"),
        ({"id": "a", "turn": 0}, "line 2, its trace: not a trace"),
    ],
    ids=["a list", "beyond", "negative", "no number", "no id", "no trace"],
)
def test_a_line_that_is_no_instance_costs_itself(line: Any, told: str, tmp_path: Path) -> None:
    first, second, third = read_instances(lines(tmp_path / "a.jsonl", line, ONE, ONE))
    assert told in str(first)
    assert isinstance(second, Instance)
    assert "id 'a' is there already" in str(third)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"format": "tracedance.trace", "version": 1}\n', UnknownFormat),
        ("", UnknownFormat),
        ("not json\n{}\n", UnknownFormat),
        ('{"format": "tracedance.instances", "version": 2}\n', UnsupportedVersion),
        ('{"format": "tracedance.instances", "version": true}\n', UnsupportedVersion),
    ],
    ids=["a trace", "empty", "no json", "newer", "no version"],
)
def test_other_files_are_refused(text: str, kind: type[TraceDanceError], tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(kind):
        list(read_instances(path))


def test_a_turn_that_is_not_there_has_no_recorded_settings() -> None:
    point = instance_point(Instance(id="a", trace=TRACE, turn=1, group="g"))
    assert isinstance(point, DecisionPoint)
    assert (point.instance_id, point.group, len(point.context.turns)) == ("a", "g", 1)
    (settings,) = Sampling(as_recorded=True).of(point)
    assert settings.temperature is None


def test_a_model_goes_on_from_instances(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = TRACE.model_copy(update={"system_prompt": "Be kind."})
    torn = TRACE.model_copy(
        update={"turns": numbered(*TRACE.turns, turn("assistant", calls=[call("book")]))}
    )
    lacking = torn.model_copy(
        update={
            "turns": numbered(
                *TRACE.turns,
                turn("assistant", calls=[call("book").model_copy(update={"result": None})]),
            )
        }
    )
    path = lines(
        tmp_path / "asked.jsonl",
        {**ONE, "group": "g"},
        {**ONE, "id": "b", "trace": kind.to_dict()},
        {"id": "c", "trace": lacking.to_dict(), "turn": 2},
        {"id": "d"},
    )
    out = tmp_path / "out"
    body = saying("openai", None, ("book", "{}"))
    with scripted_models(lambda *_: Answer(body)) as server:
        command = ["next-turn", str(path), "--model", server.name("openai"), "--out", str(out)]
        assert run(command) == 3
        assert run([*command, "--turn", "1"]) == 2
        assert len(server.requests) == 2
    found = [(row.subject.instance_id, row.subject.turn, row.group) for row in rows(out)]
    assert found == [("a", 1, "g"), ("b", 1, "rooms")]
    extra = rows(out)[0].model_extra
    problem = "'room' is a required property @ $"
    assert extra["bad_arguments"] == [{"name": "book", "problem": problem}]
    manifest = read_results(out).manifest
    assert (manifest["answers_with_bad_arguments"], manifest["answers_with_unknown_tools"]) == (
        2,
        0,
    )
    assert manifest["exclusions"] == {"incomplete: result_missing": 1}
    assert manifest["excluded"][0]["instance_id"] == "c"
    told = capsys.readouterr()
    assert "arguments against the schema" in told.out
    assert f"book: {problem}" in told.out
    assert "line 5" in told.err
    assert "holds instances, which say themselves where they are cut" in told.err


def test_instances_among_traces_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(tmp_path / "asked.jsonl", ONE)
    (tmp_path / "run.json").write_text(json.dumps(TRACE.to_dict()))
    assert run(["show", str(tmp_path)]) == 0
    assert "asked.jsonl' is passed over: a tracedance.instances" in capsys.readouterr().err
