"""The report: everything that grading one trace brought to light."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from tracedance_sdk.grading.grades import Dimension, Grade, counted
from tracedance_sdk.grading.judgement import JudgeAnswer, Judgement
from tracedance_sdk.grading.verdicts import Verdict, worst
from tracedance_sdk.trace import plain

FORMAT: Final = "tracedance.report"
VERSION: Final = 1

NOT_SPECIFIED: Final = "not specified"
NO_JUDGE: Final = "no judge was asked"


class DimensionResult(NamedTuple):
    """One group of grades as a whole.

    Attributes:
        verdict: The worst of the grades that decide.
        score: 1.0 for pass, 0.0 for fail and critical, None for no answer or no criterion.
        reason: One line; ``not specified`` when there is no criterion.
        grades: One for each criterion, in the order of the specification.
    """

    dimension: Dimension
    verdict: Verdict
    score: float | None
    reason: str
    grades: tuple[Grade, ...]

    @property
    def specified(self) -> bool:
        """Whether there is any criterion of this group."""
        return bool(self.grades)


class Report(BaseModel):
    """What grading one trace brought to light.

    Attributes:
        trace_id: Id of the trace.
        task_id: Id of the task specification; the trace's own when the criteria came as a list.
        task_description: What the agent was to do.
        group: The trace's leave-out unit.
        agent: Name of the agent.
        verdict: The worst of the grades that decide, after the gate.
        raw_verdict: The same before a calibrated judge was heard.
        grades: One for each criterion, in the order of the specification.
        judge: What came of asking the judge; None when there was none to ask.
        notes: What a reader should know, one line each.
        spec_hash: SHA-256 of the specification, 64 hex characters; None for plain callables.

    Example:
        >>> from tracedance_sdk.demo import demo_task, record_run
        >>> from tracedance_sdk.grading import evaluate
        >>> report = evaluate(record_run("critical-error"), demo_task())
        >>> report.passed, report.outcome.verdict.value, report.critical_errors.verdict.value
        (False, 'pass', 'critical')
        >>> report.critical_errors.grades[0].evidence[0].found
        {'name': 'John'}
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    trace_id: str
    task_id: str | None = None
    task_description: str = ""
    group: str | None = None
    agent: str | None = None
    verdict: Verdict
    raw_verdict: Verdict
    grades: tuple[Grade, ...] = ()
    judge: JudgeAnswer | None = None
    notes: tuple[str, ...] = ()
    spec_hash: str | None = None

    def __str__(self) -> str:
        """Return the verdict and each grade on a line of its own, as plain text."""
        width = max(len(grade.verdict) for grade in self.grades) if self.grades else 0
        lines = [f"{self.verdict}: {self.task_id or 'no task'}"]
        for grade in self.grades:
            minor = "" if grade.decides else " (minor)"
            lines.append(f"  {grade.verdict:{width}}  {grade.title}: {grade.reason}{minor}")
        if self.judge is not None:
            score = self.score_missing_reason if self.judge.score is None else self.judge.score
            lines.append(f"  judge {self.judge.judge}: {score}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    @property
    def passed(self) -> bool:
        """Whether the verdict is pass."""
        return self.verdict is Verdict.PASS

    @property
    def outcome(self) -> DimensionResult:
        """What was achieved."""
        return self.dimension("outcome")

    @property
    def actions(self) -> DimensionResult:
        """Whether the actions kept to the rules."""
        return self.dimension("actions")

    @property
    def critical_errors(self) -> DimensionResult:
        """What must never happen."""
        return self.dimension("critical_errors")

    @property
    def further(self) -> DimensionResult:
        """Every other criterion, and the condition that nothing else changed."""
        return self.dimension("further")

    @property
    def dimensions(self) -> Iterator[DimensionResult]:
        """The four groups in the order a report shows them."""
        return (self.dimension(name) for name in get_args(Dimension))

    @property
    def judgement(self) -> Judgement | None:
        """The judge's view of the trajectory; None when missing."""
        return None if self.judge is None else self.judge.judgement

    @property
    def trajectory_score(self) -> float | None:
        """The judge's score, from 0 to 1; None when missing."""
        return None if self.judge is None else self.judge.score

    @property
    def score_missing_reason(self) -> str | None:
        """Why there is no trajectory score; None when there is one."""
        return NO_JUDGE if self.judge is None else self.judge.missing_reason

    @property
    def errors(self) -> tuple[Grade, ...]:
        """The grades of graders that could not do their work."""
        return tuple(grade for grade in self.grades if grade.verdict is Verdict.ERROR)

    def dimension(self, name: Dimension) -> DimensionResult:
        """Return one group of grades as a whole."""
        grades = tuple(grade for grade in self.grades if grade.dimension == name)
        if not grades:
            return DimensionResult(name, Verdict.PASS, None, NOT_SPECIFIED, ())
        verdict = worst(grade.verdict for grade in grades if grade.decides)
        decided = verdict not in (Verdict.ERROR, Verdict.INCONCLUSIVE)
        score = float(verdict is Verdict.PASS) if decided else None
        return DimensionResult(name, verdict, score, _reason(grades, verdict), grades)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a versioned JSON document."""
        fields = self.model_dump(mode="json", exclude={"grades", "judge"})
        return {
            "format": FORMAT,
            "version": VERSION,
            **fields,
            "dimensions": {
                found.dimension: {
                    "verdict": found.verdict.value,
                    "score": found.score,
                    "reason": found.reason,
                }
                for found in self.dimensions
            },
            "grades": [grade.to_dict() for grade in self.grades],
            "trajectory": {
                "score": self.trajectory_score,
                "missing_reason": self.score_missing_reason,
                "judge": None if self.judge is None else self.judge.judge,
                "judgement": None if self.judgement is None else self.judgement.to_dict(),
                **self._cost_of_judge(),
            },
        }

    def _cost_of_judge(self) -> dict[str, Any]:
        usage = None if self.judge is None else self.judge.usage
        return {} if usage is None else {"usage": plain(usage)}


def _reason(grades: tuple[Grade, ...], verdict: Verdict) -> str:
    if verdict is Verdict.PASS:
        passed = [grade for grade in grades if grade.verdict is Verdict.PASS]
        if len(grades) == 1:
            return grades[0].reason
        minor = len(grades) - len(passed)
        beside = f", {counted(minor, 'minor finding')}" if minor else ""
        return f"{len(passed)} of {len(grades)} criteria hold{beside}"
    first = next(grade for grade in grades if grade.verdict is verdict and grade.decides)
    n_missed = sum(grade.verdict is not Verdict.PASS and grade.decides for grade in grades)
    count = f"{n_missed} of {len(grades)} criteria do not pass; " if n_missed > 1 else ""
    return f"{count}{first.title}: {first.reason}"
