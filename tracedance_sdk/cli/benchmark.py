"""`tracedance benchmark`: build benchmarks of one behaviour, look at them, run models on them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.model_options import MODEL_NAMES, ModelOptions, model_options
from tracedance_sdk.cli.number_options import number, whole

if TYPE_CHECKING:
    from tracedance_sdk.errors import BenchmarkRejected

_BUILD_CODES: Final = """\b
Exit codes:
  0  built
  1  rejected; the line begins with the reason, and nothing was written
  2  wrong use, or a store or file that cannot be used
  3  built, but some places could not be looked at or confirmed, as no answer
     could be read; or one of two was rejected
Stopped by Ctrl-C, SIGTERM or SIGHUP (130, 143, 129), what is not whole is not
written; replies of --confirm are kept.
"""
_RUN_CODES: Final = """\b
Exit codes:
  0  every reply was scored
  2  wrong use, or no context that could be sent
  3  a reply or a score is missing, or a line is no instance
Stopped by Ctrl-C, SIGTERM or SIGHUP (130, 143, 129), the replies so far are
in the result set; the same command goes on from there.
"""
_FILE: Final = click.Path(path_type=Path)
_DAY: Final = click.DateTime(["%Y-%m-%d"])


@click.group(name="benchmark")
def benchmark() -> None:
    """Build benchmarks of one behaviour out of traces, and run models on them."""


@benchmark.command(name="build", epilog=_BUILD_CODES)
@click.option(
    "--behavior",
    "asked",
    required=True,
    metavar="WHICH",
    help="An id, name or file; or two: 'A06 AND F07' shows both, 'A06 OR F07' makes two.",
)
@click.option("--store", required=True, type=_FILE, metavar="DIR", help="Whose traces.")
@click.option("--out", required=True, type=_FILE, metavar="FILE", help="Instances, as .jsonl.")
@click.option("--kmin", type=whole(), default=10, show_default=True, help="Instances at least.")
@click.option("--kmax", type=whole(), default=50, show_default=True, help="Instances at most.")
@click.option("--param", "given", multiple=True, metavar="NAME=VALUE", help="Of the behaviour.")
@click.option("--source", "sources", multiple=True, help="Only this agent's or collector's.")
@click.option("--model-family", "model_families", multiple=True, help="Such as claude or gpt.")
@click.option("--min-turns", type=whole(), metavar="N", help="Only traces of N turns at least.")
@click.option("--max-turns", type=whole(), metavar="N", help="Only traces of N turns at most.")
@click.option(
    "--min-failures", type=whole(), metavar="N", help="Only with N failed calls at least."
)
@click.option("--max-failures", type=whole(), metavar="N", help="Only with N failed calls at most.")
@click.option("--tool", "tools_called", multiple=True, help="Only traces that call it.")
@click.option("--since", type=_DAY, metavar="DAY", help="First day, such as 2026-03-01.")
@click.option("--until", type=_DAY, metavar="DAY", help="Last day.")
@click.option("--where", metavar="SQL", help="Only traces that this holds for, by view traces.")
@click.option("--seed", type=whole(), default=0, show_default=True, help="Of the order.")
@click.option(
    "--per-session",
    type=whole(0),
    default=2,
    show_default=True,
    metavar="N",
    help="Instances of one session at most; 0 for any number.",
)
@click.option(
    "--per-project", type=whole(0), metavar="N", help="Instances of one project at most; 0 for any."
)
@click.option(
    "--per-user", type=whole(0), metavar="N", help="Instances of one user at most; 0 for any."
)
@click.option("--keep-duplicates", is_flag=True, help="Keep contexts that are nearly the same.")
@click.option(
    "--tools",
    type=click.Choice(("recorded", "known", "inferred")),
    default="inferred",
    show_default=True,
    help="The weakest origin of tool definitions.",
)
@click.option(
    "--max-context-tokens",
    type=whole(1),
    metavar="N",
    help="Longer contexts are left out; by default what leaves room for a reply in 200,000.",
)
@click.option("--names", type=_FILE, metavar="FILE", help="Names to replace, a person a line.")
@click.option(
    "--audit",
    type=whole(0),
    default=0,
    metavar="N",
    help="Draw N places where nothing was found, for people to look at.",
)
@click.option("--confirm", metavar="M", help=f"Ask a model whether each is one: {MODEL_NAMES}.")
@click.option("--jobs", type=whole(1), default=1, show_default=True, help="Processes.")
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def build_command(
    *,
    calls: ModelOptions,
    since: datetime | None,
    until: datetime | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Build a benchmark of one behaviour out of a store's traces.

    Each instance is a context that ends right before a turn that shows the behaviour. Beside FILE
    lie what it was made from (.construction.jsonl), which no model is to be shown, and a datasheet
    (.md). Without --confirm the instances are unconfirmed: rules found them. Secrets and people
    are taken out as by import --pseudonymise.
    """
    from tracedance_sdk.cli.benchmark_build_jobs import BuildPlan, run_build
    from tracedance_sdk.cli.benchmark_output import print_build, rejection_lines
    from tracedance_sdk.cli.leaving import leave_threads_behind
    from tracedance_sdk.cli.stopping import stopped_by_signals
    from tracedance_sdk.errors import BenchmarkRejected

    plan = BuildPlan(
        calls=calls,
        since=None if since is None else since.date(),
        until=None if until is None else until.date(),
        **options,
    )
    written: list[str] = []
    leave_threads_behind()
    with stopped_by_signals() as stopped:
        try:
            made = run_build(plan, on_built=lambda item: written.append(str(item.path)))
        except BenchmarkRejected as error:
            _say_rejected(error, as_json=as_json)
            return 1
        except KeyboardInterrupt:
            kept = "" if plan.confirm is None else "; replies so far are kept"
            complain(f"stopped; {', '.join(written) or 'nothing'} was written{kept}")
            return stopped.exit_code
    print_build(made, as_json=as_json)
    errors = [error for item in made.built for error in item.errors]
    refused = [line for item in made.rejected for line in rejection_lines(item)]
    for told in (*refused, *errors) if not as_json else ():
        complain(told)
    if not made.built:
        return 1
    return 3 if made.rejected or errors or made.n_unanswered else 0


