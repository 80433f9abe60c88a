"""Importing the library does nothing but define names."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PROBE = Path(__file__).with_name("import_probe.py")
HEAVY = ("opentelemetry", "pydantic", "duckdb", "pyarrow", "openai")

# What each piece of a module that is not inert is reported as.
FAULTS = {
    "import os; os.environ.get('OTEL_SERVICE_NAME')": "environment read: OTEL_SERVICE_NAME",
    "import os; 'TRACEDANCE_JOURNAL' in os.environ": "environment read: TRACEDANCE_JOURNAL",
    "import os; dict(os.environ)": "environment read: all of it",
    "open('left_behind', 'w').close()": "opened for writing: 'left_behind'",
    "import os; os.close(os.open('left', os.O_CREAT | os.O_RDWR))": "opened for writing: 'left'",
    "import socket; socket.socket().close()": "socket.__new__",
    "import threading; threading.Thread(target=int).start()": "thread started: ",
    "import atexit; atexit.register(int)": "exit hooks: ",
    "import logging; logging.basicConfig()": "loggers with a configuration: ",
    "import logging; logging.getLogger('x').setLevel(10)": "loggers with a configuration: ",
    "import sys; sys.excepthook = print": "sys.excepthook: ",
    "import pydantic": "imported: pydantic",
    "import opentelemetry.trace": "imported: opentelemetry",
}


def effects_of_importing(module: str, *, folder: Path) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-B", str(PROBE), module],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
    )
    effects: list[str] = json.loads(result.stdout.splitlines()[-1])
    return effects


@pytest.mark.parametrize(
    "module",
    [
        "tracedance_sdk",
        "tracedance_sdk.pytest_plugin",
        "tracedance_integrations",
        "tracedance_collectors",
    ],
)
def test_import_is_inert(module: str, tmp_path: Path) -> None:
    assert effects_of_importing(module, folder=tmp_path) == []


@pytest.mark.parametrize(("source", "report"), FAULTS.items())
def test_the_probe_sees_what_an_import_did(source: str, report: str, tmp_path: Path) -> None:
    (tmp_path / "not_inert.py").write_text(source)

    effects = effects_of_importing("not_inert", folder=tmp_path)

    assert any(effect.startswith(report) for effect in effects), effects


def test_the_pytest_plugin_is_registered() -> None:
    assert "tracedance_sdk.pytest_plugin" in {
        entry_point.value for entry_point in entry_points(group="pytest11")
    }


def test_a_run_that_does_not_use_the_plugin_loads_nothing_heavy(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("def test_fine(): ...")
    pytester.makeconftest(
        f"""
        import sys

        def pytest_unconfigure():
            loaded = sorted(name for name in {HEAVY!r} if name in sys.modules)
            print("heavy modules:", loaded)
        """
    )

    result = pytester.runpytest_subprocess("-p", "tracedance_sdk.pytest_plugin")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["heavy modules: []"])
