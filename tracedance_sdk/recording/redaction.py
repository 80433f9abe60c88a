"""Mask secrets in JSON before anything is written.

Clean JSON is searched once, by one RE2 automaton over the raw bytes, in time linear in its
length whatever it holds. Only JSON with a finding is parsed; then every string and every key is
masked for itself, JSON inside strings included, and the value is written again.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import logging
import re
from collections.abc import Iterable
from typing import Final, Protocol

import orjson

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.extra_patterns import ExtraPattern, PatternSource, extra_pattern
from tracedance_sdk.recording.hosts import is_meant_for_host
from tracedance_sdk.recording.pseudonyms import pseudonym
from tracedance_sdk.recording.secret_looks import is_named_secret, scheme_length
from tracedance_sdk.recording.secret_names import Secrecy
from tracedance_sdk.recording.secret_spans import SecretFinder, Span, merged
from tracedance_sdk.trace import MASK, Json, is_type_stub, mask_text, parse_json

_LOG: Final = logging.getLogger(__name__)
_ROUNDS: Final = 8
_LOOKS: Final = 6
_LONGEST_NAME: Final = 100
# "://:a@" is the shortest text with a secret in it.
_SHORTEST: Final = 6
# As long as a PIN; smaller numbers beside such names are counts.
_SHORTEST_NUMBER: Final = 4
_ASCII_ESCAPE: Final = re.compile(r"(?<!\\)\\u00([2-7][0-9A-Fa-f])")


class Redactor(Protocol):
    """Masks what must not be written."""

    def redact(self, data: bytes) -> bytes:
        """Return JSON text without secrets, made from JSON text; never raises."""
        ...


class SecretRedactor:
    """Masks about forty kinds of secrets, the values beside names such as ``password``, and yours.

    A secret becomes ``[MASKED:<kind>:<12 hex>]``; the hex is an HMAC of the secret, so that equal
    secrets stay equal under one key. Redacting twice is redacting once. Whatever goes wrong (JSON
    that cannot be parsed, a pattern that raises) masks the whole value, of kind ``error``.

    Args:
        key: Key of the pseudonyms; see `redaction_key`.
        extra_patterns: More secrets, each text, a compiled pattern, or ``(kind, pattern)``; see
            `extra_pattern`. With any of these every value is parsed, which costs more.
        secret_keys: More names whose values are secret, compared without regard to case.

    Raises:
        InvalidOption: A pattern that cannot be compiled, or an empty key.

    Example:
        >>> redactor = SecretRedactor(key=b"k" * 32)
        >>> redactor.redact(b'{"user":"ann","password":"hunter2"}')
        b'{"user":"ann","password":"[MASKED:password:f6c2ff60161a]"}'
    """

    protects = ("secrets",)

    def __init__(
        self,
        *,
        key: bytes,
        extra_patterns: Iterable[PatternSource] = (),
        secret_keys: Iterable[str] = (),
    ) -> None:
        if not key:
            raise InvalidOption(
                "the redaction key is empty; give at least one byte, or redaction_key()"
            )
        self._key = key
        self._extra: list[ExtraPattern] = [extra_pattern(source) for source in extra_patterns]
        self._finder = SecretFinder(frozenset(name.lower() for name in secret_keys))
        self._failures = 0
        # The same few keys stand in every row.
        self._known_name = functools.lru_cache(maxsize=2048)(self._name)

    def is_clean(self, data: bytes) -> bool:
        """Whether JSON text, and so every value in it, surely holds nothing to mask."""
        return not self._extra and self._finder.is_clean(data)

    def redact(self, data: bytes) -> bytes:
        """Return the JSON text with its secrets masked; the very same bytes when it holds none."""
        try:
            if self.is_clean(data):
                return data
            value = parse_json(data, where="value")
            masked = self._value(value)
            return data if masked == value else orjson.dumps(masked)
        except BaseException as error:
            if is_meant_for_host(error):
                raise
            self._count(error)
            return orjson.dumps(self._mask("error", data))

    @property
    def failures(self) -> int:
        """How many values were masked whole because a pattern failed or no JSON could be parsed."""
        return self._failures

    def _count(self, error: BaseException) -> None:
        self._failures += 1
        if self._failures == 1:
            # The error's own text may quote the value.
            _LOG.warning(
                "redaction failed (%s); the value is masked whole, as is every other that fails",
                type(error).__name__,
            )

    def _mask(self, kind: str, secret: bytes) -> str:
        return mask_text(kind, pseudonym(self._key, secret))

    def _value(self, value: Json, looks: int = _LOOKS) -> Json:
        """Mask a value; `looks` is how many of the parts around a part may be searched as one."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (list, dict)):
            if looks and not self._extra:
                # One search of a whole part is faster than one of each string in it.
                looks -= 1
                if self._finder.is_clean(orjson.dumps(value)):
                    return value
            return (
                self._array(value, looks) if isinstance(value, list) else self._object(value, looks)
            )
        return value

    def _array(self, value: list[Json], looks: int) -> list[Json]:
        """Mask an array; in ``["--password", "x"]`` and ``["Cookie", "x"]`` a name comes first."""
        found = [self._value(item, looks) for item in value]
        for place, (name, item) in enumerate(itertools.pairwise(value), start=1):
            if isinstance(name, str) and isinstance(item, str) and len(name) < _LONGEST_NAME:
                level, kind = self._finder.secrecy(name)
                if name.startswith("-") or len(value) == 2:
                    found[place] = self._named(item, level, kind, quoted=name.startswith("--"))
        return found

    def _object(self, value: dict[str, Json], looks: int) -> dict[str, Json]:
        label = value.get("name", value.get("key"))
        if isinstance(label, str) and isinstance(value.get("value"), str):
            # A name and its value side by side, as in lists of headers or environment variables.
            value = {**value, "value": self._named(value["value"], *self._finder.secrecy(label))}
        found: dict[str, Json] = {}
        for name, item in value.items():
            short = len(name) < _LONGEST_NAME
            text, level, kind = self._known_name(name) if short else self._name(name)
            while text in found:
                text = f"{text} 2"
            found[text] = self._named(item, level, kind, looks=looks)
        return found

    def _name(self, name: str) -> tuple[str, Secrecy, str]:
        """Return a key with its secrets masked, and what it announces about its value."""
        return self._text(name), *self._finder.secrecy(name)

    def _named(
        self, value: Json, level: Secrecy, kind: str, *, quoted: bool = True, looks: int = _LOOKS
    ) -> Json:
        """Mask the value that stands beside a name; of what kind of secret the finder says."""
        if level is Secrecy.NONE:
            return self._value(value, looks)
        if isinstance(value, list):
            return [self._named(item, level, kind, looks=looks) for item in value]
        if is_type_stub(value):
            return {**value, "$repr": self._named(value["$repr"], level, kind)}
        if isinstance(value, dict) or value is None or isinstance(value, bool):
            return self._value(value, looks)
        if not isinstance(value, str):
            digits = orjson.dumps(value)
            is_secret = level is Secrecy.STRONG and len(digits) >= _SHORTEST_NUMBER
            return self._mask(kind, digits) if is_secret else value
        masked = self._text(value)
        secret = value.encode()
        scheme = secret[: scheme_length(secret)]
        is_done = MASK.fullmatch(masked, len(scheme)) is not None
        if is_done or not is_named_secret(secret, level=level, kind=kind, quoted=quoted):
            return masked
        return scheme.decode() + self._mask(kind, secret[len(scheme) :])

    def _text(self, text: str) -> str:
        """Mask the secrets inside one string, until a further look finds none."""
        if len(text) < _SHORTEST and not self._extra:
            return text
        for _ in range(_ROUNDS):
            masked = self._shaped(text)
            for pattern in self._extra:
                masked = self._extra_masked(masked, pattern)
            if masked == text:
                return text
            text = masked
        return self._mask("error", text.encode())

    def _shaped(self, text: str) -> str:
        data = text.encode()
        if self._finder.is_clean(data):
            return text
        plain = _ASCII_ESCAPE.sub(_unescaped, text) if "\\u00" in text else text
        plain_data = plain.encode() if plain is not text else data
        spans = _unmasked(self._finder.find(plain_data), plain_data.decode("latin-1"))
        if not spans:
            return text
        return self._replaced(plain_data, spans).decode()

    def _replaced(self, data: bytes, spans: list[Span]) -> bytes:
        pieces: list[bytes] = []
        position = 0
        for start, end, kind, plain in spans:
            secret = data[start:end] if plain is None else plain
            pieces += data[position:start], self._mask(kind, secret).encode()
            position = end
        return b"".join([*pieces, data[position:]])

    def _extra_masked(self, text: str, pattern: ExtraPattern) -> str:
        if pattern.limit is not None and len(text) > pattern.limit:
            return text if MASK.fullmatch(text) else self._mask("unchecked", text.encode())
        spans = [Span(start, end, pattern.kind) for start, end in pattern.spans(text)]
        pieces: list[str] = []
        position = 0
        for start, end, kind, _ in _unmasked(merged(spans), text):
            pieces += text[position:start], self._mask(kind, text[start:end].encode())
            position = end
        return "".join([*pieces, text[position:]])


def _unmasked(spans: list[Span], text: str) -> list[Span]:
    """Leave out what lies inside a mask already: redacting twice is redacting once."""
    if not spans or "[MASKED:" not in text:
        return spans
    masks = [match.span() for match in MASK.finditer(text)]
    starts = [start for start, _ in masks]
    kept = []
    for span in spans:
        before = bisect.bisect_right(starts, span.start) - 1
        if before < 0 or span.end > masks[before][1]:
            kept.append(span)
    return kept


def _unescaped(match: re.Match[str]) -> str:
    character = chr(int(match.group(1), 16))
    return f"\\{character}" if character in '"\\' else character
