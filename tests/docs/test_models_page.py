"""The tables of the page on models say what the code says."""

from __future__ import annotations

from tests.docs.pages import code_names, page, section, table
from tracedance_sdk.llm import MISSING, OUTPUT_CAP, PROVIDERS


def test_the_page_lists_every_reason_why_a_reply_is_missing() -> None:
    rows = table(section(page("models.md"), "When a reply is missing"))
    assert {code_names(row[0])[0]: row[1] for row in rows} == MISSING


def test_the_page_lists_every_provider_with_its_variables() -> None:
    rows = table(section(page("models.md"), "Names"))
    told = {code_names(row[0])[0]: (code_names(row[2])[0], code_names(row[3])[0]) for row in rows}
    assert told == {name: (one.key, one.address) for name, one in PROVIDERS.items()}


def test_the_page_gives_the_cap_on_a_reply() -> None:
    assert f"{OUTPUT_CAP:,}" in section(page("models.md"), "Streams")
