"""What `tracedance judge` prints once everything is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import click

from tracedance_sdk.cli.columns import fit_columns, print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.judge_jobs import Judged
from tracedance_sdk.cli.judge_letters import lettered, say_legend, say_name
from tracedance_sdk.cli.judge_summary import Passes, RubricSummary, Scored, Unscored
from tracedance_sdk.cli.left_out import print_left_out
from tracedance_sdk.cli.model_spending import told_spent
from tracedance_sdk.llm import MISSING
from tracedance_sdk.report import ReportConsole, document_text, in_one_line, report_console

_ADDRESS: Final = re.compile(r"@https?://[^#]*")
_TITLES: Final = ("", "items", "mean", "95 %", "passed", "rate", "95 %", "missing", "spread")
_PASSES: Final = (4, 5, 6)
_SPREAD: Final = 8
_LONGEST: Final = 24
_LEAST: Final = {0: _LONGEST + 3}
"""Cells of the first column, so that no name of a model is cut."""


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
    if print_left_out(console, manifest):
        console.say("")
    for summary in judged.summaries:
        _print_rubric(console, summary, judged)
        console.say("")
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
    unasked = sum(item.number for item in summary.unscored if item.kind == "not_asked")
    if unasked:
        wanted = summary.panel.scored.n_scores
        told += f"; asked for {wanted - unasked:,} of {count(wanted, 'score')}"
    console.say(told, hang=2)
    letters = lettered([judge.name for judge in summary.judges])
    alone = len(letters) == 1
    if alone:
        say_name(console, "judge: ", summary.judges[0].name)
    else:
        say_legend(console, letters)
    rows = [] if alone else [_row(letters[judge.name], judge) for judge in summary.judges]
    name = "judge" if alone else "panel"
    rows.append(_row(name, summary.panel.scored, summary.panel.passes))
    models = _model_names([item.scored.name for item in summary.models])
    if any(name not in told for name, told in models.items()):
        for name, told in models.items():
            say_name(console, in_one_line(f"{told}:") + " ", name)
    rows += [_row(f"of {models[item.scored.name]}", *item) for item in summary.models]
    _print_rows(console, rows)
    for item in summary.unscored:
        _say_unscored(console, item, "" if alone else f", judge {letters[item.judge]}")


def _print_rows(console: ReportConsole, rows: Sequence[tuple[str, ...]]) -> None:
    """Print one table, or two below each other where one does not fit."""
    columns = [place for place in range(len(_TITLES)) if place < _SPREAD or _has(rows, place)]
    if fit_columns(console, *_table(rows, columns), numbers=range(1, len(columns)), least=_LEAST):
        tables = [columns]
    else:
        tables = [[place for place in columns if place not in _PASSES], [0, *_PASSES]]
    for shown in tables:
        # A judge by itself decides nothing: its row holds no passes.
        kept = [row for row in rows if any(row[place] for place in shown[1:])]
        titles, cells = _table(kept, shown)
        print_columns(console, titles, cells, numbers=range(1, len(shown)), least=_LEAST)


def _table(
    rows: Sequence[tuple[str, ...]], columns: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    return [_TITLES[n] for n in columns], [[row[n] for n in columns] for row in rows]


def _has(rows: Sequence[tuple[str, ...]], place: int) -> bool:
    return any(row[place] for row in rows)


def _say_unscored(console: ReportConsole, item: Unscored, whose: str) -> None:
    told = item.first or MISSING.get(item.kind, "")  # type: ignore[call-overload]
    lead = f"scores missing{whose}: {item.kind} {item.number:,}"
    first = "it says" if item.number == 1 else "the first says"
    console.say(in_one_line(f"{lead}; {first}: {told}"), hang=2)


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


def _model_names(names: Sequence[str]) -> dict[str, str]:
    """Return names for a table: without where the models are, or numbers for long ones."""
    short = {name: _ADDRESS.sub("", name) for name in names}
    if (
        len(set(short.values())) == len(short)
        and max(map(len, short.values()), default=0) <= _LONGEST
    ):
        return short
    return {name: f"model {number}" for number, name in enumerate(names, 1)}


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
