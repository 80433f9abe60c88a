"""What importing costs, in fresh processes whose byte code is already compiled."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.performance.measuring import (
    Budget,
    Effort,
    Measured,
    child_chunk,
    compare,
    quartiles,
    run_child,
    statement_chunk,
)

OTEL = "import opentelemetry.sdk.trace"
HEAVY = ("opentelemetry", "pydantic", "duckdb", "pyarrow", "openai")
PLUGIN = "tracedance_sdk.pytest_plugin"


def root(effort: Effort) -> Measured:
    return _statement("import tracedance_sdk", effort)


def names(effort: Effort) -> Measured:
    return _statement("from tracedance_sdk import TraceRecorder, tool", effort)


def _statement(statement: str, effort: Effort) -> Measured:
    return compare(statement_chunk(statement), statement_chunk(OTEL), rounds=effort.process_rounds)


def command_help(effort: Effort) -> Measured:
    program = "from tracedance_sdk.cli import main; main()"
    return compare(
        child_chunk(["-c", program, "--help"]),
        child_chunk(["-c", OTEL]),
        rounds=effort.process_rounds,
    )


def plugin_modules(effort: Effort) -> Measured:
    """Count the heavy modules in a pytest run that never uses the plugin, and what it costs."""
    with tempfile.TemporaryDirectory(prefix="tracedance-bench-") as folder:
        Path(folder, "test_unrelated.py").write_text("def test_fine(): ...\n")
        report = "import sys\n\n\ndef pytest_unconfigure():\n    print('loaded:', *("
        Path(folder, "conftest.py").write_text(
            f"{report}name for name in {HEAVY!r} if name in sys.modules))\n"
        )
        alone = ["-m", "pytest", "-q", "-p", "no:cacheprovider", folder]
        bare = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        with_plugin = [*alone, "-p", PLUGIN]
        output = run_child(with_plugin, environment=bare).stdout
        loaded = next(line for line in output.splitlines() if line.startswith("loaded:"))
        ours = child_chunk(with_plugin, environment=bare)
        theirs = child_chunk(alone, environment=bare)
        ours(), theirs()
        added = [ours() - theirs() for _ in range(effort.process_rounds)]
    count = float(len(loaded.split()) - 1)
    low, middle, high = (value * 1e3 for value in quartiles(added))
    return Measured(
        count, count, count, f"adds {middle:.1f} ms ({low:.1f} to {high:.1f}) to the run"
    )


BUDGETS = (
    Budget("import", "import tracedance_sdk", OTEL, 0.4, "x", root),
    Budget("import-names", "from tracedance_sdk import TraceRecorder, tool", OTEL, 2.5, "x", names),
    Budget(
        "help",
        "tracedance --help, the whole process",
        f"python -c '{OTEL}', the whole process",
        3.0,
        "x",
        command_help,
    ),
    Budget(
        "pytest-unused",
        f"modules of {', '.join(HEAVY)} in a pytest run that does not use the plugin",
        "none",
        0.0,
        "modules",
        plugin_modules,
    ),
)
