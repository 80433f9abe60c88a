"""`tracedance next-turn`: let a model take the next turn of recorded runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.model_options import MODEL_NAMES, ModelOptions, model_options
from tracedance_sdk.cli.number_options import number, whole
from tracedance_sdk.cli.wanted import Wanted, cut_options, wanted_options

if TYPE_CHECKING:
    from tracedance_sdk.cli.next_turn_jobs import NextTurnPlan
    from tracedance_sdk.cli.wanted import Missed
    from tracedance_sdk.replay import Instance
    from tracedance_sdk.trace import Trace

_EXIT_CODES: Final = """\b
Exit codes:
  0  every reply is an answer, and passed where --spec was given
  1  at least one answer failed or is critical by --spec
  2  wrong use, or no context that could be sent
  3  no failure, but a reply is missing, a check undecided, or a source unread
Stopped by Ctrl-C, SIGTERM or SIGHUP (130, 143, 129), the replies so far are
in the result set; the same command goes on from there.
"""


@click.command(name="next-turn", epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--model",
    required=True,
    metavar="M",
    help=MODEL_NAMES,
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the result set here.",
)
@cut_options
@wanted_options(tools="inferred")
@click.option(
    "--samples",
    type=whole(1),
    default=1,
    show_default=True,
    metavar="K",
    help="Replies for each context.",
)
@click.option(
    "--seed", type=whole(), metavar="S", help="Sent with the first sample, S+1 the next, ..."
)
@click.option("--spec", type=click.Path(path_type=Path), metavar="FILE", help="Check each turn.")
@click.option(
    "--max-tokens",
    type=whole(1),
    default=32_768,
    show_default=True,
    metavar="N",
    help="Cap on a reply.",
)
@click.option("--temperature", type=number(0), metavar="T")
@click.option(
    "--as-recorded", is_flag=True, help="Take temperature and top_p from the recorded turn."
)
@click.option(
    "--opening",
    metavar="TEXT",
    help="Put this before contexts that begin with the assistant, where the API takes none such.",
)
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def next_turn_command(
    sources: tuple[Path, ...],
    *,
    wanted: Wanted,
    calls: ModelOptions,
    as_json: bool,
    **options: Any,
) -> int:
    """Let a model take the next turn of recorded runs; nothing it asks for is carried out.

    SOURCES are stores, trace files, folders, journals, or files of instances. Without --turn or
    --before-call the last turn that a model wrote is taken anew; an instance says itself which. A
    killed run goes on where it stopped when it is started again: replies that were paid for lie in
    the cache.
    """
    from tracedance_sdk.cli.leaving import leave_threads_behind
    from tracedance_sdk.cli.next_turn_jobs import NextTurnPlan, run_plan
    from tracedance_sdk.cli.next_turn_output import print_outcome
    from tracedance_sdk.cli.stopping import stopped_by_signals
    from tracedance_sdk.cli.wanted import Missed

    plan, missed = NextTurnPlan(tools=wanted.tools, calls=calls, **options), Missed()
    leave_threads_behind()
    with stopped_by_signals() as stopped:
        try:
            outcome = run_plan(plan, _chosen(sources, wanted, plan, missed))
        except KeyboardInterrupt:
            complain("stopped; replies so far are kept: the same command goes on from there")
            return stopped.exit_code
    print_outcome(outcome, as_json=as_json)
    return outcome.exit_code or (3 if missed.number else 0)


def _chosen(
    sources: tuple[Path, ...], wanted: Wanted, plan: NextTurnPlan, missed: Missed
) -> Iterator[Trace | Instance]:
    """Yield the instances of the files that hold some, and the traces of all others."""
    from tracedance_sdk.cli.wanted import wanted_traces
    from tracedance_sdk.errors import InvalidOption, InvalidTrace
    from tracedance_sdk.replay import is_instance_file, read_instances

    files = [path for path in sources if is_instance_file(path)]
    chosen = (plan.turn, plan.before_call, wanted.trace_id, wanted.where)
    if files and any(value is not None for value in chosen):
        raise InvalidOption(
            f"{str(files[0])!r} holds instances, which say themselves where they are cut: "
            "--turn, --before-call, --trace and --where are for traces"
        )
    for path in files:
        for item in read_instances(path):
            if isinstance(item, InvalidTrace):
                missed.tell(str(item))
            else:
                yield item
    others = tuple(path for path in sources if path not in files)
    if others:
        yield from wanted_traces(others, wanted, missed)
