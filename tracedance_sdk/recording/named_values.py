"""Find the values beside names that announce secrets, however name and value are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.recording.bare_values import UNQUOTED, is_called, is_password, whole_end
from tracedance_sdk.recording.named_patterns import NAME_GROUPS
from tracedance_sdk.recording.secret_looks import (
    is_code,
    is_named_secret,
    is_placeholder,
    is_said_secret,
    scheme_length,
)
from tracedance_sdk.recording.secret_names import Secrecy

_GAP: Final = re.compile(rb"(?:\s|\\+[nrt])*")
_MASKED: Final = re.compile(rb"[A-Za-z0-9_.-]{1,40}:[0-9a-f]{0,16}\]")
_QUERY: Final = re.compile(rb"(?:[?&]|%26|%3[Ff]|&amp;)\Z")
_LINE: Final = re.compile(rb"[^\r\n\"'`\\\x00-\x1f]+")
_CONTENT: Final = re.compile(rb"[^<>\r\n]+")
_OPENING: Final = re.compile(rb"(\\*)([\"'`])")
_FIELD: Final = re.compile(rb"[A-Za-z_.-]+[=:]")
_ESCAPE: Final = re.compile(rb"[nrt]|u00[0-9a-f]{2}")
_COLOUR: Final = re.compile(rb"\x1b\[[0-9;]*\Z")
_COLOUR_END: Final = re.compile(rb"[0-9]*m")
_LONGEST_NAME: Final = 80
_AFTER_QUOTE: Final = (b"", b" ", b"+", b",", b":", b";", b"}", b"]", b")", b"\\")
_BEFORE_QUOTE: Final = (b"", b"+", b",", b"(", b"=", b":", b"[", b"{", b"?", b"&", b"|", b"\\")
_DECIDING: Final = 256
_MOST_SECRET: Final = 64 * 1024
_GROUPS: Final = tuple(name.encode() for name in NAME_GROUPS)


class NamedValue(NamedTuple):
    """Where a value stands, in bytes, of what kind of secret, and its text without escapes."""

    start: int
    end: int
    kind: str
    plain: bytes


class _Name(NamedTuple):
    """A name, and how it is written together with its value."""

    text: str
    group: bytes
    is_quoted: bool
    in_query: bool
    level: Secrecy
    kind: str


def named_values(
    data: bytes, pattern: Any, secrecy: Callable[[str], tuple[Secrecy, str]]
) -> Iterator[NamedValue]:
    """Yield the secret values beside names.

    Args:
        data: The UTF-8 bytes of decoded text.
        pattern: Compiled `named_pattern`.
        secrecy: How surely a name announces a secret, and of what kind.
    """
    position, numbers = 0, pattern.groupindex
    while (match := pattern.search(data, position)) is not None:
        position = match.end()
        group = next(group for group in _GROUPS if match.group(group) is not None)
        start, end = match.span(numbers[group])
        mask = _MASKED.match(data, start) if data.endswith(b"[MASKED:", 0, start) else None
        if mask is not None:
            # The kind of what is masked already.
            position = max(position, mask.end())
            continue
        text = _name(data, start, end)
        level, kind = secrecy(text)
        if level is Secrecy.NONE:
            continue
        in_query = _QUERY.search(data, max(0, start - 5), start) is not None
        name = _Name(text, group, match.group(b"quote") is not None, in_query, level, kind)
        found = _value(data, match.end(), name)
        if found is not None:
            yield found
            position = max(position, found.end)


def _name(data: bytes, start: int, end: int) -> str:
    r"""Return a name without what an escape left before it: the ``n`` of ``\n``, of colours."""
    escape = _ESCAPE.match(data, start) if data[start - 1 : start] == b"\\" else None
    if escape is None and (colour := _COLOUR.search(data, max(0, start - 8), start)):
        escape = _COLOUR_END.match(data, colour.end())
    return data[escape.end() if escape else start : end].decode("utf-8", "replace")[-_LONGEST_NAME:]


def _value(data: bytes, after: int, name: _Name) -> NamedValue | None:
    if name.group == b"element":
        return _element_value(data, after, name)
    gap = _GAP.match(data, after)
    start = gap.end() if gap else after
    opening = _OPENING.match(data, start)
    if opening is None:
        return _bare_value(data, after, start, name)
    start = opening.end()
    end, is_closed = _closing(data, start, len(opening.group(1)), opening.group(2))
    if not name.is_quoted and _is_outside(data, start, end, is_closed=is_closed):
        # The quote closed the text that the name stood in: "Your password: ", ...
        return None
    plain = without_escapes(data[start:end], len(opening.group(1)))
    return _beside((start, end), plain, name, quoted=True)


def _element_value(data: bytes, start: int, name: _Name) -> NamedValue | None:
    content = _CONTENT.match(data, start)
    if content is None:
        return None
    is_cut = content.end() == len(data) and is_said_secret(content.group())
    if not is_cut and not data.startswith(b"</" + name.text.encode(), content.end()):
        # No element: a placeholder, such as <PASSWORD>.
        return None
    return _beside((start, content.end()), content.group(), name, quoted=True)


def _is_outside(data: bytes, start: int, end: int, *, is_closed: bool) -> bool:
    """Whether what follows a quote is code after a text, not the text in the quotes."""
    if data[start : start + 1] not in _AFTER_QUOTE:
        return False
    value = data[start:end]
    if not is_closed or re.search(rb"\s", value) or not re.search(rb"[A-Za-z0-9]", value):
        return True
    return value[-1:] in _BEFORE_QUOTE and re.fullmatch(rb"[A-Za-z0-9+/=]{16,}", value) is None


def _bare_value(data: bytes, after: int, start: int, name: _Name) -> NamedValue | None:
    # Names may follow each other without end: what is no secret must be cheap to look at.
    limit = min(len(data), start + _DECIDING)
    found = _bare_within(data, (after, start, limit), name)
    if found is None or found.end < limit - 8 or limit == len(data):
        return found
    return _bare_within(data, (after, start, len(data)), name) or found


def _bare_within(data: bytes, place: tuple[int, int, int], name: _Name) -> NamedValue | None:
    """Return a value without quotes; `place` is where the name ended, and the value's limits."""
    after, start, limit = place
    is_variable = name.text.isupper() and data[after - 1 : after] == b"=" and start == after
    narrow = _without_closing(data, start, _narrow_end(data, start, limit, name), name)
    whole = _without_closing(data, start, whole_end(data, start, limit), name)
    if is_called(data, start, narrow, whole):
        # A call or a subscript: code that fetches the secret.
        return None
    plain = data[start:narrow]
    if start > after and name.kind != "cookie" and _FIELD.match(plain):
        # Nothing stood there, and this is the next field.
        return None
    if is_code(plain, is_variable=is_variable) or is_placeholder(plain):
        return None
    is_whole = whole > narrow and _is_whole(name)
    if is_variable and is_whole:
        narrow = whole
    plain = data[start:narrow].replace(b"\\/", b"/")
    found = _beside((start, narrow), plain, name, quoted=False, is_variable=is_variable)
    if not is_whole or narrow == whole:
        return found
    plain = data[start:whole].replace(b"\\/", b"/")
    if found is None and not is_password(plain, beginning=data[start:narrow]):
        return None
    return _beside((start, whole), plain, name, quoted=False, is_variable=is_variable) or found


