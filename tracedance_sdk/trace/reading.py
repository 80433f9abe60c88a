"""Read JSON from files and strings that nobody vouches for.

The bounds are on encoding, depth and size; what the fast parser would change silently (integers
beyond 64 bits, NaN, duplicate keys) is kept as a marker or refused.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

import orjson

from tracedance_sdk.errors import InvalidJSON, Problem, UnreadableFile
from tracedance_sdk.trace.markers import UNKNOWN, Json, Unknown, type_stub

MAX_DEPTH: Final = 240
"""Deepest nesting of lists and objects that is read."""

MAX_TRACE_DEPTH: Final = 250
"""The same for trace files, in which values of other files lie deeper than they did there."""

MAX_FILE_BYTES: Final = 1024**3
"""Largest single JSON document that is read, in bytes."""

MAX_NODES: Final = 10_000_000
"""Most values of one JSON document: what is short in a file may be large in memory."""

_FREE_BYTES: Final = 4 * 1024**2
"""Up to which size a document's values are not counted."""

_MARKS: Final = b"{[,"
"""Each value stands behind one, directly or behind its key."""

_TEXT_OR_BETWEEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[^"]{1,1048576}+', re.DOTALL)
_QUOTE: Final = ord('"')
_DIGITS: Final = b"0123456789"
_OUTLINE: Final = bytes(ord("0" if byte in _DIGITS else ".") for byte in range(256))
_LONG_INTEGER: Final = re.compile(rb"(?:^|[ \t\r\n:,\[-])[0-9]{19}")
_LOST: Final = re.compile(r"[0-9]{16}")
"""What every number has that the fast reader rounds."""

_KEY_END: Final = re.compile(rb'"[ \t\r\n]*:')
_KEY_END_OUTSIDE: Final = re.compile(rb'(?<!\\)"[ \t\r\n]*:')
"""The same but for quotes inside texts, which agents' logs are full of."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_CONSTANTS: Final = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
_WRITER_DEPTH: Final = 254
"""Deepest nesting that orjson writes."""

_FENCED: Final = re.compile(r"\s*```[A-Za-z]*[ \t]*\r?\n(.*)\n[ \t]*```\s*", re.DOTALL)
_LARGE: Final = 64 * 1024
"""From how many bytes on a document is looked at piece by piece."""

_BLOCK: Final = 1024**2
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def unfenced(text: str) -> str:
    r"""Return what stands in a code fence, when the text is one and nothing else; else the text.

    Example:
        >>> unfenced("```json\n[1]\n```"), unfenced("[1]")
        ('[1]', '[1]')
    """
    fenced = _FENCED.fullmatch(text)
    return fenced[1] if fenced else text


def check_file(path: str | os.PathLike[str], *, limit: int = MAX_FILE_BYTES) -> Path:
    """Return the path of a file that may be opened: a pipe or device would block for ever.

    Raises:
        UnreadableFile: Missing, a folder, no regular file, or larger than `limit` bytes.
    """
    where = Path(path)
    try:
        status = where.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableFile(f"{str(path)!r} does not exist") from error
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error}") from error
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableFile(f"{str(path)!r} is a folder, where a file is needed")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile(f"{str(path)!r} is not a regular file")
    if status.st_size > limit:
        raise UnreadableFile(
            f"{str(path)!r} has {status.st_size:,} bytes; at most {limit:,} are read"
        )
    return where


def read_bytes(path: str | os.PathLike[str], *, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        UnreadableFile: Missing, a folder, not permitted, or larger than `limit` bytes.
    """
    where = check_file(path, limit=limit)
    try:
        return where.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error}") from error


def parse_json(
    data: bytes | str, *, where: str, unique_keys: bool = False, max_depth: int = MAX_DEPTH
) -> Json:
    """Parse one JSON document.

    Args:
        data: UTF-8 bytes (a byte order mark is skipped) or text.
        where: What the document is, for messages, such as a file name.
        unique_keys: Refuse an object that names a key twice.
        max_depth: Most lists and objects within one another, at most `MAX_TRACE_DEPTH`.

    Returns:
        The value. Integers beyond 64 bits, NaN and infinities are type stubs in it.

    Raises:
        InvalidJSON: Not UTF-8, not JSON, nested deeper than `max_depth`, more than `MAX_NODES`
            values, or a duplicate key.
    """
    return parse_text(data, where=where, unique_keys=unique_keys, max_depth=max_depth)[0]


