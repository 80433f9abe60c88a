"""The work of `tracedance calibrate`: read both sides, hold them against each other, write."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from tracedance_sdk.errors import InvalidOption, NotEnoughData, TraceDanceError, shown
from tracedance_sdk.grading import ResultSet, read_results
from tracedance_sdk.judging import (
    CalibrationReport,
    Consensus,
    Drift,
    ItemKey,
    JudgeCalibration,
    Judged,
    JudgedRate,
    Label,
    LabelSet,
    Minimum,
    Rated,
    calibrate,
    check_label_rubric,
    check_same_judge,
    drift,
    judged_items,
    judged_rates,
    load_calibration,
    load_recorded_ratings,
    passing_scores_of,
    rated_items,
    read_labels,
    rubrics_of,
    save_calibration,
    score_problem,
)
from tracedance_sdk.trace import Trace


class CalibratePlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    sources: tuple[Path, ...]
    labels: tuple[Path, ...] = ()
    ratings: Path | None = None
    apply_file: Path | None = None
    rubric: str | None = None
    judge: str | None = None
    pass_from: float | None = None
    fail_below: float | None = None
    consensus: Consensus = "majority"
    out: Path | None = None
    against: Path | None = None
    min_kappa: float = 0.6
    min_items: int = 50

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            InvalidOption: Not exactly one other side, several result sets, or an option without
                what it is about.
        """
        for name in ("pass_from", "fail_below", "min_kappa"):
            if math.isnan(getattr(self, name) or 0):
                raise InvalidOption(f"--{name.replace('_', '-')} is no number; give one")
        given = {
            "--labels": bool(self.labels),
            "--ratings": self.ratings is not None,
            "--apply": self.apply_file is not None,
        }
        if sum(given.values()) != 1:
            told = " and ".join(name for name, is_given in given.items() if is_given) or "nothing"
            raise InvalidOption(
                f"{told} to hold the judge against: give one of --labels FILE, --ratings FILE or "
                "--apply FILE"
            )
        if self.ratings is None and len(self.sources) > 1:
            raise InvalidOption(
                f"{len(self.sources)} result sets are given; give one, or traces with --ratings"
            )
        if self.apply_file is not None and (self.out is not None or self.against is not None):
            raise InvalidOption("--apply makes no new calibration: leave out --out and --against")
        if self.ratings is not None and (self.rubric or self.judge):
            raise InvalidOption(
                "--ratings says whose verdicts it means: leave out --rubric, --judge"
            )


