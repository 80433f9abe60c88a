"""What `tracedance calibrate` prints: what is left out, agreement, rules, disagreements, rates."""

from __future__ import annotations

from typing import Final

import click

from tracedance_sdk.cli.calibrate_document import application_document, calibration_document
from tracedance_sdk.cli.calibrate_jobs import Application, CalibrationOutcome
from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.judging import (
    CONSENSUS_WORDS,
    MEASURES,
    SHARES,
    TRUTH,
    CalibrationReport,
    Drift,
    ItemKey,
    JudgeCalibration,
    JudgedRate,
    Measure,
    RatedPair,
)
from tracedance_sdk.report import ReportConsole, document_text, in_one_line, report_console
from tracedance_sdk.statistics import Estimate

_MOST_IN_ORDER: Final = 6
_LEAST_OF_ID: Final = 12


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
    _print_head(console, report.calibration)
    _print_left_out(console, report.calibration)
    _print_measures(console, report)
    _print_confusion(console, report)
    _print_humans(console, report)
    _print_curve(console, report)
    _print_rules(console, report)
    _print_disagreements(console, report)
    _print_rates(console, report.rates, "Pass rate of items without a label", report.calibration)
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
    console.say(_judge_line(application.calibration))
    missing = [(reason, f"{n:,}") for reason, n in application.judged.missing.items()]
    known = len(application.judged.ratings) - application.rates[0].n
    if known:
        missing.append(("in the calibration itself", f"{known:,}"))
    if missing:
        console.say("")
        print_columns(console, ("Left out", "number"), missing, numbers=(1,))
    _print_rates(console, application.rates, "Pass rate", application.calibration)
    console.say("")
    console.say(minimum_line(application.calibration))


def minimum_line(calibration: JudgeCalibration) -> str:
    """Return whether a calibration meets its minimum, in one line."""
    asked = f"kappa >= {calibration.minimum.kappa:g} on >= {calibration.minimum.items:,} items"
    if calibration.shortfall is None:
        return f"the judge meets the minimum ({asked})"
    return f"the judge does not meet the minimum ({asked}): {calibration.shortfall}"


def _print_head(console: ReportConsole, calibration: JudgeCalibration) -> None:
    console.say(_judge_line(calibration))
    told = f"{count(calibration.n_items, 'item')} with labels by "
    if _others(calibration) == TRUTH:
        told = f"{count(calibration.n_items, 'item')} of which the trace tells the "
    told += in_one_line(", ".join(calibration.labellers))
    if len(calibration.labellers) > 1:
        told += f"; {CONSENSUS_WORDS[calibration.consensus]}"
    if calibration.n_clusters < calibration.n_items:
        told += f"; intervals over {calibration.n_clusters:,} groups"
    console.say(told)


def _others(calibration: JudgeCalibration) -> str:
    """Return what the judge is held against, in a word."""
    return TRUTH if calibration.labellers == (TRUTH,) else "people"


def _judge_line(calibration: JudgeCalibration) -> str:
    who = calibration.name
    if calibration.kind == "panel":
        who = f"panel of {len(calibration.judges)}: {who}"
    by = f", rubric {calibration.rubric}" if calibration.rubric else ""
    from_score = f", passes from {calibration.pass_from:g}" if _has_scores(calibration) else ""
    return in_one_line(f"judge {who}{by}{from_score}")


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
        (MEASURES[name], *_cells(found, is_share=name in SHARES), f"{found.n:,}")
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
            " ".join(_cells(agreement, is_share=True)),
            " ".join(_cells(kappa)),
            f"{table.n:,}",
        )
        for first, second, table, agreement, kappa in report.between.pairs
    ]
    rows.append(
        ("all: alpha", "", " ".join(_cells(report.between.alpha)), f"{report.between.alpha.n:,}")
    )
    console.say("")
    titles = ("People among themselves", "agreement", "kappa", "items")
    print_columns(console, titles, rows, numbers=(3,))


def _print_curve(console: ReportConsole, report: CalibrationReport) -> None:
    curve = report.agreement.curve
    if curve is None:
        return
    rows = [
        (
            f"{5 * part.low:g} to {5 * part.high:g}",
            f"{5 * part.mean_score:.2f}",
            _percent(part.passed.value),
            _interval(part.passed),
            f"{part.passed.n:,}",
        )
        for part in curve.bins
    ]
    console.say("")
    titles = ("Judge's score", "mean", "people pass", "95 % interval", "pairs")
    print_columns(console, titles, rows, numbers=(1, 2, 4))


