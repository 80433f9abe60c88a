"""Find the secrets in one text: by their shape, by the name before them, and private keys."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import orjson
import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.recording.redaction_patterns import (
    PRIVATE_KEY_PROBE,
    SECRET_PATTERNS,
    SecretPattern,
    name_pattern,
    named_pattern,
    named_probe,
)
from tracedance_sdk.recording.secret_looks import (
    is_named_secret,
    looks_right,
    scheme_length,
    stands_free,
)
from tracedance_sdk.recording.secret_names import Secrecy, secrecy

_UNQUOTED: Final = re.compile(rb"[^\s\"'`,;&<>(){}\[\]|\\]+")
_LINE: Final = re.compile(rb"[^\r\n\"'`\\]+")
_OPENING: Final = re.compile(rb"(\\*)([\"'`])")
_PEM_HEADER: Final = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?:-----)?")
_PEM_REST: Final = re.compile(
    rb"(?:\s|\\+[nr])*(?:[A-Za-z0-9+/=]{40,}(?:\s|\\+[nr])*)*[A-Za-z0-9+/=]*"
)
_PEM_SPACE: Final = re.compile(rb"\\+[nrt]|\s")
_LONGEST_NAME: Final = 80
_AFTER_QUOTE: Final = (b"", b" ", b"+", b",", b":", b";", b"}", b"]", b")", b"\\")
_MOST_SECRET: Final = 64 * 1024


class Span(NamedTuple):
    """Where a secret stands, in bytes, and its text without escapes where that differs."""

    start: int
    end: int
    kind: str
    plain: bytes | None = None


class SecretFinder:
    """Finds the built-in kinds of secrets, and values beside the names given.

    Args:
        names: More names that announce secrets, in lower case.
    """

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self._names = names
        name = name_pattern("|".join(map(re2.escape, sorted(names))))
        self._named = compiled(named_pattern(name))
        # Escapes of plain ASCII count as findings, since they can hide anything from the search.
        parts = [PRIVATE_KEY_PROBE, named_probe(name), r"\\u00[2-7]"]
        self._probe = compiled("|".join([*(row.probe for row in SECRET_PATTERNS), *parts]))

    def is_clean(self, data: bytes) -> bool:
        """Whether text, or JSON text, surely holds no secret; in time linear in its length."""
        return self._probe.search(data) is None

    def secrecy(self, name: str) -> tuple[Secrecy, str]:
        """Return how surely a name announces a secret, and the kind of secret."""
        return (Secrecy.STRONG, "named") if name.lower() in self._names else secrecy(name)

    def find(self, data: bytes) -> list[Span]:
        """Return the secrets of a text, apart from each other and in order.

        Args:
            data: The UTF-8 bytes of decoded text, not of JSON.
        """
        return merged([*_shaped(data), *_private_keys(data), *self._named_values(data)])

    def _named_values(self, data: bytes) -> Iterator[Span]:
        position = 0
        while (match := self._named.search(data, position)) is not None:
            span = self._named_value(data, match)
            position = match.end()
            if span is not None:
                yield span
                position = max(position, span.end)

    def _named_value(self, data: bytes, match: Any) -> Span | None:
        name = (match.group(1) or match.group(3)).decode("utf-8", "replace")[-_LONGEST_NAME:]
        level, kind = self.secrecy(name)
        if level is Secrecy.NONE:
            return None
        start = match.end()
        opening = _OPENING.match(data, start)
        if opening is None:
            return _bare_value(data, start, name=name, level=level, kind=kind)
        start = opening.end()
        if match.group(2) is None and data[start : start + 1] in _AFTER_QUOTE:
            # The quote closed the text that the name stood in: "Your password: ", ...
            return None
        end = _closing(data, start, len(opening.group(1)), opening.group(2))
        plain = _without_escapes(data[start:end], len(opening.group(1)))
        return _beside((start, end), plain, level=level, kind=kind, quoted=True)


def compiled(pattern: str) -> Any:
    """Compile an RE2 pattern over bytes."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(pattern.encode(), options)


@functools.cache
def _rows() -> list[tuple[SecretPattern, tuple[bytes, ...], Any]]:
    return [
        (row, tuple(literal.encode() for literal in row.literals), compiled(row.pattern))
        for row in SECRET_PATTERNS
    ]


def merged(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap; the joint span has the kind of the longest of them."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not found or span.start >= found[-1].end:
            found.append(span)
        elif span.end > found[-1].end:
            last = found[-1]
            kind = max(last, span, key=lambda part: part.end - part.start).kind
            found[-1] = Span(last.start, span.end, kind)
    return found


def _shaped(data: bytes) -> Iterator[Span]:
    for row, literals, pattern in _rows():
        if literals and not any(literal in data for literal in literals):
            continue
        for match in pattern.finditer(data):
            start, end = match.span(1)
            if stands_free(row.standing, data, start) and looks_right(row.look, data[start:end]):
                yield Span(start, end, row.kind)


def _private_keys(data: bytes) -> Iterator[Span]:
    position = 0
    while (header := _PEM_HEADER.search(data, position)) is not None:
        position = _pem_end(data, header.end())
        key = data[header.start() : position]
        yield Span(header.start(), position, "private_key", _PEM_SPACE.sub(b"", key))


def _pem_end(data: bytes, body: int) -> int:
    """Return where a private key ends: at its closing line, or where its text was cut."""
    dashes = data.find(b"-----", body)
    if dashes >= 0 and data.startswith(b"-----END ", dashes):
        closing = data.find(b"-----", dashes + 9, dashes + 70)
        if closing >= 0:
            return closing + 5
    rest = _PEM_REST.match(data, body)
    return rest.end() if rest else body


def _bare_value(data: bytes, start: int, *, name: str, level: Secrecy, kind: str) -> Span | None:
    is_line = kind in ("authorization", "cookie")
    value = (_LINE if is_line else _UNQUOTED).match(data, start)
    end = value.end() if value else start
    if data[end : end + 1] in (b"(", b"["):
        # A call or a subscript: code that fetches the secret.
        return None
    is_env = name.isupper() and data[start - 1 : start] == b"="
    plain = data[start:end]
    return _beside((start, end), plain, level=level, kind=kind, quoted=False, is_env=is_env)


def _beside(
    place: tuple[int, int],
    plain: bytes,
    *,
    level: Secrecy,
    kind: str,
    quoted: bool,
    is_env: bool = False,
) -> Span | None:
    """Return the span of a value beside a name, without its scheme, if it is a secret."""
    if not is_named_secret(plain, level=level, quoted=quoted, is_env=is_env):
        return None
    scheme = scheme_length(plain)
    return Span(place[0] + scheme, place[1], kind, plain[scheme:])


def _without_escapes(value: bytes, backslashes: int) -> bytes:
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


def _closing(data: bytes, start: int, backslashes: int, quote: bytes) -> int:
    """Return where a quoted value ends.

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
            return run
        if surplus % (2 * (backslashes + 1)) == 0:
            return position - backslashes
        position += 1
    return limit
