"""A collector for each test, and frameworks that tell nobody and fetch nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracedance_sdk as td


@pytest.fixture(scope="session", autouse=True)
def secluded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No telemetry of their own, no lists from the network, no caches outside the test's folder.

    They ask for these when they are imported, which is once in a process.
    """
    home: Path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
        patch.setenv("CREWAI_TRACING_ENABLED", "false")
        patch.setenv("CREWAI_STORAGE_DIR", str(home / "crewai"))
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        patch.setenv("DSPY_CACHEDIR", str(home / "dspy"))
        patch.delenv("OTEL_SDK_DISABLED", raising=False)
        yield
        # Connections that clients left open are told of now, while that is nobody's error.
        gc.collect()


@pytest.fixture
def collector() -> Iterator[td.SpanCollector]:
    found = td.SpanCollector()
    yield found
    summary = found.summary()
    assert (summary.open_runs, summary.open_spans, dict(summary.faults)) == (0, 0, {})
