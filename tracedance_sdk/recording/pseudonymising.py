"""Replace personal text in JSON by pseudonyms: e-mail addresses, home folders, listed names.

Equal people have equal pseudonyms under one key, whatever the case, and a text keeps its shape:
``ann@corp.com`` becomes ``user-3f2a9c1d0b@example.invalid``, ``/home/ann/x`` becomes
``/home/user-7c41d09e2a/x``. What is masked already stays as it is.
"""

from __future__ import annotations

import hmac
import logging
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import orjson
import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.given_pseudonyms import GivenPseudonyms
from tracedance_sdk.recording.home_folders import home_owners
from tracedance_sdk.recording.hosts import is_meant_for_host
from tracedance_sdk.recording.personal_names import NameFinder, name_key
from tracedance_sdk.trace import MASK, MAX_TRACE_DEPTH, Json, mask_text, parse_json

_LOG: Final = logging.getLogger(__name__)
_HEX: Final = 10
_DOMAIN: Final = "example.invalid"

_EMAIL: Final = re2.compile(
    r"[\pL\pN_][\pL\pN_.%+'\-]*(?:@|%40|\\+u0040)(?:[\pL\pN][\pL\pN\-]*\.)+\pL[\pL\-]*"
)
_HINTS: Final = re.compile(rb"@|%40|u0040|home|users", re.IGNORECASE)
_CLOSED: Final = re.compile(
    rf"user-[0-9][0-9a-f]{{9}}|{MASK.pattern}|(?i:[0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}})"
)
"""Pseudonyms, masks and UUIDs stay as they are."""

_ESCAPE: Final = re.compile(r"(?<!\\)\\+u([0-9a-fA-F]{4})")
_ESCAPED_LETTER: Final = re.compile(r"[nrtbf]|u[0-9a-fA-F]{4}")
_NOBODY: Final = frozenset(
    ("shared", "public", "default", "all users", "default user", "linuxbrew", "git", "..", ".")
)


class _Found(NamedTuple):
    start: int
    end: int
    kind: str
    written: str


