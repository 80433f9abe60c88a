from __future__ import annotations

import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.errors import JournalError
from tracedance_sdk.recording.pseudonyms import KEY_FILE, pseudonym, redaction_key


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "journal"
    key = redaction_key(folder)
    path = folder / KEY_FILE
    assert len(key) == 32
    assert path.read_bytes() == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert redaction_key(str(folder)) == key
    assert [path.name for path in folder.iterdir()] == [KEY_FILE]
    assert redaction_key(tmp_path / "b") != key


def test_without_a_folder_the_key_lasts_as_long_as_the_process() -> None:
    assert redaction_key(None) == redaction_key(None)
    code = "from tracedance_sdk.recording.pseudonyms import *; print(redaction_key(None).hex())"
    shown = run(code)
    assert len(shown) == 64
    assert shown != redaction_key(None).hex()


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    code = (
        "import sys, time; from tracedance_sdk.recording.pseudonyms import *;"
        " time.sleep(max(0, float(sys.argv[2]) - time.time()));"
        " print(redaction_key(sys.argv[1]).hex())"
    )
    for round_ in range(3):
        folder = tmp_path / str(round_)
        start = str(time.time() + 1.0)
        command = [sys.executable, "-c", code, str(folder), start]
        others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
        keys = {other.communicate()[0].strip() for other in others}
        assert keys == {redaction_key(folder).hex()}
        assert [path.name for path in folder.iterdir()] == [KEY_FILE]


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_key_file_that_cannot_be_trusted_is_refused(tmp_path: Path) -> None:
    def refusal(name: str) -> str:
        with pytest.raises(JournalError) as refused:
            redaction_key(tmp_path / name)
        return str(refused.value).replace(str(tmp_path), "")

    for name, content, mode in (
        ("short", b"x" * 31, 0o600),
        ("long", b"x" * 33, 0o600),
        ("open", b"x" * 32, 0o644),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / KEY_FILE).write_bytes(content)
        (tmp_path / name / KEY_FILE).chmod(mode)
    (tmp_path / "folder" / KEY_FILE).mkdir(parents=True)
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / KEY_FILE).symlink_to(tmp_path / "nowhere")
    names = ("short", "long", "open", "folder", "file", "dangling")
    assert [refusal(name).split("; ")[0] for name in names] == snapshot(
        [
            "redaction key '/short/redaction.key' has 31 bytes, not 32",
            "redaction key '/long/redaction.key' has 33 bytes, not 32",
            "redaction key '/open/redaction.key' has mode 0644, so others may read it",
            "redaction key '/folder/redaction.key' is not a regular file",
            "redaction key '/file/redaction.key' cannot be used: [Errno 17] File exists: '/file'",
            "redaction key '/dangling/redaction.key' points nowhere",
        ]
    )


def test_a_pseudonym_depends_on_secret_and_key() -> None:
    assert pseudonym(b"k", b"secret") == pseudonym(b"k", b"secret")
    assert len({pseudonym(k, s) for k in (b"k", b"l") for s in (b"secret", b"other")}) == 4
