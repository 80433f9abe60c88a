"""Running one test several times, one run after the other, until the rest cannot change it.

Each run is the test's whole protocol: function-scoped fixtures and the instance of its class are
made anew, those of wider scope stay. pytest and its other plugins are told of one setup, one call
and one teardown.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any, Final, Literal

import pytest
from _pytest.runner import call_and_report

from tracedance_sdk.errors import (
    InvalidOption,
    InvalidSpec,
    MissingDependency,
    TraceDanceError,
    UnknownTask,
    UnreadableFile,
    UnrecordedCall,
)
from tracedance_sdk.pytest_plugin.attempts import ATTEMPT, NEWS
from tracedance_sdk.pytest_plugin.deciding import Decision, RunOutcome, counted, decide
from tracedance_sdk.pytest_plugin.run_reports import (
    ERROR,
    MOST_OUTPUTS,
    TITLE,
    Run,
    marked,
    reports_of,
)
from tracedance_sdk.pytest_plugin.run_rules import RunRule
from tracedance_sdk.pytest_plugin.undecided import Undecided

_WRONG: Final = (InvalidOption, InvalidSpec, MissingDependency, UnknownTask, UnreadableFile)
_NEVER_COUNTED: Final = "[XPASS(strict)]"


class Repetition:
    """All runs of one test.

    Args:
        item: The test.
        rule: How often it runs, and how many runs have to pass.
        nextitem: The test that comes after it; None when it is the last.
    """

    def __init__(self, item: pytest.Item, rule: RunRule, nextitem: pytest.Item | None) -> None:
        self._item = item
        self._rule = rule
        self._nextitem = nextitem
        self._runs: list[Run] = []
        self._teardowns: list[pytest.TestReport] = []
        self._news: list[str] = []

    def run(self) -> None:
        """Run the test until it is decided, and log its reports."""
        hook, item = self._item.ihook, self._item
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        while not self._run_once():
            _make_new(item)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def news(self) -> list[str]:
        """Return what runs had to tell and no report has told, when all ends by an interrupt."""
        news, self._news = self._news, []
        return news

    def _run_once(self) -> bool:
        """Do one run, and return whether it was the last; then its reports are logged."""
        item = self._item
        if getattr(item, "_request", None) is False:
            item._initrequest()  # type: ignore[attr-defined]  # as pytest does for reruns
        item.stash[ERROR] = None
        try:
            setup = self._phase("setup")
            call = self._phase("call") if setup.passed else None
            reports = self._final(setup, call)
            for report in reports or ():
                item.ihook.pytest_runtest_logreport(report=report)
            self._tear_down(is_last=reports is not None)
        finally:
            item.stash[ERROR] = None  # with its traceback it holds all the run's objects
            if hasattr(item, "_request"):
                item._request = False
                item.funcargs = None  # type: ignore[attr-defined]
        return reports is not None

    def _phase(
        self, when: Literal["setup", "call", "teardown"], **kwargs: Any
    ) -> pytest.TestReport:
        report = call_and_report(self._item, when, log=False, **kwargs)
        text = vars(report).pop(NEWS, None)
        if text is not None:
            self._news.append(text)
        return report

    def _final(
        self, setup: pytest.TestReport, call: pytest.TestReport | None
    ) -> list[pytest.TestReport] | None:
        """Return the test's reports after this run, or None when there will be another."""
        telling = call or setup
        if marked(setup) is not None and not self._runs:
            return [setup]
        if _ends_like_any_test(telling):
            return self._as_it_is([setup] if call is None else [setup, call])
        stopped = None
        if (told := marked(setup)) is not None:
            stopped = told["why"]
        else:
            self._add(Run(self._outcome(call), setup, call, self._kept()))
            if _is_the_tests_own(self._item.stash[ERROR]):
                stopped = "no further run could be judged either"
            if self._item.session.shouldstop or self._item.session.shouldfail:
                stopped = "stopped with the test run"
        decision = self._decision(stopped)
        return None if decision is None else reports_of(decision, self._runs, name=self._name())

    def _decision(self, stopped: str | None) -> Decision | None:
        return decide(self._rule, [run.outcome for run in self._runs], stopped=stopped)

    def _add(self, run: Run) -> None:
        if sum(each.outcome == run.outcome for each in self._runs) >= MOST_OUTPUTS:
            run.telling.sections = []  # nobody will be shown them
        self._runs.append(run)

    def _name(self) -> str:
        attempt = self._item.stash.get(ATTEMPT, None)
        return self._item.nodeid if attempt is None else attempt.node_id

    def _outcome(self, call: pytest.TestReport | None) -> RunOutcome:
        if call is None:
            return "undecided"
        if call.passed:
            return "passed"
        return "undecided" if _leaves_undecided(self._item.stash[ERROR]) else "failed"

    def _kept(self) -> list[str]:
        attempt = self._item.stash.get(ATTEMPT, None)
        return [] if attempt is None else attempt.kept_files

    def _as_it_is(self, reports: list[pytest.TestReport]) -> list[pytest.TestReport]:
        """Return the reports of a run that was skipped, or expected to fail."""
        if self._runs:
            text = f"before this: {counted([run.outcome for run in self._runs])}"
            reports[-1].sections.append((TITLE, text))
        return reports

    def _tear_down(self, *, is_last: bool) -> None:
        item = self._item
        following: pytest.Item | None
        if is_last:
            is_over = item.session.shouldfail or item.session.shouldstop
            following = None if is_over else self._nextitem
        else:
            following = _NextRun.from_parent(item.parent or item.session, name=item.name)
        self._teardowns.append(self._phase("teardown", nextitem=following))
        if is_last:
            report = _one_teardown(self._teardowns)
            if self._news:
                vars(report)[NEWS] = json.dumps(_joined(self.news()))
            item.ihook.pytest_runtest_logreport(report=report)


