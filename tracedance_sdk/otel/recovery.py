"""Write the traces of a journal as files, whatever became of the process that wrote it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, InvalidTrace, TraceDanceError, UnreadableFile
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.journal import EvidenceRecord, JournalContents, journal_key, read_journal
from tracedance_sdk.otel.assembly import traces_of
from tracedance_sdk.otel.damage import Damage
from tracedance_sdk.otel.tree import runs
from tracedance_sdk.trace import Trace, encode_json

_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,120}")
_BLOBS: Final = "blobs"


class Recovery(NamedTuple):
    """What was recovered.

    Attributes:
        written: Trace files that are new, or replaced because the journal holds more now.
        unchanged: Trace files that hold just what the journal does.
        kept: Trace files left as they are because they hold more than the journal does now.
        runs: Runs in the journal.
        open_runs: Of those, runs whose end is not in it.
        calls: Calls of all runs.
        interrupted: Of those, calls whose end is not in the journal.
        records: Records read.
        torn: Files that end within a line.
        gaps: Stretches of lines that are missing, unreadable or altered; those of the journal
            itself are among the problems.
        unchecked: Files under a key that is not at hand: edits in them would go unnoticed.
        missing_blobs: Large values that are referred to and not there, or damaged.
        problems: What could not be read or written, one line each.
    """

    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    kept: tuple[Path, ...]
    runs: int
    open_runs: int
    calls: int
    interrupted: int
    records: int
    torn: int
    gaps: int
    unchecked: int
    missing_blobs: int
    problems: tuple[str, ...]


def recover(path: str | os.PathLike[str], *, out: str | os.PathLike[str]) -> Recovery:
    """Write one trace file for each run of a journal; the journal itself stays as it is.

    Every whole record counts, also those in a file that was torn or damaged elsewhere. A call
    without its end becomes an interrupted one. Doing it again writes only what has changed: a
    trace that has grown is replaced, and one that has lost records since, as pruning makes it, is
    not. Where each holds something that the other does not, both are kept.

    Args:
        path: A journal folder, or one of its files.
        out: Folder of the trace files, each named by its trace's id; created when missing.

    Returns:
        What was written and what could not be read.

    Raises:
        JournalError: No journal there, or its key cannot be read.
        UnsupportedVersion: A journal of another version.
        InvalidOption: `out` is the journal itself.
        UnreadableFile: `out` cannot be made, or is no folder.

    Example:
        >>> recover("traces/", out="recovered/").interrupted  # doctest: +SKIP
        1
    """
    contents = read_journal(path, key=journal_key())
    folder = _out_folder(Path(out), contents)
    records = list(contents)
    blobs = _Blobs(contents)
    problems: list[str] = []
    traces = _assembled(records, blobs, Damage(contents), problems)
    kept = _Keeper(folder, problems)
    for trace in traces:
        kept.keep(trace)
    calls = [call for trace in traces for call in trace.calls]
    return Recovery(
        written=tuple(kept.written),
        unchanged=tuple(kept.unchanged),
        kept=tuple(kept.left),
        runs=len(traces),
        open_runs=sum(not _has_ended(trace) for trace in traces),
        calls=len(calls),
        interrupted=sum(call.result is not None and call.result.interrupted for call in calls),
        records=len(records),
        torn=contents.torn,
        gaps=len(contents.gaps),
        unchecked=len(contents.unchecked),
        missing_blobs=len(blobs.missing),
        problems=(*map(str, contents.problems), *problems),
    )


class _Blobs:
    """Large values of the journal, and which of them are missing."""

    def __init__(self, contents: JournalContents) -> None:
        self._contents = contents
        self.missing: set[str] = set()

    def get(self, digest: str) -> bytes | None:
        data = self._contents.get_blob(digest)
        if data is None:
            self.missing.add(digest)
        return data


class _Keeper:
    """Writes traces into a folder without hiding anything that is there."""

    def __init__(self, folder: Path, problems: list[str]) -> None:
        self._folder = folder
        self._problems = problems
        self.written: list[Path] = []
        self.unchanged: list[Path] = []
        self.left: list[Path] = []

    def keep(self, trace: Trace) -> None:
        """Write a trace, unless its file holds as much or more."""
        data = encode_json(trace) + b"\n"
        name = _file_name(trace.id)
        path = self._folder / f"{name}.json"
        try:
            standing = _read(path)
            if standing is None:
                self._write(trace, path)
            elif standing == data:
                self.unchanged.append(path)
            else:
                self._compare(trace, load_trace(standing), path, data)
        except TraceDanceError as error:
            self._problems.append(f"{str(path)!r} is left as it is: {error}")

    def _compare(self, trace: Trace, standing: Trace, path: Path, data: bytes) -> None:
        if standing.id != trace.id:
            self._problems.append(f"{str(path)!r} is left as it is: it holds another trace")
            return
        ours, theirs = _facts(trace), _facts(standing)
        if ours >= theirs:
            self._write(trace, path)
        elif ours < theirs:
            self.left.append(path)
        else:
            self.left.append(path)
            beside = path.with_name(f"{path.stem}.{hashlib.sha256(data).hexdigest()[:8]}.json")
            if _read(beside) == data:
                self.unchanged.append(beside)
            else:
                self._write(trace, beside)

    def _write(self, trace: Trace, path: Path) -> None:
        save_trace(trace, path)
        self.written.append(path)


def _out_folder(out: Path, contents: JournalContents) -> Path:
    place = Path(os.path.realpath(out))
    for folder in {Path(os.path.realpath(path.parent)) for path in contents.files}:
        if place == folder or place.is_relative_to(folder / _BLOBS):
            raise InvalidOption(f"{str(out)!r} is the journal itself; write the traces elsewhere")
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableFile(f"the folder {str(out)!r} cannot be made: {error.strerror}") from error
    return out


def _assembled(
    records: Sequence[EvidenceRecord], blobs: _Blobs, damage: Damage, problems: list[str]
) -> list[Trace]:
    """Return the traces; when records of one run make no trace, those of the others."""
    try:
        return traces_of(runs(records), blobs=blobs.get, damage=damage)
    except InvalidTrace:
        return [
            trace
            for run in _by_run(records)
            for trace in _one_run(run, blobs, damage=damage, problems=problems)
        ]


def _by_run(records: Sequence[EvidenceRecord]) -> Iterator[list[EvidenceRecord]]:
    ordered = sorted(records, key=lambda record: record.trace_id)
    for _, run in groupby(ordered, key=lambda record: record.trace_id):
        yield list(run)


def _one_run(
    records: list[EvidenceRecord], blobs: _Blobs, *, damage: Damage, problems: list[str]
) -> list[Trace]:
    try:
        return traces_of(runs(records), blobs=blobs.get, damage=damage)
    except InvalidTrace as error:
        problems.append(f"records of one run (there are {len(records)}) make no trace: {error}")
        return []


def _facts(trace: Trace) -> set[tuple[str, ...]]:
    """Return what a trace says happened, to tell whether another says more."""
    facts: set[tuple[str, ...]] = {("ended",)} if _has_ended(trace) else set()
    for turn in trace.turns:
        text = turn.model_dump_json(include={"role", "content"})
        facts.add(("turn", text))
    for call in trace.calls:
        facts.add(("call", call.id))
        if call.result is not None and not call.result.interrupted:
            facts.add(("result", call.id))
    return facts


def _has_ended(trace: Trace) -> bool:
    return trace.outcome is not None and bool(trace.outcome.ended)


def _file_name(trace_id: str) -> str:
    """Return the id as a file name; one that could lead elsewhere by its hash."""
    if _FILE_NAME.fullmatch(trace_id):
        return trace_id
    return hashlib.sha256(trace_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read(path: Path) -> bytes | None:
    """Return a file's bytes, or None when there is none; links are not followed."""
    try:
        is_regular = stat.S_ISREG(path.lstat().st_mode)
        data = path.read_bytes() if is_regular else b""
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}") from error
    if not is_regular:
        raise UnreadableFile("a link, or something else that is no regular file")
    return data
