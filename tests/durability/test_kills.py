"""SIGKILL at any time: no call that came back is lost, and one that did not is interrupted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.durability.kill_loop import Tally, kill_row
from tests.durability.killed_programs import KINDS
from tests.durability.mutants import MUTANTS
from tests.support.tables import AddRow

PROJECT = Path(__file__).parents[2]

KILLS_OF_A_KIND = {"forks": 40, "threads": 20, "asyncio": 20, "both": 20}
"""Always; some 100 in all."""

MANY_KILLS = 255
"""Of each kind in the long run; more than 1,000 in all."""

SEEN_BY = {
    "start after the body": "its body began, its start is not on record",
    "end after the return": "came back, on record as not finished",
    "records in a buffer": "came back, not on record|calls began, but: no journal",
    "run start after the first call": "a call is on record before the start of the run",
    "result of another call": "on record with another result",
}
"""Mutant → a pattern of what the check says of it."""


def killed(kind: str, kills: int, *options: str) -> Tally:
    """Run the loop in a process of its own, which has no threads when it forks."""
    arguments = ["--kind", kind, "--kills", str(kills), "--json", *options]
    run = subprocess.run(
        [sys.executable, "-m", "tests.durability.kill_loop", *arguments],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.startswith("["), run.stderr
    assert run.stderr == ""
    (tally,) = json.loads(run.stdout)
    return Tally(**tally)


def assert_nothing_lost(tally: Tally, *, kills: int) -> None:
    assert tally.problems == []
    assert (tally.n_problems, tally.lost) == (0, 0)
    assert tally.kills == kills
    assert tally.finished >= kills, "calls must have come back for any to be lost"
    assert tally.inside >= 0.2 * kills, "kills between calls alone prove little"


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_loses_no_finished_call(kind: str, add_row: AddRow) -> None:
    kills = KILLS_OF_A_KIND[kind]
    tally = killed(kind, kills)

    add_row("kills", **kill_row(tally))
    assert_nothing_lost(tally, kills=kills)


@pytest.mark.durability
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_kills_lose_no_finished_call(kind: str, add_row: AddRow) -> None:
    tally = killed(kind, MANY_KILLS, "--seed", "1")

    add_row("kills", **kill_row(tally._replace(kind=f"{kind}, many")))
    assert_nothing_lost(tally, kills=MANY_KILLS)


@pytest.mark.durability
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["both", "forks"])
def test_a_kill_loses_no_call_that_was_synced_to_the_disk(kind: str, add_row: AddRow) -> None:
    tally = killed(kind, 50, "--durability", "fsync", "--seed", "2")

    add_row("kills", **kill_row(tally))
    assert_nothing_lost(tally, kills=50)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_recorder_that_breaks_a_promise_is_caught(mutant: str, add_row: AddRow) -> None:
    tally = killed("both", 12, "--mutant", mutant)

    add_row(
        "recorders that break a promise",
        mutant=mutant,
        kills=tally.kills,
        problems=tally.n_problems,
        seen=SEEN_BY[mutant].partition("|")[0],
    )
    assert any(re.search(SEEN_BY[mutant], problem) for problem in tally.problems), tally
