"""What of a conversation is new, where every request repeats the messages before it."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import orjson

from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult
from tracedance_sdk.trace import UNKNOWN, Json, canonical_json

_SHORT: Final = 64

Unit = tuple[str, str]
"""What a piece of a message has in common with its repetition: reasoning, ids and the form of
arguments differ between the two."""


class _Step(NamedTuple):
    """A message of a conversation, and where its repetition went on after it."""

    message: Message
    place: int
    is_head: bool


class Heard:
    """The pieces of a conversation so far, each heard once however often it is repeated.

    Texts longer than 64 characters are kept as digests, so that long conversations stay small.

    Attributes:
        rewritten: How many messages did not continue what was heard before.
    """

    def __init__(self) -> None:
        self.rewritten = 0
        self._length = 0
        self._places: dict[Unit, list[int]] = {}
        # A system prompt stands before the history, and another may take its place there, as
        # after a handoff: it is no part of the order.
        self._heads: set[int] = set()
        self._steps: list[_Step] = []

    def new_in(self, messages: Sequence[Message], *, after_all: bool = False) -> Iterator[Message]:
        """Yield those messages that were not heard before, without the pieces that were.

        Args:
            messages: What a model was given, from the beginning of the conversation.
            after_all: They repeat nothing: they continue what was heard.
        """
        steps = [] if after_all else self._taken_again(messages)
        place = self._length if after_all else 0
        is_head = not after_all
        if steps:
            _, place, is_head = steps[-1]
        for message in messages[len(steps) :]:
            is_head = is_head and message.speaker == "system"
            new: list[Piece] = []
            units: list[Unit] = []
            for piece in message.pieces:
                unit = _unit(message, piece)
                found = None if unit is None else self._next(unit, place)
                if found is not None:
                    place = place if is_head else found + 1
                    continue
                new.append(piece)
                if unit is not None:
                    units.append(unit)
            if units:
                self.rewritten += self._beyond_heads(place) < self._length
                if is_head:
                    self._heads.update(range(self._length, self._length + len(units)))
                self._keep(units)
                place = place if is_head else self._length
                yield message._replace(pieces=tuple(new))
            steps.append(_Step(message, place, is_head))
        if not after_all:
            self._steps = steps

    def _taken_again(self, messages: Sequence[Message]) -> list[_Step]:
        """Return the steps that the last conversation began with, as this one does."""
        same = 0
        for step, message in zip(self._steps, messages, strict=False):
            if step.message is not message and step.message != message:
                break
            same += 1
        return self._steps[:same]

    def remember(self, message: Message) -> None:
        """Take a message as heard."""
        self._keep(_units(message))

    def knows(self, message: Message) -> bool:
        """Whether every piece was heard, wherever it was."""
        return all(unit in self._places for unit in _units(message))

    def _next(self, unit: Unit, place: int) -> int | None:
        places = self._places.get(unit)
        at = 0 if places is None else bisect_left(places, place)
        return None if places is None or at == len(places) else places[at]

    def _beyond_heads(self, place: int) -> int:
        while place in self._heads:
            place += 1
        return place

    def _keep(self, units: Sequence[Unit]) -> None:
        for unit in units:
            self._places.setdefault(unit, []).append(self._length)
            self._length += 1


def _units(message: Message) -> list[Unit]:
    return [unit for piece in message.pieces if (unit := _unit(message, piece)) is not None]


def _unit(message: Message, piece: Piece) -> Unit | None:
    if isinstance(piece, SeenCall):
        return "call", piece.name
    if isinstance(piece, SeenResult):
        return "result", piece.call_id or _brief(_text(_plain(piece.content)))
    if piece["type"] == "reasoning":
        return None
    if piece["type"] == "text":
        return message.speaker, _brief(piece["text"].strip())
    return message.speaker, _brief(_text(piece))


def _plain(value: Json) -> Json:
    return None if value is UNKNOWN else value


def _text(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # Lone surrogates, integers beyond 64 bits and deep nesting: the fast writer refuses them.
        return canonical_json(value).decode()


def _brief(text: str) -> str:
    """Return short text, or the digest of a longer one."""
    if len(text) <= _SHORT:
        return text
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