class CalibrationOutcome(NamedTuple):
    """What came of holding a judge against people.

    Attributes:
        plan: What was asked.
        report: What is known of the judge now.
        drifted: Since the earlier calibration; None without one.
        notes: What was left out of the files, a line each.
    """

    plan: CalibratePlan
    report: CalibrationReport
    drifted: Drift | None
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Of the verb."""
        return exit_code_of(self.report.calibration)


class Application(NamedTuple):
    """What a calibration makes of other results.

    Attributes:
        calibration: The one that was applied.
        judged: What its judge says of them.
        rates: Raw and corrected.
    """

    calibration: JudgeCalibration
    judged: Judged
    rates: tuple[JudgedRate, ...]

    @property
    def exit_code(self) -> int:
        """Of the verb."""
        if any(rate.found is None for rate in self.rates[:1]):
            return 3
        return exit_code_of(self.calibration)


def exit_code_of(calibration: JudgeCalibration) -> int:
    """Return 0 when the minimum is met, 1 when kappa is below it, 3 when that cannot be said."""
    if calibration.meets_minimum:
        return 0
    is_few = calibration.n_items < calibration.minimum.items
    return 3 if is_few or calibration.kappa is None else 1


def run_calibration(plan: CalibratePlan, traces: Iterable[Trace]) -> CalibrationOutcome:
    """Hold the judge against people and write the file, if one is asked for.

    Args:
        plan: What to do; checked.
        traces: Read only where the plan has ratings.

    Raises:
        TraceDanceError: A file or a choice that cannot be used, or no item with both sides.
    """
    earlier = None if plan.against is None else load_calibration(plan.against)
    if plan.out is not None:
        _check_replaceable(plan.out)
    notes: tuple[str, ...] = ()
    if plan.ratings is not None:
        rated = load_recorded_ratings(plan.ratings).rated(traces)
    else:
        rated, notes = _labelled(plan)
    minimum = Minimum(kappa=plan.min_kappa, items=plan.min_items)
    report = calibrate(rated, consensus=plan.consensus, fail_below=plan.fail_below, minimum=minimum)
    if plan.out is not None:
        made_by = {
            "command": "calibrate",
            "versions": {"tracedance-sdk": version("tracedance-sdk")},
        }
        save_calibration(report.calibration, plan.out, more=made_by)
    drifted = None if earlier is None else drift(earlier, report.calibration)
    return CalibrationOutcome(plan, report, drifted, notes)


def run_application(plan: CalibratePlan) -> Application:
    """Correct the rates of a result set by an earlier calibration.

    Raises:
        TraceDanceError: A file that cannot be used, or results of another judge.
        NotEnoughData: No items but those of the calibration.
    """
    if plan.apply_file is None:
        raise InvalidOption("give the calibration to apply")
    calibration = load_calibration(plan.apply_file)
    results = read_results(plan.sources[0])
    rubric = plan.rubric or calibration.rubric
    judge = plan.judge or (calibration.judges[0].name if calibration.kind == "judge" else None)
    judged = _judged(plan, results, rubric=_known_rubric(results, rubric), judge=judge)
    check_same_judge(calibration, judged)
    rates = judged_rates(calibration, judged)
    if not rates:
        raise NotEnoughData(
            f"{str(plan.sources[0])!r} holds no item with a verdict by the judge "
            "that is not in the calibration itself"
        )
    return Application(calibration, judged, rates)


def _labelled(plan: CalibratePlan) -> tuple[Rated, tuple[str, ...]]:
    files = {path: read_labels(path) for path in plan.labels}
    results = read_results(plan.sources[0])
    known = rubrics_of(results)
    rubric = plan.rubric
    labelled_by = {found.header.rubric for found in files.values()}
    if rubric is None and len(known) > 1 and len(labelled_by) == 1:
        rubric = next(iter(labelled_by & set(known)), None)
    judged = _judged(plan, results, rubric=rubric, judge=plan.judge)
    bounds = passing_scores_of(results, judged.rubric)
    bound = bounds[0] if len(bounds) == 1 and plan.pass_from is None else None
    for path, found in files.items():
        _check_rubric(path, found, judged)
        problem = score_problem(found, pass_from=bound, where=str(path))
        if problem is not None:
            raise InvalidOption(f"{problem}: mend the label, or leave it out")
    _check_one_answer(files)
    labels = [label for found in files.values() for label in found.labels]
    notes = tuple(note for found in files.values() for note in found.notes)
    return rated_items(judged, labels), notes


def _check_one_answer(files: Mapping[Path, LabelSet]) -> None:
    """Refuse files in which one labeller answers the same item differently."""
    said: dict[tuple[ItemKey, str], tuple[Path, Label]] = {}
    for path, found in files.items():
        for label in found.labels:
            key = label.item, label.labeller
            there, other = said.setdefault(key, (path, label))
            if (other.score, other.passed) != (label.score, label.passed):
                places = " and ".join(
                    f"{file}, line {files[file].lines[key]}" for file in (there, path)
                )
                raise InvalidOption(
                    f"{places}: {shown(label.labeller)} answers the same item differently; give "
                    "one of the files, or take one of the answers out"
                )


def _check_rubric(path: Path, found: LabelSet, judged: Judged) -> None:
    if judged.rubric is not None:
        check_label_rubric(
            found.header, rubric=judged.rubric, sha256=judged.rubric_sha256, where=str(path)
        )


def _judged(
    plan: CalibratePlan, results: ResultSet, *, rubric: str | None, judge: str | None
) -> Judged:
    try:
        return judged_items(results, rubric=rubric, judge=judge, pass_from=plan.pass_from)
    except (InvalidOption, NotEnoughData) as error:
        raise type(error)(f"{str(plan.sources[0])!r}: {error}") from error


def _known_rubric(results: ResultSet, rubric: str | None) -> str | None:
    """Return a rubric, or None where the results are by none: then the judges tell them apart."""
    return rubric if rubric is not None and rubrics_of(results) else None


def _check_replaceable(path: Path) -> None:
    """Refuse to write over anything but an older calibration."""
    if not path.exists():
        return
    try:
        load_calibration(path)
    except TraceDanceError as error:
        raise InvalidOption(
            f"{str(path)!r} is there and is no calibration; name a new file"
        ) from error
