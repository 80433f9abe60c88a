"""A key, and every piece of it that would help to guess it, out of text that others wrote.

Endpoints quote keys in part: ``sk-abcd...wxyz``, "the key ending in wxyz9", the first eight
characters. What is masked is

* every run of six characters or more that the text shares with the key;
* the first or last four or five characters of the key beside an ellipsis or a row of stars, after
  words such as "ending in", or alone where they are no word and no number;
* the key written otherwise: backwards, in base64 (alone, or after whatever stood before it, such as
  ``user:`` or ``Bearer``), in hexadecimal; and long pieces of that.

Not masked are runs that ordinary text is made of: what all keys of a kind begin with
(``sk-proj-``), a word that a key is composed of, such as ``required`` in ``sk-no-key-required``,
unless it is most of the key, and up to seven digits in a row.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from tracedance_sdk.llm.endpoints import PROVIDERS
from tracedance_sdk.trace import Json

MASK: Final = "[key]"

_LEAST: Final = 6
"""Shortest key, and shortest run of one, that is masked wherever it stands."""

_LEAST_OF_BASE64: Final = 8
"""Characters of base64 that hold as many of the key as make a run."""

_URL_SAFE: Final = str.maketrans("+/", "-_")

_ENDS: Final = (5, 4)
"""Lengths of ends of a key that are masked where the text speaks of a key."""

_MOST_OF_IT: Final = 0.6
"""A word that makes up more than this of a key's letters and digits is its secret."""

_MOST_DIGITS: Final = 7
_LONGEST_WORD: Final = 12
_SCHEME: Final = re.compile(r"(?:[a-z]{2,5}[-_]){0,2}(?=.{6})")
"""What all keys of a kind begin with, such as ``sk-proj-``, which says nothing of this one."""

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_UNSPEAKABLE: Final = re.compile(r"[^aeiouy]{5}", re.IGNORECASE)
_CUT: Final = r"(?:\.{2,}?|…|\*{2,}?|•+?|[xX]{3,}?)"
_CUE: Final = r"(?i:\b(?:end|last|suffix|start|begin|first|prefix|four|4)\w*)\W+(?:\w+\W+){0,3}?"


def masked(text: str, secret: str | None) -> str:
    """Return text without a key and without its pieces.

    Args:
        text: By whomever.
        secret: The key; None, or one of fewer than six characters, masks nothing.

    Example:
        >>> masked("Incorrect key sk-q7Rt...Zk4x", "sk-q7RtPw81LmVbZk4x")
        'Incorrect key [key]...[key]'
    """
    if secret is None or len(secret) < _LEAST:
        return text
    spans = _mask_of(secret).spans(text)
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], MASK]
        end = stop
    return "".join([*parts, text[end:]]) if spans else text


def masked_value(value: Json, secret: str | None) -> Json:
    """Return a JSON value with the key masked in all its texts; numbers stay."""
    if isinstance(value, str):
        return masked(value, secret)
    if isinstance(value, list):
        return [masked_value(item, secret) for item in value]
    if isinstance(value, dict):
        return {masked(key, secret): masked_value(item, secret) for key, item in value.items()}
    return value


def masked_by_all(text: str) -> str:
    """Return text without any key that is set for a provider of this library."""
    for variable in sorted({provider.key for provider in PROVIDERS.values()}):
        text = masked(text, os.environ.get(variable, "").strip() or None)
    return text


