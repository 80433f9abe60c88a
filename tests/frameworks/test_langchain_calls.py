"""LangChain's models and tools beyond what every framework is checked for."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from importlib import metadata
from typing import Annotated, Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.errors import MissingDependency
from tracedance_sdk.recording import GivenAnswer, answers_from
from tracedance_sdk.testing import Desk, Endpoint, Scene, Step, mail, scripted_models
from tracedance_sdk.trace import Trace

pytestmark = [
    pytest.mark.needs("langchain", "langgraph", "langchain_openai"),
    pytest.mark.installs("langchain"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def as_tool(function: Any, **of: Any) -> Any:
    """Return what LangChain's `@tool` makes of a function."""
    from langchain_core.tools import tool

    return tool(**of)(function) if of else tool(function)


def model(endpoint: Endpoint, **of: Any) -> Any:
    from langchain_openai import ChatOpenAI

    fixed = {"model": "scripted", "base_url": endpoint.openai_url, "api_key": "fake"}
    return ChatOpenAI(**{**fixed, "max_retries": 0, "stream_usage": True, **of})


def asked(scene: Scene) -> list[Any]:
    from langchain_core.messages import HumanMessage, SystemMessage

    return [SystemMessage(scene.system), HumanMessage(scene.user)]


def loop(scene: Scene, endpoint: Endpoint) -> str:
    """A loop as people write it, with `@tool` around decorated functions."""

    tools = {f.__name__: as_tool(td.tool(f)) for f in scene.tools}
    bound = model(endpoint, temperature=0.25).bind_tools(list(tools.values()))
    messages = asked(scene)
    while True:
        said = bound.invoke(messages, stop=["END"])
        messages.append(said)
        if not said.tool_calls:
            return str(said.text)
        messages += [tools[call["name"]].invoke(call) for call in said.tool_calls]


def talk(text: str, *more: Step) -> Scene:
    return Scene("clerk", "You are the clerk.", "Hello?", (), (Step(text), *more))


def said(trace: Trace) -> list[str]:
    return [f"{turn.role}: {turn.text}" for turn in trace.turns]


@pytest.mark.cell("langchain", "sync", package="langchain")
def test_a_loop_written_by_hand_is_recorded_and_a_decorated_tool_in_a_tool_is_one_call() -> None:
    desk = Desk()
    scene = mail(desk)
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        loop(scene, endpoint)
    trace = recorder.trace
    assert [(c.name, c.id, c.bound_by) for c in trace.calls] == [
        ("find_contact", "call_clerk_0_0", "id"),
        ("send_mail", "call_clerk_1_0", "id"),
    ]
    assert desk.uses == ["find_contact", "send_mail"]
    assert trace.turns[1].settings == {"temperature": 0.25, "stop": ["END"]}
    assert trace.turns[1].finish_reason == "tool_calls"
    assert getattr(trace.turns[1], "response_id", None) == "chatcmpl_clerk_0"
    assert [tool.name for tool in trace.tools] == ["find_contact", "send_mail", "use_printer"]
    assert not recorder.close().faults


@pytest.mark.cell("langchain", "beside others", package="langchain")
@pytest.mark.parametrize("client", ["openai", "anthropic"])
@pytest.mark.parametrize("way", ["sync", "async", "streaming", "streaming async"])
def test_a_client_with_an_integration_of_its_own_is_recorded_once(client: str, way: str) -> None:
    module = importlib.import_module(f"tracedance_integrations.{client}")
    module.install()
    scene = talk("Good morning.")
    try:
        with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
            if client == "openai":
                found = model(endpoint)
            else:
                anthropic = pytest.importorskip("langchain_anthropic")
                found = anthropic.ChatAnthropic(
                    model="scripted", base_url=endpoint.url, api_key="fake"
                )
            play(found, scene, way)
    finally:
        module.uninstall()
    assert said(recorder.trace) == ["user: Hello?", "assistant: Good morning."]
    usage = recorder.trace.turns[1].usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (100, 10)
    assert recorder.trace.system_prompt == scene.system


