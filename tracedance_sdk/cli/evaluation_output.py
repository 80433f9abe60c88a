"""What `tracedance evaluate` prints and writes once everything is graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import click

from tracedance_sdk.cli.choosing import short_ids
from tracedance_sdk.cli.evaluation_judge import told_judge
from tracedance_sdk.cli.grading_jobs import Graded, GradingTools
from tracedance_sdk.errors import UnreadableFile
from tracedance_sdk.grading import JudgeAnswer, ResultSetWriter
from tracedance_sdk.report import (
    Row,
    document_text,
    print_report,
    print_table,
    report_console,
    rows_document,
)


def named_rows(graded: Sequence[Graded]) -> list[Row]:
    """Return the graded traces as rows; each is called by as much of its path as tells it apart."""
    names = _short_names({item.path for item in graded})
    short = short_ids(item.part for item in graded if item.stored_as is not None and item.part)
    one_store = len(names) == 1
    return [
        Row(
            name=_row_name(item, names[item.path], short, one_store=one_store),
            path=str(item.path),
            report=item.report,
            problem=item.problem,
            task_id=item.task_id,
        )
        for item in graded
    ]


def _row_name(item: Graded, source: str, short: Mapping[str, str], *, one_store: bool) -> str:
    if item.part is None:
        return source
    if item.stored_as is None:
        return f"{source}#{item.part}"
    # The store's name says nothing where there is no other source.
    parts = ["" if one_store else source, item.stored_as, short[item.part]]
    return "#".join(part for part in parts if part)


def print_rows(rows: Sequence[Row], graded: Sequence[Graded], *, as_json: bool) -> None:
    """Print one report, a table of many, or a JSON document."""
    if as_json:
        click.echo(document_text(rows_document(rows)))
        return
    console = report_console()
    first = rows[0]
    if len(rows) == 1 and first.report is not None:
        print_report(first.report, console, title=first.name, trace=graded[0].trace)
    else:
        print_table(rows, console)


def write_file(path: Path, data: bytes) -> None:
    """Write a file.

    Raises:
        UnreadableFile: It cannot be written.
    """
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from error


def write_results(
    folder: Path, graded: Sequence[Graded], tools: GradingTools, *, n_sub_agents: int = 0
) -> None:
    """Write a result set.

    Args:
        folder: Where to.
        graded: What was graded.
        tools: By what.
        n_sub_agents: How many traces of sub-agents were left out.

    Raises:
        TraceDanceError: The folder cannot be written, or holds other things.
    """
    reports = [item.report for item in graded if item.report is not None]
    exclusions = Counter("not graded" for item in graded if item.report is None)
    if n_sub_agents:
        exclusions["sub-agent"] = n_sub_agents
    manifest = {
        "command": "evaluate",
        "versions": {"tracedance-sdk": version("tracedance-sdk")},
        "specs": dict(sorted({(r.task_id or "", r.spec_hash) for r in reports})),
        "judge": tools.plan.judge.word,
        "exclusions": dict(exclusions),
        **told_judge(tools.judge, answers_of(graded)),
    }
    with ResultSetWriter(folder, manifest=manifest) as writer:
        for item in graded:
            writer.add(item.rows)


def answers_of(graded: Sequence[Graded]) -> list[JudgeAnswer]:
    """Return what the judge said of each run that it was asked about."""
    reports = [item.report for item in graded if item.report is not None]
    return [report.judge for report in reports if report.judge is not None]


def _short_names(paths: set[Path]) -> dict[Path, str]:
    """Return each path's base name, with as many folders before it as keep the names apart."""
    names = {path: path.name or str(path) for path in paths}
    depth = 1
    while True:
        counts = Counter(names.values())
        clashing = [
            path for path, name in names.items() if counts[name] > 1 and len(path.parts) > depth
        ]
        if not clashing:
            return names
        depth += 1
        for path in clashing:
            names[path] = str(Path(*path.parts[-depth:]))
