"""The ladder on 200 real conversations: one trial's calls against another trial's recordings.

What the real environment answers is known for every call, so that each answer is right or wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.replay.swaps import PURE, Bed, Swapped, recorded_bed, swap
from tests.support.tables import AddRow
from tracedance_sdk.replay.answers import CandidateOrder, Ladder
from tracedance_sdk.replay.derivation import RuleBook
from tracedance_sdk.replay.recordings import Conversation, RecordingIndex, Shelf


@pytest.fixture(scope="module")
def bed() -> Bed:
    return recorded_bed()


def counted(found: list[Swapped]) -> dict[str, tuple[int, int]]:
    """Return by stamp how many answers there are, and how many of them are wrong."""
    total = Counter(item.answer.stamp for item in found)
    wrong = Counter(item.answer.stamp for item in found if not item.is_right)
    return {stamp: (number, wrong[stamp]) for stamp, number in sorted(total.items())}


def n_clean(bed: Bed, found: list[Swapped]) -> int:
    """Return how many pairs got an answer to every call."""
    failed = {item.pair for item in found if item.answer.stamp == "failed"}
    return 600 - len(failed)


def test_a_conversation_answers_itself(bed: Bed) -> None:
    found = [
        item
        for conversation in bed.recorded.conversations
        for item in replayed_alone(bed, conversation)
    ]
    assert counted(found) == {"same": (1164, 0)}
    assert not any(i.answer.stale or i.answer.write_history_differs for i in found)


def replayed_alone(bed: Bed, conversation: Conversation) -> Iterator[Swapped]:
    shelf = Shelf(bed.recorded, conversation.id, excluded_groups={conversation.group})
    session = Ladder(shelf=shelf, effect_of=bed.effect_of, pure=PURE).begin()
    for recording in conversation.recordings:
        answer = session.answer(recording.name, recording.arguments)
        truth = bed.truth[conversation.id][recording.place]
        pair = (conversation.id, conversation.id)
        yield Swapped(pair, recording.name, answer, answer.result.content == truth)


@pytest.mark.parametrize("order", ["file", "recent"])
def test_another_trial_against_the_recordings(bed: Bed, order: CandidateOrder) -> None:
    found = swap(bed, order=order)
    assert counted(found) == {
        "failed": (995, 995),
        "other": (183, 0),
        "pure": (526, 0),
        "same": (1788, 6),
    }
    assert n_clean(bed, found) == 191
    same = [item for item in found if item.answer.stamp == "same"]
    assert sum(item.answer.write_history_differs for item in same) == 203
    stale = [item for item in same if item.answer.stale]
    assert len(stale) == 23
    assert all(item.answer.stale for item in same if not item.is_right)
    assert {item.tool for item in same if not item.is_right} == {"book_reservation"}


def test_siblings_would_answer_more(bed: Bed) -> None:
    found = swap(bed, order="file", leave_out=False)
    assert counted(found) == {
        "failed": (636, 636),
        "other": (579, 2),
        "pure": (489, 0),
        "same": (1788, 6),
    }
    assert n_clean(bed, found) == 273


def test_rules_derive_what_was_never_recorded(bed: Bed, add_row: AddRow) -> None:
    found = swap(bed, order="file", derived=True)
    counts = counted(found)
    assert counts["derived"] == (182, 0)
    assert counts["failed"][0] == 995 - 182
    assert (counts["same"], counts["other"]) == ((1788, 6), (183, 0))
    assert n_clean(bed, found) == 335
    derived = [item for item in found if item.answer.stamp == "derived"]
    by_rule = Counter((item.tool, item.answer.rule) for item in derived)
    for (tool, rule), number in by_rule.items():
        wrong = sum(not i.is_right for i in derived if (i.tool, i.answer.rule) == (tool, rule))
        without = {item.pair for item in found if item.answer.stamp == "failed"}
        gained = {i.pair for i in derived if i.tool == tool} - without
        add_row(
            "derived answers of 995 missing",
            tool=tool,
            answers=number,
            wrong=wrong,
            pairs_clean=len(gained),
            rule=rule,
        )
    assert Counter(tool for tool, _ in by_rule.elements()) == {
        "transfer_to_human_agents": 144,
        "cancel_reservation": 38,
    }


def test_no_canary_of_a_forbidden_conversation_is_ever_told(bed: Bed) -> None:
    """Every answer of the other trials is replaced by a canary; none may come out."""
    marked = [
        conversation._replace(
            recordings=tuple(
                recording._replace(
                    result=recording.result.model_copy(
                        update={"content": f"CANARY {conversation.group}/"}
                    )
                )
                for recording in conversation.recordings
            )
        )
        for conversation in bed.recorded.conversations
    ]
    index = RecordingIndex(marked)
    book = RuleBook(index, bed.effect_of)
    told = 0
    for test in marked:
        shelf = Shelf(index, test.id, excluded_groups={test.group})
        groups = frozenset({test.group})
        ladder = Ladder(shelf=shelf, effect_of=bed.effect_of, rules=book, excluded_groups=groups)
        siblings = [c for c in marked if c.group == test.group and c.id != test.id]
        for sibling in siblings:
            session = ladder.begin()
            for recording in sibling.recordings:
                answer = session.answer(recording.name, recording.arguments)
                if answer.stamp == "other":
                    told += 1
                    assert f"CANARY {test.group}/" not in str(answer.result.content)
                assert answer.stamp != "derived" or "CANARY" not in str(answer.result.content)
    assert told > 150
