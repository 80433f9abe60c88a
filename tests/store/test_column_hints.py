"""A query that names a column that is not there is told which are, those of a like name first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.stored import run
from tracedance_sdk.errors import InvalidQuery
from tracedance_sdk.store import VIEWS, TraceStore
from tracedance_sdk.store.column_hints import unknown_column
from tracedance_sdk.store.columns import public


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    made = TraceStore.create(tmp_path_factory.mktemp("hints") / "store")
    made.add([run("one")])
    made.index()
    return made


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT agnt FROM traces", "no column 'agnt': perhaps agent; traces has trace_id, "),
        ('SELECT "AGENTS" FROM traces', "no column 'AGENTS': perhaps agent or agent_version; "),
        ("SELECT t.nme FROM turns t", "no column 'nme': perhaps name; turns has trace_id, "),
        ("SELECT zzz FROM turns", "no column 'zzz'; turns has trace_id, session_id, turn, role, "),
        ('SELECT "a""b" FROM turns', "no column 'a\"b'; turns has trace_id, "),
        ("SELECT traces.zzz FROM traces JOIN turns USING (trace_id)", "'zzz'; traces has trace_id"),
        ("SELECT zzz FROM traces JOIN calls USING (trace_id)", "; calls has trace_id, "),
        ("SELECT zzz FROM features", " in all) (what they hold: docs/store.md): 'SELECT zzz FROM"),
    ],
)
def test_a_column_that_is_not_there_names_those_that_are(
    sql: str, told: str, store: TraceStore
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        store.select(sql)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 600


def test_all_columns_of_a_small_view_are_named() -> None:
    turns = public(VIEWS["turns"])
    told = unknown_column('Referenced column "x" not found', ["turns"], {"turns": turns})
    assert told == f"no column 'x'; turns has {', '.join(turns)} (what they hold: docs/store.md)"


def test_other_messages_stay_as_they_are(store: TraceStore) -> None:
    with pytest.raises(InvalidQuery, match=r'^Binder Error: Referenced column "x" not found'):
        store.select("SELECT x FROM (SELECT 1 AS y)")
    with pytest.raises(InvalidQuery, match=r"^Conversion Error: "):
        store.select("SELECT trace_id::INT FROM traces")
    assert Path(__file__).parents[2].joinpath("docs/store.md").is_file()
