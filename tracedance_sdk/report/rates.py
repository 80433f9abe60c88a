"""How often traces passed, and how sure that is; pass^k where tasks were tried several times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.grading import Verdict
from tracedance_sdk.report.rows import Row
from tracedance_sdk.statistics import (
    Estimate,
    Interval,
    Trials,
    clustered_rate,
    mean_pass_hat_k,
    pass_rate,
)

_MOST_K: Final = 8
_FEW: Final = 10
_RARE: Final = 0.995
"""Below so many percent, one decimal would be one digit or none."""
_RAREST: Final = 0.001


class PassHatK(NamedTuple):
    """Chance that all of k trials of a task pass, over the tasks that were tried several times.

    Attributes:
        estimates: For k from 1 to the fewest trials of these tasks, at most 8.
        n_tasks: How many tasks were tried at least twice.
        n_once: How many more were tried once.
    """

    estimates: tuple[Estimate, ...]
    n_tasks: int
    n_once: int


class PassRates(NamedTuple):
    """How often traces passed.

    Attributes:
        rate: Passes among the conclusive verdicts (pass, fail, critical) with Wilson's interval;
            None when there is none.
        over_tasks: The interval with tasks as the sample, when some were tried several times.
        pass_hat_k: None when no task was tried several times.
        n_passed: How many passed.
        n_inconclusive: How many are inconclusive; they are not in the rate.
        n_errors: How many are errors, files that could not be read included; nor are they.
    """

    rate: Estimate | None
    over_tasks: Interval | None
    pass_hat_k: PassHatK | None
    n_passed: int
    n_inconclusive: int
    n_errors: int


def pass_rates(rows: Iterable[Row]) -> PassRates:
    """Return how often rows passed.

    The trials of a task are the rows of one agent that name that task. A row that names none is a
    task of its own.
    """
    listed = list(rows)
    verdicts = [row.verdict for row in listed]
    conclusive = [row for row in listed if row.verdict not in (Verdict.INCONCLUSIVE, Verdict.ERROR)]
    n_passed = verdicts.count(Verdict.PASS)
    outcomes: dict[object, list[bool]] = {}
    for index, row in enumerate(conclusive):
        outcomes.setdefault(_task(row, index), []).append(row.verdict is Verdict.PASS)
    tasks = [Trials(sum(of), len(of)) for of in outcomes.values()]
    repeated = [task for task in tasks if task.n > 1]
    return PassRates(
        rate=pass_rate(n_passed, len(conclusive)) if conclusive else None,
        over_tasks=_over_tasks(tasks) if repeated and len(tasks) > 1 else None,
        pass_hat_k=_pass_hat_k(repeated, len(tasks) - len(repeated)) if repeated else None,
        n_passed=n_passed,
        n_inconclusive=verdicts.count(Verdict.INCONCLUSIVE),
        n_errors=verdicts.count(Verdict.ERROR),
    )


def rates_document(rates: PassRates) -> dict[str, Any]:
    """Return pass rates as JSON: ``pass_rate`` and ``pass_hat_k``, null where there is none."""
    rate, hat = rates.rate, rates.pass_hat_k
    return {
        "pass_rate": {
            "passed": rates.n_passed,
            "conclusive": 0 if rate is None else rate.n,
            "inconclusive": rates.n_inconclusive,
            "error": rates.n_errors,
            "value": None if rate is None else rate.value,
            "interval": None if rate is None else rate.interval._asdict(),
            "interval_over_tasks": rates.over_tasks and rates.over_tasks._asdict(),
        },
        "pass_hat_k": hat
        and {
            "tasks": hat.n_tasks,
            "tasks_tried_once": hat.n_once,
            "estimates": [
                {"k": k, "value": found.value, "interval": found.interval._asdict()}
                for k, found in enumerate(hat.estimates, start=1)
            ],
        },
    }


def rate_lines(rates: PassRates) -> list[str]:
    """Return pass rates as lines for people."""
    lines = [_rate_line(rates), *_hat_lines(rates.pass_hat_k)]
    hat = rates.pass_hat_k
    if rates.over_tasks is not None and hat is not None and hat.n_tasks + hat.n_once < _FEW:
        lines.append("so few tasks leave intervals over tasks wide")
    return lines


def percent(share: float) -> str:
    """Return a share in percent: one decimal, of less than 1 % two digits.

    What is not 0 or 1 is never shown as that: near 1, what is lacking has two digits.

    Example:
        >>> [percent(share) for share in (0, 1 / 3, 0.0002, 0.9998, 0.99986, 0.0000001)]
        ['0.0', '33.3', '0.02', '99.98', '99.986', '<0.001']
    """
    rare, shown = 100 * min(share, 1 - share), f"{100 * share:.1f}"
    if share in (0, 1) or (100 * share >= _RARE and shown != "100.0"):
        return shown
    if rare < _RAREST:
        return f"<{_RAREST}" if share < _RAREST else f">{100 - _RAREST}"
    return f"{100 * share:.{1 - math.floor(math.log10(rare))}f}".rstrip("0").rstrip(".")


def _task(row: Row, index: int) -> object:
    agent = None if row.report is None else row.report.agent
    return index if row.task_id is None else (row.task_id, agent)


def _over_tasks(tasks: Sequence[Trials]) -> Interval:
    outcomes = [trial < task.passes for task in tasks for trial in range(task.n)]
    owners = [index for index, task in enumerate(tasks) for _ in range(task.n)]
    return clustered_rate(outcomes, owners).interval


def _pass_hat_k(repeated: Sequence[Trials], n_once: int) -> PassHatK:
    most = min(_MOST_K, *(task.n for task in repeated))
    estimates = tuple(mean_pass_hat_k(repeated, k) for k in range(1, most + 1))
    return PassHatK(estimates, len(repeated), n_once)


def _rate_line(rates: PassRates) -> str:
    apart = []
    if rates.n_inconclusive:
        apart.append(f"{rates.n_inconclusive} inconclusive")
    if rates.n_errors:
        apart.append("1 error" if rates.n_errors == 1 else f"{rates.n_errors} errors")
    if rates.rate is None:
        return f"pass rate unknown: {' and '.join(apart) or 'no traces'}"
    of = f" of {rates.rate.n} conclusive" if apart else ""
    line = f"pass rate {percent(rates.rate.value)} %{of}, {_shown(rates.rate.interval)}"
    if rates.over_tasks is not None and rates.pass_hat_k is not None:
        n_tasks = rates.pass_hat_k.n_tasks + rates.pass_hat_k.n_once
        line += f" ({_ends(rates.over_tasks)} over {n_tasks:,} tasks)"
    return f"{line}; {' and '.join(apart)} not counted" if apart else line


def _hat_lines(hat: PassHatK | None) -> list[str]:
    if hat is None:
        return []
    tasks = "1 task" if hat.n_tasks == 1 else f"{hat.n_tasks} tasks"
    once = f", {hat.n_once} more tried once" if hat.n_once else ""
    lines = [f"all of k trials of a task pass (pass^k; {tasks}{once}):"]
    for k, found in enumerate(hat.estimates, start=1):
        lines.append(f"  k = {k}  {percent(found.value):>5} %, {_shown(found.interval)}")
    return lines


def _shown(interval: Interval) -> str:
    return f"{100 * interval.level:g} % interval {_ends(interval)}"


def _ends(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)} %"
