"""`tracedance calibrate`: hold a judge against people, and correct its rates by what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.number_options import number, whole

_EXIT_CODES: Final = """\b
Exit codes:
  0  the judge meets the minimum
  1  its kappa is below the minimum
  2  wrong use, or nothing to calibrate with
  3  too few items, undefined kappa, a rate not corrected, or a source unread
"""


@click.command(name="calibrate", epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--labels",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What people say of the items; may be given several times.",
)
@click.option(
    "--ratings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="In place of labels: where traces hold a judge's verdict and the truth (YAML).",
)
@click.option(
    "--apply",
    "apply_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="In place of labels: correct the rates of a result set by this calibration.",
)
@click.option("--rubric", metavar="ID", help="Which rubric, where the set has several.")
@click.option("--judge", metavar="NAME|panel", help="Which judge; by default the panel.")
@click.option(
    "--pass-from",
    type=number(0, 5),
    metavar="SCORE",
    help="The judge passes from this mean score on; by default as the rows say, else 4.",
)
@click.option(
    "--fail-below",
    type=number(0, 5),
    metavar="SCORE",
    help="Of a gate: fail below this, undecided from here to the passing score.",
)
@click.option(
    "--humans",
    "consensus",
    type=click.Choice(("majority", "each")),
    default="majority",
    show_default=True,
    help="Several labellers of an item: what more than half say, or each for itself.",
)
@click.option("--where", metavar="SQL", help="With --ratings, of a store: only these traces.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the calibration here."
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="An earlier calibration: has the judge drifted?",
)
@click.option(
    "--min-kappa",
    type=number(-1, 1),
    default=0.6,
    show_default=True,
    metavar="K",
    help="Least kappa.",
)
@click.option(
    "--min-items",
    type=whole(0),
    default=50,
    show_default=True,
    metavar="N",
    help="On at least so many items.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def calibrate_command(
    sources: tuple[Path, ...], *, where: str | None, as_json: bool, **options: Any
) -> int:
    """Hold a judge against what people say of the same items.

    SOURCES is the result set of `tracedance judge` or `evaluate --judge`; with --ratings, traces
    and stores. What is left out is counted first. The calibration is bound to the judge's model,
    prompt and rubric, and says whether anything may rest on it.
    """
    from tracedance_sdk.cli.calibrate_jobs import CalibratePlan, run_application, run_calibration
    from tracedance_sdk.cli.calibrate_output import print_application, print_calibration
    from tracedance_sdk.cli.wanted import Missed, Wanted, wanted_traces

    plan = CalibratePlan(sources=sources, **options)
    plan.check()
    if where is not None and plan.ratings is None:
        raise click.UsageError("--where chooses among traces; give it with --ratings")
    if plan.apply_file is not None:
        application = run_application(plan)
        print_application(application, as_json=as_json)
        return application.exit_code
    missed = Missed()
    outcome = run_calibration(plan, wanted_traces(sources, Wanted(where, None, "inferred"), missed))
    for note in outcome.notes:
        complain(f"note: {note}")
    print_calibration(outcome, as_json=as_json)
    return outcome.exit_code or (3 if missed.number else 0)
