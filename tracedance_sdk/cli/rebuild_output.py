"""What `tracedance rebuild` prints."""

from __future__ import annotations

from typing import Any

import click

from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.rebuild_jobs import RebuildDone, report_of
from tracedance_sdk.report import document_text, report_console


def print_rebuilt(done: RebuildDone, *, as_json: bool) -> None:
    """Print how many tests there are, what their tools do and who says so, what people remember.

    Args:
        done: What came of the rebuild.
        as_json: Print one document instead of tables, with every decision on every value.
    """
    report = report_of(done)
    if as_json:
        click.echo(document_text(report))
        return
    console = report_console()
    console.say(
        f"{count(report['tests'], 'test')} of {count(report['groups'], 'group')} "
        f"with {count(report['recordings'], 'recorded call')}"
        + (f", {report['unanswered']:,} without an answer" if report["unanswered"] else "")
    )
    if report["masked"]:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in report["masked"].items())
        console.say(f"masked: {kinds}")
    if report["left_out"]:
        rows = [(reason, f"{number:,}") for reason, number in report["left_out"].items()]
        print_columns(console, ("Left out", "traces"), rows, numbers=(1,))
    print_columns(
        console,
        ("Tool", "effect", "says", "definition", "recordings"),
        [
            (
                tool["name"],
                tool["effect"],
                _who_says(tool),
                tool["definition"],
                f"{tool['recordings']:,}",
            )
            for tool in report["tools"]
        ],
        numbers=(4,),
    )
    print_columns(
        console,
        (f"What people remember, by --rule {report['rule']}", "values"),
        [
            (f"{'kept' if item['kept'] else 'dropped'}: {item['reason']}", f"{item['number']:,}")
            for item in report["values"]
        ],
        numbers=(1,),
    )
    if report["kept_by_number_alone"]:
        console.say(
            f"{count(report['kept_by_number_alone'], 'value')} kept because a number in an answer "
            "agrees, which may be chance"
        )
    console.say(f"tests: {done.plan.out}")


def _who_says(tool: dict[str, Any]) -> str:
    overrules = tool["overrules"]
    return f"{tool['effect_from']}, over {overrules}" if overrules else tool["effect_from"]
