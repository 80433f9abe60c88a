"""`evaluate`: grade one trace by a specification, or by any list of criteria and functions."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from tracedance_sdk.errors import InvalidSpec, UnknownTask
from tracedance_sdk.grading import unexpected_changes
from tracedance_sdk.grading.callables import (
    ask_grader,
    contrary_grades,
    failure_text,
    identity_of,
)
from tracedance_sdk.grading.criterion import Criterion
from tracedance_sdk.grading.gating import Calibration, gated
from tracedance_sdk.grading.grades import Dimension, Finding, Grade, Identity, error_grade, grade_of
from tracedance_sdk.grading.judgement import Judge, ask_judge
from tracedance_sdk.grading.loading import load_spec, read_spec
from tracedance_sdk.grading.misspelt import misspelt
from tracedance_sdk.grading.plugin_graders import Grader
from tracedance_sdk.grading.registry import TaskRegistry
from tracedance_sdk.grading.report import Report
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.grading.spec import PluginCriterion, TaskSpec
from tracedance_sdk.grading.verdicts import worst
from tracedance_sdk.trace import (
    APART,
    INCOMPLETE,
    UNKNOWN,
    Note,
    Trace,
    as_one_run,
    assess,
    require_trace,
)

Criteria = (
    TaskSpec
    | TaskRegistry
    | Mapping[str, Any]
    | str
    | os.PathLike[str]
    | Grader
    | Sequence[Criterion | Mapping[str, Any] | Grader]
)
"""What a trace may be graded by: a specification, the registry that holds it under the trace's
task id, a document, a file, a function, or a list of criteria and functions."""


def evaluate(
    trace: Trace | Sequence[Trace],
    spec: Criteria,
    *,
    judge: Judge | None = None,
    calibration: Calibration | None = None,
) -> Report:
    """Grade one trace. Works inside a running event loop too, which waits meanwhile.

    Args:
        trace: The trace, or those of a run and its sub-agents, such as ``recorder.traces``, which
            are graded as one run; see `as_one_run`. Nothing is changed.
        spec: What to grade it by.
        judge: Whom to ask how the run went; the answer decides nothing by itself.
        calibration: What the judge's scores mean, for specifications with ``judge: {gate: true}``.

    Returns:
        The report, with a grade for every criterion, also when graders fail.

    Raises:
        InvalidOption: `trace` is no trace, or several runs' traces.
        InvalidSpec: The specification has problems; all are listed.
        UnreadableFile: The specification's file is missing or not permitted.
        UnknownTask: The registry holds nothing under the trace's task id.

    Example:
        >>> from tracedance_sdk.trace import Trace
        >>> report = evaluate(
        ...     Trace(id="t", final_state={"sent": True}),
        ...     {"id": "mail", "outcomes": [{"expected_state": {"sent": True}}]},
        ... )
        >>> report.verdict
        <Verdict.PASS: 'pass'>
    """
    run = _one_run(trace)
    plan = _plan(run, spec)
    work = _evaluated(run, plan, judge, calibration)
    return _finish(work) if judge is not None or plan.may_wait else _immediate(work)


async def evaluate_async(
    trace: Trace | Sequence[Trace],
    spec: Criteria,
    *,
    judge: Judge | None = None,
    calibration: Calibration | None = None,
) -> Report:
    """Grade one trace; see `evaluate`."""
    run = _one_run(trace)
    plan = _plan(run, spec)
    return await _evaluated(run, plan, judge, calibration)


def _one_run(given: Trace | Sequence[Trace]) -> Trace:
    return as_one_run(given) if isinstance(given, (list, tuple)) else require_trace(given)


async def _evaluated(
    trace: Trace, plan: _Plan, judge: Judge | None, calibration: Calibration | None
) -> Report:
    task = plan.task
    run = RunView(trace, initial_state=task.initial_state)
    grades: list[Grade] = []
    for name, dimension, criterion in task.listed():
        grades += await _graded(name, dimension, criterion, run)
    notes = [*_notes_on_evidence(run), *misspelt(task.mentions, trace)]
    grades += _fitness(task, run) + _frame(task, run, notes)
    taken = {grade.criterion for grade in grades}
    for grader in plan.graders:
        grades += await ask_grader(grader, trace, identity_of(grader, taken))
    raw_verdict = worst(grade.verdict for grade in grades if grade.decides)
    answer = None if judge is None else await ask_judge(judge, trace, task)
    verdict, note = raw_verdict, None
    if task.judge.gate:
        verdict, note = gated(raw_verdict, answer, calibration)
    return Report(
        trace_id=trace.id,
        task_id=task.id if plan.named else trace.task_id,
        task_description=task.description,
        group=trace.group,
        agent=trace.agent.name,
        verdict=verdict,
        raw_verdict=raw_verdict,
        grades=tuple(grades),
        judge=answer,
        notes=tuple(notes if note is None else [*notes, note]),
        spec_hash=task.digest if plan.named else None,
    )


class _Plan(NamedTuple):
    """A specification and functions beside it; `named` unless the criteria came as a list."""

    task: TaskSpec
    graders: tuple[Grader, ...] = ()
    named: bool = True

    @property
    def may_wait(self) -> bool:
        """Whether foreign code is called, which may be asynchronous."""
        listed = (criterion for _, _, criterion in self.task.listed())
        return bool(self.graders) or any(isinstance(item, PluginCriterion) for item in listed)


def _plan(trace: Trace, spec: Criteria) -> _Plan:
    if isinstance(spec, TaskSpec):
        return _Plan(spec)
    if isinstance(spec, TaskRegistry):
        if trace.task_id is None:
            raise UnknownTask(f"trace {trace.id!r} has no task id, so no task can be looked up")
        return _Plan(spec[trace.task_id])
    if isinstance(spec, (str, os.PathLike)):
        return _Plan(load_spec(spec))
    if isinstance(spec, Mapping):
        return _Plan(read_spec(dict(spec), where="spec", versioned=False))
    if callable(spec):
        return _listed([spec])
    if isinstance(spec, Sequence):
        return _listed([*spec])
    raise InvalidSpec(f"{spec!r:.80} is no specification; give a TaskSpec, a file, or a list")


def _listed(items: Sequence[Criterion | Mapping[str, Any] | Grader]) -> _Plan:
    criteria: list[Criterion | dict[str, Any]] = []
    graders: list[Grader] = []
    for item in items:
        if isinstance(item, Mapping):
            criteria.append(dict(item))
        elif isinstance(item, Criterion):
            criteria.append(item)
        elif callable(item):
            graders.append(item)
        else:
            raise InvalidSpec(f"{item!r:.80} is neither a criterion nor a function")
    document = {"id": "criteria", "criteria": criteria}
    task = read_spec(document, where="spec", versioned=False)
    return _Plan(task, tuple(graders), named=False)


async def _graded(
    name: str, dimension: Dimension, criterion: Criterion, run: RunView
) -> list[Grade]:
    identity = Identity(name, criterion.type, criterion.name, dimension, criterion.severity)
    if isinstance(criterion, PluginCriterion):
        grades = await ask_grader(criterion.grader, run.trace, identity)
        return contrary_grades(grades) if criterion.negate else grades
    try:
        findings = list(criterion.findings(run))
        holds = "" if findings else criterion.passing_text(run)
    except Exception as error:  # noqa: BLE001 - whatever a trace holds, the others are graded
        return [error_grade(identity, failure_text(error))]
    if criterion.negate:
        holds = criterion.passing_text(run)
    return [grade_of(identity, findings, negate=criterion.negate, holds=holds)]


def _fitness(task: TaskSpec, run: RunView) -> list[Grade]:
    """Return the grade of the evidence itself, where it is asked for, or known to be incomplete."""
    fidelity = run.trace.fidelity
    if not fidelity.fit_for:
        fidelity = assess(run.trace, notes=fidelity.notes).fidelity
    texts = []
    damage = [note for note in fidelity.notes if note.kind in INCOMPLETE]
    if damage:
        noted = "; ".join(f"{note.kind} x{note.count}{_at(note)}" for note in damage)
        texts.append(f"records were lost or altered ({noted}); run tracedance verify on a journal")
    noted = ", ".join(f"{note.kind} x{note.count}" for note in fidelity.notes) or "nothing noted"
    if saw_nothing(run):
        texts.append("nothing was recorded: no turn, no call and no state")
    lacking = [item for item in task.requires if item not in fidelity.fit_for]
    texts += [f"the trace is not fit for {item} ({noted})" for item in lacking]
    if not task.requires and not texts:
        return []
    findings = [Finding(run.evidence(text), certain=False) for text in texts]
    identity = Identity("fidelity", "fidelity")
    return [grade_of(identity, findings, holds=f"fit for {', '.join(task.requires)}")]


def saw_nothing(run: RunView) -> bool:
    """Whether nothing at all is known of a run, so that whatever must not be seems to hold."""
    trace = run.trace
    said = trace.outcome
    is_told = said is not None and (said.success is not None or said.reward is not None)
    seen = (run.trace.initial_state, run.trace.final_state)
    return not trace.turns and not is_told and all(state is UNKNOWN for state in seen)


def _notes_on_evidence(run: RunView) -> list[str]:
    """Return what whoever reads the verdict should know of what it rests on."""
    notes = []
    if not run.trace.turns and not saw_nothing(run):
        notes.append("no turn and no call was recorded, so rules on what is done had none to see")
    if n_apart := run.trace.fidelity.count(APART):
        whose = "a sub-agent" if n_apart == 1 else f"{n_apart} sub-agents"
        notes.append(
            f"the work of {whose} is in traces of its own and was not graded with this one; "
            "evaluate(recorder.traces, ...) or --together grades them as one run"
        )
    return notes


def _at(note: Note) -> str:
    return f" at {', '.join(note.places)}" if note.places else ""


def _frame(task: TaskSpec, run: RunView, notes: list[str]) -> list[Grade]:
    frame, criteria = task.unexpected_changes, task.final_states
    if frame is None or not criteria:
        return []
    if run.initial_state is UNKNOWN:
        notes.append("unexpected changes were not looked for: the initial state is not known")
        return []
    identity = Identity(unexpected_changes.TYPE, unexpected_changes.TYPE, severity=frame.severity)
    try:
        findings = list(unexpected_changes.frame_findings(frame, criteria, run))
    except Exception as error:  # noqa: BLE001 - whatever a trace holds, the others are graded
        return [error_grade(identity, failure_text(error))]
    return [grade_of(identity, findings, holds="nothing else changed")]


def _immediate(work: Coroutine[Any, Any, Report]) -> Report:
    """Run a coroutine that never waits: criteria that are data need no event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        report: Report = end.value
        return report
    raise RuntimeError("an evaluation without foreign code waited for something")


def _finish(work: Coroutine[Any, Any, Report]) -> Report:
    """Run a coroutine to its end, in a thread with a loop of its own where one runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_thread(work)


def _in_thread(work: Coroutine[Any, Any, Report]) -> Report:
    context = contextvars.copy_context()
    outcome: list[Report] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(context.run(asyncio.run, work))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=body, name="tracedance-evaluate")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
