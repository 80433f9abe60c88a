"""Every folder of the shared data through the whole import: what it holds and what it is fit for.

The numbers of each format are checked against counters of their own elsewhere; here it is that no
file is left over, and that a second import adds nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.shared_data import SHARED_DATA, shared_data
from tests.support.tables import AddRow
from tracedance_sdk.formats import find_sources
from tracedance_sdk.store import ImportPlan, ImportReport, TraceStore, import_sources

DATA_FILES = {".json", ".jsonl", ".gz", ".traj", ".eval"}


class Row(NamedTuple):
    """What came of a folder.

    Attributes:
        next_turn: Traces fit for it, by where the definitions of the tools they call come from:
            recorded, known, inferred, and none where nothing is called.
        problems: Files or lines that are no traces, and are said to be none.
    """

    sessions: int
    traces: int
    calls: int
    results: int
    errors: int
    grading: int
    next_turn: tuple[int, int, int, int]
    problems: int


FOLDERS = {
    "agent-data-protocol": Row(10, 10, 98, 93, 3, 10, (5, 5, 0, 0), 0),
    "agent-sessions-fixtures": Row(34, 40, 66, 59, 8, 29, (0, 16, 9, 8), 0),
    "agentdojo-runs": Row(2328, 2328, 8773, 8732, 588, 2294, (0, 2126, 1, 163), 0),
    "agentrx": Row(101, 119, 630, 630, 29, 119, (0, 77, 0, 42), 0),
    "atif-fixtures": Row(1, 4, 2, 1, 0, 4, (1, 0, 0, 3), 0),
    "claude-code-log": Row(54, 135, 544, 519, 54, 74, (0, 60, 2, 34), 14),
    "entire-cli-sessions": Row(45, 52, 1307, 1306, 62, 49, (0, 52, 0, 0), 0),
    "inspect-logs": Row(58, 61, 153, 152, 18, 60, (17, 1, 0, 42), 1),
    "langfuse-framework-traces": Row(7, 8, 10, 9, 0, 8, (5, 0, 1, 2), 7),
    "mini-swe-agent-deepseek": Row(69, 69, 5335, 5335, 545, 69, (0, 69, 0, 0), 0),
    "openclaw-sessions": Row(1, 20, 129, 129, 0, 20, (0, 19, 0, 1), 0),
    "openclaw-telemetry": Row(1, 4, 14, 14, 0, 4, (0, 0, 0, 0), 0),
    "openhands-swebench": Row(44, 44, 871, 829, 200, 44, (40, 4, 0, 0), 0),
    "otel-spans": Row(29, 50, 35, 31, 3, 47, (13, 3, 4, 25), 4),
    "pi-mono-sessions": Row(1, 1, 391, 373, 19, 1, (0, 1, 0, 0), 0),
    "reflexion": Row(585, 4063, 4105, 4105, 0, 1115, (0, 0, 1115, 0), 0),
    "swe-agent-demos": Row(10, 10, 95, 95, 9, 10, (9, 1, 0, 0), 0),
    "swe-agent-verified": Row(98, 98, 3116, 3116, 83, 98, (98, 0, 0, 0), 0),
    "tau-bench": Row(288, 288, 1748, 1748, 111, 201, (0, 182, 0, 19), 0),
    "tau-bench-oracle": Row(0, 0, 0, 0, 0, 0, (0, 0, 0, 0), 1),
    "tau2-bench": Row(220, 220, 2172, 2172, 23, 220, (0, 220, 0, 0), 0),
    "tau2-judge-verdicts": Row(50, 50, 277, 277, 11, 50, (0, 48, 0, 2), 0),
    "whoandwhen": Row(127, 127, 0, 0, 0, 127, (0, 0, 0, 127), 0),
}


def imported(folder: Path, store: TraceStore) -> ImportReport:
    return import_sources(find_sources([folder]), store, plan=ImportPlan(roots=(folder,)))


def row(found: dict[str, Any]) -> Row:
    origins = found["next_turn_tools"]
    return Row(
        found["sessions"],
        found["traces"],
        found["calls"],
        found["results"],
        found["errors"],
        found["fit_for"]["grading"],
        (origins["recorded"], origins["known"], origins["inferred"], origins["none"]),
        found["problems"],
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_imported_whole_and_only_once(
    name: str, tmp_path: Path, add_row: AddRow
) -> None:
    folder = shared_data(name)
    store = TraceStore.create(tmp_path / "store")
    report = imported(folder, store)
    add_row("imported folders", folder=name, **row(report.total.to_dict())._asdict())
    assert row(report.total.to_dict()) == FOLDERS[name]
    assert len(store) == report.stored.added
    files = [path for path in folder.rglob("*") if path.suffix in DATA_FILES]
    strangers = {problem.path for problem in report.problems if problem.collector is None}
    if name != "agent-sessions-fixtures":  # OpenCode keeps a session in many files
        passed_over = sum(report.companions.values()) + len(strangers)
        assert report.total.sources + passed_over == len(files)
    again = imported(folder, store).stored
    assert (again.added, again.replaced) == (0, 0)


def test_every_folder_is_in_the_table() -> None:
    shared_data("tau-bench")
    assert {path.name for path in SHARED_DATA.iterdir() if path.is_dir()} == set(FOLDERS)
