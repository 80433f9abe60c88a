"""What `tracedance sql` writes: any type, and nothing that a terminal obeys."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.cli.conftest import Tracedance
from tests.store.stored import run
from tracedance_sdk.cli.query_output import csv_line, json_text, plain
from tracedance_sdk.errors import InvalidQuery
from tracedance_sdk.store import TraceStore

NASTY = "\x1b[31mred\x07 a\rb \x00 \x9b \u2028 \u202e \U000e0041"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TraceStore.create("kept").add([run("one")])
    return Path("kept")


def every_type() -> Iterator[Any]:
    """Yield columns with each type of DuckDB at its ends."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        cursor = connection.execute("SELECT * FROM test_all_types()")
        names = [item[0] for item in cursor.description]
        for name, *values in zip(names, *cursor.fetchall(), strict=True):
            yield pytest.param(values, id=name)


@pytest.mark.parametrize("values", list(every_type()))
def test_every_type_of_duckdb_becomes_json(values: list[Any]) -> None:
    for value in values:
        made = plain(value)
        assert json.loads(json_text(made), parse_constant=pytest.fail) == made
        assert (made is None) == (value is None)


def test_values_that_json_has_no_word_for_are_text(kept: Path, tracedance: Tracedance) -> None:
    query = (
        "SELECT map([1, 2], ['a', 'b']) AS m, map([[1]], [2]) AS k, 170141183460469231731::HUGEINT "
        "AS h, 9::HUGEINT AS s, INTERVAL 178000000 MONTHS AS i, 1.50::DECIMAL(4, 2) AS d, "
        "'NaN'::DOUBLE AS n, TIMESTAMPTZ '2026-01-02 03:04:05+00' AS t, {'x': [DATE '2026-01-02']} "
        "AS r, 'ab'::BLOB AS b, TRUE AS f, NULL AS z, histogram(turn) AS g FROM turns"
    )
    ran = tracedance("sql", kept, query, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == snapshot(
        {
            "m": {"1": "a", "2": "b"},
            "k": {"key": [[1]], "value": [2]},
            "h": "170141183460469231731",
            "s": 9,
            "i": "14833333 years 4 months",
            "d": "1.50",
            "n": "nan",
            "t": "2026-01-02T03:04:05+00:00",
            "r": {"x": ["2026-01-02"]},
            "b": "6162",
            "f": True,
            "z": None,
            "g": {"0": 1},
        }
    )
    for form in ("--csv", None):
        ran = tracedance("sql", kept, query, *([form] if form else []))
        assert (ran.code, ran.err) == (0, "")


def test_a_value_that_is_too_deep_is_refused_in_a_line(kept: Path, tracedance: Tracedance) -> None:
    query = f"SELECT {'[' * 150}1{']' * 150} AS deep"
    for form in ((), ("--json",), ("--csv",)):
        ran = tracedance("sql", kept, query, *form)
        assert ran.code == 2
        assert ran.err.count("\n") == 1
    nested: list[Any] = []
    for _ in range(200):
        nested = [nested]
    with pytest.raises(InvalidQuery, match="more than 100 deep"):
        plain(nested)


def nasty_query() -> str:
    text = " || ".join(f"chr({ord(char)})" for char in NASTY)
    return f'SELECT {text} AS "col\x1b[2J\u202e"'


def test_data_goes_to_a_pipe_as_it_is_and_json_escapes_it(
    kept: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("sql", kept, nasty_query(), "--csv")
    assert list(csv.reader(io.StringIO(ran.out, newline=""))) == [["col\x1b[2J\u202e"], [NASTY]]
    ran = tracedance("sql", kept, nasty_query(), "--json")
    assert json.loads(ran.out) == {"col\x1b[2J\u202e": NASTY}
    assert ran.out.rstrip("\n").isprintable()
    ran = tracedance("sql", kept, nasty_query())
    assert all(line.isprintable() for line in ran.out.splitlines())
    assert "col\\x1b[2J" in ran.out


def test_nothing_that_a_terminal_obeys_reaches_it(
    kept: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for form in ((), ("--json",), ("--csv",)):
        ran = tracedance("sql", kept, nasty_query(), *form)
        assert ran.code == 0
        shown = ran.out.replace("\x1b[0m", "").replace("\x1b[1m", "")
        assert all(line.isprintable() for line in shown.split("\n"))
        assert "x1b[2J" in shown or "u001b[2J" in shown


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=1, max_size=4))
def test_csv_reads_back_what_was_written(cells: list[str]) -> None:
    assert list(csv.reader(io.StringIO(csv_line(cells) + "\n", newline=""))) == [cells]


LEAVES = (
    st.none() | st.booleans() | st.text() | st.floats() | st.integers() | st.decimals()
    | st.binary() | st.timedeltas() | st.uuids() | st.datetimes() | st.times()
)  # fmt: skip


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.integers(), inner)))
def test_whatever_a_row_holds_is_one_printable_line_of_json(value: Any) -> None:
    text = json_text(plain(value))
    assert text.isprintable()
    assert json.loads(text) == plain(value)


def test_decimals_keep_their_digits() -> None:
    assert plain(Decimal("1.500")) == "1.500"
