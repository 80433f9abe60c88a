from __future__ import annotations

from collections.abc import Iterator

import pytest

from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.options import defaults
from tracedance_sdk.recording.pipeline import EXPORTS, PIPELINES
from tracedance_sdk.recording.scopes import CURRENT, open_runs
from tracedance_sdk.settings import SETTINGS


@pytest.fixture(autouse=True)
def clean_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Faults of the recorder fail the test, and nothing is left behind for the next one."""
    for row in SETTINGS.values():
        monkeypatch.delenv(row.env, raising=False)
    monkeypatch.setattr(GUARD, "raises", True)
    yield
    assert not open_runs
    assert CURRENT.get() is None
    defaults.clear()
    PIPELINES.close()
    EXPORTS.close()


@pytest.fixture
def forgiving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults of the recorder stay inside, as in production."""
    monkeypatch.setattr(GUARD, "raises", False)
    monkeypatch.setattr(GUARD, "_logged", set())
