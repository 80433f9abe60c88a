"""`tracedance label`: people say what judges are measured by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.number_options import whole
from tracedance_sdk.cli.wanted import Wanted, cut_options, wanted_options

_EXIT_CODES: Final = """\b
Exit codes:
  0    every item is labelled, or every row of the table was taken
  2    wrong use, or nothing to label
  3    items are left, rows were bad, a trace is not there, or a source unread
  130  stopped by Ctrl-C; what was answered is kept
"""
_INTERRUPTED: Final = 130


def _pairs(
    _context: click.Context, _option: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return what stands on both sides of the last ``=`` of each value."""
    found = []
    for value in values:
        left, equals, right = value.rpartition("=")
        if not equals or not left.strip() or not right.strip():
            raise click.BadParameter(f"{value!r} is no NAME=VALUE")
        found.append((left.strip(), right.strip()))
    return tuple(found)


def _column_pairs(
    context: click.Context, option: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return field and column of each ``FIELD=NAME``; a name may hold ``=``."""
    for value in values:
        field, equals, name = value.partition("=")
        if not equals or not field.strip() or not name.strip():
            raise click.BadParameter(f"{value!r} is no FIELD=NAME", context, option)
    return tuple(
        (field.strip(), name.strip()) for field, _, name in (v.partition("=") for v in values)
    )


@click.command(name="label", epilog=_EXIT_CODES)
@click.argument("sets", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--rubric", required=True, metavar="R", help="A file, or a packaged rubric's id.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="The labels; gone on with."
)
@click.option("--labeller", metavar="NAME", help="Who labels; by default the login name.")
@click.option(
    "--traces",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Of result sets: where the traces are that they are about.",
)
@click.option("--sample", type=whole(1), metavar="N", help="Take N items by chance.")
@click.option(
    "--seed",
    type=whole(),
    default=0,
    show_default=True,
    metavar="S",
    help="Of choice and order; the same for all labellers.",
)
@click.option("--own-order", is_flag=True, help="Show each labeller an order of their own.")
@click.option("--again", is_flag=True, help="Ask also about items labelled before.")
@click.option("--pass-fail", is_flag=True, help="Ask for pass or fail instead of scores.")
@cut_options
@wanted_options(tools="inferred")
@click.option("--sub-agents", is_flag=True, help="Label the runs of sub-agents too.")
@click.option(
    "--max-characters",
    type=whole(4_000),
    default=24_000,
    show_default=True,
    metavar="N",
    help="Shown of a trace; a judge is shown as many.",
)
@click.option(
    "--csv",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the labels of a table (CSV, or JSON lines) instead of asking.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_column_pairs,
    metavar="FIELD=NAME",
    help="Of the table: which column holds a field.",
)
@click.option(
    "--word",
    "words",
    multiple=True,
    callback=_pairs,
    metavar="WORD=MEANING",
    help="Of the table: a word for pass, fail, unsure or a score.",
)
@click.option(
    "--template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a table to be filled in (.csv or .jsonl) instead of asking.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document at the end.")
def label_command(
    sets: tuple[Path, ...],
    *,
    rubric: str,
    traces: tuple[Path, ...],
    turn: int | None,
    before_call: str | None,
    wanted: Wanted,
    sub_agents: bool,
    **options: object,
) -> int:
    """Let people label what judges judge, blind to the judges, one key an item.

    SETS are result sets (replies of next-turn, or judged items), or traces: stores, files, folders,
    journals. Each answer is on the disk before the next item is shown; the same command goes on
    where the last one stopped. Without a terminal, answers are read as lines: a key, then a note.
    """
    from tracedance_sdk.cli.judge_items import Sources
    from tracedance_sdk.cli.label_items import find_label_items
    from tracedance_sdk.cli.label_jobs import LabelPlan, run_label_plan
    from tracedance_sdk.cli.wanted import Missed
    from tracedance_sdk.judging import load_rubric
    from tracedance_sdk.replay import Cut
    from tracedance_sdk.report import document_text, in_one_line

    plan = LabelPlan(load_rubric(rubric), **options)  # type: ignore[arg-type]  # click checked them
    missed = Missed()
    sources = Sources(sets, traces, wanted, Cut(turn, before_call), sub_agents)
    try:
        outcome = run_label_plan(plan, lambda: find_label_items(sources, plan.rubric, missed))
    except KeyboardInterrupt:
        return _INTERRUPTED
    for problem in outcome.problems:
        complain(problem)
    if plan.as_json:
        click.echo(document_text({**outcome.document, "unread": missed.number}))
    else:
        click.echo(in_one_line(outcome.told))
    return outcome.exit_code or (3 if missed.number else 0)
