"""What a tool of an MCP server gives back, as the value that it stands for, and again as a result.

A result has blocks of content for a model, and often the same as structured content for programs.
Servers put a value that is no object into one with the single key ``result``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.trace import Json

_WRAP: Final = "result"


def value_of_mcp_result(result: Mapping[str, Any]) -> Json:
    """Return the value that a result of ``tools/call`` holds.

    Args:
        result: As it is on the wire.

    Returns:
        The structured content where there is some (unpacked, where the server packed it); else
        the text where there is one block of text and nothing more; else the blocks.

    Source:
        Model Context Protocol, revision 2025-11-25, "Tool Result".

    Example:
        >>> value_of_mcp_result({"content": [{"type": "text", "text": "sunny"}]})
        'sunny'
        >>> sunny = [{"type": "text", "text": "21"}]
        >>> value_of_mcp_result({"content": sunny, "structuredContent": {"result": 21}})
        21
    """
    blocks, structured = result.get("content") or [], result.get("structuredContent")
    if structured is not None:
        packed = isinstance(structured, dict) and list(structured) == [_WRAP]
        return structured[_WRAP] if packed and not _is_written(structured, blocks) else structured
    if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} and blocks[0]["type"] == "text":
        text: str = blocks[0]["text"]
        return text
    return list(blocks)


def mcp_result(value: Json, *, is_packed: bool = False, failed: bool = False) -> dict[str, Any]:
    """Return the result of ``tools/call`` that holds a value, as it would be on the wire.

    Args:
        value: As `value_of_mcp_result` gives it.
        is_packed: The server's schema says that it packs text, too, into structured content.
        failed: The tool failed, and the value says why.

    Example:
        >>> mcp_result({"degrees": 21})["content"]
        [{'type': 'text', 'text': '{"degrees": 21}'}]
    """
    result: dict[str, Any] = {"isError": failed}
    is_packed = is_packed and not failed
    if not is_packed and _are_blocks(value):
        return {"content": value, **result}
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    result["content"] = [{"type": "text", "text": text}]
    if isinstance(value, dict):
        result["structuredContent"] = value
    elif is_packed or not isinstance(value, str):
        result["structuredContent"] = {_WRAP: value}
    return result


def _is_written(structured: dict[str, Any], blocks: list[Any]) -> bool:
    """Whether the content is the structured content, written out; else it is what was packed."""
    try:
        text = blocks[0]["text"]
        if len(blocks) != 1 or text == structured[_WRAP]:
            return False
        is_written: bool = json.loads(text) == structured
        return is_written
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return False


def _are_blocks(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in value
    )
