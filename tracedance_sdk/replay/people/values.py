"""Values in what people say: ids, money, dates, numbers, addresses, codes, names; and one spelling.

Two mentions are of one value when their normal forms are equal: ``$1,200`` and ``1200 dollars``,
``May 20th`` and ``2024-05-20`` (the year comes from the conversation), ``ZFA04Y`` and ``zfa04y``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

ValueKind = Literal["email", "money", "date", "id", "code", "number", "name"]

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        1,
    )
    for name in names
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_CURRENCY: Final = "dollars|euros|pounds|USD|EUR|GBP"
_DAY: Final = r"[0-3]?\d(?:st|nd|rd|th)?"

_PATTERNS: Final[tuple[tuple[ValueKind, re.Pattern[str]], ...]] = (
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")),
    ("date", re.compile(r"\b\d{4}-\d{2}-\d{2}\b")),
    ("date", re.compile(rf"\b(?:{_MONTH})\.?\s+{_DAY}(?:,?\s+\d{{4}})?\b", re.IGNORECASE)),
    ("date", re.compile(rf"\b{_DAY}\s+(?:of\s+)?(?:{_MONTH})\b(?:,?\s+\d{{4}})?", re.IGNORECASE)),
    ("date", re.compile(r"\b\d{1,2}/\d{1,2}/\d{4}\b")),
    ("money", re.compile(r"(?:[$€£]|\b(?:USD|EUR|GBP)\s)\s?\d[\d,]*(?:\.\d{1,2})?")),
    (
        "money",
        re.compile(
            r"\b\d[\d,]*(?:\.\d{1,2})?\s?(?:dollars|euros|pounds|USD|EUR|GBP)\b", re.IGNORECASE
        ),
    ),
    (
        "id",
        re.compile(
            r"(?<![\w#-])#?(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*\b"
        ),
    ),
    ("number", re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)")),
    ("code", re.compile(r"\b[A-Z]{3,6}\b")),
    ("name", re.compile(r"\b[A-Z][a-z]+(?:[ '-][A-Z][a-z]+){1,3}\b")),
)
_SHORT_WORDS: Final = frozenset({"1st", "2nd", "3rd", "24h", "4th", "5th"})
_NOT_CODES: Final = frozenset(
    [
        "AND",
        "ARE",
        "BUT",
        "CAN",
        "FOR",
        "HAS",
        "HOW",
        "NOT",
        "NOW",
        "OFF",
        "OUT",
        "THE",
        "TOO",
        "USD",
        "EUR",
        "GBP",
        "WAS",
        "WHO",
        "WHY",
        "YES",
        "YOU",
        "STOP",
        "TRANSFER",
        "FAQ",
        "ASAP",
        "EST",
        "UTC",
        "GMT",
        "NONE",
        "NULL",
        "TRUE",
        "FALSE",
        "AM",
        "PM",
        "OK",
        "ID",
    ]
)
_LONGEST_TEXT: Final = 20_000


class Mention(NamedTuple):
    """A value as it stands in a text.

    Attributes:
        kind: What sort of value it looks like.
        text: As it stands there.
        normal: The form that all mentions of the value share.
        start: Offset of the first character.
    """

    kind: ValueKind
    text: str
    normal: str
    start: int

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.start + len(self.text)

    @property
    def tells_little(self) -> bool:
        """Whether the value is too common to say anything: a single digit."""
        return self.kind == "number" and len(self.normal) == 1


def mentions(text: str, *, year: int | None = None) -> list[Mention]:
    """Return the values in a text, in order; of those that overlap, the more telling kind.

    Args:
        text: At most 20,000 characters are looked at.
        year: Of dates that name none.

    Example:
        >>> [
        ...     (m.kind, m.normal)
        ...     for m in mentions("Change ZFA04Y to May 20th for $1,200.", year=2024)
        ... ]
        [('id', 'zfa04y'), ('date', '2024-05-20'), ('money', '1200')]
    """
    taken: list[Mention] = []
    covered: list[tuple[int, int]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text[:_LONGEST_TEXT]):
            start, end = match.span()
            if any(start < right and left < end for left, right in covered):
                continue
            found = _mention(kind, match[0], start, year)
            if found is not None:
                taken.append(found)
                covered.append((start, end))
    return sorted(taken, key=lambda mention: mention.start)


def occurs(normal: str, text: str, *, year: int | None = None) -> bool:
    """Whether a value occurs in a text in any spelling."""
    if any(mention.normal == normal for mention in mentions(text, year=year)):
        return True
    return has_token(normal, text.casefold())


def _mention(kind: ValueKind, text: str, start: int, year: int | None) -> Mention | None:
    if kind == "code" and (text in _NOT_CODES):
        return None
    if kind == "id" and text.casefold() in _SHORT_WORDS:
        return None
    normal = normal_form(kind, text, year=year)
    return None if not normal else Mention(kind, text, normal, start)


def normal_form(kind: ValueKind, text: str, *, year: int | None = None) -> str:
    """Return the form that all mentions of a value share; empty where the text is no such value.

    Example:
        >>> normal_form("money", "1,200.00 dollars"), normal_form("date", "20 of May", year=2024)
        ('1200', '2024-05-20')
    """
    if kind == "date":
        return _date(text, year)
    if kind in ("money", "number"):
        return plain_number(text)
    return " ".join(text.casefold().lstrip("#").split())


def plain_number(text: str) -> str:
    """Return the number in a text without currency, separators and needless zeros."""
    digits = re.sub(r"[^\d.]", "", text).strip(".")
    if not digits or digits.count(".") > 1:
        return ""
    whole, _, part = digits.partition(".")
    part = part.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{'.' if part else ''}{part}"


def _date(text: str, year: int | None) -> str:
    low = text.casefold()
    if match := re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", low):
        return low
    if match := re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", low):
        return _iso(int(match[3]), int(match[1]), int(match[2]))
    word = re.search(_MONTH, low)
    numbers = [int(number) for number in re.findall(r"\d+", low)]
    years = [number for number in numbers if number > 31]
    days = [number for number in numbers if number <= 31]
    if word is None or not days:
        return ""
    return _iso(years[0] if years else year, _MONTHS[word[0]], days[0])


def _iso(year: int | None, month: int, day: int) -> str:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return ""
    return f"{year or 0:04d}-{month:02d}-{day:02d}"


def has_token(normal: str, text: str) -> bool:
    """Whether a normal form stands in a case-folded text, not as a part of a longer word."""
    if normal not in text:
        return False
    pattern = rf"(?<![a-z0-9]){re.escape(normal)}(?![a-z0-9])"
    return re.search(pattern, text) is not None


def scalar_forms(value: object, *, year: int | None = None) -> Iterator[str]:
    """Yield the normal forms of a scalar in a tool's answer: of the whole, and of values in it."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        yield plain_number(f"{abs(value):f}")
        return
    if isinstance(value, str):
        yield " ".join(value.casefold().split())
        for mention in mentions(value, year=year):
            yield mention.normal
