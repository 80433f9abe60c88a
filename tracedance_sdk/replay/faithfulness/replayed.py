"""Rows of replays as what faithfulness is measured on: production's verdict beside the replay's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tracedance_sdk.grading import ResultRow, Verdict
from tracedance_sdk.replay.running import GRADER
from tracedance_sdk.statistics import Trials

_PASSED = {Verdict.PASS: True, Verdict.FAIL: False, Verdict.CRITICAL: False}


class ReplayedTest(NamedTuple):
    """One run of one rebuilt test.

    Attributes:
        test: Id of the test.
        trial: Which repetition, from 0.
        group: The task, or whatever the leave-out unit is.
        trace_id: Of the run's trace.
        production: Whether the recorded run passed; None where that is not known.
        replay: Whether the grader passed the run, whatever it rests on; None where it cannot say.
        counts: Whether the verdict stands, and was not withdrawn for what it rests on.
        doubts: What it rests on that is no evidence: simulated, failed, stale.
        ended: How the run ended.
    """

    test: str
    trial: int
    group: str
    trace_id: str | None
    production: bool | None
    replay: bool | None
    counts: bool
    doubts: tuple[str, ...] = ()
    ended: str = "customer"

    @property
    def is_decided(self) -> bool:
        """Whether both verdicts are known."""
        return self.production is not None and self.replay is not None

    @property
    def matches(self) -> bool:
        """Whether the replay says what production said."""
        return self.is_decided and self.production is self.replay


def passed(verdict: Verdict | None) -> bool | None:
    """Return whether a verdict passes; None where it decides nothing."""
    return None if verdict is None else _PASSED.get(verdict)


def replayed_tests(rows: Iterable[ResultRow]) -> list[ReplayedTest]:
    """Return the runs of rebuilt tests among the rows of a result set, in order."""
    return [_of(row) for row in rows if row.grader == GRADER and row.subject.instance_id]


def _of(row: ResultRow) -> ReplayedTest:
    own = row.model_extra or {}
    test = row.subject.instance_id or ""
    rests_on = own.get("rests_on")
    doubts = tuple(str(item) for item in rests_on) if isinstance(rests_on, list) else ()
    production = {"pass": True, "fail": False}.get(str(own.get("production")))
    raw = row.raw_verdict if row.raw_verdict is not None else row.verdict
    return ReplayedTest(
        test,
        row.sample,
        row.group or test,
        row.subject.trace_id,
        production,
        passed(raw),
        passed(row.verdict) is not None,
        doubts,
        str(own.get("ended", "customer")),
    )


def production_of_replays(tests: Iterable[ReplayedTest]) -> dict[str, Trials]:
    """Return how often production passed each group, each recorded conversation counted once."""
    stored = {item.test: item for item in tests if item.production is not None}
    return by_group((item.group, bool(item.production)) for item in stored.values())


def rates_of_rows(rows: Iterable[ResultRow]) -> dict[str, Trials]:
    """Return how often each group passed, by the verdicts of a result set."""
    verdicts = ((row, passed(row.verdict)) for row in rows)
    return by_group(
        (row.group or row.task_id or row.subject.instance_id or row.subject.trace_id or "", verdict)
        for row, verdict in verdicts
        if verdict is not None
    )


def rates_of_replays(tests: Iterable[ReplayedTest]) -> dict[str, Trials]:
    """Return how often replays passed each group, whatever the verdicts rest on."""
    return by_group((t.group, t.replay) for t in tests if t.replay is not None)


def repeated(production: Mapping[str, Trials]) -> list[Trials]:
    """Return the groups of which there is more than one conversation."""
    return [trials for _, trials in sorted(production.items()) if trials.n > 1]


def decided(tests: Sequence[ReplayedTest]) -> list[ReplayedTest]:
    """Return the runs of which both verdicts are known."""
    return [item for item in tests if item.is_decided]


def by_group(outcomes: Iterable[tuple[str, bool]]) -> dict[str, Trials]:
    """Return how often each group passed, of pairs of a group and whether it did."""
    found: dict[str, Trials] = {}
    for group, success in outcomes:
        before = found.get(group, Trials(0, 0))
        found[group] = Trials(before.passes + int(success), before.n + 1)
    return found
