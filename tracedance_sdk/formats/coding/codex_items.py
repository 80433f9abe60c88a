"""Codex's response items: what the model was shown, said and asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tracedance_sdk.formats.coding.codex_log import CodexLog
from tracedance_sdk.formats.coding.codex_outputs import Ending, read_output
from tracedance_sdk.formats.coding.lenient import object_at, objects_at, rest, text_at
from tracedance_sdk.formats.coding.session import plain_parts, withheld
from tracedance_sdk.trace import UNKNOWN, Json

_CALLS: Final = {
    "function_call": None,
    "custom_tool_call": None,
    "tool_call": None,
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
    "image_generation_call": "image_generation",
}
"""Items that ask for a tool, and the tool's name where they give none."""

_OUTPUTS: Final = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "mcp_tool_call_output",
        "tool_search_output",
        "function_result",
        "tool_result",
    }
)
_COMPACTIONS: Final = frozenset({"compaction", "compaction_summary"})


def read_item(log: CodexLog, item: Mapping[str, Any], at: str | None) -> bool:
    """Add a response item to the session.

    Args:
        log: The session.
        item: The item.
        at: When it was recorded.

    Returns:
        False for an item of a kind that is not known; nothing is added then.
    """
    kind = text_at(item, "type") or ("message" if "role" in item else None)
    if kind in _CALLS:
        _call(log, kind, item, at)
    elif kind in _OUTPUTS:
        _output(log, item, at)
    elif kind in _COMPACTIONS:
        log.heard()
        log.summarise("", started_at=at, **log.own(shortened(item)))
    elif kind is not None and (read := _READERS.get(kind)) is not None:
        read(log, item, at)
    else:
        return False
    return True


def texts_of(item: Mapping[str, Any]) -> list[tuple[str | None, str]]:
    """Return the texts of an item with the role that says them; None for reasoning."""
    role = text_at(item, "role")
    blocks = objects_at(item, "content") + objects_at(item, "summary")
    return [(role, text) for block in blocks if (text := text_at(block, "text")) is not None]


def _message(log: CodexLog, item: Mapping[str, Any], at: str | None) -> None:
    role = text_at(item, "role")
    content = item["content"] if "content" in item else item.get("message")
    parts = plain_parts(_blocks(content), client=log.client)
    own = rest(item, "type", "role", "content", "message", "timestamp", "created_at", "model")
    if (model := text_at(item, "model")) is not None:
        log.model = model
    if role == "assistant":
        _say(log.open_turn(at), parts, log.own(own))
        return
    log.heard()
    if role == "user":
        log.hear(parts, started_at=at, **log.own(own))
    else:
        log.say("system", parts, origin="harness", started_at=at, **log.own({**own, "role": role}))


def _blocks(content: Json) -> Json:
    """Return a message's blocks; those that hold nothing left out."""
    if not isinstance(content, list):
        return content
    return [block for block in content if not _is_empty(block)]


def _is_empty(block: Json) -> bool:
    return isinstance(block, dict) and "image_url" in block and block["image_url"] is None


def _from_agent(log: CodexLog, item: Mapping[str, Any], at: str | None) -> None:
    log.heard()
    shown = [block for block in objects_at(item, "content") if "encrypted_content" not in block]
    hidden = [block for block in objects_at(item, "content") if "encrypted_content" in block]
    parts = plain_parts(shown, client=log.client)
    parts += [withheld("", encrypted=block["encrypted_content"]) for block in hidden]
    own = rest(item, "type", "content")
    name = text_at(item, "author")
    log.say("user", parts, origin="agent", name=name, started_at=at, **log.own(own))


def _reasoning(log: CodexLog, item: Mapping[str, Any], at: str | None) -> None:
    turn = log.open_turn(at)
    parts: list[dict[str, Any]] = []
    encrypted = item.get("encrypted_content")
    blocks = objects_at(item, "summary") + objects_at(item, "content")
    texts = [text for block in blocks if (text := text_at(block, "text")) is not None]
    for index, text in enumerate(texts or [""]):
        parts.append(withheld(text, encrypted=None if index else encrypted))
    own = rest(item, "type", "summary", "content", "encrypted_content")
    _say(turn, parts, log.own(own))


_READERS: Final[dict[str, Callable[[CodexLog, Mapping[str, Any], str | None], None]]] = {
    "message": _message,
    "agent_message": _from_agent,
    "reasoning": _reasoning,
}


def _call(log: CodexLog, kind: str, item: Mapping[str, Any], at: str | None) -> None:
    log.open_turn(at)
    name = text_at(item, "name") or text_at(object_at(item, "function"), "name") or _CALLS[kind]
    known = ["type", "name", "function", "id", "call_id", "arguments", "input", "timestamp"]
    fields: dict[str, Any] = {}
    if kind == "custom_tool_call":
        fields["arguments"] = {"input": item.get("input")}
    elif kind in ("local_shell_call", "web_search_call"):
        fields["arguments"] = item.get("action", UNKNOWN)
        known.append("action")
    elif kind == "image_generation_call":
        fields["arguments"] = {"prompt": item.get("revised_prompt")}
        known += ["revised_prompt", "result"]
    elif isinstance(item.get("arguments"), str):
        fields["text"] = item["arguments"]
    else:
        fields["arguments"] = item.get("arguments", UNKNOWN)
    own = {**rest(item, *known), "item_id": item.get("id") if "call_id" in item else None}
    call_id = text_at(item, "call_id", "id")
    log.call(name or "unknown", call_id, started_at=at, **fields, **log.own(own))
    if kind == "image_generation_call" and "result" in item:
        log.end(call_id, Ending(item["result"]), closes=False)


def _output(log: CodexLog, item: Mapping[str, Any], at: str | None) -> None:
    key = next((key for key in ("output", "result", "tools") if key in item), "output")
    ending = read_output(item.get(key, UNKNOWN))
    if key == "tools":
        log.offer(item["tools"])
    own = {**rest(item, "type", "call_id", key, "name", "timestamp", "created_at"), "at": at}
    log.end(text_at(item, "call_id"), ending, name=text_at(item, "name"), **own)


def shortened(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item with the length of what is encrypted in place of it."""
    if "encrypted_content" not in item:
        return dict(item)
    encrypted = item.get("encrypted_content")
    size = len(encrypted) if isinstance(encrypted, str) else None
    return {**rest(item, "encrypted_content"), "encrypted_chars": size}


def _say(turn: dict[str, Any], parts: list[dict[str, Any]], own: dict[str, Any]) -> None:
    """Add an item's parts to a turn; what else it says stands with the first of them."""
    holder = parts[0] if parts else turn
    for key, fields in own.items():
        holder[key] = {**holder.get(key, {}), **fields}
    turn["content"] += parts
