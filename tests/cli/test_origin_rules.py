"""Rules on who wrote a message: broken ones are one error of the whole import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tracedance


@pytest.mark.parametrize("jobs", [1, 2])
def test_broken_rules_stop_an_import_before_anything_is_read(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracedance: Tracedance
) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps({"messages": chat}))
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{id: x}]")
    monkeypatch.setenv("TRACEDANCE_ORIGINS", str(rules))
    ran = tracedance("import", tmp_path, "--store", tmp_path / "kept", "--jobs", jobs)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert f"TRACEDANCE_ORIGINS: {rules}: " in ran.err
    assert "$.rules[0]" in ran.err
