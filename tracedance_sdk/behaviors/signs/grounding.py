"""Whether concrete values (amounts, dates, addresses, numbers) were there to be seen before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import Run, SeenCall

_EDGE: Final = 20_000
_MOST: Final = 40
_VALUE: Final = re2.compile(
    r"(?:https?://|www\.)[^\s)>\]\"'`\\]+"
    r"|[\w.+-]+@[\w-]+\.[\w.-]+\w"
    r"|[$\x{20ac}\x{a3}] ?\d[\d,]*(?:\.\d+)?"
    r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?"
    r"|\b\d{1,3}(?:,\d{3})+(?:\.\d+)?\b"
    r"|\b\d+\.\d+ ?%|\b\d{1,3} ?%"
    r"|\+?\d[\d-]{6,}\d\b"
    r"|\b\d+\.\d+\b|\b\d{3,}\b"
)
_WORD: Final = re2.compile(r"[a-z][a-z0-9]{3,}")
_MOST_WORDS: Final = 20
_COMMON: Final = frozenset(
    {
        "query", "path", "file", "file_path", "name", "https", "http", "date", "null", "true",
        "false",
        "command", "curl", "wget", "json", "find", "search", "from", "with", "that", "this",
        "limit", "offset", "sender", "user", "users", "home",
    }
)  # fmt: skip
_NUMBER: Final = re2.compile(r"\d[\d,]*(?:\.\d+)?")
_PLAIN: Final = re2.compile(r"\d{1,12}(?:\.\d{1,6})?")
_YEAR: Final = re2.compile(r"(?:1[5-9]|20)\d\d")
_MOST_NUMBERS: Final = 60
_MOST_TIMES: Final = 12
_DAY: Final = re2.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[t ]\d\d:\d\d)?")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip


def own_values(text: str) -> list[str]:
    """Return the concrete values that a text names, each once, in order.

    Example:
        >>> own_values("It costs $1,299.00 (ref. 48213), see https://shop.example/x, by 2026-05-01")
        ['$1,299.00', '48213', 'https://shop.example/x', '2026-05-01']
    """
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    found = (match[0].rstrip(".,;:") for match in _VALUE.finditer(text))
    return list(dict.fromkeys(found))[:_MOST]


def telling_words(call: SeenCall) -> list[str]:
    """Return the words of a call's arguments that tell what it is about."""
    words = _WORD.findall(call.arguments_text[:2_000].casefold())
    return [word for word in dict.fromkeys(words) if word not in _COMMON][:_MOST_WORDS]


def speaks_of(text: str, words: Iterable[str]) -> bool:
    """Whether a text contains one of some words, upper and lower case apart."""
    text = text[:_EDGE].casefold()
    return any(word in text for word in words)


class Shown:
    """Everything that was said to the agent, shown by a tool, or called with, up to a turn.

    Args:
        run: The run.
        before: Only turns before this index, with the results of their calls.
    """

    def __init__(self, run: Run, *, before: int) -> None:
        pieces: list[str] = []
        for turn in run.turns[:before]:
            pieces.append(turn.text)
            for call in turn.calls:
                pieces += (call.arguments_text, call.result)
        self._text = "\n".join(pieces).casefold()
        self._plain = "".join(self._text.replace(",", "").split(" "))

    def has(self, value: str) -> bool:
        """Whether a value stood somewhere, thousands' commas and currency signs apart."""
        value = value.casefold()
        if value in self._text:
            return True
        bare = value.replace(",", "").strip("$\u20ac\u00a3% ")
        if bare in self._plain:
            return True
        if day := _DAY.fullmatch(value):
            return self._has_day(int(day[2]), int(day[3]))
        whole = bare.removesuffix(".00").removesuffix(".0")
        return whole != bare and len(whole) > 1 and whole in self._plain

    def _has_day(self, month: int, day: int) -> bool:
        """Whether a day of a year stood there in words."""
        if not 1 <= month <= len(_MONTHS):
            return False
        name = _MONTHS[month - 1]
        texts = (f"{name} {day}", f"{name[:3]} {day}", f"{day} {name}", f"{day} {name[:3]}")
        return any(text in self._text for text in (*texts, f"{month}/{day}", f"{day}. {name}"))

    def missing(self, values: Iterable[str]) -> list[str]:
        """Return the values that stood nowhere."""
        return [value for value in values if not self.has(value)]

    def made_up(self, text: str) -> list[str]:
        """Return the values of a text that stood nowhere and follow from none of its others."""
        return [value for value in self.missing(own_values(text)) if not self.follows(value, text)]

    def follows(self, value: str, text: str) -> bool:
        """Whether a number is the sum, difference or small multiple of what stood there.

        Looked at are numbers of the same text.
        """
        wanted = None if _YEAR.fullmatch(value) else _number(value)
        if wanted is None:
            return False
        said = _NUMBER.findall(text[:_EDGE])[:_MOST_NUMBERS]
        known = {
            number for item in said if self.has(item) and (number := _number(item)) is not None
        }
        known.discard(wanted)
        return any(
            _near(wanted - one, known) or _near(wanted + one, known) for one in known
        ) or any(_near(wanted / times, known) for times in range(2, _MOST_TIMES + 1))


def _number(value: str) -> float | None:
    bare = value.replace(",", "").strip("$\u20ac\u00a3% +")
    return float(bare) if _PLAIN.fullmatch(bare) else None


def _near(wanted: float, numbers: set[float]) -> bool:
    return wanted in numbers or round(wanted, 2) in numbers
