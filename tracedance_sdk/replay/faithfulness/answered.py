"""The answers of replayed runs: where each came from, whether it was right, who else had it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tracedance_sdk.errors import UnknownFormat
from tracedance_sdk.replay.faithfulness.truth import RealAnswer, Truth, is_right
from tracedance_sdk.replay.rebuilt_test import RebuiltTest
from tracedance_sdk.trace import Call, Json, Trace, call_key

NO_EVIDENCE = ("simulated", "failed")


class AnsweredCall(NamedTuple):
    """One answer of one run.

    Attributes:
        test: Id of the test.
        group: Of the test.
        tool: Name of the tool.
        stamp: Where the answer came from.
        stale: Recorded in another state of its records.
        is_right: Whether the real system answers the same; None where that is not known.
        is_withheld: Whether a recording that the test may not read holds the call; None where the
            tests are not known.
    """

    test: str
    group: str
    tool: str
    stamp: str
    stale: bool = False
    is_right: bool | None = None
    is_withheld: bool | None = None

    @property
    def is_evidence(self) -> bool:
        """Whether a verdict may rest on it."""
        return self.stamp not in NO_EVIDENCE and not self.stale


class Withheld:
    """The recordings that each test may not read: those of its own group, but not its own.

    Args:
        tests: All of a suite.
    """

    def __init__(self, tests: Iterable[RebuiltTest]) -> None:
        self._groups: dict[str, frozenset[str]] = {}
        self._holders: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for test in tests:
            self._groups[test.id] = frozenset({test.source.group, *test.borrow.exclude_groups})
            for call in test.recordings:
                if call.answer is not None:
                    key = call_key(call.name, call.arguments)
                    self._holders[key].add((test.source.group, test.id))

    def holds(
        self, test: str, name: str, arguments: Json, *, except_tests: Collection[str] = ()
    ) -> bool | None:
        """Return whether a withheld recording holds a call; None for a test that is not known.

        Args:
            test: Who may not read it.
            name: Of the tool.
            arguments: Of the call.
            except_tests: Conversations that do not count, such as the one whose calls are made.
        """
        groups = self._groups.get(test)
        if groups is None:
            return None
        others = {test, *except_tests}
        holders = self._holders.get(call_key(name, arguments), set())
        return any(group in groups and holder not in others for group, holder in holders)


def answered_calls(
    traces: Iterable[Trace], *, truth: Truth | None = None, withheld: Withheld | None = None
) -> Iterator[AnsweredCall]:
    """Yield the answers of replayed runs; traces of anything else are passed over.

    Args:
        traces: As `run_test` makes them: each call holds where its answer came from.
        truth: What the real system answers.
        withheld: What the tests may not read.

    Raises:
        UnknownFormat: The truth has other calls than a run.
    """
    for trace in traces:
        test = trace.metadata.get("rebuilt_test")
        if not isinstance(test, str):
            continue
        calls = [(call, stamped) for call in trace.actions if (stamped := _stamped(call))]
        trial = trace.metadata.get("trial")
        known = None
        if truth is not None:
            known = truth.answers(trace.id, test, trial if isinstance(trial, int) else 0)
        reals: Sequence[RealAnswer | None] = [None] * len(calls)
        if known is not None:
            _check(calls, known, f"run {trial} of the test {test!r}")
            reals = known
        for (call, stamped), real in zip(calls, reals, strict=True):
            holds = None if withheld is None else withheld.holds(test, call.name, call.arguments)
            stamp = str(stamped["stamp"])
            yield AnsweredCall(
                test,
                trace.group or test,
                call.name,
                stamp,
                stamped.get("stale") is True,
                _right(call, stamp, real),
                holds,
            )


def _stamped(call: Call) -> dict[str, Any] | None:
    answer = (call.model_extra or {}).get("answer")
    return answer if isinstance(answer, dict) and "stamp" in answer else None


def _right(call: Call, stamp: str, real: RealAnswer | None) -> bool | None:
    if stamp == "failed":
        return False
    return None if real is None else is_right(call, real)


def _check(calls: Sequence[tuple[Call, Any]], known: Sequence[RealAnswer], run: str) -> None:
    made, told = [call.name for call, _ in calls], [real.name for real in known]
    if made == told:
        return
    if len(made) != len(told):
        raise UnknownFormat(f"{run} made {len(made)} calls, the truth has {len(told)}")
    place = next(n for n, (a, b) in enumerate(zip(made, told, strict=True)) if a != b)
    raise UnknownFormat(f"call {place + 1} of {run} is {made[place]!r}, not {told[place]!r}")
