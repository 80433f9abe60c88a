"""Grade sources one after another, in several processes, or while a model judges several.

The result is the same either way, up to what the model says.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.cli.evaluation_judge import JudgePlan, OpenedJudge, open_judge
from tracedance_sdk.cli.grading_sources import Choice, Run, found_runs
from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.formats import TraceSource, load_collectors
from tracedance_sdk.grading import (
    Report,
    ResultRow,
    Subject,
    TaskRegistry,
    TaskSpec,
    Verdict,
    evaluate,
    evaluate_async,
    load_spec,
    rows_of,
)
from tracedance_sdk.store import end_with_parent, interruptions_held
from tracedance_sdk.trace import Trace

_AHEAD: Final = 2
"""Traces that are held for each call that may be under way."""


class GradingPlan(NamedTuple):
    """How traces are to be graded; small enough to hand to another process.

    Attributes:
        spec: File of the specification that every trace is graded against.
        tasks: Folder of specifications, found by the traces' task ids, when there is no `spec`.
        judge: Who scores how the runs went.
        where: Of stores, grade only traces for which this SQL holds.
        has_sub_agents: Grade the traces of sub-agents too.
    """

    spec: Path | None
    tasks: Path | None
    judge: JudgePlan = JudgePlan()
    where: str | None = None
    has_sub_agents: bool = False


class Graded(NamedTuple):
    """One trace of a source, graded; or why it was not.

    Attributes:
        path: The source.
        part: Which trace of the source; None when it holds only one.
        report: None when nothing could be graded.
        problem: Why not; None exactly when there is a report.
        rows: For a result set.
        trace: The trace itself, when it is the only one of its source.
        foreign_task: The trace's task id, when it was graded by a task with another id.
        task_id: The trace's own task id, else that of the specification; None without either.
        unmatched: Rules of the specification that name no tool of the trace.
        stored_as: What a trace of a store is about, by agent and task; None for those of files.
        spec_id: Id of the specification; None when nothing could be graded.
        lets_judge_count: Whether the specification lets a calibrated judge gate.
    """

    path: Path
    part: str | None
    report: Report | None
    problem: str | None
    rows: tuple[ResultRow, ...]
    trace: Trace | None = None
    foreign_task: str | None = None
    task_id: str | None = None
    unmatched: tuple[str, ...] = ()
    stored_as: str | None = None
    spec_id: str | None = None
    lets_judge_count: bool = False

    @property
    def verdict(self) -> Verdict:
        """The report's verdict; `Verdict.ERROR` when nothing could be graded."""
        return Verdict.ERROR if self.report is None else self.report.verdict


class SourceGrades(NamedTuple):
    """What came of one source.

    Attributes:
        graded: One for each trace, and for each problem.
        n_sub_agents: How many traces of sub-agents were left out.
    """

    graded: list[Graded]
    n_sub_agents: int = 0


class GradingTools(NamedTuple):
    """A plan, with what it names opened."""

    plan: GradingPlan
    spec_of: Callable[[Trace], TaskSpec]
    judge: OpenedJudge
    choice: Choice


def open_plan(plan: GradingPlan) -> GradingTools:
    """Open everything a plan names, so that what is wrong with it is said before any work.

    Raises:
        TraceDanceError: A specification, a folder of them, or a judge that cannot be used.
    """
    choice = Choice(plan.where, plan.has_sub_agents, load_collectors())
    return GradingTools(plan, _open_specs(plan), open_judge(plan.judge), choice)


def grade_source(tools: GradingTools, source: TraceSource) -> SourceGrades:
    """Grade the traces of one source.

    A sub-agent's trace is left out unless the plan asks for it, or it is all that a file holds
    which the user named: the task is its parent's.
    """
    graded: list[Graded] = []
    n_left_out = 0
    for item in found_runs(source, tools.choice):
        if isinstance(item, Run):
            graded.append(_graded(item, tools))
        elif item is not None:
            graded.append(not_graded(item.path, None, item.problem))
        else:
            n_left_out += 1
    return SourceGrades(graded, n_left_out)


async def grade_judged(
    tools: GradingTools, sources: Sequence[TraceSource], *, on_run: Callable[[], None] | None = None
) -> list[SourceGrades]:
    """Return what `grade_source` gives for each source, several traces being judged at a time.

    Args:
        tools: With a judge that waits for a model.
        sources: Read one after another, no faster than their traces are judged.
        on_run: Called after each trace.
    """
    places = asyncio.Semaphore(_AHEAD * tools.plan.judge.calls.concurrency)

    async def work(run: Run) -> Graded:
        try:
            return await _graded_async(run, tools)
        finally:
            places.release()
            if on_run is not None:
                on_run()

    begun: list[tuple[list[Graded | asyncio.Task[Graded]], int]] = []
    try:
        for source in sources:
            items: list[Graded | asyncio.Task[Graded]] = []
            n_left_out = 0
            for item in found_runs(source, tools.choice):
                if isinstance(item, Run):
                    await places.acquire()
                    items.append(asyncio.create_task(work(item)))
                elif item is not None:
                    items.append(not_graded(item.path, None, item.problem))
                else:
                    n_left_out += 1
            begun.append((items, n_left_out))
        return [
            SourceGrades(
                [item if isinstance(item, Graded) else await item for item in items], n_left_out
            )
            for items, n_left_out in begun
        ]
    finally:
        for items, _ in begun:
            for task in items:
                if isinstance(task, asyncio.Task):
                    task.cancel()


