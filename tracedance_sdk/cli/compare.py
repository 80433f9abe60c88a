"""`tracedance compare`: is the second result set better or worse than the first?"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tracedance_sdk.cli.number_options import number

_EXIT_CODES: Final = """\b
Exit codes:
  0  better or no difference shown; with --margin: not worse by more
  1  worse
  2  wrong use, or sets that cannot be compared
  3  not enough data, or with --margin: not shown either way
"""


def _one_at_a_time(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> str | None:
    """Refuse several instead of keeping the last."""
    names = list(dict.fromkeys(given))
    if len(names) > 1:
        raise click.UsageError(f"--by {' and --by '.join(names)}: one is shown at a time")
    return names[0] if names else None


@click.command(name="compare", epilog=_EXIT_CODES)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--alpha",
    type=number(0, 0.5, above=True, below=True),
    default=0.05,
    show_default=True,
    help="Chance of any false better or worse among all lines.",
)
@click.option(
    "--margin",
    type=number(0, 1, above=True, below=True),
    metavar="M",
    help="Ask whether B is worse by no more than M (0.05: five points of the pass rate).",
)
@click.option(
    "--grader",
    "graders",
    multiple=True,
    metavar="PATTERN",
    help="Only graders like this, such as 'spec:*'; may be repeated.",
)
@click.option(
    "--rubric", metavar="ID", help="Of judges' rows only those by this rubric; others stay."
)
@click.option(
    "--pair-by",
    type=click.Choice(("trace", "instance", "task")),
    help="What makes two subjects the same; chosen from the sets otherwise.",
)
@click.option(
    "--sample",
    type=click.Choice(("groups", "subjects", "runs")),
    default="groups",
    show_default=True,
    help="What was sampled: a finding on runs holds for the tasks at hand alone.",
)
@click.option("--model-a", metavar="M", help="Of A only rows of this model.")
@click.option("--model-b", metavar="M", help="Of B only rows of this model.")
@click.option(
    "--by",
    type=click.Choice(("group", "model")),
    multiple=True,
    callback=_one_at_a_time,
    help="Show each group or model too.",
)
@click.option(
    "--allow-different-judges", is_flag=True, help="Compare the scores of different judges too."
)
@click.option(
    "--fail-on-missing", is_flag=True, help="Exit with 3 instead of 0 when anything is left out."
)
@click.option("--all", "show_all", is_flag=True, help="List every subject that changed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def compare_command(
    a: Path,
    b: Path,
    *,
    graders: tuple[str, ...],
    model_a: str | None,
    model_b: str | None,
    allow_different_judges: bool,
    fail_on_missing: bool,
    show_all: bool,
    as_json: bool,
    **options: object,
) -> int:
    """Say whether result set B is better or worse than A, and how sure that is.

    A and B are folders that evaluate, next-turn, judge or pytest --tracedance-out wrote. The same
    subjects are compared with each other, in whole groups; p values are corrected for the number
    of lines.
    """
    from tracedance_sdk.cli.compare_output import Compared, print_comparison
    from tracedance_sdk.grading import read_results
    from tracedance_sdk.report import ComparisonPlan, compare_results

    plan = ComparisonPlan(
        graders=graders,
        old_model=model_a,
        new_model=model_b,
        judges_may_differ=allow_different_judges,
        **options,  # type: ignore[arg-type]  # click has checked them
    )
    sets = read_results(a), read_results(b)
    comparison = compare_results(*sets, plan)
    code = comparison.exit_code
    if fail_on_missing and comparison.is_lossy and code == 0:
        code = 3
    compared = Compared((a, b), sets, comparison, code)
    print_comparison(compared, show_all=show_all, as_json=as_json)
    return code
