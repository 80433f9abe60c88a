"""SQL over a store: the views, and everything that is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.store.stored import agent, call, human, run
from tracedance_sdk.errors import InvalidQuery, StoreError
from tracedance_sdk.store import VIEWS, TraceStore
from tracedance_sdk.store.allowed_sql import VIEW_NAMES
from tracedance_sdk.store.columns import public
from tracedance_sdk.store.queries import asks_features


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return made_in(tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    return made_in(tmp_path_factory.mktemp("unchanged"))


def made_in(folder: Path) -> TraceStore:
    made = TraceStore.create(folder / "store")
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
    "SELECT 1 -- \0",
    "WITH x AS (DELETE FROM traces RETURNING 1) SELECT * FROM x",
    "WITH x AS (INSERT INTO traces VALUES (1) RETURNING 1) SELECT * FROM x",
    "WITH x AS (UPDATE traces SET agent = 'x' RETURNING 1) SELECT * FROM x",
    "SHOW TABLES",
    "DESCRIBE '/etc/passwd'",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pragma_table_info('traces')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('traces')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "SELECT current_setting('allowed_paths')",
    "SELECT system.main.current_setting('allowed_paths')",
    "SELECT 'allowed_paths'.current_setting()",
    "SELECT row_number() OVER w FROM turns WINDOW w AS (ORDER BY current_setting('threads'))",
    "SELECT pg_get_viewdef(1)",
    "SELECT * FROM turns LIMIT (SELECT count(*) FROM nowhere)",
    "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a",
    "WITH b AS (SELECT * FROM b) SELECT * FROM b",
    "WITH RECURSIVE b AS (SELECT * FROM b UNION ALL SELECT 1) SELECT * FROM b",
    "SELECT (WITH b AS (SELECT 1) SELECT * FROM b) FROM b",
    "PIVOT turns ON role",
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT " + "-" * 100_000,
]


@pytest.mark.parametrize("sql", REFUSED)
def test_everything_but_one_select_over_the_views_is_refused_in_one_line(
    unchanged: TraceStore, sql: str
) -> None:
    with pytest.raises(InvalidQuery, match=r"\A[^\n]+\Z") as caught:
        unchanged.select(sql)
    assert len(str(caught.value)) < 500
    assert not list(Path("/tmp").glob("tracedance-test*"))


def test_files_of_the_store_cannot_be_read_past_the_views(store: TraceStore) -> None:
    store.remove(["two"])
    for file in store.files():
        for form in ("SELECT * FROM '{}'", "SELECT * FROM read_parquet('{}')",
                     "SELECT * FROM read_blob('{}')", "SELECT * FROM parquet_metadata('{}')",
                     'WITH "{0}" AS (SELECT * FROM "{0}") SELECT * FROM "{0}"'):  # fmt: skip
            with pytest.raises(InvalidQuery, match=r"no table|is not allowed"):
                store.select(form.format(file.path))


def test_what_was_removed_is_not_brought_back(store: TraceStore) -> None:
    store.remove(["two"])
    for sql in (
        "WITH x AS (DELETE FROM dropped_rows RETURNING 1) SELECT trace_id FROM traces, x",
        "SELECT * FROM dropped_rows",
        "SELECT * FROM temp.dropped_rows",
    ):
        with pytest.raises(InvalidQuery, match=r"only SELECT|no table"):
            store.select(sql)
    sql = "WITH dropped_rows AS (SELECT 1 AS n) SELECT n, trace_id FROM dropped_rows, traces"
    assert store.select(sql).rows == ((1, "one"),)


ANSWERED = {
    "SELECT count(*) FROM Turns JOIN main.calls USING (trace_id, turn)": 1,
    "SELECT count(*) FROM memory.main.traces": 2,
    "SELECT count(*) FROM traces t, LATERAL (FROM calls c WHERE c.trace_id = t.trace_id)": 1,
    "WITH a AS (FROM turns), b AS (FROM a), c AS (SELECT 1) SELECT count(*) FROM b, c": 4,
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 9) FROM n ORDER BY -i": 9,
    "SELECT max(n) FROM (SELECT row_number() OVER w n FROM turns WINDOW w AS (ORDER BY turn))": 4,
    "SELECT list_sum(list_transform([1, 2], lambda x: x + 1))": 5,
    "SELECT list_sum([x * 2 for x in [1, 2]])": 6,
    "SELECT count(*) FROM (SELECT unnest(models) FROM traces)": 1,
    "SELECT count(*) FROM calls, json_each(arguments)": 1,
    "SELECT sum(i) FROM generate_series(1, 3) s(i)": 6,
    "SELECT count(*) FROM (VALUES (1), (2)) v(a)": 2,
    "SELECT count(*) FROM (FROM turns UNION ALL BY NAME FROM turns)": 8,
    "SELECT count(*) FROM (SELECT trace_id FROM turns EXCEPT SELECT trace_id FROM calls)": 1,
    "SELECT assistant FROM (PIVOT turns ON role IN ('assistant') USING max(turn) GROUP BY name)": 2,
    "SELECT count(*) FROM (UNPIVOT (SELECT turn, media FROM turns) ON turn, media)": 8,
    "SELECT count(*) FROM (DESCRIBE calls) WHERE column_name = 'ok'": 1,
    "SELECT (SELECT count(*) FROM features) -- ; a comment": 5,
    "SELECT count(*) FROM turns WHERE " + " OR ".join(["text = 'done'"] * 600): 1,
    "SELECT 7;": 7,
}  # fmt: skip


@pytest.mark.parametrize("sql", ANSWERED)
def test_whatever_asks_the_views_alone_is_answered(unchanged: TraceStore, sql: str) -> None:
    assert unchanged.select(sql).rows[0][0] == ANSWERED[sql]


def test_only_what_asks_the_view_features_needs_them() -> None:
    asks = [
        "SELECT * FROM Features",
        'SELECT 1 FROM main."features" f',
        "SELECT (SELECT count(*) FROM features)",
        "WITH x AS (FROM features) SELECT 1",
    ]
    does_not = [
        "SELECT * FROM turns WHERE text LIKE '%features%'",
        "SELECT features.text FROM turns AS features -- features",
        "WITH features AS (SELECT 1) SELECT * FROM features",
        "SELECT features",
        "features",
    ]
    assert [asks_features(sql) for sql in asks] == [True] * len(asks)
    assert [asks_features(sql) for sql in does_not] == [False] * len(does_not)


def test_the_views_that_may_be_asked_are_the_views_there_are() -> None:
    assert set(VIEW_NAMES) == set(VIEWS)


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
            "no table 'x'; the views are traces, turns, calls, features: 'SELECT * FROM x'",
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


def test_an_answer_with_too_many_bytes_is_an_error(store: TraceStore) -> None:
    sql = "SELECT repeat('x', 100000) FROM range({})"
    assert len(store.select(sql.format(9), answer_mb=1).rows) == 9
    for wide in (sql.format(1000), "SELECT {'a': [range(10000)]} FROM range(1000)"):
        with pytest.raises(InvalidQuery, match="an answer of more than 1 MB"):
            store.select(wide, answer_mb=1)


BOMBS: dict[str, dict[str, Any]] = {
    "SELECT list_sort(range(30000000))": {"timeout_s": 0.5},
    "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))": {"timeout_s": 0.5},
    "SELECT array_length(range(1000000000))": {},
    "SELECT md5(repeat('x', 4000000000))": {"timeout_s": 20, "memory_mb": 50, "answer_mb": 10},
}


@pytest.mark.parametrize("sql", BOMBS)
def test_a_process_of_its_own_is_killed_when_it_goes_beyond_its_limits(
    unchanged: TraceStore, sql: str
) -> None:
    started = time.monotonic()
    with pytest.raises(
        InvalidQuery, match=r"stopped after|Out of Memory|died|1073741824|too large"
    ):
        unchanged.select(sql, apart=True, **BOMBS[sql])
    assert time.monotonic() - started < 60


def test_a_process_of_its_own_answers_as_this_one_does(
    unchanged: TraceStore, tmp_path: Path
) -> None:
    for sql in ("SELECT * FROM turns ORDER BY turn", "SELECT range FROM range(25000)"):
        assert unchanged.select(sql, apart=True) == unchanged.select(sql)
    with pytest.raises(InvalidQuery, match="no table 'nowhere'"):
        unchanged.select("SELECT * FROM nowhere", apart=True)


def test_intervals_that_python_cannot_say_are_text(store: TraceStore) -> None:
    found = store.select(
        "SELECT 7 AS a, INTERVAL 178000000 MONTHS AS a, [INTERVAL 1 DAY] AS b -- ;"
    )
    assert found.columns == ("a", "a", "b")
    assert found.rows == ((7, "14833333 years 4 months", "[1 day]"),)


@pytest.mark.parametrize("ask", ["select", "summaries", "prune", "index", "features"])
@pytest.mark.parametrize("how", ["cut", "emptied", "middle", "gone"])
def test_a_damaged_file_is_named_whoever_reads_it(store: TraceStore, ask: str, how: str) -> None:
    kind = {"index": "turns", "features": "features"}.get(ask, "traces")
    path = next(file.path for file in store.files() if file.kind == kind)
    data = path.read_bytes()
    path.unlink()
    if how != "gone":
        middle = data[:4] + bytes(len(data) // 3) + data[4 + len(data) // 3 :]
        path.write_bytes({"cut": data[:-9], "emptied": b"", "middle": middle}[how])
    asked: dict[str, Callable[[], object]] = {
        "select": lambda: store.select("SELECT * FROM traces"),
        "features": lambda: store.select("SELECT * FROM features"),
        "summaries": store.summaries,
        "prune": lambda: store.prune(timedelta(days=1)),
        "index": lambda: store.index(force=True),
    }
    with pytest.raises(StoreError, match=rf"\A[^\n]*{path.name}[^\n]*\Z"):
        asked[ask]()


def test_a_query_that_fails_over_a_whole_store_is_a_wrong_query(store: TraceStore) -> None:
    for sql in ("SELECT regexp_matches(text, '(') FROM turns", "SELECT error('x') FROM turns"):
        with pytest.raises(InvalidQuery):
            store.select(sql)


def test_half_a_character_is_the_beginning_of_no_id(store: TraceStore) -> None:
    for wanted in ("\ud800", "one\udc80", "\0", ""):
        with pytest.raises(StoreError, match="no trace"):
            store.get(wanted)


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
