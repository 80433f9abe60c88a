"""A pytest plugin: what must not be skipped, and a table of what was.

A test that cannot run says why in a reason that starts with a subject: ``data: tau-bench absent``.
The environment variable ``TRACEDANCE_REQUIRE`` lists subjects (``data,browser``) that this run
must not skip: such a skip is a failure.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest


def required_subjects() -> frozenset[str]:
    listed = os.environ.get("TRACEDANCE_REQUIRE", "").split(",")
    return frozenset(subject.strip() for subject in listed if subject.strip())


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return the reason as the test wrote it, without pytest's own prefix."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)


def fail_required_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip whose subject this run requires into a failure."""
    if report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = skip_reason(report)
    subject, colon, _ = reason.partition(":")
    if colon and subject.strip() in required_subjects():
        report.outcome = "failed"
        report.longrepr = f"skipped, but TRACEDANCE_REQUIRE lists {subject.strip()!r}: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fail_required_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_required_skip(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("skipped", [])
    counts = Counter(skip_reason(report) for report in reports)
    if not counts:
        return
    terminalreporter.section("skips by reason")
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        terminalreporter.write_line(f"{count:6d}  {reason}")
