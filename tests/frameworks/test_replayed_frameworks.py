"""Calls of frameworks in rebuilt tests that are no tools' of the user, and such as no hook sees."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.replay.test_own_calls import a_suite
from tracedance_sdk.replay import Players, RuleCustomer, SuiteSettings, run_all
from tracedance_sdk.replay.running import FunctionAgent, JudgedRun
from tracedance_sdk.testing import Scene, Step, scripted_models

Messages = list[dict[str, Any]]
RAN: list[str] = []


def get_order(order_id: str) -> dict[str, str]:
    """Look an order up."""
    RAN.append("get_order")
    return {"status": "open", "of": order_id}


ORDER = ("get_order", {"order_id": "W-1001"})
CITY = {"name": "Ulm", "size": 2}


def scene(*steps: Step, system: str = "You are the clerk.") -> Scene:
    return Scene("clerk", system, "", (), steps)


def played(agent: Callable[[str, Messages], Any | Awaitable[Any]], *scenes: Scene) -> JudgedRun:
    RAN.clear()
    with scripted_models(*scenes) as endpoint:
        players = Players(
            lambda: FunctionAgent(lambda messages: agent(endpoint.openai_url, messages)),
            RuleCustomer,
        )
        (found,) = run_all(a_suite("W-1001"), players, SuiteSettings())
    assert isinstance(found, JudgedRun)
    assert found.run.ended == "customer", found.run.problem
    return found


@pytest.mark.needs("pydantic_ai", "openai")
@pytest.mark.installs("pydantic_ai")
@pytest.mark.cell("pydantic-ai", "replay", package="pydantic-ai-slim")
def test_the_output_of_an_agent_of_pydantic_ai_is_no_tool() -> None:
    from openai import AsyncOpenAI
    from pydantic import BaseModel
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class City(BaseModel):
        name: str
        size: int

    async def agent(url: str, messages: Messages) -> str:
        async with AsyncOpenAI(base_url=url, api_key="fake") as client:
            model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
            clerk: Any = Agent(
                model, system_prompt="You are the clerk.", tools=[get_order], output_type=City
            )
            return str((await clerk.run(messages[-1]["content"])).output.name)

    found = played(
        agent,
        scene(
            Step("I look.", (ORDER,)),
            Step(None, (("final_result", {"name": "Ulm"}),)),
            Step(None, (("final_result", CITY),)),
        ),
    )
    assert (RAN, found.run.outside, found.doubts) == ([], (), ())
    assert [answer.stamp for answer in found.run.answers] == ["same"]
    assert found.run.trace.turns[1].text == "I look."
    assert [call.name for call in found.run.trace.calls] == [
        "get_order",
        "final_result",
        "final_result",
    ]


@pytest.mark.needs("langchain", "langgraph", "langchain_openai")
@pytest.mark.installs("langchain")
@pytest.mark.cell("langgraph", "replay")
def test_the_structured_response_of_a_graph_is_no_tool() -> None:
    from langchain.agents import create_agent
    from langchain.agents.structured_output import ToolStrategy
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class City(BaseModel):
        name: str
        size: int

    async def agent(url: str, messages: Messages) -> str:
        model = ChatOpenAI(model="m", base_url=url, api_key="fake")
        graph: Any = create_agent(
            model,
            [get_order],
            system_prompt="You are the clerk.",
            response_format=ToolStrategy(City),
        )
        found = await graph.ainvoke({"messages": messages})
        return str(found["structured_response"].name)

    found = played(agent, scene(Step("I look.", (ORDER,)), Step(None, (("City", CITY),))))
    assert (RAN, found.run.outside, found.doubts) == ([], (), ())
    assert [answer.stamp for answer in found.run.answers] == ["same"]


@pytest.mark.needs("langgraph", "langchain_openai")
@pytest.mark.installs("langchain")
@pytest.mark.cell("langgraph", "replay")
def test_a_node_that_calls_plain_functions_leaves_the_test_undecided() -> None:
    from langchain_core.messages import ToolMessage
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph

    async def agent(url: str, messages: Messages) -> str:
        model = ChatOpenAI(model="m", base_url=url, api_key="fake")

        def think(state: Any) -> Any:
            said = [{"role": "system", "content": "You are the clerk."}, *state["messages"]]
            return {"messages": [model.invoke(said)]}

        def act(state: Any) -> Any:
            asked: Any = state["messages"][-1]
            return {
                "messages": [
                    ToolMessage(json.dumps(get_order(**call["args"])), tool_call_id=call["id"])
                    for call in asked.tool_calls
                ]
            }

        def onward(state: Any) -> str:
            return "act" if getattr(state["messages"][-1], "tool_calls", None) else END

        builder: Any = StateGraph(MessagesState)
        builder.add_node("think", think)
        builder.add_node("act", act)
        builder.add_edge(START, "think")
        builder.add_conditional_edges("think", onward, ["act", END])
        builder.add_edge("act", "think")
        found = await builder.compile().ainvoke({"messages": messages})
        return str(found["messages"][-1].content)

    found = played(agent, scene(Step(None, (ORDER,)), Step("It is open.")))
    assert (RAN, found.run.outside) == (["get_order"], ("get_order",))
    assert (found.verdict, found.doubts) == ("inconclusive", ("outside",))


@pytest.mark.needs("agents", "openai")
@pytest.mark.installs("openai_agents")
@pytest.mark.cell("openai-agents", "replay")
def test_handing_over_is_no_tool_and_the_next_agents_calls_are_in_the_trace() -> None:
    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
    from openai import AsyncOpenAI

    async def agent(url: str, messages: Messages) -> str:
        async with AsyncOpenAI(base_url=url, api_key="fake") as client:
            model = OpenAIChatCompletionsModel("m", client)
            expert = Agent(
                name="expert",
                instructions="You are the expert.",
                tools=[function_tool(get_order)],
                model=model,
            )
            clerk = Agent(
                name="clerk", instructions="You are the clerk.", handoffs=[expert], model=model
            )
            talk: Any = messages[-1]["content"]
            found = await Runner.run(clerk, talk, run_config=RunConfig(tracing_disabled=True))
            return str(found.final_output)

    found = played(
        agent,
        scene(Step("The expert knows.", (("transfer_to_expert", {}),))),
        # The expert is shown what the clerk said, which takes its first step.
        scene(
            Step(""), Step("I look.", (ORDER,)), Step("It is open."), system="You are the expert."
        ),
    )
    assert (RAN, found.run.outside, found.doubts) == ([], (), ())
    trace = found.run.trace
    assert [(turn.text, [call.name for call in turn.calls]) for turn in trace.turns[1:4]] == [
        ("The expert knows.", ["transfer_to_expert"]),
        ("I look.", ["get_order"]),
        ("It is open.", []),
    ]
    assert trace.system_prompt == "You are the clerk."
    assert trace.turns[3].usage is not None
    assert [call.index for call in trace.calls][:2] == [0, 1]