def _print_rules(console: ReportConsole, report: CalibrationReport) -> None:
    if not report.rules:
        return
    has_order = any(rule.order for rule in report.rules)
    rows = []
    for rule in report.rules:
        measures = [
            _cells(rule.measures[name], is_share=name in SHARES)[0]
            for name in ("agreement", "kappa", "precision", "recall")
        ]
        order = " > ".join(owner for owner, _ in rule.order[:_MOST_IN_ORDER])
        order += " > ..." if len(rule.order) > _MOST_IN_ORDER else ""
        gap = "" if rule.gap is None else _percent(rule.gap)
        cells = (rule.rule, _percent(rule.pass_rate), *measures)
        rows.append((*cells, gap, order) if has_order else cells)
    titles = ["Passing rule", "passes", "agreement", "kappa", "precision", "recall"]
    titles += ["gap", "order"] if has_order else []
    console.say("")
    print_columns(
        console, titles, rows, numbers=(1, 2, 3, 4, 5, 6) if has_order else (1, 2, 3, 4, 5)
    )


def _print_disagreements(console: ReportConsole, report: CalibrationReport) -> None:
    if not report.disagreements:
        return
    console.say("")
    furthest = ", the furthest apart first" if _has_scores(report.calibration) else ""
    console.say(f"{count(len(report.disagreements), 'disagreement')}{furthest}")
    width = _telling({pair.item.key.trace_id or "" for pair in report.disagreements})
    rows = [
        (
            item_text(pair.item.key, width),
            _said(pair.item.judge.score, is_pass=pair.item.judge.passed),
            _said(pair.human.score, is_pass=pair.human.passed),
            reason_text(pair),
        )
        for pair in report.disagreements
    ]
    titles = ("Item", "judge", _others(report.calibration), "the judge's reason")
    print_columns(console, titles, rows)


def _print_rates(
    console: ReportConsole,
    rates: tuple[JudgedRate, ...],
    title: str,
    calibration: JudgeCalibration,
) -> None:
    if not rates:
        return
    rows = []
    for rate in rates:
        cells = (rate.owner or "all", _percent(rate.passes / rate.n))
        if rate.found is None:
            rows.append((*cells, "", "", rate.why or "", f"{rate.n:,}"))
            continue
        raw, corrected = rate.found.raw, rate.found.corrected
        rows.append(
            (*cells, _interval(raw), _percent(corrected.value), _interval(corrected), f"{rate.n:,}")
        )
    console.say("")
    titles = (title, "by the judge", "95 % interval", "corrected", "95 % interval", "items")
    print_columns(console, titles, rows, numbers=(1, 3, 5))
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
        (name, *_cells(measure, signed=True))
        for name, measure in (("kappa", found.kappa), ("leniency, points", found.leniency))
    ]
    print_columns(console, ("Drift, now less then", "value", "95 % interval"), rows, numbers=(1,))
    if found.n_shared:
        console.say(f"{count(found.n_shared, 'item')} in both: the intervals are rather too wide")


def item_text(key: ItemKey, width: int) -> str:
    """Return a short name of an item for tables, with so many characters of its trace's id."""
    told = [key.instance_id or (key.trace_id or "?")[:width]]
    told += [f"turn {key.turn}"] if key.turn is not None else []
    told += [key.model] if key.model else []
    told += [f"sample {key.sample}"] if key.sample else []
    return ", ".join(told)


def _telling(ids: set[str]) -> int:
    """Return how many characters tell ids apart, at least a few."""
    width, longest = _LEAST_OF_ID, max(map(len, ids))
    while width < longest and len({found[:width] for found in ids}) < len(ids):
        width += 4
    return width


def reason_text(pair: RatedPair) -> str:
    """Return a judge's reason; of a panel each judge's, under its name."""
    reasons = pair.item.judge.reasons
    if len(reasons) == 1:
        return next(iter(reasons.values()))
    return " | ".join(f"{name}: {said}" for name, said in sorted(reasons.items()))


def _said(score: float | None, *, is_pass: bool) -> str:
    word = "pass" if is_pass else "fail"
    return word if score is None else f"{round(score, 2):g} {word}"


def _cells(found: Measure, *, is_share: bool = False, signed: bool = False) -> tuple[str, str]:
    """Return a value and its interval, or why there is none in the interval's place."""
    if found.value is None:
        return "-", found.why or ""
    value = _percent(found.value) if is_share else f"{found.value:{'+' if signed else ''}.3f}"
    if found.low is None or found.high is None:
        return value, found.why or ""
    if is_share:
        return value, f"{100 * found.low:.1f} to {100 * found.high:.1f} %"
    sign = "+" if signed else ""
    return value, f"{found.low:{sign}.3f} to {found.high:{sign}.3f}"


def _interval(found: Estimate) -> str:
    return f"{100 * found.interval.low:.1f} to {100 * found.interval.high:.1f} %"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
