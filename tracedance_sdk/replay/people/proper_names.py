"""Names of people and places: words with a capital that are never written small."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from tracedance_sdk.replay.people.spellings import listed

_CAPITAL: Final = re.compile(r"[A-Z](?<![\w'-][A-Z])[^\W\d_]*(?:['-][^\W\d_]+){0,4}(?![\w@])")
_SMALL_WORD: Final = re.compile(r"[a-z](?<![\w'@.-][a-z])[a-z]{1,40}(?![\w@-]|\.\w)")
_BEGINS: Final = re.compile(r"(?:^|[.!?\n\"\u201c])[\s\"'(\[*_#>-]*(?:\d{1,3}[.)]\s*)?[\"'(\[*_]*$")
_LOOK_BACK: Final = 24
_MOST_WORDS: Final = 4
_NO_NAMES: Final = frozenset(
    listed(
        "a actually ah all also alright although am and another any anything are as at absolutely "
        "basic because before best both but by bye can certainly class could dear did do does "
        "each either else even excellent exactly fine first for from given glad go good goodbye "
        "got great hello here hey hi his her hers how however i i'd i'll i'm i've id if in indeed "
        "is it it's its just last let let's lovely may me maybe meanwhile mr mrs ms my no none "
        "not nothing now of oh ok okay on once one only or our perfect perhaps please regarding "
        "regards right second since so some sorry still sure thank thanks that that's the their "
        "then there these they this those though to today tomorrow understood until user very "
        "wait was we well were what when where which while who why will wonderful would yeah yes "
        "yesterday yet you your dr sir madam english "
        "monday tuesday wednesday thursday friday saturday sunday january february march april "
        "june july august september october november december mon tue wed thu fri sat sun jan "
        "feb mar apr jun jul aug sep sept oct nov dec"
    )
)

_FIRST_PARTS: Final = frozenset(
    listed("new san santa los las fort saint st north south east west el la port lake mount")
)
"""Words that begin names of places, though they are written small elsewhere."""


def names_in(text: str, common: frozenset[str] = frozenset()) -> Iterator[tuple[int, int]]:
    """Yield where names stand in a plain text: one to four words with capitals.

    One word alone is a name when it does not begin a sentence, or is all there is.

    Args:
        text: In plain characters.
        common: Words in lower case that are none; by default those of the text.

    Example:
        >>> text = "Thanks! Please add Noah Muller, from Boston. Book it."
        >>> [text[start:end] for start, end in names_in(text)]
        ['Noah Muller', 'Boston']
    """
    small = common or common_words([text])
    run: list[re.Match[str]] = []
    for word in _CAPITAL.finditer(text):
        if run and (len(run) == _MOST_WORDS or text[run[-1].end() : word.start()] != " "):
            yield from _name(text, run)
            run = []
        if _may_be_part(word[0], small):
            run.append(word)
        elif run:
            yield from _name(text, run)
            run = []
    yield from _name(text, run)


def common_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that some texts write in lower case."""
    return frozenset().union(*map(_small_words, texts))


@lru_cache(maxsize=64)
def _small_words(text: str) -> frozenset[str]:
    """Kept for the texts that many conversations have in common, such as a system prompt."""
    return frozenset(_SMALL_WORD.findall(text))


def _may_be_part(word: str, small: frozenset[str]) -> bool:
    if len(word) > 1 and not word[1].islower():
        return False
    low = word.casefold()
    if low in _FIRST_PARTS:
        return True
    return low not in _NO_NAMES and low not in small and low.removesuffix("'s") not in small


def _name(text: str, run: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    while run and run[-1][0].casefold() in _FIRST_PARTS:
        run = run[:-1]
    if not run:
        return
    start, end = run[0].start(), run[-1].end()
    if text[start:end].endswith("'s"):
        end -= 2
    if len(run) == 1:
        is_all = not text[max(0, start - 8) : start].strip() and not text[end : end + 8].strip(
            " .!"
        )
        before = text[max(0, start - _LOOK_BACK) : start]
        if end - start < 3 or (not is_all and _BEGINS.search(before)):
            return
    yield start, end
