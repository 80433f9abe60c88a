"""OpenAI's Responses API: requests, responses and streams of events as traces.

A response object holds what came back; what was sent stands in the request beside it, or, for a
chain of ``previous_response_id``, in the requests before. Reasoning is there as far as the API
shows it: as summaries.
"""

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
from tracedance_sdk.formats.recorded_requests import Exchange, exchange_of, time_text
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.trace import Json, Trace, imported_trace_id

COLLECTOR: Final = "openai_responses"
KEPT: Final = "openai_responses"

_ENDS: Final = frozenset({"response.completed", "response.failed", "response.incomplete"})
_SETTINGS: Final = (
    "temperature", "top_p", "max_output_tokens", "max_tool_calls", "tool_choice",
    "parallel_tool_calls", "reasoning", "text", "truncation", "service_tier", "top_logprobs",
)  # fmt: skip
_ASKED: Final = frozenset(
    {"model", "input", "instructions", "tools", "previous_response_id", *_SETTINGS}
)
_SAID: Final = frozenset(
    {
        "id", "object", "model", "output", "usage", "tools", "instructions", "created_at", "status",
        "completed_at", *_SETTINGS,
    }
)  # fmt: skip


def traces_from_responses(
    documents: Iterable[Document], path: Path
) -> Iterator[Trace | ImportProblem]:
    """Yield the conversations in a file of requests and responses.

    Args:
        documents: Of the file: bodies of requests, response objects, pairs of both under
            ``request`` and ``response``, entries of batches, events of streams.
        path: The file.
    """
    threads = Threads(KEPT)
    for record, place, line in records_of(documents, path, _is_one):
        try:
            call = call_of(record)
        except Misfit as misfit:
            yield problem_of(place.located(misfit), path, line)
            continue
        if call is not None:
            threads.add(call)
    yield from told(threads, path, _trace)


def _is_one(items: list[Json]) -> bool:
    """Whether a list holds the items of one conversation, not records."""
    return all(read_message(item) is not None for item in items) and any(
        (isinstance(item, dict) and "output" not in item) or "call_id" in item for item in items
    )


def call_of(record: Json) -> ModelCall | None:
    """Return the request and reply that a record holds; None for an event that ends nothing.

    Raises:
        Misfit: It holds neither.
    """
    if isinstance(record, list):
        return ModelCall(_messages(record, "$"), None, {})
    if not isinstance(record, dict):
        raise Misfit(f"expected an object, got {record!r:.40}")
    kind = record.get("type")
    if isinstance(kind, str) and kind.startswith("response."):
        response = record.get("response")
        if kind not in _ENDS or not isinstance(response, dict):
            return None
        return _of_exchange(Exchange(None, response, {}))
    exchange = exchange_of(record)
    if exchange is None:
        is_response = record.get("object") == "response" or "output" in record
        exchange = Exchange(None, record, {}) if is_response else Exchange(record, None, {})
    return _of_exchange(exchange)


def request_of(body: dict[str, Any]) -> ModelCall:
    """Return what the body of a request asks.

    Raises:
        Misfit: Its input cannot be read.
    """
    system, follows = body.get("instructions"), body.get("previous_response_id")
    return ModelCall(
        _input(body.get("input", [])),
        None,
        {"settings": _settings(body, {})},
        system=system if isinstance(system, str) else _text_of(system),
        tools=read_tools(body.get("tools")),
        follows=follows if isinstance(follows, str) else None,
    )


def reply_of(body: dict[str, Any]) -> ModelCall:
    """Return what a response object says.

    Raises:
        Misfit: Its output cannot be read.
    """
    own_id = body.get("id")
    return ModelCall(
        None,
        _messages(body.get("output"), "output"),
        {
            "model": body.get("model"),
            "usage": _usage(body.get("usage")),
            "finish_reason": _reason(body),
            "settings": _settings({}, body),
        },
        id=own_id if isinstance(own_id, str) else None,
    )


def _of_exchange(exchange: Exchange) -> ModelCall:
    request, response = exchange.request or {}, exchange.response
    asked, came = dict(request), response or {}
    if "input" not in request and not isinstance(came.get("output"), list) and "error" not in came:
        raise Misfit("neither an input nor an output")
    inputs = _input(request["input"]) if "input" in request else None
    system = request.get("instructions", came.get("instructions"))
    follows = request.get("previous_response_id", came.get("previous_response_id"))
    if inputs is None and not isinstance(follows, str):
        inputs = ()
    own_id = came.get("id")
    return ModelCall(
        inputs,
        None if response is None else _messages(came.get("output") or [], "output"),
        _fields(asked, came, exchange),
        system=system if isinstance(system, str) else _text_of(system),
        tools=read_tools(request.get("tools", came.get("tools"))),
        id=own_id if isinstance(own_id, str) else None,
        follows=follows if isinstance(follows, str) else None,
        group=str(follows) if isinstance(follows, str) else "",
    )


def _input(value: Json) -> tuple[Message, ...]:
    if isinstance(value, str):
        message = read_message(value, speaker="user")
        return () if message is None else (message,)
    if not isinstance(value, list):
        raise Misfit(f"expected text or a list, got {value!r:.40}", "input")
    return _joined(_messages(value, "input"))


def _messages(items: Json, key: str) -> tuple[Message, ...]:
    found: list[Message] = []
    for index, item in enumerate(items if isinstance(items, list) else ()):
        message = read_message(item)
        if message is None and isinstance(item, dict) and item.get("type") == "item_reference":
            continue
        if message is None and isinstance(item, dict):
            message = read_message({"role": "assistant", "content": [item]})
        if message is None:
            raise Misfit(f"expected an item, got {item!r:.40}", key, index)
        found.append(message)
    return tuple(found)


def _joined(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the items of one reply, which stand side by side, as one message."""
    found: list[Message] = []
    for message in messages:
        before = found[-1] if found else None
        if before is not None and before.speaker == message.speaker == "assistant":
            found[-1] = before._replace(pieces=(*before.pieces, *message.pieces))
        else:
            found.append(message)
    return tuple(found)


def _text_of(value: Json) -> str | None:
    items = value if isinstance(value, list) else ()
    texts = [m.text for item in items if (m := read_message(item, speaker="system")) is not None]
    return "\n\n".join(texts) if texts else None


def _fields(
    request: dict[str, Any], response: dict[str, Any], exchange: Exchange
) -> dict[str, Any]:
    """Return what a response says of its turn."""
    rest = {k: v for k, v in response.items() if k not in _SAID and v not in (None, [], {}, "")}
    asked = {k: v for k, v in request.items() if k not in _ASKED and v not in (None, [], {}, "")}
    rest.update({k: v for k, v in (("request", asked), ("record", exchange.beside)) if v})
    own_id = {"id": response["id"]} if isinstance(response.get("id"), str) else {}
    return {
        "model": response.get("model") or request.get("model"),
        "usage": _usage(response.get("usage")),
        "finish_reason": _reason(response),
        "settings": _settings(request, response),
        "started_at": time_text(response.get("created_at")) or exchange.started_at,
        "ended_at": time_text(response.get("completed_at")) or exchange.ended_at,
        "response": {**own_id, **rest} or None,
    }


def _settings(request: dict[str, Any], response: dict[str, Any]) -> dict[str, Json] | None:
    found = {
        key: value
        for key in _SETTINGS
        if (value := request.get(key, response.get(key))) not in (None, {}, [])
    }
    return found or None


def _reason(response: dict[str, Any]) -> Json:
    why = response.get("incomplete_details")
    reason = why.get("reason") if isinstance(why, dict) else None
    return reason or response.get("status")


def _usage(usage: Json) -> dict[str, Json] | None:
    if not isinstance(usage, dict):
        return None
    sent, made = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    found = {
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "cache_read_tokens": sent.get("cached_tokens") if isinstance(sent, dict) else None,
        "reasoning_tokens": made.get("reasoning_tokens") if isinstance(made, dict) else None,
    }
    return {key: value for key, value in found.items() if type(value) is int} or None


def _trace(thread: Thread, uri: str) -> Trace:
    first, last = thread.calls[0], thread.calls[-1]
    return thread.log.trace(
        imported_trace_id(COLLECTOR, "", thread.key),
        where=uri,
        session_id=_session(thread),
        system_prompt=thread.system,
        tools=list(thread.tools.values()),
        outcome=_outcome(last),
        source={"collector": COLLECTOR, "uri": uri, "native_id": thread.key},
        started_at=first.fields.get("started_at"),
        ended_at=last.fields.get("ended_at"),
    )


def _session(thread: Thread) -> str | None:
    for call in thread.calls:
        beside = call.fields.get("response")
        talk = beside.get("conversation") if isinstance(beside, dict) else None
        if isinstance(talk, dict) and isinstance(talk.get("id"), str):
            return str(talk["id"])
    return None


def _outcome(last: ModelCall) -> dict[str, Any] | None:
    """Return how the last response ended: whether it failed or was cut off."""
    beside = last.fields.get("response")
    error = beside.get("error") if isinstance(beside, dict) else None
    if not isinstance(error, dict):
        return None
    kind = error.get("code") or error.get("type") or "error"
    return {"ended": False, "error": {"type": str(kind), "message": str(error.get("message", ""))}}
