"""Several messages for one answer: choices, pieces of one, or a stream's chunks."""

from __future__ import annotations

from typing import Any

from tracedance_sdk.formats import Message, Piece, SeenCall


def first_choice(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """Return what a model said as one message, and its other choices.

    Messages that each have a finish reason are choices; those of which only the last has one that
    says anything are chunks of a stream; others are pieces of one answer.
    """
    if len(messages) < 2:
        return messages, []
    reasons = [(message.extra or {}).get("finish_reason") for message in messages]
    if reasons[-1] and not any(reasons[:-1]) and "" in reasons:
        return [_streamed(messages)], []
    if sum(reason is not None for reason in reasons) > 1:
        return messages[:1], messages[1:]
    pieces = tuple(piece for message in messages for piece in message.pieces)
    return [_with_pieces(messages, pieces)], []


def joined(messages: list[Message]) -> list[Message]:
    """Join an agent's words with those before them, up to where it asked for something."""
    found: list[Message] = []
    for message in messages:
        last = found[-1] if found else None
        follows = last is not None and last.speaker == message.speaker == "assistant"
        if last is None or not follows or (last.calls and not message.calls):
            found.append(message)
        else:
            found[-1] = last._replace(
                pieces=(*last.pieces, *message.pieces),
                extra={**(last.extra or {}), **(message.extra or {})} or None,
            )
    return found


def _streamed(messages: list[Message]) -> Message:
    """Join chunks; the last of them may be the whole that some frameworks add."""
    *chunks, last = messages
    said = "".join(message.text for message in chunks)
    asked = {call.id for message in chunks for call in message.calls}
    is_whole = last.text == said and asked <= {call.id for call in last.calls}
    return last if is_whole and last.pieces else _with_pieces(messages, _grown(messages))


def _grown(messages: list[Message]) -> tuple[Piece, ...]:
    """Return the pieces of chunks: words run on, and a call counts as it was told last."""
    found: list[Any] = []
    places: dict[str, int] = {}
    pieces: list[Any] = [piece for message in messages for piece in message.pieces]
    for piece in pieces:
        last: Any = found[-1] if found else None
        if isinstance(piece, SeenCall) and piece.id is not None and piece.id in places:
            found[places[piece.id]] = piece
        elif _are_words(last) and _are_words(piece) and last["type"] == piece["type"]:
            found[-1] = {**last, "text": last["text"] + piece["text"]}
        else:
            if isinstance(piece, SeenCall) and piece.id is not None:
                places[piece.id] = len(found)
            found.append(piece)
    return tuple(found)


def _are_words(piece: Any) -> bool:
    return isinstance(piece, dict) and piece.keys() == {"type", "text"}


def _with_pieces(messages: list[Message], pieces: tuple[Piece, ...]) -> Message:
    extra = {k: v for message in messages for k, v in (message.extra or {}).items()}
    return messages[0]._replace(pieces=pieces, extra=extra or None)
