"""Reading notices every change that `verify` notices, and nothing where nothing was changed."""

from __future__ import annotations

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
    write_journal,
)
from tracedance_sdk.errors import TraceDanceError, UnsupportedVersion
from tracedance_sdk.journal import (
    GapKind,
    JournalContents,
    JournalWriter,
    Place,
    read_journal,
    verify,
)

_anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
CLOSED, KEYED, KILLED = SETTINGS[0], SETTINGS[1], SETTINGS[3]
NO_RECORDS_CHANGED = {
    "two files swapped",
    "a file renamed",
    "a file copied",
    "a blob changed",
    "a blob removed",
}


def read(path: Path, *, key: bytes | None = None) -> JournalContents:
    contents = read_journal(path, key=key)
    list(contents)
    return contents


def one_file(folder: Path, records: int = 6) -> Path:
    writer = JournalWriter(folder)
    for number in range(records):
        writer.append(call_end(number))
    writer.close()
    [path] = folder.glob("*.jsonl")
    return path


def said(path: Path) -> list[str]:
    gaps = read(path).gaps
    return [f"{gap.kind} {gap.n_lines} @ {gap.line}-{gap.last.line}: {gap.what}" for gap in gaps]


@pytest.mark.parametrize("setting", [CLOSED, KEYED, KILLED], ids=lambda setting: setting.name)
@pytest.mark.parametrize("name", EDITS)
def test_reading_notices_what_verify_notices(tmp_path: Path, name: str, setting: Setting) -> None:
    journal = write_journal(tmp_path, setting)
    EDITS[name](journal)
    key = KEY if setting.is_keyed else None
    found = read(tmp_path, key=key)
    try:
        is_broken = not verify(tmp_path, key=key).ok
    except TraceDanceError:
        is_broken = True
    assert bool(found.gaps) is (is_broken and name not in NO_RECORDS_CHANGED)
    assert len(found.problems) >= sum(gap.is_damage for gap in found.gaps)


@_anywhere
@given(st.data())
def test_any_byte_changed_is_noticed_where_it_stands(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "x.jsonl"
    if not path.exists():
        one_file(tmp_path / "whole").rename(path)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 2))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.sampled_from([1, 2, 32, 128]))
    aside = tmp_path / "aside.jsonl"
    aside.write_bytes(changed)
    line = whole.count(b"\n", 0, place) + 1
    try:
        gaps = read(aside).gaps
    except UnsupportedVersion:
        assert line == 1
        return
    assert gaps[0].line <= line <= gaps[-1].last.line
    assert gaps[-1].last.line - gaps[0].line <= 2


@_anywhere
@given(st.sets(st.integers(0, 7), min_size=1, max_size=6))
def test_lines_taken_out_are_counted(tmp_path: Path, gone: set[int]) -> None:
    path = tmp_path / "whole.jsonl"
    if not path.exists():
        one_file(tmp_path / "whole").rename(path)
    lines = lines_of(path)
    kept = [line for number, line in enumerate(lines) if number not in gone]
    aside = tmp_path / "aside.jsonl"
    put_lines(aside, kept)
    within = {number for number in gone if number < max(set(range(8)) - gone)}
    gaps = read(aside).gaps
    assert sum(gap.n_lines for gap in gaps if gap.kind is GapKind.LOST) >= (1 if within else 0)
    if not within:
        assert gaps == []
    elif 0 not in gone:
        assert sum(gap.n_lines for gap in gaps) == len(within)


