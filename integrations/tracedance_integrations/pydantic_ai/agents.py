"""Runs of agents."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import FrameType
from typing import Any, Final

from tracedance_integrations.pydantic_ai import reading
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import overhear, start_agent
from tracedance_sdk.recording.scopes import open_runs

_BETWEEN: Final = ("wrapt", "tracedance_sdk.recording.integrating.")
"""Modules whose code stands between a patched function and whoever calls it."""


def iterate(wrapped: Any, agent: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Begin a run of an agent, on record."""
    manager = wrapped(*args, **kwargs)
    if not open_runs:
        return manager
    name = GUARD.attempt("agent name", PROCESS_FAULTS, _name, agent, sys._getframe(1))
    return _running(manager, name or "agent")


@asynccontextmanager
async def _running(manager: AbstractAsyncContextManager[Any], name: str) -> AsyncIterator[Any]:
    operation = start_agent(name)
    await operation.prepare()
    tokens = operation.enter()
    try:
        async with manager as run:
            yield run
            overhear(partial(reading.ending, run))
    except BaseException as error:
        operation.leave(tokens)
        operation.fail(error)
        raise
    operation.leave(tokens)
    operation.succeed(None)


def run_stream(wrapped: Any, agent: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Begin a streamed run, whose last results only its result tells."""
    if not open_runs:
        return wrapped(*args, **kwargs)
    if agent.name is None and kwargs.get("infer_name", True):
        # The framework looks for the name two frames up, which are ours now.
        name = GUARD.attempt("agent name", PROCESS_FAULTS, _name, agent, sys._getframe(1))
        if name is not None:
            agent.name = name
    return _streaming(wrapped(*args, **kwargs))


@asynccontextmanager
async def _streaming(manager: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    async with manager as result:
        yield result
        overhear(partial(reading.ending, result))


def _name(agent: Any, frame: FrameType | None) -> str | None:
    """Return an agent's name, or that of the variable which holds it where it is used."""
    if agent.name is not None:
        return str(agent.name)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_BETWEEN):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").startswith("pydantic_ai."):
        return None
    for names in (frame.f_locals, frame.f_globals):
        for name, value in names.items():
            if value is agent:
                return name
    return None
