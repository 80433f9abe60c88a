"""Adding traces: what counts as new, longer, older; families; hostile names; any trace at all."""

from __future__ import annotations

import errno
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.stored import (
    agent,
    call,
    files_of,
    human,
    of_session,
    partitions_of,
    recorded,
    run,
)
from tests.support.traces import traces
from tracedance_sdk.errors import InvalidOption, StoreError
from tracedance_sdk.store import AddSummary, StoredDocument, TraceStore
from tracedance_sdk.trace import Trace, encode_json


def added(added: int = 0, replaced: int = 0, unchanged: int = 0, older: int = 0) -> AddSummary:
    return AddSummary(added, replaced, unchanged, older)


def test_a_store_gives_back_what_was_put_in(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "store")
    given_traces = [run("one"), run("two", human("hi"), agent("", call("ls", {"path": "/"})))]
    assert store.add(given_traces) == added(added=2)
    assert list(recorded(tmp_path / "store")) == given_traces
    assert len(store) == 2
    assert recorded(tmp_path / "store").get("two") == given_traces[1]


@settings(max_examples=40, deadline=None)
@given(st.lists(traces(), max_size=4, unique_by=lambda trace: trace.id))
def test_any_trace_comes_back_equal(found: list[Trace]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore.create(Path(folder) / "store", tools="recorded")
        assert store.add(found).added == len(found)
        assert sorted(store, key=lambda t: t.id) == sorted(found, key=lambda t: t.id)
        assert all(store.get(trace.id) == trace for trace in found)
        assert store.add(found) == added(unchanged=len(found))


@settings(max_examples=20, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=4, unique_by=lambda trace: trace.id))
def test_every_turn_and_call_of_any_trace_has_its_row(found: list[Trace]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore.create(Path(folder) / "store")
        store.add(found)
        store.index()
        turns = sum(len(trace.turns) for trace in found)
        calls = sum(len(trace.calls) for trace in found)
        counts = store.select(
            "SELECT sum(turns), sum(calls), (SELECT count(*) FROM turns),"
            " (SELECT count(*) FROM calls), (SELECT count(*) FROM features WHERE event = 'turn'),"
            " (SELECT count(*) FROM features WHERE event = 'call') FROM traces"
        )
        assert counts.rows == ((turns, calls) * 3,)


def test_importing_twice_adds_nothing_and_writes_nothing(tmp_path: Path) -> None:
    TraceStore.create(tmp_path).add([run("one"), run("two")])
    before = files_of(tmp_path)
    assert TraceStore.open(tmp_path).add([run("one"), run("two")]) == added(unchanged=2)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([human("a")], [human("a"), agent("b")], added(replaced=1)),
        ([human("a"), agent("b")], [human("a")], added(older=1)),
        ([human("a", name="x")], [human("a", name="xy")], added(replaced=1)),
        ([human("a", name="xy")], [human("a", name="x")], added(older=1)),
        ([agent("a")], [agent("a", call("x", {}))], added(replaced=1)),
        ([human("a")], [human("a")], added(unchanged=1)),
    ],
    ids=["more-turns", "fewer-turns", "as-long", "fewer-bytes", "more-calls", "equal"],
)
def test_the_longer_version_of_a_trace_stays(
    tmp_path: Path, first: list[object], second: list[object], expected: AddSummary
) -> None:
    store = TraceStore.create(tmp_path, tools="recorded")
    store.add([run("one", *first)])  # type: ignore[arg-type]  # tables hold objects
    assert store.add([run("one", *second)]) == expected  # type: ignore[arg-type]  # as above
    kept = first if expected in (added(older=1), added(unchanged=1)) else second
    assert list(store) == [run("one", *kept)]  # type: ignore[arg-type]  # as above
    assert store.select("SELECT count(*) FROM turns").rows == ((len(kept),),)


def test_versions_of_a_trace_in_one_import_count_as_if_they_came_one_after_the_other(
    tmp_path: Path,
) -> None:
    store = TraceStore.create(tmp_path, tools="recorded")
    versions = [run("one"), run("one", human("hello"), agent("b")), run("one"), run("two")]
    assert store.add(versions) == added(added=2, replaced=1, older=1)
    assert [trace.id for trace in store] == ["one", "two"]
    assert len(store.get("one").turns) == 2


def test_the_bytes_at_hand_are_kept_as_they_are(tmp_path: Path) -> None:
    trace = run("one")
    data = encode_json(trace).replace(b'{"format"', b'{ "format"')
    store = TraceStore.create(tmp_path, tools="recorded")
    assert store.add([StoredDocument(trace, data)]) == added(added=1)
    assert store.get("one") == trace
    assert store.select("SELECT document_bytes FROM traces").rows == ((len(data),),)


def test_a_trace_that_is_no_json_is_refused_and_the_others_are_added(tmp_path: Path) -> None:
    bad = run("bad").model_copy(update={"metadata": {"x": float("nan")}})
    summary = TraceStore.create(tmp_path).add([run("one"), bad, run("two")])
    assert (summary.added, len(summary.refused)) == (2, 1)
    assert summary.refused[0].startswith("trace 'bad' cannot be written as JSON")


@pytest.mark.parametrize("depth", [200, 249, 252])
def test_what_can_be_written_can_be_read_however_deep(tmp_path: Path, depth: int) -> None:
    value: object = 1
    for _ in range(depth):
        value = [value]
    trace = run("deep").model_copy(update={"metadata": {"x": value}})
    store = TraceStore.create(tmp_path, tools="recorded")
    assert store.add([trace, run("one")]).added == 2
    assert list(store) == [trace, run("one")]


