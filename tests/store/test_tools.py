"""Traces without tool definitions get known ones, else ones inferred from the whole store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.stored import agent, call, human, of_session, run
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Trace


def asking(trace_id: str, *calls: dict[str, object], name: str = "mine", **fields: object) -> Trace:
    return run(
        trace_id, human("go"), agent("", *calls), agent("done"), agent={"name": name}, **fields
    )


def definitions(trace: Trace) -> dict[str, tuple[str, object]]:
    return {tool.name: (tool.origin, tool.parameters) for tool in trace.tools}


def shape(required: list[str], **types: object) -> dict[str, object]:
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": required}


def test_definitions_are_inferred_from_all_calls_of_the_tool(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add([asking("a", call("roll", {"sides": 6}))])
    store.add([asking("b", call("roll", {"sides": 6, "times": "two"}))])
    store.add([asking("other", call("roll", {"dice": 1}), name="theirs")])
    expected = shape(["sides"], sides="integer", times="string")
    for trace_id in ("a", "b"):
        trace = store.get(trace_id)
        assert definitions(trace) == {"roll": ("inferred", expected)}
        assert trace.fidelity.count("tools_inferred") == 1
        assert trace.fidelity.count("tools_missing") == 0
    assert definitions(store.get("other")) == {
        "roll": ("inferred", shape(["dice"], dice="integer"))
    }


def test_known_definitions_come_before_inferred_ones(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add([asking("a", call("Read", {"file_path": "x"}), call("odd", {}), name="claude-code")])
    assert {k: v[0] for k, v in definitions(store.get("a")).items()} == {
        "Read": "known",
        "odd": "inferred",
    }
    known = TraceStore.open(tmp_path, tools="known").get("a")
    assert list(definitions(known)) == ["Read"]
    assert known.fidelity.count("tools_missing") == 1


def test_recorded_leaves_traces_as_they_are(tmp_path: Path) -> None:
    trace = asking("a", call("Read", {"file_path": "x"}), name="claude-code")
    TraceStore.create(tmp_path).add([trace])
    store = TraceStore.open(tmp_path, tools="recorded")
    assert [store.get("a"), *store, *store.traces("true")] == [trace] * 3
    with pytest.raises(InvalidOption, match="recorded, known or inferred"):
        TraceStore.open(tmp_path, tools="all")  # type: ignore[arg-type]  # on purpose


def test_what_calls_look_like_survives_growth_and_compaction(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add(
        [asking("a", call("roll", {"sides": 6}), session_id="s"), asking("b", call("go", {}))]
    )
    store.add([asking("c", call("roll", {"sides": 1, "by": None}), session_id="s")])
    expected = shape(["sides"], sides="integer", by="null")
    assert definitions(store.get("a"))["roll"] == ("inferred", expected)
    store.compact()
    assert definitions(store.get("a"))["roll"] == ("inferred", expected)
    store.remove(["c"])
    store.compact()
    assert definitions(store.get("a"))["roll"] == (
        "inferred",
        shape(["sides"], sides="integer"),
    )
    assert definitions(store.get("b"))["go"][0] == "inferred"


def test_a_sub_agent_has_its_own_tools(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add([of_session("a", "s"), asking("b", call("x", {}), session_id="s")])
    assert [list(definitions(trace)) for trace in store] == [[], ["x"]]


@pytest.mark.parametrize("damage", [False, True], ids=["whole", "damaged"])
def test_no_inferred_tool_tells_of_a_removed_trace(tmp_path: Path, damage: bool) -> None:
    store = TraceStore.create(tmp_path)
    store.add(
        [
            run("kept", human("a"), agent("", call("look_up", {"id": 7}))),
            run("gone", human("b"), agent("", call("look_up", {"id": 7, "password": "x"}))),
        ]
    )
    store.add([run("other", human("c"), agent("", call("look_up", {"id": 8})))])
    assert "password" in str(store.get("kept").tools)
    if damage:
        file = next(file for file in store.files() if file.kind == "documents")
        file.path.write_bytes(b"PAR1")
    store.remove(["gone"])
    (tool,) = TraceStore.open(tmp_path).get("other").tools
    assert "id" in str(tool)
    assert "password" not in str(tool)
