"""Definitions of tools in every provider's spelling."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.trace import Json

_SCHEMAS: Final = (
    "parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema",
    "schema",
)  # fmt: skip
_LISTS: Final = ("functionDeclarations", "function_declarations")
_WRAPPERS: Final = ("function", "custom", "toolSpec")


def read_tools(value: Json) -> list[dict[str, Any]]:
    """Return definitions as the fields of `ToolDefinition`, the first of each name.

    OpenAI's (wrapped or flat), Anthropic's, Gemini's, Bedrock's and MCP's are known. What an entry
    says beyond name, description and schema stands under ``definition``. Entries that name no
    tool and have no type are left out.

    Args:
        value: A list of definitions; anything else gives none.

    Example:
        >>> read_tools([{"name": "look", "input_schema": {"type": "object"}}])
        [{'name': 'look', 'parameters': {'type': 'object'}}]
    """
    found: dict[str, dict[str, Any]] = {}
    for entry in value if isinstance(value, list) else ():
        if not isinstance(entry, dict):
            continue
        listed = next((entry[key] for key in _LISTS if isinstance(entry.get(key), list)), None)
        for item in [entry] if listed is None else listed:
            tool = _read(item) if isinstance(item, dict) else None
            if tool is not None:
                found.setdefault(tool["name"], tool)
    return list(found.values())


def _read(entry: dict[str, Any]) -> dict[str, Any] | None:
    key = next((name for name in _WRAPPERS if isinstance(entry.get(name), dict)), None)
    inner: dict[str, Any] = entry if key is None else entry[key]
    name = inner.get("name", entry.get("type"))
    if not isinstance(name, str) or not name:
        return None
    tool: dict[str, Any] = {"name": name}
    if isinstance(inner.get("description"), str):
        tool["description"] = inner["description"]
    at = next((schema for schema in _SCHEMAS if isinstance(inner.get(schema), dict)), None)
    if at is not None:
        nested = inner[at].get("json") if at == "inputSchema" else None
        tool["parameters"] = nested if isinstance(nested, dict) else inner[at]
    rest = {k: v for k, v in inner.items() if k not in ("name", "description", at, "type")}
    kind = entry.get("type")
    if kind not in (None, "function"):
        rest["type"] = kind
    kept = {k: v for k, v in rest.items() if v is not None}
    return {**tool, "definition": kept} if kept else tool
