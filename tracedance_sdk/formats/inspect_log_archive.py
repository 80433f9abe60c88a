"""Open Inspect's logs: an archive (``.eval``) or one document (``.json``), within bounds."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from tracedance_sdk.errors import TraceDanceError, UnreadableFile
from tracedance_sdk.formats.compressed import FREE_BYTES, MOST_RATIO, Damaged, unpacked
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import MAX_UNPACKED_BYTES, read_document
from tracedance_sdk.formats.places import Place
from tracedance_sdk.trace import Json, check_file, parse_json

MAGIC: Final = b"PK\x03\x04"
"""How an archive begins."""

_HEADERS: Final = ("header.json", "_journal/start.json")
_MOST_MEMBERS: Final = 1_000_000
_ZSTD: Final = 93
_ENCRYPTED: Final = 1
_LOCAL_HEADER: Final = struct.Struct("<4s2B4HL2L2H")


class InspectSample(NamedTuple):
    """A sample of a log.

    Attributes:
        value: The parsed sample.
        place: Where it stands, for errors.
    """

    value: Json
    place: Place


class InspectLog(NamedTuple):
    """A log without its samples, and the samples one at a time.

    Attributes:
        header: Version, status, evaluation, plan, results, statistics.
        samples: In the order of the file; what cannot be read is a problem.
    """

    header: dict[str, Any]
    samples: Iterator[InspectSample | ImportProblem]


def open_inspect_log(path: str | os.PathLike[str]) -> InspectLog:
    """Open one of Inspect's logs.

    The members of an archive may be packed by deflate or by zstd. They are read where they lie,
    one at a time, and none is ever written to a disk, whatever its name.

    Args:
        path: A ``.eval`` or ``.json`` file.

    Raises:
        TraceDanceError: The file, or its header, cannot be read.
    """
    where = check_file(path)
    with where.open("rb") as stream:
        is_archive = stream.read(len(MAGIC)) == MAGIC
    if is_archive:
        archive = _Archive(where)
        return InspectLog(archive.header(), archive.samples())
    value = parse_json(read_document(where), where=str(path))
    place = Place(str(path))
    header = place.expect(value, dict)
    samples = place.optional(header, "samples", list) or []
    return InspectLog(
        {key: item for key, item in header.items() if key != "samples"},
        (InspectSample(item, place.at("samples", i)) for i, item in enumerate(samples)),
    )


class _Archive:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = max(FREE_BYTES, MOST_RATIO * path.stat().st_size)
        """Bytes that may still be unpacked."""
        with self._opened() as archive:
            self._members = archive.infolist()
        if len(self._members) > _MOST_MEMBERS:
            raise UnreadableFile(f"{str(path)!r} has more than {_MOST_MEMBERS:,} members")

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self._path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise UnreadableFile(f"{str(self._path)!r} is a damaged archive: {error}") from error

    def header(self) -> dict[str, Any]:
        found = {member.filename: member for member in self._members}
        member = next((found[name] for name in _HEADERS if name in found), None)
        if member is None:
            raise UnreadableFile(f"{str(self._path)!r} is no log of Inspect: it has no header.json")
        with self._opened() as archive:
            return self._place(member).expect(self._parsed(archive, member), dict)

    def samples(self) -> Iterator[InspectSample | ImportProblem]:
        with self._opened() as archive:
            latest = {member.filename: member for member in self._members}
            for name, member in latest.items():
                if not (name.startswith("samples/") and name.endswith(".json")):
                    continue
                try:
                    value = self._parsed(archive, member)
                except TraceDanceError as error:
                    yield ImportProblem(str(self._path), str(error))
                else:
                    yield InspectSample(value, self._place(member))

    def _place(self, member: zipfile.ZipInfo) -> Place:
        return Place(f"{self._path}!{member.filename}")

    def _parsed(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Json:
        where = self._place(member).where
        try:
            data = self._unpacked(archive, member)
        except (
            Damaged, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError,
            struct.error,
        ) as error:  # fmt: skip
            if isinstance(error, TraceDanceError):
                raise
            raise UnreadableFile(f"{where}: cannot be unpacked: {error}") from error
        return parse_json(data, where=where)

    def _unpacked(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
        most = min(MAX_UNPACKED_BYTES, self._left)
        if member.compress_type == _ZSTD:
            packed = io.BytesIO(self._packed(member))
            stream: IO[bytes] = unpacked(packed, kind="zstd", size=member.compress_size)
        else:
            stream = archive.open(member)
        with stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise Damaged(f"more than {most:,} bytes")
        self._left -= len(data)
        if member.compress_type == _ZSTD and zlib.crc32(data) != member.CRC:
            raise Damaged("its checksum is wrong")
        return data

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        """Return a member's bytes as they lie in the archive: Python's own reader knows no zstd."""
        if member.flag_bits & _ENCRYPTED:
            raise Damaged("it is encrypted")
        if member.compress_size > MAX_UNPACKED_BYTES:
            raise Damaged(f"more than {MAX_UNPACKED_BYTES:,} bytes")
        with self._path.open("rb") as raw:
            raw.seek(member.header_offset)
            fields = _LOCAL_HEADER.unpack(raw.read(_LOCAL_HEADER.size))
            if fields[0] != MAGIC:
                raise Damaged("it does not lie where the archive says")
            raw.seek(fields[-2] + fields[-1], os.SEEK_CUR)
            return _exactly(raw, member.compress_size)


def _exactly(raw: IO[bytes], size: int) -> bytes:
    data = raw.read(size)
    if len(data) != size:
        raise Damaged("it ends too early")
    return data
