"""What a comparison of two result sets is: its plan, its lines, what is left out, its verdict."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tracedance_sdk.report.comparison_pairs import PairRule
from tracedance_sdk.report.comparison_rows import LineName
from tracedance_sdk.report.comparison_statistics import LineStatistics, Sample

LineVerdict = Literal[
    "better", "worse", "not worse by more than the margin", "no difference shown", "not enough data"
]
Slicing = Literal["group", "model"]


class ComparisonPlan(NamedTuple):
    """How two sets are compared.

    Attributes:
        alpha: Chance of any false "better" or "worse" among all deciding lines, in (0, 0.5).
        graders: Patterns of the graders to compare, such as ``spec:*``; all where there is none.
        margin: Ask whether the second set is worse by no more than this, in (0, 1); None asks
            whether there is a difference.
        pair_by: By what subjects are paired; None chooses, see `Pairing`.
        by: Show each line for each group or model too; this decides nothing.
        sample: What was sampled, so what a finding holds for; see `Sample`.
        old_model: Of the first set only rows of this model.
        new_model: Of the second set only rows of this model.
        judges_may_differ: Compare scores of different judges too.
        rubric: Of judges' rows only those by the rubric with this id; None for all.
    """

    alpha: float = 0.05
    graders: tuple[str, ...] = ()
    margin: float | None = None
    pair_by: PairRule | None = None
    by: Slicing | None = None
    sample: Sample = "groups"
    old_model: str | None = None
    new_model: str | None = None
    judges_may_differ: bool = False
    rubric: str | None = None

    @property
    def level(self) -> float:
        """Of the intervals: 1 - alpha; 1 - 2 alpha with a margin, whose test is one-sided."""
        return 1 - self.alpha * (1 if self.margin is None else 2)


class ComparedLine(NamedTuple):
    """One grader's measure in both sets.

    Attributes:
        name: Who graded, and what is measured.
        slice: The group or model that it is about; None for all.
        statistics: What the subjects say.
        corrected_p: The p value corrected for all lines; None for lines that are no test.
        verdict: About the second set against the first; None for lines that are only shown.
        needed: How many subjects, or groups, would show a difference of the present size.
        why: Why there is not enough data; "" where there is.
    """

    name: LineName
    slice: str | None
    statistics: LineStatistics
    corrected_p: float | None
    verdict: LineVerdict | None
    needed: int | None
    why: str = ""


class LeftOut(NamedTuple):
    """What is in no mean, for one reason, in the first and in the second set.

    Attributes:
        name: Of the line; None for what was left out before anything was graded.
        what: What is counted; for `name` None whatever the set's own list counts.
        reason: Why.
        old: How many in the first set.
        new: How many in the second.
    """

    name: LineName | None
    what: Literal["rows", "subjects", "never graded"]
    reason: str
    old: int
    new: int


class Change(NamedTuple):
    """A subject that passed more or less often in the second set.

    Attributes:
        grader: Who graded.
        subject: Its name.
        old: Passes and runs in the first set.
        new: Passes and runs in the second.
        why: What the grader says of a run that did not pass: of the second set's where it got
            worse, else of the first's.
    """

    grader: str
    subject: str
    old: tuple[float, int]
    new: tuple[float, int]
    why: str

    @property
    def difference(self) -> float:
        """How much more often it passes; below 0 for worse."""
        return self.new[0] / self.new[1] - self.old[0] / self.old[1]


class Comparison(NamedTuple):
    """What two result sets say against each other.

    Attributes:
        plan: How they were compared.
        paired_by: By what subjects were paired.
        lines: What decides.
        beside: What is only shown: single judges beside their panel, groups, models.
        left_out: What is in no mean.
        changes: Subjects whose passes changed, the worst first.
        notes: What to know before reading any number.
    """

    plan: ComparisonPlan
    paired_by: PairRule
    lines: tuple[ComparedLine, ...]
    beside: tuple[ComparedLine, ...]
    left_out: tuple[LeftOut, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> LineVerdict:
        """Worse if any line is; else not enough data if any line lacks it; else the best shown."""
        found = {line.verdict for line in self.lines}
        order: tuple[LineVerdict, ...] = ("worse", "not enough data", "better")
        if self.plan.margin is not None:
            order = ("worse", "not enough data", "no difference shown")
        first = next((verdict for verdict in order if verdict in found), None)
        if first is not None:
            return first
        if self.plan.margin is None:
            return "no difference shown"
        return "better" if found == {"better"} else "not worse by more than the margin"

    @property
    def is_lossy(self) -> bool:
        """Whether rows or subjects are in no mean, or more of B than of A was never graded."""
        return any(item.name is not None or item.new > item.old for item in self.left_out)

    @property
    def exit_code(self) -> int:
        """1 for worse, 3 where the question is left open, else 0.

        Without a margin the question is whether a difference can be shown, and "no" answers it;
        with one it is whether the second set is at least not worse by more.
        """
        verdict = self.verdict
        if verdict == "worse":
            return 1
        is_open = verdict == "no difference shown" and self.plan.margin is not None
        return 3 if is_open or verdict == "not enough data" else 0
