from __future__ import annotations

import pytest

from tests.durability.redaction_on_data import touched
from tests.support.shared_data import shared_data
from tracedance_sdk.recording.redaction import SecretRedactor

REDACTOR = SecretRedactor(key=b"k" * 32)


@pytest.mark.parametrize(
    "name",
    [
        "agentrx",
        "claude-code-log",
        "entire-cli-sessions",
        "inspect-logs",
        "openclaw-sessions",
        "otel-spans",
        "pi-mono-sessions",
        "reflexion",
        "tau-bench",
        "tau2-bench",
        "whoandwhen",
    ],
)
def test_nothing_is_masked_in_real_traces_that_were_read_and_hold_no_secret(name: str) -> None:
    shown: list[str] = []
    found = touched(REDACTOR, shared_data(name), shown)
    assert found.documents
    assert shown == []
    assert found.changed == 0


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("agentdojo-runs", {"password", "token"}),
        ("mini-swe-agent-deepseek", {"password", "secret_key"}),
        ("openhands-swebench", {"password", "secret_key", "url_password"}),
        ("swe-agent-verified", {"secret_key", "cookie"}),
    ],
)
def test_what_is_masked_in_real_traces_is_passwords_links_and_keys(
    name: str, kinds: set[str]
) -> None:
    shown: list[str] = []
    found = touched(REDACTOR, shared_data(name), shown)
    assert found.changed
    assert set(found.kinds) <= kinds, shown
    assert found.changed < found.documents / 2
