"""The pieces of a message's content in every known spelling: what each type of block means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tracedance_sdk.formats.media_shapes import read_media
from tracedance_sdk.formats.message_pieces import Piece, SeenCall, SeenResult
from tracedance_sdk.formats.transcript import media_part, reasoning_part, text_part
from tracedance_sdk.trace import UNKNOWN, Json

_TEXTS: Final = frozenset({"text", "input_text", "output_text", "user-prompt", "system-prompt"})
_THOUGHTS: Final = frozenset(
    {"reasoning", "thinking", "redacted_thinking", "reasoning_content", "TextReasoningContent"}
)
_CALLS: Final = frozenset(
    {
        "tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "toolCall",
        "function_call", "custom_tool_call", "server_tool_call", "toolUse", "functionCall",
        "builtin-tool-call",
    }
)  # fmt: skip
_RESULTS: Final = frozenset(
    {
        "tool-result", "tool_call_response", "server_tool_call_response", "tool_return",
        "tool-return", "retry-prompt", "function_response", "functionResponse", "toolResult",
        "builtin-tool-return", "toolresult",
    }
)  # fmt: skip
_KEYED: Final = (
    "functionCall", "function_call", "functionResponse", "function_response", "toolUse",
    "toolResult", "inlineData", "inline_data", "fileData", "file_data", "reasoningContent",
    "image", "document", "video", "text",
)  # fmt: skip
"""Keys that say what a part is in formats whose parts have no type (Gemini, Bedrock)."""

_ITEM_PARTS: Final = frozenset({"type", "id", "call_id", "name", "arguments", "input", "status"})
_STATES: Final = {"error": False, "success": True}
_CALL_IDS: Final = ("call_id", "toolCallId", "tool_call_id", "toolUseId", "id")
_NAMES: Final = ("name", "toolName", "tool_name", "function")
_ARGUMENTS: Final = ("arguments", "input", "args", "parameters")
_ANSWERS: Final = ("content", "output", "result", "response", "value")
_ANSWER_IDS: Final = ("tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id", "id")


def read_pieces(content: Json) -> list[Piece]:
    """Return what a message's content says: null, text, one block, or a list of blocks.

    A block of a type that is not known is kept whole as media.
    """
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [text_part(content)]
    items = content if isinstance(content, list) else [content]
    return [piece for item in items for piece in _read(item)]


def read_call(value: Json) -> SeenCall | None:
    """Read a call as it stands in a message's list of calls or as a block; None for no call."""
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    holder = value.get("function") or value.get("custom")
    inner: dict[str, Any] = holder if isinstance(holder, dict) else value
    name = _first_text(inner, _NAMES)
    if name is None:
        return None
    at, call_id = _first(value, _CALL_IDS)
    key, arguments = _first_given(inner, _ARGUMENTS)
    own = {at, key, "type", "function", "custom", "name", "toolName", "tool_name"}
    extra = {k: v for k, v in value.items() if k not in own and v is not None}
    if inner is not value:
        extra.update((k, v) for k, v in inner.items() if k not in (key, "name") and v is not None)
    if kind not in (None, "function", "tool_call", "tool_use", "tool-call", "function_call"):
        extra["type"] = kind
    is_free = kind in ("custom_tool_call", "custom")
    text = arguments if isinstance(arguments, str) and not is_free else None
    given = UNKNOWN if key is None or text is not None else arguments
    return SeenCall(name, call_id, given, text, extra or None)