class _Mask:
    """What of one key is looked for."""

    def __init__(self, secret: str) -> None:
        self._runs = sorted({secret[at : at + _LEAST] for at in range(len(secret) - _LEAST + 1)})
        self._words = {part for part in re.split(r"[^A-Za-z]+", secret) if _is_word(part, secret)}
        scheme = _SCHEME.match(secret)
        self._scheme = scheme[0] if scheme else ""
        wholes = (secret, secret.removeprefix(self._scheme))
        first = {whole[:n] for whole in wholes for n in _ENDS} - {self._scheme[:n] for n in _ENDS}
        last = {secret[-n:] for n in _ENDS}
        self._ends = sorted(first | last, key=len, reverse=True)
        either, firsts, lasts = _any_of(first | last), _any_of(first), _any_of(last)
        # Each pattern's last group is what is masked.
        self._patterns = [
            re.compile(rf"(?<![A-Za-z0-9])({firsts})(?=\s?{_CUT})"),
            re.compile(rf"{_CUT}\s?({lasts})(?![A-Za-z0-9])"),
            re.compile(rf"{_CUE}({either})(?![A-Za-z0-9])"),
        ]
        self._alone = re.compile(rf"(?<![A-Za-z0-9])({either})(?![A-Za-z0-9])")
        self._written = [
            (form, form[at : at + least], at)
            for form, least in _written_otherwise(secret)
            for at in range(0, len(form) - least + 1, least)
        ]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return what is masked in a text, from left to right, without overlaps."""
        runs = [span for span in _joined(self._covered(text)) if not self._is_ordinary(text, span)]
        return _joined([*runs, *self._hints(text), *self._otherwise(text)])

    def _covered(self, text: str) -> Iterator[tuple[int, int]]:
        for run in self._runs:
            at = text.find(run)
            while at >= 0:
                yield at, at + _LEAST
                at = text.find(run, at + 1)

    def _otherwise(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield what a text shares with the key written otherwise, each as far as it goes."""
        for form, piece, place in self._written:
            at = text.find(piece)
            while at >= 0:
                start, stop, first, last = at, at + len(piece), place, place + len(piece)
                while start and first and text[start - 1] == form[first - 1]:
                    start, first = start - 1, first - 1
                while stop < len(text) and last < len(form) and text[stop] == form[last]:
                    stop, last = stop + 1, last + 1
                yield start, stop
                at = text.find(piece, stop)

    def _is_ordinary(self, text: str, span: tuple[int, int]) -> bool:
        run = text[slice(*span)]
        word = run.strip("-_./ ")
        is_number = word.isdigit() and len(word) <= _MOST_DIGITS
        return is_number or word in self._words or run in self._scheme

    def _hints(self, text: str) -> Iterator[tuple[int, int]]:
        if not any(end in text for end in self._ends):
            return
        for pattern in self._patterns:
            for found in pattern.finditer(text):
                yield found.span(1)
        for found in self._alone.finditer(text):
            if not found[1].isdigit() and not _WORD.fullmatch(found[1]):
                yield found.span(1)


def _written_otherwise(secret: str) -> Iterator[tuple[str, int]]:
    """Yield other spellings of a key, each with the length of a piece that gives it away."""
    data = secret.encode("utf-8", "surrogatepass")
    yield secret[::-1], _LEAST
    yield data.hex(), 2 * _LEAST
    yield data.hex().upper(), 2 * _LEAST
    for before in range(3):
        # What comes before shifts the key, and shares a character with it; what follows does too.
        coded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        own = coded[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        for form in dict.fromkeys((own, own.translate(_URL_SAFE))):
            yield form, _LEAST_OF_BASE64


@lru_cache(maxsize=16)
def _mask_of(secret: str) -> _Mask:
    return _Mask(secret)


def _is_word(part: str, secret: str) -> bool:
    """Whether a part of a key, between its separators and digits, reads as a word."""
    whole = sum(map(str.isalnum, secret))
    return (
        len(part) <= min(_LONGEST_WORD, _MOST_OF_IT * whole)
        and re.search(rf"(?<![A-Za-z0-9]){part}(?![A-Za-z0-9])", secret) is not None
        and _WORD.fullmatch(part) is not None
        and _UNSPEAKABLE.search(part) is None
    )


def _any_of(texts: set[str]) -> str:
    ordered = sorted(texts, key=lambda text: (-len(text), text))
    return "|".join(map(re.escape, ordered)) or r"(?!)"


def _joined(spans: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined
