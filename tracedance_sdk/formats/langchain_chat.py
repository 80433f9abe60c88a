"""LangChain's messages as a chat model takes and gives them: a request, a reply, its facts.

What is read here are plain mappings: the fields of LangChain's message objects by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.formats.message_pieces import Message
from tracedance_sdk.formats.message_shapes import read_message
from tracedance_sdk.formats.model_requests import CHAT_SETTINGS, ModelRequest, without_system
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.trace import Json

_CALL_BLOCKS: Final = frozenset(
    ("tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta")
)
_BESIDE: Final = ("reasoning_content", "refusal", "audio", "function_call")
_NAMES: Final = ("model", "model_name", "model_id", "deployment_name")
_REASONS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason", "status")
_SETTINGS: Final = (*CHAT_SETTINGS, "top_k", "stop_sequences", "thinking", "reasoning")
_DETAILS: Final = (
    ("input_token_details", "cache_read", "cache_read_tokens"),
    ("input_token_details", "cache_creation", "cache_write_tokens"),
    ("output_token_details", "reasoning", "reasoning_tokens"),
)


def message_from_langchain(fields: Mapping[str, Any]) -> Message:
    """Read one message. Of a role that is not known it is the user's.

    Calls stand in ``tool_calls``, complete; what a provider's content repeats of them is left out.

    Example:
        >>> call = {"name": "look", "args": {"at": "sky"}, "id": "c1", "type": "tool_call"}
        >>> block = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
        >>> message = message_from_langchain(
        ...     {"type": "ai", "content": [block], "tool_calls": [call]}
        ... )
        >>> message.calls[0].arguments
        {'at': 'sky'}

    Raises:
        InvalidTrace: It is no message.
    """
    told = {key: value for key, value in fields.items() if value not in (None, [], {})}
    told.setdefault("content", "")
    beside = told.pop("additional_kwargs", None)
    if isinstance(beside, dict):
        told.update((k, beside[k]) for k in _BESIDE if beside.get(k) and k not in told)
    if told.get("tool_calls"):
        told.pop("function_call", None)
        if isinstance(told["content"], list):
            told["content"] = [b for b in told["content"] if not _is_call(b)]
    found = read_message(told, speaker="user")
    if found is None:
        raise InvalidTrace(f"message: expected one of LangChain's, got {fields.get('type')!r}")
    return found


def request_from_langchain(messages: Iterable[Message], given: Mapping[str, Any]) -> ModelRequest:
    """Return what a chat model is asked.

    Args:
        messages: As `message_from_langchain` reads them.
        given: What the model was made and is called with: its name, settings, tools.

    Example:
        >>> given = [{"type": "system", "content": "Be brief."}, {"type": "human", "content": "Hi"}]
        >>> asked = request_from_langchain(
        ...     map(message_from_langchain, given), {"model": "m", "temperature": 0.0}
        ... )
        >>> asked.system, asked.messages[0].text, asked.settings
        ('Be brief.', 'Hi', {'temperature': 0.0})
    """
    tools = [*_listed(given.get("tools")), *_listed(given.get("functions"))]
    names = (given.get(key) for key in _NAMES)
    return without_system(
        ModelRequest(
            list(messages),
            None,
            read_tools(tools),
            next((name for name in names if isinstance(name, str)), None),
            {key: given[key] for key in _SETTINGS if given.get(key) not in (None, [], {})},
        )
    )


def reply_facts_from_langchain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model's message says of itself.

    Args:
        fields: Of the message; ``response_metadata``, ``usage_metadata`` and ``id`` are read.

    Returns:
        ``model``, ``usage`` by our names, ``finish_reason`` and ``response_id``, those known.

    Example:
        >>> reply_facts_from_langchain(
        ...     {
        ...         "response_metadata": {"model_name": "m-1", "finish_reason": "stop"},
        ...         "usage_metadata": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
        ...     }
        ... )
        {'model': 'm-1', 'usage': {'input_tokens': 9, 'output_tokens': 2}, 'finish_reason': 'stop'}
    """
    told = fields.get("response_metadata")
    meta: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    found: dict[str, Any] = {
        "model": next((meta[k] for k in ("model_name", *_NAMES) if _is_text(meta.get(k))), None),
        "usage": _usage(fields.get("usage_metadata")),
        "finish_reason": next((meta[k] for k in _REASONS if _is_text(meta.get(k))), None),
        "response_id": _response_id(meta.get("id"), fields.get("id")),
    }
    return {key: value for key, value in found.items() if value is not None}


def _usage(told: Json) -> dict[str, int] | None:
    if not isinstance(told, Mapping):
        return None
    found = {k: told[k] for k in ("input_tokens", "output_tokens") if _is_count(told.get(k))}
    for holder, key, name in _DETAILS:
        inner = told.get(holder)
        if isinstance(inner, Mapping) and _is_count(inner.get(key)):
            found[name] = inner[key]
    return found or None


def _response_id(told: Json, message_id: Json) -> str | None:
    """Return the provider's id; LangChain's own ids of runs are none."""
    for value in (told, message_id):
        if isinstance(value, str) and value and not value.startswith(("run-", "lc_")):
            return value
    return None


def _is_call(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") in _CALL_BLOCKS


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _listed(value: Json) -> list[Json]:
    return list(value) if isinstance(value, (list, tuple)) else []
