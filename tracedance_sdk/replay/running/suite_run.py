"""Run an agent through rebuilt tests, several at a time, and say what came of each."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import AgentNotStarted, AgentUnreachable, CustomerFailed, InvalidOption
from tracedance_sdk.grading import ResultRow, Subject, Verdict
from tracedance_sdk.llm import Asker
from tracedance_sdk.recording import unasked, unknown_refused
from tracedance_sdk.replay.answers import CandidateOrder, Ladder, PureTool, Simulator
from tracedance_sdk.replay.people import Customer
from tracedance_sdk.replay.rebuilding import Suite, faults_of
from tracedance_sdk.replay.rebuilt_test import Person, RebuiltTest, invalid_test
from tracedance_sdk.replay.running.apart import (
    AGENTS,
    CUSTOMERS,
    ForeignFailure,
    call_apart,
    one_line,
    told_of,
)
from tracedance_sdk.replay.running.asking import AgentUnderTest
from tracedance_sdk.replay.running.clock import limited
from tracedance_sdk.replay.running.limits import RunLimits
from tracedance_sdk.replay.running.one_run import ReplayedRun, run_test
from tracedance_sdk.replay.running.own_calls import OwnCalls
from tracedance_sdk.replay.running.verdicts import Doubt, JudgedRun, RunGrader, judged

RETRIES: Final = 2
MOST_UNSTARTED: Final = 10
"""After so many runs of which none had a reply, an agent's program is taken for one that cannot be
started."""

GRADER: Final = "replay"


class SuiteSettings(NamedTuple):
    """How tests are run.

    Attributes:
        trials: Runs of each test.
        concurrency: Runs at a time.
        limits: How far a run may go.
        retries: Further tries where the agent or the customer could not be asked; what an agent
            did is never tried again.
        allowed: What a verdict may rest on beside evidence.
        min_fidelity: Share of a run's answers that must be evidence.
        derives: Whether answers may be derived by proven rules.
        order: Which of several conversations is borrowed from.
        names_nearest: Whether a miss names the recorded calls that are most like it.
    """

    trials: int = 1
    concurrency: int = 4
    limits: RunLimits = RunLimits()
    retries: int = RETRIES
    allowed: Collection[Doubt] = ()
    min_fidelity: float = 0.0
    derives: bool = True
    order: CandidateOrder = "recent"
    names_nearest: bool = False


class Players(NamedTuple):
    """Who takes part.

    Attributes:
        agent: Makes the agent of a run.
        customer: Makes the customer of a run.
        grader: Says whether a run did what was asked; None says nothing.
        pure: The tools that may be run, by name.
        simulator: Makes up missing answers; None makes up nothing.
    """

    agent: Callable[[], AgentUnderTest]
    customer: Callable[[Person], Customer]
    grader: RunGrader | None = None
    pure: Mapping[str, PureTool] = {}
    simulator: Simulator | None = None


class NotRun(NamedTuple):
    """A run that could not be made.

    Attributes:
        test: The test.
        trial: Which repetition.
        reason: Why, in one line.
    """

    test: RebuiltTest
    trial: int
    reason: str


async def run_suite(
    suite: Suite, players: Players, settings: SuiteSettings | None = None
) -> AsyncGenerator[JudgedRun | NotRun, None]:
    """Run every test as often as wanted and yield what comes, in the order it comes.

    Args:
        suite: The tests.
        players: Who takes part.
        settings: How.

    Raises:
        InvalidOption: Settings that cannot be kept, or a tool to be run that is not pure.
        InvalidTest: A test that cannot be run; see `faults_of`.
        AgentNotStarted: The agent's program ended before any reply in every run, or in the first
            10. Where another run had a reply, such a run is made again, and its end is the agent's.
    """
    how = settings or SuiteSettings()
    if how.trials < 1 or how.concurrency < 1 or how.retries < 0:
        raise InvalidOption("trials and concurrency begin at 1, retries at 0")
    how.limits.checked()
    for test in suite.tests:
        if faults := list(faults_of(test)):
            raise invalid_test(test.id, faults)
        _ladder(suite, test, players, how)
    jobs = _Jobs((test, trial) for test in suite.tests for trial in range(how.trials))
    waiting: set[asyncio.Task[JudgedRun | NotRun | _Unstarted]] = set()
    refused = contextlib.ExitStack()
    refused.enter_context(unknown_refused())
    try:
        while True:
            while len(waiting) < how.concurrency and (job := jobs.next()) is not None:
                waiting.add(asyncio.create_task(_one(suite, players, how, *job)))
            if not waiting:
                jobs.end()
                return
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if (item := jobs.settled(task.result())) is not None:
                    yield item
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        refused.close()


class _Unstarted(NamedTuple):
    """A run in which the agent's program ended before anything was heard of it."""

    test: RebuiltTest
    trial: int
    why: AgentNotStarted


