"""What a run of a rebuilt test is worth: a grader's verdict, and what it rests on."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

import orjson

from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.grading import Criteria, Subject, TaskRegistry, Verdict, evaluate
from tracedance_sdk.judging import JudgedItem, Panel, PanelFinding
from tracedance_sdk.recording import freeze
from tracedance_sdk.replay.running.apart import (
    GRADERS,
    ForeignFailure,
    call_apart,
    in_thread,
    one_line,
    runs_apart,
    told_of,
)
from tracedance_sdk.replay.running.clock import limited
from tracedance_sdk.replay.running.limits import ENDS, PROPER_ENDS, RunLimits
from tracedance_sdk.replay.running.one_run import ReplayedRun
from tracedance_sdk.trace import Json, Trace

Doubt = Literal["simulated", "failed", "stale", "outside"]

DOUBTS: Final[dict[Doubt, str]] = {
    "simulated": "an answer was made up",
    "failed": "a call had no answer",
    "stale": "an answer was recorded in another state of its records",
    "outside": "the code of a tool ran outside the replay",
}
"""What a verdict may rest on that is no evidence."""


class Finding(NamedTuple):
    """What a grader says of a run.

    Attributes:
        verdict: Its verdict.
        reason: Why, in one line.
        evidence: JSON values for the result set.
        usage: Tokens and cost, where a model was asked.
    """

    verdict: Verdict
    reason: str = ""
    evidence: tuple[Json, ...] = ()
    usage: dict[str, Json] | None = None


class RunGrader(Protocol):
    """Says whether a run did what was asked.

    Where it has ``runs_apart = True``, it is asked on the loop that runs the tests, as it holds
    nobody up. Any other is asked on a loop of its own, and has a limit.
    """

    @property
    def name(self) -> str:
        """Its name in reports."""

    async def grade(self, run: ReplayedRun) -> Finding:
        """Grade a run that came to its proper end."""


class SpecGrader:
    """Grades by criteria as data: one specification, or a registry by task id.

    Args:
        criteria: See `evaluate`.
    """

    name: Final = "spec"
    runs_apart: Final = True

    def __init__(self, criteria: Criteria) -> None:
        self._criteria = criteria

    async def grade(self, run: ReplayedRun) -> Finding:
        """Hold the run's trace against the criteria; a task that is not there is inconclusive."""
        if isinstance(self._criteria, TaskRegistry) and run.trace.task_id not in self._criteria:
            return Finding(Verdict.INCONCLUSIVE, f"no task {run.trace.task_id!r} in the registry")
        # The criteria may be of another package.
        report = await in_thread(evaluate, run.trace, self._criteria)
        reasons = [grade.reason for grade in report.grades if grade.verdict is not Verdict.PASS]
        evidence = tuple(grade.to_dict() for grade in report.grades)
        return Finding(report.verdict, "; ".join(reasons[:3]), evidence)


class FunctionGrader:
    """Grades by a function of one's own, which may apply the run's writes to a system of record.

    Args:
        function: Takes the run's `Trace`; sync or async. It returns True or False, a verdict or its
            name, or an object with ``verdict`` and, if it likes, ``reason``.
        name: In reports.
    """

    runs_apart: Final = True

    def __init__(self, function: Callable[[Trace], Any], name: str) -> None:
        self.name = name
        self._function = function

    async def grade(self, run: ReplayedRun) -> Finding:
        """Call the function; whatever it raises is an error of the grader."""
        try:
            found = await call_apart(self._function, run.trace, lane=GRADERS)
            return await in_thread(_finding, found, self.name)
        except ForeignFailure as error:
            return Finding(Verdict.ERROR, f"{self.name} raised {error.told}")


class TranscriptGrader:
    """Lets a panel of models judge from the transcript whether the request was resolved.

    A judge sees no system of record. Where there is one, grade by it: in one published study such a
    judge agreed with the record in 63 of 100 runs.

    Args:
        panel: Judges, by a rubric about whole runs.
    """

    runs_apart: Final = True
    has_own_limits: Final = True

    def __init__(self, panel: Panel) -> None:
        self.name = f"rubric:{panel.rubric.id}"
        self._panel = panel

    async def grade(self, run: ReplayedRun) -> Finding:
        """Ask the panel."""
        subject = Subject(trace_id=run.trace.id, instance_id=run.test.id)
        item = JudgedItem(subject, run.trace, sample=run.trial, group=run.test.source.group)
        (question,) = self._panel.questions([item])
        (finding,) = await self._panel.ask(question)
        return _of_panel(finding)


class JudgedRun(NamedTuple):
    """A run with its verdict.

    Attributes:
        run: The run.
        verdict: What may be said of it.
        raw_verdict: What the grader said, whatever it rests on.
        finding: All that the grader said.
        doubts: What the verdict rests on that is no evidence.
        reason: Why the verdict is what it is, in one line.
    """

    run: ReplayedRun
    verdict: Verdict
    raw_verdict: Verdict
    finding: Finding
    doubts: tuple[Doubt, ...]
    reason: str


def doubts_of(run: ReplayedRun) -> tuple[Doubt, ...]:
    """Return what a verdict on a run would rest on that is no evidence."""
    found: list[Doubt] = []
    stamps = run.stamps
    if stamps["simulated"]:
        found.append("simulated")
    if stamps["failed"]:
        found.append("failed")
    if run.n_stale:
        found.append("stale")
    if run.outside:
        found.append("outside")
    return tuple(found)


