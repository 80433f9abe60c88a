"""Measure the budgets and say which are kept.

    python tests/performance/run.py [--quick] [--only NAME ...] [--json FILE]

Prints one row per budget; exits 1 when one is exceeded. docs/performance.md says what each row
measures and how.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import platform
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.performance.measuring import Budget, Effort

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("opentelemetry-sdk", "orjson", "pydantic", "wrapt", "google-re2")


def arguments_of(line: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Measure the budgets of this project.")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="repeatable")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    return parser.parse_args(line)


def row_of(budget: Budget, effort: Effort) -> dict[str, Any]:
    """Measure one budget."""
    row: dict[str, Any] = {
        "name": budget.name,
        "what": budget.what,
        "against": budget.against,
        "limit": budget.limit,
        "unit": budget.unit,
    }
    measured = budget.measure(effort)
    if isinstance(measured, str):
        return {**row, "result": "not measured", "reason": measured}
    result = "ok" if measured.value <= budget.limit else "over"
    return {**row, "result": result, **measured._asdict()}


def line_of(row: dict[str, Any]) -> str:
    """Write one row of the table."""
    limit = f"{row['limit']:g} {row['unit']}"
    if row["result"] == "not measured":
        return f"{row['name']:18} {'-':>8} {'':17} {limit:>10}  not measured: {row['reason']}"
    spread = f"({row['low']:.2f} to {row['high']:.2f})"
    figures = f"{row['value']:8.2f} {spread:>17} {limit:>10}"
    return f"{row['name']:18} {figures}  {row['result']:4}  {row['detail']}"


def machine() -> dict[str, Any]:
    """Say what the figures were taken on."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "versions": {name: version(name) for name in VERSIONS},
    }


def prepare() -> None:
    """Make the project importable here and in children, and keep all files in one folder.

    Children use compiled byte code, as an installed package does, whatever the environment says.
    The folder is removed last of all, after the journals in it are closed.
    """
    folder = tempfile.mkdtemp(prefix="tracedance-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    tempfile.tempdir = folder
    sys.path.insert(0, str(ROOT))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.update(PYTHONPATH=str(ROOT), PYTHONPYCACHEPREFIX=str(Path(folder, "bytecode")))


def main(line: list[str]) -> int:
    """Run the budgets asked for; return the exit status."""
    prepare()
    from tests.performance import (
        client_integrations,
        imports,
        integrations,
        memory,
        model_calls,
        recording_calls,
        replay_answers,
        replay_pairs,
        scanning,
        storing,
        trace_files,
    )
    from tests.performance.measuring import FULL, QUICK

    options = arguments_of(line)
    modules = (
        recording_calls,
        imports,
        trace_files,
        storing,
        memory,
        model_calls,
        replay_answers,
        replay_pairs,
        scanning,
        integrations,
        client_integrations,
    )
    budgets = [budget for module in modules for budget in module.BUDGETS]
    known = [budget.name for budget in budgets]
    unknown = sorted(set(options.only) - set(known))
    if unknown:
        print(f"no budget is named {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    print(f"{'budget':18} {'measured':>8} {'(quartiles)':>17} {'at most':>10}")
    rows = []
    for budget in budgets:
        if options.only and budget.name not in options.only:
            continue
        rows.append(row_of(budget, QUICK if options.quick else FULL))
        print(line_of(rows[-1]), flush=True)
    over = [row["name"] for row in rows if row["result"] == "over"]
    print(f"over budget: {', '.join(over)}" if over else "every measured budget is kept")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=2) + "\n")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
