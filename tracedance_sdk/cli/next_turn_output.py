"""What `tracedance next-turn` prints once every turn is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from tracedance_sdk.cli.columns import fit_columns, print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.left_out import print_left_out
from tracedance_sdk.cli.model_spending import told_spent
from tracedance_sdk.cli.next_turn_jobs import Outcome
from tracedance_sdk.llm import MISSING
from tracedance_sdk.replay import GRADER
from tracedance_sdk.report import ReportConsole, document_text, in_one_line, report_console

_NOT_ASKED: Final = "not_asked"
_WHOLE: Final = 10_000
"""Cells of a column that is not to be shortened."""

_ODD_CALLS: Final = {
    "answers_with_unknown_tools": "calls what was not offered",
    "answers_with_bad_arguments": "arguments against the schema",
}


def print_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Print how many replies are answers, what is missing and why, what the checks say, the cost.

    Args:
        outcome: What came.
        as_json: Print one document instead of a table.
    """
    if as_json:
        click.echo(document_text(_document(outcome)))
        return
    console = report_console()
    manifest = outcome.manifest
    replies = [row for row in outcome.rows if row.grader == GRADER]
    console.say(in_one_line(_headline(manifest, len(replies))), hang=2)
    rows = [("answer", f"{manifest['answers']:,}", "")]
    rows += [
        (f"  {what}", f"{manifest[key]:,}", _first_odd(outcome, key.removeprefix("answers_with_")))
        for key, what in _ODD_CALLS.items()
        if manifest[key]
    ]
    rows += [
        (f"missing: {kind}", f"{number:,}", _example(outcome, kind))
        for kind, number in manifest["missing"].items()
    ]
    _print_replies(console, rows)
    checked = Counter(str(row.verdict) for row in outcome.rows if row.verdict is not None)
    if checked:
        print_columns(
            console,
            ("Check", "number"),
            [(verdict, f"{number:,}") for verdict, number in sorted(checked.items())],
            numbers=(1,),
        )
    print_left_out(console, manifest)
    console.say(told_spent(manifest))
    console.say(f"result set: {outcome.plan.out}")


def _print_replies(console: ReportConsole, rows: Sequence[tuple[str, str, str]]) -> None:
    """Print the table; where a reason would be cut, all reasons stand below it, whole."""
    titles = ("Reply", "number", "the first says")
    whole = {0: _WHOLE, 2: _WHOLE}
    if fit_columns(console, titles, rows, numbers=(1,), least=whole):
        print_columns(console, titles, rows, numbers=(1,))
        return
    print_columns(console, titles[:2], [row[:2] for row in rows], numbers=(1,))
    for what, _, reason in rows:
        if reason:
            console.say(in_one_line(f"{what.strip()}; the first says: {reason}"), hang=2)


def _headline(manifest: Mapping[str, Any], wanted: int) -> str:
    """Say how many turns were taken, or how many of those wanted the model was asked for."""
    where = f"in {count(manifest['contexts'], 'context')}"
    unasked = manifest["missing"].get(_NOT_ASKED, 0)
    if not unasked:
        return f"{manifest['model']} took {count(wanted, 'turn')} {where}"
    return f"{manifest['model']} was asked for {wanted - unasked:,} of {wanted:,} turns {where}"


def _first_odd(outcome: Outcome, field: str) -> str:
    """Return the first odd call among the answers."""
    for row in outcome.rows:
        for item in (row.model_extra or {}).get(field, ()) if row.missing_reason is None else ():
            return item if isinstance(item, str) else f"{item['name']}: {item['problem']}"
    return ""


def _example(outcome: Outcome, kind: str) -> str:
    for row in outcome.rows:
        if row.grader == GRADER and (row.model_extra or {}).get("missing") == kind:
            reason = (row.missing_reason or "").removeprefix(kind).removeprefix(": ")
            return reason or MISSING.get(kind, "")  # type: ignore[call-overload]
    return ""


def _document(outcome: Outcome) -> dict[str, Any]:
    checked = Counter(str(row.verdict) for row in outcome.rows if row.verdict is not None)
    return {
        "format": "tracedance.next_turn",
        "version": 1,
        "out": str(outcome.plan.out),
        "exit_code": outcome.exit_code,
        "verdicts": dict(sorted(checked.items())),
        **outcome.manifest,
    }
