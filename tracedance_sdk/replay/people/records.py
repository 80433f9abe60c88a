"""What tools answered in a conversation, to be searched for the values that people speak of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.replay.people.finding import WORDY, Value
from tracedance_sdk.replay.people.spellings import plain_number, plain_text, squeezed
from tracedance_sdk.replay.people.values import NUMERIC, mentions
from tracedance_sdk.trace import UNKNOWN, Call, Json, Trace, parse_json

_TOKEN: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile("[0-9]")
_LONGEST_ID: Final = 5
"""A number of so many digits names something, and does not agree by chance."""
_LAST_FOUR: Final = 4
_APART: Final = "\n\0\n"
_MOST_LEAVES: Final = 50_000
_LONGEST: Final = 1_000_000


class Backing(NamedTuple):
    """A tool's answer that holds a value.

    Attributes:
        call_id: Of the call.
        turn: Index of its turn.
        is_number: Whether only a number agrees, which may be chance.
    """

    call_id: str
    turn: int
    is_number: bool


class Records:
    """The answers of a conversation, in order.

    Args:
        trace: The conversation.
        is_pure: Whether a tool only computes: what it answers is worked out, not read.
        year: Of dates that name none.
    """

    def __init__(self, trace: Trace, is_pure: Callable[[str], bool], year: int | None) -> None:
        self._answers = [
            _Answer(call, turn.index, year, is_pure=is_pure(call.name))
            for turn in trace.turns
            for call in turn.calls
            if call.result is not None
        ]

    def backing(self, value: Value, before: int) -> Backing | None:
        """Return the first answer that came before a turn and holds a value.

        An answer that holds more than the bare number goes before one that does not. A number that
        the call itself named is not read from its answer.
        """
        number: Backing | None = None
        for answer in self._until(before):
            if answer.is_pure:
                continue
            how = answer.holds(value)
            if how == "value":
                return Backing(answer.call.id, answer.turn, is_number=False)
            if how == "number" and number is None and not answer.repeats(value):
                number = Backing(answer.call.id, answer.turn, is_number=True)
        return number

    def worked_out(self, value: Value, before: int) -> int | None:
        """Return the turn in which a pure tool first computed a value before another turn."""
        found = (a.turn for a in self._until(before) if a.is_pure and a.holds(value))
        return next(found, None)

    def _until(self, before: int) -> Iterator[_Answer]:
        """Yield the answers of earlier turns: what a turn says, it says before it calls."""
        return (answer for answer in self._answers if answer.turn < before)


class _Answer:
    """What one call was answered, prepared for searches when the first one comes."""

    def __init__(self, call: Call, turn: int, year: int | None, *, is_pure: bool) -> None:
        self.call = call
        self.turn = turn
        self.is_pure = is_pure
        self._year = year

    def holds(self, value: Value) -> str:
        """Return how the answer holds a value: `value`, `number` (nothing else), or not at all."""
        if value.kind in NUMERIC:
            if value.normal in self._whole or self._names_something(value.normal):
                return "value"
            return "number" if value.normal in self._forms or value.normal in self._numbers else ""
        if not value.forms.isdisjoint(self._forms):
            return "value"
        if value.kind not in WORDY:
            return "value" if not value.forms.isdisjoint(self._tokens) else ""
        parts = _TOKEN.findall(value.normal)
        if value.kind == "name":
            return "value" if self._tokens.issuperset(parts) else ""
        if len(parts) == 1:
            return "value" if squeezed(value.normal) in self._tokens else ""
        return "value" if squeezed(value.normal) in self._squeezed else ""

    def repeats(self, value: Value) -> bool:
        """Whether the call's own arguments hold a number."""
        forms = self._arguments
        return not value.forms.isdisjoint(forms)

    def _names_something(self, number: str) -> bool:
        return len(number) >= _LONGEST_ID and number.isdigit() and number in self._tokens

    @cached_property
    def _scalars(self) -> list[Json]:
        found: list[Json] = []
        result = self.call.result
        content = None if result is None else result.content
        if content is None or content is UNKNOWN:
            error = None if result is None else result.error
            return [] if error is None else [error.message or ""]
        for value in _leaves(_parsed(content)):
            if len(found) == _MOST_LEAVES:
                break
            found.append(value)
        return found

    @cached_property
    def _texts(self) -> list[str]:
        """The strings, each once, in plain characters and case-folded."""
        texts = dict.fromkeys(v for v in self._scalars if isinstance(v, str))
        return [plain_text(text).text for text in texts]

    @cached_property
    def _whole(self) -> frozenset[str]:
        """Strings of four digits or more and nothing else, such as the last four of a card."""
        found = (text.strip() for text in self._texts)
        return frozenset(plain_number(t) for t in found if t.isdigit() and len(t) >= _LAST_FOUR)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        values = self._scalars
        return frozenset(_plain(v) for v in values if not isinstance(v, str))

    @cached_property
    def _forms(self) -> frozenset[str]:
        return _forms_in((t for t in self._texts if _DIGIT.search(t)), self._year)

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset(token for t in self._texts for token in _TOKEN.findall(t.casefold()))

    @cached_property
    def _squeezed(self) -> str:
        return " ".join(map(squeezed, self._texts))

    @cached_property
    def _arguments(self) -> frozenset[str]:
        arguments = self.call.arguments
        if arguments is UNKNOWN:
            return frozenset()
        leaves = list(_leaves(arguments))
        said = _forms_in((v for v in leaves if isinstance(v, str)), self._year)
        return said | {_plain(v) for v in leaves if not isinstance(v, str)}


def _forms_in(texts: Iterable[str], year: int | None) -> frozenset[str]:
    """Return the forms of the values in some texts, which do not run into one another."""
    found = mentions(_APART.join(texts), year=year)
    return frozenset(form for mention in found for form in mention.forms)


def _plain(number: Json) -> str:
    return plain_number(f"{abs(number):f}") if isinstance(number, (int, float)) else ""


def _parsed(content: Json) -> Json:
    """Return an answer as a value: a text that is JSON is read."""
    if not isinstance(content, str) or len(content) > _LONGEST:
        return content
    if content.lstrip()[:1] not in ("{", "["):
        return content
    try:
        return parse_json(content.encode(errors="replace"), where="answer")
    except InvalidJSON:
        return content


def _leaves(value: Json) -> Iterable[Json]:
    """Yield the strings and numbers in a value, keys of objects too: ids often stand there."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield from item
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, (list, tuple)):
            pending.extend(reversed(item))
        elif isinstance(item, (str, int, float)) and not isinstance(item, bool):
            yield item
