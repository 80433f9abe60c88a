"""Definitions of a run's tools: those its recorder was given, and those of decorated functions."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Mapping
from inspect import Parameter
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.otel import tool_definitions
from tracedance_sdk.recording.arguments import OWN_PARAMETERS
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.trace import Json, ToolDefinition

if TYPE_CHECKING:
    from tracedance_sdk.recording.tools import Tool


def checked_definitions(
    tools: Iterable[ToolDefinition | Mapping[str, Any]],
) -> tuple[ToolDefinition, ...]:
    """Return definitions, each given as one of ours or as the JSON that a model API takes.

    Raises:
        InvalidOption: One without a name, or with a field of a wrong type.
    """
    return tuple(_checked(tool, place) for place, tool in enumerate(tools))


def definitions_of(
    given: Iterable[ToolDefinition], tools: Mapping[str, Tool], faults: Counter[str]
) -> list[Json]:
    """Return all definitions of a run, as the conventions' JSON.

    Args:
        given: To the recorder; these come first and keep what they say.
        tools: Decorated functions that were called, by tool name. They add effect and kind to a
            definition given for the same name, else a definition of their own.
        faults: Where to count functions without a schema.
    """
    listed = [_completed(definition, tools.get(definition.name)) for definition in given]
    names = {definition.name for definition in listed}
    for name, tool in tools.items():
        if name not in names:
            defined = GUARD.attempt("tool", faults, _defined, tool, faults)
            listed.append(defined or ToolDefinition(name=name))
    return tool_definitions(listed)


def _checked(tool: ToolDefinition | Mapping[str, Any], place: int) -> ToolDefinition:
    if isinstance(tool, ToolDefinition):
        return tool
    try:
        body = tool["function"] if isinstance(tool.get("function"), Mapping) else tool
        known = {key: value for key, value in body.items() if key in ToolDefinition.model_fields}
        if "input_schema" in body:
            known["parameters"] = body["input_schema"]
        return ToolDefinition.model_validate(known)
    except (AttributeError, TypeError, ValidationError) as error:
        raise InvalidOption(
            f"tools[{place}]={tool!r} is no tool definition; give name, description and parameters"
        ) from error


def _completed(definition: ToolDefinition, tool: Tool | None) -> ToolDefinition:
    if tool is None:
        return definition
    effect, kind = tool.decoration.effect, tool.decoration.kind
    added = {
        "effect": effect if definition.effect == "unknown" and effect else definition.effect,
        "kind": kind if definition.kind == "other" and kind else definition.kind,
    }
    return definition.model_copy(update=added)


def _defined(tool: Tool, faults: Counter[str]) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        description=inspect.getdoc(tool.function),
        parameters=GUARD.attempt("schema", faults, _schema, tool),
        effect=tool.decoration.effect or "unknown",
        kind=tool.decoration.kind or "other",
    )


def _schema(tool: Tool) -> dict[str, Json] | None:
    """Return JSON Schema of the arguments as they are recorded, made once per tool.

    None for a builtin that does not tell its parameters.
    """
    if tool.schema is None:
        function = getattr(tool.function, "__func__", tool.function)
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return None
        tool.schema = _new_schema(tool, signature, _hints(function))
    return tool.schema


def _new_schema(
    tool: Tool, signature: inspect.Signature, hints: Mapping[str, Any]
) -> dict[str, Json]:
    """Return JSON Schema; a parameter whose type has none may be anything."""
    parameters = [p for p in signature.parameters.values() if _recorded(p, tool)]
    fields: dict[str, Any] = {}
    for place, parameter in enumerate(parameters):
        if parameter.kind is not Parameter.VAR_KEYWORD:
            hint = _with_schema(hints.get(parameter.name, Any))
            # Numbered, since a model refuses some names that functions may use.
            fields[f"p{place}"] = _field(parameter, hint)
    schema: dict[str, Json] = create_model(tool.name, **fields).model_json_schema()
    del schema["title"]
    schema["additionalProperties"] = any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
    return schema


def _recorded(parameter: Parameter, tool: Tool) -> bool:
    return parameter.name not in (*OWN_PARAMETERS, *tool.decoration.ignore)


def _hints(function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


def _with_schema(hint: Any) -> Any:
    try:
        TypeAdapter(hint).json_schema()
    except (PydanticUserError, PydanticUndefinedAnnotation):
        return Any
    return hint


def _field(parameter: Parameter, hint: Any) -> tuple[Any, Any]:
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return list[hint], Field([], alias=parameter.name)
    if parameter.default is Parameter.empty:
        return hint, Field(alias=parameter.name)
    return hint, Field(parameter.default, alias=parameter.name)
