"""The page on next turns: its tables are those of the code."""

from __future__ import annotations

import re

from tests.docs.pages import code_names, page, section, table
from tracedance_sdk.cli.next_turn import _EXIT_CODES
from tracedance_sdk.llm import MISSING, PROVIDERS


def test_the_kinds_of_missing_replies_are_those_of_the_code() -> None:
    rows = table(section(page("next_turn.md"), "Replies"))
    assert {code_names(row[0])[0]: row[1] for row in rows} == MISSING


def test_the_providers_are_those_of_the_code() -> None:
    rows = table(section(page("next_turn.md"), "Models"))
    named = {code_names(row[0])[0].partition(":")[0] for row in rows}
    assert named - {"PROVIDER", "recorded"} == set(PROVIDERS)


def test_the_exit_codes_are_those_of_the_help() -> None:
    rows = table(section(page("next_turn.md"), "The result set"))
    assert [(row[0], row[1]) for row in rows] == re.findall(r"(\d)  (.+)", _EXIT_CODES)
