"""Instances: recorded contexts, each with an id of its own, for a model to go on from.

A file of instances is JSON lines. The first line is ``{"format": "tracedance.instances", "version":
1}``; each further line is an instance: ``{"id", "trace": {a trace document}, "turn", "group"?}``.
A model is shown what the trace holds before the turn with that index; the turn itself and what
follows may be absent. Unknown fields are kept, of the header as of the instances.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tracedance_sdk.errors import (
    InvalidTrace,
    TraceDanceError,
    UnknownFormat,
    UnreadableFile,
    UnsupportedVersion,
    shown,
)
from tracedance_sdk.formats import Document, ImportProblem, documents, trace_from_document
from tracedance_sdk.trace import (
    MAX_TRACE_DEPTH,
    Json,
    Trace,
    encode,
    invalid_trace,
    spelled_out,
)

FORMAT: Final = "tracedance.instances"
VERSION: Final = 1
_FIRST_LINE_BYTES: Final = 64 * 1024


class Instance(BaseModel):
    """A place in a run where a model is to go on.

    Attributes:
        id: Unlike any other of its file.
        trace: The run, at least up to that place.
        turn: Index of the turn that is taken anew; the number of turns where it is not there.
        group: The leave-out unit; None for that of the trace.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    trace: Trace
    turn: Annotated[int, Field(ge=0, strict=True)]
    group: str | None = None


def is_instance_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file says in its first line that it holds instances."""
    try:
        with Path(path).open("rb") as file:
            line = file.readline(_FIRST_LINE_BYTES)
        header = orjson.loads(line)
    except (OSError, ValueError):
        return False
    return isinstance(header, dict) and header.get("format") == FORMAT


def read_instances(path: str | os.PathLike[str]) -> Iterator[Instance | InvalidTrace]:
    """Yield the instances of a file, and why a line of it is none.

    Raises:
        UnreadableFile: The file is missing, a folder, or not permitted.
        UnknownFormat: Not a file of instances.
        UnsupportedVersion: Written by a newer release.
    """
    where = os.fspath(path)
    if Path(where).is_dir():
        raise UnreadableFile(f"{where!r} is a folder; name a file of instances")
    lines = documents(where, unique_keys=True, max_depth=MAX_TRACE_DEPTH + 2)
    _check_header(next(lines, None), where)
    seen: set[str] = set()
    for item in lines:
        if isinstance(item, ImportProblem):
            yield InvalidTrace(str(item))
            continue
        try:
            found = _instance(item.value, f"{where}, line {item.line}")
        except TraceDanceError as error:
            yield InvalidTrace(str(error))
            continue
        if found.id in seen:
            yield InvalidTrace(f"{where}, line {item.line}: id {shown(found.id)} is there already")
        else:
            seen.add(found.id)
            yield found


def write_instances(
    path: str | os.PathLike[str], instances: Iterable[Instance], **header: Json
) -> None:
    """Write a file of instances; what is there is replaced.

    Args:
        path: Where to.
        instances: In order.
        **header: What the first line says besides.

    Raises:
        InvalidTrace: A trace holds a value that is not JSON.
        UnreadableFile: The file cannot be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "asked.jsonl"
        >>> write_instances(path, [Instance(id="a", trace=Trace(id="t"), turn=0)])
        >>> [found.id for found in read_instances(path)]
        ['a']
    """
    own: dict[str, Json] = {"format": FORMAT, "version": VERSION}
    first = own | header | own
    lines = [first, *map(_document, instances)]
    try:
        with Path(path).open("wb") as file:
            file.writelines(orjson.dumps(spelled_out(line)) + b"\n" for line in lines)
    except OSError as error:
        raise UnreadableFile(f"{os.fspath(path)!r} cannot be written: {error.strerror}") from error


def _document(instance: Instance) -> dict[str, Any]:
    fields = instance.model_dump(mode="json", exclude={"trace"})
    if instance.group is None:
        del fields["group"]
    return {**fields, "trace": encode(instance.trace)}


def _check_header(first: Document | ImportProblem | None, where: str) -> None:
    header = first.value if isinstance(first, Document) else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnknownFormat(f"{where!r} is no file of instances: 'format' is not {FORMAT!r}")
    version = header.get("version")
    if type(version) is not int or version != VERSION:
        raise UnsupportedVersion(
            f"{where!r}: instances of version {version!r}; this release reads version {VERSION}"
        )


def _instance(value: Json, where: str) -> Instance:
    if not isinstance(value, dict):
        raise InvalidTrace(f"{where}: an instance is an object, not {shown(value)}")
    trace = trace_from_document(value.get("trace"), where=f"{where}, its trace")
    try:
        found = Instance.model_validate({**value, "trace": trace})
    except ValidationError as error:
        raise invalid_trace(error, where) from error
    if found.turn > len(trace.turns):
        raise InvalidTrace(
            f"{where}: turn {found.turn} of a trace with {len(trace.turns)} turns @ $.turn"
        )
    return found
