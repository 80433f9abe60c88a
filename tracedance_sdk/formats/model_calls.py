"""Make conversations out of recorded calls of models, each of which repeats what came before.

A log of requests and replies holds a conversation many times over: every request repeats the
messages before it. `Threads` tells each message once. A request goes on with the conversation whose
messages it repeats; one that leaves a conversation half-way starts a branch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult, tell
from tracedance_sdk.formats.transcript import Transcript, read_arguments
from tracedance_sdk.trace import UNKNOWN, Json, call_key, source_digest

_MOST_COPIES: Final = 200_000
"""Messages copied into branches that name only the reply they leave from."""


class ModelCall(NamedTuple):
    """One request to a model, and its reply.

    Attributes:
        inputs: The messages sent, without a leading system prompt; None when not recorded.
        reply: The messages that came back, which are one turn; None when not recorded.
        fields: Further fields of the reply's turn.
        system: The system prompt.
        tools: Fields of `ToolDefinition`.
        id: The reply's id.
        follows: Id of the reply whose conversation the request goes on with.
        group: Calls whose inputs were not recorded go on with the last call of their group.
    """

    inputs: tuple[Message, ...] | None
    reply: tuple[Message, ...] | None
    fields: Mapping[str, Any]
    system: str | None = None
    tools: Sequence[dict[str, Any]] = ()
    id: str | None = None
    follows: str | None = None
    group: str = ""


class Thread:
    """One conversation.

    Attributes:
        log: Its turns.
        key: What it is known by: the id of its first own reply, or how it begins.
        calls: The calls of models in it, in order.
        system: Its first system prompt.
        tools: Every tool offered in it, by name.
    """

    def __init__(self, keep_as: str) -> None:
        self.log = Transcript()
        self.key = ""
        self.calls: list[ModelCall] = []
        self.system: str | None = None
        self.tools: dict[str, dict[str, Any]] = {}
        self.keep_as = keep_as
        self.told: list[Message] = []
        self.state = b""
        self.length = 0
        self.reply_start = 0
        self.reply_calls: tuple[str, ...] = ()

    def tell(self, message: Message, **fields: Any) -> dict[str, Any] | None:
        """Add a message; return its turn, if it is one."""
        self.told.append(message)
        return tell(self.log, message, keep_as=self.keep_as, **fields)


class Threads:
    """The conversations in a log of model calls.

    Args:
        keep_as: Key under which turns, calls and results keep what only the format has.
    """

    def __init__(self, keep_as: str) -> None:
        self._keep_as = keep_as
        self.threads: list[Thread] = []
        self._prefixes: dict[bytes, tuple[Thread, int]] = {}
        self._replies: dict[str, tuple[Thread, int, int]] = {}
        self._latest: dict[str, Thread] = {}
        self._copies_left = _MOST_COPIES
        self._told: set[bytes] = set()

    def add(self, call: ModelCall) -> tuple[Thread, dict[str, Any] | None]:
        """Add a call; return its conversation, and the turn of its reply."""
        thread, told = self._find(call)
        begins = not thread.calls
        thread.calls.append(call)
        self._latest[call.group] = thread
        for tool in call.tools:
            thread.tools.setdefault(tool["name"], tool)
        if begins:
            thread.system = call.system
        changed = call.system if call.system != thread.system else None
        for message in told:
            thread.tell(message)
            self._extend(thread, message)
        if begins:
            thread.key = call.id or thread.state.hex()
        turn = self._reply(thread, call, changed)
        if call.id is not None:
            self._replies[call.id] = (thread, thread.length, len(thread.told))
        return thread, turn

    def has_told(self, message: Message) -> bool:
        """Whether all that a message says has been told, in whatever conversation."""
        keys = (_piece_key(message, piece) for piece in message.pieces)
        return all(key is None or key in self._told for key in keys)

    def _reply(self, thread: Thread, call: ModelCall, changed: str | None) -> dict[str, Any] | None:
        if call.reply is None:
            return None
        message = _one(call.reply)
        thread.reply_start = thread.length
        thread.reply_calls = tuple(seen.name for seen in message.calls)
        extra = {"system_prompt": changed} if changed is not None else {}
        turn = thread.tell(message, **call.fields, **extra)
        if turn is None:
            turn = thread.log.say("assistant", origin="agent", **call.fields, **extra)
        self._extend(thread, message)
        return turn

    def _extend(self, thread: Thread, message: Message) -> None:
        for piece in message.pieces:
            key = _piece_key(message, piece)
            if key is not None:
                thread.state = _chained(thread.state, key)
                thread.length += 1
                self._told.add(key)
                self._prefixes[thread.state] = (thread, thread.length)

    def _find(self, call: ModelCall) -> tuple[Thread, Sequence[Message]]:
        """Return the conversation that a call goes on with, and what is new in its input."""
        inputs = call.inputs or ()
        known = self._replies.get(call.follows) if call.follows is not None else None
        if known is not None:
            thread, length, told = known
            if thread.length == length:
                return thread, inputs
            return self._copied(thread, told), inputs
        if call.follows is not None:
            begun = self._begun([], copied=0)
            begun.log.note("record_lost")
            return begun, inputs
        if call.inputs is None and call.group in self._latest:
            return self._latest[call.group], ()
        return self._repeated(inputs) if inputs else (self._begun([], copied=0), ())

    def _copied(self, thread: Thread, told: int) -> Thread:
        """Return a branch that leaves a conversation after so many messages."""
        if told > self._copies_left:
            begun = self._begun([], copied=0)
            begun.log.note("record_lost", count=told)
            return begun
        self._copies_left -= told
        return self._begun(thread.told[:told], copied=told)

    def _repeated(self, inputs: Sequence[Message]) -> tuple[Thread, Sequence[Message]]:
        states, state = [], b""
        for message in inputs:
            for piece in message.pieces:
                key = _piece_key(message, piece)
                if key is not None:
                    state = _chained(state, key)
                    states.append(state)
        for shared in range(len(states), 0, -1):
            found = self._prefixes.get(states[shared - 1])
            if found is None:
                continue
            thread, position = found
            if position == thread.length:
                return thread, _after(inputs, shared)
            if position == thread.reply_start and thread.reply_calls:
                rest = _after(inputs, shared)
                if _calls_at_start(rest) == thread.reply_calls:
                    return thread, _without_first_reply(rest)
            return self._branch(inputs, shared), ()
        return self._begun([], copied=0), inputs

    def _branch(self, inputs: Sequence[Message], shared: int) -> Thread:
        new = len(_after(inputs, shared))
        copied = len(inputs) - new
        has_reply = any(message.speaker == "assistant" for message in inputs[:copied])
        return self._begun(inputs, copied=copied if has_reply else 0)

    def _begun(self, messages: Sequence[Message], *, copied: int) -> Thread:
        thread = Thread(self._keep_as)
        self.threads.append(thread)
        for place, message in enumerate(messages):
            thread.tell(message, **({"copied_context": True} if place < copied else {}))
            self._extend(thread, message)
        return thread


def _one(messages: Sequence[Message]) -> Message:
    """Return a reply that came in several items as one message."""
    if len(messages) == 1:
        return messages[0]
    pieces = tuple(piece for message in messages for piece in message.pieces)
    extra: dict[str, Json] = {}
    for message in messages:
        extra.update(message.extra or {})
    items = [message.id for message in messages if message.id]
    if items:
        extra["items"] = items
    return Message("assistant", pieces, extra=extra or None)


def _chained(state: bytes, key: bytes) -> bytes:
    return hashlib.sha256(state + key).digest()[:16]


def _piece_key(message: Message, piece: Piece) -> bytes | None:
    """Return what makes a piece the same when it is repeated; None for reasoning, often left out.

    Ids are no part of it: some sources give a repeated call another one.
    """
    if isinstance(piece, SeenCall):
        arguments = piece.arguments
        if piece.text is not None:
            read, raw = read_arguments(piece.text)
            arguments = read if raw is None else raw
        if isinstance(arguments, dict):
            # Dumped responses spell out the nulls that requests leave away.
            arguments = {key: value for key, value in arguments.items() if value is not None}
        shown = None if arguments is UNKNOWN else arguments
        text = f"call {call_key(piece.name, shown)}"
    elif isinstance(piece, SeenResult):
        content = None if piece.content is UNKNOWN else piece.content
        text = f"result {source_digest(content)}"
    elif piece["type"] == "reasoning":
        return None
    elif piece["type"] == "text":
        if not piece["text"].strip():
            return None
        text = f"{message.speaker} {piece['text'].strip()}"
    else:
        at = piece.get("uri", piece.get("data"))
        text = f"{message.speaker} {piece.get('modality')} {source_digest(at)}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()


def _after(messages: Sequence[Message], shared: int) -> list[Message]:
    """Return what messages say after so many pieces that have a key, one at least."""
    found: list[Message] = []
    for message in messages:
        if not shared:
            found.append(message)
            continue
        left: list[Piece] = []
        for piece in message.pieces:
            if shared and _piece_key(message, piece) is not None:
                shared -= 1
            elif not shared:
                left.append(piece)
        rest = message._replace(pieces=tuple(left))
        if _has_key(rest):
            found.append(rest)
    while found and found[0].speaker == "assistant" and not _has_key(found[0]):
        del found[0]
    return found


def _has_key(message: Message) -> bool:
    return any(_piece_key(message, piece) is not None for piece in message.pieces)


def _calls_at_start(messages: Sequence[Message]) -> tuple[str, ...]:
    names: list[str] = []
    for message in messages:
        if message.speaker != "assistant":
            break
        names += [call.name for call in message.calls]
    return tuple(names)


def _without_first_reply(messages: Sequence[Message]) -> Sequence[Message]:
    place = 0
    while place < len(messages) and messages[place].speaker == "assistant":
        place += 1
    return messages[place:]
