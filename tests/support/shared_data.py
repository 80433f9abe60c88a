"""Real traces that lie beside the project and are not part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared_data(name: str) -> Path:
    """Return the folder of one set of real traces, or skip the test when it is absent.

    Works inside a test and at the top of a test module. A run with ``TRACEDANCE_REQUIRE=data``
    fails instead of skipping.
    """
    folder = SHARED_DATA / name
    if not folder.is_dir():
        pytest.skip(f"data: {name} absent", allow_module_level=True)
    return folder
