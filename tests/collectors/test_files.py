"""Files of each kind are recognised by their own collector alone, whatever their name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.formats import Collected, collect_paths, load_collectors, load_trace, read_head
from tracedance_sdk.trace import Trace, encode, encode_json

FIXTURES = Path(__file__).parent.parent / "fixtures" / "traceeval"
HELLO = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
BYE = [{"role": "user", "content": "Bye"}]
TRACE = Trace(id="t1", task_id="k", metadata={"messages": HELLO})
TRACEEVAL = json.loads((FIXTURES / "efficient.json").read_text())
RUN = {"task_id": 1, "reward": 1.0, "info": {}, "traj": HELLO, "trial": 0}

KINDS: dict[str, tuple[Any, int]] = {
    "openai_chat": (HELLO, 1),
    "openai_chat of objects": ({"model": "m", "messages": HELLO, "tools": []}, 1),
    "openai_chat of lists": ([HELLO, BYE], 2),
    "openai_chat of objects in a list": ([{"messages": HELLO}, {"messages": BYE}], 2),
    "openai_chat of a call": ([{"role": "assistant", "tool_calls": []}], 1),
    "tau_bench": ([RUN, {**RUN, "trial": 1}], 2),
    "tau_bench of one run": (RUN, 1),
    "traceeval": (TRACEEVAL, 1),
    "traceeval of a list": ([TRACEEVAL, {**TRACEEVAL, "id": "2"}], 2),
    "trace_json": (encode(TRACE), 1),
}


def written(path: Path, value: Any, *, indent: int | None = None) -> Path:
    path.write_text(json.dumps(value, indent=indent))
    return path


def collected(path: Path) -> list[Collected]:
    return list(collect_paths([path]))


@pytest.mark.parametrize("sort_keys", [False, True], ids=["as it is", "sorted"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_recognised_by_one_collector(tmp_path: Path, kind: str, sort_keys: bool) -> None:
    value, count = KINDS[kind]
    path = tmp_path / "whatever.txt"
    for data in (
        json.dumps(value, sort_keys=sort_keys).encode(),
        json.dumps(value, sort_keys=sort_keys, indent=4).encode("utf-8-sig"),
        gzip.compress(json.dumps(value, sort_keys=sort_keys).encode()),
    ):
        path.write_bytes(data)
        claims = [c.name for c in load_collectors() if c.sniff(path, read_head(path))]
        assert claims == [kind.partition(" ")[0]]
        assert [item.problem for item in collected(path)] == [None] * count


@pytest.mark.parametrize("kind", KINDS)
def test_one_document_a_line_is_read_line_by_line(tmp_path: Path, kind: str) -> None:
    value, count = KINDS[kind]
    path = tmp_path / "many.jsonl"
    path.write_text(f"{json.dumps(value)}\n" * 3 + '{"broken": \n' + json.dumps(value))
    found = collected(path)
    assert sum(item.trace is not None for item in found) == 4 * count
    (problem,) = [item.problem for item in found if item.problem]
    assert problem.line == 4


def test_a_conversation_keeps_its_own_fields(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}
    value = {"id": "c1", "messages": HELLO, "tools": [tool], "model": "m", "score": None}
    (item,) = collected(written(tmp_path / "a.json", value))
    assert item.trace is not None
    assert [definition.name for definition in item.trace.tools] == ["pay"]
    assert item.trace.metadata == {"id": "c1", "model": "m", "score": None}
    assert item.trace.source is not None
    assert item.trace.source.model_dump(exclude_none=True) == {
        "collector": "openai_chat",
        "uri": str(tmp_path / "a.json"),
        "native_id": "c1",
    }


def test_a_conversation_is_the_same_trace_wherever_it_lies_and_twice_is_two(tmp_path: Path) -> None:
    listed = written(tmp_path / "a.json", [HELLO, BYE, HELLO])
    alone = written(tmp_path / "b.json", HELLO, indent=2)
    first, second, third = (item.trace and item.trace.id for item in collected(listed))
    (moved,) = (item.trace and item.trace.id for item in collected(alone))
    assert moved == first
    assert len({first, second, third}) == 3
    assert [item.trace and item.trace.id for item in collected(listed)] == [first, second, third]


def test_a_conversation_with_an_id_that_has_grown_is_the_same_trace(tmp_path: Path) -> None:
    before = written(tmp_path / "a.json", {"id": "7", "messages": HELLO})
    after = written(tmp_path / "b.json", {"id": "7", "messages": HELLO + BYE})
    other = written(tmp_path / "c.json", {"id": "7", "messages": BYE})
    ids = [item.trace and item.trace.id for item in collect_paths([before, after, other])]
    assert ids[0] == ids[1] != ids[2]


def test_broken_conversations_of_a_file_are_problems_with_their_place(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.json",
        [HELLO, {"messages": {}}, {"messages": 5}, {"tools": []}, 7, BYE],
    )
    found = [str(item.problem).replace(str(path), "FILE") for item in collected(path)]
    assert found == snapshot(
        [
            "None",
            "FILE: expected a list, got {} @ $[1].messages",
            "FILE: expected a list, got 5 @ $[2].messages",
            "FILE: expected a list, got None @ $[3].messages",
            "FILE: expected a list, got 7 @ $[4]",
            "None",
        ]
    )


def test_a_trace_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(encode_json(TRACE))
    assert [item.trace for item in collected(path)] == [TRACE]
    path.write_bytes(encode_json(TRACE)[:-1] + b',"id":"t2"}')
    (item,) = collected(path)
    assert "the key 'id' stands twice" in str(item.problem)


def test_the_fixtures_are_read_as_load_trace_reads_them() -> None:
    found = collected(FIXTURES)
    assert [item.path.stem for item in found] == [
        "critical-error",
        "efficient",
        "failed",
        "inefficient",
    ]
    assert [item.trace for item in found] == [load_trace(item.path) for item in found]


@pytest.mark.parametrize(
    "text",
    [
        '{"role": "user"}',
        '{"a": {"messages": []}}',
        '[[{"messages": []}]]',
        '{"name": "package", "version": "1.0"}',
        '{"format": "another", "version": 1}',
        '{"task_id": 1, "reward": 0}',
        '{"taskId": "t"}',
        "[]",
        "{}",
        "5",
        "",
    ],
)
def test_what_is_no_trace_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    (item,) = collected(path)
    assert item.problem is not None
    assert item.problem.reason.startswith("no collector recognises this file")
