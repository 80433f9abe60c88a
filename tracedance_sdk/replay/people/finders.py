"""How each sort of value is found in a plain text, and what forms it has.

Every pattern is bounded, so that no text takes more than linear time, and begins with a set of
characters where it can: a search for one of those is several times faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple

from tracedance_sdk.replay.people.spellings import (
    MONTH_WORDS,
    NUMBER_WORDS,
    SUFFIXES,
    TELLING_NUMBER_WORDS,
    clock_times,
    day_number,
    day_words,
    full_year,
    iso_date,
    listed,
    multiplied,
    plain_number,
    spoken_number,
    squeezed,
)

ValueKind = Literal[
    "email", "money", "date", "time", "phone", "card", "id", "code", "number", "name", "offer"
]
Forms = list[str]
"""What one value may be written as, the form to show first; empty strings are no forms."""

_Match = re.Match[str]
_FormsOf = Callable[[_Match, int | None], Iterator[Forms]]


class Finder(NamedTuple):
    """Finds one sort of value.

    Attributes:
        kind: Of the values.
        pattern: What they look like.
        forms_of: The values of a match, with the year of dates that name none.
        characters: One of them must be in the text.
        words: One of them must be in the text, where there are any.
    """

    kind: ValueKind
    pattern: re.Pattern[str]
    forms_of: _FormsOf
    characters: str = "0123456789"
    words: frozenset[str] = frozenset()


def _finder(
    kind: ValueKind,
    pattern: str,
    forms_of: _FormsOf,
    *,
    characters: str = "0123456789",
    words: Iterable[str] = (),
    any_case: bool = True,
) -> Finder:
    flags = re.IGNORECASE if any_case else re.NOFLAG
    return Finder(kind, re.compile(pattern, flags), forms_of, characters, frozenset(words))


_MONTH: Final = "|".join(sorted(MONTH_WORDS, key=len, reverse=True))
_DAY: Final = rf"(?:[0-9]{{1,2}}(?:st|nd|rd|th)?(?![0-9:])|{'|'.join(day_words())})"
_YEAR: Final = r"(?:,?\s{1,3}(?:of\s)?(?P<year>[0-9]{4})(?![0-9]))?"
_VERBS: Final = frozenset({"may", "march", "mar"})
_NUMBER_WORD: Final = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_SPOKEN: Final = (
    rf"\b(?:a\s(?=hundred|thousand|million|dozen))?(?:{_NUMBER_WORD})"
    rf"(?:(?:[\s-]{{1,3}}|\sand\s)(?:{_NUMBER_WORD})){{0,9}}\b"
)
_SUFFIX: Final = rf"(?:[\s-]?(?P<suffix>{'|'.join(sorted(SUFFIXES, key=len, reverse=True))})\b)?"
_AMOUNT: Final = rf"(?P<amount>[0-9](?:[0-9,']{{0,30}}[0-9])?(?:\.[0-9]{{1,2}}(?![0-9]))?){_SUFFIX}"
_EURO: Final = (
    r"(?P<euro>[0-9]{1,3}(?:\.[0-9]{3}){1,5}(?:,[0-9]{1,2})?(?![0-9])|"
    r"[0-9]{1,15},[0-9]{1,2}(?![0-9]))"
)
_SPACED: Final = r"(?P<spaced>[0-9]{1,3}(?: [0-9]{3}){1,5}(?:[.,][0-9]{1,2})?(?![0-9]))"
_CURRENCY_CODES: Final = listed("usd eur gbp cad aud chf inr jpy")
_CURRENCY_WORDS: Final = [
    *listed("dollar dollars buck bucks euro euros pound pounds rupee rupees yen"),
    *_CURRENCY_CODES,
]
_CURRENCY: Final = rf"(?:(?:us|canadian|australian)\s)?(?:{'|'.join(_CURRENCY_WORDS)})\b"
_UNIT: Final = r"gb|mb|tb|kg|lbs?|cm|mm|km|in|inch|ft|oz|ml|l|hrs?|h|mins?|mp|mah|w|x|st|nd|rd|th"
_NOT_CODES: Final = frozenset(
    listed(
        "ALL AND ANY ARE BUT CAN DID FOR GET HAS HOW ITS LET MAY NOT NOW OFF ONE OUR OUT SEE THE "
        "TOO TWO USE USD EUR GBP WAS WHO WHY YES YOU STOP TRANSFER FAQ ASAP EST PST CST EDT PDT "
        "CET UTC GMT NONE NULL TRUE FALSE DOB VIP API URL PDF SMS PIN SIM USB VPN MMS APN SSN ATM "
        "NOTE THIS THAT WITH HAVE HELP ONLY ALSO MUST WILL YOUR FROM WHAT WHEN VERY EACH BOTH "
        "MORE PLEASE THANKS AIRLINE TERMS SCOPE USA"
    )
)
_FRACTIONS: Final = frozenset({"1/2", "1/3", "2/3", "1/4", "3/4", "24/7"})


def _email(match: _Match, _: int | None) -> Iterator[Forms]:
    yield [match[0].casefold()]


def _iso(match: _Match, _: int | None) -> Iterator[Forms]:
    yield [iso_date(int(match[1]), int(match[2]), int(match[3]))]


def _numeric_date(match: _Match, year: int | None) -> Iterator[Forms]:
    """The month comes first, as in the United States, unless it cannot or points are between."""
    text = match[0]
    if text in _FRACTIONS:
        return
    first, second, last = int(match["a"]), int(match["b"]), match["c"]
    month, day = (second, first) if first > 12 or "." in text else (first, second)
    yield (
        _of_any_year(year, month, day) if last is None else [iso_date(full_year(last), month, day)]
    )


def _of_any_year(year: int | None, month: int, day: int) -> Forms:
    if year is None:
        return [iso_date(None, month, day)]
    return [iso_date(year, month, day), iso_date(year + 1, month, day)]


def _worded_date(match: _Match, year: int | None) -> Iterator[Forms]:
    month = MONTH_WORDS[match["month"].casefold()]
    for name in ("day", "until"):
        day = day_number(match.groupdict().get(name) or "")
        if day and match["year"]:
            yield [iso_date(int(match["year"]), month, day)]
        elif day:
            yield _of_any_year(year, month, day)


def _month_first(match: _Match, year: int | None) -> Iterator[Forms]:
    """``may 3`` is a verb and a number."""
    if match["month"] not in _VERBS or not match["day"].isdigit() or match["year"]:
        yield from _worded_date(match, year)


def _day_first(match: _Match, year: int | None) -> Iterator[Forms]:
    """``3 may`` and ``one may`` are dates only where something says so."""
    is_date = match["month"] not in _VERBS or match["year"] or " of " in match[0]
    if is_date or match["day"][-1].casefold() in "tdh":
        yield from _worded_date(match, year)


def _clock(match: _Match, _: int | None) -> Iterator[Forms]:
    groups = match.groupdict()
    hour, minute, half = match["hour"], int(groups.get("minute") or 0), groups.get("half") or ""
    if half or (not groups.get("second") and not hour.startswith("0")):
        yield clock_times(int(hour), minute, half)
    else:
        yield [f"{int(hour):02d}:{minute:02d}"]


def _noon(match: _Match, _: int | None) -> Iterator[Forms]:
    yield ["00:00" if match[0].casefold() == "midnight" else "12:00"]


def _card(match: _Match, _: int | None) -> Iterator[Forms]:
    digits = re.sub(r"[^0-9]", "", match[0])
    if len(digits) == 4:
        yield [plain_number(digits)]
    else:
        yield [digits, plain_number(digits[-4:])] if 13 <= len(digits) <= 19 else []


def _phone(match: _Match, _: int | None) -> Iterator[Forms]:
    groups = re.findall("[0-9]+", match[0])
    digits = "".join(groups)
    is_local = len(groups) == 2 and len(digits) == 7 and "-" in match[0]
    is_whole = 9 <= len(digits) <= 15 and (match[0][0] in "+(" or len(groups) > 2)
    if is_local or is_whole or (match[0][0] == "+" and 7 <= len(digits) <= 15):
        yield [digits[1:] if len(digits) == 11 and digits[0] == "1" else digits]


def _money(match: _Match, _: int | None) -> Iterator[Forms]:
    groups = match.groupdict()
    if groups.get("euro"):
        yield [plain_number(groups["euro"], decimal_comma=True)]
    elif groups.get("spaced"):
        yield [plain_number(groups["spaced"].replace(",", "."))]
    else:
        yield [multiplied(plain_number(groups["amount"]), groups["suffix"] or "")]


def _spoken_money(match: _Match, _: int | None) -> Iterator[Forms]:
    yield [spoken_number(match["words"])]


def _cents(match: _Match, _: int | None) -> Iterator[Forms]:
    yield [plain_number(f"{int(match['cents']) / 100:.2f}")]


def _number(match: _Match, _: int | None) -> Iterator[Forms]:
    yield [plain_number(match["number"])]


def _spoken(match: _Match, _: int | None) -> Iterator[Forms]:
    """Words below ten stand in every other sentence and tell too little."""
    number = spoken_number(match[0])
    yield [number if len(number) > 1 else ""]


def _id(match: _Match, _: int | None) -> Iterator[Forms]:
    yield [match[0].casefold().lstrip("#"), squeezed(match[0])]


def _spelled_id(match: _Match, _: int | None) -> Iterator[Forms]:
    text = match[0]
    if text.isupper() or any(c.isdigit() for c in text):
        form = squeezed(text)
        yield [plain_number(form) if form.isdigit() else form]


def _spaced_id(match: _Match, _: int | None) -> Iterator[Forms]:
    if match[0].split()[0] not in ("ID", "NO", "AM", "PM", *_NOT_CODES):
        yield [squeezed(match[0])]


def _code(match: _Match, _: int | None) -> Iterator[Forms]:
    if match[0] not in _NOT_CODES:
        yield [match[0].casefold()]


FINDERS: Final = (
    _finder(
        "email",
        r"[\w.+-](?<![\w.+-][\w.+-])[\w.+-]{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}",
        _email,
        characters="@",
    ),
    _finder(
        "date", r"([0-9](?<![0-9-][0-9])[0-9]{3})[-/]([0-9]{1,2})[-/]([0-9]{1,2})(?![0-9-])", _iso
    ),
    _finder(
        "date",
        r"(?P<a>[0-9](?<![\w/.-][0-9])[0-9]?)/(?P<b>[0-9]{1,2})(?:/(?P<c>[0-9]{4}|[0-9]{2}))?"
        r"(?![\w/])",
        _numeric_date,
        characters="/",
    ),
    _finder(
        "date",
        r"(?P<a>[0-9](?<![\w/.-][0-9])[0-9]?)(?P<s>[.-])(?P<b>[0-9]{1,2})(?P=s)(?P<c>[0-9]{4})"
        r"(?![\w-])",
        _numeric_date,
    ),
    _finder(
        "date",
        rf"\b(?P<month>{_MONTH})\b\.?\s{{1,3}}(?:the\s)?(?P<day>{_DAY})\b"
        rf"(?:\s?(?:-|to|and|or|through|until|&)\s?(?P<until>{_DAY})\b(?!\s?[:$%\w]))?{_YEAR}",
        _month_first,
        characters="",
        words=MONTH_WORDS,
    ),
    _finder(
        "date",
        r"(?P<day>[0-9](?<![\w.,$-][0-9])[0-9]?(?:st|nd|rd|th)?)"
        rf"\s{{1,3}}(?:day\s)?(?:of\s)?(?P<month>{_MONTH})\b\.?{_YEAR}",
        _day_first,
        words=MONTH_WORDS,
    ),
    _finder(
        "date",
        rf"\b(?P<day>(?:(?:twenty|thirty)[ -])?[a-z]{{5,11}}) (?:day )?of (?P<month>{_MONTH})\b\.?"
        rf"{_YEAR}",
        _day_first,
        characters="",
        words=MONTH_WORDS,
    ),
    _finder(
        "time",
        r"(?P<hour>[0-9](?<![0-9:.][0-9])[0-9]?):(?P<minute>[0-5][0-9])(?P<second>:[0-5][0-9])?"
        r"(?![0-9:])(?:\s{0,2}(?P<half>[ap]m\b|[ap]\.m\.?))?",
        _clock,
        characters=":",
    ),
    _finder(
        "time",
        r"(?P<hour>[0-9](?<![\w:.,][0-9])[0-9]?)(?:\s{0,2}(?P<half>[ap]m\b|[ap]\.m\.?)|\s?o'?clock\b)",
        _clock,
    ),
    _finder(
        "time",
        r"\b(?:noon|midday|midnight)\b",
        _noon,
        characters="",
        words=("noon", "midday", "midnight"),
    ),
    _finder(
        "card",
        r"[0-9](?<![\w-][0-9])[0-9]{3}(?:(?:[ -]?[0-9]{4}){2,3}(?:[ -]?[0-9]{1,3})?|"
        r"[ -][0-9]{6}[ -][0-9]{5})(?![\w-])",
        _card,
    ),
    _finder("card", r"[*xX\u2022](?:[*xX\u2022 -]{1,20})[0-9]{4}(?![\w-])", _card),
    _finder(
        "money",
        rf"[$\u20ac\u00a3\u00a5\u20b9\u20a9]\s?(?:(?<=[\u20ac\s]){_EURO}|{_AMOUNT})",
        _money,
        characters="$\u20ac\u00a3\u00a5\u20b9\u20a9",
    ),
    _finder(
        "money",
        rf"\b(?:{'|'.join(_CURRENCY_CODES)})\s?{_AMOUNT}",
        _money,
        words=_CURRENCY_CODES,
    ),
    _finder(
        "money",
        rf"(?<![\w.,])(?:{_EURO}|{_SPACED}|{_AMOUNT})\s?[\u20ac\u00a3\u00a5\u20b9]",
        _money,
        characters="\u20ac\u00a3\u00a5\u20b9",
    ),
    _finder(
        "money",
        rf"(?<![\w.,])(?:{_EURO}(?=[\s-]eur)|{_SPACED}|{_AMOUNT})[\s-]?{_CURRENCY}",
        _money,
        words=_CURRENCY_WORDS,
    ),
    _finder(
        "money",
        rf"(?P<words>{_SPOKEN})[\s-]{_CURRENCY}",
        _spoken_money,
        characters="",
        words=_CURRENCY_WORDS,
    ),
    _finder(
        "money",
        r"(?P<cents>[0-9](?<![\w.,][0-9])[0-9]{0,4})[\s-]cents?\b",
        _cents,
        words=("cent", "cents"),
    ),
    _finder(
        "phone",
        r"[+(0-9](?<![\w.][+(0-9])[0-9]{1,4}(?:(?:\) ?|[ .-]\(?)[0-9]{2,4}){1,4}(?![\w-])",
        _phone,
    ),
    _finder("phone", r"\+[0-9]{7,15}(?!\w)", _phone, characters="+"),
    _finder(
        "number",
        r"(?P<number>[0-9](?<![\w.,-][0-9])[0-9]{0,14}(?:\.[0-9]{1,4})?)-[a-z]{2,20}\b",
        _number,
        any_case=False,
    ),
    _finder(
        "number",
        rf"(?P<number>[0-9](?<![\w.,-][0-9])[0-9]{{0,14}}(?:\.[0-9]{{1,4}})?)(?:{_UNIT})(?![\w-])",
        _number,
    ),
    _finder(
        "id",
        r"[A-Za-z0-9](?<![\w-].)(?:[ -][A-Za-z0-9]){3,40}(?![\w-])",
        _spelled_id,
        characters="",
        any_case=False,
    ),
    _finder(
        "id",
        r"(?<![\w#@-])#?(?=[a-z_-]*[0-9])(?=[0-9_-]*[a-z])[a-z0-9]+(?:[_-][a-z0-9]+)*(?!\w)",
        _id,
    ),
    _finder(
        "id",
        r"[A-Z](?<!\w[A-Z])[A-Z]{1,2} [0-9]{3,4}(?![\w.,]?[0-9])",
        _spaced_id,
        any_case=False,
    ),
    _finder(
        "number",
        r"(?P<number>[0-9](?<![\w.,][0-9])[0-9]*(?:,[0-9]{3})*(?:\.[0-9]+)?)(?!\w|[.,][0-9])",
        _number,
    ),
    _finder("number", _SPOKEN, _spoken, characters="", words=TELLING_NUMBER_WORDS),
    _finder("code", r"[A-Z](?<!\w[A-Z])[A-Z]{2,5}\b", _code, characters="", any_case=False),
)
"""In the order in which they are applied: what one took, no later one sees."""
