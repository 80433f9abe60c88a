"""Collectors of records and of sessions, whatever the format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    Place,
    RecordCollector,
    SessionCollector,
    Signature,
    expect,
    field,
)
from tracedance_sdk.trace import Json, Source, Trace

HERE = Signature.of("id")


def one(value: Json, place: Place, uri: str) -> Trace:
    fields = expect(value, dict)
    if fields.get("bad"):
        raise InvalidTrace(f"{place.where}: bad")
    source = Source(collector="one", uri=uri)
    return Trace(id=field(fields, "id", str), source=source)


def session(records: list[Document], _path: Path) -> Iterator[Trace | ImportProblem]:
    yield Trace(id="s", metadata={"lines": [record.line for record in records]})


def test_records_of_one_id_are_told_apart_by_their_order(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": "x"}\n{"id": "x"}\n{"id": "y"}\n')
    collector = RecordCollector("one", [HERE], one)
    first = [found.id for found in collector.collect(file) if isinstance(found, Trace)]
    again = [found.id for found in collector.collect(file) if isinstance(found, Trace)]
    assert first == again
    assert len(set(first)) == 3
    assert (first[0], first[2]) == ("x", "y")


def test_a_bad_record_is_told_with_its_place_and_stops_no_other(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": 3}\n{"id": "x"}\n{"id": "y", "bad": true}\n[{"id": "z"}, 4]\n{"id"')
    found = list(RecordCollector("one", [HERE], one).collect(file))
    assert [item.id for item in found if isinstance(item, Trace)] == ["x", "z"]
    problems = [item for item in found if isinstance(item, ImportProblem)]
    assert [item.line for item in problems] == [1, 3, 4, 5]
    assert str(problems[0]) == f"{file}:1: expected text, got 3 @ $.id"
    assert str(problems[2]) == f"{file}:4: expected an object, got 4 @ $[1]"


def test_a_session_with_an_unreadable_line_says_that_a_record_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": 1}\nnonsense\n{"id": 2}\n{"id"')
    trace, *problems = sorted(
        SessionCollector("s", [HERE], session).collect(file),
        key=lambda item: isinstance(item, ImportProblem),
    )
    assert isinstance(trace, Trace)
    assert trace.metadata == {"lines": [1, 3]}
    assert trace.fidelity.count("record_lost") == 2
    assert "grading" not in trace.fidelity.fit_for
    assert [item.line for item in problems if isinstance(item, ImportProblem)] == [2, 4]


def test_a_whole_session_has_lost_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": 1}\n\n{"id": 2}\n')
    (trace,) = SessionCollector("s", [HERE], session).collect(file)
    assert isinstance(trace, Trace)
    assert trace.fidelity.count("record_lost") == 0
