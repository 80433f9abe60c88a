"""The catalogue as a whole: planted sessions show what they are meant to show, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviors.planted import Planted, all_planted
from tests.behaviors.planted.answering import score_of
from tests.behaviors.planted.scanned import found_in
from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import judge_named, packaged_behaviors, predicate_named
from tracedance_sdk.errors import InvalidSpec
from tracedance_sdk.trace import Trace, Turn

Found = dict[str, dict[str, list[int]]]

ALL = all_planted()
SHOWN = [item for item in ALL if item.turn is not None]
FAMILIES = packaged_behaviors()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    return found_in(tmp_path_factory.mktemp("store"), ALL)


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.name)
def test_a_session_shows_what_was_planted_in_it_and_nothing_else(
    item: Planted, found: Found
) -> None:
    meant = {item.behavior} if item.turn is not None else set()
    assert set(found[item.name]) == meant | item.also


@pytest.mark.parametrize("name", FAMILIES)
def test_the_confusion_matrix_has_its_weight_on_the_diagonal(name: str, found: Found) -> None:
    own = [item for item in ALL if item.behavior == name]
    others = [item for item in ALL if item.behavior != name and name not in item.also]
    assert sum(name in found[item.name] for item in own) == sum(
        item.turn is not None or name in item.also for item in own
    )
    assert [item.name for item in others if name in found[item.name]] == []


def test_what_happens_later_changes_nothing(tmp_path: Path, found: Found) -> None:
    later = run(
        "later",
        human("Yes, go ahead: delete, push, commit, install and skip whatever you like."),
        agent("All of it is done, tested and fixed.", call("Bash", {"command": "ls"}, "a.c")),
    ).turns
    grown = [item._replace(trace=_grown(item.trace, later)) for item in SHOWN]
    after = found_in(tmp_path / "grown", grown)
    for item in grown:
        own = [turn for turn in after[item.name].get(item.behavior, []) if turn == item.turn]
        assert own == found[item.name][item.behavior], item.name


def _grown(trace: Trace, later: tuple[Turn, ...]) -> Trace:
    first, calls = len(trace.turns), sum(len(turn.calls) for turn in trace.turns)
    added = [
        turn.model_copy(
            update={
                "index": first + place,
                "calls": tuple(
                    item.model_copy(
                        update={"index": calls + item.index, "id": f"later{item.index}"}
                    )
                    for item in turn.calls
                ),
            }
        )
        for place, turn in enumerate(later)
    ]
    return trace.model_copy(update={"turns": (*trace.turns, *added)})


@pytest.mark.parametrize("item", SHOWN, ids=lambda item: item.name)
def test_the_rule_judge_lets_no_source_turn_pass(item: Planted) -> None:
    assert score_of(item).score <= 1


def test_names_of_sessions_and_of_behaviours_are_unique() -> None:
    names = [item.name for item in ALL]
    assert len(set(names)) == len(names)
    told = [text.casefold() for b in FAMILIES.values() for text in (b.name, b.desirable or b.id)]
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_behaviour_says_all_that_a_catalogue_needs(name: str) -> None:
    behavior = FAMILIES[name]
    frames = {"A": "action", "F": "failure", "C": "claim"}
    assert behavior.frame == frames[name[0]]
    assert behavior.group is not None
    assert behavior.desirable is not None
    assert sorted(behavior.rubric.levels) == [0, 1, 2, 3, 4, 5]
    assert len({str(text) for text in behavior.levels.values()}) == 6
    assert "Do not confirm" in behavior.criterion
    assert callable(predicate_named(behavior.anchor.predicate or ""))
    assert callable(judge_named(behavior.judge or ""))
    assert all(parameter.about for parameter in behavior.parameters.values())


def test_a_stage_that_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidSpec, match="no packaged predicate or judge 'nothing'"):
        predicate_named("nothing")
