"""LangGraph's graphs: their state, their parts, and those that wait for somebody."""

from __future__ import annotations

import asyncio
import dataclasses
import operator
from typing import Annotated, Any, TypedDict

import pytest

import tracedance_sdk as td
from tracedance_sdk.testing import Desk, Endpoint, Scene, Step, mail, nested, scripted_models

pytestmark = [
    pytest.mark.needs("langchain", "langgraph", "langchain_openai"),
    pytest.mark.installs("langchain"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Notes(TypedDict, total=False):
    """A state without messages."""

    notes: Annotated[list[str], operator.add]
    budget: int


@dataclasses.dataclass
class Basket:
    """A class of the program's own."""

    items: list[str]


class Shop(TypedDict):
    """A state that holds one."""

    basket: Basket


def as_tool(function: Any, **of: Any) -> Any:
    """Return what LangChain's `@tool` makes of a function."""
    from langchain_core.tools import tool

    return tool(**of)(function) if of else tool(function)


def agent(scene: Scene, endpoint: Endpoint, **of: Any) -> Any:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    fixed = {"model": "scripted", "base_url": endpoint.openai_url, "api_key": "fake"}
    model = ChatOpenAI(**fixed, max_retries=0)
    return create_agent(
        model, [*scene.tools, *of.pop("tools", ())], system_prompt=scene.system, **of
    )


def asked(scene: Scene) -> dict[str, Any]:
    return {"messages": [("user", scene.user)]}


def notebook(**of: Any) -> Any:
    from langgraph.graph import START, StateGraph

    graph = StateGraph(Notes)
    graph.add_node("write", lambda state: {"notes": ["written"], "budget": state["budget"] - 1})
    graph.add_edge(START, "write")
    return graph.compile(**of)


def saver() -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver()


def thread(name: str = "t1") -> Any:
    return {"configurable": {"thread_id": name}}


@pytest.mark.cell("langgraph", "state")
@pytest.mark.parametrize("way", ["sync", "async", "updates", "astream"])
def test_the_state_before_is_the_input_where_nothing_was_saved(way: str) -> None:
    graph = notebook()
    given = {"notes": ["first"], "budget": 3}

    async def read() -> None:
        async for _ in graph.astream(given, stream_mode="messages"):
            pass

    with td.TraceRecorder() as recorder:
        if way == "sync":
            graph.invoke(given)
        elif way == "async":
            asyncio.run(graph.ainvoke(given))
        elif way == "updates":
            list(graph.stream(given, stream_mode="updates"))
        else:
            asyncio.run(read())
    trace = recorder.trace
    assert trace.initial_state == given
    assert trace.final_state == {"notes": ["first", "written"], "budget": 2}
    assert not recorder.close().faults


@pytest.mark.cell("langgraph", "state")
@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_state_before_is_what_the_checkpointer_had_saved(way: str) -> None:
    graph = notebook(checkpointer=saver())
    graph.invoke({"notes": ["first"], "budget": 3}, thread())
    with td.TraceRecorder() as recorder:
        if way == "sync":
            graph.invoke({"notes": ["second"]}, thread())
        else:
            asyncio.run(graph.ainvoke({"notes": ["second"]}, thread()))
    trace = recorder.trace
    assert trace.initial_state == {"notes": ["first", "written"], "budget": 2}
    assert trace.final_state == {"notes": ["first", "written", "second", "written"], "budget": 1}
    assert trace.final_state == graph.get_state(thread()).values


@pytest.mark.cell("langgraph", "state")
def test_the_first_state_and_the_last_of_several_runs_are_the_recorders() -> None:
    graph = notebook(checkpointer=saver())
    with td.TraceRecorder() as recorder:
        graph.invoke({"notes": ["first"], "budget": 3}, thread())
        graph.invoke({"notes": ["second"]}, thread())
    assert recorder.trace.initial_state == {"notes": ["first"], "budget": 3}
    assert recorder.trace.final_state == graph.get_state(thread()).values


@pytest.mark.cell("langgraph", "state")
def test_a_state_of_the_recorders_own_counts_instead() -> None:
    with td.TraceRecorder(state=lambda: {"mails": 0}) as recorder:
        notebook().invoke({"notes": [], "budget": 3})
    assert (recorder.trace.initial_state, recorder.trace.final_state) == ({"mails": 0},) * 2


@pytest.mark.cell("langchain", "state", package="langchain")
@pytest.mark.cell("langgraph", "state")
def test_messages_in_the_state_are_json_to_read() -> None:
    scene = mail(Desk())
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        found = agent(scene, endpoint).invoke(asked(scene))
        found["messages"].append("changed later")
    before, after = recorder.trace.initial_state, recorder.trace.final_state
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert [(m["type"], m["content"]) for m in before["messages"]] == [("human", scene.user)]
    assert [m["type"] for m in after["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert after["messages"][1]["tool_calls"][0]["args"] == {"name": "Sam"}
    assert "$repr" not in str(after)
    # Nothing in it differs by chance: the same run again has the same state.
    assert not {"id", "usage_metadata", "response_metadata"} & after["messages"][1].keys()
    with scripted_models(scene) as endpoint, td.TraceRecorder() as again:
        agent(scene, endpoint).invoke(asked(scene))
    assert again.trace.final_state == after


@pytest.mark.cell("langgraph", "state")
def test_a_state_of_ones_own_classes_is_json_too() -> None:
    from langgraph.graph import START, StateGraph

    graph = StateGraph(Shop)
    graph.add_node("add", lambda state: {"basket": Basket([*state["basket"].items, "tea"])})
    graph.add_edge(START, "add")
    with td.TraceRecorder() as recorder:
        graph.compile().invoke({"basket": Basket([])})
    assert recorder.trace.initial_state == {"basket": {"items": []}}
    assert recorder.trace.final_state == {"basket": {"items": ["tea"]}}


@pytest.mark.cell("langgraph", "state")
def test_the_state_of_a_graph_that_fails_is_the_last_it_had() -> None:
    from langgraph.graph import START, StateGraph

    def fail(_: Notes) -> Notes:
        raise RuntimeError("out of ink")

    graph = StateGraph(Notes)
    graph.add_node("write", lambda _: {"notes": ["written"]})
    graph.add_node("fail", fail)
    graph.add_edge(START, "write")
    graph.add_edge("write", "fail")
    with td.TraceRecorder() as recorder, pytest.raises(RuntimeError, match="out of ink"):
        graph.compile().invoke({"notes": [], "budget": 1})
    assert recorder.trace.initial_state == {"notes": [], "budget": 1}
    assert recorder.trace.final_state == {"notes": ["written"], "budget": 1}


@pytest.mark.cell("langgraph", "state")
def test_a_sub_agent_has_a_state_of_its_own() -> None:
    from langgraph.graph import START, StateGraph

    graph = StateGraph(Notes)
    graph.add_node("inner", notebook())
    graph.add_edge(START, "inner")
    with td.TraceRecorder() as recorder:
        graph.compile(name="outer").invoke({"notes": ["first"], "budget": 3})
    outer, inner = recorder.traces
    assert (outer.agent.name, inner.agent.name) == ("outer", "inner")
    assert inner.initial_state == {"notes": ["first"], "budget": 3}
    assert inner.final_state == {"notes": ["first", "written"], "budget": 2}
    assert outer.initial_state == {"notes": ["first"], "budget": 3}


@pytest.mark.cell("langgraph", "nested agents")
@pytest.mark.parametrize("way", ["sync", "async", "streaming"])
def test_an_agent_that_is_a_node_is_a_sub_agent_without_a_call(way: str) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    scene = mail(Desk())

    async def read(graph: Any) -> None:
        async for _ in graph.astream(asked(scene), stream_mode="messages", subgraphs=True):
            pass

    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        graph = StateGraph(MessagesState)
        graph.add_node("desk", agent(scene, endpoint, name="clerk"))
        graph.add_edge(START, "desk")
        office = graph.compile(name="office")
        if way == "sync":
            office.invoke(asked(scene))
        elif way == "async":
            asyncio.run(office.ainvoke(asked(scene)))
        else:
            asyncio.run(read(office))
    office_trace, clerk = recorder.traces
    assert (office_trace.agent.name, clerk.agent.name) == ("office", "clerk")
    assert (len(office_trace.turns), len(clerk.turns)) == (0, 4)
    assert clerk.parent is not None
    assert (clerk.parent.trace_id, clerk.parent.call_id) == (office_trace.id, None)
    assert not recorder.close().faults


@pytest.mark.cell("langgraph", "nested agents")
def test_a_graph_without_a_name_in_a_tool_is_called_like_the_tool() -> None:

    scene = nested(Desk())
    helper = scene.helpers[0]
    with scripted_models(scene) as endpoint, td.TraceRecorder(agent="clerk") as recorder:

        @as_tool
        def ask_archivist(question: str) -> str:
            """Ask somebody else."""
            found = agent(helper, endpoint).invoke({"messages": [("user", question)]})
            return str(found["messages"][-1].text)

        agent(scene, endpoint, tools=[ask_archivist]).invoke(asked(scene))
    assert [t.agent.name for t in recorder.traces] == ["clerk", "ask_archivist"]
    parent = recorder.traces[1].parent
    assert parent is not None
    assert parent.call_id == recorder.trace.actions[0].id


@pytest.mark.cell("langgraph", "streaming")
@pytest.mark.filterwarnings("ignore:.*(is in beta|is experimental)")
@pytest.mark.parametrize("version", ["v2", "v3"])
def test_events_of_a_graph_change_nothing_in_its_trace(version: Any) -> None:
    from langgraph.pregel import Pregel

    if version == "v3" and not hasattr(Pregel, "_apregel_stream_v3"):
        pytest.skip("this version of langgraph has no such events")
    scene = mail(Desk())

    async def read(endpoint: Endpoint) -> None:
        found = agent(scene, endpoint).astream_events(asked(scene), version=version)
        async for _ in found if version == "v2" else await found:
            pass

    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        asyncio.run(read(endpoint))
    turns = recorder.trace.turns
    assert [turn.role for turn in turns] == ["user", *["assistant"] * 3]
    assert [len(turn.calls) for turn in turns] == [0, 1, 1, 0]
    assert [call.result.content for turn in turns for call in turn.calls if call.result] == [
        "sam@example.com",
        "sent to sam@example.com: Lunch at noon?",
    ]
    assert not recorder.close().faults


@pytest.mark.cell("langgraph", "parallel calls")
def test_graphs_run_in_threads_by_a_batch_are_sub_agents_but_the_first() -> None:
    scene = mail(Desk())
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        agent(scene, endpoint, name="clerk").batch([asked(scene)] * 3)
    traces = recorder.traces
    assert [len(trace.turns) for trace in traces] == [4, 4, 4]
    assert not recorder.close().faults


def approved(scene: Scene, endpoint: Endpoint, where: str, **more: Any) -> Any:
    """An agent that asks somebody before it sends a mail: in the tool, or before it."""
    from langgraph.types import interrupt

    find, send, _ = scene.tools

    @as_tool
    def send_mail(to: str, body: str) -> str:
        """Send a mail."""
        if where == "tool":
            interrupt({"may I write to": to})
        return str(send(to, body))

    of: dict[str, Any] = {"tools": [send_mail], "checkpointer": saver(), **more}
    if where == "middleware":
        from langchain.agents.middleware import HumanInTheLoopMiddleware

        of["middleware"] = [HumanInTheLoopMiddleware({"send_mail": True})]
    return agent(scene._replace(tools=(find,)), endpoint, **of)


def answer(where: str) -> Any:
    from langgraph.types import Command

    if where == "tool":
        return Command(resume="yes")
    return Command(resume={"decisions": [{"type": "approve"}]})


@pytest.mark.cell("langgraph", "state")
@pytest.mark.parametrize("where", ["tool", "middleware"])
def test_a_graph_that_waits_for_somebody_goes_on_in_the_same_conversation(where: str) -> None:
    scene = mail(Desk())
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        graph = approved(scene, endpoint, where)
        waiting = graph.invoke(asked(scene), thread())
        assert "__interrupt__" in waiting
        assert graph.invoke(answer(where), thread())["messages"][-1].text == scene.end
    trace = recorder.trace
    assert [turn.role for turn in trace.turns] == ["user", *["assistant"] * 3]
    assert [(c.name, c.id, c.result is not None and c.result.ok) for c in trace.calls] == [
        ("find_contact", "call_clerk_0_0", True),
        ("send_mail", "call_clerk_1_0", True),
    ]
    assert not recorder.close().faults
    assert trace.outcome is None or trace.outcome.error is None


@pytest.mark.parametrize("where", ["tool", "middleware"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_graph_that_goes_on_in_another_recorder_brings_its_conversation(
    where: str, way: str
) -> None:
    scene = mail(Desk())
    recorders = td.TraceRecorder(), td.TraceRecorder()

    async def wait(graph: Any) -> None:
        for recorder, given in zip(recorders, (asked(scene), answer(where)), strict=True):
            async with recorder:
                await graph.ainvoke(given, thread())

    with scripted_models(scene) as endpoint:
        graph = approved(scene, endpoint, where)
        if way == "async":
            asyncio.run(wait(graph))
        else:
            for recorder, given in zip(recorders, (asked(scene), answer(where)), strict=True):
                with recorder:
                    graph.invoke(given, thread())
    first, second = recorders
    before, after = first.trace, second.trace
    sent = before.turns[2].calls[0]
    if where == "tool":
        assert sent.result is not None
        assert (sent.result.ok, sent.result.interrupted, sent.result.error) == (None, True, None)
    else:
        assert sent.result is None
    assert [turn.role for turn in after.turns] == ["user", *["assistant"] * 3]
    assert [(c.name, c.id, c.bound_by) for c in after.calls] == [
        ("find_contact", "call_clerk_0_0", "id"),
        ("send_mail", "call_clerk_1_0", "id"),
    ]
    assert [getattr(t, "copied_context", False) for t in after.turns[1:]] == [True, True, False]
    assert after.system_prompt == scene.system
    assert not first.close().faults
    assert not second.close().faults


@pytest.mark.parametrize(
    ("decision", "arguments", "ok"),
    [
        (
            {
                "type": "edit",
                "edited_action": {"name": "send_mail", "args": {"to": "K", "body": "B"}},
            },
            {"to": "K", "body": "B"},
            True,
        ),
        (
            {"type": "reject", "message": "No."},
            {"to": "sam@example.com", "body": "Lunch at noon?"},
            False,
        ),
    ],
    ids=["edited", "rejected"],
)
def test_what_somebody_decides_instead_is_what_became_of_the_call(
    decision: Any, arguments: Any, ok: bool
) -> None:
    from langgraph.types import Command

    desk = Desk()
    scene = mail(desk)
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        graph = approved(scene, endpoint, "middleware")
        graph.invoke(asked(scene), thread())
        graph.invoke(Command(resume={"decisions": [decision]}), thread())
    call = recorder.trace.calls[1]
    assert call.result is not None
    assert (call.id, call.arguments, call.result.ok) == ("call_clerk_1_0", arguments, ok)
    assert desk.uses == ["find_contact", *(["send_mail"] if ok else [])]
    assert len(recorder.trace.turns) == 4


def waiting_part() -> Any:
    """A graph of which a part, a graph too, waits for somebody."""
    from langgraph.graph import START, StateGraph
    from langgraph.types import interrupt

    def wait(_: Notes) -> Any:
        return {"notes": [interrupt("what now?")]}

    inner = StateGraph(Notes)
    inner.add_node("wait", wait)
    inner.add_edge(START, "wait")
    outer = StateGraph(Notes)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    return outer.compile(name="outer", checkpointer=saver())


def ended_well(recorder: td.TraceRecorder) -> None:
    errors = [t.outcome and t.outcome.error for t in recorder.traces]
    assert errors == [None] * len(errors)
    assert not recorder.close().faults


def test_a_part_of_a_graph_that_waits_is_no_failure_and_goes_on_in_its_trace() -> None:
    from langgraph.types import Command

    graph = waiting_part()
    with td.TraceRecorder() as recorder:
        graph.invoke({"notes": [], "budget": 1}, thread())
        graph.invoke(Command(resume="go on"), thread())
    traces = recorder.traces
    assert [trace.agent.name for trace in traces] == ["outer", "inner"]
    assert traces[0].final_state == {"notes": ["go on"], "budget": 1}
    assert traces[1].initial_state == {"notes": [], "budget": 1}
    assert traces[1].final_state == {"notes": ["go on"], "budget": 1}
    ended_well(recorder)


def test_a_part_of_a_graph_that_waits_for_good_ends_with_the_recorder() -> None:
    graph = waiting_part()
    with td.TraceRecorder() as recorder:
        for name in ("t1", "t2"):
            graph.invoke({"notes": [], "budget": 1}, thread(name))
    assert [trace.agent.name for trace in recorder.traces] == ["outer", "inner", "inner"]
    assert all(trace.ended_at is not None for trace in recorder.traces)
    ended_well(recorder)


def test_a_part_of_a_graph_that_goes_on_in_another_recorder_has_a_trace_in_each() -> None:
    from langgraph.types import Command

    graph = waiting_part()
    with td.TraceRecorder() as first:
        graph.invoke({"notes": [], "budget": 1}, thread())
    with td.TraceRecorder() as second:
        graph.invoke(Command(resume="go on"), thread())
    for recorder in (first, second):
        assert [trace.agent.name for trace in recorder.traces] == ["outer", "inner"]
        ended_well(recorder)


@pytest.mark.cell("langgraph", "nested agents")
@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("where", ["tool", "middleware"])
def test_a_sub_agent_that_waits_goes_on_in_the_same_conversation(where: str, way: str) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    scene = mail(Desk())

    async def play(office: Any) -> None:
        for given in (asked(scene), answer(where)):
            await office.ainvoke(given, thread())

    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        graph = StateGraph(MessagesState)
        graph.add_node("desk", approved(scene, endpoint, where, name="clerk", checkpointer=None))
        graph.add_edge(START, "desk")
        office = graph.compile(name="office", checkpointer=saver())
        if way == "async":
            asyncio.run(play(office))
        else:
            for given in (asked(scene), answer(where)):
                office.invoke(given, thread())
    office_trace, clerk = recorder.traces
    assert (office_trace.agent.name, clerk.agent.name) == ("office", "clerk")
    assert [turn.role for turn in clerk.turns] == ["user", *["assistant"] * 3]
    assert [(c.name, c.id, c.result is not None and c.result.ok) for c in clerk.calls] == [
        ("find_contact", "call_clerk_0_0", True),
        ("send_mail", "call_clerk_1_0", True),
    ]
    ended_well(recorder)


def test_sub_agents_in_tools_that_wait_go_on_each_in_its_call() -> None:
    from langgraph.graph import START, StateGraph
    from langgraph.types import Command, interrupt

    def wait(state: Notes) -> Any:
        return {"notes": [interrupt(state["notes"][0])]}

    inner = StateGraph(Notes)
    inner.add_node("wait", wait)
    inner.add_edge(START, "wait")
    helper = inner.compile(name="helper")

    @as_tool
    def ask(what: str) -> str:
        """Ask somebody else."""
        return str(helper.invoke({"notes": [what], "budget": 1})["notes"])

    steps = (*(Step(None, (("ask", {"what": what}),)) for what in ("a", "b")), Step("Done."))
    scene = Scene("clerk", "You are the clerk.", "Ask!", (), steps)
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        office = agent(scene, endpoint, tools=[ask], checkpointer=saver())
        office.invoke(asked(scene), thread())
        office.invoke(Command(resume="yes"), thread())
        found = office.invoke(Command(resume="no"), thread())
    assert [m.content for m in found["messages"] if m.type == "tool"] == [
        "['a', 'yes']",
        "['b', 'no']",
    ]
    clerk, *helpers = recorder.traces
    first, second = (call.id for call in clerk.calls)
    assert [(t.parent and t.parent.call_id, t.final_state) for t in helpers] == [
        (first, {"notes": ["a", "yes"], "budget": 1}),
        (second, {"notes": ["b", "no"], "budget": 1}),
    ]
    ended_well(recorder)


def test_a_further_turn_of_a_saved_thread_is_recorded_with_what_came_before() -> None:
    steps = (Step("Good morning."), Step("Good night."))
    scene = Scene("clerk", "You are the clerk.", "Hello?", (), steps)
    with scripted_models(scene) as endpoint:
        graph = agent(scene, endpoint, checkpointer=saver())
        graph.invoke(asked(scene), thread())
        with td.TraceRecorder() as recorder:
            graph.invoke({"messages": [("user", "Bye!")]}, thread())
    turns = recorder.trace.turns
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "Hello?"),
        ("assistant", "Good morning."),
        ("user", "Bye!"),
        ("assistant", "Good night."),
    ]
    assert isinstance(recorder.trace.initial_state, dict)
    assert len(recorder.trace.initial_state["messages"]) == 2
