"""`tracedance faithfulness`: may the verdicts of rebuilt tests be believed?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.number_options import number, whole

_EXIT_CODES: Final = """\b
Exit codes:
  0  all nine points hold; --self-check: all was caught; --coverage: counted
  1  a point does not hold; --self-check: something was missed
  2  wrong use, or nothing to measure on
  3  nothing speaks against it, but something is not shown or not measured
"""
_INTERRUPTED: Final = 130
_PATH: Final = click.Path(path_type=Path)


@click.command(name="faithfulness", epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, type=_PATH, metavar="RESULTS...")
@click.option(
    "--recordings",
    multiple=True,
    type=_PATH,
    metavar="SOURCE",
    help="The recorded conversations with their verdicts: traces, or rebuilt tests.",
)
@click.option("--spec", type=_PATH, metavar="FILE", help="Grade the recordings by this task.")
@click.option("--tasks", type=_PATH, metavar="DIR", help="Grade them by the tasks in here.")
@click.option(
    "--grader",
    metavar="FUNCTION",
    help="Grade them by a function: it gets a trace and returns a verdict.",
)
@click.option(
    "--traces",
    multiple=True,
    type=_PATH,
    metavar="DIR",
    help="The traces of the replays: what replay --traces wrote.",
)
@click.option(
    "--truth", type=_PATH, metavar="FILE", help="What the real system answers to their calls."
)
@click.option("--tests", type=_PATH, metavar="DIR", help="The rebuilt tests that were replayed.")
@click.option(
    "--persona",
    multiple=True,
    metavar="RULE=DIR",
    help="Replays of the tests rebuilt by rule R1, R2 or R3; give all three.",
)
@click.option(
    "--changed-replay", type=_PATH, metavar="DIR", help="Replays of the tests by a changed agent."
)
@click.option(
    "--changed-real",
    type=_PATH,
    metavar="FILE",
    help="How it really fares: JSON lines of group, passes, trials; or a result set.",
)
@click.option(
    "--judged", type=_PATH, metavar="DIR", help="A judge's result set on the same traces."
)
@click.option(
    "--margin",
    type=number(0, 1, above=True, below=True),
    default=0.1,
    show_default=True,
    metavar="M",
    help="How far matches and pass rates may lie off.",
)
@click.option(
    "--most-wrong",
    type=number(0, 1),
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Share of wrong answers allowed among those that are evidence.",
)
@click.option(
    "--self-check",
    is_flag=True,
    help="Instead, take RESULTS for recordings, tamper with their writes, and see whether the "
    "grader notices.",
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Instead, take RESULTS for a folder of rebuilt tests, make each test's calls in the other "
    "tests of its group, and count where the answers come from.",
)
@click.option("--no-derived", is_flag=True, help="Of the coverage: derive no answers by rules.")
@click.option(
    "--siblings",
    is_flag=True,
    help="Of the coverage: let tests borrow from their own group, which shows what it costs.",
)
@click.option(
    "--seed", type=whole(), default=0, show_default=True, metavar="N", help="Of the self-check."
)
@click.option(
    "--most",
    type=whole(1),
    default=400,
    show_default=True,
    metavar="N",
    help="Altered recordings that the self-check grades.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def faithfulness_command(
    sources: tuple[Path, ...],
    *,
    self_check: bool,
    coverage: bool,
    no_derived: bool,
    siblings: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure whether rebuilt tests say what production says, against an outside reference.

    RESULTS are result sets of tracedance replay, run with the agent that was recorded. Nine points
    are measured; what cannot be measured says what it needs. The word faithful stands only where
    all nine were measured and hold.
    """
    from tracedance_sdk.cli.faithfulness_coverage import print_coverage, run_coverage
    from tracedance_sdk.cli.faithfulness_jobs import FaithfulnessPlan, run_measurement
    from tracedance_sdk.cli.faithfulness_jobs import run_self_check as check
    from tracedance_sdk.cli.faithfulness_output import print_measured, print_self_check

    plan = FaithfulnessPlan(sources=sources, **options)
    _check_words(self_check, coverage, no_derived, siblings)
    try:
        if coverage:
            covered = run_coverage(plan, derives=not no_derived, leaves_out=not siblings)
            print_coverage(covered, as_json=as_json)
            return 0
        if self_check:
            checked = check(plan)
            print_self_check(checked, as_json=as_json)
            return checked.exit_code
        measured = run_measurement(plan)
    except KeyboardInterrupt:
        complain("stopped; nothing was written")
        return _INTERRUPTED
    print_measured(measured, as_json=as_json)
    return measured.exit_code


def _check_words(self_check: bool, coverage: bool, no_derived: bool, siblings: bool) -> None:
    """Refuse options that do not go together."""
    from tracedance_sdk.errors import InvalidOption

    if self_check and coverage:
        raise InvalidOption("--self-check and --coverage: ask for one of them")
    for name, is_given in (("--no-derived", no_derived), ("--siblings", siblings)):
        if is_given and not coverage:
            raise InvalidOption(f"{name} is for --coverage")
