"""Grade sources one after another or in several processes, with the same result either way."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.cli.choosing import agent_and_task, part_names
from tracedance_sdk.cli.stores import is_store, stored_traces
from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.formats import (
    Collector,
    TraceSource,
    collect_source,
    load_collectors,
)
from tracedance_sdk.grading import (
    Judge,
    Report,
    ResultRow,
    Subject,
    TaskRegistry,
    TaskSpec,
    Verdict,
    evaluate,
    load_spec,
    rows_of,
)
from tracedance_sdk.trace import Trace

_JUDGES: Final = "recorded:FILE, heuristic, none"


class GradingPlan(NamedTuple):
    """How traces are to be graded; small enough to hand to another process.

    Attributes:
        spec: File of the specification that every trace is graded against.
        tasks: Folder of specifications, found by the traces' task ids, when there is no `spec`.
        judge: ``none``, ``heuristic``, or ``recorded:FILE``.
        where: Of stores, grade only traces for which this SQL holds.
        has_sub_agents: Grade the traces of sub-agents too.
    """

    spec: Path | None
    tasks: Path | None
    judge: str = "none"
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
        task_id: The trace's own task id; None when it has none.
        unmatched: Rules of the specification that name no tool of the trace.
        stored_as: What a trace of a store is about, by agent and task; None for those of files.
        spec_id: Id of the specification; None when nothing could be graded.
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
    judge: Judge | None
    collectors: tuple[Collector, ...]


def open_plan(plan: GradingPlan) -> GradingTools:
    """Open everything a plan names, so that what is wrong with it is said before any work.

    Raises:
        TraceDanceError: A specification, a folder of them, or a judge that cannot be used.
    """
    return GradingTools(plan, _open_specs(plan), _open_judge(plan.judge), load_collectors())


def grade_source(tools: GradingTools, source: TraceSource) -> SourceGrades:
    """Grade the traces of one source.

    A sub-agent's trace is left out unless the plan asks for it, or it is all that a file holds
    which the user named: the task is its parent's.
    """
    if is_store(source.path):
        return _grade_store(tools, source)
    found = list(collect_source(source, collectors=tools.collectors))
    traces = [item.trace for item in found if item.trace is not None]
    wanted = traces
    if not tools.plan.has_sub_agents and not (source.is_named and len(traces) == 1):
        wanted = [trace for trace in traces if trace.parent is None]
    names = dict(zip(map(id, wanted), part_names(wanted), strict=True))
    graded = []
    for item in found:
        if item.trace is None:
            graded.append(not_graded(item.path, None, str(item.problem)))
        elif id(item.trace) in names:
            part = names[id(item.trace)] if len(wanted) > 1 else None
            graded.append(_graded(item.path, item.trace, part, tools))
    return SourceGrades(graded, len(traces) - len(wanted))


def _grade_store(tools: GradingTools, source: TraceSource) -> SourceGrades:
    """Grade the traces of a store one at a time: it may hold more than the memory does."""
    graded, n_left_out = [], 0
    try:
        for trace in stored_traces(source.path, where=tools.plan.where):
            if isinstance(trace, TraceDanceError):
                graded.append(not_graded(source.path, None, str(trace)))
            elif trace.parent is not None and not tools.plan.has_sub_agents:
                n_left_out += 1
            else:
                found = _graded(source.path, trace, trace.id, tools)
                graded.append(found._replace(trace=None, stored_as=agent_and_task(trace)))
    except TraceDanceError as error:
        graded.append(not_graded(source.path, None, str(error)))
    return SourceGrades(graded, n_left_out)


def grade_trace(tools: GradingTools, path: Path, trace: Trace) -> Graded:
    """Grade the one trace that the user chose of a source."""
    return _graded(path, trace, None, tools)


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
            yield from pool.map(_grade_in_worker, sources)
        except BrokenProcessPool as error:
            raise TraceDanceError(
                "a grading process ended unexpectedly, perhaps for want of memory; try --jobs 1"
            ) from error


_worker_tools: list[GradingTools] = []


def _open_in_worker(plan: GradingPlan) -> None:
    _worker_tools.append(open_plan(plan))


def _grade_in_worker(source: TraceSource) -> SourceGrades:
    return grade_source(_worker_tools[0], source)


def _graded(path: Path, trace: Trace, part: str | None, tools: GradingTools) -> Graded:
    try:
        spec = tools.spec_of(trace)
        report = evaluate(trace, spec, judge=tools.judge)
    except TraceDanceError as error:
        return not_graded(path, part, str(error), trace)
    rows = rows_of(report, trace=trace, instance_id=_instance(path, part))
    return Graded(
        path=path,
        part=part,
        report=report,
        problem=None,
        rows=tuple(rows),
        trace=trace if part is None else None,
        foreign_task=trace.task_id if trace.task_id not in (None, spec.id) else None,
        task_id=trace.task_id,
        unmatched=tuple(spec.unmatched(trace)),
        spec_id=spec.id,
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


def _open_judge(word: str) -> Judge | None:
    from tracedance_sdk.judging import HeuristicJudge, RecordedJudge

    kind, colon, path = word.partition(":")
    if word == "none":
        return None
    if word == "heuristic":
        return HeuristicJudge()
    if kind == "recorded" and colon and path:
        return RecordedJudge.from_file(path)
    raise InvalidOption(f"unknown judge {word!r}; choose one of {_JUDGES}")


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
