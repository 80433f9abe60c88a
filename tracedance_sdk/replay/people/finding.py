"""Where a value stands in a text, however it is spelled there, and the text without it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Protocol

from tracedance_sdk.replay.people.finders import ValueKind
from tracedance_sdk.replay.people.sentences import (
    clauses_of,
    content_words,
    joined_clauses,
    sentences_of,
)
from tracedance_sdk.replay.people.spellings import plain_text, squeezed
from tracedance_sdk.replay.people.values import mentions

WORDY: Final[frozenset[ValueKind]] = frozenset({"id", "code", "name", "email", "offer"})
"""Kinds that are letters: they are recognised in a spelling that does not look like a value."""

_LONGEST_SPELLING: Final = 100


class Value(Protocol):
    """A value that may be looked for: a mention, or what was decided on one."""

    @property
    def kind(self) -> ValueKind:
        """What sort of value it is."""

    @property
    def normal(self) -> str:
        """The form that reports show."""

    @property
    def forms(self) -> frozenset[str]:
        """All that it may be written as."""


class ValueFinder:
    """Finds some values in texts, in any spelling that the values have in common with them.

    Args:
        values: To be found.
        year: Of dates that name none.
        common: Words in lower case that are neither names nor codes.

    Example:
        >>> finder = ValueFinder(mentions("I offer $200 for ZFA04Y."))
        >>> [finder.is_in(text) for text in ("two hundred dollars", "Z-F-A-0-4-Y", "$20")]
        [True, True, False]
        >>> finder.masked("Please cancel it, and send the 200 USD. Thanks a lot.")
        'Please cancel it. Thanks a lot.'
    """

    def __init__(
        self,
        values: Iterable[Value],
        *,
        year: int | None = None,
        common: frozenset[str] = frozenset(),
    ) -> None:
        found = list(values)
        self._year, self._common = year, common
        self._forms = frozenset(form for value in found for form in value.forms)
        self._wordy = [(squeezed(v.normal), v) for v in found if v.kind in WORDY]

    def is_in(self, text: str) -> bool:
        """Whether any of the values occurs in a text."""
        if not self._forms or not text:
            return False
        plain = plain_text(text).text.casefold()
        short = squeezed(plain)
        if any(w in short and spelled_in(value, plain) is not None for w, value in self._wordy):
            return True
        said = mentions(text, year=self._year, common=self._common)
        return any(not self._forms.isdisjoint(mention.forms) for mention in said)

    def masked(self, text: str) -> str:
        """Return a text without the clauses that hold one of the values.

        A sentence of which hardly anything would be left is left out. Other sentences are as they
        were, and one that runs over the end of a line is looked at as a whole.
        """
        return " ".join(filter(None, map(self.masked_sentence, sentences_of(text))))

    def masked_sentence(self, sentence: str) -> str:
        """Return a sentence without those clauses; empty where too little is left."""
        if not self.is_in(sentence):
            return sentence
        left = joined_clauses([part for part in clauses_of(sentence) if not self.is_in(part)])
        return "" if not content_words(left) or self.is_in(left) else left


def spelled_in(value: Value, text: str) -> str | None:
    """Return a wordy value as a plain, case-folded text spells it; None where it does not."""
    match = _spelling(value).search(text)
    return None if match is None else match[0]


def _spelling(value: Value) -> re.Pattern[str]:
    """Return a pattern of a value's letters and digits with hardly anything between them."""
    if value.kind == "offer":
        return re.compile(rf"(?<![a-z]){re.escape(value.normal).replace(chr(92) + ' ', '[ -]+')}")
    if value.kind == "name":
        between, parts = r"[\W_]{1,3}", value.normal.split()
    else:
        between, parts = "[ _.#@+-]{0,2}", list(squeezed(value.normal)[:_LONGEST_SPELLING])
    if value.kind == "code":
        between = ""
    return re.compile(rf"(?<![^\W_]){between.join(map(re.escape, parts))}(?![^\W_])")
