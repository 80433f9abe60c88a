"""One spelling for amounts, dates, times and digits, however they were written or said."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple


def listed(words: str) -> list[str]:
    """Return the words of a text that lists them."""
    return words.split()


UNITS: Final = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
TENS: Final = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS: Final = listed(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_MONTHS: Final = listed(
    "january february march april may june july august september october november december"
)
MONTH_WORDS: Final = {
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_SMALL: Final = {
    **{word: number for number, word in enumerate(UNITS)},
    **{word: 20 + 10 * number for number, word in enumerate(TENS)},
}
NUMBER_WORDS: Final = frozenset({*_SMALL, *_SCALES, "dozen"})
TELLING_NUMBER_WORDS: Final = NUMBER_WORDS - frozenset(UNITS[:10])
"""Those that make a number of more than one digit."""
SUFFIXES: Final = {"k": 1_000, "m": 1_000_000, **_SCALES}
"""What an amount may be multiplied by: ``1.2k``, ``2 thousand``."""

_SAME: Final = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\u2043"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015"), " - "),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc\uff07"), "'"),
}
_MOST_DIGITS: Final = 30


class Plain(NamedTuple):
    """A text in plain characters, with where each of them stood.

    Attributes:
        text: Without accents, invisible characters and typographic variants.
        places: Offsets in the original text, one for each character; None where the texts are the
            same.
    """

    text: str
    places: Sequence[int] | None

    def place(self, offset: int) -> int:
        """Return the offset in the original text."""
        return offset if self.places is None else self.places[offset]


def plain_text(text: str) -> Plain:
    """Return a text in plain characters.

    Example:
        >>> plain_text("José paid 20 €").text
        'Jose paid 20 €'
    """
    if text.isascii():
        return Plain(text, None)
    found: list[str] = []
    places: list[int] = []
    for place, original in enumerate(text):
        for character in _plain_characters(original):
            found.append(character)
            places.append(place)
    return Plain("".join(found), places)


def _plain_characters(original: str) -> str:
    if original.isascii():
        return original
    same = _SAME.get(ord(original))
    if same is not None:
        return same
    if unicodedata.category(original) == "Cf":
        return ""
    parts = unicodedata.normalize("NFKD", original)
    kept = (part for part in parts if not unicodedata.combining(part))
    return "".join(str(unicodedata.decimal(part, part)) for part in kept)


def plain_number(text: str, *, decimal_comma: bool = False) -> str:
    """Return the number in a text without currency, separators and needless zeros.

    Args:
        text: Digits with anything around them.
        decimal_comma: Whether ``1.200,50`` is meant, not ``1,200.50``.

    Returns:
        Empty where the text holds no number, or several.
    """
    if decimal_comma:
        text = text.replace(".", "").replace(",", ".")
    digits = re.sub(r"[^0-9.]", "", text).strip(".")
    if not digits or digits.count(".") > 1:
        return ""
    whole, _, part = digits.partition(".")
    part = part.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{'.' if part else ''}{part}"


def multiplied(number: str, suffix: str) -> str:
    """Return a plain number times what its suffix says.

    Example:
        >>> multiplied("1.2", "k"), multiplied("2", "hundred"), multiplied("7", "")
        ('1200', '200', '7')
    """
    zeros = len(str(SUFFIXES.get(suffix.casefold(), 1))) - 1
    if not zeros or len(number) > _MOST_DIGITS:
        return number
    whole, _, part = number.partition(".")
    moved = part[:zeros].ljust(zeros, "0")
    return plain_number(f"{whole}{moved}.{part[zeros:]}")


def spoken_number(text: str) -> str:
    """Return the number that words say; empty where they say none, or several.

    Example:
        >>> [spoken_number(t) for t in ("two hundred and fifty", "A dozen", "one two", "1")]
        ['250', '12', '', '']
    """
    words = [word for word in re.split(r"[\s-]+", text.casefold().strip()) if word != "and"]
    if words[:1] == ["a"] and len(words) > 1:
        words[0] = "one"
    if not words or any(word not in NUMBER_WORDS for word in words):
        return ""
    if "dozen" in words:
        head = spoken_number(" ".join(words[:-1])) if words[:-1] else "1"
        return str(12 * int(head)) if words[-1] == "dozen" and head else ""
    return _composed(words)


def _composed(words: list[str]) -> str:
    """Return the number of words such as two, hundred, fifty; empty where they do not fit."""
    total = current = 0
    smallest_scale, below = 1_000_000_000, 100
    for word in words:
        scale = _SCALES.get(word)
        if scale is None:
            value = _SMALL[word]
            if value >= below or (value == 0 and len(words) > 1):
                return ""
            current, below = current + value, 10 if value >= 20 else 1
        elif scale == 100:
            if current >= 100:
                return ""
            current, below = (current or 1) * 100, 100
        else:
            if scale >= smallest_scale:
                return ""
            total, current = total + (current or 1) * scale, 0
            smallest_scale, below = scale, 100
    return str(total + current)


def day_number(text: str) -> int:
    """Return the day of a month that digits or words say; 0 where they say none.

    Example:
        >>> [day_number(t) for t in ("20th", "twenty-first", "Third", "20", "40")]
        [20, 21, 3, 20, 0]
    """
    word = text.casefold().strip()
    if match := re.match(r"[0-9]{1,2}(?![0-9])", word):
        number = int(match[0])
    else:
        *head, last = re.split(r"[\s-]+", word)
        small = _ordinal(last)
        number = small if not head else (_SMALL.get(head[0], 0) + small if small < 10 else 0)
    return number if 1 <= number <= 31 else 0


def _ordinal(word: str) -> int:
    if word in _ORDINALS:
        return _ORDINALS.index(word)
    if word in ("twentieth", "thirtieth"):
        return 20 if word == "twentieth" else 30
    return _SMALL.get(word, 0)


def day_words() -> list[str]:
    """Return patterns of the words that `day_number` knows, longest first."""
    small = [*_ORDINALS[1:10], *UNITS[1:10]]
    joined = [f"{ten}[ -]{one}" for ten in ("twenty", "thirty") for one in small]
    single = [*_ORDINALS[1:], "twentieth", "thirtieth", *UNITS[1:], "twenty", "thirty"]
    return sorted([*joined, *single], key=len, reverse=True)


def full_year(text: str) -> int:
    """Return a year of two or four digits."""
    number = int(text)
    if len(text) > 2:
        return number
    return number + (2000 if number < 50 else 1900)


def iso_date(year: int | None, month: int, day: int) -> str:
    """Return a date as ISO writes it; year 0000 where it is not known, empty where none is meant.

    Example:
        >>> iso_date(2024, 5, 20), iso_date(None, 5, 20), iso_date(2024, 13, 20)
        ('2024-05-20', '0000-05-20', '')
    """
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return ""
    return f"{year or 0:04d}-{month:02d}-{day:02d}"


def clock_times(hour: int, minute: int, half: str) -> list[str]:
    """Return a time as 24 hours write it; both that may be meant where the half of day is open.

    Example:
        >>> clock_times(1, 0, "p.m."), clock_times(3, 30, ""), clock_times(13, 0, "")
        (['13:00'], ['03:30', '15:30'], ['13:00'])
    """
    if hour > 23:
        return []
    if half:
        hour = hour % 12 + (12 if half.casefold().startswith("p") else 0)
        return [f"{hour:02d}:{minute:02d}"]
    hours = (hour, hour % 12 + 12) if 1 <= hour < 12 else (hour,)
    return [f"{one:02d}:{minute:02d}" for one in hours]


def squeezed(text: str) -> str:
    """Return the letters and digits of a text alone, case-folded.

    Example:
        >>> squeezed("#ZFA-04 y")
        'zfa04y'
    """
    return "".join(filter(str.isalnum, text.casefold()))
