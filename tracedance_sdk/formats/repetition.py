"""What of a conversation is new, where every request repeats the messages before it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult, Speaker
from tracedance_sdk.formats.repeated_units import Unit, is_thought, unit_of, without_marks

_ID: Final = "id"


class _Step(NamedTuple):
    """A message of a conversation, and where its repetition went on after it.

    Attributes:
        message: The message.
        place: What comes after it is looked for from here.
        is_head: It belongs to the system prompt.
        repeated: How many of the units heard stand in the conversation up to it.
        is_whole: Up to it, the conversation is what was heard, and what was new.
        before: Where what comes after it is looked for next: the stretch before a message that was
            new in the middle.
    """

    message: Message
    place: int
    is_head: bool
    repeated: int
    is_whole: bool
    before: tuple[int, int] | None


_START: Final = _Step(Message("system", ()), 0, True, 0, True, None)


class Heard:
    """The pieces of a conversation so far, each heard once however often it is repeated.

    Texts longer than 64 characters are kept as digests, so that long conversations stay small.

    Attributes:
        rewritten: How many messages did not continue what was heard before.
        is_whole: Whether the last conversation was all that had been heard, in order, and what
            was new.
    """

    def __init__(self) -> None:
        self.rewritten = 0
        self.is_whole = True
        self._length = 0
        self._places: dict[Unit, list[int]] = {}
        # A system prompt stands before the history, and another may take its place there, as
        # after a handoff: it is no part of the order.
        self._heads: set[int] = set()
        # Where a model thought aloud: many programs cut that out of what they show again.
        self._thoughts: set[int] = set()
        self._asked = -1
        """Place of the last words that a model was to answer."""
        self._steps: list[_Step] = []

    def new_in(
        self, messages: Sequence[Message], *, after_all: bool = False, is_asked: bool = False
    ) -> list[Message]:
        """Return those messages that were not heard before, without the pieces that were.

        Args:
            messages: What a model was given, from the beginning of the conversation.
            after_all: They repeat nothing: they continue what was heard.
            is_asked: A model answers the last one: it is told again if another one was since.
        """
        last = [] if after_all else self._steps
        steps = _taken_again(last, messages)
        step = steps[-1] if steps else _START
        if after_all:
            in_order = self._length - len(self._heads)
            step = _START._replace(place=self._length, is_head=False, repeated=in_order)
        limit, asked = self._length, self._asked
        found: list[Message] = []
        for message in messages[len(steps) :]:
            new, step = self._next_step(message, step, limit)
            if new is not None:
                found.append(new)
            elif len(steps) < len(last) and _is_answered_otherwise(last[len(steps)], message):
                step = step._replace(is_whole=False)
            steps.append(step)
        if is_asked and step.place <= asked and not step.is_head and _asks(step.message):
            again, step = self._again(step)
            steps[-1] = step
            found.append(again)
        if not after_all:
            self._steps = steps
        self.is_whole = step.is_whole and step.repeated == self._length - len(self._heads)
        return found

    def _next_step(self, message: Message, step: _Step, limit: int) -> tuple[Message | None, _Step]:
        """Return what of a message is new, and where its repetition goes on.

        Args:
            message: The message.
            step: Of the one before it.
            limit: What was heard from here on is of the same conversation.
        """
        _, place, is_head, repeated, is_whole, before = step
        is_head = is_head and message.speaker == "system"
        in_order = self._length - len(self._heads)
        new: list[Piece] = []
        units: list[tuple[Unit, Piece]] = []
        for piece in message.pieces:
            unit = unit_of(message, piece)
            if unit is None:
                new.append(piece)
                continue
            found = self._find(unit, piece, place, limit) if place < limit else None
            if found is None and before is not None:
                found = self._find(unit, piece, *before)
            if found is None:
                is_whole = is_whole and repeated == in_order
                is_at_end = before is None and place >= limit
                if is_at_end or not self._is_known(unit, piece):
                    new.append(piece)
                    units.append((unit, piece))
            elif not is_head:
                place, before, repeated = found + 1, None, repeated + 1
                is_whole = is_whole and not self._is_cut(found, piece)
        step = _Step(message, place, is_head, repeated, is_whole, before)
        if not units:
            return None, step
        told = message
        if len(new) < len(message.pieces):
            told = message._replace(pieces=tuple(new))
        return told, self._keep_new(units, step, limit)

    def _keep_new(self, units: Sequence[tuple[Unit, Piece]], step: _Step, limit: int) -> _Step:
        """Keep what was new in the message of a step, and return where it goes on after it."""
        message, place, is_head, repeated, is_whole, before = step
        if self._beyond_heads(place) < self._length:
            self.rewritten += 1
            before = before or (place, limit)
        if is_head:
            self._heads.update(range(self._length, self._length + len(units)))
            self._keep(message.speaker, units)
            return _Step(message, place, True, repeated, is_whole, before)
        self._keep(message.speaker, units)
        return _Step(message, self._length, False, repeated + len(units), is_whole, before)

    def _again(self, step: _Step) -> tuple[Message, _Step]:
        """Return the last message of a conversation without its results, as if it was new."""
        message = step.message
        told = message._replace(pieces=tuple(p for p in message.pieces if type(p) is dict))
        self.remember(told)
        return told, step._replace(place=self._length, is_whole=False)

    def remember(self, message: Message) -> None:
        """Take a message as heard."""
        units = []
        for piece in message.pieces:
            unit = unit_of(message, piece)
            if unit is not None:
                units.append((unit, piece))
        self._keep(message.speaker, units)

    def knows(self, message: Message) -> bool:
        """Whether every piece was heard, wherever it was."""
        units = (unit_of(message, piece) for piece in message.pieces)
        return all(unit in self._places for unit in units if unit is not None)

    def _find(self, unit: Unit, piece: Piece, start: int, end: int) -> int | None:
        """Return the first place of a piece between two places."""
        if type(piece) is not SeenCall or piece.id is None:
            return self._next(unit, start, end)
        found = self._next((_ID, piece.id), start, end)
        if found is None:
            # Some programs give a call another id; elsewhere that is another call.
            found = self._next(unit, start, end)
            if found is not None and found != self._beyond_heads(start):
                return None
        return found

    def _next(self, unit: Unit, start: int, end: int) -> int | None:
        places = self._places.get(unit)
        if places is None:
            return None
        at = bisect_left(places, start)
        return places[at] if at < len(places) and places[at] < end else None

    def _beyond_heads(self, place: int) -> int:
        while place in self._heads:
            place += 1
        return place

    def _is_known(self, unit: Unit, piece: Piece) -> bool:
        """Whether a call or a result with this id was heard, wherever it was."""
        if type(piece) is SeenCall:
            return piece.id is not None and (_ID, piece.id) in self._places
        return type(piece) is SeenResult and piece.call_id is not None and unit in self._places

    def _is_cut(self, place: int, piece: Piece) -> bool:
        """Whether a model thought aloud at a place, and its words are repeated without that."""
        return place in self._thoughts and not is_thought(piece)

    def _keep(self, speaker: Speaker, units: Sequence[tuple[Unit, Piece]]) -> None:
        places, place = self._places, self._length
        for unit, piece in units:
            places.setdefault(unit, []).append(place)
            if type(piece) is dict:
                if speaker == "assistant":
                    if is_thought(piece):
                        self._thoughts.add(place)
                elif speaker != "tool" and place not in self._heads:
                    self._asked = place
            elif type(piece) is SeenCall and piece.id is not None:
                places.setdefault((_ID, piece.id), []).append(place)
            place += 1
        self._length = place


def _taken_again(last: Sequence[_Step], messages: Sequence[Message]) -> list[_Step]:
    """Return the steps that the last conversation began with, as this one does."""
    same = 0
    for step, message in zip(last, messages, strict=False):
        if step.message is not message and step.message != message:
            break
        same += 1
    return list(last[:same])


def _is_answered_otherwise(before: _Step, message: Message) -> bool:
    """Whether a call has another result than in the last conversation at the same place."""
    contents = {result.call_id: result.content for result in before.message.results}
    return any(
        result.call_id in contents
        and contents[result.call_id] != result.content
        and without_marks(contents[result.call_id]) != without_marks(result.content)
        for result in message.results
    )


def _asks(message: Message) -> bool:
    """Whether a message has words for a model to answer."""
    return message.speaker in ("user", "system") and any(type(p) is dict for p in message.pieces)
