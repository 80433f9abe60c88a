"""What `tracedance replay` prints."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import click

from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.model_spending import told_spent
from tracedance_sdk.cli.replay_jobs import Replayed
from tracedance_sdk.replay import MISSES, STAMPS, JudgedRun
from tracedance_sdk.report import document_text, report_console

_MOST_ROWS: Final = 40


def print_replayed(done: Replayed, *, as_json: bool) -> None:
    """Print what came of each run, where the answers came from, and what the verdicts rest on.

    Args:
        done: What came.
        as_json: Print one document instead of tables.
    """
    if as_json:
        click.echo(document_text(_document(done)))
        return
    console = report_console()
    manifest = done.manifest
    shown = done.found[:_MOST_ROWS]
    print_columns(
        console,
        ("Test", "production", "verdict", "raw", "answers", "ended", "why"),
        [_line(item) for item in shown],
    )
    if len(done.found) > len(shown):
        console.say(f"... and {len(done.found) - len(shown):,} more runs: {done.plan.out}")
    rows = [(stamp, f"{number:,}", STAMPS[stamp]) for stamp, number in manifest["answers"].items()]
    if rows:
        print_columns(console, ("Answers", "number", "which are"), rows, numbers=(1,))
    for item in manifest["rules"]:
        console.say(f"derived {item['answers']:,} x: {item['rule']} ({item['proof']})")
    if manifest["misses"]:
        missed = [(kind, f"{n:,}", MISSES[kind]) for kind, n in manifest["misses"].items()]
        print_columns(console, ("Not recorded", "number", "because"), missed, numbers=(1,))
    verdicts = Counter(str(row.verdict) for row in done.rows)
    console.say(", ".join(f"{number:,} {verdict}" for verdict, number in sorted(verdicts.items())))
    rest = manifest["rest_on_simulated"]
    console.say(f"{rest['tests']}/{rest['of']} verdicts rest on simulated answers")
    if manifest["stale"]:
        console.say(f"{count(manifest['stale'], 'answer')} recorded in another state: stale")
    if manifest["calls"]["sent"] or manifest["calls"]["from_cache"]:
        console.say(told_spent(manifest))
    console.say(f"result set: {done.plan.out}")


def _line(item: Any) -> tuple[str, ...]:
    if not isinstance(item, JudgedRun):
        told = item.test.source.verdict or "-"
        return f"{item.test.id} #{item.trial}", told, "error", "error", "", "not run", item.reason
    run = item.run
    answers = ", ".join(f"{number} {stamp}" for stamp, number in sorted(run.stamps.items()))
    return (
        f"{run.test.id} #{run.trial}",
        run.test.source.verdict or "-",
        item.verdict.value,
        item.raw_verdict.value,
        answers or "none",
        run.ended,
        item.reason,
    )


def _document(done: Replayed) -> dict[str, Any]:
    verdicts = Counter(str(row.verdict) for row in done.rows)
    return {
        "format": "tracedance.replay",
        "version": 1,
        "out": str(done.plan.out),
        "exit_code": done.exit_code,
        "verdicts": dict(sorted(verdicts.items())),
        **done.manifest,
    }