def result_content(content: Json) -> Json:
    """Return what came back from a call: one plain block of text as its text, all else as it is."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        block = content[0]
        text = block.get("text")
        kind = str(block.get("type"))
        if set(block) == {"type", "text"} and kind in _TEXTS and isinstance(text, str):
            return text
    return content


def _read(item: Json) -> list[Piece]:
    if isinstance(item, str):
        return [text_part(item)]
    if not isinstance(item, dict):
        return [media_part(data=item)]
    kind = item.get("type", item.get("part_kind"))
    if not isinstance(kind, str):
        return _read_keyed(item)
    kind = kind.rpartition(".")[2]
    if kind in _TEXTS:
        return [_text(item)]
    if kind == "refusal" and isinstance(item.get("refusal"), str):
        return [{**text_part(item["refusal"]), "refusal": True}]
    if kind in _THOUGHTS:
        return [_thought(item)]
    if kind in _CALLS:
        call = read_call(item)
        return [media_part(kind, data=item)] if call is None else [call]
    if kind in _RESULTS or kind.endswith(("tool_result", "_call_output")):
        return [_result(item, kind)]
    if kind.endswith("_call"):
        return _hosted(item, kind)
    return [read_media(kind, item)]


def _read_keyed(item: dict[str, Any]) -> list[Piece]:
    """Read a part that is known by its key, as Gemini and Bedrock write them."""
    key = next((name for name in _KEYED if item.get(name) is not None), None)
    if key is None:
        return [media_part(data=item)] if item else []
    inner, rest = item[key], {k: v for k, v in item.items() if k != key and v is not None}
    if key == "text" and isinstance(inner, str):
        thought = rest.pop("thought", False) is True
        part = reasoning_part(inner) if thought else text_part(inner)
        return [{**part, "part": rest} if rest else part]
    if not isinstance(inner, dict):
        return [media_part(key, data=item)]
    return _KEYED_READERS.get(key, _keyed_media)(key, {**rest, **inner})


def _keyed_call(key: str, inner: dict[str, Any]) -> list[Piece]:
    call = read_call(inner)
    return [media_part(key, data=inner)] if call is None else [call]


def _keyed_result(key: str, inner: dict[str, Any]) -> list[Piece]:
    return [_result(inner, key)]


def _keyed_thought(_: str, inner: dict[str, Any]) -> list[Piece]:
    return [_thought(inner.get("reasoningText") if "reasoningText" in inner else inner)]


def _keyed_media(key: str, inner: dict[str, Any]) -> list[Piece]:
    return [read_media(key, {"type": key, **inner})]


_KEYED_READERS: Final[dict[str, Callable[[str, dict[str, Any]], list[Piece]]]] = {
    "functionCall": _keyed_call,
    "function_call": _keyed_call,
    "toolUse": _keyed_call,
    "functionResponse": _keyed_result,
    "function_response": _keyed_result,
    "toolResult": _keyed_result,
    "reasoningContent": _keyed_thought,
}


def _text(item: dict[str, Any]) -> Piece:
    key = "text" if isinstance(item.get("text"), str) else "content"
    value = item.get(key)
    if not isinstance(value, str):
        return media_part("text", data=item)
    rest = {
        k: v
        for k, v in item.items()
        if k not in (key, "type", "part_kind") and v not in (None, [], {})
    }
    return {**text_part(value), "part": rest} if rest else text_part(value)


def _thought(item: Json) -> Piece:
    if not isinstance(item, dict):
        return media_part("reasoning", data=item)
    taken = ["type"]
    texts: list[str] = []
    for key in ("text", "thinking", "reasoning", "content", "summary"):
        texts = _words(item.get(key))
        if texts:
            taken += [key] if isinstance(item[key], str) else []
            break
    rest = {k: v for k, v in item.items() if k not in taken and v not in (None, [], "")}
    if "redacted" in str(item.get("type", "")):
        rest["type"] = item["type"]
    return reasoning_part("\n\n".join(texts), **({"part": rest} if rest else {}))


def _words(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, dict):
        value = [value]
    items = value if isinstance(value, list) else ()
    return [i["text"] for i in items if isinstance(i, dict) and isinstance(i.get("text"), str)]


def _result(item: dict[str, Any], kind: str) -> SeenResult:
    at, call_id = _first(item, _ANSWER_IDS)
    key, content = _first_given(item, _ANSWERS)
    ok, error = _success(item, content, kind)
    known = {at, key, "type", "part_kind", "name", "toolName", "tool_name", "is_error", "isError"}
    extra = {k: v for k, v in item.items() if k not in known and v is not None}
    if kind.endswith("tool_result") and kind != "tool_result":
        extra["type"] = kind
    return SeenResult(
        call_id,
        _first_text(item, _NAMES),
        UNKNOWN if key is None else result_content(content),
        ok,
        error,
        extra or None,
    )


def _success(
    item: dict[str, Any], content: Json, kind: str
) -> tuple[bool | None, dict[str, str] | None]:
    """Return whether a result says that its call succeeded, and the error that it names."""
    flag = item.get("is_error", item.get("isError"))
    if isinstance(flag, bool):
        return not flag, None
    if kind == "retry-prompt":
        return False, None
    if isinstance(content, dict) and isinstance(content.get("error_code"), str):
        return False, {"type": content["error_code"], "message": ""}
    error = item.get("error")
    if isinstance(error, dict) and ("message" in error or "type" in error):
        return False, {
            "type": str(error.get("type", "error")),
            "message": str(error.get("message", "")),
        }
    if isinstance(error, str) and error:
        return False, {"type": "error", "message": error}
    status = item.get("status")
    return (
        {"error": False, "success": True}.get(status) if isinstance(status, str) else None
    ), None


def _hosted(item: dict[str, Any], kind: str) -> list[Piece]:
    """Read a call in an item of its own.

    One with a ``call_id`` is for the client to carry out; any other was carried out by the
    provider, and its result stands in the same item.
    """
    name = _first_text(item, _NAMES) or kind.removesuffix("_call")
    at, arguments = _first_given(item, ("arguments", "action", "code", "queries", "input"))
    to, content = _first_given(item, ("output", "outputs", "results", "result"))
    extra = {k: v for k, v in item.items() if k not in ("id", "name", at, to) and v is not None}
    text = arguments if at == "arguments" and isinstance(arguments, str) else None
    wrapped = {at: arguments} if at in ("code", "queries") else arguments
    given = UNKNOWN if at is None or text is not None else wrapped
    call_id = _first_text(item, ("call_id", "id"))
    call = SeenCall(name, call_id, given, text, extra or None)
    ok, error = _success({"error": item.get("error")}, None, kind)
    status = item.get("status")
    if error is None and status in ("completed", "failed"):
        ok = status == "completed"
    if "call_id" in item or (content is None and ok is None):
        return [call]
    return [call, SeenResult(call_id, name, UNKNOWN if content is None else content, ok, error)]


def _first(holder: dict[str, Any], keys: tuple[str, ...]) -> tuple[str | None, str | None]:
    return next(
        ((k, holder[k]) for k in keys if isinstance(holder.get(k), str) and holder[k]), (None, None)
    )


def _first_text(holder: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return _first(holder, keys)[1]


def _first_given(holder: dict[str, Any], keys: tuple[str, ...]) -> tuple[str | None, Json]:
    """Return the first of these fields with a value; else the first that is null."""
    found = [key for key in keys if key in holder]
    key = next((name for name in found if holder[name] is not None), found[0] if found else None)
    return key, None if key is None else holder[key]
