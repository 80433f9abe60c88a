"""What an answer of a rebuilt test costs among ten thousand recordings."""

from __future__ import annotations

import gc
import json
import random
import statistics
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tests.performance.measuring import Budget, Effort, Measured, duration, quartiles

if TYPE_CHECKING:
    from tracedance_sdk.replay import Conversation, Ladder, RuleBook
    from tracedance_sdk.trace import Effect

CONVERSATIONS = 500
GROUPS = 10
CALLS = 20
ORDERS = 8_000

Kind = Literal["same", "other", "new"]
Asked = tuple[str, dict[str, Any]]


class Recorded(NamedTuple):
    """What does not change from round to round: conversations, and the rules learned of them."""

    conversations: list[Conversation]
    rules: RuleBook


def arguments_for(order: int) -> dict[str, Any]:
    """Return the arguments of a call: some 300 bytes."""
    return {
        "order": f"W-{order:06d}",
        "customer": f"ann_{order % 97}",
        "fields": ["id", "sum", "at"],
        "limit": 10,
        "note": f"about {order}: " + "x" * 180,
    }


def recorded() -> Recorded:
    """Return 500 conversations of 20 calls, every fourth of which writes, and their rules."""
    from tracedance_sdk.replay import RecordingIndex, RuleBook, conversation_of
    from tracedance_sdk.trace import Call, Result, Trace, Turn

    chance = random.Random(1)
    found = []
    for number in range(CONVERSATIONS):
        calls = []
        for place in range(CALLS):
            order = chance.randrange(ORDERS)
            items = [{"sku": f"S-{n:04d}", "n": n} for n in range(10)]
            said = {"order": f"W-{order:06d}", "state": "open", "total": order, "items": items}
            calls.append(
                Call(
                    index=place,
                    id=f"c{place}",
                    name=_tool(place),
                    arguments=arguments_for(order),
                    result=Result(ok=True, content=json.dumps(said)),
                )
            )
        turn = Turn(index=0, role="assistant", origin="agent", calls=tuple(calls))
        trace = Trace(id=f"c{number}", group=f"g{number % GROUPS}", turns=(turn,))
        found.append(conversation_of(trace, _effect_of))
    return Recorded(found, RuleBook(RecordingIndex(found), _effect_of))


def _tool(place: int) -> str:
    return "get_order" if place % 4 else "cancel_order"


def _effect_of(name: str) -> Effect:
    return "write" if name == "cancel_order" else "read"


def runs_of(kind: Kind, conversations: Sequence[Conversation]) -> list[tuple[str, list[Asked]]]:
    """Return a run for each test of the first group: its id, and what the agent calls.

    Args:
        kind: The calls of the test itself, a call each of 20 tests of the next group, or calls that
            nobody made.
        conversations: See `recorded`.
    """
    found = []
    for number in range(0, CONVERSATIONS, GROUPS):
        own = conversations[number]
        calls = [(item.name, dict(item.arguments)) for item in own.recordings]
        if kind == "other":
            others = [(number + 1 + GROUPS * place) % CONVERSATIONS for place in range(CALLS)]
            made = [conversations[n].recordings[place] for place, n in enumerate(others)]
            calls = [(item.name, dict(item.arguments)) for item in made]
        elif kind == "new":
            first = ORDERS + 1 + CALLS * number
            calls = [(_tool(n), arguments_for(first + n)) for n in range(CALLS)]
        found.append((own.id, calls))
    return found


def ladders(given: Recorded, tests: Sequence[str]) -> list[Ladder]:
    """Return what answers each test, over an index that was never asked."""
    from tracedance_sdk.replay import Ladder, RecordingIndex, Shelf

    index = RecordingIndex(given.conversations)
    out = frozenset({"g0"})
    return [
        Ladder(
            shelf=Shelf(index, test, excluded_groups=out),
            effect_of=_effect_of,
            rules=given.rules,
            excluded_groups=out,
        )
        for test in tests
    ]


def answers(kind: Kind, effort: Effort) -> Measured:
    """Let agents ask, 20 calls a run, against computing the key of each call."""
    from tracedance_sdk.trace import call_key

    given = recorded()
    for tool in given.rules.tools:
        given.rules.rules(tool, excluded_groups={"g0"})
    runs = runs_of(kind, given.conversations)
    asked = [call for _, calls in runs for call in calls]

    def ours() -> float:
        made = ladders(given, [test for test, _ in runs])
        gc.collect()
        started = time.process_time()
        for ladder, (_, calls) in zip(made, runs, strict=True):
            session = ladder.begin()
            for name, arguments in calls:
                session.answer(name, arguments)
        return (time.process_time() - started) / len(asked)

    def theirs() -> float:
        gc.collect()
        started = time.process_time()
        for _ in range(10):
            for name, arguments in asked:
                call_key(name, arguments)
        return (time.process_time() - started) / len(asked) / 10

    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(effort.rounds)]
    low, middle, high = quartiles(sorted(above / below for above, below in pairs))
    above, below = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Measured(middle, low, high, f"{duration(above)} against {duration(below)}")


_WHAT = {
    "same": "an answer recorded in the test's own conversation, among 10,000 recordings",
    "other": "an answer recorded in other conversations, one or several",
    "new": "a call that nobody recorded: what rules there are are tried, and it has failed",
}

BUDGETS = tuple(
    Budget(
        f"answer-{kind}",
        what,
        "computing the canonical key of the same call",
        15.0,
        "x",
        partial(answers, kind),  # type: ignore[arg-type]  # the keys are the kinds
    )
    for kind, what in _WHAT.items()
)
