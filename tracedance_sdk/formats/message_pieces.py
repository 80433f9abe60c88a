"""What a message is made of, whoever's format it came in: parts, calls and results in order."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import UNKNOWN, Json, Origin, Role

Speaker = Literal["system", "user", "assistant", "tool"]


class SeenCall(NamedTuple):
    """A call that a message asks for.

    Attributes:
        name: The tool's name.
        id: The source's id of the call, if it has one.
        arguments: Parsed, or `UNKNOWN`.
        text: The arguments as the model wrote them, where the source has only the text.
        extra: What else the source says of the call.
    """

    name: str
    id: str | None = None
    arguments: Json = UNKNOWN
    text: str | None = None
    extra: dict[str, Json] | None = None


class SeenResult(NamedTuple):
    """A result that a message brings.

    Attributes:
        call_id: Of the call that it answers, if the source says.
        name: The tool's name, if the source says.
        content: What came back, or `UNKNOWN`.
        ok: True or False where the source has a flag for it.
        error: ``{"type", "message"}``, where the source has one.
        extra: What else the source says of the result.
    """

    call_id: str | None = None
    name: str | None = None
    content: Json = UNKNOWN
    ok: bool | None = None
    error: dict[str, str] | None = None
    extra: dict[str, Json] | None = None


Piece = dict[str, Any] | SeenCall | SeenResult
"""A part as `text_part` and its kin make them, a call, or a result."""


class Message(NamedTuple):
    """One message.

    Attributes:
        speaker: Its role in our words; ``tool`` for one that brings results only.
        pieces: What it says, in order.
        name: Of the participant, if given.
        id: The source's id of the message, if it has one.
        extra: Fields of the message that are none of these.
    """

    speaker: Speaker
    pieces: tuple[Piece, ...]
    name: str | None = None
    id: str | None = None
    extra: dict[str, Json] | None = None

    @property
    def calls(self) -> tuple[SeenCall, ...]:
        """The calls it asks for."""
        return tuple([piece for piece in self.pieces if type(piece) is SeenCall])

    @property
    def results(self) -> tuple[SeenResult, ...]:
        """The results it brings."""
        return tuple([piece for piece in self.pieces if type(piece) is SeenResult])

    @property
    def parts(self) -> tuple[dict[str, Any], ...]:
        """Its text, reasoning and media."""
        return tuple([piece for piece in self.pieces if isinstance(piece, dict)])

    @property
    def text(self) -> str:
        """Its text parts joined by newlines."""
        return "\n".join([part["text"] for part in self.parts if part["type"] == "text"])


_ROLES: dict[Speaker, tuple[Role, Origin]] = {
    "system": ("system", "harness"),
    "user": ("user", "human"),
    "assistant": ("assistant", "agent"),
    "tool": ("user", "environment"),
}


def tell(
    log: Transcript, message: Message, *, keep_as: str, **fields: Any
) -> dict[str, Any] | None:
    """Add a message to a transcript: its results to their calls, the rest as one turn.

    Args:
        log: Where it is told.
        message: What is told.
        keep_as: Key under which the turn keeps the message's further fields.
        **fields: Further fields of the turn.

    Returns:
        The turn, or None when the message brought nothing but results.
    """
    is_reply = message.speaker == "assistant"
    for result in () if is_reply else message.results:
        answer(log, result, keep_as=keep_as)
    parts, calls = message.parts, message.calls
    turn = None
    if parts or calls or not (message.results or message.speaker == "tool"):
        role, origin = _ROLES[message.speaker]
        kept = {**({"id": message.id} if message.id else {}), **(message.extra or {})}
        own = {keep_as: kept or None, **fields}
        turn = log.say(role, parts, origin=origin, name=message.name, **own)
    for piece in message.pieces:
        if isinstance(piece, SeenCall):
            ask(log, piece, keep_as=keep_as)
        elif is_reply and isinstance(piece, SeenResult):
            answer(log, piece, keep_as=keep_as)
    return turn


def answer(log: Transcript, result: SeenResult, *, keep_as: str) -> dict[str, Any]:
    """Add a result to its call in a transcript; see `tell`."""
    extra: dict[str, Any] = {keep_as: result.extra} if result.extra else {}
    return log.answer(
        result.call_id,
        name=result.name,
        content=result.content,
        ok=result.ok,
        error=result.error,
        **extra,
    )


def ask(log: Transcript, call: SeenCall, *, keep_as: str, **fields: Any) -> dict[str, Any]:
    """Add a call, with further fields of it, to the last turn of a transcript; see `tell`."""
    extra: dict[str, Any] = {keep_as: call.extra} if call.extra else {}
    return log.request(
        call.name, call_id=call.id, arguments=call.arguments, text=call.text, **extra, **fields
    )
