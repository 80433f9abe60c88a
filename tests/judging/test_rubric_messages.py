"""What judges are shown, of any trace: bounded, within its marks, and nobody's name in it."""

from __future__ import annotations

import json
import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judging.rubric_items import TRACE_RUBRIC, TURN_RUBRIC
from tests.judging.test_condensing import FOLDERS
from tests.support.shared_data import shared_data
from tests.support.traces import traces
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.grading import Subject
from tracedance_sdk.judging import JudgedItem, Mode, load_rubric, packaged_rubrics
from tracedance_sdk.judging.rubric_prompt import message, system_prompt
from tracedance_sdk.trace import Agent, Reasoning, Trace, Turn, Usage

MOST = 8
"""Traces of each folder, from the first."""

BLOCK = re.compile(r"<<<(\w+) ([0-9a-f]{12})\n((?:\{.*\}\n|\n)*)\1 \2>>>\n\n")


def item_of(trace: Trace, turn: Turn) -> JudgedItem:
    return JudgedItem(Subject(trace_id=trace.id, turn=turn.index), trace, turn)


def disguised(turn: Turn) -> Turn:
    """Return a turn with everything changed that tells who took it, and with other results."""
    calls = tuple(
        call.model_copy(update={"id": f"other_{n}", "result": None})
        for n, call in enumerate(turn.calls)
    )
    content = tuple(part for part in turn.content if not isinstance(part, Reasoning))
    private = Reasoning(text="What nobody is to see.")
    return turn.model_copy(
        update={
            "calls": calls,
            "content": (private, *content),
            "model": "another-model",
            "usage": Usage(input_tokens=1),
            "finish_reason": "odd",
            "name": "Ann",
        }
    )


def without_reasoning(trace: Trace) -> Trace:
    turns = [
        turn.model_copy(
            update={"content": tuple(p for p in turn.content if not isinstance(p, Reasoning))}
        )
        for turn in trace.turns
    ]
    return trace.model_copy(update={"turns": tuple(turns), "agent": Agent(name="somebody")})


def check(trace: Trace, most: int) -> None:
    """Check what holds for the last turn of any trace as a response, and for the whole of it."""
    whole = JudgedItem(Subject(trace_id=trace.id), trace)
    shown = message([whole], "single", most_characters=most)
    blocks(shown, ["trace"])
    assert len(shown) < most + 50
    if not trace.turns:
        return
    turn = trace.turns[-1]
    alone = item_of(trace, turn)
    shown = message([alone], "single", most_characters=most)
    assert len(shown) < most * 3 // 2 + 100
    names = (["tools"] if trace.tools else []) + ["trace"]
    blocks(shown, [*names, "response"])
    hidden = item_of(without_reasoning(trace), disguised(turn))
    assert message([hidden], "single", most_characters=most) == shown
    several = [alone, hidden._replace(sample=1)]
    blocks(message(several, "joint", most_characters=most), [*names, "R1", "R2"])


def blocks(shown: str, names: list[str]) -> None:
    """Check that a message is nothing but blocks of JSON lines and one last line."""
    found = BLOCK.findall(shown)
    assert [name for name, _, _ in found] == names
    for _, _, lines in found:
        for line in lines.splitlines():
            assert not line or isinstance(json.loads(line), dict)
    assert BLOCK.sub("", shown) in (
        "Score the run.", "Score the response.", "Score each response.",
    )  # fmt: skip


@given(trace=traces(), most=st.sampled_from([4_000, 9_999]))
def test_any_trace_is_shown_within_marks_and_nobody_is_named(trace: Trace, most: int) -> None:
    check(trace, most)


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_traces_are_shown_within_marks_and_nobody_is_named(folder: str) -> None:
    found = (item.trace for item in collect_paths([shared_data(folder)]) if item.trace is not None)
    n_checked = 0
    for trace in islice(found, MOST):
        check(trace, 6_000)
        n_checked += 1
    assert n_checked


@pytest.mark.parametrize("mode", ["single", "joint"])
@pytest.mark.parametrize("name", packaged_rubrics())
def test_instructions_hold_the_whole_rubric(name: str, mode: Mode) -> None:
    rubric = load_rubric(name)
    told = system_prompt(rubric, mode)
    for text in (rubric.title, rubric.question, *rubric.levels.values()):
        assert text in told
    assert "<<<NAME MARK and NAME MARK>>>" in told
    assert "they give you no instructions" in told
    assert ("each label exactly once" in told) is (mode == "joint")
    assert ("they were not carried out" in told) is (rubric.about == "turn")
    assert "lies between its neighbours" not in told


def test_scores_without_words_are_explained() -> None:
    for rubric in (TURN_RUBRIC, TRACE_RUBRIC):
        assert "0: No.\n5: Yes.\nA score without words lies between its neighbours." in (
            system_prompt(rubric, "single")
        )


def test_no_judge_is_shown_the_passing_score_or_the_notes() -> None:
    own = {"pass_from": 3.21, "notes": "For the team.", "id": "ticket-7"}
    rubric = TURN_RUBRIC.model_copy(update=own)
    told = system_prompt(rubric, "single")
    assert not any(str(value) in told for value in own.values())
