"""OpenAI's Agents SDK: agents, handoffs, the requests to their models, and their tools.

    from tracedance_integrations import openai_agents

    openai_agents.install()

Inside an open recorder, the first agent's run is the recorder's run. An agent that is used as a
tool, that guards another one, or that another one hands over to, has a trace of its own. Every
class of models is recorded, those of others included. `install` changes the SDK's classes and
functions, and `uninstall` puts them back; the SDK's own tracing is not touched.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any, Final

from tracedance_integrations.openai_agents import model_calls, runs, tools
from tracedance_sdk.recording.integrating import Integration, Patches

_FUNCTIONS: Final = (
    ("agents.run", "AgentRunner.run", runs.run),
    ("agents.run", "start_streaming", runs.start_streaming),
    ("agents.run_internal.turn_resolution", "execute_handoffs", runs.execute_handoffs),
    ("agents.models.openai_responses", "OpenAIResponsesModel._fetch_response", model_calls.fetch),
    (
        "agents.models.openai_chatcompletions",
        "OpenAIChatCompletionsModel._fetch_response",
        model_calls.fetch,
    ),
    (
        "agents.tool",
        "maybe_invoke_function_tool_failure_error_function",
        tools.explain_failure,
    ),
    (
        "agents.run_internal.tool_execution",
        "maybe_invoke_function_tool_failure_error_function",
        tools.explain_failure,
    ),
)


def _hooks(patches: Patches) -> None:
    patches.attempt(_model_hooks)
    for module, path, around in _FUNCTIONS:
        patches.attempt(partial(_wrap, module, path, around))
    patches.attempt(_tool_hooks)


def _model_hooks(patches: Patches) -> None:
    from agents.models.interface import Model

    patches.wrap_family(
        Model,
        {
            "get_response": model_calls.get_response,
            "stream_response": model_calls.stream_response,
        },
    )


def _tool_hooks(patches: Patches) -> None:
    from agents.run_internal import tool_execution

    name, around = "_invoke_function_tool_with_metadata", tools.invoke_with_metadata
    if not hasattr(tool_execution, name):
        name, around = "invoke_function_tool", tools.invoke
    patches.wrap(tool_execution, name, around)


def _wrap(module: str, path: str, around: Any, patches: Patches) -> None:
    """Put a function around another one."""
    owner = importlib.import_module(module)
    *classes, name = path.split(".")
    for part in classes:
        owner = getattr(owner, part)
    patches.wrap(owner, name, around)


_INTEGRATION: Final = Integration(
    "openai-agents",
    module="agents",
    package="openai-agents",
    oldest="0.11",
    below="0.25",
    hooks=_hooks,
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall
