"""The reports of one test made from those of its runs: what pytest, its plugins and readers see.

A pass or a fail is reported in the call phase, like any other. An inconclusive test is reported as
a setup that failed, which everything that reads pytest's reports takes for an error and not for a
failure; `RUNS` tells it from others.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import pytest

from tracedance_sdk.pytest_plugin.deciding import Decision, RunOutcome

RUNS: Final = "tracedance_runs"
"""The report attribute that says, as JSON text, what the runs of a test came to."""

ERROR: Final = pytest.StashKey[BaseException | None]()
"""The error by which the call of the present run ended; in tests that run several times."""

TITLE: Final = "tracedance runs"

MOST_OUTPUTS: Final = 10
"""Runs whose output is shown, those that did not pass before others."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_MOST_SHOWN: Final = 40
_WIDTH: Final = 160


class Run(NamedTuple):
    """One run of a test.

    Attributes:
        outcome: What it came to.
        setup: Its reports.
        call: None when the setup failed.
        kept: The files of its traces.
    """

    outcome: RunOutcome
    setup: pytest.TestReport
    call: pytest.TestReport | None
    kept: Sequence[str] = ()

    @property
    def telling(self) -> pytest.TestReport:
        """The report that says how it went."""
        return self.call or self.setup

    @property
    def reason(self) -> str:
        """Why it did not pass: the first two lines of its error as one; empty when it did."""
        crash = getattr(self.telling.longrepr, "reprcrash", None)
        text = str(self.telling.longrepr or "") if crash is None else str(crash.message)
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        line = _plain("; ".join(lines[:2]))
        where = "in the setup: " if self.call is None and line else ""
        return where + (line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}...")


def mark(report: pytest.TestReport, **told: Any) -> None:
    """Say in a report what the runs came to."""
    vars(report)[RUNS] = json.dumps(told)


def marked(report: object) -> dict[str, Any] | None:
    """Return what `mark` said, in another process too; None when it said nothing."""
    text = vars(report).get(RUNS)
    return None if text is None else dict(json.loads(text))


def reports_of(decision: Decision, runs: Sequence[Run], *, name: str) -> list[pytest.TestReport]:
    """Return the setup's and the call's report for a whole test; one alone when inconclusive.

    The longest text is the first failing run's, whole; the others get a line each.

    Args:
        decision: What the runs came to.
        runs: All of them, at least one.
        name: The test's, as result sets name it.
    """
    setup = copy.copy(runs[-1].setup)
    _span(setup, [run.setup for run in runs])
    calls = [run.call for run in runs if run.call is not None]
    lines = [decision.headline, *decision.details, *_lines(runs)]
    outputs = list(_outputs(runs))
    told = {
        "name": name,
        "outcome": decision.outcome,
        "passed": sum(run.outcome == "passed" for run in runs),
        "n": len(runs),
        "headline": decision.headline,
    }
    if decision.outcome == "inconclusive":
        _span(setup, [*(run.setup for run in runs), *calls])
        setup.outcome = "failed"
        setup.longrepr = _text(_worst(runs), f"inconclusive: {decision.headline}", lines)
        setup.sections = outputs
        mark(setup, **told)
        return [setup]
    shown = _worst(runs) if decision.outcome == "failed" else runs[-1]
    call = copy.copy((shown or runs[-1]).telling)
    _span(call, calls)
    call.sections = outputs
    if decision.outcome == "failed":
        call.longrepr = _text(_worst(runs), decision.headline, lines)
    else:
        call.sections.append((TITLE, "\n".join(lines)))
    setup.sections = []
    mark(call, **told)
    return [setup, call]


def _plain(text: str) -> str:
    """Return what a test said without pytest's colours, and safe for a terminal."""
    from tracedance_sdk.report import visible

    return visible(_COLOUR.sub("", text))


def _plain_traceback(traceback: Any) -> Any:
    """Return a traceback in which an error shown without one, as by `pytest.fail`, is plain."""
    shown = copy.copy(traceback)
    shown.reprentries = [
        dataclasses.replace(entry, lines=[_plain(line) for line in entry.lines])
        if getattr(entry, "style", "") == "value"
        else entry
        for entry in traceback.reprentries
    ]
    return shown


def _worst(runs: Sequence[Run]) -> Run | None:
    """Return the first run that failed, else the first undecided one."""
    for outcome in ("failed", "undecided"):
        for run in runs:
            if run.outcome == outcome and run.telling.longrepr is not None:
                return run
    return None


def _text(run: Run | None, headline: str, lines: Sequence[str]) -> Any:
    """Return the text of a run's failure with the headline before it and the lines after it."""
    longrepr = None if run is None else run.telling.longrepr
    chain = getattr(longrepr, "chain", None)
    crash: Any = getattr(longrepr, "reprcrash", None)
    if not chain or crash is None:
        shown = [_plain(str(longrepr))] if longrepr else []
        return "\n\n".join(filter(None, [headline, *shown, "\n".join(lines[1:])]))
    text: Any = copy.copy(longrepr)
    text.reprcrash = dataclasses.replace(crash, message=f"{headline}: {_plain(crash.message)}")
    *causes, (traceback, _, description) = chain
    text.chain = [*causes, (_plain_traceback(traceback), text.reprcrash, description)]
    text.sections = [*text.sections, (TITLE, "\n".join(lines), "-")]
    return text


def _lines(runs: Sequence[Run]) -> Iterator[str]:
    passed = [number for number, run in enumerate(runs, 1) if run.outcome == "passed"]
    if passed:
        yield f"passed: run {_ranges(passed)}"
    others = [(number, run) for number, run in enumerate(runs, 1) if run.outcome != "passed"]
    for number, run in others[:_MOST_SHOWN]:
        yield f"run {number} {run.outcome}: {run.reason}"
        yield from (f"  trace kept: {path}" for path in run.kept)
    if len(others) > _MOST_SHOWN:
        yield f"... {len(others) - _MOST_SHOWN} more that did not pass"


def _ranges(numbers: Iterable[int]) -> str:
    """Return rising numbers as text, neighbours together.

    Example:
        >>> _ranges([1, 2, 3, 5, 7, 8])
        '1-3, 5, 7-8'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def _outputs(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Yield what the runs printed and logged, of those that did not pass first."""
    numbered = sorted(enumerate(runs, 1), key=lambda pair: pair[1].outcome == "passed")
    for number, run in sorted(numbered[:MOST_OUTPUTS], key=lambda pair: pair[0]):
        for title, content in run.telling.sections:
            if title != "tracedance":
                yield (f"{title} (run {number})", content)


def _span(report: pytest.TestReport, parts: Sequence[pytest.TestReport]) -> None:
    """Let a report last as long as its parts together."""
    report.duration = sum(part.duration for part in parts)
    report.start = min(part.start for part in parts)
    report.stop = max(part.stop for part in parts)
