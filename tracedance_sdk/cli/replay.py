"""`tracedance replay`: run an agent through rebuilt tests."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.model_options import MODEL_NAMES, ModelOptions, model_options
from tracedance_sdk.cli.number_options import number, seconds, whole
from tracedance_sdk.errors import TraceDanceError

_EXIT_CODES: Final = """\b
Exit codes:
  0  every run passed
  1  at least one run failed or is critical
  2  wrong use, or no test
  3  no failure, but a run undecided, in error or not made, or a bad test file
Stopped by Ctrl-C, SIGTERM or SIGHUP (130, 143, 129), the runs so far are in
the result set.
"""
_WRONG_USE: Final = 2


@click.command(name="replay", epilog=_EXIT_CODES)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--agent",
    required=True,
    metavar="AGENT",
    help="module:function or file.py:function (messages and tools in, a message out), "
    "cmd:PROGRAM (JSON lines), an address of HTTP, or recorded: the calls of each test itself.",
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
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the trace of each run here.",
)
@click.option("--test", "tests", multiple=True, metavar="ID", help="Only these tests.")
@click.option(
    "--trials",
    type=whole(1, 1_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Runs of each test.",
)
@click.option(
    "--customer",
    metavar="WHO",
    help="scripted (says what was recorded), rules, one of another package, or a model: "
    f"{MODEL_NAMES}. Rules by default; scripted where the agent is recorded.",
)
@click.option("--spec", type=click.Path(path_type=Path), metavar="FILE", help="Grade by this task.")
@click.option(
    "--tasks", type=click.Path(path_type=Path), metavar="DIR", help="Grade by the tasks in here."
)
@click.option(
    "--grader",
    metavar="FUNCTION",
    help="Grade by a function: it gets the run's trace and returns a verdict.",
)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="M",
    help="Let models judge the transcript, where there is no system of record.",
)
@click.option(
    "--rubric",
    default="task-completion",
    show_default=True,
    metavar="R",
    help="What those models judge by.",
)
@click.option(
    "--pure",
    multiple=True,
    metavar="FUNCTION",
    help="A pure tool that may be run: module:function, or TOOL=module:function.",
)
@click.option(
    "--simulator",
    default="none",
    show_default=True,
    metavar="WHO",
    help="Who makes up missing answers: none, nearest, template, or a model.",
)
@click.option(
    "--no-derived", is_flag=True, help="Derive no answers by rules learned from the recordings."
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(("simulated", "failed", "stale", "outside")),
    help="Let a verdict rest on these all the same.",
)
@click.option(
    "--min-fidelity",
    type=number(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Share of a run's answers that must be evidence.",
)
@click.option("--nearest", is_flag=True, help="Name the nearest recordings of what was missed.")
@click.option("--max-turns", type=whole(1), default=50, show_default=True, metavar="N")
@click.option(
    "--run-timeout",
    type=seconds(),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="What the agent may take for one run.",
)
@click.option(
    "--helper-timeout",
    type=seconds(),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="For each answer of a grader, of a pure tool, and of a customer of another package.",
)
@click.option(
    "--runs",
    type=whole(1, 256),
    default=4,
    show_default=True,
    metavar="N",
    help="Runs at a time.",
)
@click.option("--no-redact", is_flag=True, help="Keep secrets as they are.")
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def replay_command(folder: Path, *, calls: ModelOptions, as_json: bool, **options: Any) -> int:
    """Run an agent through the tests of a folder that `tracedance rebuild` wrote.

    The customer is rebuilt and the tools answer from the recordings: same conversation, another
    conversation, the tool itself where it is pure, a proven rule, a simulator. Nothing is ever
    written anywhere. What a verdict rests on is said; where that is no evidence, the verdict is
    inconclusive.
    """
    from tracedance_sdk.cli.leaving import leave_threads_behind
    from tracedance_sdk.cli.replay_jobs import run_replay
    from tracedance_sdk.cli.replay_keeping import masked_by
    from tracedance_sdk.cli.replay_output import print_replayed
    from tracedance_sdk.cli.replay_plan import ReplayPlan
    from tracedance_sdk.cli.stopping import stopped_by_signals

    plan = ReplayPlan(folder=folder, calls=calls, **options)
    # What an agent or a grader never returns from must not keep the process.
    leave_threads_behind()
    with stopped_by_signals() as stopped:
        try:
            # What an agent prints is no part of the report.
            with contextlib.redirect_stdout(sys.stderr):
                done = run_replay(plan)
        except KeyboardInterrupt:
            complain("stopped; the runs so far are in the result set")
            return stopped.exit_code
        except TraceDanceError as error:
            complain(masked_by(plan).text(str(error)))
            return _WRONG_USE
    print_replayed(done, as_json=as_json)
    return done.exit_code
