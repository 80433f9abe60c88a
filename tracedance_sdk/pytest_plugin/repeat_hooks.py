"""pytest's hooks for tests that run several times, and for the limit on what a test run costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any, Final

import pytest

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.pytest_plugin.attempts import ATTEMPT
from tracedance_sdk.pytest_plugin.cost_ledger import CostLedger
from tracedance_sdk.pytest_plugin.replay_rules import REPLAY_MARKER, check_replay_marker
from tracedance_sdk.pytest_plugin.run_reports import ERROR, mark, marked
from tracedance_sdk.pytest_plugin.run_rules import (
    RunRule,
    TooFewRuns,
    check_marker,
    rule_of,
    too_few_runs,
)

_ORDER: Final = ("failed", "inconclusive", "passed")
_MOST_LINES: Final = 40


class NotBegun(Exception):
    """A test is not run, because enough was spent."""


class RepeatHooks:
    """What one process knows of tests that run several times, and its hooks.

    Args:
        config: pytest's configuration.
        ledger: What is spent; None without a limit.
        is_worker: Whether a pytest-xdist controller is told everything.
    """

    def __init__(
        self, config: pytest.Config, *, ledger: CostLedger | None, is_worker: bool
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._is_worker = is_worker
        self._told: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Make markers that cannot be used an error of collection, one line each."""
        report = yield
        problems = [
            problem
            for item in report.result or ()
            if isinstance(item, pytest.Item)
            for problem in _problems(item)
        ]
        if problems:
            report.outcome = "failed"
            report.longrepr = "\n".join(problems)
            report.result = []
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a test several times when its marker asks for it."""
        try:
            rule = rule_of(item)
        except InvalidOption:  # given after the collection; the setup tells
            return None
        if rule is None or self._config.getoption("setuponly", default=False):
            return None
        return self._run_several_times(item, rule, nextitem)

    def _run_several_times(
        self, item: pytest.Item, rule: RunRule, nextitem: pytest.Item | None
    ) -> bool:
        from tracedance_sdk.pytest_plugin.repeating import Repetition

        repetition = Repetition(item, rule, nextitem)
        try:
            repetition.run()
        except BaseException:
            self._config.stash[INTERRUPTED].extend(repetition.news())
            raise
        return True

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Refuse a marker that cannot be used, and any run after enough was spent."""
        if item.get_closest_marker("tracedance"):
            try:
                check_marker(item)
            except InvalidOption as error:
                pytest.fail(_shown(error), pytrace=False)
        elif "tracedance_recorder" not in getattr(item, "fixturenames", ()):
            return
        enough = None if self._ledger is None else self._ledger.reached()
        if enough is not None:
            raise NotBegun(enough)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Tell a test that was not run, and a run that leaves the test undecided, from others."""
        report = yield
        error = None if call.excinfo is None else call.excinfo.value
        if isinstance(error, NotBegun):
            report.longrepr = headline = f"not run: {error}"
            report.outcome = "failed"  # a test that is expected to fail has not failed
            vars(report).pop("wasxfail", None)
            told = {"outcome": "inconclusive", "passed": 0, "n": 0, "headline": headline}
            mark(report, name=item.stash[ATTEMPT].node_id, why=str(error), **told)
        elif call.when == "call" and ERROR in item.stash:
            item.stash[ERROR] = error
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a test's runs came to."""
        told = marked(report)
        if told is not None and not self._is_worker:
            self._told[told.pop("name")] = told

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Give inconclusive tests a letter and a word of their own."""
        told = marked(report)
        if told is None or told["outcome"] != "inconclusive":
            return None
        return "inconclusive", "I", ("INCONCLUSIVE", {"yellow": True})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the inconclusive tests as pytest shows those that failed."""
        reports = terminalreporter.stats.get("inconclusive", [])
        if not reports:
            return
        from tracedance_sdk.report import in_one_line

        terminalreporter.section("INCONCLUSIVE")
        if self._config.option.tbstyle != "no":
            for report in reports:
                title = in_one_line(report.head_line or report.nodeid)
                terminalreporter.write_sep("_", title, yellow=True)
                self._show(terminalreporter, report)
        for report in reports:
            headline = (marked(report) or {})["headline"]
            line = in_one_line(f"INCONCLUSIVE {report.nodeid} - {headline}")
            terminalreporter.write_line(line)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Remove the ledger."""
        if self._ledger is not None and not self._is_worker:
            self._ledger.forget()

    def outcomes(self) -> list[dict[str, Any]]:
        """Return what the runs of each test came to, sorted by the tests' names."""
        return [{"instance_id": name, **self._told[name]} for name in sorted(self._told)]

    def summary(self) -> Iterator[str]:
        """Yield lines on tests that ran several times, and on what was spent."""
        told = [(name, each) for name, each in self._told.items() if each["n"]]
        if told:
            counts = Counter(each["outcome"] for _, each in told)
            parts = ", ".join(f"{counts[name]} {name}" for name in _ORDER if counts[name])
            noun = "test" if len(told) == 1 else "tests"
            n_runs = sum(each["n"] for _, each in told)
            yield f"{len(told)} {noun} with {n_runs} {'run' if n_runs == 1 else 'runs'}: {parts}"
        if self._config.getoption("verbose") > 0:
            for name, each in told[:_MOST_LINES]:
                yield f"  {each['outcome']} {name}: {each['headline']}"
        n_not_run = len(self._told) - len(told)
        if n_not_run:
            yield f"{n_not_run} {'test was' if n_not_run == 1 else 'tests were'} not run"
        if self._ledger is not None:
            yield self._ledger.summary()

    def _show(self, terminal: pytest.TerminalReporter, report: pytest.TestReport) -> None:
        report.toterminal(self._config.get_terminal_writer())
        shown = self._config.option.showcapture
        for title, content in report.sections:
            if shown == "all" or (shown != "no" and shown in title):
                terminal.write_sep("-", title)
                terminal.write_line(content.removesuffix("\n"))


INTERRUPTED: Final = pytest.StashKey[list[str]]()
"""The news of a test whose runs were interrupted, which no report tells."""


def _problems(item: pytest.Item) -> Iterator[str]:
    if item.get_closest_marker("tracedance"):
        try:
            rule = check_marker(item)
            warning = None if rule is None else too_few_runs(rule)
            if warning is not None:
                item.warn(TooFewRuns(warning))
        except (InvalidOption, TooFewRuns) as error:
            yield _shown(error)
    if item.get_closest_marker(REPLAY_MARKER):
        try:
            check_replay_marker(item)
        except InvalidOption as error:
            yield _shown(error)


def _shown(error: Exception) -> str:
    """Return a problem as one line for the terminal."""
    from tracedance_sdk.report import in_one_line

    return in_one_line(str(error))