def _is_whole(name: _Name) -> bool:
    """Whether the value reaches to white space or a quote, as passwords do."""
    return name.level is Secrecy.STRONG and name.group != b"cell" and not name.in_query


def _narrow_end(data: bytes, start: int, limit: int, name: _Name) -> int:
    if name.kind == "cookie":
        # Several cookies stand in one line.
        value = _LINE.match(data, start, limit)
    else:
        scheme = scheme_length(data[start : start + 40])
        value = UNQUOTED.match(data, start + scheme, limit)
    return start if value is None else value.end()


def _without_closing(data: bytes, start: int, end: int, name: _Name) -> int:
    """Return an end before the punctuation of a sentence, and before the end of bold print."""
    text = data[start:end]
    if name.group == b"said":
        text = text.rstrip(b".,!?:;")
    return start + len(text.removesuffix(b"**"))


def _beside(
    place: tuple[int, int],
    plain: bytes,
    name: _Name,
    *,
    quoted: bool,
    is_variable: bool = False,
) -> NamedValue | None:
    """Return the span of a value beside a name, without its scheme, if it is a secret."""
    if name.group == b"said" and not is_said_secret(plain):
        return None
    if not is_named_secret(
        plain, level=name.level, kind=name.kind, quoted=quoted, is_variable=is_variable
    ):
        return None
    scheme = scheme_length(plain)
    return NamedValue(place[0] + scheme, place[1], name.kind, plain[scheme:])


def without_escapes(value: bytes, backslashes: int) -> bytes:
    """Return the text of a JSON string whose quotes stand behind `backslashes` backslashes."""
    if b"\\" not in value:
        return value
    try:
        for _ in range((backslashes + 1).bit_length()):
            value = orjson.loads(b'"%b"' % value).encode()
    except orjson.JSONDecodeError:
        # Quoted, but not by JSON's rules.
        return value
    return value


def _closing(data: bytes, start: int, backslashes: int, quote: bytes) -> tuple[int, bool]:
    """Return where a quoted value ends, and whether a quote stands there.

    The opening quote stood behind `backslashes` backslashes, since the text may be JSON inside
    JSON; a quote inside the value stands behind more of them. A value without a closing quote
    (the text was cut) ends with its line.
    """
    limit = min(len(data), start + _MOST_SECRET)
    line = data.find(b"\n", start, limit)
    limit = limit if line < 0 else line
    position = start
    while (position := data.find(quote, position, limit)) >= 0:
        run = position
        while run > start and data[run - 1] == 0x5C:
            run -= 1
        surplus = position - run - backslashes
        if surplus < 0:
            return run, True
        if surplus % (2 * (backslashes + 1)) == 0:
            return position - backslashes, True
        position += 1
    return limit, False
