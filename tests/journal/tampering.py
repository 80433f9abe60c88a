"""Journals of every kind, the ways to tamper with them, and what `verify` then says."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.journal.records import call_end
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.journal import JournalWriter, blob_path, verify

KEY = b"the journal's key"
BLOB = b'{"rows": [1, 2, 3]}'
_HASH_LENGTH = 64


class Setting(NamedTuple):
    """How a journal was written and is verified."""

    name: str
    is_closed: bool
    is_keyed: bool
    expects_head: bool


SETTINGS = [
    Setting("closed", True, False, False),
    Setting("closed, key", True, True, False),
    Setting("closed, HEAD", True, False, True),
    Setting("killed", False, False, False),
    Setting("killed, key", False, True, False),
    Setting("killed, HEAD", False, False, True),
]


class Journal(NamedTuple):
    """A journal of three files, six records and one blob."""

    folder: Path
    head: str
    digest: str

    @property
    def files(self) -> list[Path]:
        """Its files, in order."""
        return sorted(self.folder.glob("*.jsonl"))

    @property
    def first(self) -> Path:
        """The first file."""
        return self.files[0]

    @property
    def last(self) -> Path:
        """The last file."""
        return self.files[-1]


def write_journal(folder: Path, setting: Setting) -> Journal:
    """Write a journal whose last file ends as it does on closing, or on a kill."""
    writer = JournalWriter(folder, key=KEY if setting.is_keyed else None, max_bytes=2200)
    digest = writer.put_blob(BLOB)
    stub = json.dumps({"$blob": f"sha256:{digest}", "$size": len(BLOB)}, separators=(",", ":"))
    writer.append(call_end(0)._replace(attributes={"gen_ai.tool.call.result": stub}))
    for number in range(1, 8):
        writer.append(call_end(number))
    head = (writer.close() if setting.is_closed else writer.summary()).head
    del writer
    assert head is not None
    return Journal(folder, head, digest)


def said(journal: Journal, setting: Setting) -> str:
    """Return what verifying says in a few words."""
    expect = [journal.head] if setting.expects_head else []
    try:
        found = verify(journal.folder, key=KEY if setting.is_keyed else None, expect=expect)
    except TraceDanceError as error:
        return f"refused: {type(error).__name__}"
    if found.first_break is not None:
        return f"{found.first_break.kind} @ line {found.first_break.line}"
    return "open end" if found.open_tails else "intact"


def lines_of(path: Path) -> list[bytes]:
    """Return the lines with their newlines."""
    return path.read_bytes().splitlines(keepends=True)


def put_lines(path: Path, lines: list[bytes]) -> None:
    """Replace a file's lines."""
    path.write_bytes(b"".join(lines))


