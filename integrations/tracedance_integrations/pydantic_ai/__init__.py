"""Pydantic AI: agents, the requests to their models, and their tools.

    from tracedance_integrations import pydantic_ai as td_pydantic_ai

    td_pydantic_ai.install()

Inside an open recorder, an agent's run is the recorder's run, and one started in a tool is a
sub-agent's. Every class of models is recorded, and every kind of toolset. `install` changes the
framework's classes and `uninstall` puts them back.
"""

from __future__ import annotations

from typing import Final

from tracedance_sdk.recording.integrating import Integration, Patches


def _hooks(patches: Patches) -> None:
    for hooks in (_model_hooks, _tool_hooks, _agent_hooks):
        patches.attempt(hooks)


def _model_hooks(patches: Patches) -> None:
    from pydantic_ai.models import Model

    from tracedance_integrations.pydantic_ai import model_calls

    patches.wrap_family(
        Model,
        {"request": model_calls.request, "request_stream": model_calls.request_stream},
    )


def _tool_hooks(patches: Patches) -> None:
    from pydantic_ai.toolsets import AbstractToolset

    from tracedance_integrations.pydantic_ai import tools

    patches.wrap_family(AbstractToolset, {"call_tool": tools.call_tool})


def _agent_hooks(patches: Patches) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.agent import AbstractAgent

    from tracedance_integrations.pydantic_ai import agents

    patches.wrap(Agent, "iter", agents.iterate)
    patches.wrap(AbstractAgent, "run_stream", agents.run_stream)


_INTEGRATION: Final = Integration(
    "pydantic-ai",
    module="pydantic_ai",
    package="pydantic-ai-slim",
    oldest="1.20",
    below="3",
    hooks=_hooks,
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall
