"""`tracedance evaluate`: grade traces and say what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.exit_codes import EXIT_CODES
from tracedance_sdk.cli.model_options import ModelOptions, model_options
from tracedance_sdk.cli.number_options import whole

if TYPE_CHECKING:
    from tracedance_sdk.cli.grading_jobs import GradingTools, SourceGrades
    from tracedance_sdk.formats import TraceSource

T = TypeVar("T")


@click.command(name="evaluate", epilog=EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--spec", type=click.Path(path_type=Path), metavar="FILE", help="Task to grade by.")
@click.option(
    "--tasks",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of tasks; each trace is graded by the one with its task id.",
)
@click.option(
    "--trace",
    "trace_id",
    metavar="ID",
    help="Only this trace: its id, the beginning of it, or its id at the source.",
)
@click.option("--where", metavar="SQL", help="Of stores: only traces for which this holds.")
@click.option("--sub-agents", is_flag=True, help="Grade the traces of sub-agents too.")
@click.option(
    "--together", is_flag=True, help="Grade each run with what its sub-agents did, as one."
)
@click.option(
    "--judge",
    default="none",
    show_default=True,
    metavar="JUDGE",
    help="Who scores how a run went: provider:model[@base_url], recorded:FILE, heuristic or none. "
    "It decides nothing by itself.",
)
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the judge's scores have been shown to mean: it counts where a task lets it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
@click.option(
    "--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML as well."
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a result set as well."
)
@click.option(
    "--jobs",
    type=whole(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes to share the files among.",
)
@model_options
def evaluate_command(
    paths: tuple[str, ...],
    *,
    spec: Path | None,
    tasks: Path | None,
    trace_id: str | None,
    where: str | None,
    sub_agents: bool,
    together: bool,
    judge: str,
    calibration: Path | None,
    as_json: bool,
    junit: Path | None,
    out: Path | None,
    jobs: int,
    calls: ModelOptions,
) -> int:
    """Grade traces: a report for one, a table for many.

    PATHs are trace files, folders of them, journals, or stores. A file that cannot be read is an
    error in the table; the others are graded. The options from --cache on are for a model that
    judges.
    """
    from tracedance_sdk.cli.evaluation_judge import JudgePlan
    from tracedance_sdk.cli.evaluation_notes import say_notes, say_nothing_graded
    from tracedance_sdk.cli.evaluation_output import (
        named_rows,
        print_rows,
        write_file,
        write_results,
    )
    from tracedance_sdk.cli.grading_jobs import GradingPlan, open_plan
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.grading import exit_code
    from tracedance_sdk.report import junit_xml

    if (spec is None) is (tasks is None):
        raise InvalidOption("say what to grade by: either --spec FILE or --tasks DIR")
    _check_where(paths, where, trace_id)
    _check_together(together, trace_id, sub_agents=sub_agents, jobs=jobs)
    plan = GradingPlan(spec, tasks, JudgePlan(judge, calibration, calls, out), where, sub_agents)
    tools = open_plan(plan)
    _check_use(tools, out=out, junit=junit, jobs=jobs)
    if trace_id is None:
        found = _grade_all(tools, paths, jobs=jobs, together=together)
    else:
        found = [_grade_one(tools, paths, trace_id)]
    graded = [item for one in found for item in one.graded]
    n_left_out = sum(one.n_sub_agents for one in found)
    if not any(item.report is not None for item in graded):
        if as_json:
            print_rows(named_rows(graded), graded, as_json=True)
        say_nothing_graded(graded, paths, trace_id=trace_id, n_left_out=n_left_out)
        return 2
    say_notes(tools, graded, n_left_out=n_left_out)
    rows = named_rows(graded)
    if junit is not None:
        write_file(junit, junit_xml(rows))
    if out is not None:
        write_results(out, graded, tools, n_sub_agents=n_left_out)
    print_rows(rows, graded, as_json=as_json)
    return exit_code(item.verdict for item in graded)


def _grade_all(
    tools: GradingTools, paths: Sequence[str], *, jobs: int, together: bool
) -> list[SourceGrades]:
    from tracedance_sdk.cli.grading_jobs import grade_in_processes, grade_source
    from tracedance_sdk.cli.grading_sources import read_families
    from tracedance_sdk.cli.sources import trace_sources

    sources, notes = trace_sources(paths)
    for note in notes:
        complain(f"note: {note}")
    if together:
        families = read_families(sources, tools.choice)
        tools = tools._replace(choice=tools.choice._replace(families=families))
    if tools.judge.model is not None:
        return _grade_judged(tools, sources)
    found: Iterator[SourceGrades]
    if jobs == 1 or len(sources) < 2:
        found = (grade_source(tools, source) for source in sources)
    else:
        found = grade_in_processes(tools.plan, sources, jobs=jobs)
    return list(_watched(found, len(sources)))


def _grade_judged(tools: GradingTools, sources: Sequence[TraceSource]) -> list[SourceGrades]:
    import asyncio

    from tracedance_sdk.cli.evaluation_judge import judging_progress
    from tracedance_sdk.cli.grading_jobs import grade_judged

    with judging_progress(tools.judge) as on_run:
        try:
            return asyncio.run(grade_judged(tools, sources, on_run=on_run))
        except KeyboardInterrupt:
            if tools.plan.judge.keeps_replies:
                complain("stopped; replies so far are kept: the same command goes on from there")
            raise


def _grade_one(tools: GradingTools, paths: Sequence[str], trace_id: str) -> SourceGrades:
    """Grade the trace that is meant, a sub-agent's too."""
    from tracedance_sdk.cli.grading_jobs import SourceGrades, grade_trace, not_graded
    from tracedance_sdk.cli.sources import collect_traces

    graded = [
        not_graded(item.path, None, str(item.problem))
        if item.trace is None
        else grade_trace(tools, item.path, item.trace)
        for item in collect_traces(paths, trace_id=trace_id)
    ]
    return SourceGrades(graded)


def _check_together(together: bool, trace_id: str | None, *, sub_agents: bool, jobs: int) -> None:
    from tracedance_sdk.errors import InvalidOption

    if together and (sub_agents or trace_id is not None):
        other = "--sub-agents" if sub_agents else "--trace ID"
        raise InvalidOption(f"give either --together or {other}")
    if together and jobs > 1:
        raise InvalidOption("--together reads all traces in one process: leave --jobs out")


def _check_where(paths: Sequence[str], where: str | None, trace_id: str | None) -> None:
    from tracedance_sdk.cli.stores import is_store
    from tracedance_sdk.errors import InvalidOption

    if where is None:
        return
    if trace_id is not None:
        raise InvalidOption("give either --trace ID or --where SQL")
    for path in paths:
        if not is_store(Path(path)):
            raise InvalidOption(f"--where SQL needs a store, and {path!r} is none")


def _check_use(tools: GradingTools, *, out: Path | None, junit: Path | None, jobs: int) -> None:
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.grading import check_writable

    if tools.judge.model is not None and jobs > 1:
        raise InvalidOption("a model that judges is asked from one process: use --concurrency N")
    if out is not None:
        check_writable(out)
    if junit is not None:
        _check_file(junit)


def _check_file(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written."""
    from tracedance_sdk.errors import InvalidOption

    if path.is_dir():
        raise InvalidOption(f"{str(path)!r} is a folder; name a file")
    if not path.absolute().parent.is_dir():
        raise InvalidOption(f"the folder of {str(path)!r} does not exist; make it first")


def _watched(items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the items, with a bar on standard error when a person is watching."""
    if total < 2 or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description="grading")
