"""Run a program of these tests in a process of its own, with an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Finished(NamedTuple):
    """A program that ended.

    Attributes:
        said: What it printed, as JSON.
        errors: What it wrote to standard error.
        exit_seconds: From its last word to its end.
    """

    said: dict[str, Any]
    errors: str
    exit_seconds: float


def clean_environment(**variables: str) -> dict[str, str]:
    """Return this environment without what steers OpenTelemetry or this library."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OTEL_", "TRACEDANCE_"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1,localhost", **variables}


def run_host(
    program: str,
    asked: Mapping[str, Any],
    *,
    python: str = sys.executable,
    **variables: str,
) -> Finished:
    """Run a program beside this file; it prints one line of JSON.

    Raises:
        AssertionError: It failed.
    """
    with subprocess.Popen(
        [python, str(Path(__file__).with_name(program)), json.dumps(asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(**variables),
    ) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        began = time.perf_counter()
        _, errors = child.communicate(timeout=asked.get("timeout_seconds", 60))
        exit_seconds = time.perf_counter() - began
    assert child.returncode == 0, errors[-3000:]
    return Finished(json.loads(line), errors, exit_seconds)


def run_program(text: str, **variables: str) -> str:
    """Run a program given as text and return what it wrote to standard error."""
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=clean_environment(**variables),
    )
    assert "AssertionError" not in done.stderr, done.stderr[-3000:]
    return done.stderr
