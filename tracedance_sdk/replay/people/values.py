"""Values in what people say: ids, money, dates, times, numbers, addresses, codes, names.

Two mentions are of one value when they share a form: ``$1,200`` and ``1.2k dollars``, ``May 20th``
and ``2024-05-20`` (the year comes from the conversation), ``1 PM`` and ``13:00``, ``ZFA04Y`` and
``Z F A 0 4 Y``, a card's number and its last four digits. Weekdays and words such as tomorrow are
left alone: what they mean depends on when they are said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.replay.people.finders import FINDERS, Finder, Forms, ValueKind
from tracedance_sdk.replay.people.proper_names import names_in
from tracedance_sdk.replay.people.spellings import plain_text

NUMERIC: Final[frozenset[ValueKind]] = frozenset({"money", "number"})
"""Kinds that are nothing but a number: two of them may agree by chance."""

_SHOUTED: Final = re.compile(r"[A-Z](?<!\w[A-Z])[A-Z]{1,19}(?:['!,]? [A-Z]{1,20}\b){2,60}")
_WORD: Final = re.compile("[a-z]+")


class Mention(NamedTuple):
    """A value as it stands in a text.

    Attributes:
        kind: What sort of value it looks like.
        text: As it stands there.
        normal: The form that reports show.
        start: Offset of the first character.
        forms: All that the value may be written as; mentions of one value share one.
    """

    kind: ValueKind
    text: str
    normal: str
    start: int
    forms: frozenset[str]

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.start + len(self.text)

    @property
    def tells_little(self) -> bool:
        """Whether the value is too common to say anything: a single digit."""
        return self.kind == "number" and len(self.normal) == 1


def mentions(
    text: str, *, year: int | None = None, common: frozenset[str] = frozenset()
) -> list[Mention]:
    """Return the values in a text, in order; of those that overlap, the more telling kind.

    The time it takes grows with the length of the text, whatever the text is.

    Args:
        text: What was said.
        year: Of dates that name none; the following year may be meant as well.
        common: Words in lower case that are neither names nor codes.

    Example:
        >>> text = "Change ZFA04Y to May 20th, 1pm, for two hundred dollars."
        >>> [(m.kind, m.normal) for m in mentions(text, year=2024)]
        [('id', 'zfa04y'), ('date', '2024-05-20'), ('time', '13:00'), ('money', '200')]
    """
    plain = plain_text(text)
    found: list[Mention] = []
    for kind, start, end, forms in _values(plain.text, year, common):
        begin, stop = plain.place(start), plain.place(end - 1) + 1
        found.append(Mention(kind, text[begin:stop], forms[0], begin, frozenset(forms)))
    return sorted(found, key=lambda mention: mention.start)


def _values(
    text: str, year: int | None, common: frozenset[str]
) -> Iterator[tuple[ValueKind, int, int, Forms]]:
    left = text
    for finder in _that_may_find(text):
        if finder.kind == "code":
            left = _SHOUTED.sub(lambda match: "\0" * len(match[0]), left)
        spans: list[tuple[int, int]] = []
        for match in finder.pattern.finditer(left):
            start, end = match.span()
            for several in finder.forms_of(match, year):
                forms = [form for form in several if form]
                if forms and not (finder.kind == "code" and forms[0] in common):
                    yield finder.kind, start, end, forms
                    spans.append((start, end))
        left = _blanked(left, spans)
    for start, end in names_in(left, common):
        yield "name", start, end, [" ".join(left[start:end].casefold().split())]


def _that_may_find(text: str) -> Iterator[Finder]:
    """Yield the finders that have in the text what they need, in order."""
    words = frozenset(_WORD.findall(text.lower()))
    present = frozenset(text)
    for finder in FINDERS:
        is_there = not finder.characters or not present.isdisjoint(finder.characters)
        if is_there and not (finder.words and finder.words.isdisjoint(words)):
            yield finder


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text in which nothing more is found at these places."""
    parts, place = [], 0
    for start, end in spans:
        if start >= place:
            parts += [text[place:start], "\0" * (end - start)]
            place = end
    return "".join([*parts, text[place:]]) if parts else text