def play(found: Any, scene: Scene, way: str) -> None:
    async def streamed() -> None:
        async for _ in found.astream(asked(scene)):
            pass

    if way == "sync":
        found.invoke(asked(scene))
    elif way == "async":
        asyncio.run(found.ainvoke(asked(scene)))
    elif way == "streaming":
        list(found.stream(asked(scene)))
    else:
        asyncio.run(streamed())


@pytest.mark.cell("langchain", "streaming", package="langchain")
@pytest.mark.filterwarnings("ignore:.*is in beta")
@pytest.mark.parametrize("version", ["v2", "v3"])
def test_events_of_a_model_are_recorded_once(version: Any) -> None:
    scene = talk("Good morning.")

    async def play(endpoint: Endpoint) -> None:
        found = model(endpoint).astream_events(asked(scene), version=version)
        async for _ in found if version == "v2" else await found:
            pass

    if version == "v3" and not has_v3():
        pytest.skip("this version of langchain-core has no such events")
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        asyncio.run(play(endpoint))
    assert said(recorder.trace) == ["user: Hello?", "assistant: Good morning."]
    assert recorder.trace.turns[1].usage is not None
    assert not recorder.close().faults


def has_v3() -> bool:
    from langchain_core.language_models import BaseChatModel

    return hasattr(BaseChatModel, "_iter_v2_events")


@pytest.mark.cell("langchain", "streaming", package="langchain")
@pytest.mark.parametrize(("asks", "tokens"), [(None, None), (True, 100)], ids=["default", "asked"])
def test_tokens_of_a_stream_from_an_own_address_are_there_when_they_are_asked_for(
    asks: bool | None, tokens: int | None
) -> None:
    with scripted_models(mail(Desk())) as endpoint, td.TraceRecorder() as recorder:
        list(model(endpoint, stream_usage=asks).stream(asked(mail(Desk()))))
    reply = recorder.trace.turns[1]
    assert (reply.usage and reply.usage.input_tokens) == tokens
    assert (reply.model, reply.finish_reason) == ("scripted-1", "tool_calls")
    # The library drops the ids of what it streams.
    assert "response_id" not in (reply.model_extra or {})


@pytest.mark.cell("langchain", "streaming", package="langchain")
def test_a_stream_that_nobody_reads_on_is_an_interrupted_turn_with_what_had_come() -> None:
    scene = talk("Good morning, and a long speech follows.")
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        for chunk in model(endpoint).stream(asked(scene)):
            if chunk.text:
                break
    turn = recorder.trace.turns[-1]
    assert "Good morning".startswith(turn.text[:5])
    assert turn.interrupted


@pytest.mark.cell("langchain", "parallel calls", package="langchain")
@pytest.mark.parametrize("way", ["batch", "parallel"])
def test_models_asked_in_threads_are_all_recorded(way: str) -> None:
    from langchain_core.runnables import RunnableParallel

    scene = talk("Good morning.")
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        found = model(endpoint)
        if way == "batch":
            found.batch([asked(scene), asked(scene._replace(user="Hi?"))])
        else:
            RunnableParallel(a=found, b=found, c=found).invoke(asked(scene))
    answers = [turn for turn in recorder.trace.turns if turn.role == "assistant"]
    assert [turn.text for turn in answers] == ["Good morning."] * (2 if way == "batch" else 3)
    assert all(turn.usage is not None for turn in answers)
    assert not recorder.close().faults


def once(given: Any, arguments: dict[str, Any], **of: Any) -> Any:
    """Play an agent that uses one tool; return its call, and what the model was told."""
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    wanted = [{"name": given.name, "args": arguments, "id": "c1", "type": "tool_call"}]
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([given], **of))
    graph.add_edge(START, "tools")
    with td.TraceRecorder() as recorder:
        said = {"messages": [AIMessage("", tool_calls=wanted)]}
        found = graph.compile().invoke(said)
    assert not recorder.close().faults
    return recorder.trace.calls[0], found["messages"][-1]


