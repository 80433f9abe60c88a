"""`tracedance judge`: let models score runs, turns or replies by rubrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.model_options import MODEL_NAMES, ModelOptions, model_options
from tracedance_sdk.cli.number_options import number, whole
from tracedance_sdk.cli.wanted import Wanted, cut_options, wanted_options

_EXIT_CODES: Final = """\b
Exit codes:
  0  everything was judged
  2  wrong use, or nothing to judge
  3  a score is missing, a reply is without its trace, or a source unread
Stopped by Ctrl-C, SIGTERM or SIGHUP (130, 143, 129), what was judged so far
is in the result set; the same command goes on from there.
"""


@click.command(name="judge", epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--rubric",
    "rubrics",
    required=True,
    multiple=True,
    metavar="R",
    help="What is judged: a file, or the id of a packaged rubric. May be given several times.",
)
@click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    metavar="M",
    help=f"Who judges; several are a panel. {MODEL_NAMES}.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the result set here.",
)
@click.option(
    "--traces",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Of result sets: where the traces are that their replies answer.",
)
@cut_options
@wanted_options(tools="inferred")
@click.option("--sub-agents", is_flag=True, help="Judge the runs of sub-agents too.")
@click.option(
    "--mode",
    type=click.Choice(("single", "joint")),
    default="single",
    show_default=True,
    help="One item at a time, or all replies to a context together.",
)
@click.option(
    "--repeats",
    type=whole(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Scores of each judge for each item.",
)
@click.option(
    "--seed",
    type=whole(),
    default=0,
    show_default=True,
    metavar="S",
    help="Of the order in which replies are shown together.",
)
@click.option(
    "--max-characters",
    type=whole(4_000),
    default=24_000,
    show_default=True,
    metavar="N",
    help="Of a trace that a judge is shown; longer ones are shortened in the middle.",
)
@click.option(
    "--max-tokens",
    type=whole(1),
    default=8_192,
    show_default=True,
    metavar="N",
    help="Cap on a judge's reply.",
)
@click.option("--temperature", type=number(0), metavar="T")
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def judge_command(
    sources: tuple[Path, ...],
    *,
    traces: tuple[Path, ...],
    turn: int | None,
    before_call: str | None,
    wanted: Wanted,
    sub_agents: bool,
    calls: ModelOptions,
    as_json: bool,
    **options: Any,
) -> int:
    """Let models score what was recorded by rubrics, from 0 to 5; nothing is run again.

    SOURCES are stores, trace files, folders, journals, or files of instances: whole runs are
    judged, or by a rubric about turns the last turn of each, or those that --turn or --before-call
    names. Or they are result sets of next-turn: then the replies are judged, and --traces says
    where the runs are that they answer. A killed run goes on where it stopped when it is started
    again.
    """
    from tracedance_sdk.cli.judge_items import Sources
    from tracedance_sdk.cli.judge_jobs import JudgePlan, run_judges
    from tracedance_sdk.cli.judge_output import print_judged
    from tracedance_sdk.cli.leaving import leave_threads_behind
    from tracedance_sdk.cli.stopping import stopped_by_signals
    from tracedance_sdk.cli.wanted import Missed
    from tracedance_sdk.replay import Cut

    plan = JudgePlan(calls=calls, **options)
    found = Sources(sources, traces, wanted, Cut(turn, before_call), sub_agents)
    leave_threads_behind()
    with stopped_by_signals() as stopped:
        try:
            judged = run_judges(plan, found, Missed())
        except KeyboardInterrupt:
            complain("stopped; replies so far are kept: the same command goes on from there")
            return stopped.exit_code
    print_judged(judged, as_json=as_json)
    return judged.exit_code
