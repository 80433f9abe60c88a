"""What Inspect's events say of the turns and calls of a sample: when, how long, at what cost."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Any, Final

from tracedance_sdk.trace import Json, call_key

QUIET: Final = frozenset(
    {"sample_init", "state", "store", "step", "span_begin", "span_end", "model", "tool"}
)
"""Events that repeat what the messages say or only structure the run; they are counted."""

_USAGE: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "input_tokens_cache_read": "cache_read_tokens",
    "input_tokens_cache_write": "cache_write_tokens",
    "reasoning_tokens": "reasoning_tokens",
}
_REPEATED: Final = frozenset({"input", "input_refs", "call", "call_refs"})
_SAID: Final = frozenset({"event", "type", "id", "function", "arguments", "result", "view"})


class Events:
    """The events of a sample, found by the message or the call they belong to.

    Args:
        events: Of the sample, attachments resolved.
    """

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.counts = Counter(str(event.get("event")) for event in events)
        self.others = [event for event in events if str(event.get("event")) not in QUIET]
        self.tools: dict[str, dict[str, Any]] = {}
        """Definitions of every tool that a model was shown, by name."""
        self._by_id: dict[str, dict[str, Any]] = {}
        self._by_words: defaultdict[tuple[str, ...], deque[dict[str, Any]]] = defaultdict(deque)
        self._used: set[int] = set()
        self._model = [event for event in events if event.get("event") == "model"]
        self._tool: defaultdict[str, deque[dict[str, Any]]] = defaultdict(deque)
        for event in events:
            if event.get("event") == "tool" and isinstance(event.get("id"), str):
                self._tool[event["id"]].append(event)
        for event in self._model:
            self._index(event)
        stamps = [e["timestamp"] for e in events if isinstance(e.get("timestamp"), str)]
        self.first: str | None = stamps[0] if stamps else None
        self.last: str | None = stamps[-1] if stamps else None

    def _index(self, event: dict[str, Any]) -> None:
        tools = event.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                self.tools.setdefault(tool["name"], tool)
        message = _reply(event)
        if isinstance(message.get("id"), str):
            self._by_id[message["id"]] = event
        else:
            self._by_words[_words(message)].append(event)

    def of_message(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the model event that gave an assistant's message; None when there is none."""
        event = self._by_id.get(message["id"]) if isinstance(message.get("id"), str) else None
        waiting = self._by_words.get(_words(message))
        if event is None and waiting:
            event = waiting.popleft()
        if event is not None:
            self._used.add(id(event))
        return event

    def of_call(self, call_id: str | None) -> dict[str, Any] | None:
        """Return the next tool event of this call; None when there is none."""
        waiting = self._tool.get(call_id) if call_id else None
        return waiting.popleft() if waiting else None

    def unclaimed(self) -> list[dict[str, Any]]:
        """Return the model calls whose reply is no message of the sample."""
        return [
            {key: item for key, item in event.items() if key != "tools"}
            for event in self._model
            if id(event) not in self._used
        ]


def slim(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without what is repeated elsewhere: a model call's input and raw request."""
    if event.get("event") != "model":
        return event
    kept = {key: item for key, item in event.items() if key not in _REPEATED}
    return {**kept, "input_messages": _length(event)}


def turn_fields(event: dict[str, Any]) -> dict[str, Any]:
    """Return what a model event says of the turn that it gave, as fields of `Turn`."""
    output = event.get("output")
    output = output if isinstance(output, dict) else {}
    config = event.get("config")
    beside = {
        key: event[key]
        for key in ("working_time", "retries", "cache", "error", "role", "tool_choice")
        if event.get(key) not in (None, [], {})
    }
    return {
        "usage": usage_fields(output.get("usage")),
        "finish_reason": _choice(event).get("stop_reason"),
        "settings": config if isinstance(config, dict) and config else None,
        "started_at": event.get("timestamp"),
        "ended_at": event.get("completed"),
        "model": output.get("model") or event.get("model"),
        "event": beside or None,
    }


def usage_fields(usage: Json) -> dict[str, Json] | None:
    """Return the fields of `Usage` from Inspect's; None when there are none.

    Where the total shows that cached tokens are not part of the input, they are added to it.
    """
    if not isinstance(usage, dict):
        return None
    found = {ours: usage[key] for key, ours in _USAGE.items() if _is_count(usage.get(key))}
    parts = [found.get(key, 0) for key in ("input_tokens", "output_tokens")]
    cached = sum(found.get(key, 0) for key in ("cache_read_tokens", "cache_write_tokens"))
    if cached and usage.get("total_tokens") == sum(parts) + cached:
        found["input_tokens"] = parts[0] + cached
    cost = usage.get("total_cost")
    if isinstance(cost, (int, float)) and not isinstance(cost, bool):
        found["cost_usd"] = cost
    return found or None


def call_fields(event: dict[str, Any]) -> dict[str, Any]:
    """Return what a tool event says of its call, as fields of `Call`."""
    spent = event.get("working_time")
    if not isinstance(spent, (int, float)) or isinstance(spent, bool):
        spent = None
    rest = {k: v for k, v in event.items() if k not in _SAID and v not in (None, [], {})}
    return {
        "started_at": event.get("timestamp"),
        "duration_ms": None if spent is None else spent * 1000,
        "event": {k: v for k, v in rest.items() if k not in ("timestamp", "events")} or None,
    }


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _choice(event: dict[str, Any]) -> dict[str, Any]:
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _reply(event: dict[str, Any]) -> dict[str, Any]:
    message = _choice(event).get("message")
    return message if isinstance(message, dict) else {}


def _length(event: dict[str, Any]) -> int:
    refs, given = event.get("input_refs"), event.get("input")
    if isinstance(refs, list) and refs:
        return sum(ref[1] - ref[0] for ref in refs if _is_range(ref))
    return len(given) if isinstance(given, list) else 0


def _is_range(value: Json) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_is_count(item) for item in value)


def _words(message: dict[str, Any]) -> tuple[str, ...]:
    """Return what tells a message without an id from others: its content and calls."""
    calls = message.get("tool_calls")
    keys = [
        call_key(str(call.get("function")), call.get("arguments"))
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]
    return (str(message.get("content")), *keys)
