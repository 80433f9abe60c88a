from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.durability.redaction_figures import cut_secrets, look_alikes, measured, secrets, table
from tracedance_sdk.recording import SecretRedactor

PAGE = (Path(__file__).parents[2] / "docs" / "redaction.md").read_text(encoding="utf-8")


def test_the_page_shows_the_figures_that_the_script_measures() -> None:
    redactor = SecretRedactor(key=b"k" * 32)
    parts = {"secret": secrets(), "secret, cut off": cut_secrets(), "look-alike": look_alikes()}
    tables = [table(title, measured(redactor, part, [])) for title, part in parts.items()]
    shown = PAGE.split("<!-- figures: begin -->\n```\n")[1].split("\n```\n<!-- figures: end -->")[0]
    assert shown == "\n\n".join(tables)


def test_the_example_of_own_patterns_runs_and_masks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    found: dict[str, object] = {}
    exec(next(block for block in blocks if "badge_numbers" in block), found)
    redactor = found["redactor"]
    assert isinstance(redactor, SecretRedactor)
    text = b'["EMP-123456 customer=ann BADGE12345 pin 1234", {"seed": "my seed"}]'
    assert [kind.decode() for kind in re.findall(rb"\[MASKED:(\w+):", redactor.redact(text))] == [
        "custom",
        "customer",
        "badge",
        "custom",
        "named",
    ]
