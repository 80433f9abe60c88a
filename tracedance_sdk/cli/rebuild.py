"""`tracedance rebuild`: make tests of recorded conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tracedance_sdk.cli.wanted import Wanted, wanted_options

_EXIT_CODES: Final = """\b
Exit codes:
  0  every conversation became a test
  2  wrong use, or no conversation to make a test of
  3  some traces were left out, or a source unread
"""


@click.command(name="rebuild", epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the test files here; none that is there is overwritten.",
)
@wanted_options(tools="inferred")
@click.option(
    "--effect",
    "effects",
    multiple=True,
    metavar="TOOL=EFFECT",
    help="What a tool does: pure, read, write, terminal. May be given several times.",
)
@click.option(
    "--pure",
    multiple=True,
    metavar="TOOL",
    help="A tool that only computes and may be run; short for --effect TOOL=pure.",
)
@click.option(
    "--overrule",
    multiple=True,
    metavar="TOOL",
    help="Take --effect or --pure for this tool although a more harmful effect was recorded.",
)
@click.option(
    "--rule",
    type=click.Choice(("R1", "R2", "R3")),
    default="R3",
    show_default=True,
    help="What a rebuilt person remembers: all they said; nothing the agent said first; of that, "
    "what the agent had read out of a record.",
)
@click.option("--no-redact", is_flag=True, help="Keep secrets as they are.")
@click.option(
    "--pseudonymise", is_flag=True, help="Replace e-mail addresses, home folders and --names."
)
@click.option(
    "--names",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Names to replace, a person a line.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def rebuild_command(
    sources: tuple[Path, ...],
    *,
    out: Path,
    wanted: Wanted,
    effects: tuple[str, ...],
    pure: tuple[str, ...],
    overrule: tuple[str, ...],
    rule: str,
    no_redact: bool,
    pseudonymise: bool,
    names: Path | None,
    as_json: bool,
) -> int:
    """Make a test of every recorded conversation, offline, with secrets masked.

    A test holds who asked for what, which tools there were, and what they answered. SOURCES are
    stores, trace files, folders, journals. Conversations of one group (a task) never borrow from
    each other. Read the files, and correct them where you know better.
    """
    from tracedance_sdk.cli.rebuild_jobs import Protection, RebuildPlan, run_rebuild
    from tracedance_sdk.cli.rebuild_output import print_rebuilt
    from tracedance_sdk.cli.wanted import wanted_traces
    from tracedance_sdk.errors import InvalidOption

    if names is not None and not pseudonymise:
        raise InvalidOption("--names FILE needs --pseudonymise")
    plan = RebuildPlan(
        out=out,
        sources=sources,
        effects=effects,
        pure=pure,
        overrule=overrule,
        rule=rule,  # type: ignore[arg-type]  # click has checked it
        redact=not no_redact,
        pseudonymise=pseudonymise,
        names=names,
    )
    protection = Protection(plan)
    missed = protection.missed
    done = run_rebuild(plan, wanted_traces(sources, wanted, missed), protection)
    print_rebuilt(done, as_json=as_json)
    return 3 if missed.number or done.rebuilt.left_out else 0
