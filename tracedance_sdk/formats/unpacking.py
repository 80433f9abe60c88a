"""Unpack zip archives of strangers into a folder of one's own, within bounds.

What a member is called, how large it says it is, and what kind of file it says it is are claims.
Each member that is refused is one problem; the others are unpacked.
"""

from __future__ import annotations

import contextlib
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final, NamedTuple

from tracedance_sdk.errors import UnreadableFile
from tracedance_sdk.formats.importing import ImportProblem

_START: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_CHUNK: Final = 1024**2
_LONGEST_NAME: Final = 1000
_LONGEST_PART: Final = 255
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_IS_ENCRYPTED: Final = 0x1
# End of the central directory: its record, and the one that points to its longer form.
_END: Final = struct.Struct("<4s4H2LH")
_LOCATOR: Final = struct.Struct("<4sLQL")
_LONG_END: Final = struct.Struct("<4sQ2H2L4Q")
_LONGEST_COMMENT: Final = 2**16
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    struct.error,
    ValueError,
)


class Bounds(NamedTuple):
    """What is unpacked of one archive at most.

    Attributes:
        members: Files.
        directory_bytes: List of them, as it is read before anything else.
        member_bytes: One file.
        total_bytes: All files.
        ratio: How many times its packed size a file may have beyond `free_bytes`.
    """

    members: int = 200_000
    directory_bytes: int = 64 * 1024**2
    member_bytes: int = 1024**3
    total_bytes: int = 16 * 1024**3
    ratio: int = 250
    free_bytes: int = 32 * 1024**2


def is_archive(head: bytes) -> bool:
    """Whether a file is a zip archive by its first bytes."""
    return head.startswith(_START)


def unpack(archive: Path, into: Path, *, bounds: Bounds | None = None) -> Iterator[ImportProblem]:
    """Unpack the files of an archive, and yield a problem for each that is refused.

    Left out without a word are folders, which come with their files, and hidden entries.

    Args:
        archive: A zip file.
        into: An empty folder that nobody else writes.
        bounds: How much at most.

    Raises:
        UnreadableFile: No whole zip file, or its list of files is beyond the bounds.
    """
    within = Bounds() if bounds is None else bounds
    _check_directory(archive, within)
    try:
        opened = zipfile.ZipFile(archive)
    except (OSError, *_DAMAGE) as error:
        raise UnreadableFile(f"{str(archive)!r} is a damaged zip file: {error}") from error
    with opened:
        members = [item for item in opened.infolist() if not _is_passed_over(item)]
        if len(members) > within.members:
            raise UnreadableFile(
                f"{str(archive)!r} has {len(members):,} files; at most {within.members:,} are read"
            )
        left = within.total_bytes
        for member in members:
            try:
                left -= _unpack_member(opened, member, into, within, left)
            except _Refused as refused:
                yield ImportProblem(f"{archive}!{member.filename}", str(refused))


class _Refused(Exception):
    """Why a member is not unpacked."""


def _is_passed_over(member: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(member.filename.replace("\\", "/")).parts
    hidden = any(part.startswith(".") and part not in (".", "..") for part in parts)
    return member.is_dir() or hidden or "__MACOSX" in parts


def _unpack_member(
    opened: zipfile.ZipFile, member: zipfile.ZipInfo, into: Path, bounds: Bounds, left: int
) -> int:
    """Unpack a member; return its size."""
    where = into.joinpath(*_parts(member.filename))
    _check_kind(member)
    by_ratio = max(bounds.free_bytes, bounds.ratio * member.compress_size)
    limits = {
        bounds.member_bytes: f"at most {bounds.member_bytes:,} are read of one file",
        left: f"at most {bounds.total_bytes:,} are read of one archive",
        by_ratio: f"more than {bounds.ratio} times its packed size",
    }
    most = min(limits)
    if member.file_size > most:
        raise _Refused(f"unpacks to {member.file_size:,} bytes: {limits[most]}")
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        with opened.open(member) as source, where.open("xb") as target:
            size = _copied(source, target, most)
    except (FileExistsError, NotADirectoryError) as error:
        raise _Refused("another file of the archive has this name, or a part of it") from error
    except (OSError, *_DAMAGE) as error:
        with contextlib.suppress(OSError):
            where.unlink(missing_ok=True)
        is_ours = isinstance(error, OSError) and error.errno is not None
        raise _Refused(
            f"cannot be unpacked: {error}" if is_ours else f"damaged: {error}"
        ) from error
    if size > most:
        where.unlink()
        raise _Refused(f"unpacks to more than it says: {limits[most]}")
    return size


def _copied(source: IO[bytes], target: IO[bytes], most: int) -> int:
    size = 0
    while size <= most and (chunk := source.read(_CHUNK)):
        target.write(chunk)
        size += len(chunk)
    return size


def _parts(name: str) -> tuple[str, ...]:
    """Return the steps of a member's name; the one place where a name becomes a path."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
        raise _Refused("its name leads out of the archive")
    long = any(len(os.fsencode(part)) > _LONGEST_PART for part in path.parts)
    if not path.parts or long or len(name) > _LONGEST_NAME:
        raise _Refused("its name is empty or too long")
    return path.parts


def _check_kind(member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise _Refused("a link")
    if kind not in (0, stat.S_IFREG):
        raise _Refused("no regular file")
    if member.flag_bits & _IS_ENCRYPTED:
        raise _Refused("encrypted; unpack it yourself")
    if member.compress_type not in _METHODS:
        raise _Refused(f"packed by a method ({member.compress_type}) that is not read")


def _check_directory(archive: Path, bounds: Bounds) -> None:
    """Refuse an archive whose list of files would fill the memory before anything is read."""
    try:
        with archive.open("rb") as stream:
            size = _directory_size(stream)
    except OSError as error:
        raise UnreadableFile(f"{str(archive)!r} cannot be read: {error}") from error
    if size > bounds.directory_bytes:
        raise UnreadableFile(
            f"{str(archive)!r} has a list of files of {size:,} bytes; at most "
            f"{bounds.directory_bytes:,} are read"
        )


def _directory_size(stream: IO[bytes]) -> int:
    length = stream.seek(0, os.SEEK_END)
    start = stream.seek(max(0, length - _END.size - _LONGEST_COMMENT))
    tail = stream.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or place + _END.size > len(tail):
        return 0  # as the package will say
    size = int(_END.unpack_from(tail, place)[5])
    before = start + place - _LOCATOR.size
    if before >= 0:
        stream.seek(before)
        found = stream.read(_LOCATOR.size)
        if found.startswith(b"PK\x06\x07"):
            # The package looks for the longer form right before its locator.
            stream.seek(max(0, before - _LONG_END.size))
            long = stream.read(_LONG_END.size)
            if len(long) == _LONG_END.size and long.startswith(b"PK\x06\x06"):
                size = max(size, int(_LONG_END.unpack(long)[8]))
    return size
