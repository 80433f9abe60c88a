"""`tracedance behaviors`: what can be looked for, one of them in full, and whether it is sound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from tracedance_sdk.behaviors import Behavior, Trial
    from tracedance_sdk.report import ReportConsole

_EXIT_CODES: Final = """\b
Exit codes:
  0  shown; with --try, the behaviour is sound
  1  with --try: its anchor does what it should not
  2  wrong use, no such behaviour, or one that is refused
"""


@click.command(name="behaviors", epilog=_EXIT_CODES)
@click.argument("name", required=False, metavar="[ID|FILE]")
@click.option(
    "--try",
    "tried",
    type=click.Path(path_type=Path),
    metavar="STORE",
    help="Try its anchor on a store.",
)
@click.option("--param", "given", multiple=True, metavar="NAME=VALUE", help="Of the behaviour.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def behaviors_command(
    name: str | None, *, tried: Path | None, given: tuple[str, ...], as_json: bool
) -> int:
    """List the behaviours that can be looked for; show one in full; try one of your own.

    A FILE of your own is checked: its fields, its levels, its SQL and its source.

    With --try an anchor is held against what anchors are to be: it finds the same twice, names
    turns of the agent's that are there, finds something and not nearly everything, and asks for
    nothing that happens after the source turn. What it finds is cut as for a benchmark, and why
    some of it cannot be is told.
    """
    from tracedance_sdk.behaviors import behavior_named, check_behavior, packaged_behaviors
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.report import report_console

    if name is None:
        if tried is not None or given:
            raise InvalidOption("--try and --param need a behaviour: its ID, or a FILE")
        _list(list(packaged_behaviors().values()), as_json=as_json)
        return 0
    behavior = behavior_named(name)
    check_behavior(behavior)
    trial = None if tried is None else _trial(behavior, tried, given)
    if as_json:
        _print_json({"behavior": _document(behavior), "trial": trial and trial._asdict()})
    else:
        console = report_console()
        _show(console, behavior)
        if trial is not None:
            _show_trial(console, trial)
    return 1 if trial is not None and trial.problems else 0


def _trial(behavior: Behavior, store: Path, given: tuple[str, ...]) -> Trial:
    from tracedance_sdk.behaviors import try_behavior
    from tracedance_sdk.cli.scan_jobs import parameter_value
    from tracedance_sdk.store import TraceStore

    return try_behavior(
        TraceStore.open(store), behavior, parameters=dict(map(parameter_value, given))
    )


def _document(behavior: Behavior) -> dict[str, Any]:
    return {**behavior.model_dump(mode="json"), "sha256": behavior.sha256}


def _print_json(value: Any) -> None:
    import orjson

    from tracedance_sdk.trace import spelled_out

    click.echo(orjson.dumps(spelled_out(value), option=orjson.OPT_INDENT_2).decode())


def _list(behaviors: list[Behavior], *, as_json: bool) -> None:
    from tracedance_sdk.behaviors import GROUPS
    from tracedance_sdk.cli.columns import print_columns
    from tracedance_sdk.report import report_console

    if as_json:
        _print_json([_document(one) for one in behaviors])
        return
    console = report_console()
    rows = [
        (
            one.id,
            one.name,
            one.frame,
            GROUPS.get(one.group or "", ""),
            one.status if one.status != "stable" else "",
        )
        for one in behaviors
    ]
    print_columns(console, ("id", "behaviour", "frame", "group", ""), rows)


def _show(console: ReportConsole, behavior: Behavior) -> None:
    from tracedance_sdk.behaviors import GROUPS
    from tracedance_sdk.report import in_one_line, visible

    console.say(in_one_line(f"{behavior.id} {behavior.name}"), style="bold")
    if behavior.desirable:
        console.say(in_one_line(f"the opposite: {behavior.desirable}"), indent=2)
    where = f"frame {behavior.frame}, group {GROUPS.get(behavior.group or '', 'none')}"
    console.say(f"{where}, {behavior.status}", indent=2)
    for title, text in (
        ("definition", behavior.definition),
        ("criterion", behavior.criterion),
        ("question", behavior.question),
        ("notes", behavior.notes),
    ):
        if text:
            console.say("")
            console.say(in_one_line(f"{title}: {text}"), hang=2)
    console.say("")
    for level, text in sorted(behavior.rubric.levels.items()):
        console.say(f"{level}  {in_one_line(text)}", indent=2, hang=3)
    for name, parameter in behavior.parameters.items():
        console.say("")
        told = f"parameter {name} = {parameter.default!r}: {parameter.about}"
        console.say(in_one_line(told), hang=2)
    console.say("")
    console.say("anchor:")
    for line in behavior.anchor.sql.splitlines():
        console.say(visible(line), indent=2)
    stage = behavior.anchor.predicate or ("code of its own" if behavior.anchor.code else "none")
    judge = behavior.judge or "none"
    console.say(in_one_line(f"second stage: {stage}; rule judge: {judge}"))


def _show_trial(console: ReportConsole, trial: Trial) -> None:
    from tracedance_sdk.cli.counts import count
    from tracedance_sdk.report import in_one_line

    console.say("")
    found = f"{count(trial.hits, 'hit')} in {trial.hit_sessions:,} of {trial.sessions:,} sessions"
    console.say(f"tried: {found}")
    if trial.cut_tried:
        console.say(f"cut: {trial.cut:,} of {trial.cut_tried:,} for a benchmark")
    for name, why in trial.refusals.items():
        console.say(in_one_line(f"{name}, the first: {why}"), indent=2, hang=2)
    for problem in trial.problems:
        console.say(in_one_line(f"problem: {problem}"), hang=2)
    if not trial.problems:
        console.say("no problems")
