"""200 real conversations: one trial's calls against another trial's recordings.

What the real environment answers is known for every call, so that each answer is right or wrong.
"""

from __future__ import annotations

import ast
import gzip
import json
import operator
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, Final, NamedTuple

from tests.support.shared_data import shared_data
from tracedance_sdk.formats import collect_paths, complete_tools, tool_table
from tracedance_sdk.replay.answers import Answer, Ladder
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


def recorded_traces() -> list[Trace]:
    """Return the 200 conversations as traces."""
    file = shared_data("tau-bench") / "historical_trajectories" / "gpt-4o-airline.json.gz"
    return [item.trace for item in collect_paths([file]) if item.trace is not None]


def oracle_lines() -> list[dict[str, Any]]:
    """Return what the real environment says of each conversation, in the same order."""
    data = gzip.decompress((shared_data("tau-bench-oracle") / "airline.jsonl.gz").read_bytes())
    return [json.loads(line) for line in data.splitlines()]


def recorded_bed() -> Bed:
    """Return the 200 conversations, or skip where they are absent."""
    traces = recorded_traces()
    effects = {tool.name: tool.effect for trace in traces for tool in tools_of(trace)}
    conversations = [conversation_of(t, lambda name: effects.get(name, "unknown")) for t in traces]
    index = RecordingIndex(conversations)
    lines = oracle_lines()
    truth = {
        trace.id: [call["answer"] for call in line["calls"]]
        for trace, line in zip(traces, lines, strict=True)
    }
    return Bed(index, effects, truth, RuleBook(index, lambda n: effects.get(n, "unknown")))


def tools_of(trace: Trace) -> Any:
    """Return the tools of a trace with what is known of them."""
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