@benchmark.command(
    name="run", epilog=_RUN_CODES, short_help="Let a model take the next turns, and score them."
)
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option(
    "--model",
    required=True,
    metavar="M",
    help=f"{MODEL_NAMES}; or recorded-source, which scores the withheld turns.",
)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="M",
    help="Score by the rubric with this model instead of by rules; may be repeated.",
)
@click.option("--out", required=True, type=_FILE, metavar="DIR", help="Write the result set here.")
@click.option(
    "--samples",
    type=whole(1),
    default=1,
    show_default=True,
    metavar="K",
    help="Replies for each instance.",
)
@click.option(
    "--seed", type=whole(), metavar="S", help="Sent with the first sample, S+1 the next, ..."
)
@click.option(
    "--tools",
    type=click.Choice(("recorded", "known", "inferred")),
    default="inferred",
    show_default=True,
    help="The weakest origin of tool definitions.",
)
@click.option(
    "--max-tokens",
    type=whole(1),
    default=32_768,
    show_default=True,
    metavar="N",
    help="Cap on a reply.",
)
@click.option(
    "--max-context-tokens",
    type=whole(1),
    metavar="N",
    help="Leave longer contexts out, by a rough count.",
)
@click.option("--temperature", type=number(0), metavar="T")
@click.option(
    "--opening",
    metavar="TEXT",
    help="Put this before contexts that begin with the assistant, where the API takes none such.",
)
@click.option(
    "--repeats",
    type=whole(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Scores of each judge for each reply.",
)
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def run_command(
    files: tuple[Path, ...], *, calls: ModelOptions, as_json: bool, **options: Any
) -> int:
    """Let a model take the next turn of each instance, and score it; nothing is carried out.

    Rules score by default, from 0 (the behaviour recurs) to 5; a turn passes from 4 on. With
    --judge, models score by the rubrics instead. A killed run goes on where it stopped when it is
    started again.
    """
    from tracedance_sdk.cli.benchmark_jobs import RunPlan, run_benchmarks
    from tracedance_sdk.cli.benchmark_output import print_run
    from tracedance_sdk.cli.leaving import leave_threads_behind
    from tracedance_sdk.cli.stopping import stopped_by_signals

    plan = RunPlan(files=files, calls=calls, **options)
    leave_threads_behind()
    with stopped_by_signals() as stopped:
        try:
            outcome = run_benchmarks(plan)
        except KeyboardInterrupt:
            complain("stopped; replies so far are kept: the same command goes on from there")
            return stopped.exit_code
    for problem in outcome.problems:
        complain(problem)
    print_run(outcome, as_json=as_json)
    return outcome.exit_code


@benchmark.command(name="show")
@click.argument("file", type=_FILE, metavar="FILE")
@click.option("--instance", "instance_id", metavar="ID", help="Show the context of this one.")
@click.option("--full", is_flag=True, help="Do not shorten texts, arguments and results.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def show_command(file: Path, *, instance_id: str | None, full: bool, as_json: bool) -> int:
    """Show what a benchmark says of itself, and its instances."""
    from tracedance_sdk.behaviors import read_benchmark
    from tracedance_sdk.cli.benchmark_output import print_benchmark, print_instance

    found = read_benchmark(file)
    for problem in found.problems:
        complain(problem)
    if instance_id is not None:
        print_instance(found, instance_id, full=full, as_json=as_json)
    else:
        print_benchmark(found, as_json=as_json)
    return 3 if found.problems else 0


def _say_rejected(error: BenchmarkRejected, *, as_json: bool) -> None:
    from tracedance_sdk.cli.benchmark_output import rejection_document, rejection_lines
    from tracedance_sdk.report import document_text

    if as_json:
        click.echo(document_text(rejection_document(error)))
        return
    for line in rejection_lines(error):
        complain(line)