@pytest.mark.cell("langchain", "tool error", package="langchain")
@pytest.mark.parametrize("by", ["tool", "node"])
def test_an_error_that_is_handled_is_a_failed_call_with_the_error(by: str) -> None:
    from langchain_core.tools import ToolException

    @as_tool
    def lookup(at: str) -> str:
        """Look something up."""
        raise ToolException(f"nothing at {at}")

    lookup.handle_tool_error = "it failed" if by == "tool" else False
    call, told = once(lookup, {"at": "sky"}, handle_tool_errors=by == "node")
    assert call.result.ok is False
    assert call.result.error.type.endswith("ToolException")
    assert call.result.error.message == "nothing at sky"
    assert told.status == "error"
    if by == "tool":
        assert (call.result.content, told.content) == ("it failed", "it failed")


@pytest.mark.cell("langchain", "tool error", package="langchain")
def test_arguments_that_do_not_fit_are_a_failed_call() -> None:

    @as_tool
    def lookup(at: int) -> str:
        """Look something up."""
        return str(at)

    lookup.handle_validation_error = True
    call, told = once(lookup, {"at": "sky"})
    assert call.arguments == {"at": "sky"}
    assert "ValidationError" in call.result.error.type
    assert told.status == "error"


def test_a_result_is_recorded_as_the_tool_returned_it_without_what_the_framework_adds() -> None:
    from langchain_core.tools import InjectedToolArg, InjectedToolCallId
    from langgraph.prebuilt import InjectedState

    def lookup(at: Any, state: Any, call: Any, secret: Any = "hidden") -> Any:
        """Look something up."""
        return {"at": at, "messages": len(state["messages"]), "call": call}

    lookup.__annotations__ = {
        "at": str,
        "state": Annotated[dict[str, Any], InjectedState],
        "call": Annotated[str, InjectedToolCallId],
        "secret": Annotated[str, InjectedToolArg],
    }
    call, told = once(as_tool(lookup), {"at": "sky"})
    assert call.arguments == {"at": "sky"}
    assert call.result.content == {"at": "sky", "messages": 1, "call": "c1"}
    assert told.content == '{"at": "sky", "messages": 1, "call": "c1"}'


def test_what_a_command_tells_the_model_is_the_result() -> None:
    from langchain_core.messages import ToolMessage
    from langgraph.types import Command

    @as_tool
    def lookup(at: str) -> Any:
        """Look something up."""
        return Command(update={"messages": [ToolMessage(f"at {at}", tool_call_id="c1")]})

    call, told = once(lookup, {"at": "sky"})
    assert (call.result.ok, call.result.content, told.content) == (True, "at sky", "at sky")


def test_an_artifact_stays_with_the_program() -> None:

    def lookup(at: str) -> tuple[str, list[int]]:
        """Look something up."""
        return f"at {at}", [1, 2]

    given = as_tool(lookup, response_format="content_and_artifact")
    call, told = once(given, {"at": "sky"})
    assert (call.result.content, told.artifact) == ("at sky", [1, 2])


def test_a_tool_that_nobody_has_fails_with_what_the_model_was_told() -> None:
    from langchain.agents import create_agent

    steps = (Step(None, (("fly", {"to": "moon"}),)), Step("I cannot fly."))
    scene = Scene("clerk", "You are the clerk.", "Fly!", Desk().tools, steps)
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        agent = create_agent(model(endpoint), list(scene.tools), system_prompt=scene.system)
        agent.invoke({"messages": [("user", scene.user)]})
    (call,) = recorder.trace.calls
    assert call.result is not None
    assert (call.name, call.result.ok) == ("fly", False)
    assert "not a valid tool" in str(call.result)


