"""Calls of a conversation: asked for in a message, executed by a tool, answered in a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.trace import UNKNOWN, Json, Request, bind, call_key, parse_json


@dataclass
class Asked:
    """A call on its way: its document so far, and what is known of it.

    Attributes:
        invented: The id was made by us.
        order: Place among the executed calls; None while nobody executed it.
        answered: A message brought its result.
    """

    call: dict[str, Any]
    invented: bool = False
    order: int | None = None
    answered: bool = False

    @property
    def key(self) -> str:
        """Canonical key of the call."""
        return call_key(self.call["name"], self.call.get("arguments"))


@dataclass
class Said:
    """A turn on its way: its document without calls, and the calls."""

    turn: dict[str, Any]
    calls: list[Asked] = field(default_factory=list)

    def ordered(self) -> list[Asked]:
        """Return the calls: executed ones in order of start, then the others as requested."""
        executed = [asked for asked in self.calls if asked.order is not None]
        executed.sort(key=lambda asked: asked.order or 0)
        return executed + [asked for asked in self.calls if asked.order is None]

    def document(self, index: int, first_call: int) -> dict[str, Any]:
        """Return the turn's document with its calls numbered from `first_call`."""
        calls = [{**a.call, "index": first_call + n} for n, a in enumerate(self.ordered())]
        return {**self.turn, "index": index, "calls": calls}


def open_request(said: Sequence[Said], call: dict[str, Any]) -> Asked | None:
    """Find the request that an executed call answers, and note how it was found.

    By id in any turn, the latest first; else by what it says, in the last turn, among requests
    that do not have another id.
    """
    given = call.get("id")
    if given is not None:
        for asked in _backwards(said):
            if asked.order is None and not asked.invented and asked.call["id"] == given:
                asked.call["bound_by"] = "id"
                return asked
    last = said[-1].calls if said else []
    free = [a for a in last if a.order is None and (a.invented or given is None)]
    requests = [Request(None, asked.call["name"], asked.key) for asked in free]
    key = call_key(call["name"], call.get("arguments"))
    found = bind(requests, (), call_id=None, name=call["name"], key=key)
    if found is None:
        return None
    asked = free[found[0]]
    asked.call["bound_by"] = found[1]
    if given is not None:
        asked.call["id"] = given
    return asked


def open_call(said: Sequence[Said], call_id: object) -> Asked | None:
    """Find the call that a result in a message belongs to: by id, in order when ids repeat.

    Without an id it is the first unanswered call of the last turn that has one.
    """
    if call_id:
        calls = [a for item in said for a in item.calls if a.call["id"] == call_id]
        return next((asked for asked in calls if not asked.answered), None)
    for item in reversed(said):
        if item.calls:
            return next((asked for asked in item.calls if not asked.answered), None)
    return None


def answer(asked: Asked, content: Json) -> bool:
    """Give a call the result a message brought; True when the call had none from its tool."""
    asked.answered = True
    result = asked.call.get("result")
    if result is None:
        asked.call["result"] = {"ok": None, "content": content}
        return True
    if "content" not in result and result.get("ok") is not False:
        result["content"] = content
        return True
    return False


def read_arguments(arguments: Json) -> dict[str, Json]:
    """Return the fields of a call that say its arguments; JSON text is parsed.

    Text that is no JSON is kept as it was written, and the arguments are unknown.
    """
    if arguments is UNKNOWN:
        return {}
    if not isinstance(arguments, str):
        return {"arguments": arguments}
    try:
        return {"arguments": parse_json(arguments or "{}", where="arguments")}
    except InvalidJSON:
        return {"raw_arguments": arguments}


def _backwards(said: Sequence[Said]) -> Iterator[Asked]:
    for item in reversed(said):
        yield from item.calls
