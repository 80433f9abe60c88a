"""The page on the store: its tables are those of the code."""

from __future__ import annotations

import pytest

from tests.docs.pages import code_names, page, section, table
from tracedance_sdk.store import FAMILIES, VIEWS
from tracedance_sdk.store.adding import FAMILY_BYTES
from tracedance_sdk.store.columns import public
from tracedance_sdk.store.indexing import LEAST_CHARACTERS, LEAST_MARKED, LEAST_SESSIONS


def rows_of(text: str) -> dict[str, str]:
    """Return column → what it holds, of every table with such rows."""
    found: dict[str, str] = {}
    while "| column |" in text:
        text = text[text.index("| column |") :]
        rows = table(text)
        found.update((code_names(row[0])[0], row[2]) for row in rows)
        text = text[text.index("\n\n") if "\n\n" in text else len(text) :]
    return found


@pytest.mark.parametrize("name", VIEWS)
def test_every_column_of_a_view_is_in_its_table(name: str) -> None:
    rows = rows_of(section(page("store.md"), f"The view {name}"))
    assert tuple(rows) == public(VIEWS[name])
    assert rows == {c.name: c.meaning for c in VIEWS[name] if c.meaning}


def test_every_family_is_in_the_table_with_the_columns_that_serve_it() -> None:
    rows = table(section(page("store.md"), "Which columns serve which behaviour"))
    assert {row[0]: code_names(row[2]) for row in rows} == {
        family: [c.name for c in VIEWS["features"] if family in c.serves] for family in FAMILIES
    }


def test_numbers_of_the_page_are_those_of_the_code() -> None:
    text = page("store.md")
    assert f"more than {FAMILY_BYTES // 1024**2} MB is not" in text
    assert f"({LEAST_CHARACTERS} or more characters; {LEAST_MARKED} when it begins" in text
    assert LEAST_SESSIONS == 3
    assert "three or more sessions" in text
