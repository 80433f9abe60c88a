"""SQL over a store: the views, and everything that is refused."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.store.stored import agent, call, human, run
from tracedance_sdk.errors import InvalidQuery, StoreError
from tracedance_sdk.store import VIEWS, TraceStore
from tracedance_sdk.store.columns import public


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    made = TraceStore.create(tmp_path / "store")
    made.add(
        [
            run(
                "one",
                human("list it", started_at="2026-01-02T03:04:05Z"),
                agent("", call("Bash", {"command": "ls"}, "a.txt", ok=True), model="m-1"),
                agent("done", usage={"input_tokens": 5, "output_tokens": 2}),
                session_id="s",
            ),
            run("two"),
        ]
    )
    made.index()
    return made


def test_views_have_the_documented_columns(store: TraceStore) -> None:
    for name, columns in VIEWS.items():
        assert store.select(f"SELECT * FROM {name} LIMIT 0").columns == public(columns)


def test_views_of_an_empty_store_have_the_same_columns(tmp_path: Path) -> None:
    empty = TraceStore.create(tmp_path / "empty")
    for name, columns in VIEWS.items():
        found = empty.select(f"SELECT * FROM {name}")
        assert (found.columns, found.rows) == (public(columns), ())


def test_rows_are_dicts_when_wanted_and_times_are_aware(store: TraceStore) -> None:
    found = store.select(
        "SELECT trace_id, turn, text, started_at, model FROM turns "
        "WHERE trace_id = 'one' ORDER BY turn"
    )
    assert next(iter(found.dicts()))["started_at"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [row[2] for row in found.rows] == ["list it", "", "done"]
    assert [row[4] for row in found.rows] == [None, "m-1", None]


def test_views_can_be_joined(store: TraceStore) -> None:
    found = store.select(
        "SELECT c.name, c.result, f.kind, f.heads "
        "FROM calls c JOIN features f USING (trace_id, call)"
    )
    assert found.rows == (("Bash", "a.txt", "shell", ["ls"]),)


REFUSED = [
    "COPY (SELECT 1) TO '/tmp/tracedance-test-out'",
    "COPY traces TO 'x.parquet'",
    "ATTACH '/tmp/tracedance-test.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_size",
    "SET memory_limit = '99GB'",
    "RESET enable_external_access",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_parquet('/**/documents-*.parquet')",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW traces",
    "CREATE TABLE x AS SELECT 1",
    "DROP VIEW traces",
    "INSERT INTO traces SELECT * FROM traces",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPORT DATABASE '/tmp/tracedance-test'",
    "CALL pragma_version()",
    "",
    "   -- nothing",
    "SELEC 1",
    "SELECT nothing FROM traces",
    "SELECT * FROM nowhere",
    "SELECT CAST(text AS INTEGER) FROM turns",
    "SELECT '\ud800'",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_everything_but_one_select_over_the_views_is_refused_in_one_line(
    store: TraceStore, sql: str
) -> None:
    with pytest.raises(InvalidQuery, match=r"\A[^\n]+\Z") as caught:
        store.select(sql)
    assert len(str(caught.value)) < 500
    assert not list(Path("/tmp").glob("tracedance-test*"))


def test_documents_cannot_be_read_by_a_query(store: TraceStore) -> None:
    path = next(file.path for file in store.files() if file.kind == "documents")
    with pytest.raises(InvalidQuery, match="Permission Error"):
        store.select(f"SELECT * FROM read_parquet('{path}')")


def test_messages_carry_the_reason_and_the_query(store: TraceStore) -> None:
    said = []
    for sql in ("SELECT 1; SELECT 2", "DROP VIEW traces", "SELECT * FROM x", "SELECT\n1 +"):
        with pytest.raises(InvalidQuery) as caught:
            store.select(sql)
        said.append(str(caught.value))
    assert said == snapshot(
        [
            "one SELECT is wanted, not 2 statements: 'SELECT 1; SELECT 2'",
            "only SELECT is allowed, not DROP: 'DROP VIEW traces'",
            "Catalog Error: Table with name x does not exist!: 'SELECT * FROM x'",
            "Parser Error: syntax error at or near \"+\": 'SELECT 1 +'",
        ]
    )


def test_a_query_that_takes_too_long_is_stopped(store: TraceStore) -> None:
    started = time.monotonic()
    with pytest.raises(InvalidQuery, match=r"stopped after 0\.2 s"):
        store.select(
            "SELECT sum(a.range * b.range) FROM range(999999) a, range(999999) b", timeout_s=0.2
        )
    assert time.monotonic() - started < 10


def test_an_answer_with_too_many_rows_is_an_error(store: TraceStore) -> None:
    with pytest.raises(InvalidQuery, match="more than 10 rows; add a LIMIT"):
        store.select("SELECT * FROM range(11)", most_rows=10)
    assert len(store.select("SELECT * FROM range(10)", most_rows=10).rows) == 10


def test_a_query_that_needs_too_much_memory_is_an_error(store: TraceStore) -> None:
    sql = "SELECT list(range::VARCHAR || repeat('x', 1000)) FROM range(1000000)"
    with pytest.raises(InvalidQuery, match="Out of Memory"):
        store.select(sql, memory_mb=50)


def test_a_condition_chooses_traces(store: TraceStore) -> None:
    assert [trace.id for trace in store.traces("calls > 0 AND session_id = 's'")] == ["one"]
    assert [trace.id for trace in store.traces()] == ["one", "two"]
    assert [trace.id for trace in store.traces("true -- all")] == ["one", "two"]
    with pytest.raises(InvalidQuery):
        list(store.traces("true); SELECT (1"))
    with pytest.raises(InvalidQuery):
        list(store.traces("nothing = 1"))


def test_a_store_that_cannot_be_written_to_says_that_features_are_missing(
    store: TraceStore, tmp_path: Path
) -> None:
    store.add([run("three")])
    far = TraceStore.open(f"file://{tmp_path}/store")
    with pytest.raises(StoreError, match=r"1 of 2 partitions .* lack features.*store\.index\(\)"):
        far.select("SELECT count(*) FROM features")
    assert far.select("SELECT count(*) FROM turns").rows == ((5,),)
    store.index()
    assert far.select("SELECT count(*) FROM features").rows == ((6,),)


def test_a_folder_with_a_quote_in_its_name_is_a_folder(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "it's [a] *store* ?x=1")
    store.add([run("one"), run("two")])
    store.remove(["one"])
    assert store.select("SELECT trace_id FROM turns").rows == (("two",),)
    assert [trace.id for trace in store] == ["two"]