def parse_text(
    data: bytes | str, *, where: str, unique_keys: bool = False, max_depth: int = MAX_DEPTH
) -> tuple[Json, bytes | None]:
    r"""Parse one JSON document, and return its bytes as well where they are its compact JSON.

    Args:
        data: As for `parse_json`, which raises the same errors.
        where: What the document is, for messages.
        unique_keys: Refuse an object that names a key twice.
        max_depth: Most lists and objects within one another.

    Returns:
        The value, and the text that the fast writer would write for it; None for any other text.

    Example:
        >>> parse_text(b'{"a":1}\n', where="text"), parse_text(b'{"a": 1}', where="text")
        (({'a': 1}, b'{"a":1}'), ({'a': 1}, None))
    """
    value, raw, is_written = _read(data, where, unique_keys=unique_keys, max_depth=max_depth)
    return value, raw.rstrip() if is_written else None


def parse_telling_repeats(
    data: bytes | str, *, where: str, max_depth: int = MAX_DEPTH
) -> tuple[Json, str | None]:
    """Parse one JSON document, and say so where an object names a key twice: the last one counts.

    Args:
        data: As for `parse_json`, which raises the same errors.
        where: What the document is, for messages.
        max_depth: Most lists and objects within one another.

    Returns:
        The value, and what `parse_json` would say to the first repeated key; None without any.
    """
    value, raw, is_written = _read(data, where, unique_keys=False, max_depth=max_depth)
    if is_written or not _may_repeat_keys(value, raw, _KEY_END_OUTSIDE):
        return value, None
    try:
        _parse_strict(raw, where, unique_keys=True, max_depth=max_depth)
    except InvalidJSON as error:
        return value, str(error) if error.problems else None
    return value, None


def _read(
    data: bytes | str, where: str, *, unique_keys: bool, max_depth: int
) -> tuple[Json, bytes, bool]:
    """Return the value, the text as UTF-8, and whether that is the value's compact JSON."""
    raw = _utf8(data, where)
    if holds_too_many(raw):
        raise InvalidJSON(f"{where}: more than {MAX_NODES:,} values")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    else:
        is_written = _is_written(value, raw, max_depth)
        if is_written:
            # As in files of the fast writer: reading has lost nothing.
            return value, raw, True
        is_unique = not unique_keys or not _may_repeat_keys(value, raw)
        if is_unique and _keeps_numbers(value, raw):
            kept = value if is_written is not None else _bounded(value, where, max_depth)
            return kept, raw, False
    value = _parse_strict(raw, where, unique_keys=unique_keys, max_depth=max_depth)
    return _bounded(value, where, max_depth), raw, False


def holds_too_many(raw: bytes, *, most: int = MAX_NODES) -> bool:
    """Whether a large JSON text holds more than so many values, told without making them.

    Args:
        raw: The text; one of up to 4 MiB holds few enough, whatever it is.
        most: How many are few enough.
    """
    return len(raw) > _FREE_BYTES and count_marks(raw) >= most and count_values(raw, most) >= most


def count_values(raw: bytes, most: int) -> int:
    """Return how many values a JSON text holds, about; no more than `most` are counted."""
    found = texts = 0
    for match in _TEXT_OR_BETWEEN.finditer(raw):
        if raw[match.start()] == _QUOTE:
            texts += 1
        else:
            between = match.group()
            empty = between.count(b"[]") + between.count(b"{}")
            found += count_marks(between) - empty
        if found >= most or texts >= 2 * most:
            return most
    return found


def count_marks(raw: bytes) -> int:
    """Return the most values that a JSON text may hold: marks inside texts are counted, too."""
    if len(raw) <= _BLOCK:
        return len(raw) - len(raw.translate(None, _MARKS))
    count = 0
    for start in range(0, len(raw), _BLOCK):
        block = raw[start : start + _BLOCK]
        count += len(block) - len(block.translate(None, _MARKS))
    return count


def parse_compact(text: str) -> Json | Unknown:
    """Return the value whose compact JSON is this very text; `UNKNOWN` when `parse_json` must look.

    Much text is as the fast writer writes it, and short enough that it cannot be nested too deeply:
    then reading loses nothing, and one comparison shows it.
    """
    value, is_compact = parse_short(text)
    return value if is_compact else UNKNOWN


def parse_short(text: str) -> tuple[Json | Unknown, bool]:
    """Return the value of a JSON text, and whether the text is its compact JSON.

    Much text is so short that it cannot be nested too deeply, and is either as the fast writer
    writes it or has no number that could be lost.

    Returns:
        `UNKNOWN` and False when `parse_json` must look.
    """
    if len(text) > 2 * MAX_DEPTH:
        return UNKNOWN, False
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return UNKNOWN, False
    if orjson.dumps(value).decode() == text:
        return value, True
    return (UNKNOWN if _LOST.search(text) else value), False


