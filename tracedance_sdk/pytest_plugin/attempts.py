"""One attempt at one test: the recorders it made, the traces it graded, the files that stay."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.pytest_plugin.cost_ledger import CostLedger, Spent, spent_on
from tracedance_sdk.pytest_plugin.kept import KeptTraces
from tracedance_sdk.pytest_plugin.run_rules import recorder_settings

if TYPE_CHECKING:
    from tracedance_sdk.grading import Report
    from tracedance_sdk.recording import TraceRecorder
    from tracedance_sdk.trace import Trace, Usage

Keep = Literal["failed", "all", "none"]
"""The tests whose traces stay as files."""

ATTEMPT: Final = pytest.StashKey["Attempt"]()

RUNNING: Final[list[Attempt | None]] = []
"""The attempt that runs now comes last. Not a context variable: an asyncio plugin may run a test
in a context that is older than the test."""

NEWS: Final = "tracedance"
"""The report attribute that carries an attempt's news, as JSON text, from worker to controller."""


class Attempt:
    """What one attempt at one test recorded and graded.

    Args:
        item: The test.
        kept: Where its traces go.
        keep: Which tests' traces stay as files.
        reports_rows: Whether rows for a result set are wanted.
        ledger: Where it writes what it cost; None when nobody asked.
        number: Which attempt at the test this is, from 0.
    """

    def __init__(
        self,
        item: pytest.Item,
        *,
        kept: KeptTraces,
        keep: Keep,
        reports_rows: bool = False,
        ledger: CostLedger | None = None,
        number: int = 0,
    ) -> None:
        self.number = number
        self._ledger = ledger
        self._spent = Spent()
        self._usages: list[Usage] = []
        self._reports_rows = reports_rows
        self._item = item
        self._kept = kept
        self._keep = keep
        self._failed = False
        self._n_graded = 0
        self._rows: list[dict[str, Any]] = []
        self._verdicts: list[str] = []
        self._problems: list[str] = []
        self._recorders: list[TraceRecorder] = []
        self._graded: dict[str, Trace] = {}
        self._files: dict[str, Path] = {}
        self._lost: set[str] = set()
        self._told: set[Path] = set()

    @property
    def node_id(self) -> str:
        """The test's node id, without the group that pytest-xdist may append to it."""
        node_id, parent = self._item.nodeid, self._item.parent
        plain = node_id if parent is None else f"{parent.nodeid}::{self._item.name}"
        return plain if node_id.startswith(f"{plain}@") else node_id

    def recorder(self, settings: dict[str, Any]) -> TraceRecorder:
        """Make a recorder; what the test does not set comes from its markers, nearest first."""
        from tracedance_sdk.recording import TraceRecorder

        merged = recorder_settings(self._item)
        merged.update(settings)
        metadata = merged.get("metadata")
        if metadata is None or isinstance(metadata, Mapping):  # else the recorder refuses it
            merged["metadata"] = {"pytest.nodeid": self.node_id, **(metadata or {})}
        recorder = TraceRecorder(**merged)
        self._recorders.append(recorder)
        return recorder

    def close_recorders(self) -> None:
        """Close what the test left open; its traces can still be read."""
        for recorder in self._recorders:
            with contextlib.suppress(RecorderError):  # it was never opened
                recorder.close()

    def note_graded(
        self, trace: Trace, report: Report, *, sub_agents: Iterable[Trace] = ()
    ) -> None:
        """Note what the test asserts on: the traces are kept like a recorder's own."""
        self._graded.update((item.id, item) for item in (trace, *sub_agents))
        self._n_graded += 1
        self._verdicts.append(report.verdict.value)
        if report.judge is not None and report.judge.usage is not None:
            self._usages.append(report.judge.usage)
        if self._reports_rows:
            from tracedance_sdk.pytest_plugin.result_rows import rows_as_json

            self._rows += rows_as_json(
                report,
                trace,
                node_id=self.node_id,
                number=self._n_graded,
                attempt=self.number,
            )

    def keep(self, trace: Trace) -> Path | None:
        """Write a trace now and return its file, or None when none are kept or it failed."""
        if self._keep == "none":
            return None
        if trace.id not in self._files and trace.id not in self._lost:
            try:
                self._files[trace.id] = self._kept.keep(trace, node_id=self.node_id)
            except (OSError, ValueError) as error:
                self._lost.add(trace.id)
                self._problems.append(f"{self.node_id}: trace not kept: {error}")
        return self._files.get(trace.id)

    def tell(self, path: Path) -> str:
        """Return how a failure text names this file; it is not named again."""
        self._told.add(path)
        return self._kept.shown(path)

    @property
    def kept_files(self) -> list[str]:
        """The files of the kept traces, as messages name them."""
        return [self._kept.shown(path) for path in self._files.values()]

    def observe(self, report: pytest.TestReport) -> None:
        """Keep or remove files as a phase's outcome asks, and put the news into its report."""
        last = report.when == "teardown"
        if report.when != "setup":
            self._note_cost()
        self._failed = self._failed or report.failed
        if self._failed or (last and self._keep == "all"):
            self._keep_all()
        elif last:
            self._discard_all()
        untold = [path for path in self._files.values() if path not in self._told]
        if report.failed and untold:
            lines = "\n".join(f"trace kept: {self._kept.shown(path)}" for path in untold)
            report.sections.append(("tracedance", lines))
            self._told.update(untold)
        news = {
            "rows": self._rows,
            "verdicts": self._verdicts,
            "problems": self._problems,
            "n_kept": len(self._files) if last else 0,
            "apart": self.node_id if last and self._leaves_sub_agents_out() else "",
            "n_ungraded": int(
                last and self._failed and bool(self._recorders) and not self._n_graded
            ),
        }
        self._rows, self._verdicts, self._problems = [], [], []
        if any(news.values()):
            vars(report)[NEWS] = json.dumps(news)

    def _leaves_sub_agents_out(self) -> bool:
        """Whether the test graded a run, and not what its sub-agents did."""
        if not self._graded:
            return False
        from tracedance_sdk.trace import APART

        graded = self._graded.values()
        known = Counter(trace.parent.trace_id for trace in graded if trace.parent is not None)
        return any(trace.fidelity.count(APART) > known[trace.id] for trace in graded)

    def _keep_all(self) -> None:
        if self._keep == "none":
            return
        for trace in self._traces():
            self.keep(trace)

    def _traces(self) -> Iterator[Trace]:
        """Yield what was graded and recorded, each trace once."""
        seen = set(self._graded)
        yield from self._graded.values()
        for recorder in self._recorders:
            try:
                traces = recorder.traces
            except RecorderError:  # it was never opened
                continue
            except Exception as error:  # noqa: BLE001  # else it would end the whole test run
                self._problems.append(f"{self.node_id}: a trace cannot be read: {error!r}")
                continue
            for trace in traces:
                if trace.id not in seen:
                    seen.add(trace.id)
                    yield trace

    def _note_cost(self) -> None:
        """Write into the ledger what was spent since this was last called."""
        if self._ledger is None or not (self._recorders or self._graded):
            return
        from tracedance_sdk.llm import price_table

        spent = spent_on(self._traces(), self._usages, prices=price_table())
        try:
            self._ledger.add(spent.minus(self._spent))
        except OSError as error:
            self._problems.append(f"{self.node_id}: its cost is not counted: {error}")
        self._spent = spent

    def _discard_all(self) -> None:
        for path in self._files.values():
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                self._problems.append(f"{self.node_id}: {str(path)!r} not removed: {error}")
        self._files.clear()
