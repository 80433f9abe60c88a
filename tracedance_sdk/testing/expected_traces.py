"""What the trace of a scene says, whatever framework played it."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from tracedance_sdk.testing.scenes import Scene
from tracedance_sdk.testing.scripted_endpoint import MODEL, said_in
from tracedance_sdk.trace import Trace


class SeenCall(NamedTuple):
    """A call, without its times and places.

    Attributes:
        result: What came back; None when it failed.
        error: Text that the error's message holds; None when it succeeded.
    """

    id: str
    name: str
    arguments: Any
    result: Any
    error: str | None


class SeenTurn(NamedTuple):
    """A turn, without its times.

    Attributes:
        tokens: Of input and output; None where the model's usage is not known.
    """

    role: str
    text: str
    calls: tuple[SeenCall, ...] = ()
    model: str | None = None
    tokens: tuple[int | None, int | None] | None = None


class SeenTrace(NamedTuple):
    """A trace, without ids and times.

    Attributes:
        tools: Names, with the names of their parameters.
        parent_call: Of a sub-agent: the call that started it.
    """

    agent: str
    system_prompt: str | None
    tools: tuple[tuple[str, tuple[str, ...]], ...]
    turns: tuple[SeenTurn, ...]
    parent_call: str | None = None


def seen(trace: Trace) -> SeenTrace:
    """Return what a trace says, in the form of `expected`."""
    tools = sorted((t.name, _parameters(t.parameters)) for t in trace.tools)
    turns = tuple(
        SeenTurn(
            turn.role,
            turn.text,
            tuple(_seen_call(call) for call in turn.calls),
            turn.model,
            None if turn.usage is None else (turn.usage.input_tokens, turn.usage.output_tokens),
        )
        for turn in trace.turns
    )
    parent = None if trace.parent is None else trace.parent.call_id
    return SeenTrace(trace.agent.name, trace.system_prompt, tuple(tools), turns, parent)


def expected(
    scene: Scene,
    *,
    user: str | None = None,
    parent_call: str | None = None,
    until: int | None = None,
) -> SeenTrace:
    """Return what the trace of a scene must say.

    Args:
        scene: The scene.
        user: What the agent is asked, where the scene does not say: a helper's question.
        parent_call: Id of the call that started the agent.
        until: How many of the model's turns there are; None for all.
    """
    results = {tool.__name__: tool for tool in scene.tools}
    turns = [SeenTurn("user", scene.user if user is None else user)]
    for place in range(len(scene.steps) if until is None else until):
        said = said_in(scene, place)
        calls = tuple(
            _expected_call(scene, results, call_id, name, arguments)
            for call_id, name, arguments in said.calls
        )
        tokens = (said.input_tokens, said.output_tokens)
        turns.append(SeenTurn("assistant", said.text or "", calls, MODEL, tokens))
    tools = [(t.__name__, tuple(sorted(inspect.signature(t).parameters))) for t in scene.tools]
    tools += [(f"ask_{helper.agent}", ("question",)) for helper in scene.helpers]
    return SeenTrace(scene.agent, scene.system, tuple(sorted(tools)), tuple(turns), parent_call)


def _expected_call(
    scene: Scene, tools: dict[str, Any], call_id: str, name: str, arguments: Any
) -> SeenCall:
    for helper in scene.helpers:
        if name == f"ask_{helper.agent}":
            return SeenCall(call_id, name, dict(arguments), helper.end, None)
    try:
        return SeenCall(call_id, name, dict(arguments), tools[name](**arguments), None)
    except RuntimeError as error:
        return SeenCall(call_id, name, dict(arguments), None, str(error))


def _seen_call(call: Any) -> SeenCall:
    result = call.result
    if result is None:
        return SeenCall(call.id, call.name, call.arguments, None, "no result")
    failed = result.ok is False or result.error is not None
    error = None if not failed else "" if result.error is None else result.error.message
    return SeenCall(call.id, call.name, call.arguments, None if failed else result.content, error)


def _parameters(schema: Any) -> tuple[str, ...]:
    properties = (schema or {}).get("properties") or {}
    return tuple(sorted(properties))
