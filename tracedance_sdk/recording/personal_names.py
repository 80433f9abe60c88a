"""Find the names of a list in a text, however they are spelled there, in time linear in it.

A name is looked for as words: runs of letters, behind which digits may stand. Between the words
of one name may stand up to three characters such as spaces, dots and underscores, or none, so
that ``Ann Lee`` is found in ``ann.lee``, ``ANN_LEE2`` and ``AnnLee``. Scripts without spaces
between words are searched without regard to what stands beside a name.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.trace import read_bytes

MOST_NAMES: Final = 100_000
_MOST_LIST_BYTES: Final = 16 * 1024**2
_LONGEST_NAME: Final = 200
_MOST_WORDS: Final = 8

# Scripts that write no spaces between words, or add endings to names without one.
_DENSE_RANGES: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af"
_DENSE: Final = re.compile(f"[{_DENSE_RANGES}]")
_RUN: Final = re.compile(rf"[^\W_{_DENSE_RANGES}]+")
_LETTERS: Final = re.compile(rf"[^\W\d_{_DENSE_RANGES}]+")
_GAP: Final = re.compile(r"(?:[\s._+\-]|%20|\\+[nrt]){0,3}")
_BETWEEN: Final = re.compile(r"[\s._+\-]+")
_ESCAPED_LETTER: Final = re.compile(r"[nrtbf]|u[0-9a-fA-F]{4}")
_TRACE_WORDS: Final = """
agent ask audio document edit environment grading harness human id image inferred key known masked
media name next order other plan pure read reading reasoning recorded role search send shell source
subagent synthetic system terminal text tool trace tracedance type unknown user video write
"""
"""A record without one of these would be no trace any more."""

_RESERVED: Final = frozenset([*_TRACE_WORDS.split(), "example", "invalid"])


class NameSpan(NamedTuple):
    """Where a name stands, and its key; see `name_key`."""

    start: int
    end: int
    name: str


class NameFinder:
    """Finds the names of a list.

    Args:
        people: For each person all spellings, in any order.

    Raises:
        InvalidOption: A name without letters, too long, or a word that traces need.
    """

    def __init__(self, people: Iterable[Iterable[str]]) -> None:
        self._by_word: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._dense: dict[str, str] = {}
        self._people: dict[str, str] = {}
        for spellings in people:
            names = [_checked(name) for name in spellings if name.strip()]
            person = min(map(name_key, names), key=_rank, default="")
            for name in names:
                self._learn(name, person)
        for known in self._by_word.values():
            known.sort(key=lambda item: -len(item[0]))
        found = sorted(self._dense, key=len, reverse=True)
        self._dense_pattern = re.compile("|".join(map(re.escape, found))) if found else None

    def __bool__(self) -> bool:
        return bool(self._people)

    def people(self) -> list[list[str]]:
        """Return for each person the keys of all spellings, the one they all go by first."""
        found: dict[str, list[str]] = {}
        for key, person in self._people.items():
            found.setdefault(person, []).append(key)
        return [sorted(keys, key=_rank) for keys in found.values()]

    def find(self, text: str) -> list[NameSpan]:
        """Return the names in a text that is NFC, in order, apart from each other."""
        found = list(self._words(text)) if self._by_word else []
        if self._dense_pattern is not None:
            found += [
                NameSpan(*match.span(), self._dense[match[0]])
                for match in self._dense_pattern.finditer(text)
            ]
        found.sort()
        apart: list[NameSpan] = []
        for span in found:
            if not apart or span.start >= apart[-1].end:
                apart.append(span)
        return apart

    def _learn(self, name: str, person: str) -> None:
        self._people.setdefault(name_key(name), person)
        if "@" in name:
            return
        if _DENSE.search(name):
            self._dense.setdefault(name, name_key(name))
            return
        words = tuple(word.casefold() for word in _LETTERS.findall(name))
        if len(words) > _MOST_WORDS:
            raise InvalidOption(f"the name {shown(name)} has more than {_MOST_WORDS} words")
        for spelling in {words, ("".join(words),)}:
            known = self._by_word.setdefault(spelling[0], [])
            if all(other != spelling for other, _ in known):
                known.append((spelling, name_key(name)))

    def _words(self, text: str) -> Iterator[NameSpan]:
        free_from = 0
        for run in _RUN.finditer(text):
            if run.end() <= free_from:
                continue
            escaped = _behind_escape(text, run.start())
            span = self._at(text, escaped, run.end())
            if span is None and escaped > run.start():
                # It may be no escape: a name of which the first letter, kept, makes one.
                whole = self._at(text, run.start(), run.end())
                span = None if whole is None else whole._replace(start=run.start() + 1)
            if span is not None:
                free_from = span.end
                yield span

    def _at(self, text: str, start: int, end: int) -> NameSpan | None:
        """Return the longest name that starts here, in a run of letters and digits."""
        word = _LETTERS.match(text, start, end)
        if word is None:
            return None
        for words, name in self._by_word.get(word[0].casefold(), ()):
            stop = _end_of(text, word.end(), words[1:])
            if stop is not None and _ends_there(text, stop):
                return NameSpan(start, stop, name)
        return None


def _behind_escape(text: str, start: int) -> int:
    """Return where a word may start: behind the escape of a line break of a text in a text."""
    if start == 0 or text[start - 1] != "\\":
        return start
    escaped = _ESCAPED_LETTER.match(text, start)
    return start if escaped is None else escaped.end()


def _end_of(text: str, place: int, words: tuple[str, ...]) -> int | None:
    for word in words:
        gap = _GAP.match(text, place)
        found = _LETTERS.match(text, place if gap is None else gap.end())
        if found is None or found[0].casefold() != word:
            return None
        place = found.end()
    return place


def _ends_there(text: str, place: int) -> bool:
    """Whether behind a name come at most digits before its run ends."""
    while place < len(text) and text[place].isdigit():
        place += 1
    return place == len(text) or not text[place].isalnum() or _DENSE.match(text, place) is not None


def read_names(path: str | os.PathLike[str]) -> list[list[str]]:
    """Read a list of people: one a line, further spellings after commas, ``#`` for remarks.

    Returns:
        For each person all spellings.

    Raises:
        InvalidOption: No UTF-8 text, or more than `MOST_NAMES` lines.
        UnreadableFile: The file cannot be read.
    """
    try:
        lines = read_bytes(path, limit=_MOST_LIST_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidOption(f"{os.fspath(path)}: not UTF-8 at byte {error.start}") from error
    if len(lines) > MOST_NAMES:
        raise InvalidOption(f"{os.fspath(path)}: more than {MOST_NAMES:,} lines")
    people: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        spellings = [part.strip() for part in line.partition("#")[0].split(",")]
        spellings = [part for part in spellings if part]
        try:
            spellings = [_checked(part) for part in spellings]
        except InvalidOption as error:
            raise InvalidOption(f"{os.fspath(path)}:{number}: {error}") from error
        if spellings:
            people.append(spellings)
    return people


def _checked(name: str) -> str:
    name = unicodedata.normalize("NFC", name.strip())
    if len(name) > _LONGEST_NAME:
        raise InvalidOption(f"the name {shown(name)} has more than {_LONGEST_NAME} characters")
    if "@" in name:
        return name
    letters = _LETTERS.findall(name)
    if sum(map(len, letters)) < 2 and _DENSE.search(name) is None:
        raise InvalidOption(f"the name {shown(name)} has fewer than two letters")
    if len(letters) == 1 and letters[0].casefold() in _RESERVED:
        raise InvalidOption(
            f"the name {shown(name)} is a word that traces need; give first and last name together"
        )
    return name


def _rank(key: str) -> tuple[bool, bool, str]:
    """Order spellings: addresses, then accounts, then names of several words."""
    return "@" not in key, any(map(str.isspace, key)), key


def name_key(name: str) -> str:
    """Return what equal spellings have in common.

    Letter case, composition, and what stands between the words of a name do not count.
    """
    key = unicodedata.normalize("NFC", name).casefold()
    return key if "@" in key else _BETWEEN.sub(" ", key).strip() or key
