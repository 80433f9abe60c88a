"""The verdicts of a test run as one result set.

A row's subject names the test (``instance_id`` is its node id; ``#2`` and so on for its further
assertions); its sample is the attempt, from 0, where a plugin runs failing tests again. Verdicts
are as they are, whatever a test tolerates.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pytest

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.grading import Report, ResultRow, ResultSetWriter, check_writable, rows_of
from tracedance_sdk.trace import Trace

UNGRADED: Final = "the test failed before it graded a trace"


def rows_as_json(
    report: Report, trace: Trace, *, node_id: str, number: int, attempt: int
) -> list[dict[str, Any]]:
    """Return a report's rows as JSON objects, to travel from a worker to the controller.

    Args:
        report: What `assert_passes` found.
        trace: What was graded.
        node_id: Of the test.
        number: Which assertion of the test, from 1.
        attempt: Which attempt at the test, from 0.
    """
    name = node_id if number == 1 else f"{node_id}#{number}"
    rows = rows_of(report, trace=trace, instance_id=name, sample=attempt)
    return [row.model_dump(mode="json", exclude_none=True) for row in rows]


def refuse_unwritable(folder: Path) -> None:
    """Check that a result set can go into a folder.

    Raises:
        UsageError: The folder holds other things, or is a file.
    """
    try:
        check_writable(folder)
    except TraceDanceError as error:
        raise pytest.UsageError(f"--tracedance-out: {error}") from error


def write_results(
    folder: Path,
    rows: Iterable[Mapping[str, Any]],
    *,
    n_ungraded: int,
    outcomes: list[dict[str, Any]],
) -> int:
    """Write the result set and return its number of rows.

    Args:
        folder: Where.
        rows: As `rows_as_json` gives them.
        n_ungraded: Runs that recorded something and failed before they graded it.
        outcomes: What the runs of each test came to, for tests that run several times, and for
            those that a limit kept from running.

    Raises:
        TraceDanceError: The folder cannot be written.
    """
    manifest = {
        "command": " ".join(["pytest", *sys.argv[1:]]),
        "versions": {
            "tracedance-sdk": version("tracedance-sdk"),
            "pytest": pytest.__version__,
            "python": platform.python_version(),
        },
        "exclusions": {UNGRADED: n_ungraded} if n_ungraded else {},
        **({"test_outcomes": outcomes} if outcomes else {}),
    }
    writer = ResultSetWriter(folder, manifest=manifest)
    writer.add(ResultRow.model_validate(row) for row in rows)
    result = writer.close()
    return 0 if result is None else len(result.rows)
