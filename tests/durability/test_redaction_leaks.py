from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.durability.canary import Canary, failure_text, leave_traces
from tests.recording.conftest import clean_process  # noqa: F401  # used by name
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.pseudonyms import KEY_FILE, redaction_key
from tracedance_sdk.recording.redaction import SecretRedactor
from tracedance_sdk.trace import MASK

pytestmark = pytest.mark.usefixtures("clean_process")
PREFIXES = {"anthropic": "sk-" + "ant-api03-", "github": "gh" + "p_", "slack": "xo" + "xb-"}


@pytest.mark.parametrize("kind", PREFIXES)
def test_no_secret_reaches_anything_that_is_written(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canary = Canary(PREFIXES[kind])
    left = asyncio.run(leave_traces(canary, tmp_path))
    left.texts["caplog"] = caplog.text
    assert len(canary.secrets) > 35
    leaks = {where: canary.places_in(text) for where, text in left.texts.items()}
    assert {where: places for where, places in leaks.items() if places} == {}
    assert len(left.trace.calls) >= 9
    masked = sum(len(MASK.findall(text)) for text in left.texts.values())
    assert masked > 100


def test_without_redaction_every_secret_is_found_so_that_the_search_works(tmp_path: Path) -> None:
    canary = Canary(PREFIXES["github"])
    left = asyncio.run(leave_traces(canary, tmp_path, redaction=False))
    everything = "\n".join(left.texts.values())
    assert set(canary.places_in(everything)) == set(canary.secrets)
    assert canary.places_in(left.texts["exported spans"])


def test_a_redactor_that_fails_lets_nothing_through(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(text: str) -> Any:
        raise ValueError(f"cannot look at {text}")

    caplog.set_level(logging.DEBUG)
    canary = Canary(PREFIXES["github"])
    redactor = SecretRedactor(key=b"k" * 32, extra_patterns=[broken])
    left = asyncio.run(leave_traces(canary, tmp_path, redaction=redactor))
    left.texts["caplog"] = caplog.text
    assert {where: canary.places_in(text) for where, text in left.texts.items()} == {
        where: [] for where in left.texts
    }
    assert redactor.failures > 10


def test_equal_secrets_are_equal_in_all_that_is_written_and_differ_under_another_key(
    tmp_path: Path,
) -> None:
    masks = []
    for folder in ("a", "a again", "b"):
        path = tmp_path / folder
        if folder == "a again":
            (path / "journal").mkdir(parents=True)
            key = (tmp_path / "a" / "journal" / KEY_FILE).read_bytes()
            (path / "journal" / KEY_FILE).write_bytes(key)
            (path / "journal" / KEY_FILE).chmod(0o600)
        path.mkdir(exist_ok=True)
        canary = Canary(PREFIXES["github"])
        trace = asyncio.run(leave_traces(canary, path)).trace
        masks.append(trace.system_prompt)
    assert masks[0] == masks[1]
    assert masks[0] != masks[2]


def test_a_key_that_is_moved_away_begins_a_new_one_and_old_records_can_be_read(
    tmp_path: Path,
) -> None:
    old = redaction_key(tmp_path)
    secret = orjson.dumps({"password": "hunter2"})
    (tmp_path / KEY_FILE).rename(tmp_path / "redaction.key.2026-01")
    new = redaction_key(tmp_path)
    assert old != new
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert SecretRedactor(key=old).redact(secret) != SecretRedactor(key=new).redact(secret)
    again = SecretRedactor(key=(tmp_path / "redaction.key.2026-01").read_bytes())
    assert again.redact(secret) == SecretRedactor(key=old).redact(secret)


def test_neither_reprs_nor_refusals_show_a_key_or_a_value() -> None:
    key = b"secret-key-of-the-pseudonyms-abc"
    redactor = SecretRedactor(key=key, secret_keys=["pin"])
    assert key.decode() not in repr(redactor)
    assert key.decode() not in str(redactor.redact)
    with pytest.raises(InvalidOption) as refused:
        SecretRedactor(key=b"")
    assert "k" * 8 not in failure_text(refused.value)