def flip(path: Path, place: int) -> None:
    """Change one byte."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def _flip_in(line: int, *, last_file: bool = False) -> Callable[[Journal], None]:
    def edit(journal: Journal) -> None:
        path = journal.last if last_file else journal.first
        lines = lines_of(path)
        at = range(len(lines))[line]
        flip(path, sum(map(len, lines[:at])) + len(lines[at]) - 10)

    return edit


def _on_lines(
    change: Callable[[list[bytes]], None], *, last_file: bool = False
) -> Callable[[Journal], None]:
    def edit(journal: Journal) -> None:
        path = journal.last if last_file else journal.first
        lines = lines_of(path)
        change(lines)
        put_lines(path, lines)

    return edit


def _flip_newline(journal: Journal) -> None:
    flip(journal.first, len(lines_of(journal.first)[0]) - 1)


def _delete_record(lines: list[bytes]) -> None:
    del lines[1]


def _delete_header(lines: list[bytes]) -> None:
    del lines[0]


def _delete_last(lines: list[bytes]) -> None:
    del lines[-1]


def _delete_last_two(lines: list[bytes]) -> None:
    del lines[-2:]


def _repeat(lines: list[bytes]) -> None:
    lines.insert(3, lines[1])


def _make_up(lines: list[bytes]) -> None:
    lines.insert(2, lines[2].replace(b"pay", b"pry"))


def _append(lines: list[bytes]) -> None:
    lines.append(lines[1])


def _swap(lines: list[bytes]) -> None:
    lines[1], lines[2] = lines[2], lines[1]


def _cut_within(lines: list[bytes]) -> None:
    lines[-1] = lines[-1][:-30]


def _cut_newline(lines: list[bytes]) -> None:
    lines[-1] = lines[-1][:-1]


def _cut_to_nothing(lines: list[bytes]) -> None:
    lines.clear()


def _swap_files(journal: Journal) -> None:
    first, second, *_ = journal.files
    aside = first.with_suffix(".aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def _remove_file(place: int) -> Callable[[Journal], None]:
    return lambda journal: journal.files[place].unlink()


def _rename_file(journal: Journal) -> None:
    journal.first.rename(journal.first.with_name("x.jsonl"))


def _copy_file(journal: Journal) -> None:
    shutil.copy(journal.first, journal.first.with_name("x.jsonl"))


def _change_blob(journal: Journal) -> None:
    blob_path(journal.folder, journal.digest).write_bytes(BLOB + b" ")


def _remove_blob(journal: Journal) -> None:
    blob_path(journal.folder, journal.digest).unlink()


def relink(files: list[Path], *, key: bytes | None = None) -> None:
    """Make every hash right again, as anybody can for a chain without a key."""
    chain = ""
    for path in files:
        lines = []
        for line in lines_of(path):
            body = line.rstrip(b"\n")
            if b'"key":"previous"' in body:
                old = body.split(b'"key":"previous","value":{"stringValue":"')[1][:_HASH_LENGTH]
                body = body.replace(old, chain.encode())
            own = body.split(b'"stringValue":"', 1)[1][:_HASH_LENGTH]
            opening, rest = body.split(own, 1)
            data = chain.encode() + opening + rest
            plain = hashlib.sha256(data).hexdigest()
            chain = plain if key is None else hmac.new(key, data, "sha256").hexdigest()
            lines.append(opening + chain.encode() + rest + b"\n")
        put_lines(path, lines)


def _rewrite(journal: Journal, *, claims_key: bool, key: bytes | None = None) -> None:
    """Change a record and all hashes."""
    for path in journal.files:
        content = path.read_bytes().replace(b'"pay"', b'"nay"')
        if not claims_key:
            content = content.replace(b'"stringValue":"hmac-sha256"', b'"stringValue":"sha256"')
        path.write_bytes(content)
    relink(journal.files, key=key)


def _rewrite_openly(journal: Journal) -> None:
    _rewrite(journal, claims_key=False)


def _rewrite_claiming(journal: Journal) -> None:
    _rewrite(journal, claims_key=True)


def _rewrite_under_another_key(journal: Journal) -> None:
    _rewrite(journal, claims_key=True, key=b"another")


def _nothing(journal: Journal) -> None:
    assert journal.folder.is_dir()


EDITS: dict[str, Callable[[Journal], None]] = {
    "nothing": _nothing,
    "a byte of a record": _flip_in(1),
    "a byte of a header": _flip_in(0),
    "a byte of a rotated file's closing record": _flip_in(-1),
    "a byte of the very last line": _flip_in(-1, last_file=True),
    "a newline": _flip_newline,
    "a line deleted": _on_lines(_delete_record),
    "the header deleted": _on_lines(_delete_header),
    "a line repeated": _on_lines(_repeat),
    "a line made up": _on_lines(_make_up),
    "a line after the end": _on_lines(_append, last_file=True),
    "two lines swapped": _on_lines(_swap),
    "cut within the last line": _on_lines(_cut_within, last_file=True),
    "cut before the last newline": _on_lines(_cut_newline, last_file=True),
    "cut after a line": _on_lines(_delete_last, last_file=True),
    "cut after an earlier line": _on_lines(_delete_last_two, last_file=True),
    "cut to nothing": _on_lines(_cut_to_nothing, last_file=True),
    "a rotated file cut within a line": _on_lines(_cut_within),
    "a rotated file cut after a line": _on_lines(_delete_last),
    "a rotated file cut to nothing": _on_lines(_cut_to_nothing),
    "all rewritten, no key": _rewrite_openly,
    "all rewritten, a key claimed": _rewrite_claiming,
    "all rewritten, another key": _rewrite_under_another_key,
    "two files swapped": _swap_files,
    "the first file removed": _remove_file(0),
    "a middle file removed": _remove_file(1),
    "the last file removed": _remove_file(-1),
    "a file renamed": _rename_file,
    "a file copied": _copy_file,
    "a blob changed": _change_blob,
    "a blob removed": _remove_blob,
}
"""What was done → how."""


def tamper_table(folder: Path) -> list[tuple[str, list[str]]]:
    """Return what `verify` says of every edit in every setting, in the order of `SETTINGS`.

    Args:
        folder: An empty one to work in.
    """
    rows = []
    for number, (name, edit) in enumerate(EDITS.items()):
        cells = []
        for place, setting in enumerate(SETTINGS):
            journal = write_journal(folder / f"{number}-{place}", setting)
            edit(journal)
            cells.append(said(journal, setting))
        rows.append((name, cells))
    return rows
