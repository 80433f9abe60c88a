"""The page on comparing: its rules, samples, verdicts and exit codes are those of the code."""

from __future__ import annotations

import re
from typing import get_args

from tests.docs.pages import code_names, page, section, table
from tracedance_sdk.cli.compare import _EXIT_CODES, compare_command
from tracedance_sdk.report.comparison import LineVerdict
from tracedance_sdk.report.comparison_pairs import RULES
from tracedance_sdk.report.comparison_statistics import Sample

PAGE = page("compare.md")


def test_the_rules_and_samples_are_those_of_the_code() -> None:
    assert [code_names(row[0])[0] for row in table(section(PAGE, "Pairs"))] == list(RULES)
    samples = [code_names(row[0])[0] for row in table(section(PAGE, "The sample"))]
    assert samples == list(get_args(Sample))


def test_every_verdict_is_explained() -> None:
    shown = [name for row in table(section(PAGE, "Verdicts")) for name in row[0].split(", ")]
    assert sorted(shown) == sorted(get_args(LineVerdict))


def test_the_exit_codes_are_those_of_the_help() -> None:
    rows = table(section(PAGE, "Verdicts").split("leaves it open.")[1])
    assert [(row[0], row[1]) for row in rows] == re.findall(r"(\d)  (.+)", _EXIT_CODES)


def test_the_options_it_names_are_there() -> None:
    options = {name for option in compare_command.params for name in option.opts}
    named = {name.split()[0] for name in code_names(PAGE) if name.startswith("--")}
    assert named - {"--out"} <= options
    assert {name for name in options if name.startswith("--")} <= named
