"""Stores are read like any other source of traces."""

from __future__ import annotations

from pathlib import Path

from tests.store.stored import agent, call, human, run
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.store import TraceStore


def made(folder: Path) -> TraceStore:
    store = TraceStore.create(folder)
    store.add([run("one"), run("two", human("hi"), agent("", call("look_up", {"id": 7})))])
    store.add([run("three")])
    store.index()
    return store


def test_a_folder_is_one_source_wherever_it_lies(tmp_path: Path) -> None:
    store = made(tmp_path / "deep" / "store")
    for path in (tmp_path, tmp_path / "deep" / "store"):
        found = list(collect_paths([path]))
        assert [item.collector for item in found] == ["store"] * 3
        assert [item.trace for item in found] == list(store)


def test_a_file_of_a_store_stands_for_the_store(tmp_path: Path) -> None:
    store = made(tmp_path)
    for path in (tmp_path / "manifest-00000001.json", store.files()[0].path):
        assert [item.trace and item.trace.id for item in collect_paths([path])] == [
            "one",
            "two",
            "three",
        ]


def test_missing_tool_definitions_are_completed(tmp_path: Path) -> None:
    made(tmp_path)
    tools = [item.trace.tools for item in collect_paths([tmp_path]) if item.trace]
    assert [[(tool.name, tool.origin) for tool in found] for found in tools] == [
        [],
        [("look_up", "inferred")],
        [],
    ]


def test_a_damaged_store_is_a_problem_beside_other_sources(tmp_path: Path) -> None:
    store = made(tmp_path / "store")
    next(file.path for file in store.files() if file.kind == "documents").unlink()
    problem, other = collect_paths([tmp_path])
    assert "lacks its file documents-" in str(problem.problem)
    assert str(problem.problem).endswith("; 2 of its 2 traces were not read")
    assert other.trace is not None
    assert other.trace.id == "three"


def test_tools_that_cannot_be_read_are_one_problem_beside_all_traces(tmp_path: Path) -> None:
    store = made(tmp_path)
    file = next(file for file in store.files() if file.kind == "tools")
    file.path.write_text("{}")
    found = list(collect_paths([tmp_path]))
    assert [item.trace and item.trace.id for item in found] == ["one", "two", None, "three"]
    assert "its content is not what its name says" in str(found[2].problem)


def test_another_json_named_like_a_manifest_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "manifest-00000001.json").write_text(
        '{"messages": [{"role": "user", "content": "x"}]}'
    )
    assert [item.collector for item in collect_paths([tmp_path])] == ["openai_chat"]
