"""Occurrences: what a scan found, each with where it stands and whether it is kept.

A file of occurrences is JSON lines. The first line is ``{"format": "tracedance.occurrences",
"version": 1, ...}``; each further line is one occurrence.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracedance_sdk.errors import (
    InvalidTrace,
    UnknownFormat,
    UnreadableFile,
    UnsupportedVersion,
    shown,
)
from tracedance_sdk.formats import Document, ImportProblem, documents
from tracedance_sdk.trace import Json, invalid_trace, spelled_out

FORMAT: Final = "tracedance.occurrences"
VERSION: Final = 1


class Shown(BaseModel):
    """A piece of evidence: a turn, or a call of it, and words that stand there."""

    model_config = ConfigDict(frozen=True, extra="allow")

    turn: int
    call: int | None = None
    quote: str = ""


class Occurrence(BaseModel):
    """A place where a behaviour shows.

    Attributes:
        id: 16 hex characters, made of behaviour, trace and turn.
        behavior: Id of the behaviour.
        trace_id: The trace.
        turn: Index of the source turn.
        session: The conversation with its sub-agents.
        week: ISO week in which that began, such as ``2026-W07``; empty where no time is known.
        project: Where the source names one.
        user: Whose home folder it ran in, where the source shows one.
        agent: Name of the agent.
        collector: Which collector read the trace.
        model: The model that wrote the source turn.
        at: Start of the source turn, else of the trace, ISO 8601 in UTC.
        evidence: What shows it, the decisive piece first.
        note: Why, in one line.
        dropped: Why it is left out of benchmarks: ``near-duplicate of <id>``, ``session``,
            ``project`` or ``user`` (more than so many were wanted); None when it is kept.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    behavior: str
    trace_id: str
    turn: int = Field(ge=0)
    session: str
    week: str = ""
    project: str | None = None
    user: str | None = None
    agent: str | None = None
    collector: str | None = None
    model: str | None = None
    at: str | None = None
    evidence: tuple[Shown, ...] = ()
    note: str = ""
    dropped: str | None = None


def occurrence_id(behavior: str, trace_id: str, turn: int) -> str:
    """Return the id of an occurrence: the same wherever and whenever it is found."""
    told = "\0".join((behavior, trace_id, str(turn)))
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def write_occurrences(
    path: str | os.PathLike[str], occurrences: Iterable[Occurrence], **header: Json
) -> None:
    """Write a file of occurrences; what is there is replaced once it is whole.

    Args:
        path: Where to.
        occurrences: In order.
        **header: What the first line says besides.

    Raises:
        UnreadableFile: The file cannot be written.
    """
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    own: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    first = own | header | own
    try:
        with draft.open("wb") as file:
            file.write(orjson.dumps(spelled_out(first)) + b"\n")
            for item in occurrences:
                file.write(orjson.dumps(spelled_out(item.model_dump(mode="json"))) + b"\n")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UnreadableFile(f"{os.fspath(path)!r} cannot be written: {error.strerror}") from error


def read_occurrences(path: str | os.PathLike[str]) -> Iterator[Occurrence]:
    """Yield the occurrences of a file.

    Raises:
        UnreadableFile: The file is missing or not permitted.
        UnknownFormat: Not a file of occurrences.
        UnsupportedVersion: Written by a newer release.
        InvalidTrace: A line is no occurrence; its number is said.
    """
    where = os.fspath(path)
    lines = documents(where, unique_keys=True)
    first = next(lines, None)
    header = first.value if isinstance(first, Document) else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnknownFormat(f"{where!r} is no file of occurrences: 'format' is not {FORMAT!r}")
    if header.get("version") != VERSION:
        version = shown(header.get("version"))
        raise UnsupportedVersion(
            f"{where!r}: occurrences of version {version}; this release reads version {VERSION}"
        )
    for item in lines:
        if isinstance(item, ImportProblem):
            raise InvalidTrace(str(item))
        try:
            yield Occurrence.model_validate(item.value)
        except ValidationError as error:
            raise invalid_trace(error, f"{where}, line {item.line}") from error
