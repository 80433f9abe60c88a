"""One pytest session: its options, what all tests reported, the one result set, the summary.

News travels inside the tests' reports, which pytest-xdist hands from its workers to the
controller. Tests in one process report the same way, so there is one path for both.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from tracedance_sdk.pytest_plugin.attempts import ATTEMPT, NEWS, RUNNING, Attempt
from tracedance_sdk.pytest_plugin.cost_ledger import CostLedger
from tracedance_sdk.pytest_plugin.kept import KeptTraces, forget_old_runs, run_name
from tracedance_sdk.pytest_plugin.repeat_hooks import INTERRUPTED, RepeatHooks

_WORKER_INPUT: Final = "tracedance_folder"
_LEDGER: Final = "tracedance_ledger"
_ORDER: Final = ("critical", "fail", "error", "inconclusive", "pass")


class Session:
    """The plugin's state in one process, and its hooks.

    Args:
        config: pytest's configuration; in a pytest-xdist worker it holds the controller's folders.

    Attributes:
        repeats: The hooks for tests that run several times.

    Raises:
        UsageError: An option that cannot be used.
    """

    def __init__(self, config: pytest.Config) -> None:
        worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        started_in = config.invocation_params.dir
        self._is_worker = worker_input is not None
        folder = (worker_input or {}).get(_WORKER_INPUT) or _base_folder(config) / run_name()
        self._kept = KeptTraces(Path(folder), started_in=started_in)
        self._ledger = _ledger(config, (worker_input or {}).get(_LEDGER))
        self.repeats = RepeatHooks(config, ledger=self._ledger, is_worker=self._is_worker)
        self._interrupted: list[str] = []
        config.stash[INTERRUPTED] = self._interrupted
        self._keep = config.getoption("tracedance_keep")
        self._out = _out_folder(config)
        if self._out is not None and not self._is_worker:
            from tracedance_sdk.pytest_plugin.result_rows import refuse_unwritable

            refuse_unwritable(self._out)
        self._n_runs = _retention(config)
        self._rows: list[dict[str, Any]] = []
        self._verdicts: Counter[str] = Counter()
        self._problems: list[str] = []
        self._n_kept = 0
        self._n_ungraded = 0
        self._apart: dict[str, None] = {}
        self._has_run = False
        self._results = ""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a pytest-xdist worker where this run's traces go."""
        node.workerinput[_WORKER_INPUT] = str(self._kept.folder)
        if self._ledger is not None:
            node.workerinput[_LEDGER] = str(self._ledger.folder)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Make room for the test that runs now; test sessions inside a test nest."""
        RUNNING.append(None)
        try:
            return (yield)
        finally:
            RUNNING.pop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Start an attempt; a test run again within its protocol starts another."""
        earlier = item.stash.get(ATTEMPT, None)
        attempt = Attempt(
            item,
            kept=self._kept,
            keep=self._keep,
            reports_rows=self._out is not None,
            ledger=self._ledger,
            number=0 if earlier is None else earlier.number + 1,
        )
        item.stash[ATTEMPT] = attempt
        if RUNNING:
            RUNNING[-1] = attempt

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep a failing test's traces, and put what there is to tell into the report."""
        report = yield
        attempt = item.stash.get(ATTEMPT, None)
        if attempt is not None:
            attempt.observe(report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a test's report tells."""
        self._has_run = self._has_run or report.when == "call"
        text = vars(report).get(NEWS)
        if text is not None and not self._is_worker:
            self._take(text)

    def _take(self, text: str) -> None:
        news = json.loads(text)
        self._rows.extend(news["rows"])
        self._verdicts.update(news["verdicts"])
        self._problems.extend(news["problems"])
        self._n_kept += news["n_kept"]
        if news["apart"]:
            self._apart[news["apart"]] = None
        self._n_ungraded += news["n_ungraded"]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the result set and forget old runs; what goes wrong is told in the summary.

        A run in which no test ran, such as a mere collection, leaves an older result set alone.
        """
        if self._is_worker:
            return
        for text in self._interrupted:
            self._take(text)
        if self._out is not None and (self._has_run or self._rows):
            self._write_results(self._out, session)
        elif self._out is not None and not session.config.option.collectonly:
            shown = self._kept.shown(self._out)
            end = "is left as it is" if self._out.exists() else "is not written"
            self._results = f"no test ran: {shown} {end}"
        base = self._kept.folder.parent
        if self._kept.folder.is_dir():
            try:
                forget_old_runs(base, n_runs=self._n_runs)
            except OSError as error:
                self._problems.append(f"old traces not removed from {str(base)!r}: {error}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say in a few lines what was graded, kept and written."""
        lines = list(self._summary())
        if not lines:
            return
        from tracedance_sdk.report import visible

        terminalreporter.section("tracedance")
        for line in lines:
            terminalreporter.write_line(visible(line).replace("\n", "\\n"))

    def _write_results(self, folder: Path, session: pytest.Session) -> None:
        from tracedance_sdk.errors import TraceDanceError
        from tracedance_sdk.pytest_plugin.result_rows import write_results

        try:
            n_rows = write_results(
                folder,
                self._rows,
                n_ungraded=self._n_ungraded,
                outcomes=self.repeats.outcomes(),
            )
        except TraceDanceError as error:
            self._problems.append(f"no result set: {error}")
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        else:
            noun = "row" if n_rows == 1 else "rows"
            self._results = f"{n_rows} {noun} written to {self._kept.shown(folder)}"

    def _summary(self) -> list[str]:
        lines = []
        if self._verdicts:
            counts = [f"{self._verdicts[name]} {name}" for name in _ORDER if self._verdicts[name]]
            lines.append(f"{self._verdicts.total()} graded: {', '.join(counts)}")
        if self._apart:
            first, n_more = next(iter(self._apart)), len(self._apart) - 1
            lines.append(
                f"not graded: what sub-agents did in {first}{f' and {n_more} more' * (n_more > 0)};"
                " assert_passes(recorder.traces, ...) grades them too"
            )
        if self._n_kept:
            noun = "trace" if self._n_kept == 1 else "traces"
            lines.append(f"{self._n_kept} {noun} kept in {self._kept.shown(self._kept.folder)}")
        if self._results:
            lines.append(self._results)
        lines += self.repeats.summary()
        return [*lines, *(f"problem: {problem}" for problem in self._problems[:20])]


def _base_folder(config: pytest.Config) -> Path:
    option: str | None = config.getoption("tracedance_dir")
    if option:
        return config.invocation_params.dir / option
    return config.rootpath / (config.getini("tracedance_dir") or ".tracedance")


def _out_folder(config: pytest.Config) -> Path | None:
    option: str | None = config.getoption("tracedance_out")
    return None if option is None else config.invocation_params.dir / option


def _ledger(config: pytest.Config, folder: str | None) -> CostLedger | None:
    most_usd: float | None = config.getoption("tracedance_max_cost")
    if most_usd is None:
        return None
    made = folder or Path(tempfile.gettempdir()) / f"tracedance-cost-{os.urandom(8).hex()}"
    return CostLedger(Path(made), most_usd=most_usd)


def _retention(config: pytest.Config) -> int:
    text = str(config.getini("tracedance_retention"))
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise pytest.UsageError(
            f"tracedance_retention = {text[:40]!r} in the ini file is no number of runs from 1 up"
        )
    return int(text)
