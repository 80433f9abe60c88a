"""Tests in real frameworks: which of them are here, and a report of what was checked in each."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Generator, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.drivers import own_loop

CELLS: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CELLS] = []
    if importlib.util.find_spec("langchain_openai") is not None:
        # LangChain keeps its clients in a cache, and closes none that the cache has given up: seen
        # in tests, and when everything is collected at the end.
        config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")
        warnings.filterwarnings("ignore", "unclosed", ResourceWarning)


def pytest_runtest_setup(item: pytest.Item) -> None:
    needs = item.get_closest_marker("needs")
    for module in () if needs is None else needs.args:
        if not _is_there(module):
            pytest.skip(f"frameworks: {module} is not installed in this environment")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Ask for versions before any test can pretend another one."""
    for item in session.items:
        for marker in item.iter_markers("cell"):
            _version(marker.kwargs.get("package", marker.args[0]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    report = yield
    for marker in item.iter_markers("cell"):
        if report.when == "call" or (report.when == "setup" and not report.passed):
            framework, capability = marker.args
            item.config.stash[CELLS].append(
                {
                    "framework": framework,
                    "capability": capability,
                    "outcome": report.outcome,
                    "version": _version(marker.kwargs.get("package", framework)),
                    "by": marker.kwargs.get("by", "spans" if "/spans_" in item.nodeid else "hooks"),
                    "test": item.nodeid,
                }
            )
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = os.environ.get("TRACEDANCE_FRAMEWORK_REPORT")
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        found = {"python": sys.version.split()[0], "cells": session.config.stash[CELLS]}
        Path(path).write_text(json.dumps(found, indent=1) + "\n")


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


@functools.lru_cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> Iterator[None]:
    """The integrations that the test's mark `installs` names are in place."""
    marker = request.node.get_closest_marker("installs")
    with contextlib.ExitStack() as stack:
        for name in () if marker is None else marker.args:
            module = importlib.import_module(f"tracedance_integrations.{name}")
            module.install()
            stack.callback(module.uninstall)
        yield


@pytest.fixture(name="own_loop")
def _own_loop() -> Iterator[None]:
    """An event loop for the frameworks' synchronous methods."""
    with own_loop():
        yield


@pytest.fixture(autouse=True)
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No framework finds, or leaves, anything in the home folder, or phones home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
