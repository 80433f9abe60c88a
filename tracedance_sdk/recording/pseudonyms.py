"""Pseudonyms of secrets, and the key they depend on.

A pseudonym is an HMAC, so that equal secrets stay equal in the records of one key, and nobody
without the key can test a guess against them.
"""

from __future__ import annotations

import functools
import hmac
import os
import secrets
import stat
import time
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import JournalError

KEY_FILE: Final = "redaction.key"
"""Name of the key file beside a journal."""

KEY_BYTES: Final = 32
"""Length of a key."""

_PSEUDONYM_HEX: Final = 12
_PATIENCE_SECONDS: Final = 2.0
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def pseudonym(key: bytes, secret: bytes) -> str:
    """Return the 12 hex characters that stand for a secret under a key."""
    return hmac.digest(key, secret, "sha256").hex()[:_PSEUDONYM_HEX]


def redaction_key(folder: str | os.PathLike[str] | None) -> bytes:
    """Return the key of a journal's pseudonyms, making it on first use.

    The file ``redaction.key`` is created once, whichever of several processes comes first, and
    only its owner may read it. A file that others may read is refused rather than mended: its
    key may be known already.

    Args:
        folder: The journal's folder; made when absent. None gives a random key that lives as
            long as the process (forked children share it), so that pseudonyms of two programs
            do not match.

    Returns:
        32 bytes.

    Raises:
        JournalError: The key file cannot be made or read, has a wrong length, is not a regular
            file, or may be read by others.
    """
    if folder is None:
        return _process_key()
    path = Path(folder) / KEY_FILE
    try:
        if path.is_symlink() and not path.exists():
            raise JournalError(
                f"redaction key {str(path)!r} points nowhere; restore its target, or delete the"
                " link to begin a new key (pseudonyms will then differ)"
            )
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(path, secrets.token_bytes(KEY_BYTES))
        return _read(path)
    except OSError as error:
        if isinstance(error, JournalError):
            raise
        raise JournalError(f"redaction key {str(path)!r} cannot be used: {error}") from error


def holds_redaction_key(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has a key of its own."""
    return (Path(folder) / KEY_FILE).exists()


def keep_redaction_key(folder: str | os.PathLike[str], key: bytes) -> None:
    """Keep a key in a folder, beside what was masked under it; one that is there stays.

    Args:
        folder: Made when absent.
        key: 32 bytes, as `redaction_key` returns them.

    Raises:
        JournalError: The key file cannot be made.
    """
    path = Path(folder) / KEY_FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_private(path, key)
    except OSError as error:
        raise JournalError(f"redaction key {str(path)!r} cannot be made: {error}") from error


@functools.cache
def _process_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def create_private(path: Path, data: bytes) -> None:
    """Make a file whole or not at all; another process's file is left as it is.

    Raises:
        OSError: It cannot be made.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(8)}")
    try:
        _write_new(draft, data)
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        except OSError:
            # No hard links here: others may see the file before its content, and wait for it.
            _write_new(path, data)
    except FileExistsError:
        return
    finally:
        draft.unlink(missing_ok=True)


def _write_new(path: Path, key: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        descriptor = os.open(path, flags)
        try:
            status = os.fstat(descriptor)
            check_private(path, status, what="redaction key")
            key = os.read(descriptor, KEY_BYTES + 1)
        finally:
            os.close(descriptor)
        if len(key) == KEY_BYTES:
            return key
        if len(key) > KEY_BYTES or time.monotonic() > deadline:
            raise JournalError(
                f"redaction key {str(path)!r} has {status.st_size} bytes, not {KEY_BYTES}; restore"
                " it, or delete it to begin a new key (pseudonyms will then differ)"
            )
        time.sleep(0.01)


def check_private(path: Path, status: os.stat_result, *, what: str = "the file") -> None:
    """Refuse what others may read, or what is no file.

    Raises:
        JournalError: As said.
    """
    if not stat.S_ISREG(status.st_mode):
        raise JournalError(f"{what} {str(path)!r} is not a regular file; move it away")
    if os.name == "posix" and status.st_mode & _OTHERS:
        raise JournalError(
            f"{what} {str(path)!r} has mode {stat.S_IMODE(status.st_mode):04o}, so others"
            f" may read it; run chmod 600 on it if nobody has, or delete it to begin a new key"
        )
