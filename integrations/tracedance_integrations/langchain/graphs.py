"""Compiled graphs: each run of one is an agent's, and its state is the state of the run.

The state is seen where the graph itself first has it and last has it, so that neither the
checkpointer is asked nor the stream is changed.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from tracedance_integrations.langchain.messages import as_json, is_message, read
from tracedance_integrations.langchain.tools import SEEN, node_hooks
from tracedance_sdk.formats import ModelRequest, request_from_langchain
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.driving import iterate_async_in, iterate_in
from tracedance_sdk.recording.integrating import AgentOperation, Patches, attempt, start_agent
from tracedance_sdk.recording.scopes import open_runs

_UNNAMED: Final = "LangGraph"


def graph_hooks(patches: Patches) -> None:
    """Put the hooks into LangGraph's base class of graphs."""
    from langgraph.pregel import Pregel

    patches.wrap(Pregel, "stream", _stream)
    patches.wrap(Pregel, "astream", _stream_async)
    patches.attempt(_loop_hooks)
    patches.attempt(node_hooks)


def _loop_hooks(patches: Patches) -> None:
    from langgraph.pregel._loop import PregelLoop

    patches.wrap(PregelLoop, "_first", _first)
    patches.wrap(PregelLoop, "after_tick", _after_tick)


def _stream(wrapped: Any, graph: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return iterate_in(partial(_begin, graph), wrapped(*args, **kwargs))


def _stream_async(wrapped: Any, graph: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return iterate_async_in(partial(_begin, graph), wrapped(*args, **kwargs))


def _begin(graph: Any) -> GraphRun:
    place = attempt("graph", _place, graph) if open_runs else None
    return GraphRun(start_agent(partial(_name, graph), place=place))


def _first(wrapped: Any, loop: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Look at the state that was saved, before the input is put into it."""
    run = _RUN.get()
    if run is None:
        return wrapped(*args, **kwargs)
    attempt("graph", run.meet, loop)
    value = wrapped(*args, **kwargs)
    attempt("graph", run.take_up)
    return value


def _after_tick(wrapped: Any, loop: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Look at the state with the input in it, which the first step puts there."""
    value = wrapped(*args, **kwargs)
    run = _RUN.get()
    if run is not None:
        attempt("graph", run.take_input, loop)
    return value


class GraphRun:
    """The run of a graph, as an operation."""

    def __init__(self, operation: AgentOperation) -> None:
        self._operation = operation
        self._loop: Any = None
        self._wants_input = False

    async def prepare(self) -> None:
        """Begin."""
        await self._operation.prepare()

    def enter(self) -> Any:
        """Make the graph's run the current one."""
        return self._operation.enter(), _RUN.set(self), SEEN.set(None)

    def leave(self, tokens: Any) -> None:
        """Make the run around it the current one."""
        ours, run, seen = tokens
        reset_quietly(SEEN, seen)
        reset_quietly(_RUN, run)
        self._operation.leave(ours)

    def add(self, item: object) -> None:
        """Keep nothing: what a graph yields is for its caller."""

    def exhaust(self) -> None:
        """The graph has ended, or waits for somebody."""
        self._tell_end()
        self._operation.exhaust()

    def succeed(self, value: object) -> None:
        """The graph has ended."""
        self._tell_end()
        self._operation.succeed(value)

    def fail(self, error: BaseException) -> None:
        """The graph has failed, or its caller stopped reading."""
        if isinstance(error, _kind("GraphInterrupt")):
            self._tell_end()
            self._operation.pause()
            return
        if isinstance(error, _kind("GraphBubbleUp")):
            self.exhaust()
            return
        self._tell_end()
        self._operation.fail(error)

    async def observe(self) -> None:
        """Tell the state at the end before the run looks for it."""
        self._tell_end()
        await self._operation.observe()

    def meet(self, loop: Any) -> None:
        """Take the loop that holds the state; what it holds already, a checkpointer had saved."""
        self._loop = loop
        self._wants_input = not loop.checkpoint["channel_versions"]
        if not self._wants_input:
            self._operation.tell_state(partial(_state, loop))

    def take_up(self) -> None:
        """Take the conversation that a resumed run goes on with."""
        self._operation.recall(partial(_conversation, self._loop))

    def take_input(self, loop: Any) -> None:
        """Take the state as the input made it."""
        if self._wants_input and loop is self._loop:
            self._wants_input = False
            self._operation.tell_state(partial(_state, loop))

    def _tell_end(self) -> None:
        if self._loop is not None:
            self._operation.tell_state(partial(_state, self._loop))
            self._loop = None


_RUN: Final[ContextVar[GraphRun | None]] = ContextVar("tracedance_langgraph_run", default=None)


def _name(graph: Any) -> str | None:
    """Return the name that a graph was given; as a part of another one, that of its node.

    None in a tool, and where nobody named it.
    """
    name = graph.get_name()
    if name != _UNNAMED:
        return str(name)
    if SEEN.get() is not None:
        return None
    from langchain_core.runnables.config import ensure_config

    config = ensure_config()
    node: str | None = config.get("metadata", {}).get("langgraph_node")
    return node


def _place(graph: Any) -> str | None:
    """Return where a graph stands in the one around it; it is the same when that goes on.

    None for a graph that is no part of another one.
    """
    from langchain_core.runnables.config import ensure_config

    here = ensure_config().get("configurable", {})
    around = here.get("checkpoint_ns")
    return f"graph {here.get('thread_id')} {around} {graph.get_name()}" if around else None


def _kind(name: str) -> tuple[type[BaseException], ...]:
    """Return the exceptions with which a graph only waits for somebody, or also hands on."""
    kind = getattr(sys.modules.get("langgraph.errors"), name, None)
    return () if kind is None else (kind,)


def _state(loop: Any) -> Any:
    from langgraph.pregel._io import read_channels

    return as_json(read_channels(loop.channels, loop.stream_keys))


def _conversation(loop: Any) -> ModelRequest | None:
    """Return the conversation so far of a graph that goes on where it was interrupted."""
    from langgraph.types import Command

    if loop.input is not None and not isinstance(loop.input, Command):
        return None
    state = loop.channels.get("messages")
    said = [] if state is None else state.get()
    told = [read(m) for m in said if is_message(m)] if isinstance(said, list) else []
    return request_from_langchain(told, {}) if told else None