class _Jobs:
    """The runs that are to be made, also again."""

    def __init__(self, jobs: Iterable[tuple[RebuiltTest, int]]) -> None:
        self._left = deque(jobs)
        self._unstarted: list[_Unstarted] = []
        self._again: set[tuple[str, int]] = set()
        self._is_heard = False

    def next(self) -> tuple[RebuiltTest, int] | None:
        return self._left.popleft() if self._left else None

    def settled(self, item: JudgedRun | NotRun | _Unstarted) -> JudgedRun | NotRun | None:
        """Return what came of a run, unless that is not known yet.

        Raises:
            AgentNotStarted: The program is given up.
        """
        if isinstance(item, _Unstarted):
            key = (item.test.id, item.trial)
            if key in self._again:
                return NotRun(item.test, item.trial, one_line(str(item.why)))
            self._unstarted.append(item)
            if not self._is_heard and len(self._unstarted) >= MOST_UNSTARTED:
                self.end()
        elif isinstance(item, JudgedRun):
            self._is_heard = True
        if self._is_heard:
            self._again |= {(one.test.id, one.trial) for one in self._unstarted}
            self._left.extendleft((one.test, one.trial) for one in reversed(self._unstarted))
            self._unstarted.clear()
        return None if isinstance(item, _Unstarted) else item

    def end(self) -> None:
        """Raise what was wrong with a program that was never heard of."""
        if self._unstarted:
            raise self._unstarted[0].why


def run_all(
    suite: Suite,
    players: Players,
    settings: SuiteSettings | None = None,
    *,
    on_run: Callable[[JudgedRun | NotRun], None] | None = None,
    closes: Iterable[Asker] = (),
) -> list[JudgedRun | NotRun]:
    """Do what `run_suite` does, outside any event loop.

    Args:
        suite: See `run_suite`.
        players: See `run_suite`.
        settings: See `run_suite`.
        on_run: Called after each run, for showing progress.
        closes: Askers of models that took part, whose connections are closed in the end.

    Returns:
        What came, in the order of the tests and trials.
    """

    async def work() -> list[JudgedRun | NotRun]:
        found = []
        try:
            async for item in run_suite(suite, players, settings):
                found.append(item)
                if on_run is not None:
                    with unasked():
                        on_run(item)
        finally:
            for asker in closes:
                await asker.close()
        return found

    order = {test.id: number for number, test in enumerate(suite.tests)}

    def place(item: JudgedRun | NotRun) -> tuple[int, int]:
        run = item.run if isinstance(item, JudgedRun) else item
        return order[run.test.id], run.trial

    return sorted(asyncio.run(work()), key=place)


async def _one(
    suite: Suite, players: Players, how: SuiteSettings, test: RebuiltTest, trial: int
) -> JudgedRun | NotRun | _Unstarted:
    why: Exception | None = None
    for _ in range(how.retries + 1):
        try:
            run = await _played(suite, players, how, test, trial)
        except (AgentUnreachable, CustomerFailed) as error:
            why = error
            continue
        except Exception as error:  # noqa: BLE001 - one run's trouble ends no other
            return NotRun(test, trial, told_of(error))
        with unasked():  # a grader may use tools while other runs are answered
            return await judged(
                run,
                players.grader,
                allowed=how.allowed,
                min_fidelity=how.min_fidelity,
                limit_s=how.limits.helper_timeout_s,
            )
    if isinstance(why, AgentNotStarted):
        return _Unstarted(test, trial, why)
    return NotRun(test, trial, one_line(str(why)))


async def _played(
    suite: Suite, players: Players, how: SuiteSettings, test: RebuiltTest, trial: int
) -> ReplayedRun:
    """Bring everybody together and run a test once."""
    with OwnCalls() as own_calls:
        return await _played_by(suite, players, how, test, trial, own_calls=own_calls)


