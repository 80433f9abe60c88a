"""The page on reports: its options, bounds and exit codes are those of the code."""

from __future__ import annotations

import re

from tests.docs.pages import code_names, page, section, table
from tracedance_sdk.cli.report import _EXIT_CODES, report_command
from tracedance_sdk.report import PageBounds

PAGE = page("report.md")


def test_the_options_are_those_of_the_verb() -> None:
    told = {code_names(row[0])[0].split()[0] for row in table(PAGE)}
    assert told == {name for option in report_command.params for name in option.opts} - {"results"}


def test_the_bounds_are_those_of_the_code() -> None:
    bounds = PageBounds()
    told = [int(row[1].replace(",", "")) for row in table(section(PAGE, "How much it holds"))]
    assert told == [
        *(bounds.details, bounds.characters, bounds.all_characters, bounds.in_list),
        *(bounds.listed, bounds.lines, bounds.turns, bounds.calls, bounds.related),
    ]


def test_the_exit_codes_are_those_of_the_help() -> None:
    told = re.findall(r"(\d) (?:written|wrong use)", PAGE)
    assert told == re.findall(r"^  (\d) ", _EXIT_CODES, re.MULTILINE)
