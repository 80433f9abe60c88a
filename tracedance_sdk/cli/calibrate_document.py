"""What `tracedance calibrate` prints as one JSON document."""

from __future__ import annotations

from typing import Any

from tracedance_sdk.cli.calibrate_jobs import Application, CalibrationOutcome
from tracedance_sdk.judging import (
    BetweenHumans,
    CalibrationReport,
    Drift,
    JudgedRate,
    Measure,
    RatedPair,
    RuleOutcome,
)
from tracedance_sdk.statistics import Estimate


def calibration_document(outcome: CalibrationOutcome) -> dict[str, Any]:
    """Return all that is known of a judge."""
    report = outcome.report
    return {
        "format": "tracedance.calibration_report",
        "version": 1,
        "exit_code": outcome.exit_code,
        "calibration": report.calibration.to_dict(),
        "shortfall": report.calibration.shortfall,
        "reliability": _curve(report),
        "people": None if report.between is None else _people(report.between),
        "rules": [_rule(rule) for rule in report.rules],
        "disagreements": [_pair(pair) for pair in report.disagreements],
        "rates": [_rate(rate) for rate in report.rates],
        "drift": None if outcome.drifted is None else _drift(outcome.drifted),
        "notes": list(outcome.notes),
    }


def application_document(application: Application) -> dict[str, Any]:
    """Return a judge's rates, raw and corrected."""
    return {
        "format": "tracedance.corrected_rates",
        "version": 1,
        "exit_code": application.exit_code,
        "judge": application.calibration.name,
        "rubric": application.calibration.rubric,
        "meets_minimum": application.calibration.meets_minimum,
        "shortfall": application.calibration.shortfall,
        "exclusions": dict(application.judged.missing),
        "in_calibration": len(application.judged.ratings) - application.rates[0].n,
        "rates": [_rate(rate) for rate in application.rates],
    }


def _curve(report: CalibrationReport) -> dict[str, Any] | None:
    curve = report.agreement.curve
    if curve is None:
        return None
    bins = [
        {
            "low": 5 * part.low,
            "high": 5 * part.high,
            "mean_score": 5 * part.mean_score,
            "passed": _estimate(part.passed),
        }
        for part in curve.bins
    ]
    return {"bins": bins, "expected_calibration_error": curve.error}


def _people(between: BetweenHumans) -> dict[str, Any]:
    pairs = [
        {
            "labellers": [first, second],
            "confusion": table._asdict(),
            "agreement": _measure(agreement),
            "kappa": _measure(kappa),
        }
        for first, second, table, agreement, kappa in between.pairs
    ]
    return {
        "pairs": pairs,
        "more_pairs": between.n_more,
        "alpha": _measure(between.alpha),
        "alpha_scores": _measure(between.alpha_scores),
    }


def _rule(rule: RuleOutcome) -> dict[str, Any]:
    return {
        "rule": rule.rule,
        "pass_rate": rule.pass_rate,
        "measures": {name: _measure(found) for name, found in rule.measures.items()},
        "order": [list(pair) for pair in rule.order],
        "gap": rule.gap,
    }


def _pair(pair: RatedPair) -> dict[str, Any]:
    judge, human = pair.item.judge, pair.human
    return {
        "item": pair.item.key._asdict(),
        "judge": {
            "passed": judge.passed,
            "score": judge.score,
            "scores": dict(judge.scores),
            "reasons": dict(judge.reasons),
        },
        "people": {
            "passed": human.passed,
            "score": human.score,
            "labeller": pair.labeller,
            "labels": {
                name: {"passed": said.passed, "score": said.score, "note": said.note}
                for name, said in pair.item.humans.items()
            },
        },
    }


def _rate(rate: JudgedRate) -> dict[str, Any]:
    found = rate.found
    return {
        "model": rate.owner,
        "passes": rate.passes,
        "n": rate.n,
        "raw": None if found is None else _estimate(found.raw),
        "corrected": None if found is None else _estimate(found.corrected),
        "why": rate.why,
    }


def _drift(found: Drift) -> dict[str, Any]:
    return {
        "is_same_judge": found.is_same_judge,
        "changed": list(found.changed),
        "kappa": _measure(found.kappa),
        "leniency": _measure(found.leniency),
        "n_shared": found.n_shared,
    }


def _measure(found: Measure) -> dict[str, Any]:
    return found.model_dump(mode="json")


def _estimate(found: Estimate) -> dict[str, Any]:
    low, high, _ = found.interval
    return {"value": found.value, "low": low, "high": high, "n": found.n}
