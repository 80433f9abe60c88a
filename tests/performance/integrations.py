"""What recording adds to a framework's run, beside what somebody else's tracing adds to it.

Each framework plays the same scene against a scripted endpoint: three model calls, two tool calls.
A round plays it bare, recorded and traced by others, in changing order; what is compared is the
processor time of the thread that drives the framework, less the bare run's. Where a framework or
the others' tracing works in several threads, it is the time of the whole process, and the endpoint
is in another one.

Neither recording nor tracing is switched on for one run alone, and classes that were just changed
are slow at first. So each side is switched on for a block of plays, and the first of a block do not
count. What else runs on the machine only adds to a time, and may last for seconds: the lower
quartile of a block stands for it, and is compared with its neighbours' alone; the median round
counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tests.performance.measuring import Budget, Effort, Measured, duration

Around = Callable[[], AbstractContextManager[Any]]
"""Is open while the scene is played."""

STEPS = 5
"""Model calls and tool calls in the scene."""

WARM, COUNTED = 4, 12
"""Plays of a block that do not count, and that do."""


class Side(NamedTuple):
    """One way to have the scene played.

    Attributes:
        around: Is open during a block of plays.
        each: Is open during each of them.
    """

    around: Around = contextlib.nullcontext
    each: Around = contextlib.nullcontext


def added_costs(
    play: Callable[[], object],
    *,
    ours: Side,
    theirs: Side,
    blocks: int,
    clock: Callable[[], float] = time.thread_time,
) -> Measured:
    """Return what we add, as a multiple of what others add.

    Args:
        play: Plays the scene once.
        ours: Played so that we record it.
        theirs: Played so that others trace it.
        blocks: How many blocks of each there are.
        clock: Tells processor seconds.
    """
    sides = {"bare": Side(), "ours": ours, "theirs": theirs}
    rounds: list[Round] = []
    for side in sides.values():
        list(_played(play, side, clock))
    # What is loaded by now stays, and need not be looked through before each play.
    gc.collect()
    gc.freeze()
    for number in range(blocks):
        names = list(sides)
        taken = {
            name: _least(_played(play, sides[name], clock))
            for name in names[number % 3 :] + names[: number % 3]
        }
        rounds.append(Round(**taken))
    gc.unfreeze()
    low, median, high = statistics.quantiles(
        [played.ratio for played in rounds], n=4, method="inclusive"
    )
    ours_added, theirs_added, bare = (
        statistics.median(times) / STEPS
        for times in zip(
            *((r.ours - r.bare, r.theirs - r.bare, r.bare) for r in rounds), strict=True
        )
    )
    detail = f"{duration(ours_added)} against {duration(theirs_added)} a step of {duration(bare)}"
    return Measured(median, low, high, detail)


class Round(NamedTuple):
    """Seconds of a play on each side, one block after the other."""

    bare: float
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """What we add, as a multiple of what others add."""
        return (self.ours - self.bare) / max(self.theirs - self.bare, 1e-9)


def _least(times: Iterable[float]) -> float:
    return statistics.quantiles(times, n=4, method="inclusive")[0]


def _played(play: Callable[[], object], side: Side, clock: Callable[[], float]) -> Iterator[float]:
    with side.around():
        for number in range(WARM + COUNTED):
            with side.each():
                gc.collect()
                started = clock()
                play()
                taken = clock() - started
            if number >= WARM:
                yield taken


def blocks_of(effort: Effort) -> int:
    """Return how many blocks of each side are played."""
    return max(6, effort.rounds)


def recorded(module: Any) -> Side:
    """Have an integration installed, and a recorder open for each play."""
    import tracedance_sdk as td

    @contextlib.contextmanager
    def installed() -> Iterator[None]:
        module.install()
        try:
            yield
        finally:
            module.uninstall()

    return Side(installed, td.TraceRecorder)


@contextlib.contextmanager
def endpoint_elsewhere() -> Iterator[str]:
    """Play the scene in a process of its own, and give the address for OpenAI's clients."""
    with subprocess.Popen(
        [sys.executable, "-c", _ENDPOINT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the endpoint has no pipes")
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


_ENDPOINT = """
import sys
from tracedance_sdk.testing import Desk, mail, scripted_models
with scripted_models(mail(Desk())) as endpoint:
    print(endpoint.openai_url, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def openinference(instrumentor: Any) -> Iterator[None]:
    """Have one of OpenInference's instrumentations installed."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    instrumentor.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        instrumentor.uninstrument()
        provider.shutdown()


def langchain(effort: Effort) -> Measured | str:
    """An agent made by `create_agent`, beside OpenInference's instrumentation."""
    try:
        from langchain.agents import create_agent
        from langchain_openai import ChatOpenAI
        from openinference.instrumentation.langchain import LangChainInstrumentor
    except ImportError:
        return "langchain, langchain-openai and OpenInference's tracing are not installed"
    from tracedance_integrations import langchain as td_langchain

    from tracedance_sdk.testing import Desk, mail

    scene = mail(Desk())
    with endpoint_elsewhere() as address:
        fixed: dict[str, Any] = {"base_url": address, "api_key": "fake", "max_retries": 0}
        agent = create_agent(
            ChatOpenAI(model="scripted", **fixed),
            list(scene.tools),
            system_prompt=scene.system,
            name=scene.agent,
        )

        def play() -> None:
            agent.invoke({"messages": [("user", scene.user)]})

        return added_costs(
            play,
            ours=recorded(td_langchain),
            theirs=Side(lambda: openinference(LangChainInstrumentor())),
            blocks=blocks_of(effort),
            clock=time.process_time,
        )


def langgraph(effort: Effort) -> Measured | str:
    """A graph with `ToolNode`, run asynchronously, beside OpenInference's instrumentation."""
    try:
        from langchain_core.messages import SystemMessage
        from langchain_core.tools import tool
        from langchain_openai import ChatOpenAI
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode, tools_condition
        from openinference.instrumentation.langchain import LangChainInstrumentor
    except ImportError:
        return "langgraph, langchain-openai and OpenInference's tracing are not installed"
    from tracedance_integrations import langchain as td_langchain

    from tracedance_sdk.testing import Desk, mail

    scene = mail(Desk())
    loop = asyncio.new_event_loop()
    with endpoint_elsewhere() as address:
        fixed: dict[str, Any] = {"base_url": address, "api_key": "fake", "max_retries": 0}
        tools = [tool(function) for function in scene.tools]
        model = ChatOpenAI(model="scripted", **fixed).bind_tools(tools)

        async def ask(state: Any) -> Any:
            asked = [SystemMessage(scene.system), *state["messages"]]
            return {"messages": [await model.ainvoke(asked)]}

        graph = StateGraph(MessagesState)
        graph.add_node("ask", ask)
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge(START, "ask")
        graph.add_conditional_edges("ask", tools_condition)
        graph.add_edge("tools", "ask")
        office = graph.compile(name=scene.agent)
        given: Any = {"messages": [("user", scene.user)]}

        def play() -> None:
            loop.run_until_complete(office.ainvoke(given))

        try:
            return added_costs(
                play,
                ours=recorded(td_langchain),
                theirs=Side(lambda: openinference(LangChainInstrumentor())),
                blocks=blocks_of(effort),
                clock=time.process_time,
            )
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


def pydantic_ai(effort: Effort) -> Measured | str:
    """An agent of Pydantic AI on OpenAI's chat completions, beside its own instrumentation."""
    try:
        from openai import AsyncOpenAI
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError:
        return "pydantic-ai and openai are not installed"
    from tracedance_integrations import pydantic_ai as td_pydantic_ai

    from tracedance_sdk.testing import Desk, mail

    scene = mail(Desk())
    loop = asyncio.new_event_loop()
    with endpoint_elsewhere() as url:
        client = AsyncOpenAI(base_url=url, api_key="fake", max_retries=0)
        model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, name=scene.agent, system_prompt=scene.system, tools=list(scene.tools))

        def play() -> None:
            loop.run_until_complete(agent.run(scene.user))

        try:
            return added_costs(
                play,
                ours=recorded(td_pydantic_ai),
                theirs=Side(_instrumented),
                blocks=blocks_of(effort),
            )
        finally:
            loop.run_until_complete(client.close())
            loop.close()


@contextlib.contextmanager
def _instrumented() -> Iterator[None]:
    """Have Pydantic AI's own instrumentation switched on."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        yield
    finally:
        Agent.instrument_all(False)
        provider.shutdown()


def openai_agents(effort: Effort) -> Measured | str:
    """An agent of OpenAI's SDK on the Responses API, beside OpenInference's instrumentation.

    The SDK makes its own spans on all three sides; nobody but the instrumentation takes them.
    """
    try:
        from agents import (
            Agent,
            OpenAIResponsesModel,
            Runner,
            function_tool,
            set_trace_processors,
            set_tracing_disabled,
        )
        from openai import AsyncOpenAI
        from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
    except ImportError:
        return "openai-agents and OpenInference's instrumentation of it are not installed"
    from tracedance_integrations import openai_agents as td_openai_agents

    from tracedance_sdk.testing import Desk, mail

    set_tracing_disabled(False)
    set_trace_processors([])

    @contextlib.contextmanager
    def traced() -> Iterator[None]:
        with openinference(OpenAIAgentsInstrumentor()):
            yield
        set_trace_processors([])

    def play() -> None:
        loop.run_until_complete(Runner.run(agent, scene.user))

    scene = mail(Desk())
    loop = asyncio.new_event_loop()
    with endpoint_elsewhere() as url:
        client = AsyncOpenAI(base_url=url, api_key="fake", max_retries=0)
        agent = Agent(
            name=scene.agent,
            instructions=scene.system,
            model=OpenAIResponsesModel("scripted", client),
            tools=[function_tool(function) for function in scene.tools],
        )
        try:
            return added_costs(
                play,
                ours=recorded(td_openai_agents),
                theirs=Side(traced),
                blocks=blocks_of(effort),
            )
        finally:
            set_tracing_disabled(True)
            loop.run_until_complete(client.close())
            loop.close()


def mcp(effort: Effort, *, how: str = "content") -> Measured | str:
    """Calls of a client on a server in another process, by its pipes.

    OpenInference's instrumentation makes no spans of MCP, but carries the context of those that the
    library makes itself from version 2 on, and these have neither arguments nor results. Who wants
    both puts OpenInference's decorator for tools around the call.

    Args:
        effort: How long to measure.
        how: What is compared: see `Sessions.traced`.
    """
    try:
        import mcp.shared._otel  # noqa: F401
        import openinference.instrumentation.mcp  # noqa: F401  # whether both are there
    except ImportError:
        return "mcp from version 2 on and OpenInference's tracing of it are not installed"
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from tracedance_integrations import mcp as td_mcp

    from tests.performance.mcp_sessions import Sessions

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    sessions = Sessions(provider)

    def play() -> None:
        sessions.play(STEPS)

    try:
        return added_costs(
            play,
            ours=recorded(td_mcp),
            theirs=Side(lambda: sessions.traced(how)),
            blocks=blocks_of(effort),
        )
    finally:
        sessions.close()
        provider.shutdown()


BUDGETS = (
    Budget(
        "langchain",
        "what recording adds to an agent's step",
        "what OpenInference's instrumentation adds",
        1.0,
        "x",
        langchain,
    ),
    Budget(
        "langgraph",
        "what recording adds to a step of a graph",
        "what OpenInference's instrumentation adds",
        1.0,
        "x",
        langgraph,
    ),
    Budget(
        "pydantic-ai",
        "what recording adds to an agent's step",
        "what the framework's own instrumentation adds",
        1.0,
        "x",
        pydantic_ai,
    ),
    Budget(
        "openai-agents",
        "what recording adds to an agent's step",
        "what OpenInference's instrumentation adds",
        1.0,
        "x",
        openai_agents,
    ),
    Budget(
        "mcp",
        "what recording adds to a client's call",
        "what OpenInference's instrumentation and its decorator for tools add",
        1.0,
        "x",
        mcp,
    ),
    Budget(
        "mcp-spans",
        "what recording adds to a client's call",
        "what spans without content add, carried by OpenInference's instrumentation",
        2.0,
        "x",
        lambda effort: mcp(effort, how="spans"),
    ),
)
