"""The ladder on 200 real conversations: one trial's calls against another trial's recordings.

What the real environment answers is known for every call, so that each answer is right or wrong.
"""

from __future__ import annotations

import ast
import gzip
import json
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, Final, NamedTuple

import pytest

from tests.support.shared_data import shared_data
from tests.support.tables import AddRow
from tracedance_sdk.formats import collect_paths, complete_tools, tool_table
from tracedance_sdk.replay.answers import Answer, CandidateOrder, Ladder
from tracedance_sdk.replay.derivation import RuleBook
from tracedance_sdk.replay.recordings import (
    Conversation,
    RecordingIndex,
    Shelf,
    conversation_of,
)
from tracedance_sdk.trace import Effect, Trace

OPERATORS: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def calculate(expression: str) -> str:
    """Compute what the airline's calculator does."""
    return str(round(float(_value(ast.parse(expression, mode="eval").body)), 2))


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.BinOp):
        return float(OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand)
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, (int, float))
    return float(node.value)


PURE: Final[dict[str, Callable[..., str]]] = {"calculate": calculate, "think": lambda thought: ""}


class Bed(NamedTuple):
    """The recordings, and what the real environment answers to each call of each conversation."""

    recorded: RecordingIndex
    effects: dict[str, Effect]
    truth: dict[str, list[str]]
    book: RuleBook

    def effect_of(self, name: str) -> Effect:
        return self.effects.get(name, "unknown")


class Swapped(NamedTuple):
    """One answer in the place of another trial's."""

    pair: tuple[str, str]
    tool: str
    answer: Answer
    is_right: bool


@pytest.fixture(scope="module")
def bed() -> Bed:
    file = shared_data("tau-bench") / "historical_trajectories" / "gpt-4o-airline.json.gz"
    traces = [item.trace for item in collect_paths([file]) if item.trace is not None]
    effects = {tool.name: tool.effect for trace in traces for tool in tools_of(trace)}
    conversations = [conversation_of(t, lambda name: effects.get(name, "unknown")) for t in traces]
    index = RecordingIndex(conversations)
    data = gzip.decompress((shared_data("tau-bench-oracle") / "airline.jsonl.gz").read_bytes())
    lines = [json.loads(line) for line in data.splitlines()]
    truth = {
        trace.id: [call["answer"] for call in line["calls"]]
        for trace, line in zip(traces, lines, strict=True)
    }
    return Bed(index, effects, truth, RuleBook(index, lambda n: effects.get(n, "unknown")))


def tools_of(trace: Trace) -> Any:
    return complete_tools(trace, table=tool_table(), limit="inferred").tools


def replayed(bed: Bed, test: Conversation, agent: Conversation, **how: Any) -> Iterator[Swapped]:
    """Yield what the recordings of a test answer to the calls of another conversation."""
    leave_out = how.pop("leave_out", True)
    groups = {test.group} if leave_out else set[str]()
    # The trial whose calls are made is what the test is to find out: it is never read.
    shelf = Shelf(bed.recorded, test.id, excluded_groups=groups, excluded_ids={agent.id})
    rules = bed.book if how.pop("derived", False) else None
    ladder = Ladder(
        shelf=shelf,
        effect_of=bed.effect_of,
        pure=PURE,
        rules=rules,
        excluded_groups=frozenset(groups),
        excluded_ids=frozenset({agent.id}),
        **how,
    )
    session = ladder.begin()
    for recording in agent.recordings:
        answer = session.answer(recording.name, recording.arguments)
        truth = bed.truth[agent.id][recording.place]
        is_right = answer.result.content == truth
        yield Swapped((test.id, agent.id), recording.name, answer, is_right)


def swap(bed: Bed, **how: Any) -> list[Swapped]:
    """Return the answers of all 600 ordered pairs of trials of one task."""
    found: list[Swapped] = []
    groups: dict[str, list[Conversation]] = {}
    for conversation in bed.recorded.conversations:
        groups.setdefault(conversation.group, []).append(conversation)
    for members in groups.values():
        for test, agent in permutations(members, 2):
            found += replayed(bed, test, agent, **how)
    return found


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
