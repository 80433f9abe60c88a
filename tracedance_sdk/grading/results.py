"""Result sets: what grading and judging found, for everything that compares, counts or reports.

A result set is a folder with ``manifest.json`` (``{"format": "tracedance.results", "version": 1,
...}``) and ``rows.jsonl``, one row for each subject, sample and grader or judge, in a fixed order.
The manifest is written last and holds the number and the SHA-256 of the rows, so that a reader
never takes a half-written set for a whole one.

Several processes may write one set (`ResultSetWriter` with a `part`): each appends to a file of
its own, and the writer without a part joins them.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracedance_sdk.errors import (
    InvalidJSON,
    InvalidOption,
    InvalidTrace,
    TraceDanceError,
    UnknownFormat,
    UnreadableFile,
    UnsupportedVersion,
    shown,
)
from tracedance_sdk.grading.judgement import JudgeAnswer
from tracedance_sdk.grading.odd_fields import odd_field
from tracedance_sdk.grading.report import Report
from tracedance_sdk.grading.verdicts import Verdict
from tracedance_sdk.trace import (
    Json,
    Trace,
    invalid_trace,
    parse_json,
    plain,
    read_bytes,
    spelled_out,
)

FORMAT: Final = "tracedance.results"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
ROWS: Final = "rows.jsonl"
_PART: Final = re.compile(r"part-[A-Za-z0-9_.-]{1,60}\.jsonl")
_DRAFT: Final = re.compile(r"(?:manifest\.json|rows\.jsonl)\.[0-9a-f]{8}\.tmp")
_PART_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")


class Subject(BaseModel):
    """What a row is about.

    Attributes:
        trace_id: Id of the trace; None for a file that could not be read.
        turn: Index of the turn, where only one is judged.
        instance_id: Of the benchmark instance, the test, or the file.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    trace_id: str | None = None
    turn: int | None = None
    instance_id: str | None = None


