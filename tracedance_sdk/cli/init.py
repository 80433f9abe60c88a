"""`tracedance init`: draft a task from one good run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

_MOST_LISTED: Final = 5


@click.command(name="init")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--trace",
    "trace_id",
    metavar="ID",
    help="The trace: its id, the beginning of it, or its id at the source.",
)
@click.option("--task-id", metavar="ID", help="Id of the task; by default the trace's own.")
def init(run: Path, trace_id: str | None, task_id: str | None) -> int:
    """Draft a task from one good run, to be read and edited: tracedance init RUN > task.yaml

    RUN is a trace file, or a folder, journal or store with exactly one trace, or name one by
    --trace.
    """  # noqa: D415 - the line ends with a command
    from tracedance_sdk.cli.choosing import described
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.cli.sources import collect_traces
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.grading import draft_spec

    found = list(collect_traces([run], trace_id=trace_id))
    traces = [item.trace for item in found if item.trace is not None]
    if not traces and found:
        for item in found:
            complain(str(item.problem))
        return 2
    chosen = traces
    if len(chosen) > 1 and trace_id is None:
        # A sub-agent's run is part of another one, which is the one to draft from.
        chosen = [trace for trace in chosen if trace.parent is None] or chosen
    if len(chosen) != 1:
        wanted = "" if trace_id is None else f" with the id {trace_id!r}"
        runs = chosen or [trace for trace in traces if trace.parent is None] or traces
        listed = ", ".join(map(described, runs[:_MOST_LISTED]))
        more = f" and {len(runs) - _MOST_LISTED} more" if len(runs) > _MOST_LISTED else ""
        hint = f"; choose one by --trace ID: {listed}{more}" if listed else ""
        raise InvalidOption(f"{str(run)!r} holds {len(chosen)} traces{wanted}, not one{hint}")
    # Bytes, because a task file is UTF-8 whatever the terminal's encoding.
    click.echo(draft_spec(chosen[0], task_id=task_id).encode(), nl=False)
    return 0
