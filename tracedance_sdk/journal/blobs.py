"""Large values beside a journal: ``blobs/<first two hex>/<sha256>.json``, never changed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.folders import make_folder, sync_folder

_READING: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def blob_path(folder: Path, digest: str) -> Path:
    """Return where a blob lies.

    Raises:
        JournalError: The digest is not 64 lower-case hex characters.
    """
    if not _DIGEST.fullmatch(digest):
        raise JournalError(f"{digest!r} is not the SHA-256 of a blob; 64 hex characters are needed")
    return folder / "blobs" / digest[:2] / f"{digest}.json"


def write_blob(folder: Path, data: bytes, *, fsync: bool = False) -> str:
    """Keep bytes under their SHA-256 and return it; bytes already kept are compared.

    The file appears whole or not at all. One that is not what was written is replaced.

    Raises:
        JournalError: The file cannot be written.
    """
    digest = hashlib.sha256(data).hexdigest()
    path = blob_path(folder, digest)
    if _is_kept(path, data, fsync=fsync):
        return digest
    draft = path.with_name(f".{digest[:16]}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        make_folder(path.parent, fsync=fsync)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
        if fsync:
            sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise JournalError(
            f"a blob of {len(data):,} bytes cannot be written to {str(path.parent)!r}: {error}"
        ) from error
    return digest


def _is_kept(path: Path, data: bytes, *, fsync: bool) -> bool:
    """Whether a blob is there whole; if so it counts as just used, which keeps pruning off it."""
    try:
        os.utime(path)
        if path.stat().st_size != len(data) or _content(path) != data:
            return False
        if fsync:
            # Whoever wrote it may not have asked for that.
            with path.open("r+b") as file:
                os.fsync(file.fileno())
            sync_folder(path.parent)
    except OSError:
        return False
    return True


def _content(path: Path) -> bytes:
    """Return a file's bytes, without waiting for those of a pipe.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    descriptor = os.open(path, _READING)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def read_blob(folder: Path, digest: str) -> bytes | None:
    """Return a blob's bytes, or None when it is not there.

    Raises:
        JournalError: The digest is malformed, or the file does not match it or cannot be read.
    """
    path = blob_path(folder, digest)
    try:
        data = _content(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(f"the blob {str(path)!r} cannot be read: {error}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise JournalError(f"the blob {str(path)!r} was changed: its SHA-256 is another")
    return data
