"""The examples in the docstrings run, in every module of the three packages."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest
import tracedance_collectors
import tracedance_integrations

import tracedance_sdk

PACKAGES = (tracedance_sdk, tracedance_integrations, tracedance_collectors)


def modules() -> Iterator[str]:
    for package in PACKAGES:
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of_a_module_run(
    name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("example"))
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not result.failed


@pytest.mark.parametrize(
    "name",
    [
        "TaskSpec", "Trace", "TraceRecorder", "Report", "agent", "configure", "evaluate",
        "load_trace", "save_trace", "tool",
    ],
)  # fmt: skip
def test_what_everybody_uses_has_an_example(name: str) -> None:
    assert doctest.DocTestParser().get_examples(getattr(tracedance_sdk, name).__doc__)
