"""Calls of a conversation: asked for in a message, executed by a tool, answered in a message."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.otel.dialects.decoding import literal
from tracedance_sdk.trace import UNKNOWN, Json, call_key, parse_json

_NO_LETTERS: Final = re.compile(r"\W+")


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


class Requests:
    """Finds the request that an execution or an answer belongs to, in constant time.

    Whoever was found under one name is left in the queues under its others, and passed over there.

    Attributes:
        looks_back: Requests of every turn can be found without an id, the earliest first: the
            turns were all told before the first execution.
    """

    def __init__(self) -> None:
        self.looks_back = False
        self._waiting: dict[str, list[tuple[Said, deque[Asked]]]] = {}
        self._unanswered: dict[str, deque[Asked]] = {}
        self._last: Said | None = None
        self._last_with_calls: Said | None = None
        self._by_key: dict[tuple[str, bool], deque[Asked]] = {}
        self._by_name: dict[tuple[str, bool], deque[Asked]] = {}
        self._to_answer: dict[str | None, deque[Asked]] = {}

    def opened(self, said: Said) -> None:
        """Take a turn that has begun: only its requests can be found without an id."""
        self._last = said
        if not self.looks_back:
            self._by_key, self._by_name = {}, {}

    def add(self, said: Said, asked: Asked) -> None:
        """Take a call of a turn, which need not be the last."""
        said.calls.append(asked)
        call_id, name = asked.call["id"], asked.call["name"]
        if said is not self._last_with_calls:
            self._last_with_calls, self._to_answer = said, {}
        for word in (None, name):
            self._to_answer.setdefault(word, deque()).append(asked)
        self._unanswered.setdefault(call_id, deque()).append(asked)
        if asked.order is not None:
            return
        if not asked.invented:
            waiting = self._waiting.setdefault(call_id, [])
            if not waiting or waiting[-1][0] is not said:
                waiting.append((said, deque()))
            waiting[-1][1].append(asked)
        if said is self._last:
            key = call_key(name, asked.call.get("arguments"))
            for invented in {False, asked.invented}:
                self._by_key.setdefault((key, invented), deque()).append(asked)
                self._by_name.setdefault((name, invented), deque()).append(asked)

    def executed(self, call: dict[str, Any]) -> Asked | None:
        """Find the request that an executed call answers, and note how it was found.

        By id in any turn, the latest first; else by what it says, in the last turn, among
        requests that do not have another id.
        """
        given = call.get("id")
        asked = None if given is None else self._by_id(given)
        if asked is not None:
            asked.call["bound_by"] = "id"
            return asked
        names = dict.fromkeys((call["name"], function_name(call["name"])))
        keys = [call_key(name, call.get("arguments")) for name in names]
        only_invented = given is not None
        by_key = (self._by_key.get((key, only_invented)) for key in keys)
        by_name = (self._by_name.get((name, only_invented)) for name in names)
        for bound_by, queues in (("key", by_key), ("order", by_name)):
            asked = next((one for q in queues if (one := _first(q, _is_waiting))), None)
            if asked is not None:
                asked.call["bound_by"] = bound_by
                break
        if asked is None:
            return None
        if given is not None:
            asked.call["id"] = given
            self._unanswered.setdefault(given, deque()).append(asked)
        return asked

    def answered(self, call_id: object, name: str | None) -> Asked | None:
        """Find the call that a result in a message belongs to: by id, in order when ids repeat.

        Without an id it is the first unanswered call of the last turn that has one, of that name
        where the message names the tool; with an id that nobody has, the first of these to which
        no id was given, which then has it.
        """
        if not isinstance(call_id, str) or not call_id:
            return _first(self._to_answer.get(name or None), _is_unanswered)
        if call_id in self._unanswered:
            return _first(self._unanswered[call_id], _is_unanswered)
        asked = _first(self._to_answer.get(name or None), _is_unanswered)
        if asked is None or not asked.invented:
            return None
        asked.call["id"], asked.invented = call_id, False
        return asked

    def only_open(self) -> Asked | None:
        """Return the one call of the last turn that has calls, if nothing is known of its end."""
        calls = () if self._last_with_calls is None else self._last_with_calls.calls
        alone = calls[0] if len(calls) == 1 else None
        return alone if alone is not None and "result" not in alone.call else None

    def _by_id(self, call_id: str) -> Asked | None:
        waiting = self._waiting.get(call_id, [])
        while waiting:
            asked = _first(waiting[-1][1], _is_waiting)
            if asked is not None:
                return asked
            waiting.pop()
        return None


def _first(queue: deque[Asked] | None, is_free: Callable[[Asked], bool]) -> Asked | None:
    while queue:
        if is_free(queue[0]):
            return queue[0]
        queue.popleft()
    return None


def function_name(title: str) -> str:
    """Return the name that a model is told of a tool whose own is a title: words become one."""
    return _NO_LETTERS.sub("_", title).strip("_").lower()


def _is_waiting(asked: Asked) -> bool:
    return asked.order is None


def _is_unanswered(asked: Asked) -> bool:
    return not asked.answered


def answer(asked: Asked, result: dict[str, Json]) -> bool:
    """Give a call the result a message brought; True when the call had none from its tool."""
    asked.answered = True
    known = asked.call.get("result")
    if known is None:
        asked.call["result"] = result
        return True
    if "content" not in known and "content" in result and not known.get("interrupted"):
        known["content"] = result["content"]
        return True
    return False


def read_arguments(arguments: Json) -> dict[str, Json]:
    """Return the fields of a call that say its arguments; JSON text is parsed.

    The text of a Python literal is read, too, and kept as it was written. Any other text that is no
    JSON is only kept, and the arguments are unknown.
    """
    if arguments is UNKNOWN:
        return {}
    if not isinstance(arguments, str):
        return {"arguments": arguments}
    try:
        found = parse_json(arguments or "{}", where="arguments")
        if isinstance(found, str):
            found = parse_json(found or "{}", where="arguments")
    except InvalidJSON:
        read = literal(arguments)
        raw: dict[str, Json] = {"raw_arguments": arguments}
        return raw if read is UNKNOWN else {"arguments": read, **raw}
    return {"arguments": found}
