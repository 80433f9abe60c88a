"""`verify`, `recover` and `prune`: what they print, their JSON, their exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Tracedance
from tests.journal.records import call_end
from tracedance_sdk.formats import load_trace
from tracedance_sdk.journal import JournalWriter

KEY = "TRACEDANCE_JOURNAL_KEY"


SCRIPT = """
import tracedance_sdk as td

with td.TraceRecorder(task_id="mail", journal="runs") as recorder:
    for name in ("Sam", "Kim"):
        with recorder.call("send", {"to": name}) as call:
            call.result = {"sent": True}
print(recorder.close().head)
"""


class Recorded(NamedTuple):
    """A journal that a process of its own wrote and closed, and the HEAD its recorder gave."""

    folder: Path
    head: str


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    place = tmp_path_factory.mktemp("recorded")
    environment = {name: value for name, value in os.environ.items() if name != KEY}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=place,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return Recorded(place / "runs", ran.stdout.strip())


@pytest.fixture
def head(recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stand beside the closed journal ``runs/`` with one run; return its HEAD."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv(KEY, raising=False)
    shutil.copytree(recorded.folder, "runs")
    return recorded.head


def only_file() -> Path:
    [path] = Path("runs").glob("*.jsonl")
    return path


def tidy(text: str) -> str:
    """Replace what differs from run to run."""
    text = re.sub(r"\d{8}T\d{6}-\d{9}-\d+-[0-9a-f]{8}", "FILE", text)
    text = re.sub(r"[0-9,]+ bytes", "N bytes", text)
    return re.sub(r"[0-9a-f]{64}", "HEAD", text)


def last_head(tracedance: Tracedance) -> str:
    [head] = json.loads(tracedance("verify", "runs", "--json").out)["heads"]
    return str(head)


def test_an_intact_journal_is_said_to_be_so(head: str, tracedance: Tracedance) -> None:
    ran = tracedance("verify", "runs")
    assert (ran.code, ran.err) == (0, "")
    assert tidy(ran.out) == snapshot("""\
intact
1 file, 6 records, 0 blobs; SHA-256 without a key
head   HEAD
""")
    assert tracedance("verify", "runs", "--expect", head).code == 0
    assert tracedance("verify", only_file(), "--expect", last_head(tracedance)).code == 0


def test_the_first_break_is_named(head: str, tracedance: Tracedance) -> None:
    path = only_file()
    path.write_bytes(path.read_bytes().replace(b"Kim", b"Tim"))
    ran = tracedance("verify", "runs")
    assert (ran.code, ran.err) == (1, "")
    assert tidy(ran.out) == snapshot("""\
BROKEN edited: its hash is another @ runs/FILE.jsonl:5
1 file, 3 records, 0 blobs; SHA-256 without a key
head   HEAD
""")


def test_an_open_end_is_exit_code_3_until_a_head_vouches_for_it(
    head: str, tracedance: Tracedance
) -> None:
    path = only_file()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    ran = tracedance("verify", "runs")
    assert (ran.code, ran.err) == (3, "")
    assert tidy(ran.out) == snapshot("""\
intact, as far as it goes
open   no closing record: killed, or cut off; --expect HEAD tells @ runs/FILE.jsonl:7
1 file, 6 records, 0 blobs; SHA-256 without a key
head   HEAD
""")
    assert tracedance("verify", "runs", "--expect", head).code == 0
    path.write_bytes(b"".join(lines[:-2]))
    ran = tracedance("verify", "runs", "--expect", head)
    assert ran.code == 1
    assert tidy(ran.out.splitlines()[0]).startswith("BROKEN truncated: no line has the expected")


def test_the_json_of_verify_names_format_breaks_and_tails(
    head: str, tracedance: Tracedance
) -> None:
    path = only_file()
    path.write_bytes(path.read_bytes().replace(b"Kim", b"Tim"))
    ran = tracedance("verify", "runs", "--json")
    assert ran.code == 1
    document = json.loads(ran.out)
    assert (document["format"], document["version"], document["ok"]) == (
        "tracedance.verification",
        1,
        False,
    )
    assert document["breaks"] == [
        {"path": str(path), "line": 5, "kind": "edited", "what": "its hash is another"}
    ]


def test_several_journals_are_verified_one_by_one(head: str, tracedance: Tracedance) -> None:
    shutil.copytree("runs", "edited")
    edited = Path("edited") / only_file().name
    edited.write_bytes(edited.read_bytes().replace(b"Kim", b"Tim"))
    assert tracedance("verify", "runs", only_file()).code == 0
    ran = tracedance("verify", "runs", "absent", "edited", "runs")
    assert (ran.code, tidy(ran.out)) == (
        1,
        snapshot("""\
