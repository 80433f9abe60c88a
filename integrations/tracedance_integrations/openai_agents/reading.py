"""What the SDK's objects say, in the words of the formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracedance_sdk.formats import ModelRequest, read_arguments, request_from_responses
from tracedance_sdk.recording.integrating import history_here
from tracedance_sdk.trace import UNKNOWN

_SETTINGS: Final = (
    "temperature", "top_p", "frequency_penalty", "presence_penalty", "tool_choice",
    "parallel_tool_calls", "truncation", "max_tokens", "reasoning", "verbosity", "top_logprobs",
)  # fmt: skip
_RESPONSES_NAMES: Final = {"max_tokens": "max_output_tokens"}


def instructions(agent: Any) -> str | None:
    """Return an agent's instructions, where they are plain text."""
    found = getattr(agent, "instructions", None)
    return found if isinstance(found, str) else None


def arguments(text: Any) -> Any:
    """Return the arguments of a call, of which the model wrote the text."""
    if not isinstance(text, str):
        return text
    found, raw = read_arguments(text)
    return {"input": raw} if found is UNKNOWN else found


def output_for(step: Any, call_id: str | None) -> Any:
    """Return what the SDK tells the model came of a call, out of one step of a run."""
    items = [*(getattr(step, "session_step_items", None) or ()), *step.new_step_items]
    for item in items:
        raw = item.raw_item
        if isinstance(raw, Mapping) and raw.get("call_id") == call_id and "output" in raw:
            return raw["output"]
    return None


def request(  # noqa: PLR0917  # as the SDK calls it
    model: Any,
    system_instructions: str | None,
    input: Any,  # noqa: A002
    model_settings: Any,
    tools: Sequence[Any],
    output_schema: Any = None,  # noqa: ARG001  # the schema is no part of a turn
    handoffs: Sequence[Any] = (),
    tracing: Any = None,  # noqa: ARG001  # of the SDK's own
    *,
    previous_response_id: str | None = None,
    conversation_id: str | None = None,
    **_: Any,
) -> ModelRequest:
    """Return what the arguments of a model's ``get_response`` ask."""
    name = getattr(model, "model", None)
    body = {
        "model": name if isinstance(name, str) else None,
        "instructions": system_instructions,
        "input": input if isinstance(input, str) else history_here().read(input),
        "previous_response_id": previous_response_id or conversation_id,
    }
    asked = request_from_responses({**body, **_settings(model_settings)})
    return asked._replace(tools=[*map(_tool, tools), *map(_handoff, handoffs)])


def _settings(given: Any) -> dict[str, Any]:
    found = {name: getattr(given, name, None) for name in _SETTINGS}
    return {_RESPONSES_NAMES.get(k, k): plain(v) for k, v in found.items() if v is not None}


def _tool(tool: Any) -> dict[str, Any]:
    """Return a tool as the fields of a definition: one that is not ours to run has a name only."""
    schema = getattr(tool, "params_json_schema", None)
    if schema is None:
        return {"name": str(getattr(tool, "name", type(tool).__name__))}
    return {"name": tool.name, "description": tool.description, "parameters": schema}


def _handoff(handoff: Any) -> dict[str, Any]:
    return {
        "name": handoff.tool_name,
        "description": handoff.tool_description,
        "parameters": handoff.input_json_schema,
    }


def plain(value: Any) -> Any:
    """Return a model of pydantic as JSON; other values as they are."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", exclude_unset=True, warnings=False)
    return value


def usage(found: Any) -> dict[str, Any] | None:
    """Return the tokens of a reply; None where the model counted none."""
    if not getattr(found, "total_tokens", 0):
        return None
    return {
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "input_tokens_details": {"cached_tokens": found.input_tokens_details.cached_tokens},
        "output_tokens_details": {"reasoning_tokens": found.output_tokens_details.reasoning_tokens},
    }
