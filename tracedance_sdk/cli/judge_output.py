"""What `tracedance judge` prints once everything is judged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import click

from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.judge_jobs import Judged
from tracedance_sdk.cli.judge_summary import Passes, RubricSummary, Scored
from tracedance_sdk.cli.model_spending import told_spent
from tracedance_sdk.report import ReportConsole, document_text, report_console

_MOST_ROWS: Final = 20
_ADDRESS: Final = re.compile(r"@https?://[^#]*")
_TITLES: Final = ("", "items", "mean", "95 %", "passed", "rate", "95 %", "missing", "spread")
_NUMBERS: Final = tuple(range(1, len(_TITLES)))


def print_judged(judged: Judged, *, as_json: bool) -> None:
    """Print what was left out, a table for each rubric, what is missing, and the cost.

    Args:
        judged: What came.
        as_json: Print one document instead.
    """
    if as_json:
        click.echo(document_text(_document(judged)))
        return
    console = report_console()
    manifest = judged.manifest
    left_out = Counter(manifest["exclusions"]).most_common(_MOST_ROWS)
    if left_out:
        rows = [(reason, f"{number:,}") for reason, number in left_out]
        print_columns(console, ("Left out", "number"), rows, numbers=(1,))
        console.say("")
    for summary in judged.summaries:
        _print_rubric(console, summary, judged)
        console.say("")
    missing = manifest["missing"]
    if missing:
        told = ", ".join(f"{kind} {number:,}" for kind, number in missing.items())
        console.say(f"scores missing: {told}")
    console.say(told_spent(manifest))
    console.say(f"result set: {judged.plan.out}")


def _print_rubric(console: ReportConsole, summary: RubricSummary, judged: Judged) -> None:
    plan, rubric = judged.plan, summary.rubric
    told = f"{rubric.id}: {count(summary.panel.scored.n, 'item')}, "
    told += f"passing from a mean of {rubric.pass_from:g}"
    if plan.mode == "joint":
        told += ", judged jointly"
    if plan.repeats > 1:
        told += f", {plan.repeats} times each"
    console.say(told)
    alone = len(summary.judges) == 1
    short = _without_addresses([judge.name for judge in summary.judges])
    rows = [] if alone else [_row(short[judge.name], judge) for judge in summary.judges]
    name = short[summary.judges[0].name] if alone else "panel"
    rows.append(_row(name, summary.panel.scored, summary.panel.passes))
    short = _without_addresses([item.scored.name for item in summary.models])
    rows += [_row(f"of {short[item.scored.name]}", *item) for item in summary.models]
    n_columns = len(_TITLES) if any(row[-1] for row in rows) else len(_TITLES) - 1
    print_columns(
        console,
        _TITLES[:n_columns],
        [row[:n_columns] for row in rows],
        numbers=_NUMBERS[: n_columns - 1],
    )


def _row(name: str, scored: Scored, passes: Passes | None = None) -> tuple[str, ...]:
    missing = f"{scored.n_missing:,} of {scored.n_scores:,}" if scored.n_missing else "0"
    mean = "-" if scored.mean is None else f"{scored.mean:.2f}"
    spread = "" if scored.spread is None else f"{scored.spread:.2f}"
    passed = rate = ends = ""
    if passes is not None:
        passed = f"{passes.n_passed:,} of {passes.n_decided:,}"
        rate = "-" if passes.rate is None else f"{passes.rate:.1%}"
        ends = _ends(passes.interval, ".0%")
    interval = _ends(scored.interval, ".2f")
    return (name, f"{scored.n:,}", mean, interval, passed, rate, ends, missing, spread)


def _without_addresses(names: Sequence[str]) -> dict[str, str]:
    """Return names without where their models are, if that still tells them apart."""
    short = {name: _ADDRESS.sub("", name) for name in names}
    return short if len(set(short.values())) == len(set(names)) else {name: name for name in names}


def _ends(interval: tuple[float, float] | None, form: str) -> str:
    return "-" if interval is None else f"{interval[0]:{form}} to {interval[1]:{form}}"


def _document(judged: Judged) -> dict[str, Any]:
    return {
        "format": "tracedance.judging",
        "version": 1,
        "out": str(judged.plan.out),
        "exit_code": judged.exit_code,
        "summaries": [summary.to_dict() for summary in judged.summaries],
        **judged.manifest,
    }
