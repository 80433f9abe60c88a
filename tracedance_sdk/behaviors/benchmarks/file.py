"""A benchmark on disk: its instances, what they were made from, and a sheet about both.

* ``NAME.jsonl`` is a file of instances (`tracedance.instances`) whose first line holds
  ``benchmark``. Whatever reads instances reads it; nothing in it tells what the source did.
* ``NAME.construction.jsonl`` holds what judges by rules need and a model must not see: where the
  behaviour showed, what confirmed it, and the withheld turn.
* ``NAME.md`` is the datasheet.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracedance_sdk.behaviors.hits import Evidence, Hit
from tracedance_sdk.errors import (
    InvalidOption,
    InvalidTrace,
    UnknownFormat,
    UnreadableFile,
    UnsupportedVersion,
)
from tracedance_sdk.formats import Document, documents
from tracedance_sdk.replay import Instance, read_instances, write_instances
from tracedance_sdk.trace import (
    MAX_TRACE_DEPTH,
    Json,
    Turn,
    invalid_trace,
    plain,
    spelled_out,
)

FORMAT: Final = "tracedance.construction"
VERSION: Final = 1
BENCHMARK_VERSION: Final = 1

_LONGEST: Final = 16 << 20
"""Bytes of a file that are read to see whether it is one of a benchmark."""

_AUDIT: Final = "tracedance.audit"
_CANARY: Final = "tracedance canary"
_BESIDE: Final = (".construction.jsonl", ".audit.jsonl", ".md")
"""Ends of the names of files that lie beside a benchmark."""


class _AboutBehavior(BaseModel):
    """What must be said of a behaviour for it to be scored and counted."""

    id: str
    name: str
    desirable: str | None
    frame: str
    group: str | None
    judge: str | None
    sha256: str


class _AboutQuery(BaseModel):
    operator: str


class _About(BaseModel):
    """What must be said of a benchmark for it to be run and shown."""

    id: str
    name: str
    status: str
    instances: int
    tried: int
    behaviors: list[_AboutBehavior] = Field(min_length=1, max_length=2)
    query: _AboutQuery
    found: dict[str, Any]
    refused: dict[str, int]
    confirmation: dict[str, int] | None


class Construction(BaseModel):
    """What an instance was made from; no model is ever shown it.

    Attributes:
        id: Of the instance.
        hits: By id of the behaviour: ``turn``, ``evidence`` and ``note`` of the occurrence.
        parameters: By id of the behaviour.
        withheld: The source turn, with its calls and their results.
        n_later: How many turns followed it.
        confirmations: By id of the behaviour, where a model was asked.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = Field(min_length=1)
    hits: dict[str, dict[str, Json]]
    parameters: dict[str, dict[str, Json]] = {}
    withheld: Turn
    n_later: int = 0
    confirmations: dict[str, dict[str, Json]] = {}

    def hit(self, behavior: str) -> Hit:
        """Return the occurrence of a behaviour.

        Raises:
            InvalidTrace: It says none of that behaviour, or not as an occurrence is said.
        """
        try:
            told: Any = self.hits[behavior]
            evidence = tuple(Evidence(*item) for item in told["evidence"])
            return Hit(int(told["turn"]), evidence, str(told["note"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidTrace(
                f"the construction of {self.id!r} says no occurrence of {behavior!r}"
            ) from error


class Benchmark(NamedTuple):
    """A benchmark as read from its files.

    Attributes:
        path: Of the instances.
        about: What the first line says of the benchmark.
        instances: In order.
        construction: By id of the instance; empty where the file is not there.
        problems: Why lines are no instances.
    """

    path: Path
    about: dict[str, Any]
    instances: tuple[Instance, ...]
    construction: dict[str, Construction]
    problems: tuple[str, ...] = ()


def construction_path(path: Path) -> Path:
    """Return where the construction lies: ``f01.jsonl`` → ``f01.construction.jsonl``."""
    return path.with_name(f"{_stem(path)}.construction.jsonl")


def datasheet_path(path: Path) -> Path:
    """Return where the datasheet of a benchmark lies: ``f01.jsonl`` → ``f01.md``."""
    return path.with_name(f"{_stem(path)}.md")


def audit_path(path: Path) -> Path:
    """Return where the audit sample of a benchmark lies: ``f01.jsonl`` → ``f01.audit.jsonl``."""
    return path.with_name(f"{_stem(path)}.audit.jsonl")


def check_replaceable(path: Path) -> None:
    """Refuse the name of a benchmark under which something else lies that would be replaced.

    Args:
        path: Of the instances; the files beside it are looked at as well.

    Raises:
        InvalidOption: One of them is none of a benchmark's.
        UnreadableFile: One of them is not permitted.
    """
    for one in (path, construction_path(path), datasheet_path(path), audit_path(path)):
        if one.is_file() and not _is_ours(one):
            raise InvalidOption(
                f"{str(one)!r} is there, is no file of a benchmark, and would be replaced; "
                "name another file"
            )


def _is_ours(path: Path) -> bool:
    """Whether a file is empty or one that building a benchmark writes."""
    is_sheet = path.suffix == ".md"
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST) if is_sheet else file.readline(_LONGEST)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror}") from error
    if is_sheet or not data:
        return not data or _CANARY.encode() in data
    try:
        header = orjson.loads(data)
    except ValueError:
        return False
    return isinstance(header, dict) and ("benchmark" in header or header.get("format") == _AUDIT)


def write_benchmark(
    path: Path,
    instances: Sequence[Instance],
    construction: Iterable[Construction],
    *,
    about: Mapping[str, Any],
    datasheet: str,
    audit: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Write the files of a benchmark: all of them, or none; what is there is replaced.

    Args:
        path: Of the instances.
        instances: In order.
        construction: One for each.
        about: What the first line says of the benchmark.
        datasheet: Its text.
        audit: Lines of the audit sample, the first of them its header; None writes none.

    Raises:
        InvalidTrace: An instance holds a value that is not JSON.
        UnreadableFile: A file cannot be written.
    """
    header = {"format": FORMAT, "version": VERSION, "benchmark": about["id"]}
    made = _lines([header, *(_document(item) for item in construction)])
    told = {**about, "construction_sha256": hashlib.sha256(made).hexdigest()}
    drafts: dict[Path, Path] = {}
    if audit is not None:
        first, *rest = audit
        audit = [{**first, "benchmark": about["id"]}, *rest]
    for target in (path, construction_path(path), datasheet_path(path), audit_path(path)):
        if target.is_dir():
            raise UnreadableFile(f"{str(target)!r} cannot be written: it is a folder")
    try:
        for target, data in (
            (construction_path(path), made),
            (datasheet_path(path), datasheet.encode()),
            (audit_path(path), None if audit is None else _lines(audit)),
        ):
            if data is not None:
                drafts[target] = _draft(target)
                drafts[target].write_bytes(data)
        # Last, so that whoever finds the instances finds what belongs to them.
        drafts[path] = _draft(path)
        write_instances(drafts[path], instances, benchmark=told)
        _put_all(drafts)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from error
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _put_all(drafts: Mapping[Path, Path]) -> None:
    """Put drafts in their places; where one cannot be put, all places are as they were."""
    done: list[tuple[Path, Path | None]] = []
    try:
        for target, draft in drafts.items():
            older = _draft(target).with_suffix(".old") if target.exists() else None
            if older is not None:
                shutil.copyfile(target, older)
            done.append((target, older))
            draft.replace(target)
    except BaseException:
        for target, older in reversed(done):
            if older is not None:
                older.replace(target)
            else:
                target.unlink(missing_ok=True)
        raise
    for _, older in done:
        if older is not None:
            older.unlink()


def read_benchmark(path: str | os.PathLike[str]) -> Benchmark:
    """Read a benchmark, with its construction where that lies beside it.

    Raises:
        UnreadableFile: The file is missing, a folder, or not permitted.
        UnknownFormat: No benchmark, or a construction of another one.
        UnsupportedVersion: Written by a newer release.
        InvalidTrace: A line of the construction is none.
    """
    where = Path(path)
    _check_is_none_beside(where)
    items = list(read_instances(where))
    about = _about(where)
    version = about.get("version")
    if version != BENCHMARK_VERSION:
        raise UnsupportedVersion(
            f"{str(where)!r}: a benchmark of version {version!r}; this release reads version "
            f"{BENCHMARK_VERSION}"
        )
    try:
        _About.model_validate(about)
    except ValidationError as error:
        raise UnknownFormat(str(invalid_trace(error, f"{str(where)!r}, its first line"))) from error
    beside = construction_path(where)
    return Benchmark(
        where,
        about,
        tuple(item for item in items if isinstance(item, Instance)),
        _construction(beside, about) if beside.exists() else {},
        tuple(str(item) for item in items if not isinstance(item, Instance)),
    )


def _check_is_none_beside(path: Path) -> None:
    """Refuse a file that lies beside a benchmark, and name that."""
    for end in _BESIDE:
        main = path.with_name(f"{path.name.removesuffix(end)}.jsonl")
        if path.name.endswith(end) and main.is_file() and path.is_file():
            raise UnknownFormat(
                f"{str(path)!r} lies beside the benchmark {str(main)!r}, and is none; name that"
            )


def _about(path: Path) -> dict[str, Any]:
    first = next(documents(str(path)), None)
    value = first.value if isinstance(first, Document) else None
    about = value.get("benchmark") if isinstance(value, dict) else None
    if not isinstance(about, dict):
        raise UnknownFormat(
            f"{str(path)!r} holds instances and no benchmark; tracedance next-turn takes it"
        )
    return about


def _construction(path: Path, about: Mapping[str, Any]) -> dict[str, Construction]:
    where = str(path)
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != about.get("construction_sha256"):
        raise UnknownFormat(f"{where!r} is not what this benchmark was made from")
    found: dict[str, Construction] = {}
    for item in documents(where, max_depth=MAX_TRACE_DEPTH + 2):
        if not isinstance(item, Document):
            raise InvalidTrace(str(item))
        if item.line == 1:
            continue
        try:
            one = Construction.model_validate(item.value)
        except ValidationError as error:
            raise invalid_trace(error, f"{where}, line {item.line}") from error
        found[one.id] = one
    return found


def _stem(path: Path) -> str:
    return path.name.removesuffix(".jsonl")


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _document(item: Construction) -> dict[str, Any]:
    return {**item.model_dump(mode="json", exclude={"withheld"}), "withheld": plain(item.withheld)}


def _lines(documents: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(spelled_out(dict(one))) + b"\n" for one in documents)