@pytest.mark.cell("langchain", "replay", package="langchain")
@pytest.mark.parametrize("way", ["sync", "async"])
def test_recorded_answers_reach_the_model_in_the_form_of_the_tools_own(way: str) -> None:

    @as_tool
    def lookup(at: str) -> dict[str, Any]:
        """Look something up."""
        return {"at": at}

    wanted = {"name": "lookup", "args": {"at": "sky"}, "id": "c1", "type": "tool_call"}

    def use() -> Any:
        return lookup.invoke(wanted) if way == "sync" else asyncio.run(lookup.ainvoke(wanted))

    with td.TraceRecorder() as recorder:
        first = use()
    result = recorder.trace.calls[0].result

    class Source:
        def answer(self, asked: Any, /) -> Any:
            assert (asked.name, asked.arguments) == ("lookup", {"at": "sky"})
            assert result is not None
            return GivenAnswer(result)

    lookup.func = None
    with answers_from(Source()):
        assert use() == first


@pytest.mark.cell("langchain", "replay", package="langchain")
def test_a_failure_that_was_handled_is_one_again_when_it_is_replayed() -> None:
    from langchain_core.tools import ToolException

    @as_tool
    def lookup(at: str) -> str:
        """Look something up."""
        raise ToolException(f"nothing at {at}")

    lookup.handle_tool_error = "it failed"
    wanted = {"name": "lookup", "args": {"at": "sky"}, "id": "c1", "type": "tool_call"}
    with td.TraceRecorder() as recorder:
        first = lookup.invoke(wanted)
    result = recorder.trace.calls[0].result

    class Source:
        def answer(self, asked: Any, /) -> Any:
            assert result is not None
            return GivenAnswer(result)

    lookup.func = None
    with td.TraceRecorder() as replayed, answers_from(Source()):
        assert lookup.invoke(wanted) == first
    again = replayed.trace.calls[0].result
    assert again is not None
    assert (again.ok, again.content) == (False, "it failed")


@pytest.mark.parametrize(
    "broken",
    [
        "models._asked",
        "models._reply",
        "models._plain",
        "messages._fields_of",
        "tools._arguments",
        "tools._message_in",
        "graphs._name",
        "graphs._state",
        "graphs._conversation",
    ],
)
def test_a_fault_of_the_integration_never_reaches_the_agent(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    name = broken.rpartition(".")[2]
    for module in ("messages", "models", "tools", "graphs"):
        path = f"tracedance_integrations.langchain.{module}.{name}"
        monkeypatch.setattr(path, fail, raising=False)
    from langchain.agents import create_agent

    scene = mail(Desk())
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        agent = create_agent(model(endpoint), list(scene.tools), system_prompt=scene.system)
        found = agent.invoke({"messages": [("user", scene.user)]})
    assert found["messages"][-1].text == scene.end
    assert any("ZeroDivisionError" in fault for fault in recorder.close().faults)


@pytest.mark.cell("langchain", "uninstall", package="langchain")
def test_where_a_hook_finds_no_place_the_others_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from langchain_core.language_models import BaseChatModel
    from tracedance_integrations import langchain as td_langchain

    td_langchain.uninstall()
    before = vars(BaseChatModel)["astream"]
    monkeypatch.delattr(BaseChatModel, "_agenerate_with_cache")
    td_langchain.install()
    assert [line for line in caplog.messages if "install langchain" in line]
    scene = mail(Desk())
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        loop(scene, endpoint)
    assert len(recorder.trace.calls) == 2
    td_langchain.uninstall()
    assert vars(BaseChatModel)["astream"] is before


@pytest.mark.parametrize("package", ["langchain-core", "langgraph"])
def test_a_version_that_is_not_tested_is_warned_of_once(
    package: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tracedance_integrations import langchain as td_langchain

    true = metadata.version
    monkeypatch.setattr(metadata, "version", lambda p: "99.1" if p == package else true(p))
    td_langchain.uninstall()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            td_langchain.install()
            td_langchain.uninstall()
    assert [package in line and "99.1" in line for line in caplog.messages] == [True]


def test_without_langchain_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracedance_integrations import langchain as td_langchain

    td_langchain.uninstall()
    true = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> Any:
        return None if name == "langchain_core" else true(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(MissingDependency) as caught:
        td_langchain.install()
    assert "tracedance-sdk[langchain]" in str(caught.value)
    assert "\n" not in str(caught.value)
