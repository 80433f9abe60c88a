"""The framework's objects, written as JSON for those who know its shapes."""

from __future__ import annotations

from typing import Any

from tracedance_sdk.formats import (
    ModelRequest,
    reply_from_pydantic_ai,
    request_from_pydantic_ai,
)
from tracedance_sdk.recording.integrating import ModelReply


def request(
    model: Any,
    messages: Any,
    model_settings: Any = None,
    model_request_parameters: Any = None,
    run_context: Any = None,  # noqa: ARG001  # as the framework passes it
) -> ModelRequest:
    """Return what a model is asked."""
    settings = {**(getattr(model, "settings", None) or {}), **(model_settings or {})}
    asked = model_request_parameters
    return request_from_pydantic_ai(
        {
            "messages": written(messages),
            "model": model.model_name,
            "settings": plain({k: v for k, v in settings.items() if v is not None}),
            "function_tools": [_tool(tool) for tool in getattr(asked, "function_tools", ())],
            "output_tools": [_tool(tool) for tool in getattr(asked, "output_tools", ())],
        }
    )


def ending(run: Any) -> ModelRequest:
    """Return what a run says after its model's last words: the results of its last calls."""
    last = run.all_messages()[-1:]
    return request_from_pydantic_ai({"messages": written([m for m in last if m.kind == "request"])})


def reply(response: Any) -> ModelReply:
    """Return what a model answered."""
    return ModelReply(*reply_from_pydantic_ai(written([response])[0]))


def written(messages: Any) -> list[Any]:
    """Return messages as JSON."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    found: list[Any] = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    return found


def plain(value: Any) -> Any:
    """Return any value as JSON; what has no form there, by its ``repr``."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=repr)


def _tool(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters_json_schema": tool.parameters_json_schema,
    }
