"""What `tracedance calibrate` prints: what is left out, agreement, rules, disagreements, rates."""

from __future__ import annotations

from typing import Final

import click
from rich.cells import cell_len

from tracedance_sdk.cli.calibrate_cells import interval_cell, measure_cells, percent_cell
from tracedance_sdk.cli.calibrate_document import application_document, calibration_document
from tracedance_sdk.cli.calibrate_jobs import Application, CalibrationOutcome
from tracedance_sdk.cli.calibrate_names import (
    ShortNames,
    judge_letters,
    labellers_text,
    telling_width,
)
from tracedance_sdk.cli.calibrate_rules import print_rules
from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.judge_letters import say_legend
from tracedance_sdk.judging import (
    CONSENSUS_WORDS,
    MEASURES,
    SHARES,
    TRUTH,
    CalibrationReport,
    Drift,
    JudgeCalibration,
    JudgedRate,
    Measure,
)
from tracedance_sdk.report import (
    ReportConsole,
    document_text,
    in_one_line,
    report_console,
    shorten,
)

_LEAST_ITEM: Final = 32
_LEAST_REASON: Final = 20


def print_calibration(outcome: CalibrationOutcome, *, as_json: bool) -> None:
    """Print what is known of a judge.

    Args:
        outcome: What came.
        as_json: Print one document instead of tables.
    """
    if as_json:
        click.echo(document_text(calibration_document(outcome)))
        return
    console, report = report_console(), outcome.report
    names = ShortNames.of(report)
    _print_head(console, report.calibration)
    names.say(console)
    _print_left_out(console, report.calibration)
    _print_measures(console, report)
    _print_confusion(console, report)
    _print_humans(console, report)
    _print_curve(console, report)
    print_rules(console, report.rules, names)
    _print_disagreements(console, report, names)
    title = "Pass rate of items without a label"
    _print_rates(console, report.rates, title, report.calibration, names)
    if outcome.drifted is not None:
        _print_drift(console, outcome.drifted)
    console.say("")
    console.say(minimum_line(report.calibration))
    if outcome.plan.out is not None:
        console.say(in_one_line(f"calibration: {outcome.plan.out}"))


def print_application(application: Application, *, as_json: bool) -> None:
    """Print a judge's rates of other results, raw beside corrected; see `print_calibration`."""
    if as_json:
        click.echo(document_text(application_document(application)))
        return
    console = report_console()
    console.say(_judge_line(application.calibration), hang=2)
    say_legend(console, judge_letters(application.calibration))
    missing = [(reason, f"{n:,}") for reason, n in application.judged.missing.items()]
    known = len(application.judged.ratings) - application.rates[0].n
    if known:
        missing.append(("in the calibration itself", f"{known:,}"))
    if missing:
        console.say("")
        print_columns(console, ("Left out", "number"), missing, numbers=(1,))
    names = ShortNames({}, {}, of_models=True)
    _print_rates(console, application.rates, "Pass rate", application.calibration, names)
    console.say("")
    console.say(minimum_line(application.calibration))


def minimum_line(calibration: JudgeCalibration) -> str:
    """Return whether a calibration meets its minimum, in one line."""
    asked = f"kappa >= {calibration.minimum.kappa:g} on >= {calibration.minimum.items:,} items"
    if calibration.shortfall is None:
        return f"the judge meets the minimum ({asked})"
    return f"the judge does not meet the minimum ({asked}): {calibration.shortfall}"


def _print_head(console: ReportConsole, calibration: JudgeCalibration) -> None:
    console.say(_judge_line(calibration), hang=2)
    told = f"{count(calibration.n_items, 'item')} with labels by "
    if _others(calibration) == TRUTH:
        told = f"{count(calibration.n_items, 'item')} of which the trace tells the "
    told += labellers_text(calibration.labellers)
    if len(calibration.labellers) > 1:
        told += f"; {CONSENSUS_WORDS[calibration.consensus]}"
    if calibration.n_clusters < calibration.n_items:
        told += f"; intervals over {calibration.n_clusters:,} groups"
    console.say(told, hang=2)


def _others(calibration: JudgeCalibration) -> str:
    """Return what the judge is held against, in a word."""
    return TRUTH if calibration.labellers == (TRUTH,) else "people"


def _judge_line(calibration: JudgeCalibration) -> str:
    is_panel = calibration.kind == "panel"
    who = f"panel of {len(calibration.judges)}" if is_panel else f"judge {calibration.name}"
    by = f", rubric {calibration.rubric}" if calibration.rubric else ""
    from_score = f", passes from {calibration.pass_from:g}" if _has_scores(calibration) else ""
    return in_one_line(f"{who}{by}{from_score}")


def _has_scores(calibration: JudgeCalibration) -> bool:
    """Whether both sides gave scores, not only pass and fail."""
    return calibration.measures.get("leniency", Measure()).n > 0


def _print_left_out(console: ReportConsole, calibration: JudgeCalibration) -> None:
    if calibration.exclusions:
        rows = [(reason, f"{n:,}") for reason, n in calibration.exclusions.items()]
        console.say("")
        print_columns(console, ("Left out", "number"), rows, numbers=(1,))


