"""Find private keys in PEM form: whole, in one line, in a URL, or with either end cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

_SPACE: Final = rb"(?: |%20|\+)"
_HEADER: Final = re.compile(
    rb"-----BEGIN" + _SPACE + rb"[A-Z0-9 %+]{0,40}PRIVATE" + _SPACE
    + rb"KEY(?:" + _SPACE + rb"BLOCK)?(?:-----)?"
)  # fmt: skip
_FOOTER: Final = re.compile(
    rb"-----END" + _SPACE + rb"[A-Z0-9 %+]{0,40}PRIVATE" + _SPACE
    + rb"KEY(?:" + _SPACE + rb"BLOCK)?(?:-----)?"
)  # fmt: skip
_GAP: Final = rb"(?:\s|\\+[nrt]|%0[AaDd])"
_REST: Final = re.compile(
    _GAP + rb"*(?:(?:[A-Za-z0-9+/=]|%2[BbFf]|%3[Dd]|\\+/){40,}" + _GAP
    + rb"*)*(?:[A-Za-z0-9+/=]|%2[BbFf]|%3[Dd])*"
)  # fmt: skip
_BODY_BYTES: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=%\\ \r\n\t"
)
_IGNORED: Final = re.compile(rb"\\+[nrt]|\\|\s")


def private_keys(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield start and end of every private key, and the key without line ends and escapes."""
    position = 0
    for footer in _FOOTER.finditer(data):
        # What comes before the first closing line without an opening one was cut off.
        header = _HEADER.search(data, position, footer.start())
        if header is None:
            start = _body_start(data, position, footer.start())
            yield start, footer.end(), _plain(data[start : footer.end()])
        else:
            yield from _opened(data, header.start(), footer.end())
        position = footer.end()
    yield from _opened(data, position, len(data))


def _opened(data: bytes, position: int, limit: int) -> Iterator[tuple[int, int, bytes]]:
    while (header := _HEADER.search(data, position, limit)) is not None:
        position = _end(data, header.end(), limit)
        yield header.start(), position, _plain(data[header.start() : position])


def _end(data: bytes, body: int, limit: int) -> int:
    """Return where a private key ends: at its closing line, or where its text was cut."""
    dashes = data.find(b"-----", body, limit)
    if dashes >= 0 and (footer := _FOOTER.match(data, dashes, limit)):
        return footer.end()
    rest = _REST.match(data, body, limit)
    return rest.end() if rest else body


def _body_start(data: bytes, limit: int, end: int) -> int:
    """Return where the base64 before a closing line begins, not before `limit`."""
    start = end
    while start > limit and data[start - 1] in _BODY_BYTES:
        start -= 1
    # Words of prose are made of the same letters: begin with the first long line.
    first = re.search(rb"[A-Za-z0-9+/=%\\]{16}", data[start:end])
    return start + first.start() if first else end


def _plain(key: bytes) -> bytes:
    if b"%" in key:
        key = unquote_to_bytes(key.replace(b"+", b" ") if b"BEGIN+" in key else key)
    return _IGNORED.sub(b"", key)
