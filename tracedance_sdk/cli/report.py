"""`tracedance report`: one static page for a result set, or for what a scan found."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

_EXIT_CODES: Final = """\b
Exit codes:
  0  written
  2  wrong use, or nothing that a page can be made of
  3  written, but something that was named beside the set could not be read
"""
_PATH: Final = click.Path(path_type=Path)


@click.command(name="report", epilog=_EXIT_CODES)
@click.argument("results", type=_PATH)
@click.option(
    "--out",
    type=_PATH,
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="Write the page here.",
)
@click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    type=_PATH,
    metavar="FILE",
    help="Show what came before each decision, from this benchmark; may be repeated.",
)
@click.option(
    "--store", type=_PATH, metavar="DIR", help="Show what came before, from the traces of a store."
)
@click.option(
    "--occurrences",
    type=_PATH,
    metavar="DIR|FILE",
    help="Link to occurrences of the same traces that scan --out found.",
)
@click.option(
    "--tests",
    type=_PATH,
    metavar="DIR",
    help="Link to tests of the same traces that rebuild wrote.",
)
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option("--no-redact", is_flag=True, help="Keep secrets as they are.")
def report_command(
    results: Path,
    *,
    out: Path,
    benchmarks: tuple[Path, ...],
    store: Path | None,
    occurrences: Path | None,
    tests: Path | None,
    title: str | None,
    no_redact: bool,
) -> int:
    """Write one HTML page about a result set, or about occurrences.

    RESULTS is a folder that --out of evaluate, next-turn, judge, replay or benchmark run wrote, or
    the occurrences.jsonl of scan. The page needs no server and no network; every number in it leads
    to what is behind it.
    """
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.cli.counts import count
    from tracedance_sdk.cli.report_jobs import ReportPlan, write_report

    plan = ReportPlan(results, out, benchmarks, store, occurrences, tests, title, no_redact)
    written = write_report(plan)
    shown = count(written.n_subjects, written.what)
    click.echo(
        f"{out}: {shown}, {written.n_details:,} with details, {written.n_bytes / 1e3:,.0f} kB"
    )
    for problem in written.problems:
        complain(problem)
    return 3 if written.problems else 0
