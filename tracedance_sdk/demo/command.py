"""`tracedance demo`: record, grade and report, offline and in a second."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tracedance_sdk.trace import Trace


@click.command(name="demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the four traces, the task and the recorded judgements there as well.",
)
def demo(out: Path | None) -> int:
    """Record four runs of one task, grade them, and print a table and one report.

    The environment and the agents are packaged; nothing is sent anywhere. That three of the four
    runs do not pass is the point: two of those three reached the right end all the same.
    """
    from tracedance_sdk.demo.agents import SCRIPTS, record_run
    from tracedance_sdk.demo.packaged import demo_judge, demo_task
    from tracedance_sdk.grading import evaluate
    from tracedance_sdk.report import Row, in_one_line, print_report, print_table, report_console

    if out is not None:
        _make_folder(out / "traces")
    task, judge = demo_task(), demo_judge()
    traces = {name: record_run(name) for name in SCRIPTS}
    rows = [Row(name, name, evaluate(trace, task, judge=judge)) for name, trace in traces.items()]
    console = report_console()
    print_table(rows, console)
    console.say("")
    shown = next(row for row in rows if row.name == "critical-error")
    if shown.report is not None:
        print_report(shown.report, console, title=shown.name, trace=traces[shown.name])
    if out is not None:
        _write(out, traces)
        console.say(f"\nwritten to {in_one_line(str(out))}; to grade the runs again:")
        console.say(in_one_line(_again(out)), indent=2)
    return 0


def _make_folder(folder: Path) -> None:
    from tracedance_sdk.errors import UnreadableFile

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableFile(f"{str(folder)!r} cannot be made: {error.strerror}") from error


def _write(out: Path, traces: Mapping[str, Trace]) -> None:
    from tracedance_sdk.demo.packaged import JUDGEMENTS_FILE, TASK_FILE, judgements_text, task_text
    from tracedance_sdk.errors import UnreadableFile
    from tracedance_sdk.formats import save_trace

    try:
        for name, trace in traces.items():
            save_trace(trace, out / "traces" / f"{name}.json")
        (out / TASK_FILE).write_text(task_text(), encoding="utf-8")
        (out / JUDGEMENTS_FILE).write_text(judgements_text(), encoding="utf-8")
    except OSError as error:
        raise UnreadableFile(f"{str(out)!r} cannot be written: {error.strerror}") from error


def _again(out: Path) -> str:
    traces, task, judge = out / "traces", out / "task.yaml", f"recorded:{out / 'judgements.json'}"
    words = ["tracedance", "evaluate", str(traces), "--spec", str(task), "--judge", judge]
    return shlex.join(words)
