from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["values", "redaction", "secret_names", "state"])
def test_the_examples_of_the_docstrings_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tracedance_sdk.recording.{module}"))
    assert result.attempted
    assert not result.failed
