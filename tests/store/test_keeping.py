"""What is removed, pruned, compacted; damaged and foreign folders; stores elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.store.stored import agent, call, files_of, human, of_session, recorded, run
from tracedance_sdk.errors import InvalidOption, StoreError, UnsupportedVersion
from tracedance_sdk.store import PruneSummary, TraceStore
from tracedance_sdk.store.manifest import Manifest, encode_manifest
from tracedance_sdk.trace import Trace

HOUR = timedelta(hours=1)


def aged(folder: Path, seconds: float) -> None:
    """Let every file of a store be older."""
    for path in [*folder.glob("manifest-*"), *(folder / "parts").iterdir()]:
        past = path.stat().st_mtime - seconds
        os.utime(path, (past, past))


def small_store(folder: Path, count: int = 4) -> TraceStore:
    store = TraceStore.create(folder, tools="recorded")
    for number in range(count):
        store.add(
            [run(f"t{number}", human(f"hello {number}"), agent("", call("ls", {"n": number})))]
        )
    return store


def test_removed_traces_are_gone_from_every_view(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path, tools="recorded")
    store.add([run("one", human("a"), agent("b", call("ls", {}))), run("two"), run("three")])
    store.index()
    assert store.remove(["one", "two"]) == 2
    assert [trace.id for trace in store] == ["three"]
    for view in ("traces", "turns", "calls", "features"):
        assert store.select(f"SELECT count(*) FROM {view} WHERE trace_id <> 'three'").rows == (
            (0,),
        )
    assert store.add([run("one")]).added == 1
    assert [trace.id for trace in store] == ["three", "one"]


def test_nothing_is_removed_when_one_of_the_ids_is_not_there(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    with pytest.raises(StoreError, match="no trace 'x' in the store"):
        store.remove(["t0", "x"])
    with pytest.raises(StoreError, match=r"several traces begin with 't': t0, t1, t2, \.\.\.$"):
        store.remove(["t"])
    assert len(store) == 4


def test_pruning_takes_what_ended_before_a_time(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    old, new = datetime(2026, 1, 1, tzinfo=UTC), datetime.now(UTC)
    store.add(
        [
            run("old", started_at=old),
            run("long", started_at=old, ended_at=new),
            run("turns", human("x", started_at="2026-01-02T00:00:00Z")),
            run("undated"),
        ]
    )
    assert store.prune(timedelta(days=1)) == PruneSummary(removed=2, undated=1)
    assert [trace.id for trace in store] == ["long", "undated"]
    assert store.prune(datetime(2026, 1, 1, tzinfo=UTC)) == PruneSummary(removed=0, undated=1)
    with pytest.raises(InvalidOption, match="no time zone"):
        store.prune(datetime(2026, 1, 1))  # noqa: DTZ001 - on purpose


def test_compaction_merges_partitions_and_changes_nothing_else(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    store.index()
    before = list(store)
    rows = store.select("SELECT * FROM features ORDER BY trace_id, turn, call").rows
    summary = store.compact()
    assert (summary.partitions_before, summary.partitions, summary.files_removed) == (4, 1, 0)
    assert list(store) == before
    assert store.select("SELECT * FROM features ORDER BY trace_id, turn, call").rows == rows
    assert store.compact().partitions == 1
    assert store.get("t2") == before[2]


def test_compaction_leaves_removed_rows_behind(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    store.remove(["t1"])
    store.add([run("t2", human("hello 2"), agent("", call("ls", {"n": 2})), human("more"))])
    assert store.compact(grace=HOUR).rows_dropped == 0, "partitions without live rows are gone"
    store.remove(["t3"])
    assert store.compact(grace=HOUR).rows_dropped == 1
    aged(tmp_path, 7200)
    store.compact(grace=HOUR)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "parts").iterdir())
    assert b"t3" not in kept
    assert sorted(trace.id for trace in store) == ["t0", "t2"]


def test_readers_of_an_older_manifest_are_not_disturbed(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    aged(tmp_path, 7200)
    reader = iter(store)
    first = next(reader)
    other = TraceStore.open(tmp_path)
    other.compact(grace=HOUR)
    other.remove(["t3"])
    other.compact(grace=HOUR)
    assert [first.id, *(trace.id for trace in reader)] == ["t0", "t1", "t2", "t3"]


def test_files_go_when_their_last_manifest_was_replaced_long_ago(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    store.compact(grace=HOUR)
    draft = tmp_path / "parts" / ".draft-1-ab"
    draft.write_bytes(b"x")
    (tmp_path / "parts" / "notes.txt").write_text("mine")
    assert store.compact(grace=HOUR).files_removed == 0
    aged(tmp_path, 7200)
    assert store.compact(grace=HOUR).files_removed > 10
    names = {file.path.name for file in store.files()}
    assert set(files_of(tmp_path)) == {*names, "manifest-00000005.json", "notes.txt"}
    assert len(store) == 4


TRAVERSAL = (
    b'{"format": "tracedance.store", "version": 1, "number": 1, "partitions": [{"rows": 1,'
    b' "document_bytes": 1, "files": {"traces": ["../../etc/passwd", 1]}}]}'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "No manifest"),
        (b'{"format": "other"}', "'format' is not"),
        (b'{"format": "tracedance.store", "version": 1, "number": 1}', "damaged manifest"),
        (TRAVERSAL, "is no data file's name"),
        (b'{"format": "tracedance.store", "version": 1, "number": 7, "partitions": []}', "number"),
        (b"\xff\xfe", "No manifest"),
    ],
    ids=["empty", "foreign", "cut", "traversal", "number", "binary"],
)
def test_a_folder_whose_only_manifest_is_damaged_is_one_line(
    tmp_path: Path, text: bytes, expected: str
) -> None:
    (tmp_path / "manifest-00000001.json").write_bytes(text)
    with pytest.raises(StoreError, match=rf"(?i)^[^\n]*{expected}[^\n]*$"):
        TraceStore.open(tmp_path)


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    text = encode_manifest(Manifest(1)).replace(b'"version":1', b'"version":2')
    (tmp_path / "manifest-00000001.json").write_bytes(text)
    with pytest.raises(UnsupportedVersion, match="format version 2; this release reads version 1"):
        TraceStore.open(tmp_path)


def test_what_is_no_store_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    said = []
    for name in ("missing", "file", "full", "empty"):
        with pytest.raises(StoreError) as caught:
            TraceStore.open(tmp_path / name)
        said.append(str(caught.value).replace(str(tmp_path), "..."))
    assert said == snapshot(
        [
            "the store '.../missing' does not exist",
            "the store '.../file' is no folder",
            "'.../full' is no store: it holds 'thing.txt' and no manifest",
            "'.../empty' is no store: it is empty",
        ]
    )
    with pytest.raises(StoreError, match=r"holds 'thing\.txt'"):
        TraceStore.create(tmp_path / "full")
    assert len(TraceStore.create(tmp_path / "empty")) == 0
    assert list(TraceStore.open(tmp_path / "empty")) == []


def _read(store: TraceStore) -> object:
    return list(store)


def _add(store: TraceStore) -> object:
    return store.add([run("t0", human("longer"), human("yet"), human("more"))])


def _count(store: TraceStore) -> object:
    return store.select("SELECT count(text) FROM turns")


@pytest.mark.parametrize("damage", ["missing", "cut"])
@pytest.mark.parametrize(
    ("kind", "use"),
    [("documents", _read), ("tools", _read), ("traces", _add), ("turns", _count)],
    ids=["documents", "tools", "traces", "turns"],
)
def test_a_missing_or_damaged_file_is_one_line(
    tmp_path: Path, kind: str, use: Callable[[TraceStore], object], damage: str
) -> None:
    small_store(tmp_path, 1)
    path = next((tmp_path / "parts").glob(f"{kind}-*"))
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match=rf"^[^\n]*{path.name[:20]}[^\n]*$"):
        use(TraceStore.open(tmp_path))


def test_a_folder_that_cannot_be_written_to_is_one_line(tmp_path: Path) -> None:
    store = small_store(tmp_path, 1)
    (tmp_path / "parts" / ".lock").unlink()
    (tmp_path / "parts" / ".lock").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        store.add([run("new")])
    assert [trace.id for trace in store] == ["t0"]


def test_a_store_elsewhere_can_be_read_and_not_written(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    store.index()
    store.remove(["t1"])
    far = TraceStore.open(f"file://{tmp_path}", tools="recorded")
    assert list(far) == list(store)
    assert far.get("t2") == store.get("t2")
    assert far.select("SELECT count(*) FROM features").rows == ((9,),)
    for change in (
        lambda: far.add([run("new")]),
        lambda: far.remove(["t0"]),
        far.compact,
        far.index,
    ):
        with pytest.raises(StoreError, match="remote stores are not written to yet"):
            change()
    assert far.add([store.get("t0")]).unchanged == 1


def test_a_copy_from_elsewhere_that_was_changed_is_noticed(tmp_path: Path) -> None:
    small_store(tmp_path, 1)
    path = next((tmp_path / "parts").glob("documents-*"))
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(StoreError, match="was changed"):
        list(TraceStore.open(f"file://{tmp_path}"))


@pytest.mark.parametrize("url", ["nosuch://x/y", "memory://nothing-there"])
def test_a_place_that_cannot_be_reached_is_one_line(url: str) -> None:
    with pytest.raises(StoreError, match=r"^[^\n]*$"):
        TraceStore.open(url)


def test_counts_by_collector_and_agent(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add(
        [
            of_session("a", "s", agent={"name": "codex"}, source={"collector": "codex"}),
            of_session("b", "s", agent={"name": "codex"}, source={"collector": "codex"}),
            run("c", human("x"), agent("y", call("ls", {}))),
        ]
    )
    found = [tuple(item)[:8] for item in store.summaries()]
    assert found == [(None, "agent", 1, 1, 2, 1, 1, 1), ("codex", "codex", 1, 2, 2, 0, 2, 2)]


def test_files_name_what_other_programs_may_read(tmp_path: Path) -> None:
    store = small_store(tmp_path, 1)
    assert [file.kind for file in store.files()] == [
        "calls",
        "documents",
        "tools",
        "traces",
        "turns",
    ]
    assert all(file.path.stat().st_size == file.bytes for file in store.files())
    started = time.time()
    assert all(file.path.stat().st_mtime <= started for file in store.files())


def test_iteration_sees_the_store_as_it_was_when_it_began(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    reader = iter(store)
    next(reader)
    recorded(tmp_path).add([run("late")])
    assert "late" not in [trace.id for trace in reader]


def test_a_trace_that_could_not_be_read_back_is_refused(tmp_path: Path) -> None:
    said = {"role": "user", "origin": "human", "index": 1}
    odd = Trace.model_validate({"id": "odd", "turns": [said]})
    summary = TraceStore.create(tmp_path / "s").add([run("a"), odd, run("b")])
    assert summary.added == 2
    assert summary.refused == (
        "trace 'odd' could not be read back: turn index 1, expected 0 @ $.turns[0]",
    )
