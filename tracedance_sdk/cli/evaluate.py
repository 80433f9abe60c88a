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
    from tracedance_sdk.cli.grading_jobs import Graded

_MOST_PROBLEMS: Final = 20
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
    judge: str,
    as_json: bool,
    junit: Path | None,
    out: Path | None,
    jobs: int,
) -> int:
    """Grade traces: a report for one, a table for many.

    PATHs are trace files, folders of them, or a journal folder. A file that cannot be read is an
    error in the table; the others are graded.
    """
    from tracedance_sdk.cli.evaluation_output import (
        named_rows,
        print_rows,
        write_file,
        write_results,
    )
    from tracedance_sdk.cli.grading_jobs import (
        GradingPlan,
        grade_in_processes,
        grade_source,
        open_plan,
    )
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.formats import find_sources
    from tracedance_sdk.grading import check_writable, exit_code
    from tracedance_sdk.report import junit_xml

    if (spec is None) is (tasks is None):
        raise InvalidOption("say what to grade by: either --spec FILE or --tasks DIR")
    plan = GradingPlan(spec, tasks, judge)
    tools = open_plan(plan)
    if out is not None:
        check_writable(out)
    if junit is not None:
        _check_file(junit)
    sources = list(find_sources(paths))
    found: Iterator[list[Graded]]
    if jobs == 1 or len(sources) < 2:
        found = (grade_source(tools, source) for source in sources)
    else:
        found = grade_in_processes(plan, sources, jobs=jobs)
    graded = [item for items in _watched(found, len(sources)) for item in items]
    if not any(item.report is not None for item in graded):
        return _nothing_graded(graded, paths)
    _mention_foreign_tasks(graded, spec)
    rows = named_rows(graded)
    if junit is not None:
        write_file(junit, junit_xml(rows))
    if out is not None:
        write_results(out, graded, plan)
    print_rows(rows, graded, as_json=as_json)
    return exit_code(item.verdict for item in graded)


def _nothing_graded(graded: Sequence[Graded], paths: Sequence[str]) -> int:
    if not graded:
        complain(f"no traces in {', '.join(map(repr, paths))}")
    for item in graded[:_MOST_PROBLEMS]:
        complain(item.problem or "not graded")
    if len(graded) > _MOST_PROBLEMS:
        complain(f"and {len(graded) - _MOST_PROBLEMS} more that could not be graded")
    return 2


def _mention_foreign_tasks(graded: Sequence[Graded], spec: Path | None) -> None:
    foreign = [item.foreign_task for item in graded if item.foreign_task is not None]
    if foreign:
        many = "1 trace names" if len(foreign) == 1 else f"{len(foreign)} traces name"
        complain(
            f"note: {many} another task than {str(spec)!r}, such as {foreign[0]!r}; "
            "graded by it all the same"
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
