"""The body of a reply that a program reads in pieces: JSON, or server-sent events.

The pieces are kept as they pass, up to a bound, and looked into when the program has read all of
them or leaves; nothing is read for the record alone.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating.client_requests import as_json
from tracedance_sdk.recording.integrating.model_calls import ModelReply
from tracedance_sdk.recording.integrating.streams import Pieces

NOT_SEEN: Final = ModelReply(None, further={"not_seen": True})
"""The reply of a model whose words nobody here has seen."""

MOST: Final = 32 * 1024 * 1024
"""Bytes or characters that are kept of a body; a longer one is not seen."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_FIELDS: Final = frozenset({"data", "event", "id", "retry"})
_LAST: Final = frozenset(
    {"message_stop", "response.completed", "response.incomplete", "response.failed"}
)
_DONE: Final = "[DONE]"


class Body:
    """Collects the pieces of a body.

    Args:
        read: Returns the reply in a parsed body.
        pieces: Makes what collects the pieces of a stream of events.
        end: What the client has taken from the end of each piece.
    """

    def __init__(
        self,
        read: Callable[[Any], ModelReply | None],
        pieces: Callable[[], Pieces],
        *,
        end: str = "",
    ) -> None:
        self._read = read
        self._pieces = pieces
        self._end = end
        self._kept: io.BytesIO | io.StringIO | None = None
        self._size = 0
        self._found: tuple[ModelReply | None, bool] | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a piece has come."""
        return self._size > 0

    @property
    def is_whole(self) -> bool:
        """Whether what has come is a whole reply, so that nobody needs to read on."""
        return self._seen()[1]

    def add(self, piece: Any) -> None:
        """Take the next piece, bytes or text."""
        self._found = None
        self._size += len(piece) + len(self._end)
        if self._size > MOST:
            self._kept = None
            return
        if self._kept is None:
            self._kept = io.StringIO(newline="") if isinstance(piece, str) else io.BytesIO()
        self._kept.write(piece)
        if self._end:
            self._kept.write(self._end)  # type: ignore[arg-type]  # lines are text

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        return self._seen()[0] or NOT_SEEN

    def _seen(self) -> tuple[ModelReply | None, bool]:
        found = self._found
        if found is None:
            found = self._found = self._look()
        return found

    def _look(self) -> tuple[ModelReply | None, bool]:
        if self._kept is None:
            return None, False
        return read_body(self._kept.getvalue(), self._read, self._pieces)


def read_body(
    body: bytes | str, read: Callable[[Any], ModelReply | None], pieces: Callable[[], Pieces]
) -> tuple[ModelReply | None, bool]:
    """Return the reply in a body, as far as it has come, and whether that is all of it.

    Args:
        body: JSON, or server-sent events.
        read: Returns the reply in parsed JSON.
        pieces: Makes what collects the pieces of a stream of events.
    """
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] not in ("{", "["):
        return _replay(text, pieces())
    parsed = _parsed(text)
    return (None, False) if parsed is None else (said_or_failed(read, parsed), True)


def _replay(text: str, collected: Pieces) -> tuple[ModelReply | None, bool]:
    """Return what a stream of events tells, and whether it is at its end."""
    failure, is_whole = None, False
    for data in _events(text):
        if data.startswith(_DONE):
            is_whole = True
            break
        event = _parsed(data, _EVENTS)
        if not isinstance(event, Told):
            continue
        kind = event.get("type")
        is_whole = is_whole or (isinstance(kind, str) and kind in _LAST)
        failed = _failure(event)
        if failed is None:
            GUARD.attempt("piece", PROCESS_FAULTS, collected.add, event)
        else:
            failure = failed
    reply = collected.reply()
    if failure is None:
        return reply, is_whole
    reply = reply or ModelReply(None)
    return reply._replace(further={**(reply.further or {}), "error": failure}), True


def said_or_failed(read: Callable[[Any], ModelReply | None], found: Any) -> ModelReply | None:
    """Return the reply in a body, or the error that came in its place with a status of success.

    Raises:
        InvalidTrace: The body is neither, nor does it name a model.
    """
    try:
        return read(found)
    except InvalidTrace:
        body = as_json(found)
        failure = _failure(body) if isinstance(body, dict) else None
        if failure is not None:
            return ModelReply(None, further={"error": failure})
        if not isinstance(body, dict) or not isinstance(body.get("model"), str):
            raise
        # A filter may leave nothing of what was said.
        usage, told = body.get("usage"), body.get("id")
        return ModelReply(
            None,
            body["model"],
            usage if isinstance(usage, dict) else None,
            response_id=told if isinstance(told, str) else None,
        )


class Told(dict[str, Any]):
    """An object of JSON, looked into as a client's model is; what it does not tell is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    @property
    def model_extra(self) -> dict[str, Any]:
        """All that it tells."""
        return self


def _events(text: str) -> Iterator[str]:
    """Return the data of each event that has come to its end.

    A client that gives lines ends them at line separators inside the data too: a line that begins
    with no field of an event goes on with the data before it.
    """
    data: list[str] = []
    for line in _LINE_END.split(text):
        if not line:
            if data:
                yield "\n".join(data)
            data = []
            continue
        field, colon, value = line.partition(":")
        if field == "data" and colon:
            data.append(value.removeprefix(" "))
        elif field and field not in _FIELDS and data:
            data.append(line)
    if data:
        # The program may have left before the empty line, and a server that ends may lack it.
        yield "\n".join(data)


_BODIES: Final = json.JSONDecoder(strict=False)
_EVENTS: Final = json.JSONDecoder(object_hook=Told, strict=False)


def _parsed(text: str, decoder: json.JSONDecoder = _BODIES) -> Any:
    try:
        return decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def _failure(event: dict[str, Any]) -> dict[str, str] | None:
    """Return the error that an event tells instead of a piece."""
    is_error = event.get("type") == "error"
    error = event.get("error") or (event if is_error else None)
    if not error or (not is_error and "type" in event):
        return None
    if not isinstance(error, dict):
        return {"type": "error", "message": str(error)}
    kind = error.get("type") if error is not event else None
    told = kind or error.get("code") or "error"
    return {"type": str(told), "message": str(error.get("message") or "")}
