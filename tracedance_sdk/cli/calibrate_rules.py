"""What other passing rules would make of the items, as `tracedance calibrate` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracedance_sdk.cli.calibrate_cells import measure_cells, percent_cell
from tracedance_sdk.cli.calibrate_names import ShortNames
from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.judging import SHARES, RuleOutcome
from tracedance_sdk.report import ReportConsole, in_one_line

_MEASURES: Final = ("agreement", "kappa", "precision", "recall")
_LEAST: Final = 16


def print_rules(console: ReportConsole, rules: Sequence[RuleOutcome], names: ShortNames) -> None:
    """Print each rule with its figures, and the order of models or groups by it.

    Args:
        console: Where to.
        rules: None prints nothing.
        names: What stands for judges, models and groups.
    """
    if not rules:
        return
    rows = []
    for rule in rules:
        cells = [
            measure_cells(rule.measures[name], is_share=name in SHARES)[0] for name in _MEASURES
        ]
        rows.append((names.rule(rule.rule), percent_cell(rule.pass_rate), *cells))
    console.say("")
    titles = ("Passing rule", "passes", *_MEASURES)
    print_columns(console, titles, rows, numbers=(1, 2, 3, 4, 5), least={0: _LEAST})
    if any(rule.order for rule in rules):
        _print_orders(console, rules, names)


def _print_orders(console: ReportConsole, rules: Sequence[RuleOutcome], names: ShortNames) -> None:
    """Print the order by each rule; it is wrapped and never cut."""
    width = max(len("Passing rule"), *(len(in_one_line(names.rule(rule.rule))) for rule in rules))
    console.say("")
    title = f"{names.kind}s by passes, most first"
    console.say(f"{'Passing rule':{width}}      gap  {title}", hang=width + 11)
    for rule in rules:
        gap = "" if rule.gap is None else percent_cell(rule.gap)
        text = f"{in_one_line(names.rule(rule.rule)):{width}}  {gap:>7}  {_order(rule, names)}"
        console.say(text, hang=width + 11)


def _order(rule: RuleOutcome, names: ShortNames) -> str:
    told = ""
    for place, (owner, share) in enumerate(rule.order):
        if place:
            told += " = " if share == rule.order[place - 1][1] else " > "
        told += in_one_line(names.owners.get(owner, owner))
    return told