def grade_trace(tools: GradingTools, path: Path, trace: Trace) -> Graded:
    """Grade the one trace that the user chose of a source."""
    return _graded(Run(path, trace), tools)


def grade_in_processes(
    plan: GradingPlan, sources: Sequence[TraceSource], *, jobs: int
) -> Iterator[SourceGrades]:
    """Yield what `grade_source` gives for each source, in their order, from several processes.

    Args:
        plan: How.
        sources: Shared out among the processes one by one.
        jobs: Most processes to use.

    Raises:
        TraceDanceError: A process ended before its work was done.
    """
    # A fresh interpreter: a copy of this one would carry its threads' locks along.
    context = multiprocessing.get_context("spawn")
    n_processes = min(jobs, len(sources))
    with ProcessPoolExecutor(n_processes, context, _open_in_worker, (plan,)) as pool:
        try:
            with interruptions_held():
                found = pool.map(_grade_in_worker, sources)  # which starts all processes
            yield from found
        except BrokenProcessPool as error:
            raise TraceDanceError(
                "a grading process ended unexpectedly, perhaps for want of memory; try --jobs 1"
            ) from error


_worker_tools: list[GradingTools] = []


def _open_in_worker(plan: GradingPlan) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process ends it
    _worker_tools.append(open_plan(plan))


def _grade_in_worker(source: TraceSource) -> SourceGrades:
    return grade_source(_worker_tools[0], source)


def _graded(run: Run, tools: GradingTools) -> Graded:
    judge, calibration, _ = tools.judge
    try:
        spec = tools.spec_of(run.trace)
        report = evaluate(run.trace, spec, judge=judge, calibration=calibration)
    except TraceDanceError as error:
        return _not_graded(run, error)
    return _told(run, spec, report)


async def _graded_async(run: Run, tools: GradingTools) -> Graded:
    judge, calibration, _ = tools.judge
    try:
        spec = tools.spec_of(run.trace)
        report = await evaluate_async(run.trace, spec, judge=judge, calibration=calibration)
    except TraceDanceError as error:
        return _not_graded(run, error)
    return _told(run, spec, report)


def _not_graded(run: Run, error: TraceDanceError) -> Graded:
    found = not_graded(run.path, run.part, str(error), run.trace)
    return found._replace(stored_as=run.stored_as)


def _told(run: Run, spec: TaskSpec, report: Report) -> Graded:
    path, trace, part, stored_as = run
    rows = rows_of(report, trace=trace, instance_id=_instance(path, part))
    return Graded(
        path=path,
        part=part,
        report=report,
        problem=None,
        rows=tuple(rows),
        trace=trace if part is None else None,
        foreign_task=trace.task_id if trace.task_id not in (None, spec.id) else None,
        task_id=trace.task_id or spec.id,
        unmatched=tuple(spec.unmatched(trace)),
        stored_as=stored_as,
        spec_id=spec.id,
        lets_judge_count=spec.judge.gate,
    )


def not_graded(path: Path, part: str | None, problem: str, trace: Trace | None = None) -> Graded:
    """Return a source, or a trace of it, that could not be graded."""
    row = ResultRow(
        subject=Subject(
            trace_id=None if trace is None else trace.id, instance_id=_instance(path, part)
        ),
        grader="spec",
        group=None if trace is None else trace.group,
        verdict=Verdict.ERROR,
        raw_verdict=Verdict.ERROR,
        missing_reason=problem,
    )
    return Graded(path, part, None, problem, (row,))


def _instance(path: Path, part: str | None) -> str:
    return str(path) if part is None else f"{path}#{part}"


def _open_specs(plan: GradingPlan) -> Callable[[Trace], TaskSpec]:
    if plan.spec is not None:
        spec = load_spec(plan.spec)
        return lambda _trace: spec
    if plan.tasks is None:
        raise InvalidOption("say what to grade by: --spec FILE or --tasks DIR")
    registry = TaskRegistry.from_folder(plan.tasks)

    def of_task(trace: Trace) -> TaskSpec:
        if trace.task_id is None:
            raise InvalidOption("the trace names no task; give the specification with --spec FILE")
        return registry[trace.task_id]

    return of_task
