"""Tool definitions in every provider's shape, as the conventions' list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tracedance_sdk.otel import names
from tracedance_sdk.otel.dialects.decoding import decoded, structure
from tracedance_sdk.otel.dialects.python_text import schema_value
from tracedance_sdk.trace import UNKNOWN, Json

_SCHEMAS: Final = (
    "parameters",
    "parameters_json_schema",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
)
_WRAPPERS: Final = (
    "function_declarations", "functionDeclarations", "function_tools", "tools", "json_schema",
    "function", "tool", "toolSpec",
)  # fmt: skip
_MOST_NESTED: Final = 6


def definitions(value: Json) -> Json:
    """Return tool definitions as ``{"name", "description"?, "parameters"?}``; `UNKNOWN` for none.

    Entries may be JSON text, wrapped in ``function`` or ``tool``, or grouped as Gemini does.
    """
    found = _entries(structure(value), 0)
    return found or UNKNOWN


def one_definition(schema_key: str, description_key: str) -> Callable[[Mapping[str, Json]], Json]:
    """Return a reader of the definition that a tool's own span gives of it."""

    def find(attributes: Mapping[str, Json]) -> Json:
        name, schema = attributes.get(names.TOOL_NAME), _schema(attributes.get(schema_key))
        if schema is None:
            return UNKNOWN
        described = attributes.get(description_key)
        return definitions([{"name": name, "description": described, "parameters": schema}])

    return find


def _entries(value: Json, depth: int) -> list[dict[str, Any]]:
    if depth > _MOST_NESTED:
        return []
    if isinstance(value, list):
        return [entry for item in value for entry in _entries(decoded(item), depth + 1)]
    if not isinstance(value, dict):
        return []
    for key in _WRAPPERS:
        inner = decoded(value.get(key))
        if isinstance(inner, (list, dict)):
            return _entries(inner, depth + 1)
    if not isinstance(value.get("name"), str):
        return []
    entry = {"type": "function", "name": value["name"]}
    if isinstance(value.get("description"), str):
        entry["description"] = value["description"]
    schema = next((s for key in _SCHEMAS if (s := _schema(value.get(key))) is not None), None)
    return [entry if schema is None else {**entry, "parameters": schema}]


def _schema(value: Json) -> dict[str, Json] | None:
    found = decoded(value)
    if isinstance(found, dict) and isinstance(found.get("json"), dict):
        found = found["json"]
    if not isinstance(found, dict):
        return None
    fields = found.get("properties")
    if not isinstance(fields, dict) or not any(isinstance(item, str) for item in fields.values()):
        return found
    # A copy that was written to a certain depth only, and Python's text from there.
    plain: dict[str, Json] = {name: schema_value(item) for name, item in fields.items()}
    needed = {"required": schema_value(found["required"])} if "required" in found else {}
    return {**found, "properties": plain, **needed}
