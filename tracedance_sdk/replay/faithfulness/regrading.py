"""Untouched recordings under a grader: does it give back the verdicts that are stored with them?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.grading import Verdict
from tracedance_sdk.replay.faithfulness.replayed import by_group, passed
from tracedance_sdk.replay.people import ScriptedCustomer
from tracedance_sdk.replay.rebuilding import Suite, tools_of
from tracedance_sdk.replay.rebuilt_test import RebuiltTest, TestSource
from tracedance_sdk.replay.recordings import group_of
from tracedance_sdk.replay.running import (
    Finding,
    JudgedRun,
    Players,
    RecordedAgent,
    ReplayedRun,
    RunGrader,
    run_all,
)
from tracedance_sdk.statistics import Trials
from tracedance_sdk.trace import Effect, Trace


class Recorded(NamedTuple):
    """A recorded conversation as a grader is shown it.

    Attributes:
        name: How reports call it.
        run: With the recorded calls and answers.
        stored: Whether production passed it; None where that is not known.
    """

    name: str
    run: ReplayedRun
    stored: bool | None


class Regraded(NamedTuple):
    """What a grader says of an untouched recording.

    Attributes:
        name: See `Recorded`.
        stored: Whether production passed it.
        verdict: The grader's.
        reason: Why, in one line.
    """

    name: str
    stored: bool | None
    verdict: Verdict
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the grader says what is stored."""
        return self.stored is not None and passed(self.verdict) is self.stored


def recorded_traces(traces: Iterable[Trace]) -> list[Recorded]:
    """Return recorded conversations for a grader, with everything that was said in them."""
    return [_of_trace(trace) for trace in traces]


def effects_of_traces(traces: Iterable[Trace]) -> dict[str, Effect]:
    """Return what the tools of recorded conversations do, by what is recorded and known of them."""
    return {name: tool.definition.effect for name, tool in tools_of(traces).items()}


def recorded_suite(suite: Suite) -> list[Recorded]:
    """Return the recordings of rebuilt tests: the recorded agent is run through each.

    What the agent said is not in a test; a grader that reads its words needs the traces.
    """
    players = Players(agent=lambda: RecordedAgent(suite), customer=ScriptedCustomer)
    found = run_all(suite, players)
    return [_of_run(item.run) for item in found if isinstance(item, JudgedRun)]


def _of_run(run: ReplayedRun) -> Recorded:
    stored = run.test.source.verdict
    return Recorded(run.test.id, run, None if stored is None else stored == "pass")


def _of_trace(trace: Trace) -> Recorded:
    stored = None if trace.outcome is None else trace.outcome.success
    native = None if trace.source is None else trace.source.native_id
    source = TestSource(trace_id=trace.id, group=group_of(trace), task_id=trace.task_id)
    test = RebuiltTest(id=native or trace.id, source=source)
    return Recorded(test.id, ReplayedRun(test, 0, trace, (), "customer"), stored)


def production_of_recorded(recorded: Iterable[Recorded]) -> dict[str, Trials]:
    """Return how often production passed each group, by the stored verdicts of recordings."""
    return by_group(
        (item.run.test.source.group, item.stored) for item in recorded if item.stored is not None
    )


async def graded(grader: RunGrader, run: ReplayedRun) -> Finding:
    """Return what a grader says of a run; its own failure is a verdict in error."""
    try:
        return await grader.grade(run)
    except TraceDanceError as error:
        return Finding(Verdict.ERROR, str(error))


def regrade(recorded: Sequence[Recorded], grader: RunGrader) -> list[Regraded]:
    """Grade untouched recordings, in order.

    Args:
        recorded: The recordings.
        grader: Who grades the replays too.
    """

    async def work() -> list[Regraded]:
        found = []
        for item in recorded:
            finding = await graded(grader, item.run)
            found.append(Regraded(item.name, item.stored, finding.verdict, finding.reason))
        return found

    return asyncio.run(work())
