"""Anthropic's Messages API: requests and responses as traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.message_pieces import Message
from tracedance_sdk.formats.message_shapes import read_message
from tracedance_sdk.formats.model_calls import ModelCall, Thread, Threads
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.places import Misfit
from tracedance_sdk.formats.provider_logs import problem_of, records_of, told
from tracedance_sdk.formats.recorded_requests import Exchange, exchange_of
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.trace import Json, Trace, imported_trace_id

COLLECTOR: Final = "anthropic_messages"
KEPT: Final = "anthropic_messages"

_SETTINGS: Final = (
    "max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "tool_choice", "thinking",
    "service_tier", "output_config",
)  # fmt: skip
_SAID: Final = frozenset({"id", "type", "role", "content", "model", "stop_reason", "usage"})
_REQUEST: Final = frozenset({"model", "messages", "system", "tools", *_SETTINGS})
_COUNTED: Final = (
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
)  # fmt: skip
_NOTHING: Final[tuple[Json, ...]] = (None, [], {}, "")


def traces_from_anthropic(
    documents: Iterable[Document], path: Path
) -> Iterator[Trace | ImportProblem]:
    """Yield the conversations in a file of requests and responses.

    Args:
        documents: Of the file: bodies of requests, messages that came back, pairs of both under
            ``request`` and ``response``, entries of batches.
        path: The file.
    """
    threads = Threads(KEPT)
    for record, place, line in records_of(documents, path, _is_one):
        try:
            threads.add(call_of(record))
        except Misfit as misfit:
            yield problem_of(place.located(misfit), path, line)
    yield from told(threads, path, _trace)


def _is_one(items: list[Json]) -> bool:
    """Whether a list holds the messages of one conversation, not records."""
    return bool(items) and all(
        isinstance(item, dict) and item.get("role") in ("user", "assistant") and "id" not in item
        for item in items
    )


def call_of(record: Json) -> ModelCall:
    """Return the request and reply that a record holds.

    Raises:
        Misfit: It holds neither.
    """
    if isinstance(record, list):
        return ModelCall(_messages(record, ()), None, {})
    if not isinstance(record, dict):
        raise Misfit(f"expected an object, got {record!r:.40}")
    exchange = exchange_of(record)
    if exchange is None:
        is_reply = record.get("type") in ("message", "error") and "messages" not in record
        exchange = Exchange(None, record, {}) if is_reply else Exchange(record, None, {})
    request, response = exchange.request or {}, exchange.response
    inputs: tuple[Message, ...] = ()
    if "messages" in request:
        if not isinstance(request["messages"], list):
            raise Misfit(f"expected a list, got {request['messages']!r:.40}", "messages")
        inputs = _messages(request["messages"], ("messages",))
    elif response is None:
        raise Misfit("field required", "messages")
    own_id = (response or {}).get("id")
    thread = request.get("thread")
    follows = thread.get("previous_message_id") if isinstance(thread, dict) else None
    return ModelCall(
        inputs,
        None if response is None else _reply(response),
        _fields(request, response or {}, exchange.beside),
        system=_system(request.get("system")),
        tools=read_tools(request.get("tools")),
        id=own_id if isinstance(own_id, str) else None,
        follows=follows if isinstance(follows, str) else None,
    )


def _messages(items: list[Json], steps: tuple[str, ...]) -> tuple[Message, ...]:
    found: list[Message] = []
    for index, item in enumerate(items):
        message = read_message(item)
        if message is None:
            raise Misfit(f"expected a message, got {item!r:.40}", *steps, index)
        found.append(message)
    return tuple(found)


def _reply(response: dict[str, Any]) -> tuple[Message, ...]:
    message = read_message({"role": "assistant", "content": response.get("content")})
    return () if message is None else (message,)


def _system(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    message = read_message({"role": "system", "content": value}) if value else None
    texts = [part["text"] for part in message.parts if part["type"] == "text"] if message else []
    return "\n\n".join(texts) if texts else None


def _fields(
    request: dict[str, Any], response: dict[str, Any], beside: dict[str, Any]
) -> dict[str, Any]:
    settings = {key: request[key] for key in _SETTINGS if request.get(key) not in _NOTHING}
    rest = {k: v for k, v in response.items() if k not in _SAID and v not in _NOTHING}
    asked = {k: v for k, v in request.items() if k not in _REQUEST and v not in _NOTHING}
    usage, details = _usage(response.get("usage"))
    kept = {
        "id": response.get("id"), **rest, "usage": details, "request": asked, "record": beside,
    }  # fmt: skip
    times = Exchange(None, None, beside)
    return {
        "model": response.get("model") or request.get("model"),
        "usage": usage,
        "finish_reason": response.get("stop_reason"),
        "settings": settings or None,
        "started_at": times.started_at,
        "ended_at": times.ended_at,
        "response": {k: v for k, v in kept.items() if v not in _NOTHING} or None,
    }


def _usage(usage: Json) -> tuple[dict[str, Json] | None, dict[str, Json]]:
    """Return the fields of `Usage`, and what else the usage says.

    Anthropic counts tokens read from the cache and written to it apart from the input; `Usage`
    includes them.
    """
    if not isinstance(usage, dict):
        return None, {}
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    parts = [v for v in (usage.get("input_tokens"), read, written) if type(v) is int]
    found = {
        "input_tokens": sum(parts) if type(usage.get("input_tokens")) is int else None,
        "output_tokens": usage.get("output_tokens"),
        "cache_read_tokens": read,
        "cache_write_tokens": written,
    }
    known = (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    )
    rest = {k: v for k, v in usage.items() if k not in known and v not in _NOTHING}
    return {k: v for k, v in found.items() if type(v) is int} or None, rest


def _trace(thread: Thread, uri: str) -> Trace:
    first, last = thread.calls[0], thread.calls[-1]
    beside = last.fields.get("response") or {}
    error = beside.get("error") if isinstance(beside, dict) else None
    outcome = None
    if isinstance(error, dict):
        told = {"type": str(error.get("type", "error")), "message": str(error.get("message", ""))}
        outcome = {"ended": False, "error": told}
    return thread.log.trace(
        imported_trace_id(COLLECTOR, "", thread.key),
        where=uri,
        system_prompt=thread.system,
        tools=list(thread.tools.values()),
        outcome=outcome,
        source={"collector": COLLECTOR, "uri": uri, "native_id": thread.key},
        started_at=first.fields.get("started_at"),
        ended_at=last.fields.get("ended_at"),
    )