def test_what_is_said_of_each_kind_of_damage(tmp_path: Path) -> None:
    path = one_file(tmp_path / "whole")
    whole = lines_of(path)
    edited = whole[3].replace(b'"scope"', b'"xscope"')
    damaged = {
        "two gone": whole[:2] + whole[4:],
        "edited": [*whole[:3], edited, *whole[4:]],
        "another value": [*whole[:3], whole[3].replace(b"pay", b"pry"), *whole[4:]],
        "garbled": [*whole[:3], b"{\n", *whole[4:]],
        "two garbled": [*whole[:3], b"{\n", b"\0\n", *whole[5:]],
        "swapped": [*whole[:2], whole[3], whole[2], *whole[4:]],
        "put in": [*whole[:3], b"{}\n", *whole[3:]],
        "after the end": [*whole, whole[-1]],
        "half a line after the end": [*whole, whole[1][:50]],
    }
    found = {}
    for name, lines in damaged.items():
        put_lines(path, lines)
        found[name] = said(path)
    assert found == snapshot(
        {
            "two gone": ["lost 2 @ 3-3: lines 3 to 4 should stand here"],
            "edited": ["altered 1 @ 4-5: no line of a journal"],
            "another value": ["altered 1 @ 4-4: its hash is another"],
            "garbled": ["altered 1 @ 4-5: no line of a journal"],
            "two garbled": ["altered 2 @ 4-6: no line of a journal"],
            "swapped": ["lost 3 @ 3-5: line 3 should stand here"],
            "put in": ["altered 1 @ 4-4: no line of a journal"],
            "after the end": ["altered 1 @ 9-9: a line numbered 8 stands here again"],
            "half a line after the end": ["altered 1 @ 9-9: a line after the closing record"],
        }
    )


def test_numbers_are_checked_without_the_key_and_hashes_are_not(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, KEYED)
    assert read(tmp_path).unchecked == journal.files
    assert read(tmp_path).gaps == []
    assert read(tmp_path, key=KEY).unchecked == []
    lines = lines_of(journal.first)
    lines[2] = lines[2].replace(b"pay", b"pry")
    put_lines(journal.first, lines)
    assert read(tmp_path).gaps == []
    assert [gap.line for gap in read(tmp_path, key=KEY).gaps] == [3]
    del lines[2]
    put_lines(journal.first, lines)
    assert [gap.line for gap in read(tmp_path).gaps] == [3]


def test_another_key_and_a_chain_without_one_are_named(tmp_path: Path) -> None:
    write_journal(tmp_path / "keyed", KEYED)
    write_journal(tmp_path / "plain", CLOSED)
    assert {gap.what for gap in read(tmp_path / "keyed", key=b"another").gaps} == {
        "under another key than the one given"
    }
    assert {gap.what for gap in read(tmp_path / "plain", key=KEY).gaps} == {
        "chained without the key that was given: not written under it, or rewritten"
    }


def test_claiming_a_key_does_not_hide_hashes_without_one(tmp_path: Path) -> None:
    path = one_file(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"sha256"', b'"hmac-sha256"'))
    assert read(path).unchecked == [path]
    assert read(path).gaps
    relink([path])
    assert read(path).gaps


def places(journal: Journal, path: Path) -> list[tuple[Place, Place, bool]]:
    assert journal.folder.is_dir()
    return [(gap.first, gap.last, gap.is_damage) for gap in read(path).gaps]


def test_a_file_of_a_chain_that_is_gone_is_a_gap_of_its_own(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, CLOSED)
    first, second, third = journal.files
    assert places(journal, tmp_path) == []
    second.unlink()
    assert places(journal, tmp_path) == [
        (Place(2, 0), Place(2, 2**63), True),
        (Place(2, 0), Place(3, 0), True),
    ]
    third.unlink()
    assert places(journal, tmp_path) == [(Place(2, 0), Place(2, 2**63), True)]
    assert read(tmp_path).problems[0].line == len(lines_of(first))


def test_of_a_single_file_the_others_are_no_damage_but_not_there(tmp_path: Path) -> None:
    journal = write_journal(tmp_path, CLOSED)
    [(first, last, is_damage)] = places(journal, journal.last)
    assert (first, last, is_damage) == (Place(1, 0), Place(3, 0), False)
    assert read(journal.last).problems == []


def test_a_file_made_after_the_folder_was_looked_at_is_none_that_is_gone(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, max_bytes=2200)
    writer.append(call_end(0))
    contents = read_journal(tmp_path)
    for number in range(1, 8):
        writer.append(call_end(number))
    list(contents)
    assert contents.gaps == []
    assert contents.problems == []
    writer.close()


def test_an_edited_record_is_read_with_its_place(tmp_path: Path) -> None:
    path = one_file(tmp_path, records=3)
    contents = read(path)
    chains = {chain for chain, _, _ in contents.placed()}
    assert len(chains) == 1
    assert [place for _, place, _ in contents.placed()] == [Place(1, n) for n in range(1, 6)]
