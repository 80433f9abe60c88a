"""How far recordings reach: the calls of one conversation, answered from another of its group.

Two conversations of one group are the same customer, served twice. The test of the one is given the
calls of the other in order, as if another agent had made them. Nothing is run and nobody is asked;
what comes out is where answers would come from, and how many calls nobody may answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import permutations
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay.answers import STAMPS, Stamp
from tracedance_sdk.replay.faithfulness.answered import Withheld
from tracedance_sdk.replay.rebuilding import Suite
from tracedance_sdk.replay.rebuilt_test import RebuiltTest, RecordedCall
from tracedance_sdk.replay.recordings import is_answer
from tracedance_sdk.trace import Result, same_json

_NOT_TOLD: Final = ("pure", "failed")


class CoveredCall(NamedTuple):
    """A call of one conversation in the test of another.

    Attributes:
        test: Id of the test.
        caller: Id of the test whose conversation made the call.
        tool: Its name.
        stamp: Where the answer comes from.
        stale: It was recorded in another state of its records.
        history_differs: It was recorded after any other writes.
        differs: The conversation that made the call was told something else; None where nobody
            knows: an answer is missing on either side, or a pure tool would be run.
        is_withheld: Nobody may answer, and a recording that the test may not read could.
        rule: What it was derived by, in words.
    """

    test: str
    caller: str
    tool: str
    stamp: Stamp
    stale: bool
    history_differs: bool
    differs: bool | None
    is_withheld: bool
    rule: str | None = None


class Coverage(NamedTuple):
    """Where the answers to all those calls come from.

    Attributes:
        n_tests: Tests that another one of their group was found for.
        n_pairs: Ordered pairs of them.
        n_clean: Pairs in which every call has an answer.
        calls: All calls, in order.
    """

    n_tests: int
    n_pairs: int
    n_clean: int
    calls: tuple[CoveredCall, ...]

    @property
    def stamps(self) -> dict[str, dict[str, int]]:
        """Return by stamp how many answers there are, how many are stale, and how many differ."""
        found: dict[str, dict[str, int]] = {}
        for stamp in STAMPS:
            of = [call for call in self.calls if call.stamp == stamp]
            if of:
                found[stamp] = {
                    "n": len(of),
                    "stale": sum(call.stale for call in of),
                    "history_differs": sum(call.history_differs for call in of),
                    "differ": sum(call.differs is True for call in of),
                    "withheld": sum(call.is_withheld for call in of),
                }
        return found

    @property
    def tools(self) -> dict[str, Counter[str]]:
        """Return by tool how many answers come from where, and how many are ``withheld``."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for call in self.calls:
            found[call.tool][call.stamp] += 1
            found[call.tool]["withheld"] += call.is_withheld
        return dict(sorted(found.items()))

    @property
    def rules(self) -> Counter[str]:
        """Return how many answers each rule gives."""
        return Counter(call.rule for call in self.calls if call.rule is not None)

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {
            "tests": self.n_tests,
            "pairs": self.n_pairs,
            "clean": self.n_clean,
            "calls": len(self.calls),
            "by_stamp": self.stamps,
            "by_tool": {tool: dict(counts) for tool, counts in self.tools.items()},
            "rules": dict(self.rules.most_common()),
        }


def coverage_of(suite: Suite, *, derives: bool = True, leaves_out: bool = True) -> Coverage:
    """Measure how far the recordings of a suite reach.

    Args:
        suite: The tests.
        derives: Whether answers may be derived by proven rules.
        leaves_out: Whether a test borrows from no conversation of its group; if not, it does from
            all but the one whose calls are made.

    Raises:
        InvalidOption: No two tests are of one group, so that nothing can be measured.
    """
    groups: defaultdict[str, list[RebuiltTest]] = defaultdict(list)
    for test in suite.tests:
        groups[test.source.group].append(test)
    pairs = [pair for members in groups.values() for pair in permutations(members, 2)]
    if not pairs:
        raise InvalidOption(
            "no two tests are of one group, so that none has another one's calls; give traces that"
            " are the same task, tried several times, one group or task id"
        )
    covering = _Covering(suite, derives=derives, leaves_out=leaves_out)
    calls: list[CoveredCall] = []
    n_clean = 0
    for test, caller in pairs:
        found = list(covering.calls(test, caller))
        calls += found
        n_clean += all(call.stamp != "failed" for call in found)
    return Coverage(len({test.id for test, _ in pairs}), len(pairs), n_clean, tuple(calls))


class _Covering:
    """Makes the calls of one test in another."""

    def __init__(self, suite: Suite, *, derives: bool, leaves_out: bool) -> None:
        self._suite = suite
        self._derives = derives
        self._leaves_out = leaves_out
        self._withheld = Withheld(suite.tests)
        pure = (name for name, effect in suite.effects.items() if effect == "pure")
        self._pure = dict.fromkeys(pure, _not_run)

    def calls(self, test: RebuiltTest, caller: RebuiltTest) -> Iterator[CoveredCall]:
        """Yield the calls of a conversation with what they are answered in the test of another."""
        session = self._suite.ladder(
            test.id,
            pure=self._pure,
            derives=self._derives,
            leaves_out=self._leaves_out,
            excluded_ids={caller.id},
        ).begin()
        for call in caller.recordings:
            answer = session.answer(call.name, call.arguments)
            could = answer.stamp == "failed" and self._withheld.holds(
                test.id, call.name, call.arguments, except_tests={caller.id}
            )
            is_told = answer.stamp not in _NOT_TOLD
            yield CoveredCall(
                test=test.id,
                caller=caller.id,
                tool=call.name,
                stamp=answer.stamp,
                stale=answer.stale,
                history_differs=answer.write_history_differs,
                differs=_differs(answer.result, call) if is_told else None,
                is_withheld=could is True,
                rule=answer.rule,
            )


def _differs(result: Result, call: RecordedCall) -> bool | None:
    told = call.result
    if told is None or not is_answer(told):
        return None
    if result.ok is False or told.ok is False:
        return (result.ok is False) != (told.ok is False)
    return not same_json(result.content, told.content)


def _not_run(**_: object) -> None:
    """Stand in for a pure tool, whose answer is not looked at."""