def _told_doubt(doubt: Doubt, run: ReplayedRun) -> str:
    if doubt != "outside":
        return DOUBTS[doubt]
    names = ", ".join(one_line(name) for name in run.outside)
    them = "it" if len(run.outside) == 1 else "them"
    return f"the code of {names} ran outside the replay: put @td.tool on {them}"


async def judged(
    run: ReplayedRun,
    grader: RunGrader | None,
    *,
    allowed: Collection[Doubt] = (),
    min_fidelity: float = 0.0,
    limit_s: float | None = None,
) -> JudgedRun:
    """Grade a run, and say inconclusive where the verdict would rest on no evidence.

    Args:
        run: The run. One that did not come to its proper end has failed, whatever a grader says.
        grader: Who says whether it did what was asked; None says nothing.
        allowed: What a verdict may rest on all the same.
        min_fidelity: Share of the answers that must be evidence, from 0 to 1.
        limit_s: Seconds for the grader; a panel of models has limits of its own.

    Raises:
        InvalidOption: `min_fidelity` is no share.
    """
    if not 0 <= min_fidelity <= 1:
        raise InvalidOption(f"min_fidelity is {min_fidelity!r}; it is a share from 0 to 1")
    finding = await _found(
        run, grader, RunLimits().helper_timeout_s if limit_s is None else limit_s
    )
    doubts = doubts_of(run)
    barred = [doubt for doubt in doubts if doubt not in allowed]
    verdict, reason = finding.verdict, finding.reason
    if barred:
        verdict = Verdict.INCONCLUSIVE
        reason = _with_graders(
            "; ".join(_told_doubt(doubt, run) for doubt in barred), run, grader, finding
        )
    elif run.fidelity < min_fidelity:
        verdict = Verdict.INCONCLUSIVE
        told = f"{run.fidelity:.0%} of the answers are evidence, less than {min_fidelity:.0%}"
        reason = _with_graders(told, run, grader, finding)
    return JudgedRun(run, verdict, finding.verdict, finding, doubts, reason)


def _with_graders(told: str, run: ReplayedRun, grader: RunGrader | None, finding: Finding) -> str:
    """Return why a verdict is withheld, with what the grader said."""
    if not finding.reason:
        return told
    spoke = grader is not None and run.ended in PROPER_ENDS
    return f"{told}; {'grader: ' if spoke else ''}{finding.reason}"


async def _found(run: ReplayedRun, grader: RunGrader | None, limit_s: float) -> Finding:
    if run.ended not in PROPER_ENDS:
        told = ENDS[run.ended]
        return Finding(Verdict.FAIL, f"{told}: {run.problem}" if run.problem else told)
    if grader is None:
        return Finding(Verdict.INCONCLUSIVE, "there is no grader")
    try:
        if getattr(grader, "has_own_limits", False) is True:
            return await grader.grade(run)
        async with limited(limit_s):
            if runs_apart(grader):
                return await grader.grade(run)
            found = await call_apart(grader.grade, run, lane=GRADERS)
            return await in_thread(_written, found, grader.name)
    except TimeoutError:
        return Finding(Verdict.ERROR, f"{grader.name} gave no verdict within {limit_s:g} s")
    except TraceDanceError as error:
        return Finding(Verdict.ERROR, one_line(str(error)))
    except ForeignFailure as error:
        return Finding(Verdict.ERROR, f"{grader.name} raised {error.told}")
    except Exception as error:  # noqa: BLE001 - foreign: its failure is a verdict
        return Finding(Verdict.ERROR, f"{grader.name} raised {told_of(error)}")


def _written(found: Any, name: str) -> Finding:
    """Return a finding of another package as one that can be written."""
    if not isinstance(found, Finding) or not isinstance(found.verdict, Verdict):
        return Finding(
            Verdict.ERROR, f"{name} returned {type(found).__name__}, which is no finding"
        )
    usage = None if found.usage is None else orjson.loads(freeze(found.usage))
    return Finding(
        found.verdict,
        one_line(str(found.reason)),
        tuple(orjson.loads(freeze(list(found.evidence)))),
        usage if isinstance(usage, dict) else None,
    )


def _of_panel(finding: PanelFinding) -> Finding:
    """Return what a panel found as a grader's finding."""
    score = finding.score
    verdict = score.verdict or Verdict.INCONCLUSIVE
    reasons: list[Json] = [
        {"judge": judge.identity.name, "score": item.score, "reasoning": item.reasoning}
        for judge in finding.judges
        for item in judge.scores
    ]
    told = "nobody scored it" if score.mean is None else f"mean score {score.mean:.2f}"
    if score.missing_reason is not None:
        told = f"{told}: {score.missing_reason}"
    return Finding(verdict, told, tuple(reasons))


def _finding(found: Any, name: str) -> Finding:
    """Return what a function of others gave as a finding that can be written."""
    reason = ""
    evidence: tuple[Json, ...] = ()
    if isinstance(found, Mapping):
        reason = one_line(str(found.get("reason", "")))
        evidence = (orjson.loads(freeze(dict(found))),)
        found = found.get("verdict")
    if isinstance(found, bool):
        return Finding(Verdict.PASS if found else Verdict.FAIL, reason, evidence)
    known = next((verdict for verdict in Verdict if found == verdict.value), None)
    if known is None:
        told = one_line(reprlib.repr(found))
        return Finding(Verdict.ERROR, f"{name} returned {told:.60}, which is no verdict")
    return Finding(known, reason, evidence)
