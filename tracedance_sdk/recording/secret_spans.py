"""Find the secrets in one text: by their shape, by the name before them, and private keys."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.recording.named_patterns import name_pattern, named_pattern, named_probe
from tracedance_sdk.recording.named_values import named_values
from tracedance_sdk.recording.private_keys import private_keys
from tracedance_sdk.recording.redaction_patterns import PRIVATE_KEY_PROBE, SECRET_PATTERNS
from tracedance_sdk.recording.secret_looks import looks_right, stands_free
from tracedance_sdk.recording.secret_names import Secrecy, secrecy
from tracedance_sdk.recording.secret_tokens import SecretPattern

_SLASH: Final = re.compile(rb"\\+/")
_LONG: Final = 4096
_EDGE: Final = re.compile(
    rb"(?:\\{0,16}[\"'`]|[)}\]\s]){0,40}"
    rb"(?:\Z|\.\.\.|\xe2\x80\xa6|[\[(<] ?(?:\.\.\.|\xe2\x80\xa6|(?i:truncated|cut|more|clipped)))"
)


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
        keys = (Span(start, end, "private_key", key) for start, end, key in private_keys(data))
        named = (Span(*found) for found in named_values(data, self._named, self.secrecy))
        shaped = _shaped(data) if _any_shape().search(data) else ()
        return merged([*shaped, *keys, *named])


def compiled(pattern: str) -> Any:
    """Compile an RE2 pattern over bytes."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(pattern.encode("latin-1"), options)


class _Row(NamedTuple):
    row: SecretPattern
    literals: tuple[bytes, ...]
    probe: Any
    pattern: Any
    cut: Any

    def may_be_in(self, data: bytes) -> bool:
        """Whether the row's patterns could match: what is cheaper to say depends on the length."""
        if not self.literals or len(data) < _LONG:
            return not self.literals or any(literal in data for literal in self.literals)
        return self.probe.search(data) is not None


@functools.cache
def _rows() -> list[_Row]:
    return [
        _Row(
            row,
            tuple(literal.encode() for literal in row.literals),
            compiled(row.probe),
            compiled(row.pattern),
            compiled(row.cut) if row.cut else None,
        )
        for row in SECRET_PATTERNS
    ]


@functools.cache
def _any_shape() -> Any:
    return compiled("|".join(row.probe for row in SECRET_PATTERNS))


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
    for found in _rows():
        if not found.may_be_in(data):
            continue
        row, pattern, cut = found.row, found.pattern, found.cut
        for match in pattern.finditer(data):
            yield from _checked(data, row, *match.span(1))
        if cut is not None:
            for match in cut.finditer(data):
                if _EDGE.match(data, match.end(1)):
                    yield from _checked(data, row, *match.span(1))


def _checked(data: bytes, row: SecretPattern, start: int, end: int) -> Iterator[Span]:
    secret = data[start:end]
    if stands_free(row.standing, data, start) and looks_right(row.look, secret):
        yield Span(start, end, row.kind, _SLASH.sub(b"/", secret) if b"\\" in secret else None)