def _is_written(value: Json, raw: bytes, max_depth: int) -> bool | None:
    """Whether a text is the value's compact JSON; None when it may be nested too deeply."""
    if len(raw) <= 2 * max_depth:
        return _is_at(raw, 0, orjson.dumps(value))
    if not isinstance(value, list) or len(raw) < _LARGE:
        written = _written(value, max_depth)
        return None if written is None else _is_at(raw, 0, written)
    # Item by item: a second copy of a large document costs more than all else here.
    end, is_same = 0, True
    for item in value:
        written = _written(item, max_depth - 1)
        if written is None:
            return None
        if is_same:
            is_same = raw.startswith((b"[", b","), end) and raw.startswith(written, end + 1)
            end += 1 + len(written)
    return is_same and _is_at(raw, end, b"]")


def _is_at(raw: bytes, start: int, written: bytes) -> bool:
    """Whether a text ends with what is written, but for white space."""
    return raw.startswith(written, start) and not raw[start + len(written) :].strip()


def _written(value: Json, max_depth: int) -> bytes | None:
    """Return the value as compact JSON, or None when it may be nested too deeply."""
    around = _WRITER_DEPTH - max_depth
    for _ in range(around):
        # The fast writer refuses what is too deep once it lies in so many lists.
        value = [value]
    try:
        data = orjson.dumps(value)
    except (TypeError, ValueError):
        return None
    return data[around : len(data) - around]


def _keeps_numbers(value: Json, raw: bytes) -> bool:
    return not _holds_long_integer(raw) or not _holds_huge_float(value)


def _holds_long_integer(raw: bytes) -> bool:
    """Whether the text may hold an integer of 19 digits; many times as fast as a pattern alone.

    Of every four bytes one is looked at: such an integer shows as four digits in a row. Where
    there are four, the pattern looks at all bytes around.
    """
    for start in range(0, len(raw), _LARGE):
        sample = raw[start : start + _LARGE + 20 : 4].translate(_OUTLINE)
        at = sample.find(b"0000")
        while at >= 0:
            place = start + 4 * at
            if _LONG_INTEGER.search(raw, max(place - 4, 0), place + 22):
                return True
            at = sample.find(b"0000", at + 1)
    return False


def _may_repeat_keys(value: Json, raw: bytes, ends: re.Pattern[bytes] = _KEY_END) -> bool:
    """Whether the text may name a key twice: it has more colons after a quote than we have keys."""
    keys, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            keys += len(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return keys != sum(1 for _ in ends.finditer(raw))


def _utf8(data: bytes | str, where: str) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace")
    if data.startswith(_UTF16) or b"\0" in data[:64]:
        raise InvalidJSON(f"{where}: not UTF-8 text (UTF-16 or binary); save it as UTF-8")
    return data.removeprefix(b"\xef\xbb\xbf")


def _parse_strict(raw: bytes, where: str, *, unique_keys: bool, max_depth: int) -> Json:
    try:
        text = raw.decode("utf-8")
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=lambda name: type_stub("float", _CONSTANTS[name]),
            object_pairs_hook=_unique(where) if unique_keys else None,
        )
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"{where}: not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidJSON(f"{where}: not JSON: {error.msg} ({place})") from error
    except RecursionError as error:
        raise _too_deep(where, max_depth) from error
    return _without_surrogates(value, text)


def _bounded(value: Json, where: str, max_depth: int) -> Json:
    if _written(value, max_depth) is None and _depth_exceeds(value, max_depth):
        raise _too_deep(where, max_depth)
    return value


def _too_deep(where: str, max_depth: int) -> InvalidJSON:
    return InvalidJSON(f"{where}: nested deeper than {max_depth} levels")


def _depth_exceeds(value: Json, limit: int) -> bool:
    level: list[Json] = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return any(isinstance(item, (dict, list)) for item in level)


def _holds_huge_float(value: Json) -> bool:
    """Whether a float may have been an integer beyond 64 bits in the text."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, float) and abs(item) >= 2.0**63:
            return True
    return False


def _float(digits: str) -> Json:
    number = float(digits)
    return number if math.isfinite(number) else type_stub("float", digits)


def _integer(digits: str) -> Json:
    if len(digits) < 19:
        return int(digits)
    if len(digits) <= 21:
        number = int(digits)
        if -(2**63) <= number < 2**64:
            return number
    return type_stub("int", digits)


def _unique(where: str) -> Callable[[list[tuple[str, Json]]], dict[str, Json]]:
    def build(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in pairs:
            if key in found:
                message = f"{where}: the key {key!r} stands twice in one object"
                raise InvalidJSON(message, problems=[Problem(f"duplicate key {key!r}")])
            found[key] = value
        return found

    return build


def _without_surrogates(value: Json, text: str) -> Json:
    """Spell lone surrogates out as escapes: they cannot be written as UTF-8."""
    if not _SURROGATE.search(text):
        return value
    return spelled_out(value)


def spelled_out(value: Json) -> Json:
    """Return a JSON value with every lone surrogate as its escape, as UTF-8 cannot hold it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {spelled_out(key): spelled_out(item) for key, item in value.items()}
    if isinstance(value, list):
        return [spelled_out(item) for item in value]
    return value
