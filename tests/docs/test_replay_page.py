"""The page on rebuilt tests: its tables, options and exit codes are those of the code."""

from __future__ import annotations

import re

from tests.docs.pages import code_names, page, section, table
from tracedance_sdk.cli import rebuild, replay
from tracedance_sdk.replay import DOUBTS, END_WORDS, ENDS, MISSES, PERSONA_RULES, STAMPS
from tracedance_sdk.replay.running import PROPER_ENDS, RunLimits
from tracedance_sdk.replay.running.messages import MOST_CALLS
from tracedance_sdk.replay.running.suite_run import RETRIES

PAGE = page("replay.md")


def tables(text: str) -> list[dict[str, str]]:
    """Return the tables whose first cell is a name, as name to meaning."""
    found = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [
        {code_names(row[0])[0]: row[1] for row in table(rows) if "`" in row[0]} for rows in found
    ]


def test_stamps_misses_doubts_and_ends_are_those_of_the_code() -> None:
    shown = [*tables(section(PAGE, "Answers")), *tables(section(PAGE, "What a verdict rests on"))]
    of_the_code = [dict(found) for found in (STAMPS, MISSES, DOUBTS, ENDS)]
    assert [list(names.items()) for names in shown] == [list(n.items()) for n in of_the_code]
    assert set(list(ENDS)[:2]) == PROPER_ENDS
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert dict(rows) == END_WORDS


def test_the_exit_codes_are_those_of_the_help() -> None:
    made, ran = section(PAGE, "Trials and the result set").split("And `replay`:")
    for text, verb in ((made, rebuild), (ran, replay)):
        codes = re.findall(r"(\d)  (.+)", verb._EXIT_CODES)
        assert [(row[0], row[1]) for row in table(text)] == codes


def test_the_options_it_names_are_there() -> None:
    commands = (rebuild.rebuild_command, replay.replay_command)
    options = {name for command in commands for item in command.params for name in item.opts}
    named = {name.split()[0] for name in code_names(PAGE) if name.startswith("--")}
    used = set(re.findall(r"(?<= )--[a-z][a-z-]+", PAGE))
    assert named | used <= options
    own = {"--agent", "--customer", "--grader", "--judge", "--simulator", "--allow", "--nearest"}
    assert own | {"--trials", "--min-fidelity", "--pure", "--effect", "--rule"} <= named


def test_every_rule_of_memory_is_explained() -> None:
    assert set(PERSONA_RULES) <= set(code_names(section(PAGE, "Customers")))


def test_the_limits_are_those_of_the_code() -> None:
    limits = RunLimits()
    text = " ".join(section(PAGE, "What a verdict rests on").split())
    assert f"`--max-turns` ({limits.max_turns})" in text
    assert f"`--run-timeout` ({limits.timeout_s:g} seconds)" in text
    assert f"{limits.max_calls} calls" in text
    assert limits.same_calls == 5
    assert RETRIES == 2
    assert f"ask for {MOST_CALLS} calls" in PAGE