class Pseudonymiser:
    """Replaces e-mail addresses, the owners of home folders, and the names of a list.

    Args:
        key: Key of the pseudonyms; see `redaction_key`.
        people: For each person all spellings of the name; see `read_names`. An e-mail address
            or the name of a home folder among them makes one person of all.
        folder: Where the pseudonyms that were given are kept, beside the key. Then an address or a
            home folder keeps its pseudonym whatever lists come later, and names learned later
            join it. None: as long as this object lives.

    Attributes:
        counts: What was replaced so far: ``email``, ``home`` and ``name`` → how often.

    Raises:
        InvalidOption: An empty key, or a name that cannot be looked for.
        JournalError: What is kept in the folder cannot be used.

    Example:
        >>> work = Pseudonymiser(key=b"k" * 32, people=[["Ann Lee", "ann@corp.com"]])
        >>> print(work.redact(b'["Ann Lee","ANN@corp.com","cd /home/ann"]').decode())
        ["user-4d1a9bba69","user-4d1a9bba69@example.invalid","cd /home/user-5227a199d5"]
    """

    protects = ("people",)

    def __init__(
        self,
        *,
        key: bytes,
        people: Iterable[Iterable[str]] = (),
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if not key:
            raise InvalidOption("the key of the pseudonyms is empty")
        self._key = key
        self._names = NameFinder(people)
        self._given = GivenPseudonyms(key, folder)
        self._known: dict[str, str] = {}
        self._failures = 0
        self.counts: Counter[str] = Counter()
        self._introduce()

    def _introduce(self) -> None:
        """Give each listed person one pseudonym: one that a spelling has already, if any has."""
        new: dict[str, str] = {}
        for spellings in self._names.people():
            given = (digits for name in spellings if (digits := self._given.get(name)))
            digits = next(given, None) or self._digits(spellings[0])
            new.update((name, digits) for name in spellings if name not in new)
        self._given.give(new)

    def redact(self, data: bytes) -> bytes:
        """Return the JSON text without personal text; the very same bytes when it holds none.

        JSON that cannot be read is masked whole.
        """
        if not self._names and _HINTS.search(data) is None:
            return data
        try:
            value = parse_json(data, where="value", max_depth=MAX_TRACE_DEPTH)
            before = self.counts.total()
            written = self._value(value)
            return orjson.dumps(written) if self.counts.total() > before else data
        except BaseException as error:
            if is_meant_for_host(error):
                raise
            self._count(error)
            return orjson.dumps(mask_text("error", self._digits("error")))

    def _count(self, error: BaseException) -> None:
        self._failures += 1
        if self._failures == 1:
            # The error's own text may quote the value.
            _LOG.warning(
                "pseudonyms failed (%s); the value is masked whole, as is every other that fails",
                type(error).__name__,
            )

    def pseudonym(self, person: str) -> str:
        """Return the pseudonym of a name, an address or a user's name, in any case."""
        key = name_key(person)
        found = self._known.get(key)
        if found is None:
            if len(self._known) > 50_000:
                self._known.clear()
            if self._given.get(key) is None:
                self._given.give({key: self._digits(key)})
            found = self._known[key] = f"user-{self._given.get(key)}"
        return found

    def _digits(self, text: str) -> str:
        """Return hex that starts with a digit: no name can be read into it."""
        found = hmac.digest(self._key, b"person\0" + text.encode(), "sha256").hex()
        return f"{int(found[0], 16) % 10}{found[1:_HEX]}"

    def _value(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            written: dict[str, Json] = {}
            for name, item in value.items():
                key = self._text(name)
                while key in written:
                    key = f"{key} 2"
                written[key] = self._value(item)
            return written
        return value

    def _text(self, text: str) -> str:
        plain = _plain(text)
        found = self._spans(plain)
        if not found:
            return text
        pieces: list[str] = []
        place = 0
        for start, end, kind, written in found:
            self.counts[kind] += 1
            pieces += plain[place:start], written
            place = end
        return "".join([*pieces, plain[place:]])

    def _spans(self, text: str) -> list[_Found]:
        found = [*self._emails(text), *self._homes(text)]
        found += [
            _Found(span.start, span.end, "name", self.pseudonym(span.name))
            for span in self._names.find(text)
        ]
        if not found:
            return []
        found.sort(key=lambda span: (span.start, -span.end))
        closed = [match.span() for match in _CLOSED.finditer(text)]
        return list(_apart(found, closed))

    def _emails(self, text: str) -> Iterator[_Found]:
        for match in _finditer(_EMAIL, text, "@", "%40", "u0040"):
            start, end = _behind_escape(text, match.start()), match.end()
            address = text[start:end]
            sign = next(item for item in ("@", "%40", "\\") if item in address)
            local, _, domain = address.partition(sign)
            domain = domain.removeprefix("\\").lstrip("\\").removeprefix("u0040")
            if not local or local.casefold() in _NOBODY:
                continue
            whose = self.pseudonym(f"{local}@{domain}")
            middle = address[len(local) : len(address) - len(domain)]
            yield _Found(start, end, "email", f"{whose}{middle}{_DOMAIN}")

    def _homes(self, text: str) -> Iterator[_Found]:
        for start, end in home_owners(text):
            yield from self._home(text, start, end)

    def _home(self, text: str, start: int, end: int) -> Iterator[_Found]:
        end = start + len(text[start:end].rstrip(".'!"))
        name = text[start:end]
        if name and name.casefold() not in _NOBODY and not name.startswith(("$", "%", "<", "{")):
            yield _Found(start, end, "home", self.pseudonym(name))


def _plain(text: str) -> str:
    """Return a text whose letters are themselves: neither escaped in it nor composed of parts."""
    if "\\u" in text:
        text = _ESCAPE.sub(_letter, text)
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _letter(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    is_letter = number >= 0x80 and not 0xD800 <= number < 0xE000 and chr(number).isalnum()
    return chr(number) if is_letter else match[0]


def _behind_escape(text: str, start: int) -> int:
    """Return a start that leaves the escape of a line break before it whole."""
    if start == 0 or text[start - 1] != "\\":
        return start
    escaped = _ESCAPED_LETTER.match(text, start)
    return start if escaped is None else escaped.end()


def _finditer(pattern: Any, text: str, *hints: str) -> Iterable[Any]:
    folded = text.lower()
    return pattern.finditer(text) if any(hint in folded for hint in hints) else ()


def _apart(found: list[_Found], closed: list[tuple[int, int]]) -> Iterator[_Found]:
    """Yield the spans that overlap neither one before nor what is closed; both are sorted."""
    free_from, at = 0, 0
    for span in found:
        while at < len(closed) and closed[at][1] <= span.start:
            at += 1
        is_closed = at < len(closed) and closed[at][0] < span.end
        if span.start >= free_from and span.start < span.end and not is_closed:
            free_from = span.end
            yield span
