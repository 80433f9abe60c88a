"""`tracedance init`: draft a task from one good run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="init")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--trace",
    "trace_id",
    metavar="ID",
    help="The trace whose id starts so, or is so at its source.",
)
@click.option("--task-id", metavar="ID", help="Id of the task; by default the trace's own.")
def init(run: Path, trace_id: str | None, task_id: str | None) -> int:
    """Draft a task from one good run, to be read and edited: tracedance init RUN > task.yaml

    RUN is a trace file, or a folder or journal with exactly one trace (or name it by --trace).
    """  # noqa: D415 - the line ends with a command
    from tracedance_sdk.cli.choosing import is_chosen
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.formats import collect_paths
    from tracedance_sdk.grading import draft_spec

    found = list(collect_paths([run]))
    traces = [item.trace for item in found if item.trace is not None]
    if not traces and found:
        for item in found:
            complain(str(item.problem))
        return 2
    chosen = [trace for trace in traces if is_chosen(trace, trace_id)]
    if len(chosen) != 1:
        wanted = "" if trace_id is None else f" with the id {trace_id!r}"
        ids = ", ".join(trace.id[:8] for trace in (chosen or traces)[:3])
        hint = f"; choose one by --trace ID, such as {ids}" if ids else ""
        raise InvalidOption(f"{str(run)!r} holds {len(chosen)} traces{wanted}, not one{hint}")
    # Bytes, because a task file is UTF-8 whatever the terminal's encoding.
    click.echo(draft_spec(chosen[0], task_id=task_id).encode(), nl=False)
    return 0