def _print_measures(console: ReportConsole, report: CalibrationReport) -> None:
    rows = [
        (MEASURES[name], *measure_cells(found, is_share=name in SHARES), f"{found.n:,}")
        for name, found in report.agreement.measures.items()
    ]
    if not _has_scores(report.calibration):
        rows = rows[:-4]
    console.say("")
    titles = (f"Judge and {_others(report.calibration)}", "value", "95 % interval", "pairs")
    print_columns(console, titles, rows, numbers=(1, 3))


def _print_confusion(console: ReportConsole, report: CalibrationReport) -> None:
    found = report.agreement.confusion
    is_truth = _others(report.calibration) == TRUTH
    console.say("")
    print_columns(
        console,
        ("", "truth: pass", "truth: fail") if is_truth else ("", "people pass", "people fail"),
        [
            ("judge passes", f"{found.tp:,}", f"{found.fp:,}"),
            ("judge fails", f"{found.fn:,}", f"{found.tn:,}"),
        ],
        numbers=(1, 2),
    )


def _print_humans(console: ReportConsole, report: CalibrationReport) -> None:
    if report.between is None:
        return
    rows = [
        (
            f"{first} and {second}",
            " ".join(measure_cells(agreement, is_share=True)),
            " ".join(measure_cells(kappa)),
            f"{table.n:,}",
        )
        for first, second, table, agreement, kappa in report.between.pairs
    ]
    rows.append(
        (
            "all: alpha",
            "",
            " ".join(measure_cells(report.between.alpha)),
            f"{report.between.alpha.n:,}",
        )
    )
    console.say("")
    titles = ("People among themselves", "agreement", "kappa", "items")
    print_columns(console, titles, rows, numbers=(3,), least={1: 22, 2: 22})
    if report.between.n_more:
        console.say(f"and {report.between.n_more:,} more pairs of labellers with fewer items")


def _print_curve(console: ReportConsole, report: CalibrationReport) -> None:
    curve = report.agreement.curve
    if curve is None:
        return
    rows = [
        (
            f"{5 * part.low:g} to {5 * part.high:g}",
            f"{5 * part.mean_score:.2f}",
            percent_cell(part.passed.value),
            interval_cell(part.passed),
            f"{part.passed.n:,}",
        )
        for part in curve.bins
    ]
    console.say("")
    titles = ("Judge's score", "mean", "people pass", "95 % interval", "pairs")
    print_columns(console, titles, rows, numbers=(1, 2, 4))


def _print_disagreements(
    console: ReportConsole, report: CalibrationReport, names: ShortNames
) -> None:
    if not report.disagreements:
        return
    console.say("")
    furthest = ", the furthest apart first" if _has_scores(report.calibration) else ""
    console.say(f"{count(len(report.disagreements), 'disagreement')}{furthest}")
    width = telling_width({pair.item.key.trace_id or "" for pair in report.disagreements})
    rows = [
        (
            names.item(pair.item.key, width),
            _said(pair.item.judge.score, is_pass=pair.item.judge.passed),
            _said(pair.human.score, is_pass=pair.human.passed),
            in_one_line(names.reason(pair)),
        )
        for pair in report.disagreements
    ]
    titles = ("Item", "judge", _others(report.calibration), "the judge's reason")
    # A reason says most in its beginning, so it is cut at its end.
    before = sum(max(cell_len(row[at]) for row in (titles, *rows)) for at in range(3)) + 6
    room = max(_LEAST_REASON, console.width - before)
    rows = [(*row[:3], shorten(row[3], room)) for row in rows]
    print_columns(console, titles, rows, least={0: _LEAST_ITEM, 3: _LEAST_REASON})


def _print_rates(
    console: ReportConsole,
    rates: tuple[JudgedRate, ...],
    title: str,
    calibration: JudgeCalibration,
    names: ShortNames,
) -> None:
    if not rates:
        return
    rows = []
    for rate in rates:
        cells = (names.owner(rate.owner), percent_cell(rate.passes / rate.n))
        if rate.found is None:
            rows.append((*cells, "", "", rate.why or "", f"{rate.n:,}"))
            continue
        raw, corrected = rate.found.raw, rate.found.corrected
        rows.append(
            (
                *cells,
                interval_cell(raw),
                percent_cell(corrected.value),
                interval_cell(corrected),
                f"{rate.n:,}",
            )
        )
    console.say("")
    console.say(title)
    titles = ("", "judge", "95 % interval", "corrected", "95 % interval", "items")
    print_columns(console, titles, rows, numbers=(1, 3, 5), least={0: 12, 2: 14, 4: 14})
    if calibration.n_clusters < calibration.n_pairs:
        console.say(
            "these intervals take items to be independent; where they share groups, too narrow"
        )


def _print_drift(console: ReportConsole, found: Drift) -> None:
    console.say("")
    if found.is_same_judge:
        console.say("the earlier calibration is of the same judge")
    else:
        console.say(in_one_line(f"not the same judge: {'; '.join(found.changed)}"))
    rows = [
        (name, *measure_cells(measure, signed=True))
        for name, measure in (("kappa", found.kappa), ("leniency, points", found.leniency))
    ]
    print_columns(console, ("Drift, now less then", "value", "95 % interval"), rows, numbers=(1,))
    if found.n_shared:
        console.say(f"{count(found.n_shared, 'item')} in both: the intervals are rather too wide")


def _said(score: float | None, *, is_pass: bool) -> str:
    word = "pass" if is_pass else "fail"
    return word if score is None else f"{round(score, 2):g} {word}"
