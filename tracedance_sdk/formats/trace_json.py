"""Trace files: one trace as one JSON document, ours or TraceEval's."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import secrets
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import InvalidJSON, InvalidTrace, UnreadableFile
from tracedance_sdk.formats.opening import read_document
from tracedance_sdk.formats.traceeval import is_traceeval, trace_from_traceeval
from tracedance_sdk.trace import (
    FORMAT,
    MAX_TRACE_DEPTH,
    Json,
    Trace,
    decode,
    encode_json,
    parse_json,
    require_trace,
)

_OTHERS: Final = (
    "'tracedance evaluate' and 'tracedance show' read it, and in Python "
    "tracedance_sdk.formats.collect_paths([path])"
)


def load_trace(source: str | os.PathLike[str] | bytes) -> Trace:
    """Read one trace.

    Args:
        source: Path of a trace file (may be gzipped), or the file's bytes. TraceEval's traces
            are recognised too.

    Returns:
        The trace, as it was saved; unknown fields included.

    Raises:
        UnreadableFile: No such file, a folder, not permitted, too large, or damaged.
        InvalidJSON: Not JSON, nested too deeply, or an object that names a key twice.
        UnsupportedVersion: Written by a newer release.
        InvalidTrace: JSON, but not a trace; the message gives the first problem and its place.

    Example:
        >>> from tracedance_sdk.trace import Trace, encode_json
        >>> load_trace(encode_json(Trace(id="run-1"))).id
        'run-1'
    """
    if isinstance(source, bytes):
        data, where = source, "trace"
    else:
        data, where = read_document(source), os.fspath(source)
    try:
        document = parse_json(data, where=where, unique_keys=True, max_depth=MAX_TRACE_DEPTH)
    except InvalidJSON:
        if _is_line_based(data):
            what = f"it holds one document a line, and load_trace reads one trace; {_OTHERS}"
            raise InvalidJSON(f"{where}: {what}") from None
        raise
    return trace_from_document(document, where=where)


def trace_from_document(document: Json, *, where: str = "trace") -> Trace:
    """Build a trace from a parsed trace file; see `load_trace` for errors.

    Args:
        document: A document of ours or of TraceEval.
        where: What it is, for messages.
    """
    if isinstance(document, dict) and "format" in document:
        return decode(document, where=where)
    if is_traceeval(document):
        return trace_from_traceeval(document, where=where)
    if _is_conversation(document):
        raise InvalidTrace(f"{where}: a conversation, not a trace file; {_OTHERS}")
    kind = "no 'format'" if isinstance(document, dict) else f"a {type(document).__name__}"
    expected = f"an object with 'format': {FORMAT!r}, or TraceEval's fields"
    raise InvalidTrace(f"{where}: not a trace: {kind}; expected {expected}")


def save_trace(trace: Trace, path: str | os.PathLike[str], *, is_private: bool = False) -> None:
    """Write one trace; an existing file is replaced whole or not at all.

    Args:
        trace: Any trace.
        path: Where to; a name that ends in ``.gz`` is written compressed. Folders that are
            missing are made.
        is_private: Only the owner may read the file, and the folder where it is made.

    Raises:
        InvalidOption: `trace` is no trace.
        InvalidTrace: The trace holds a value that is not JSON; nothing is written.
        UnreadableFile: The file cannot be written.

    Example:
        >>> import tempfile
        >>> from tracedance_sdk.trace import Trace
        >>> path = Path(tempfile.mkdtemp()) / "run.json.gz"
        >>> save_trace(Trace(id="run-1"), path)
        >>> load_trace(path).id
        'run-1'
    """
    data = encode_json(require_trace(trace)) + b"\n"
    if os.fspath(path).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    try:
        _replace(Path(os.path.realpath(path)), data, is_private=is_private)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        # The name of the draft, which the error has, would only mislead.
        raise UnreadableFile(f"{os.fspath(path)!r} cannot be written: {reason}") from None


def _replace(target: Path, data: bytes, *, is_private: bool) -> None:
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        target.parent.mkdir(mode=0o700 if is_private else 0o777, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
    try:
        mode = 0o600 if is_private else 0o666
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _is_conversation(document: Json) -> bool:
    """Whether a document is messages, or an object or a list of objects that hold some."""
    while isinstance(document, list) and document:
        document = document[0]
    return isinstance(document, dict) and (
        {"role", "content"} <= document.keys()
        or any(isinstance(document.get(key), list) for key in ("messages", "traj", "trajectory"))
    )


def _is_line_based(data: bytes) -> bool:
    first, _, rest = data.lstrip().partition(b"\n")
    if not rest.strip():
        return False
    try:
        return isinstance(parse_json(first, where="line"), (dict, list))
    except InvalidJSON:
        return False
