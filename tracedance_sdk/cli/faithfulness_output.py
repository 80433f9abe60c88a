"""What `tracedance faithfulness` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.faithfulness_jobs import Checked, Measured
from tracedance_sdk.replay import Faithfulness, FaithfulnessPoint, Regraded, Tampered
from tracedance_sdk.report import ReportConsole, document_text, in_one_line, report_console

_MOST_ROWS: Final = 40
_STATE_WIDTH: Final = 15


def print_measured(measured: Measured, *, as_json: bool) -> None:
    """Print the nine points, the tables behind them, and the word.

    Args:
        measured: What was found.
        as_json: Print one document instead.
    """
    found = measured.found
    if as_json:
        document = {"format": "tracedance.faithfulness", "version": 1, **found.as_json}
        click.echo(
            document_text(
                {
                    **document,
                    "exit_code": measured.exit_code,
                    "replays": len(measured.replays),
                    "tests": len({item.test for item in measured.replays}),
                    "undecided": sum(not item.is_decided for item in measured.replays),
                    "unread": measured.unread,
                }
            )
        )
        return
    console = report_console()
    n_tests = len({item.test for item in measured.replays})
    console.say(f"{count(len(measured.replays), 'replay')} of {count(n_tests, 'test')}")
    undecided = sum(not item.is_decided for item in measured.replays)
    if undecided:
        console.say(f"{count(undecided, 'replay')} without a verdict of both: not compared")
    for point in found.points:
        _say_point(point, console)
    _print_answers(found, console)
    _print_lost(found, console)
    _print_persona(found, console)
    console.say("")
    console.say(_summary(found), style="bold")
    if measured.unread:
        console.say(f"{count(measured.unread, 'trace')} could not be read")


def _say_point(point: FaithfulnessPoint, console: ReportConsole) -> None:
    style = {"does not hold": "red", "not shown": "yellow", "not measured": "yellow"}.get(
        point.state, ""
    )
    head = f"{point.number}  {point.state:<{_STATE_WIDTH}}"
    console.say(f"{head}{point.title}", style=style, hang=len(head))
    console.say(in_one_line(point.line), indent=len(head))


def _print_answers(found: Faithfulness, console: ReportConsole) -> None:
    figures = found.points[4].figures
    by_stamp = [
        (row["stamp"], f"{row['n']:,}", f"{row['wrong']:,}") for row in _of(figures, "by_stamp")
    ]
    if not by_stamp:
        return
    console.say("")
    print_columns(console, ("Answers", "number", "wrong"), by_stamp, numbers=(1, 2))
    console.say("")
    by_tool = [
        (row["tool"], row["stamp"], f"{row['n']:,}", f"{row['wrong']:,}")
        for row in _of(figures, "by_tool")
    ]
    _print_some(console, ("Tool", "answers", "number", "wrong"), by_tool, numbers=(2, 3))


def _print_lost(found: Faithfulness, console: ReportConsole) -> None:
    rows = [
        (row["tool"], f"{row['n']:,}", f"{row['withheld']:,}")
        for row in _of(found.points[5].figures, "by_tool")
    ]
    if rows:
        console.say("")
        _print_some(console, ("No right answer", "number", "withheld"), rows, numbers=(1, 2))


def _print_persona(found: Faithfulness, console: ReportConsole) -> None:
    rows = [
        (row["what"], f"{row['n']:,}", ", ".join(f"{n} {c}" for c, n in row["causes"].items()))
        for row in _of(found.points[6].figures, "lost")
    ]
    if rows:
        console.say("")
        print_columns(console, ("Matches", "number", "because of"), rows, numbers=(1,))


def _of(figures: Any, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = figures.get(name, [])
    return rows


def _print_some(
    console: ReportConsole,
    titles: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    *,
    numbers: tuple[int, ...],
) -> None:
    print_columns(console, titles, rows[:_MOST_ROWS], numbers=numbers)
    if len(rows) > _MOST_ROWS:
        console.say(f"... and {len(rows) - _MOST_ROWS:,} more; --json has them all")


def _summary(found: Faithfulness) -> str:
    counts = found.counts
    told = ", ".join(
        f"{counts[state]} {state if state != 'holds' or counts[state] == 1 else 'hold'}"
        for state in ("holds", "does not hold", "not shown", "not measured")
        if counts[state]
    )
    return f"{found.word}: of nine points {told}"


def print_self_check(checked: Checked, *, as_json: bool) -> None:
    """Print what a grader noticed and what it missed.

    Args:
        checked: What was found.
        as_json: Print one document instead.
    """
    found = checked.found
    if as_json:
        click.echo(document_text(_self_check_document(checked)))
        return
    console = report_console()
    stored = [item for item in found.regraded if item.stored is not None]
    agreeing = len(stored) - len(found.disagreeing)
    console.say(
        f"{count(len(found.regraded), 'recording')}; {agreeing:,} of {len(stored):,} "
        "stored verdicts are given back"
    )
    _print_disagreeing(found.disagreeing, console)
    console.say(
        f"{count(found.n_passing, 'recording')} that passes"
        if found.n_passing == 1
        else f"{found.n_passing:,} recordings that pass"
    )
    if found.n_without_writes:
        console.say(f"{found.n_without_writes:,} of them without a write: nothing to tamper with")
    if len(found.tampered) < found.n_possible:
        console.say(
            f"{len(found.tampered):,} of {found.n_possible:,} alterations were graded, "
            f"chosen by seed {found.seed}"
        )
    kinds = [(kind, *numbers) for kind, numbers in _by_kind(found.tampered).items()]
    if kinds:
        titles = ("Writes", "number", "caught", "missed", "error")
        print_columns(console, titles, kinds, numbers=(1, 2, 3, 4))
    missed = [item for item in found.tampered if item.outcome != "caught"]
    if missed:
        console.say("")
        head = ("Not caught", "recording", "tool", "what was altered")
        _print_some(console, head, [_cells(item) for item in missed], numbers=())
    console.say("")
    console.say(_self_check_word(checked), style="bold")


def _print_disagreeing(disagreeing: Sequence[Regraded], console: ReportConsole) -> None:
    if not disagreeing:
        return
    rows = [
        (item.name, "pass" if item.stored else "fail", item.verdict.value, item.reason)
        for item in disagreeing
    ]
    _print_some(console, ("Not given back", "stored", "grader", "why"), rows, numbers=())


def _by_kind(tampered: tuple[Tampered, ...]) -> dict[str, tuple[str, ...]]:
    found = {}
    for kind in ("left out", "altered"):
        of = [item.outcome for item in tampered if item.alteration.kind == kind]
        if of:
            numbers = (len(of), *(of.count(o) for o in ("caught", "missed", "error")))
            found[kind] = tuple(f"{number:,}" for number in numbers)
    return found


def _cells(item: Tampered) -> tuple[str, str, str, str]:
    altered = item.alteration
    return item.outcome, altered.name, altered.tool, f"{altered.kind}: {altered.what}"


def _self_check_word(checked: Checked) -> str:
    found = checked.found
    if not found.tampered:
        return "nothing could be tampered with: no recording that passes has a write"
    n, caught = len(found.tampered), len(found.of("caught"))
    return f"the grader caught {caught:,} of {n:,} alterations"


def _self_check_document(checked: Checked) -> dict[str, Any]:
    found = checked.found
    return {
        "format": "tracedance.self_check",
        "version": 1,
        "exit_code": checked.exit_code,
        "recordings": len(found.regraded),
        "stored": sum(item.stored is not None for item in found.regraded),
        "disagreeing": [
            {
                "recording": item.name,
                "stored": "pass" if item.stored else "fail",
                "grader": item.verdict.value,
                "reason": item.reason,
            }
            for item in found.disagreeing
        ],
        "passing": found.n_passing,
        "without_writes": found.n_without_writes,
        "possible": found.n_possible,
        "graded": len(found.tampered),
        "seed": found.seed,
        "caught": len(found.of("caught")),
        "missed": len(found.of("missed")),
        "errors": len(found.of("error")),
        "not_caught": [
            {**item.alteration._asdict(), "outcome": item.outcome, "reason": item.reason}
            for item in found.tampered
            if item.outcome != "caught"
        ],
        "unread": checked.unread,
    }
