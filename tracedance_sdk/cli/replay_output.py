"""What `tracedance replay` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import click

from tracedance_sdk.cli.columns import fit_columns, print_columns, print_records
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.model_spending import told_spent
from tracedance_sdk.cli.replay_jobs import Replayed
from tracedance_sdk.grading import Verdict
from tracedance_sdk.replay import END_WORDS, MISSES, STAMPS, JudgedRun, NotRun, missed_calls
from tracedance_sdk.report import ReportConsole, document_text, report_console, value_text

_MOST_ROWS: Final = 40
_PRODUCTION: Final = 1
_NEVER_SHORTENED: Final = 10_000
_WORST_FIRST: Final = (
    Verdict.CRITICAL,
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.INCONCLUSIVE,
    Verdict.PASS,
)


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
    worst_first = sorted(done.found, key=_severity)
    shown, left = worst_first[:_MOST_ROWS], worst_first[_MOST_ROWS:]
    _print_runs([_line(item) for item in shown], console)
    if left:
        console.say(f"... and {len(left):,} more runs ({_told(left)}): {done.plan.out}")
    _print_withheld(shown, console)
    rows = [(stamp, f"{number:,}", STAMPS[stamp]) for stamp, number in manifest["answers"].items()]
    if rows:
        print_columns(console, ("Answers", "number", "which are"), rows, numbers=(1,))
    for item in manifest["rules"]:
        console.say(f"derived {item['answers']:,} x: {item['rule']} ({item['proof']})")
    if manifest["misses"]:
        missed = [(kind, f"{n:,}", MISSES[kind]) for kind, n in manifest["misses"].items()]
        print_columns(console, ("Not recorded", "number", "because"), missed, numbers=(1,))
    _print_nearest(done, console)
    console.say(_told(done.found))
    _print_rest(manifest, console)
    if manifest["stale"]:
        console.say(f"{count(manifest['stale'], 'answer')} recorded in another state: stale")
    if manifest["masked"]:
        console.say(f"{count(manifest['masked'], 'answer')} with masked parts: told less than then")
    if manifest["calls"]["sent"] or manifest["calls"]["from_cache"]:
        console.say(told_spent(manifest))
    console.say(f"result set: {done.plan.out}")


def _print_runs(lines: Sequence[tuple[str, ...]], console: ReportConsole) -> None:
    """Print a line for each run, or a block where ids or verdicts would have to be shortened."""
    titles: tuple[str, ...] = ("Test", "production", "verdict", "raw", "answers", "ended", "why")
    if all(line[_PRODUCTION] == "-" for line in lines):
        titles = titles[:_PRODUCTION] + titles[_PRODUCTION + 1 :]
        lines = [line[:_PRODUCTION] + line[_PRODUCTION + 1 :] for line in lines]
    least = dict.fromkeys(range(len(titles) - 1), _NEVER_SHORTENED)
    if fit_columns(console, titles, lines, least=least):
        print_columns(console, titles, lines, least=least)
        return
    del least[len(titles) - 3]
    if fit_columns(console, titles, lines, least=least):
        print_columns(console, titles, lines, least=least)
    else:
        print_records(console, titles, lines)


def _print_withheld(items: Sequence[JudgedRun | NotRun], console: ReportConsole) -> None:
    """Print what the grader said of runs whose verdict rests on no evidence."""
    rows = [
        (f"{item.run.test.id} #{item.run.trial}", item.raw_verdict.value, item.finding.reason)
        for item in items
        if isinstance(item, JudgedRun)
        and item.finding.reason
        and item.reason.endswith(f"; grader: {item.finding.reason}")
    ]
    if rows:
        print_columns(console, ("Inconclusive", "raw", "what the grader says"), rows)


def _print_nearest(done: Replayed, console: ReportConsole) -> None:
    """Print the recordings that are most like what was missed, where they were asked for."""
    runs = [item.run for item in done.found if isinstance(item, JudgedRun)]
    rows = [
        (
            f"{run.test.id} #{run.trial}",
            f"{call['name']} {value_text(call['arguments'])}",
            value_text(near["arguments"]),
            near["conversation"],
            ", ".join(near["differing"]),
        )
        for run in runs
        for call in missed_calls(run)
        for near in call["nearest"]
    ]
    if not rows:
        return
    titles = ("Missed in", "call", "nearest recording", "of", "differs in")
    print_columns(console, titles, rows[:_MOST_ROWS])
    if len(rows) > _MOST_ROWS:
        console.say(f"... and {len(rows) - _MOST_ROWS:,} more recordings: {done.plan.out}")


def _print_rest(manifest: dict[str, Any], console: ReportConsole) -> None:
    """Print how many verdicts rest on no evidence, and of which kind; nothing without a run."""
    rest, kinds = manifest["rest_on_simulated"], manifest["rest_on"]
    if not rest["of"]:
        return
    console.say(f"{rest['tests']}/{rest['of']} verdicts rest on made-up or missing answers")
    if rest["tests"]:
        console.say(
            f"of these, {kinds['made_up']:,} on made-up ones, {kinds['missing']:,} on missing ones"
        )
    if kinds["outside"]:
        console.say(
            f"in {count(kinds['outside'], 'test')} the code of tools ran outside the replay"
        )


def _severity(item: JudgedRun | NotRun) -> int:
    return _WORST_FIRST.index(_verdict(item))


def _verdict(item: JudgedRun | NotRun) -> Verdict:
    return item.verdict if isinstance(item, JudgedRun) else Verdict.ERROR


def _told(items: Sequence[JudgedRun | NotRun]) -> str:
    """Return how many runs have which verdict."""
    verdicts = Counter(_verdict(item).value for item in items)
    return ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(verdicts.items()))


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
        END_WORDS[run.ended],
        item.reason.removesuffix(f"; grader: {item.finding.reason}"),
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