runs
intact
1 file, 6 records, 0 blobs; SHA-256 without a key
head   HEAD

edited
BROKEN edited: its hash is another @ edited/FILE.jsonl:5
1 file, 3 records, 0 blobs; SHA-256 without a key
head   HEAD
"""),
    )
    assert ran.err == (
        "tracedance: the journal 'absent' cannot be read: No such file or directory\n"
    )
    assert tracedance("verify", "runs", "absent").code == 2
    assert tracedance("verify", "absent", "missing").code == 2


def test_the_json_of_several_journals_is_one_document_of_the_same_shape(
    head: str, tracedance: Tracedance
) -> None:
    shutil.copytree("runs", "again")
    one = json.loads(tracedance("verify", "runs", "--json").out)
    ran = tracedance("verify", "runs", "again", "absent", "--json")
    both = json.loads(ran.out)
    assert ran.code == 2
    assert both.keys() == one.keys()
    assert (one["path"], one["paths"], one["ok"], one["problems"]) == ("runs", ["runs"], True, [])
    assert (both["path"], both["paths"], both["ok"]) == (None, ["runs", "again", "absent"], False)
    assert (both["files"], both["records"], both["heads"]) == (2, 12, one["heads"] * 2)
    assert [problem.partition(" cannot")[0] for problem in both["problems"]] == [
        "the journal 'absent'"
    ]


def test_a_head_is_expected_in_one_journal(head: str, tracedance: Tracedance) -> None:
    ran = tracedance("verify", "runs", "runs/", "--expect", head)
    assert (ran.code, ran.out) == (2, "")
    assert "is a HEAD of one journal, and 2 paths are given" in ran.err


def test_a_key_is_needed_must_match_and_may_lie_in_a_file(
    head: str, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "our secret")
    writer = JournalWriter("keyed", key=b"our secret")
    writer.append(call_end())
    writer.close()
    assert tracedance("verify", "keyed").code == 0
    Path("key.txt").write_text("our secret\n")
    monkeypatch.setenv(KEY, "@key.txt")
    assert tracedance("verify", "keyed").code == 0
    said = []
    for key in ("wrong", "@none", "@runs", ""):
        monkeypatch.setenv(KEY, key)
        ran = tracedance("verify", "keyed")
        assert (ran.code, ran.out) == (2, "")
        said.append(tidy(ran.err).strip())
    assert "\n".join(said) == snapshot("""\
tracedance: the key given is not the one that 'keyed/FILE.jsonl' was written under
tracedance: the key file named by TRACEDANCE_JOURNAL_KEY cannot be read: No such file or directory
tracedance: the key file named by TRACEDANCE_JOURNAL_KEY cannot be read: Is a directory
tracedance: 'keyed/FILE.jsonl' is under a key; set TRACEDANCE_JOURNAL_KEY to it to verify\
""")


def test_bad_input_is_one_line_and_exit_code_2(head: str, tracedance: Tracedance) -> None:
    Path("notes.jsonl").write_text('{"messages": []}\n')
    Path("empty").mkdir()
    Path("newer").mkdir()
    version = b'"version","value":{"intValue":"%d"'
    content = only_file().read_bytes().replace(version % 1, version % 9)
    (Path("newer") / only_file().name).write_bytes(content)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    said = []
    for verb, *options in (
        ("verify",),
        ("recover", "--out", "out"),
        ("prune", "--older-than", "1d"),
    ):
        for place in ("absent", "notes.jsonl", "empty", "newer"):
            ran = tracedance(verb, place, *options)
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
            said.append(f"{verb}: {tidy(ran.err).strip()}")
    assert "\n".join(said) == snapshot("""\
