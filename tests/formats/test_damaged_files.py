"""Files that are cut, bad in places, or made to hurt: what is whole in them is read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import objects, values
from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    Place,
    RecordCollector,
    SessionCollector,
    Signature,
    collect_paths,
    documents,
    named_collector,
)
from tracedance_sdk.formats.run_together import MOST_BAD_ITEMS, items
from tracedance_sdk.trace import Json, Trace, reading

HERE = Signature.of("id")


def one(value: Json, place: Place, _uri: str) -> Trace:
    fields = place.expect(value, dict)
    if fields.get("bad") == "index":
        return [Trace(id="x")][fields["id"]]
    if fields.get("bad") == "hash":
        return Trace(id=str({fields["id"]: 1, fields["hash"]: 1}))
    if fields.get("bad") == "model":
        return Trace(id=fields["hash"])
    return Trace(id=str(fields["id"]))


def read(path: Path, collector: Any) -> tuple[list[Trace], list[ImportProblem]]:
    found = list(collector.collect(path))
    problems = [item for item in found if isinstance(item, ImportProblem)]
    return [item for item in found if isinstance(item, Trace)], problems


def test_a_record_that_makes_its_reader_fail_costs_itself_and_tells_no_values(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.jsonl"
    secret = ["a secret"]
    records: list[Any] = [
        {"id": "1"},
        {"id": 2, "bad": "index"},
        {"id": "3", "bad": "hash", "hash": secret},
        [{"id": "4"}, {"id": "5", "bad": "model", "hash": secret}],
        {"id": "6"},
    ]
    file.write_text("\n".join(map(json.dumps, records)))
    traces, problems = read(file, RecordCollector("one", [HERE], one))
    assert [trace.id for trace in traces] == ["1", "4", "6"]
    assert [problem.line for problem in problems] == [2, 3, 4]
    assert [str(problem).removeprefix(f"{file}:") for problem in problems] == [
        "2: not readable (IndexError) @ $",
        "3: not readable (TypeError: unhashable type: 'list') @ $",
        "4: not readable (ValidationError: Input should be a valid string @ $.id) @ $[1]",
    ]


def test_a_session_whose_reader_fails_is_a_problem_and_what_was_told_before_stays(
    tmp_path: Path,
) -> None:
    def session(_records: list[Document], _path: Path) -> Iterator[Trace]:
        yield Trace(id="first")
        raise KeyError("a secret")

    file = tmp_path / "a.jsonl"
    file.write_text('{"id": 1}\n')
    traces, problems = read(file, SessionCollector("s", [HERE], session))
    assert [trace.id for trace in traces] == ["first"]
    assert [problem.reason for problem in problems] == [f"{file}: not readable (KeyError) @ $"]


@pytest.mark.parametrize(
    ("text", "found", "lost"),
    [
        pytest.param('[{"id": 1}, {"id": 2}, {"id"', ["1", "2"], [1], id="cut short"),
        pytest.param('[{"id": 1},\n{"id": 2},\n', ["1", "2"], [1], id="cut behind a comma"),
        pytest.param('[{"id": 1},\n{"id": nul},\n{"id": 3}]', ["1", "3"], [2], id="a bad one"),
        pytest.param('[{"id": 1},\nnul, "],", {"id": 3}]', ["1", "3"], [1, 2], id="bad scalars"),
        pytest.param('[{"id": "]},{"}, {"id": "\\"}"}, {', ["]},{", '"}'], [1], id="marks in text"),
        pytest.param('[{"id": 0}, {"id": 1}{"id": 2}, {}]', ["0"], [1], id="a comma too few"),
    ],
)  # fmt: skip
def test_of_a_list_that_is_not_whole_the_whole_items_are_read(
    tmp_path: Path, text: str, found: list[str], lost: list[int]
) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    traces, problems = read(file, RecordCollector("one", [HERE], one))
    assert [trace.id for trace in traces] == found
    assert sorted(problem.line or 1 for problem in problems) == lost


def test_a_list_of_which_nothing_is_whole_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('[{"id": 1')
    with pytest.raises(InvalidJSON):
        list(documents(file))


def test_a_list_that_is_one_record_and_cut_says_that_it_is_not_all(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    said = {"role": "user", "content": "hi"}
    file.write_text(json.dumps([said, said])[:-1] + ', {"role"')
    found = list(collect_paths([file]))
    (trace,) = [item.trace for item in found if item.trace]
    assert len(trace.turns) == 2
    assert trace.fidelity.count("record_lost") == 1
    assert len([item for item in found if item.problem]) == 1


@given(st.lists(objects | st.lists(values, max_size=3), min_size=1, max_size=4), st.data())
def test_the_items_of_any_list_are_told_apart(listed: list[Any], data: st.DataObject) -> None:
    indent = data.draw(st.sampled_from([None, 1]))
    text = json.dumps(listed, indent=indent, ensure_ascii=data.draw(st.booleans()))
    assert [json.loads(piece.text) for piece in items(text.encode())] == listed


def test_a_list_with_nothing_good_behind_its_first_item_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('[{"id": 1},' + "x," * 50_000 + '{"id": 2}]')
    found = list(documents(file))
    assert len(found) == 2 + MOST_BAD_ITEMS
    assert isinstance(found[-1], ImportProblem)
    assert found[-1].reason == "what follows in this list is not read"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" + '"\\n' * 500_000, id="an open text of escapes"),
        pytest.param("[" + "[{" * 500_000, id="open brackets"),
        pytest.param("[1" + '""' * 500_000, id="texts side by side"),
        pytest.param("[{}" + " " * 500_000 + "x", id="white space"),
    ],
)
def test_taking_a_list_apart_takes_time_in_proportion_to_it(text: str) -> None:
    begin = time.perf_counter()
    assert len(list(items(text.encode()))) <= 2
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param('\x1e{"id": 1}\n\x1e{"id": 2}\n', id="as the standard has it"),
        pytest.param('\x1e{"id": 1}\x1e{"id": 2}', id="without lines"),
        pytest.param('\x1e\n\x1e{"id": 1}\n\n\x1e{"id": 2}\n', id="with an empty one"),
    ],
)
def test_a_sequence_with_separators_is_read(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert [item.value for item in documents(file) if isinstance(item, Document)] == [
        {"id": 1},
        {"id": 2},
    ]
    assert HERE.matches(file, file.read_bytes())


def test_documents_of_a_sequence_may_span_lines_and_one_cut_costs_itself(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('\x1e{\n"id": 1}\n\x1e{\n"id":\n\x1e{\n"id": 3}\n')
    first, bad, last = documents(file)
    assert first == Document({"id": 1}, 1)
    assert bad.line == 3
    assert isinstance(bad, ImportProblem)
    assert last == Document({"id": 3}, 5)
    file.write_text('\x1e{"id": 1}')
    (only,) = documents(file)
    assert only == Document({"id": 1}, 1)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("space", [b" ", b"\n", b"\r\n\t"], ids=["blanks", "lines", "mixed"])
@pytest.mark.parametrize("text", [b"%s{}%s{}", b"{}%s"], ids=["around", "behind"])
def test_white_space_without_end_takes_no_time(
    tmp_path: Path, name: str, space: bytes, text: bytes
) -> None:
    file = tmp_path / name
    gap = space * (32 * 1024**2 // len(space))
    with gzip.open(file, "wb", compresslevel=1) as stream:
        stream.write(text.replace(b"%s", gap))
    begin = time.perf_counter()
    found = list(documents(file))
    assert time.perf_counter() - begin < 15
    assert found
    if space != b" ":
        assert {item.value == {} for item in found if isinstance(item, Document)} == {True}


def test_line_numbers_count_skipped_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('\n\n{"a": 1}\n \n\t\n  {"a": 2}\n\n')
    found = [item for item in documents(file) if isinstance(item, Document)]
    assert [(item.value, item.line) for item in found] == [({"a": 1}, 3), ({"a": 2}, 6)]


BOMB = """
import sys
from pathlib import Path
from tests.support.peak_memory import peak_kib
from tracedance_sdk.formats import collect_paths
path = Path(sys.argv[1])
gap = peak_kib()
print([str(item.problem) for item in collect_paths([path])][0][-40:])
print((peak_kib() - gap) // 1024)
"""


@pytest.mark.parametrize(
    ("start", "end"),
    [
        pytest.param(b'{"messages": [{"role": "user"}', b"]}", id="in a document"),
        pytest.param(b'[{"role": "user", "content": "x"}', b"]", id="in a list"),
        pytest.param(b'[{"role": "user", "content": "x"}', b"", id="in a list cut short"),
        pytest.param(b'{"messages": [{"role": "user"}]}[1', b"", id="behind a document"),
    ],
)
def test_values_by_the_million_are_refused_before_they_are_made(
    tmp_path: Path, start: bytes, end: bytes
) -> None:
    file = tmp_path / "a.json"
    with gzip.open(file, "wb", compresslevel=1) as stream:
        stream.write(start)
        for _ in range(40):
            stream.write(b",[]" * (1024**2 // 3))
        stream.write(end)
    ran = subprocess.run(
        [sys.executable, "-c", BOMB, str(file)], capture_output=True, text=True, check=True
    )
    problem, mebibytes = ran.stdout.splitlines()
    assert "more than 10,000,000 values" in problem
    assert int(mebibytes) < 400


def test_lines_that_are_held_together_have_a_bound_together(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    line = json.dumps({"id": [[]] * 100, "text": ",[{" * 1000})
    file.write_text(f"{line}\n" * 300)
    found = list(documents(file, most_values=10_000))
    assert isinstance(found[-1], ImportProblem)
    assert "more than 10,000 values up to here" in found[-1].reason
    assert 90 < len(found) < 130
    assert len(list(documents(file, most_values=100_000))) == 300
    assert len(list(documents(file))) == 300


def test_marks_inside_texts_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_FREE_BYTES", 0)
    text = json.dumps(['a, \\" b, [ {', {"a": [1, 2]}]).encode()
    assert not reading.holds_too_many(text, most=7)
    assert reading.holds_too_many(text, most=5)


def chat(role: Any) -> Any:
    return [{"role": role, "content": "hi"}, {"role": "assistant", "content": "ho"}]


def test_a_conversation_with_a_role_of_a_strange_type_costs_no_neighbour(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(chat(["user"])) + "\n" + json.dumps(chat("user")) + "\n")
    traces, problems = read(file, named_collector("openai_chat"))
    assert [len(trace.turns) for trace in traces] == [2]
    assert {problem.line for problem in problems} == {1}


def test_a_sample_with_an_id_of_a_strange_type_is_known_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    samples = [
        {"id": index, "epoch": 1, "uuid": own, "messages": chat("user")}
        for index, own in enumerate([7, "u", {}])
    ]
    evaluation = {"task": "t", "run_id": "r", "task_id": "i", "model": "m"}
    file.write_text(json.dumps({"status": "success", "eval": evaluation, "samples": samples}))
    traces, problems = read(file, named_collector("inspect_log"))
    assert [trace.source.native_id for trace in traces if trace.source] == ["0/1", "u", "2/1"]
    assert traces[0].metadata is not None
    assert traces[0].metadata["sample"] == {"uuid": 7}
    assert problems == []


def test_rows_whose_messages_are_no_list_are_none(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    body = {"input": {"messages": 1.5}, "output": {"messages": [{"role": "user", "content": "x"}]}}
    spans = [
        {
            "trace_id": "a" * 32, "span_id": f"{number:016x}", "name": "chat",
            "start_time": 10**18, "end_time": 10**18,
            "attributes": {"gen_ai.operation.name": "chat"},
            "events": [{"name": "row", "timestamp": 10**18, "body": body}],
        }
        for number in (1, 2)
    ]  # fmt: skip
    file.write_text(json.dumps(spans))
    traces, problems = read(file, named_collector("otlp"))
    assert len(traces) == 1
    assert problems == []


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("key", ["messages", "role"])
def test_a_key_named_twice_is_a_problem_and_the_last_one_counts(
    tmp_path: Path, name: str, key: str
) -> None:
    file = tmp_path / name
    text = '{"messages": [{"role": "user", "content": "say \\": \\""}]}'
    file.write_text(text + "\n")
    assert read(file, named_collector("openai_chat"))[1] == []
    file.write_text(text.replace(f'"{key}"', f'"{key}": [], "{key}"') + "\n")
    traces, problems = read(file, named_collector("openai_chat"))
    assert [len(trace.turns) for trace in traces] == [1]
    assert len(problems) == 1
    assert f"the key '{key}' stands twice in one object" in problems[0].reason
