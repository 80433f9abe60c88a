"""What recording adds to the models' own clients, beside what OpenInference's tracing adds.

The same scene as in `tests.performance.integrations`, played by a loop of a few lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.performance.integrations import (
    Side,
    added_costs,
    blocks_of,
    endpoint_elsewhere,
    openinference,
    recorded,
)
from tests.performance.measuring import Budget, Effort, Measured


def openai_client(effort: Effort) -> Measured | str:
    """Chat completions, beside OpenInference's instrumentation."""
    try:
        from openai import OpenAI
        from openinference.instrumentation.openai import OpenAIInstrumentor
    except ImportError:
        return "openai and OpenInference's tracing of it are not installed"
    from tracedance_integrations import openai as td_openai

    from tracedance_sdk.testing import Desk, mail

    scene = mail(Desk())
    tools = {tool.__name__: tool for tool in scene.tools}
    with (
        endpoint_elsewhere() as address,
        OpenAI(base_url=address, api_key="fake", max_retries=0) as client,
    ):

        def play() -> None:
            said: list[Any] = [
                {"role": "system", "content": scene.system},
                {"role": "user", "content": scene.user},
            ]
            while True:
                reply = client.chat.completions.create(model="scripted", messages=said)
                message: Any = reply.choices[0].message
                said.append(message.model_dump(exclude_none=True))
                for call in message.tool_calls or ():
                    function = call.function
                    value = tools[function.name](**json.loads(function.arguments))
                    said.append({"role": "tool", "tool_call_id": call.id, "content": value})
                if not message.tool_calls:
                    return

        return _compared(effort, play, td_openai, OpenAIInstrumentor())


def anthropic_client(effort: Effort) -> Measured | str:
    """Messages, beside OpenInference's instrumentation."""
    try:
        from anthropic import Anthropic
        from openinference.instrumentation.anthropic import AnthropicInstrumentor
    except ImportError:
        return "anthropic and OpenInference's tracing of it are not installed"
    from tracedance_integrations import anthropic as td_anthropic

    from tracedance_sdk.testing import Desk, mail

    scene = mail(Desk())
    tools = {tool.__name__: tool for tool in scene.tools}
    with (
        endpoint_elsewhere() as address,
        Anthropic(base_url=address.removesuffix("/v1"), api_key="fake", max_retries=0) as client,
    ):

        def play() -> None:
            said: list[Any] = [{"role": "user", "content": scene.user}]
            while True:
                message: Any = client.messages.create(
                    model="scripted", max_tokens=100, system=scene.system, messages=said
                )
                said.append({"role": "assistant", "content": message.content})
                calls = [block for block in message.content if block.type == "tool_use"]
                if not calls:
                    return
                results = [
                    {
                        "type": "tool_result",
                        "tool_use_id": call.id,
                        "content": tools[call.name](**call.input),
                    }
                    for call in calls
                ]
                said.append({"role": "user", "content": results})

        return _compared(effort, play, td_anthropic, AnthropicInstrumentor())


def _compared(
    effort: Effort, play: Callable[[], None], integration: Any, instrumentor: Any
) -> Measured:
    return added_costs(
        play,
        ours=recorded(integration),
        theirs=Side(lambda: openinference(instrumentor)),
        blocks=blocks_of(effort),
    )


BUDGETS = tuple(
    Budget(
        name,
        "what recording adds to a step of a client's loop",
        "what OpenInference's instrumentation adds",
        1.0,
        "x",
        measure,
    )
    for name, measure in (("openai", openai_client), ("anthropic", anthropic_client))
)