verify: tracedance: the journal 'absent' cannot be read: No such file or directory
verify: tracedance: 'notes.jsonl' is no journal: its first line is no header
verify: tracedance: no journal in the folder 'empty'
verify: tracedance: 'newer/FILE.jsonl': journal version 9; this release reads version 1
recover: tracedance: the journal 'absent' cannot be read: No such file or directory
recover: tracedance: 'notes.jsonl' is no journal: its first line is no header
recover: tracedance: no journal in the folder 'empty'
recover: tracedance: 'newer/FILE.jsonl': journal version 9; this release reads version 1
prune: tracedance: 'absent' is no folder; name the folder of a journal
prune: tracedance: 'notes.jsonl' is no folder; name the folder of a journal
prune: tracedance: no journal in the folder 'empty'
prune: tracedance: 'newer/FILE.jsonl': journal version 9; this release reads version 1\
""")
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_wrong_use_is_one_line_and_exit_code_2(head: str, tracedance: Tracedance) -> None:
    said = []
    for arguments in (
        ("verify", "runs", "--expect", "abc"),
        ("recover", "runs"),
        ("recover", "runs", "--out", "runs"),
        ("recover", "runs", "--out", str(only_file())),
        ("prune", "runs"),
        ("prune", "runs", "--older-than", "soon"),
        ("prune", "runs", "--older-than", "0d"),
    ):
        ran = tracedance(*arguments)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        said.append(tidy(ran.err).strip())
    assert "\n".join(said) == snapshot("""\
tracedance: 'abc' is no HEAD; one is 64 hex characters, as close() returns
tracedance: Missing option '--out'; see: tracedance recover --help
tracedance: 'runs' is the journal itself; write the traces elsewhere
tracedance: the folder 'runs/FILE.jsonl' cannot be made: File exists
tracedance: Missing option '--older-than'; see: tracedance prune --help
tracedance: --older-than 'soon' is no age; give a number and a unit, such as 30d
tracedance: an age of 0:00:00 is not positive; give one such as 30 days\
""")


def test_recover_writes_traces_and_a_summary(head: str, tracedance: Tracedance) -> None:
    path = only_file()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + lines[5][:50])
    ran = tracedance("recover", "runs", "--out", "out")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot("""\
1 run, 1 without an end
2 calls, 1 interrupted
4 records; 1 file torn at the end
1 trace written to 'out', 0 unchanged
""")
    again = tracedance("recover", "runs", "--out", "out", "--json")
    assert again.code == 0
    document = json.loads(again.out)
    assert (document["format"], document["version"]) == ("tracedance.recovery", 1)
    assert (document["runs"], document["interrupted"], document["torn"]) == (1, 1, 1)
    [file] = document["unchanged"]
    assert load_trace(file).task_id == "mail"


def test_recover_says_what_it_could_not_read(head: str, tracedance: Tracedance) -> None:
    path = only_file()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"\x1b[31mgarbage\n", *lines[3:]]))
    ran = tracedance("recover", "runs", "--out", "out")
    assert ran.code == 3
    assert tidy(ran.err).replace(": unexpected", ":\nunexpected") == snapshot(
        """\
tracedance: not JSON:
unexpected character, expected a JSON value: line 1 column 1 (char 0) @ runs/FILE.jsonl:4
"""
    )
    path.write_bytes(lines[0])
    ran = tracedance("recover", "runs", "--out", "other")
    assert (ran.code, ran.err) == (2, "tracedance: no run in 'runs'\n")


def test_prune_removes_what_is_old(
    head: str, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time_ns
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: real() - 40 * 86_400 * 10**9)
        writer = JournalWriter("runs")
        writer.append(call_end())
        old = writer.path
        writer.close()
    assert old is not None
    os.utime(old, (0, 0))
    told = tracedance("prune", "runs", "--older-than", "30d", "--dry-run")
    assert (told.code, told.err) == (0, "")
    assert tidy(told.out) == snapshot("""\
  runs/FILE.jsonl
would remove 1 file and 0 blobs, N bytes
""")
    assert old.exists()
    done = tracedance("prune", "runs", "--older-than", "720h", "--json")
    assert done.code == 0
    document = json.loads(done.out)
    assert (document["format"], document["files"]) == ("tracedance.pruning", [f"runs/{old.name}"])
    assert not old.exists()
    assert only_file().exists()
    assert tracedance("verify", "runs").code == 0
