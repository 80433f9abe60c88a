"""The work of `tracedance replay`: tests, an agent, answers from recordings, a result set."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.replay_keeping import KeptRuns, check_place, held, in_order, masked_by
from tracedance_sdk.cli.replay_plan import ReplayPlan
from tracedance_sdk.cli.replay_players import PlannedModels, players_of
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.grading import ResultRow, Verdict, check_writable, exit_code
from tracedance_sdk.replay import (
    JudgedRun,
    Masked,
    NotRun,
    Players,
    RunLimits,
    Suite,
    SuiteSettings,
    odd_recordings,
    run_all,
)

_MOST_WARNINGS: Final = 5


class Replayed(NamedTuple):
    """What came of a plan.

    Attributes:
        found: The runs.
        rows: Of the result set.
        manifest: What the set says of itself.
        exit_code: Of the verb.
    """

    plan: ReplayPlan
    found: list[JudgedRun | NotRun]
    rows: list[ResultRow]
    manifest: dict[str, Any]
    exit_code: int


def run_replay(plan: ReplayPlan) -> Replayed:
    """Run the tests and write the result set, run by run.

    Raises:
        TraceDanceError: A folder, agent, grader, model or option that cannot be used, or no test
            that can be run; nothing was run then. Or a file that can no longer be written.
    """
    check_writable(plan.out)
    given, plan = plan, plan.from_here()
    broken: list[TraceDanceError] = []
    suite = Suite.load(given.folder, on_bad=broken.append)
    masked = masked_by(plan)
    _tell_of_broken(broken, masked)
    chosen = _chosen(suite, plan.tests)
    _warn_of_odd(chosen, masked)
    models = PlannedModels(plan)
    players = players_of(plan, chosen, models)
    check_place(plan.out, "--out")
    if plan.traces is not None:
        check_place(plan.traces, "--traces")
    kept = KeptRuns(plan, chosen, models.opened, broken)
    with held(plan.out):
        rows, manifest = _kept_runs(plan, chosen, players, kept, models)
    verdicts = [row.verdict for row in rows if row.verdict] + [Verdict.ERROR] * len(broken)
    found = in_order(kept.items, chosen)
    return Replayed(given, found, rows, manifest, exit_code(verdicts))


def _kept_runs(
    plan: ReplayPlan, chosen: Suite, players: Players, kept: KeptRuns, models: PlannedModels
) -> tuple[list[ResultRow], dict[str, Any]]:
    """Run the tests and keep what comes; return the rows and the manifest."""
    try:
        with kept, _progress(len(chosen.tests) * plan.trials) as on_run:

            def keep(item: JudgedRun | NotRun) -> None:
                kept.add(item)
                if on_run is not None:
                    on_run(item)

            run_all(chosen, players, _settings(plan), on_run=keep, closes=models.askers)
    except BaseException as error:
        # What was run was paid for: it is kept, and the set says that it is not whole.
        if kept.items or isinstance(error, KeyboardInterrupt):
            kept.write()
        raise
    return kept.write()


def _settings(plan: ReplayPlan) -> SuiteSettings:
    return SuiteSettings(
        trials=plan.trials,
        concurrency=plan.runs,
        limits=RunLimits(
            max_turns=plan.max_turns,
            timeout_s=plan.run_timeout,
            helper_timeout_s=plan.helper_timeout,
        ),
        allowed=plan.allow,
        min_fidelity=plan.min_fidelity,
        derives=not plan.no_derived,
        names_nearest=plan.nearest,
    )


def _tell_of_broken(broken: list[TraceDanceError], masked: Masked) -> None:
    """Name every file that is no test before any other is run."""
    for error in broken:
        complain(f"no test, left out: {masked.text(str(error))}")


def _chosen(suite: Suite, names: tuple[str, ...]) -> Suite:
    """Return the suite with only these tests to run; all others still lend their recordings."""
    if not names:
        return suite
    return suite.only(dict.fromkeys(names))


def _warn_of_odd(suite: Suite, masked: Masked) -> None:
    """Say which recordings do not fit the tools of their own test: they may answer no call."""
    odd = [(test.id, problem) for test in suite.tests for problem in odd_recordings(test)]
    for identity, problem in odd[:_MOST_WARNINGS]:
        complain(f"warning: {identity}: {masked.text(str(problem))}")
    if len(odd) > _MOST_WARNINGS:
        complain(f"warning: {len(odd) - _MOST_WARNINGS:,} more recordings do not fit their schema")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[JudgedRun | NotRun], None] | None]:
    """Show a bar when a person is watching."""
    if total < 2 or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("running"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("running", total=total)
        yield lambda _: bar.update(task, advance=1)