def test_a_trace_too_deep_to_be_written_is_refused(tmp_path: Path) -> None:
    value: object = 1
    for _ in range(10_000):
        value = [value]
    trace = run("deep").model_copy(update={"metadata": {"x": value}})
    assert len(TraceStore.create(tmp_path).add([trace]).refused) == 1


def test_a_file_system_without_links_keeps_stores_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_names: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    store = TraceStore.create(tmp_path)
    store.add([run("one")])
    assert TraceStore.open(tmp_path).add([run("two")]) == added(added=1)
    assert len(store) == 2


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="not a trace"):
        TraceStore.create(tmp_path).add(["one.json"])  # type: ignore[list-item]  # on purpose


def test_a_late_sub_agent_brings_its_family_together(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add([of_session("parent", "s"), of_session("other", "t")])
    store.add([run("loose")])
    store.add([of_session("child", "s", parent={"trace_id": "parent"})])
    places = partitions_of(tmp_path)
    assert places["parent"] == places["child"]
    assert places["other"] != places["child"]
    assert len(store) == 4
    families = store.select("SELECT family, count(*) FROM traces GROUP BY 1 ORDER BY 1").rows
    assert families == (("loose", 1), ("s", 2), ("t", 1))


def test_a_parent_that_comes_after_its_sub_agents_joins_them(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add([run("grandchild", parent={"trace_id": "child"})])
    store.add([run("child", parent={"trace_id": "root"})])
    store.add([of_session("root", "s")])
    assert set(partitions_of(tmp_path).values()) == {0}
    assert store.select("SELECT DISTINCT family FROM traces").rows == (("s",),)


def test_parents_in_a_circle_are_one_family(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add([run("a", parent={"trace_id": "b"}), run("self", parent={"trace_id": "self"})])
    store.add([run("b", parent={"trace_id": "c"})])
    store.add([run("c", parent={"trace_id": "a"})])
    places = partitions_of(tmp_path)
    assert places["a"] == places["b"] == places["c"]
    assert len(store.select("SELECT family FROM traces WHERE trace_id <> 'self'").rows) == 3
    assert store.select("SELECT family FROM traces WHERE trace_id = 'self'").rows == (("self",),)


def test_a_longer_trace_moves_with_its_family(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path, tools="recorded")
    store.add([of_session("a", "s"), of_session("b", "s"), of_session("c", "t")])
    longer = run("a", human("hello"), agent("y", call("ls", {})), session_id="s")
    assert store.add([longer]) == added(replaced=1)
    assert sorted(trace.id for trace in store) == ["a", "b", "c"]
    assert store.get("a") == longer
    places = partitions_of(tmp_path)
    assert places["a"] == places["b"]
    rows = store.select("SELECT trace_id, count(*) FROM turns GROUP BY 1 ORDER BY 1").rows
    assert rows == (("a", 2), ("b", 1), ("c", 1))
    store.index()
    rows = store.select("SELECT trace_id, count(*) FROM features GROUP BY 1 ORDER BY 1").rows
    assert rows == (("a", 3), ("b", 1), ("c", 1))


HOSTILE_IDS = [
    "../../x", "/etc/passwd", "a/b\\c", "nul\0id", "x" * 10_000, "é\u2028\U0001f600", "' OR 1=1 --",
    "manifest-00000009.json", "%s{}", ".", "..", " ", "\n",
]  # fmt: skip


def test_hostile_ids_are_ids_and_no_paths(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "in" / "store", tools="recorded")
    found = [run(name, session_id=name[::-1]) for name in HOSTILE_IDS]
    assert store.add(found).added == len(found)
    assert [store.get(name) for name in HOSTILE_IDS] == found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    assert all(len(name) < 80 for name in files_of(tmp_path / "in" / "store"))


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_a_hostile_id_that_is_not_there_is_one_line(tmp_path: Path, name: str) -> None:
    store = TraceStore.create(tmp_path)
    store.add([run("one")])
    with pytest.raises(StoreError, match=r"^(no trace|several traces)[^\n]*$") as caught:
        store.get(name)
    assert len(str(caught.value)) < 300


def test_folders_and_files_are_for_their_owner_only(tmp_path: Path) -> None:
    TraceStore.create(tmp_path / "store").add([run("one")])
    for path in (tmp_path / "store", *(tmp_path / "store").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_large_imports_are_written_in_parts_at_the_borders_of_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracedance_sdk.store.adding.BATCH_BYTES", 4_000)
    store = TraceStore.create(tmp_path, tools="recorded")
    found = [
        run(f"{session}-{n}", human("x" * 500), session_id=f"s{session}")
        for session in range(10)
        for n in range(3)
    ]
    assert store.add(found) == added(added=30)
    places = partitions_of(tmp_path)
    assert len(set(places.values())) > 3
    for session in range(10):
        assert len({places[f"{session}-{n}"] for n in range(3)}) == 1
    assert list(store) == found


def test_a_family_too_large_to_move_is_left_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracedance_sdk.store.adding.FAMILY_BYTES", 100)
    store = TraceStore.create(tmp_path, tools="recorded")
    store.add([of_session("a", "s"), of_session("b", "s")])
    assert store.add([of_session("c", "s")]) == added(added=1)
    assert sorted(trace.id for trace in store) == ["a", "b", "c"]
    assert store.select("SELECT DISTINCT family FROM traces").rows == (("s",),)
