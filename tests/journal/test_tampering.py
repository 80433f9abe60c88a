"""What `verify` finds: every edit of the table, every byte and cut, and edits drawn at random."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.journal.records import call_end
from tests.journal.tampering import (
    EDITS,
    KEY,
    SETTINGS,
    Journal,
    Setting,
    lines_of,
    put_lines,
    relink,
    said,
    tamper_table,
    write_journal,
)
from tracedance_sdk.errors import JournalError, TraceDanceError, UnsupportedVersion
from tracedance_sdk.journal import JournalWriter, read_journal, verify

_anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
CLOSED, KEYED, WITH_HEAD, KILLED, *_ = SETTINGS


TABLE = snapshot(
    {
        "nothing": ["intact", "intact", "intact", "open end", "open end", "intact"],
        "a byte of a record": "edited @ line 2",
        "a byte of a header": "edited @ line 1",
        "a byte of a rotated file's closing record": "edited @ line 5",
        "a byte of the very last line": [
            "edited @ line 4",
            "edited @ line 3",
            "edited @ line 4",
            "edited @ line 3",
            "edited @ line 2",
            "edited @ line 3",
        ],
        "a newline": "edited @ line 1",
        "a line deleted": "missing @ line 2",
        "the header deleted": "missing @ line 1",
        "a line repeated": "inserted @ line 4",
        "a line made up": "inserted @ line 3",
        "a line after the end": [
            "inserted @ line 5",
            "inserted @ line 4",
            "inserted @ line 5",
            "inserted @ line 4",
            "inserted @ line 3",
            "inserted @ line 4",
        ],
        "two lines swapped": "reordered @ line 2",
        "cut within the last line": [
            "open end",
            "open end",
            "truncated @ line 0",
            "open end",
            "open end",
            "truncated @ line 0",
        ],
        "cut before the last newline": "open end",
        "cut after a line": [
            "open end",
            "open end",
            "truncated @ line 0",
            "open end",
            "open end",
            "truncated @ line 0",
        ],
        "cut after an earlier line": [
            "open end",
            "open end",
            "truncated @ line 0",
            "open end",
            "open end",
            "truncated @ line 0",
        ],
        "cut to nothing": [
            "open end",
            "open end",
            "truncated @ line 0",
            "open end",
            "open end",
            "truncated @ line 0",
        ],
        "a rotated file cut within a line": "truncated @ line 5",
        "a rotated file cut after a line": "truncated @ line 5",
        "a rotated file cut to nothing": "missing @ line 1",
        "all rewritten, no key": [
            "intact",
            "rewritten @ line 1",
            "truncated @ line 0",
            "open end",
            "rewritten @ line 1",
            "truncated @ line 0",
        ],
        "all rewritten, a key claimed": [
            "intact",
            "rewritten @ line 1",
            "truncated @ line 0",
            "open end",
            "rewritten @ line 1",
            "truncated @ line 0",
        ],
        "all rewritten, another key": "edited @ line 1",
        "two files swapped": "reordered @ line 1",
        "the first file removed": "missing @ line 1",
        "a middle file removed": "missing @ line 5",
        "the last file removed": [
            "missing @ line 5",
            "missing @ line 4",
            "missing @ line 5",
            "missing @ line 5",
            "missing @ line 4",
            "missing @ line 5",
        ],
        "a file renamed": "renamed @ line 1",
        "a file copied": "inserted @ line 1",
        "a blob changed": "blob changed @ line 2",
        "a blob removed": "blob missing @ line 2",
    }
)
"""Edit → what is said, in the order of `SETTINGS`; once where all say the same."""


def fresh(folder: Path) -> Path:
    return folder / os.urandom(8).hex()


def test_every_edit_is_named_and_placed(tmp_path: Path) -> None:
    table = {
        name: cells[0] if len(set(cells)) == 1 else cells for name, cells in tamper_table(tmp_path)
    }
    assert table == TABLE


@pytest.mark.parametrize("setting", SETTINGS, ids=[setting.name for setting in SETTINGS])
@pytest.mark.parametrize("edit", [name for name in EDITS if name != "nothing"])
def test_no_edit_passes_as_intact_but_rewriting_all_without_key_and_head(
    tmp_path: Path, edit: str, setting: object
) -> None:
    assert isinstance(setting, type(CLOSED))
    journal = write_journal(tmp_path, setting)
    EDITS[edit](journal)
    rewritten = edit in ("all rewritten, no key", "all rewritten, a key claimed")
    unproven = rewritten and not setting.is_keyed and not setting.expects_head
    assert (said(journal, setting) == "intact") is (unproven and setting.is_closed)


@pytest.mark.parametrize("setting", [CLOSED, KEYED], ids=["plain", "keyed"])
def test_every_single_byte_of_a_closed_journal_counts(tmp_path: Path, setting: object) -> None:
    assert isinstance(setting, type(CLOSED))
    writer = JournalWriter(tmp_path, key=KEY if setting.is_keyed else None)
    writer.append(call_end(0))
    path = writer.path
    head = writer.close().head
    assert path is not None
    assert head is not None
    journal = Journal(tmp_path, head, "")
    content = path.read_bytes()
    assert said(journal, setting) == "intact"
    unseen = []
    for place in range(len(content)):
        for bits in (1, 0x20, 0x80):
            changed = bytearray(content)
            changed[place] ^= bits
            path.write_bytes(changed)
            if said(journal, setting) in ("intact", "open end"):
                unseen.append((place, bits))
    assert unseen == []


@_anywhere
@given(st.data())
def test_no_random_edit_of_a_closed_journal_passes(tmp_path: Path, data: st.DataObject) -> None:
    journal = write_journal(fresh(tmp_path), CLOSED)
    path = data.draw(st.sampled_from(journal.files))
    content = path.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 300)))
    middle = data.draw(st.one_of(st.binary(max_size=20), st.just(content[:start][-50:])))
    changed = content[:start] + middle + content[end:]
    path.write_bytes(changed)
    assert (said(journal, CLOSED) == "intact") is (changed == content)


@_anywhere
@given(st.data())
def test_no_random_edit_of_the_lines_passes(tmp_path: Path, data: st.DataObject) -> None:
    journal = write_journal(fresh(tmp_path), CLOSED)
    path = data.draw(st.sampled_from(journal.files))
    lines = lines_of(path)
    others = [line for file in journal.files for line in lines_of(file)]
    changed = data.draw(
        st.one_of(
            st.permutations(lines),
            st.lists(st.sampled_from(others), max_size=8),
            st.lists(st.sampled_from(lines), max_size=8, unique=True),
        )
    )
    put_lines(path, changed)
    assert (said(journal, CLOSED) == "intact") is (changed == lines)


def test_every_whole_record_survives_every_cut(tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "whole", KILLED)
    content = journal.first.read_bytes()
    path = journal.folder / "cut.jsonl"
    header = content.index(b"\n") + 1
    ends = [place for place in range(len(content)) if content[place : place + 1] == b"\n"]
    for cut in range(header, len(content) + 1):
        path.write_bytes(content[:cut])
        records = max(0, sum(end <= cut for end in ends[:-1]) - 1)
        assert len(list(read_journal(path))) == records
        found = verify(path)
        assert found.ok
        assert found.records == records
        assert [tail.is_torn for tail in found.open_tails] == (
            [] if cut == len(content) else [cut - 1 not in ends]
        )


@pytest.mark.parametrize("place", [0, 40, 300])
def test_every_record_survives_a_byte_changed_in_the_header(tmp_path: Path, place: int) -> None:
    journal = write_journal(tmp_path, CLOSED)
    before = list(read_journal(tmp_path))
    content = bytearray(journal.first.read_bytes())
    content[place] ^= 1
    journal.first.write_bytes(content)
    assert list(read_journal(tmp_path)) == before


def test_records_joined_by_a_lost_newline_are_both_read(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, CLOSED)
    before = list(read_journal(tmp_path))
    for byte in (b"x", b"}", b"\0", b""):
        lines = lines_of(journal.first)
        content = b"".join(lines[:2])[:-1] + byte + b"".join(lines[2:])
        aside = tmp_path / "aside" / journal.first.name
        aside.parent.mkdir(exist_ok=True)
        aside.write_bytes(content)
        contents = read_journal(aside)
        assert list(contents) == before[: len(lines) - 2]
        assert len(contents.problems) == 1


def test_a_hole_of_zeros_costs_only_the_records_in_it(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, CLOSED)
    before = list(read_journal(journal.first))
    lines = lines_of(journal.first)
    lines[2] = b"\0" * len(lines[2])
    put_lines(journal.first, lines)
    assert list(read_journal(journal.first)) == [before[0], *before[2:]]


def test_a_line_taken_out_of_a_chain_made_right_again_shows_by_its_number(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, CLOSED)
    lines = lines_of(journal.first)
    put_lines(journal.first, [lines[0], *lines[2:]])
    relink(journal.files)
    assert said(journal, CLOSED) == "missing @ line 2"


def test_a_last_record_taken_out_of_a_chain_made_right_again_shows_by_the_count(
    tmp_path: Path,
) -> None:
    journal = write_journal(tmp_path, CLOSED)
    *lines, closing = lines_of(journal.last)
    number = b'"tracedance.journal.line","value":{"intValue":"%d"'
    closing = closing.replace(number % (len(lines) + 1), number % len(lines))
    put_lines(journal.last, [*lines[:-1], closing])
    relink(journal.files)
    assert said(journal, CLOSED) == f"rewritten @ line {len(lines)}"


def test_a_journal_under_a_key_is_not_verified_without_it(tmp_path: Path) -> None:
    write_journal(tmp_path, KEYED)
    with pytest.raises(JournalError, match="is under a key; set TRACEDANCE_JOURNAL_KEY"):
        verify(tmp_path)
    with pytest.raises(JournalError, match="the key given is not the one"):
        verify(tmp_path, key=b"other")


def test_one_file_under_another_key_is_a_break(tmp_path: Path) -> None:
    write_journal(tmp_path, KEYED)
    writer = JournalWriter(tmp_path, key=b"other")
    writer.append(call_end())
    path = writer.path
    writer.close()
    found = verify(tmp_path, key=KEY).first_break
    assert found is not None
    assert (found.kind, found.path, found.line) == ("rewritten", path, 1)


def test_a_file_without_the_key_is_a_break(tmp_path: Path) -> None:
    write_journal(tmp_path, CLOSED)
    found = verify(tmp_path, key=KEY).first_break
    assert found is not None
    assert found.kind == "rewritten"


def test_another_version_is_refused(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, CLOSED)
    version = b'"version","value":{"intValue":"%d"'
    journal.first.write_bytes(journal.first.read_bytes().replace(version % 1, version % 9))
    with pytest.raises(UnsupportedVersion, match="journal version 9; this release reads"):
        verify(tmp_path)


@pytest.mark.parametrize("head", ["", "xyz", "0" * 63, "0" * 65, "../" * 20])
def test_a_head_that_is_none_is_refused(tmp_path: Path, head: str) -> None:
    write_journal(tmp_path, CLOSED)
    with pytest.raises(JournalError, match="is no HEAD"):
        verify(tmp_path, expect=head)


def test_a_head_in_the_middle_leaves_the_end_open(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(call_end(0))
    head = writer.summary().head
    assert head is not None
    assert verify(tmp_path, expect=head).open_tails == ()
    writer.append(call_end(1))
    [tail] = verify(tmp_path, expect=[head]).open_tails
    assert (tail.line, tail.is_being_written, tail.is_torn) == (3, True, False)
    later = writer.close().head
    assert later is not None
    assert verify(tmp_path, expect=[head, later]).ok


@pytest.mark.parametrize("setting", [WITH_HEAD, KILLED], ids=lambda setting: setting.name)
@pytest.mark.parametrize("before", [b"x", b'{"a":', b"[", b"\0" * 70, b'{"resourceSpans":[{"scope'])
def test_a_record_put_into_a_torn_end_is_a_break(
    tmp_path: Path, setting: Setting, before: bytes
) -> None:
    journal = write_journal(tmp_path, setting._replace(is_closed=False))
    path = journal.files[-1]
    content = path.read_bytes()
    forged = lines_of(path)[-1].replace(b"pay", b"win").removesuffix(b"\n")
    assert b"win" in forged
    path.write_bytes(content + before + forged)
    found = verify(tmp_path, expect=[journal.head])
    assert [item.kind for item in found.breaks] == ["edited"]
    contents = read_journal(tmp_path)
    list(contents)
    assert [gap.kind for gap in contents.gaps] == ["altered"]
    assert len(contents.problems) == 1


def test_a_torn_end_shows_behind_the_expected_head_too(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, KILLED)
    assert verify(tmp_path, expect=[journal.head]).open_tails == ()
    path = journal.files[-1]
    path.write_bytes(path.read_bytes() + lines_of(path)[-1][:200])
    found = verify(tmp_path, expect=[journal.head])
    assert found.ok
    assert [(tail.path, tail.is_torn) for tail in found.open_tails] == [(path, True)]


def test_files_that_no_expected_head_vouches_for_are_open_ends(tmp_path: Path) -> None:
    own = write_journal(tmp_path, CLOSED)
    own_files = set(own.files)
    assert verify(tmp_path, expect=[own.head]).open_tails == ()
    put_in = write_journal(tmp_path, CLOSED)
    assert verify(tmp_path).open_tails == ()
    found = verify(tmp_path, expect=[own.head])
    assert found.ok
    assert {tail.path for tail in found.open_tails} == set(put_in.files) - own_files
    assert all(tail.is_unvouched for tail in found.open_tails)
    assert verify(tmp_path, expect=[own.head, put_in.head]).open_tails == ()


def test_a_head_vouches_for_the_files_that_go_on_after_it(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, max_bytes=2000)
    writer.append(call_end(0))
    early = writer.summary().head
    assert early is not None
    for number in range(1, 9):
        writer.append(call_end(number))
    writer.close()
    found = verify(tmp_path, expect=[early])
    assert found.files > 2
    assert (found.breaks, found.open_tails) == ((), ())


def test_files_of_several_processes_are_chains_of_their_own(tmp_path: Path) -> None:
    journals = [write_journal(tmp_path, CLOSED) for _ in range(3)]
    found = verify(tmp_path)
    assert found.ok
    assert found.records == 24
    assert sorted(found.heads) == sorted(journal.head for journal in journals)
    assert verify(tmp_path, expect=[journal.head for journal in journals]).ok


def test_a_single_file_is_verified_by_itself(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, CLOSED)
    for path in journal.files:
        assert verify(path).ok
    with pytest.raises(TraceDanceError):
        verify(tmp_path / "blobs")


def test_other_files_of_the_folder_are_named(tmp_path: Path) -> None:
    write_journal(tmp_path, CLOSED)
    (tmp_path / "notes.jsonl").write_text("{}\n")
    found = verify(tmp_path)
    assert found.ok
    assert [path.name for path in found.others] == ["notes.jsonl"]