async def _played_by(
    suite: Suite,
    players: Players,
    how: SuiteSettings,
    test: RebuiltTest,
    trial: int,
    *,
    own_calls: OwnCalls,
) -> ReplayedRun:
    limit_s = how.limits.helper_timeout_s
    try:
        async with limited(limit_s):
            with own_calls.asked():
                agent = await call_apart(players.agent, lane=AGENTS)
    except (ForeignFailure, TimeoutError) as error:
        raise AgentUnreachable(f"the agent cannot be made: {_why(error, limit_s)}") from error
    try:
        async with limited(limit_s):
            with unasked():
                customer = await call_apart(players.customer, test.customer, lane=CUSTOMERS)
    except (ForeignFailure, TimeoutError) as error:
        raise CustomerFailed(f"the customer cannot be made: {_why(error, limit_s)}") from error
    return await run_test(
        test,
        agent,
        customer,
        _ladder(suite, test, players, how),
        limits=how.limits,
        trial=trial,
        own_calls=own_calls,
    )


def _why(error: ForeignFailure | TimeoutError, limit_s: float) -> str:
    return error.told if isinstance(error, ForeignFailure) else f"not done after {limit_s:g} s"


def _ladder(suite: Suite, test: RebuiltTest, players: Players, how: SuiteSettings) -> Ladder:
    return suite.ladder(
        test.id,
        pure=players.pure,
        derives=how.derives,
        simulator=players.simulator,
        order=how.order,
        names_nearest=how.names_nearest,
    )


def rows_of_runs(found: Sequence[JudgedRun | NotRun]) -> Iterator[ResultRow]:
    """Yield a row of a result set for each run.

    Beside the usual fields a row has ``answers`` (how many came from where), ``stale``, ``masked``
    (answers that tell less than the tool did), ``rests_on`` (what it rests on that is no evidence),
    ``outside`` (tools whose code ran outside the replay),
    ``fidelity``, ``ended`` and ``production`` (the recorded verdict). Where the nearest recordings
    were asked for, ``missed`` holds each call that no recording answered, with those that are most
    like it and the arguments that differ.
    """
    for item in found:
        if isinstance(item, NotRun):
            yield ResultRow(
                subject=Subject(instance_id=item.test.id),
                sample=item.trial,
                grader=GRADER,
                group=item.test.source.group,
                verdict=Verdict.ERROR,
                raw_verdict=Verdict.ERROR,
                missing_reason=item.reason,
                **_own({"production": item.test.source.verdict}),
            )
            continue
        yield _row(item)


def _row(item: JudgedRun) -> ResultRow:
    run = item.run
    graded = item.verdict in (Verdict.PASS, Verdict.FAIL, Verdict.CRITICAL)
    own = {
        "answers": dict(sorted(run.stamps.items())),
        "stale": run.n_stale,
        "masked": run.n_masked,
        "rests_on": list(item.doubts),
        "outside": list(run.outside) or None,
        "fidelity": round(run.fidelity, 4),
        "ended": run.ended,
        "production": run.test.source.verdict,
        "reason": item.reason,
        "missed": missed_calls(run) or None,
    }
    return ResultRow(
        subject=Subject(trace_id=run.trace.id, instance_id=run.test.id),
        sample=run.trial,
        grader=GRADER,
        group=run.test.source.group,
        model=run.trace.agent.name,
        verdict=item.verdict,
        raw_verdict=item.raw_verdict,
        score=float(item.verdict is Verdict.PASS) if graded else None,
        missing_reason=None if graded else item.reason or "not decided",
        evidence=item.finding.evidence,
        usage=item.finding.usage,
        **_own(own),
    )


def missed_calls(run: ReplayedRun) -> list[dict[str, Any]]:
    """Return the calls of a run that no recording answered and whose nearest ones are known.

    Returns:
        In the order of the calls: ``name``, ``arguments``, ``miss``, and ``nearest``, each of which
        has ``conversation``, ``arguments`` and ``differing``.
    """
    return [
        {
            "name": call.name,
            "arguments": call.arguments,
            "miss": answer.miss,
            "nearest": [near._asdict() for near in answer.nearest],
        }
        for call, answer in zip(run.answered_calls, run.answers, strict=False)
        if answer.nearest
    ]


def _own(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def n_resting_on_simulated(found: Sequence[JudgedRun | NotRun]) -> tuple[int, int]:
    """Return how many tests rest on an answer that was made up or missing, and how many were run.

    A test with several trials counts once, and when any of them does.
    """
    ran: dict[str, bool] = {}
    for item in found:
        if isinstance(item, JudgedRun):
            identity = item.run.test.id
            doubtful = "simulated" in item.doubts or "failed" in item.doubts
            ran[identity] = ran.get(identity, False) or doubtful
    return sum(ran.values()), len(ran)
