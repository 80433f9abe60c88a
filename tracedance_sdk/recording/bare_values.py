"""Where a value without quotes ends: ``DB_PASSWORD: tr0ub&4dor``, ``?password=x&page=2``.

Such a value reaches to white space or a quote. Before that it ends where the text around it goes
on: at the next field (``&page=``, ``,user:``, ``;Database=``), at a tag, or at brackets that it did
not open. In the query of a URL every ``&`` and ``;`` ends it.
"""

from __future__ import annotations

import re
from typing import Final

from tracedance_sdk.recording.secret_names import Secrecy, secrecy

# An ideographic comma or full stop, a wide comma or colon, a typographic quote ends a value too.
_WIDE_STOPS: Final = rb"\xe2(?!\x80[\x98-\x9f\xa6])|\xe3(?!\x80[\x81\x82])|\xef(?!\xbc[\x8c\x9a])"
# Not possessive: before Python 3.11.5 a possessive group with a lookahead in it matches too much.
UNQUOTED: Final = re.compile(
    rb"(?:[^\s\"'`,;&<>(){}\[\]|\\\x00-\x1f\xe2\xe3\xef]+|\\+/|" + _WIDE_STOPS + rb")+"
)
"""A value that holds none of the characters with which text around it goes on."""

_WHOLE: Final = re.compile(
    rb"(?:[^\s\"'`<\\\x00-\x1f\xe2\xe3\xef]+|\\+/|\\[^\s\"'`\\/nrtbfux0-9]|<(?![/A-Za-z!])|"
    + _WIDE_STOPS
    + rb")+"
)
_NEXT: Final = re.compile(
    rb"[)\]}>]*(?:&&|\|\||(?:&(?:amp;)?|[?;,|])(?=[A-Za-z_][A-Za-z0-9_.-]{0,40}[=:]))"
    rb"|[)\]}]+[,;]?[(\[{]|[)\]}]+[.,;:!?]+\Z"
)
_CLOSERS: Final = {b")": b"(", b"]": b"[", b"}": b"{", b">": b"<"}
_CALL: Final = re.compile(rb"[!*&+~@$-]*[A-Za-z_][A-Za-z0-9_.$:>?-]*\Z")


def whole_end(data: bytes, start: int, limit: int) -> int:
    """Return where a value ends that reaches to white space, a quote or the next field."""
    value = _WHOLE.match(data, start, limit)
    if value is None:
        return start
    following = _NEXT.search(value.group())
    text = value.group() if following is None else value.group()[: following.start()]
    while text:
        last = text[-1:]
        opener = _CLOSERS.get(last)
        if last not in b",;|&" and (opener is None or text.count(opener) >= text.count(last)):
            break
        text = text[:-1]
    return start + len(text)


def is_called(data: bytes, start: int, narrow: int, whole: int) -> bool:
    """Whether a value up to `narrow`, before a bracket, is what code calls or looks into.

    A bracket that is never closed in the line, inside a value, is a character like others.
    """
    if data[narrow : narrow + 1] not in (b"(", b"["):
        return False
    value = data[start:whole]
    is_open = value.count(b"(") > value.count(b")") or value.count(b"[") > value.count(b"]")
    ends_line = data[whole : whole + 1] in (b"", b"\n", b"\r")
    is_plain = is_open and ends_line and value[-1:] not in b"([,"
    return _CALL.match(data[start:narrow]) is not None and not is_plain


def is_password(value: bytes, *, beginning: bytes) -> bool:
    """Whether a value that looks like none up to its first separator is one as a whole.

    Args:
        value: The whole.
        beginning: Up to there; a variable's name, as in ``password = password1,``, is code.
    """
    if secrecy(beginning.decode("utf-8", "replace"))[0] is not Secrecy.NONE:
        return False
    has_both = re.search(rb"[0-9]", value) and re.search(rb"[A-Za-z]", value)
    is_code = any(
        0 < value.count(opener) <= value.count(closer) for closer, opener in _CLOSERS.items()
    )
    return len(value) >= 6 and bool(has_both) and b"://" not in value and not is_code