class ResultRow(BaseModel):
    """What one grader or judge found about one subject.

    Attributes:
        sample: Which repetition, from 0.
        grader: ``spec:<task id>``, ``judge:<name>``, or whatever else graded.
        group: The leave-out unit: the trace's group, else its task, else the specification's.
        task_id: The task that the trace itself names; None when it names none. Runs of one task
            are trials of it.
        model: The model that was graded.
        verdict: None for a judge, who gives none.
        raw_verdict: Before a gate or an allowance changed it.
        score: From 0 to 1; None when missing.
        missing_reason: Why there is no verdict or score; one line.
        evidence: The grades with their evidence, or the judgement.
        usage: Tokens and cost of the judge.
        spec_sha256: Of the specification, for rows that one decided.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    subject: Subject
    sample: int = Field(default=0, ge=0)
    grader: str
    group: str | None = None
    task_id: str | None = None
    model: str | None = None
    verdict: Verdict | None = None
    raw_verdict: Verdict | None = None
    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False, strict=True)
    missing_reason: str | None = None
    evidence: tuple[Json, ...] = ()
    usage: dict[str, Json] | None = None
    spec_sha256: str | None = None

    @property
    def order(self) -> tuple[str, str, int, int, str]:
        """The place of the row in a result set."""
        subject = self.subject
        turn = -1 if subject.turn is None else subject.turn
        return subject.instance_id or "", subject.trace_id or "", turn, self.sample, self.grader


class ResultSet(NamedTuple):
    """A result set as read from a folder; rows in their fixed order."""

    manifest: dict[str, Any]
    rows: tuple[ResultRow, ...]


def rows_of(
    report: Report,
    *,
    trace: Trace | None = None,
    instance_id: str | None = None,
    sample: int = 0,
) -> list[ResultRow]:
    """Return a report as rows: one for the specification, one for the judge if one was asked.

    Args:
        report: The report.
        trace: The trace it is about, for the model that ran and the task it names.
        instance_id: Of the test or file.
        sample: Which repetition.
    """
    own_task = None if trace is None else trace.task_id
    common: dict[str, Any] = {
        "subject": Subject(trace_id=report.trace_id, instance_id=instance_id),
        "sample": sample,
        "group": report.group or own_task or report.task_id,
        "task_id": own_task,
        "model": None if trace is None else _model(trace),
    }
    missing = [grade.reason for grade in report.grades if grade.score is None and grade.decides]
    graded = report.verdict in (Verdict.PASS, Verdict.FAIL, Verdict.CRITICAL)
    rows = [
        ResultRow(
            **common,
            grader=f"spec:{report.task_id or 'criteria'}",
            verdict=report.verdict,
            raw_verdict=report.raw_verdict,
            score=float(report.passed) if graded else None,
            missing_reason=None if graded else (*missing, *report.notes, "not decided")[0],
            evidence=tuple(grade.to_dict() for grade in report.grades),
            spec_sha256=report.spec_hash,
        )
    ]
    if report.judge is not None:
        rows.append(_judge_row(report.judge, common))
    return rows


def _judge_row(answer: JudgeAnswer, common: dict[str, Any]) -> ResultRow:
    told: dict[str, Any] = {"judge": answer.identity, "missing": answer.missing}
    return ResultRow(
        **common,
        grader=f"judge:{answer.judge}",
        score=answer.score,
        missing_reason=answer.missing_reason,
        evidence=() if answer.judgement is None else (answer.judgement.to_dict(),),
        usage=None if answer.usage is None else plain(answer.usage),
        **{name: value for name, value in told.items() if value is not None},
    )


class ResultSetWriter:
    """Collects rows and writes them as a result set when closed without an error.

    Args:
        folder: Where; made when needed. An older result set there is replaced.
        part: A name for this process's share, such as ``gw1``. A part only collects; the writer
            without one, closed last, joins all parts.
        manifest: What the set should say of itself: versions, command, seeds, hashes, exclusions.

    Raises:
        InvalidOption: The folder holds other things, or the part's name has odd characters.
        UnreadableFile: The folder cannot be made.

    Example:
        >>> with ResultSetWriter(
        ...     "out/", manifest={"command": "evaluate"}
        ... ) as writer:  # doctest: +SKIP
        ...     writer.add(rows_of(report))
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        part: str | None = None,
        manifest: Mapping[str, Json] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._manifest = dict(manifest or {})
        self._rows: list[ResultRow] = []
        self._part: Path | None = None
        check_writable(self.folder)
        if part is not None:
            if not _PART_NAME.fullmatch(part):
                raise InvalidOption(f"{part!r} is no name of a part; use letters, digits, - . _")
            self._part = self.folder / f"part-{part}.jsonl"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnreadableFile(f"{str(folder)!r} cannot be made: {error}") from error

    def discard_parts(self) -> None:
        """Remove what an earlier, killed run left; call it before the processes start."""
        for path in _parts(self.folder):
            path.unlink(missing_ok=True)

    def add(self, rows: ResultRow | Iterable[ResultRow]) -> None:
        """Add rows. Those of a part are on disk when this returns."""
        added = [rows] if isinstance(rows, ResultRow) else list(rows)
        if self._part is None:
            self._rows += added
            return
        with self._part.open("ab") as file:
            file.write(b"".join(map(_line, added)))

    def close(self) -> ResultSet | None:
        """Write the set and return it; a part has nothing left to do and returns None."""
        if self._part is not None:
            return None
        parts = _parts(self.folder)
        rows, n_torn = list(self._rows), 0
        for part in parts:
            found, torn = _part_rows(part)
            rows += found
            n_torn += torn
        result = _result_set(rows, self._manifest, n_torn)
        _replace(self.folder, result)
        for part in parts:
            part.unlink()
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that holds anything but a result set of ours.

    Raises:
        InvalidOption: It holds other things, or is a file.
    """
    where = Path(folder)
    if not where.exists():
        return
    if not where.is_dir():
        raise InvalidOption(f"{str(folder)!r} is a file; name a new folder for the results")
    try:
        names = {entry.name for entry in where.iterdir()}
    except OSError as error:
        raise UnreadableFile(f"{str(folder)!r} cannot be read: {error}") from error
    strangers = sorted(
        name
        for name in names - {MANIFEST, ROWS}
        if not (_PART.fullmatch(name) or _DRAFT.fullmatch(name))
    )
    if strangers:
        raise InvalidOption(
            f"{str(folder)!r} holds {strangers[0]!r}, which is no part of a result set; "
            "name a new folder"
        )
    if MANIFEST in names:
        try:
            _read_manifest(where / MANIFEST)
        except UnsupportedVersion:
            raise
        except TraceDanceError as error:
            raise InvalidOption(
                f"{str(folder)!r} holds a {MANIFEST} that is not of a result set; name a new folder"
            ) from error
    elif ROWS in names and not _looks_ours(where / ROWS):
        raise InvalidOption(
            f"{str(folder)!r} holds a {ROWS} that is not of a result set; name a new folder"
        )


def read_results(folder: str | os.PathLike[str]) -> ResultSet:
    """Read a result set.

    Raises:
        UnreadableFile: The folder or one of its files is missing or not permitted.
        UnknownFormat: Not a result set, unfinished, cut short, its rows were changed, or a row
            holds what it cannot, such as a score beyond its range.
        UnsupportedVersion: Written by a newer release.
    """
    where = Path(folder)
    if not where.is_dir():
        raise UnreadableFile(f"{str(folder)!r} is not a folder with a result set")
    if not (where / MANIFEST).exists():
        raise UnknownFormat(f"{str(folder)!r} holds no {MANIFEST}: no result set, or unfinished")
    manifest = _read_manifest(where / MANIFEST)
    data = read_bytes(where / ROWS)
    _check_whole(data, manifest, where / ROWS)
    rows = tuple(
        _row(line, f"{where / ROWS}, line {number}")
        for number, line in enumerate(data.splitlines(), 1)
    )
    return ResultSet(manifest, rows)


def _check_whole(data: bytes, manifest: Mapping[str, Any], path: Path) -> None:
    """Refuse rows that are not those of the manifest, which is written last and counts them."""
    said, n_rows = manifest.get("n_rows"), len(data.splitlines())
    is_counted = said is None or (type(said) is int and said == n_rows)
    if is_counted and hashlib.sha256(data).hexdigest() == manifest.get("rows_sha256"):
        return
    told = f"{str(path)!r} is not what its manifest describes"
    if not is_counted:
        told += f": rows there are {n_rows:,}, and {MANIFEST} says {shown(said)}"
    raise UnknownFormat(f"{told}; write the set anew, or bring back the files that were there")


def _model(trace: Trace) -> str | None:
    return next((turn.model for turn in trace.turns if turn.model is not None), None)


def _line(row: ResultRow) -> bytes:
    return orjson.dumps(spelled_out(row.model_dump(mode="json", exclude_none=True))) + b"\n"


def _row(line: bytes, where: str) -> ResultRow:
    try:
        row = ResultRow.model_validate(parse_json(line, where=where))
    except ValidationError as error:
        raise UnknownFormat(str(invalid_trace(error, where))) from error
    except (InvalidJSON, InvalidTrace) as error:
        raise UnknownFormat(str(error)) from error
    if (problem := odd_field(row.grader, row.model_extra or {})) is not None:
        raise UnknownFormat(f"{where}: {problem}")
    return row


def _parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _PART.fullmatch(path.name))


def _part_rows(path: Path) -> tuple[list[ResultRow], int]:
    """Return the rows of a part, and how many lines a killed process left torn."""
    *lines, rest = path.read_bytes().split(b"\n")
    rows = [_row(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    return rows, int(bool(rest))


def _result_set(rows: list[ResultRow], manifest: dict[str, Any], n_torn: int) -> ResultSet:
    ordered = tuple(sorted(rows, key=lambda row: (row.order, _line(row))))
    exclusions = dict(manifest.get("exclusions") or {})
    if n_torn:
        exclusions["row torn by a killed process"] = n_torn
    made = {
        "format": FORMAT,
        "version": VERSION,
        **{k: v for k, v in manifest.items() if k not in ("format", "version")},
        "exclusions": exclusions,
        "n_rows": len(ordered),
        "rows_sha256": hashlib.sha256(b"".join(map(_line, ordered))).hexdigest(),
    }
    return ResultSet(made, ordered)


def _replace(folder: Path, result: ResultSet) -> None:
    """Write a set in place of an older one; without a manifest a set does not count."""
    mark = secrets.token_hex(4)
    try:
        rows = _beside(folder / ROWS, mark, b"".join(map(_line, result.rows)))
        text = orjson.dumps(spelled_out(result.manifest), option=orjson.OPT_INDENT_2) + b"\n"
        manifest = _beside(folder / MANIFEST, mark, text)
        (folder / MANIFEST).unlink(missing_ok=True)
        rows.replace(folder / ROWS)
        manifest.replace(folder / MANIFEST)
    except OSError as error:
        raise UnreadableFile(f"{str(folder)!r} cannot be written: {error}") from error


def _beside(path: Path, mark: str, data: bytes) -> Path:
    draft = path.with_name(f"{path.name}.{mark}.tmp")
    with draft.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = parse_json(read_bytes(path), where=str(path))
    except InvalidJSON as error:
        raise UnknownFormat(str(error)) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise UnknownFormat(f"{str(path)!r} is not of a result set: 'format' is not {FORMAT!r}")
    if manifest.get("version") != VERSION:
        raise UnsupportedVersion(
            f"{str(path)!r}: version {manifest.get('version')!r}; this release reads {VERSION}"
        )
    return manifest


def _looks_ours(path: Path) -> bool:
    try:
        first = path.read_bytes().split(b"\n", 1)[0]
        return not first or bool(_row(first, str(path)))
    except (OSError, TraceDanceError):
        return False