class _NextRun(pytest.Item):
    """Stands for the run that follows, so that only what is the test's own is torn down."""

    def runtest(self) -> None:
        raise NotImplementedError(f"{self.name} is run by itself")


def _leaves_undecided(error: BaseException | None) -> bool:
    """Return whether a run that ends by this error is neither passed nor failed."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_leaves_undecided, error.exceptions))
    if isinstance(error, UnrecordedCall) and error.writes:
        return False  # the agent was about to do what it never did before
    return isinstance(error, (Undecided, TraceDanceError))


def _is_the_tests_own(error: BaseException | None) -> bool:
    """Return whether the test is wrong, such as by its specification, so that no run can help."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_the_tests_own, error.exceptions))
    return isinstance(error, _WRONG)


def _ends_like_any_test(report: pytest.TestReport) -> bool:
    """Return whether a run was skipped, or the test is expected to fail."""
    strict = isinstance(report.longrepr, str) and report.longrepr.startswith(_NEVER_COUNTED)
    return report.skipped or hasattr(report, "wasxfail") or strict


def _make_new(item: pytest.Item) -> None:
    """Forget what pytest remembers of a test that ran: its output, and its class's instance."""
    item._report_sections.clear()
    if isinstance(item.parent, pytest.Class):
        for name in ("_instance", "_obj"):
            vars(item).pop(name, None)


def _one_teardown(reports: list[pytest.TestReport]) -> pytest.TestReport:
    """Return the first teardown that failed, else the last, with the time of all."""
    first = next((report for report in reports if report.failed), reports[-1])
    report = copy.copy(first)
    report.duration = sum(each.duration for each in reports)
    report.sections = [
        (title, content)
        for title, content in report.sections
        if title == "tracedance" or title.endswith("teardown")
    ]
    return report


def _joined(news: Iterable[str]) -> dict[str, Any]:
    """Return the news of several reports as one."""
    joined: dict[str, Any] = {}
    for text in news:
        for name, value in json.loads(text).items():
            joined[name] = joined[name] + value if name in joined else value
    return joined
