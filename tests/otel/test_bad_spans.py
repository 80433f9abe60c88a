"""Spans that are none, or not all there: a problem or a note each, and nothing vanishes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.formats import ImportProblem, named_collector
from tracedance_sdk.trace import Trace

OTEL = "0a" * 16
MESSAGES = {
    "gen_ai.input.messages": json.dumps([{"role": "user", "content": "hi"}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "ho"}]),
}


def span(number: int, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    chat = {"gen_ai.operation.name": "chat", **MESSAGES}
    told = fields.pop("told", agent if number == 1 else chat)
    return {
        "traceId": OTEL,
        "spanId": f"{number:016x}",
        "name": "x",
        "startTimeUnixNano": str(10**18 + number),
        "endTimeUnixNano": str(10**18 + number + 1),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in told.items()],
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        **fields,
    }


def document(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def read(path: Path, *documents: Any) -> tuple[list[Trace], list[ImportProblem]]:
    file = path / "spans.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in documents))
    found = list(named_collector("otlp").collect(file))
    problems = [item for item in found if isinstance(item, ImportProblem)]
    return [item for item in found if isinstance(item, Trace)], problems


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param(5, "spans: an item that is no object", id="no object"),
        pytest.param([], "spans: an item that is no object", id="a list"),
        pytest.param({"name": "y"}, "a span without its ids", id="no ids"),
        pytest.param(span(3, 1, spanId=""), "a span without its ids", id="no span id"),
        pytest.param(span(3, 1, traceId=5.5), "a span without its ids", id="no trace id"),
        pytest.param(span(3, 1, events=[5]), "events: an item that is no object", id="an event"),
        pytest.param(span(3, 1, events=5), "events: not a list", id="events"),
        pytest.param(span(3, 1, endTimeUnixNano="x"), "endTimeUnixNano: not a time", id="an end"),
    ],
)
def test_a_span_that_is_none_is_a_problem(tmp_path: Path, bad: Any, reason: str) -> None:
    traces, problems = read(tmp_path, document(span(1)), document(span(2, 1), bad))
    assert len(traces) == 1
    assert [(item.line, item.reason.split(".jsonl:2: ")[1]) for item in problems] == [(2, reason)]


def test_equal_faults_are_told_once_with_their_number(tmp_path: Path) -> None:
    _, problems = read(tmp_path, document(span(1), 5, 6, 7))
    assert [item.reason.split(".jsonl:1: ")[1] for item in problems] == [
        "spans: an item that is no object (3 times)"
    ]


@pytest.mark.parametrize(
    "empty",
    [
        pytest.param({"resourceSpans": []}, id="no resources"),
        pytest.param(document(), id="no spans"),
        pytest.param({"resourceSpans": [{}]}, id="nothing in a resource"),
    ],
)
def test_a_file_without_a_span_says_so(tmp_path: Path, empty: Any) -> None:
    traces, problems = read(tmp_path, empty, empty)
    assert traces == []
    assert [item.reason.split(": ")[1] for item in problems] == ["no spans in it"]
    traces, problems = read(tmp_path, empty, document(span(1), span(2, 1)))
    assert (len(traces), problems) == (1, [])


@pytest.mark.parametrize("time", ["soon", -5, 2**70, [1], {"a": 1}])
def test_a_time_that_cannot_be_read_is_kept_as_it_is(tmp_path: Path, time: Any) -> None:
    (trace,), problems = read(
        tmp_path, document(span(1), span(2, 1, startTimeUnixNano=time))
    )  # fmt: skip
    assert len(problems) == 1
    assert "unreadable.startTimeUnixNano" in json.dumps(trace.to_dict())
    plain = {"trace_id": OTEL, "span_id": "1" * 16, "name": "y", "start_time": time}
    plain["attributes"] = {"gen_ai.operation.name": "chat", **MESSAGES}
    (trace,), problems = read(tmp_path, plain)
    if time != [1]:
        assert "unreadable.start_time" in json.dumps(trace.to_dict())
        assert len(problems) == 1


def test_a_run_without_its_root_span_is_not_all_there(tmp_path: Path) -> None:
    whole, _ = read(tmp_path, document(span(1), span(2, 1), span(3, 1)))
    (trace,), _ = read(tmp_path, document(span(2, 1), span(3, 1)))
    assert whole[0].fidelity.count("record_lost") == 0
    assert "grading" in whole[0].fidelity.fit_for
    assert trace.fidelity.count("record_lost") == 1
    assert "grading" not in trace.fidelity.fit_for


def test_a_span_missing_in_the_midst_of_a_run_is_lost_and_one_around_it_is_not(
    tmp_path: Path,
) -> None:
    (around,), _ = read(tmp_path, document(span(1, 9), span(2, 1)))
    assert around.fidelity.count("record_lost") == 0
    (inside,), _ = read(tmp_path, document(span(1), span(2, 1), span(3, 8), span(4, 8)))
    assert inside.fidelity.count("record_lost") == 1
    (alone,), _ = read(tmp_path, document(span(2)))
    assert alone.fidelity.count("record_lost") == 0


def test_parents_in_a_circle_are_not_what_was_written(tmp_path: Path) -> None:
    (trace,), _ = read(tmp_path, document(span(1), span(2, 3), span(3, 2)))
    assert trace.fidelity.count("record_altered") == 1
    (itself,), _ = read(tmp_path, document(span(1, 1), span(2, 1)))
    assert itself.fidelity.count("record_altered") == 1
