"""Reflexion's own logs: trials without steps, and the text of agents with them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tracedance_collectors.reflexion import collector

from tests.counters.reflexion import count
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.trace import Trace


def results() -> list[Path]:
    return sorted(shared_data("reflexion").rglob("*.json"))


def texts() -> list[Path]:
    return sorted(shared_data("reflexion").rglob("*.txt.gz"))


@pytest.fixture(scope="module")
def trials() -> list[Trace]:
    return imported(results(), collector)


@pytest.fixture(scope="module")
def answers() -> list[Trace]:
    return imported(texts(), collector)


def test_every_trial_agrees_with_an_independent_count() -> None:
    assert (len(results()), len(texts())) == (22, 4)
    assert differences([*results(), *texts()], collector, count) == []


def test_trials_without_steps_say_so(trials: list[Trace]) -> None:
    assert len({trace.id for trace in trials}) == len(trials) == 22 * 134
    assert {trace.fidelity.fit_for for trace in trials} == {()}
    assert all(trace.fidelity.count("content_off") for trace in trials)


def test_more_environments_are_solved_from_trial_to_trial(trials: list[Trace]) -> None:
    solved = Counter(
        trace.metadata["trial"]
        for trace in trials
        if trace.session_id
        and trace.session_id.startswith("reflexion_run_logs")
        and trace.outcome
        and trace.outcome.success
    )
    assert solved == snapshot(
        Counter(
            {
                0: 84,
                1: 103,
                10: 130,
                11: 130,
                12: 131,
                13: 133,
                14: 134,
                2: 111,
                3: 113,
                4: 117,
                5: 118,
                6: 123,
                7: 126,
                8: 128,
                9: 129,
            }
        )
    )


def test_trials_of_an_environment_are_one_session(trials: list[Trace]) -> None:
    lengths = Counter(Counter(trace.session_id for trace in trials).values())
    assert lengths == {7: 134, 15: 134}


def test_summaries_of_the_log_agree_with_its_outcomes(answers: list[Trace]) -> None:
    found = Counter(
        (trace.metadata["trial"], trace.outcome.details["section"])
        for trace in answers
        if trace.outcome and trace.session_id and trace.session_id.startswith("reflexion/100")
    )
    assert found == snapshot(
        Counter(
            {
                (1, "CORRECT"): 32,
                (1, "INCORRECT"): 51,
                (1, "HALTED"): 17,
                (2, "CORRECT"): 42,
                (2, "INCORRECT"): 43,
                (2, "HALTED"): 14,
                (3, "CORRECT"): 48,
                (3, "INCORRECT"): 41,
                (3, "HALTED"): 11,
                (4, "CORRECT"): 50,
                (4, "INCORRECT"): 39,
                (4, "HALTED"): 11,
                (5, "CORRECT"): 51,
                (5, "INCORRECT"): 35,
                (5, "HALTED"): 13,
            }
        )
    )


def test_reflections_are_memory_and_a_turn_of_the_harness(answers: list[Trace]) -> None:
    with_memory = [trace for trace in answers if "memory" in trace.metadata]
    assert len(with_memory) == 266 + 6
    for trace in with_memory:
        assert trace.turns[1].origin == "harness"
        for reflection in trace.metadata["memory"]:
            assert reflection in trace.turns[1].text


def test_an_agent_that_was_right_is_printed_again(answers: list[Trace]) -> None:
    again = Counter(
        trace.outcome.details["section"]
        for trace in answers
        if trace.outcome and "same_as_trial" in trace.metadata
    )
    assert again == snapshot(Counter({"CORRECT": 308, "INCORRECT": 197, "HALTED": 33}))


def test_actions_are_calls_with_one_argument(answers: list[Trace]) -> None:
    names = Counter(call.name for trace in answers for call in trace.calls)
    assert names == snapshot(Counter({"Search": 2910, "Finish": 991, "Lookup": 203, "Compare": 1}))
    assert {tuple(call.arguments) for t in answers for call in t.calls} == {("argument",)}


def test_an_agent_printed_under_two_headings_is_one_run(answers: list[Trace]) -> None:
    twice = [trace.metadata["sections"] for trace in answers if "sections" in trace.metadata]
    assert twice == [["INCORRECT", "HALTED"]] * 14
    base = Counter(
        trace.metadata["trial"]
        for trace in answers
        if trace.session_id and trace.session_id.startswith("base/100")
    )
    assert set(base.values()) == {100}
