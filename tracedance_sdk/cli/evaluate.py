"""`tracedance evaluate`: grade traces and say what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.exit_codes import EXIT_CODES

if TYPE_CHECKING:
    from tracedance_sdk.cli.grading_jobs import Graded, GradingTools, SourceGrades

_MOST_PROBLEMS: Final = 20
_MANY: Final = 2
"""Traces of a task from which on a rule that is about none of them is worth a note."""
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
    "--judge",
    default="none",
    show_default=True,
    metavar="JUDGE",
    help="Who scores how a run went: recorded:FILE, heuristic or none. It decides nothing.",
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
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes to share the files among.",
)
def evaluate_command(
    paths: tuple[str, ...],
    *,
    spec: Path | None,
    tasks: Path | None,
    trace_id: str | None,
    where: str | None,
    sub_agents: bool,
    judge: str,
    as_json: bool,
    junit: Path | None,
    out: Path | None,
    jobs: int,
) -> int:
    """Grade traces: a report for one, a table for many.

    PATHs are trace files, folders of them, journals, or stores. A file that cannot be read is an
    error in the table; the others are graded.
    """
    from tracedance_sdk.cli.evaluation_output import (
        named_rows,
        print_rows,
        write_file,
        write_results,
    )
    from tracedance_sdk.cli.grading_jobs import GradingPlan, open_plan
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.grading import check_writable, exit_code
    from tracedance_sdk.report import junit_xml

    if (spec is None) is (tasks is None):
        raise InvalidOption("say what to grade by: either --spec FILE or --tasks DIR")
    _check_where(paths, where, trace_id)
    plan = GradingPlan(spec, tasks, judge, where, sub_agents)
    tools = open_plan(plan)
    if out is not None:
        check_writable(out)
    if junit is not None:
        _check_file(junit)
    if trace_id is None:
        found = _grade_all(tools, paths, jobs=jobs)
    else:
        found = [_grade_one(tools, paths, trace_id)]
    graded = [item for one in found for item in one.graded]
    n_left_out = sum(one.n_sub_agents for one in found)
    if not any(item.report is not None for item in graded):
        if as_json:
            print_rows(named_rows(graded), graded, as_json=True)
        return _nothing_graded(graded, paths, trace_id, n_left_out)
    if n_left_out:
        complain(_left_out(n_left_out))
    _mention_foreign_tasks(graded, spec)
    _mention_unmatched(graded)
    rows = named_rows(graded)
    if junit is not None:
        write_file(junit, junit_xml(rows))
    if out is not None:
        write_results(out, graded, plan, n_sub_agents=n_left_out)
    print_rows(rows, graded, as_json=as_json)
    return exit_code(item.verdict for item in graded)


def _grade_all(tools: GradingTools, paths: Sequence[str], *, jobs: int) -> list[SourceGrades]:
    from tracedance_sdk.cli.grading_jobs import grade_in_processes, grade_source
    from tracedance_sdk.cli.sources import trace_sources

    sources, notes = trace_sources(paths)
    for note in notes:
        complain(f"note: {note}")
    found: Iterator[SourceGrades]
    if jobs == 1 or len(sources) < 2:
        found = (grade_source(tools, source) for source in sources)
    else:
        found = grade_in_processes(tools.plan, sources, jobs=jobs)
    return list(_watched(found, len(sources)))


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


def _left_out(number: int) -> str:
    many, them = ("trace", "it") if number == 1 else ("traces", "them")
    return f"note: {number} sub-agent {many} not graded; --sub-agents grades {them} too"


def _nothing_graded(
    graded: Sequence[Graded], paths: Sequence[str], trace_id: str | None, n_left_out: int
) -> int:
    if n_left_out:
        complain(_left_out(n_left_out))
    elif not graded:
        wanted = "" if trace_id is None else f" with the id {trace_id!r}"
        complain(f"no traces{wanted} in {', '.join(map(repr, paths))}")
    for item in graded[:_MOST_PROBLEMS]:
        complain(item.problem or "not graded")
    if len(graded) > _MOST_PROBLEMS:
        complain(f"and {len(graded) - _MOST_PROBLEMS} more that could not be graded")
    return 2


def _mention_foreign_tasks(graded: Sequence[Graded], spec: Path | None) -> None:
    foreign = [item.foreign_task for item in graded if item.foreign_task is not None]
    if foreign:
        many = "1 trace is" if len(foreign) == 1 else f"{len(foreign)} traces are"
        such_as = "" if len(set(foreign)) == 1 else "such as "
        complain(
            f"note: {many} of another task ({such_as}{foreign[0]!r}) than the one in "
            f"{str(spec)!r}; graded by it all the same"
        )


def _mention_unmatched(graded: Sequence[Graded]) -> None:
    """Say which rules are about tools that none of several traces has or calls."""
    by_task: dict[str, list[Graded]] = {}
    for item in graded:
        if item.spec_id is not None:
            by_task.setdefault(item.spec_id, []).append(item)
    for task, items in by_task.items():
        rest = set(items[0].unmatched).intersection(*(item.unmatched for item in items))
        for rule in [rule for rule in dict.fromkeys(items[0].unmatched) if rule in rest]:
            if len(items) >= _MANY:
                complain(
                    f"note: task {task!r}, {rule}: no tool or call of this name in any of "
                    f"{len(items)} traces, so the rule applied to nothing"
                )


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
