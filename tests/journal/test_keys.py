"""The key of the chain is a secret, and so may be what stands where a file was meant."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.keys import journal_key


def test_a_key_that_begins_like_a_file_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACEDANCE_JOURNAL_KEY", "@S3cretKeyOfMine!")
    with pytest.raises(JournalError, match="named by TRACEDANCE_JOURNAL_KEY") as caught:
        journal_key()
    assert "S3cret" not in "".join(traceback.format_exception(caught.value))
    (tmp_path / "S3cretKeyOfMine!").write_bytes(b"\n")
    with pytest.raises(JournalError, match="is empty") as caught:
        journal_key()
    assert "S3cret" not in str(caught.value)
