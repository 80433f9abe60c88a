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
    from agents.models.interface import Model

    patches.wrap_family(
        Model,
        {
            "get_response": model_calls.get_response,
            "stream_response": model_calls.stream_response,
        },
    )
    missing = [
        f"{m}.{path}" for m, path, around in _FUNCTIONS if not _wrap(patches, m, path, around)
    ]
    module = "agents.run_internal.tool_execution"
    if not (
        _wrap(patches, module, "_invoke_function_tool_with_metadata", tools.invoke_with_metadata)
        or _wrap(patches, module, "invoke_function_tool", tools.invoke)
    ):
        missing.append(f"{module}.invoke_function_tool")
    if missing:
        raise AttributeError(f"not in this version of the SDK: {', '.join(missing)}")


def _wrap(patches: Patches, module: str, path: str, around: Any) -> bool:
    """Put a function around another one, and return whether there is one."""
    owner = importlib.import_module(module)
    *classes, name = path.split(".")
    for part in classes:
        owner = getattr(owner, part)
    if not hasattr(owner, name):
        return False
    patches.wrap(owner, name, around)
    return True


_INTEGRATION: Final = Integration(
    "openai-agents",
    module="agents",
    package="openai-agents",
    oldest="0.11",
    below="0.25",
    hooks=_hooks,
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall
