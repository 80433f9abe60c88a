"""The page on faithfulness: its points, rules, exit codes and options are those of the code."""

from __future__ import annotations

import re

from tests.docs.pages import code_names, page, section, table
from tracedance_sdk.cli.faithfulness import _EXIT_CODES, faithfulness_command
from tracedance_sdk.replay.faithfulness.points import INPUTS, RULES, TITLES
from tracedance_sdk.replay.faithfulness.truth import RealAnswer

PAGE = page("faithfulness.md")


def test_the_nine_points_and_their_rules_are_those_of_the_code() -> None:
    shown = [tuple(row) for row in table(section(PAGE, "The nine points"))]
    assert shown == [(str(n), TITLES[n], RULES[n]) for n in sorted(TITLES)]


def test_the_exit_codes_are_those_of_the_help() -> None:
    rows = table(PAGE.split("a cause is not proven by it.")[1])
    assert [(row[0], row[1]) for row in rows] == re.findall(r"(\d)  (.+)", _EXIT_CODES)


def test_the_options_it_names_and_the_inputs_ask_for_are_there() -> None:
    options = {name for option in faithfulness_command.params for name in option.opts}
    named = {name.split()[0] for name in code_names(PAGE) if name.startswith("--")}
    asked = {name for text in INPUTS.values() for name in re.findall(r"--[a-z-]+", text)}
    assert named | asked <= options


def test_the_fields_of_a_truth_are_those_of_the_code() -> None:
    rows = table(section(PAGE, "What the real system answers"))
    fields = [name.removeprefix("calls[].") for row in rows for name in code_names(row[0])]
    assert set(RealAnswer.model_fields) <= set(fields)
