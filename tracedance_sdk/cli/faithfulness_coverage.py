"""`tracedance faithfulness --coverage`: how far the recordings of rebuilt tests reach."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.faithfulness_jobs import FaithfulnessPlan, given_inputs
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay import Coverage, Suite, coverage_of
from tracedance_sdk.report import ReportConsole, document_text, report_console


def run_coverage(plan: FaithfulnessPlan, *, derives: bool, leaves_out: bool) -> Coverage:
    """Read a folder of tests and make the calls of each in the others of its group.

    Args:
        plan: What the user asked for: one folder, and no input of the nine points.
        derives: Whether answers may be derived by proven rules.
        leaves_out: Whether a test borrows from no conversation of its group.

    Raises:
        TraceDanceError: A folder that cannot be used, or an option that has nothing to do here.
    """
    strangers = sorted(given_inputs(plan))
    if strangers:
        raise InvalidOption(f"--{strangers[0].replace('_', '-')} is not for --coverage")
    if len(plan.sources) > 1:
        raise InvalidOption("--coverage takes one folder of rebuilt tests")
    return coverage_of(Suite.load(plan.sources[0]), derives=derives, leaves_out=leaves_out)


def print_coverage(coverage: Coverage, *, as_json: bool) -> None:
    """Print where answers come from, by stamp and by tool, and what nobody may answer.

    Args:
        coverage: What was found.
        as_json: Print one document instead.
    """
    if as_json:
        head = {"format": "tracedance.coverage", "version": 1}
        click.echo(document_text({**head, **coverage.as_json}))
        return
    console = report_console()
    console.say(
        f"{count(coverage.n_pairs, 'pair')} of {count(coverage.n_tests, 'test')}: the calls of "
        "one, answered from the recordings of another of its group"
    )
    _print_stamps(coverage, console)
    console.say("")
    _print_tools(coverage, console)
    console.say("")
    for rule, number in coverage.rules.most_common():
        console.say(f"derived {number:,} x: {rule}")
    stamps = coverage.stamps
    if failed := stamps.get("failed"):
        console.say(
            f"{count(failed['n'], 'call')} without an answer; recordings that are withheld hold "
            f"{failed['withheld']:,} of them"
        )
    clean = f"{coverage.n_clean:,} of {count(coverage.n_pairs, 'pair')}"
    console.say(f"{clean} have an answer to every call", style="bold")


def _print_stamps(coverage: Coverage, console: ReportConsole) -> None:
    rows = [
        (
            stamp,
            *_shown(counts["n"], counts["stale"], counts["history_differs"], counts["differ"]),
        )
        for stamp, counts in coverage.stamps.items()
    ]
    titles = ("Answers", "number", "stale", "other writes before", "told otherwise")
    print_columns(console, titles, rows, numbers=(1, 2, 3, 4))


def _print_tools(coverage: Coverage, console: ReportConsole) -> None:
    names = [*coverage.stamps, "withheld"]
    rows = [
        (tool, *_shown(*(counts[name] for name in names)))
        for tool, counts in coverage.tools.items()
    ]
    numbers = tuple(range(1, len(names) + 1))
    print_columns(console, ("Tool", *names), rows, numbers=numbers)


def _shown(*numbers: int) -> Sequence[str]:
    return [f"{number:,}" for number in numbers]
