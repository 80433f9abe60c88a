"""`tracedance next-turn`: let a model take the next turn of recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tracedance_sdk.cli.complaints import complain

_EXIT_CODES: Final = """\b
Exit codes:
  0  every reply is an answer, and passed where --spec was given
  1  at least one answer failed or is critical by --spec
  2  wrong use, or no context that could be sent
  3  no failure, but a reply is missing, a check undecided, or a source unread
"""
_INTERRUPTED: Final = 130


@click.command(name="next-turn", epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--model",
    required=True,
    metavar="M",
    help="provider:model[@base_url] (openai, openai-responses, anthropic), or recorded:DIR.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the result set here.",
)
@click.option("--turn", type=click.IntRange(min=0), metavar="N", help="Take the turn with index N.")
@click.option("--before-call", metavar="NAME", help="Take each turn that calls this tool.")
@click.option(
    "--trace",
    "trace_id",
    metavar="ID",
    help="Only this trace: its id, the beginning of it, or its id at the source.",
)
@click.option("--where", metavar="SQL", help="Of a store: only traces for which this holds.")
@click.option(
    "--tools",
    type=click.Choice(("recorded", "known", "inferred")),
    default="inferred",
    show_default=True,
    help="The weakest origin of tool definitions.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="K",
    help="Replies for each context.",
)
@click.option("--seed", type=int, metavar="S", help="Sent with the first sample, S+1 the next, ...")
@click.option("--spec", type=click.Path(path_type=Path), metavar="FILE", help="Check each turn.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    default=32_768,
    show_default=True,
    metavar="N",
    help="Cap on a reply.",
)
@click.option("--temperature", type=click.FloatRange(min=0), metavar="T")
@click.option(
    "--as-recorded", is_flag=True, help="Take temperature and top_p from the recorded turn."
)
@click.option(
    "--opening",
    metavar="TEXT",
    help="Put this before contexts that begin with the assistant, where the API takes none such.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where replies are kept; by default beside --out, as DIR.replies.",
)
@click.option("--max-calls", type=click.IntRange(min=1), metavar="N", help="Send at most N calls.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    metavar="USD",
    help="Start no call once this is spent.",
)
@click.option(
    "--prices", type=click.Path(path_type=Path), metavar="FILE", help="Prices of one's own (YAML)."
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=256),
    default=8,
    show_default=True,
    metavar="N",
    help="Calls at a time.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="For one try.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0, max=10),
    default=2,
    show_default=True,
    metavar="N",
    help="Further tries after what may pass.",
)
@click.option("--offline", is_flag=True, help="Refuse every model that is not on this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def next_turn_command(
    sources: tuple[Path, ...], *, trace_id: str | None, where: str | None, **options: object
) -> int:
    """Let a model take the next turn of recorded runs; nothing it asks for is carried out.

    SOURCES are stores, trace files, folders, journals. Without --turn or --before-call the last
    turn that a model wrote is taken anew. A killed run goes on where it stopped when it is started
    again: replies that were paid for lie in the cache.
    """
    from tracedance_sdk.cli.next_turn_jobs import NextTurnPlan, run_plan
    from tracedance_sdk.cli.next_turn_output import print_outcome
    from tracedance_sdk.cli.wanted import Missed, Wanted, wanted_traces

    as_json = bool(options.pop("as_json"))
    plan = NextTurnPlan(**options)  # type: ignore[arg-type]  # click has checked them
    missed, wanted = Missed(), Wanted(where, trace_id, plan.tools)
    try:
        outcome = run_plan(plan, wanted_traces(sources, wanted, missed))
    except KeyboardInterrupt:
        complain("stopped; replies so far are kept: the same command goes on from there")
        return _INTERRUPTED
    print_outcome(outcome, as_json=as_json)
    return outcome.exit_code or (3 if missed.number else 0)
