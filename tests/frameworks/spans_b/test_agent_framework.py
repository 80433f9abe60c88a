"""Microsoft Agent Framework, by the spans it makes itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_b import story
from tests.support.scripted_models import Answer

pytestmark = [
    pytest.mark.needs("agent_framework"),
    pytest.mark.needs("agent_framework_openai"),
    pytest.mark.filterwarnings("ignore"),
]


def framework(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("agent-framework", capability, package="agent-framework-core")


@pytest.fixture(autouse=True)
def content(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether its spans carry what was said; by default they do not."""
    from agent_framework.observability import OBSERVABILITY_SETTINGS, enable_instrumentation

    on: bool = getattr(request, "param", True)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_sensitive_data", False)
    enable_instrumentation(enable_sensitive_data=on)
    return on


def an_agent(url: str, name: str, prompt: str, tools: list[Any]) -> Any:
    from agent_framework import Agent
    from agent_framework.openai import OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    asking = AsyncOpenAI(base_url=f"{url}/v1", api_key="fake", max_retries=0)
    client = OpenAIChatCompletionClient(model=story.MODEL, async_client=asking)
    return Agent(client, instructions=prompt, name=name, tools=tools)


def booker(url: str) -> Any:
    return an_agent(url, "booker", story.SYSTEM, [story.look_up_weather, story.book_train])


EXPECTED = story.whole_story(
    model=story.ANSWERING,
    reasons=("tool_call", "stop"),
    brought=(story.WEATHER, story.BOOKED),
    failed=("Error: Function failed.", ("RuntimeError", story.NO_SEATS)),
)


@framework("async")
@framework("tool error")
def test_a_run_is_read_whole(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models:
        asyncio.run(booker(models.url).run(story.USER))
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED
    assert (trace.agent.name, trace.system_prompt) == ("booker", story.SYSTEM)
    assert [tool.name for tool in trace.tools] == ["look_up_weather", "book_train"]
    assert trace.tools[0].description == "Tell the weather in a city."
    assert trace.outcome is not None
    assert trace.outcome.ended
    assert story.notes(trace) == {"result_recovered"}  # what the model was told of the failure
    assert {"reading", "grading", "next_turn"} <= set(trace.fidelity.fit_for)


@framework("streaming async")
def test_a_streamed_run_is_the_same(collector: td.SpanCollector) -> None:
    async def run(url: str) -> str:
        return "".join([part.text async for part in booker(url).run(story.USER, stream=True)])

    with story.playing(story.STORY) as models:
        assert asyncio.run(run(models.url)).endswith(story.FINAL)
    assert all(request.body["stream"] for request in models.requests)
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED


@framework("parallel calls")
def test_calls_of_one_turn_keep_their_results(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models:
        asyncio.run(booker(models.url).run(story.USER))
    [trace] = collector.traces
    assert [(call.id, call.arguments, call.bound_by) for call in trace.calls] == [
        ("call_w1", {"city": "Rome"}, "id"),
        ("call_w2", {"city": "Paris"}, "id"),
    ]
    assert [turn.text for turn in trace.turns] == [story.USER, "", "Both are clear."]


@framework("model error")
def test_a_model_that_fails_is_an_error_of_its_turn_and_of_the_run(
    collector: td.SpanCollector,
) -> None:
    with story.playing(story.BROKEN) as models, pytest.raises(Exception, match="too long"):
        asyncio.run(booker(models.url).run(story.USER))
    [trace] = collector.traces
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert "too long" in str(trace.outcome.error)
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])
    assert [call.id for call in trace.calls] == ["call_w1"]


@framework("cancellation")
def test_a_run_that_is_cancelled_has_what_it_did(collector: td.SpanCollector) -> None:
    async def run(url: str) -> None:
        async with asyncio.timeout(1):
            await booker(url).run(story.USER)

    slow = (story.STORY[0], Answer(story.STORY[1], delay_s=2))
    with story.playing(slow) as models, pytest.raises(TimeoutError):
        asyncio.run(run(models.url))
    [trace] = collector.traces
    assert [(call.id, call.result and call.result.ok) for call in trace.calls] == [
        ("call_w1", True)
    ]
    assert story.told(trace)[-1] == ("assistant", "", story.MODEL, None, None)
    assert "grading" not in trace.fidelity.fit_for


TELLERS_TURNS = [
    ("assistant", "", story.ANSWERING, (301, 31), "tool_call"),
    ("call_w1", "look_up_weather", {"city": "Rome"}, True, story.WEATHER),
    ("assistant", story.TOLD, story.ANSWERING, (302, 32), "stop"),
]


def teller(url: str) -> Any:
    return an_agent(url, "teller", story.TELLER, [story.look_up_weather])


@framework("nested agents")
def test_an_agent_that_is_a_tool_has_a_trace_of_its_own(collector: td.SpanCollector) -> None:
    with story.playing(story.delegating("teller", {"task": story.TASK})) as models:
        tools = [teller(models.url).as_tool()]
        asyncio.run(an_agent(models.url, "guide", story.GUIDE, tools).run(story.QUESTION))
    guide, told = collector.traces
    assert story.told(guide) == [
        ("user", "human", story.QUESTION),
        ("assistant", "", story.ANSWERING, (201, 21), "tool_call"),
        ("call_d1", "teller", {"task": story.TASK}, True, story.TOLD),
        ("assistant", "Rome is clear.", story.ANSWERING, (202, 22), "stop"),
    ]
    assert told.parent is not None
    assert (told.parent.trace_id, told.parent.call_id) == (guide.id, "call_d1")
    assert (told.agent.name, told.system_prompt) == ("teller", story.TELLER)
    assert story.told(told) == [("user", "agent", story.TASK), *TELLERS_TURNS]


@framework("nested agents")
def test_agents_of_a_workflow_have_a_trace_each_and_no_parent(
    collector: td.SpanCollector,
) -> None:
    from agent_framework import WorkflowBuilder

    async def run(url: str) -> None:
        first, second = teller(url), an_agent(url, "guide", story.GUIDE, [])
        await (
            WorkflowBuilder(start_executor=first)
            .add_edge(first, second)
            .build()
            .run(story.QUESTION)
        )

    with story.playing(story.delegating("", {})[1:]) as models:
        asyncio.run(run(models.url))
    told, guide = collector.traces
    assert (told.agent.name, guide.agent.name) == ("teller", "guide")
    assert (told.parent, guide.parent) == (None, None)
    assert told.otel is not None
    assert guide.otel is not None
    assert told.otel.trace_id == guide.otel.trace_id
    assert story.told(told) == [("user", "human", story.QUESTION), *TELLERS_TURNS]
    # The second is given the first one's conversation, without its models.
    assert [(turn.role, turn.text, turn.model) for turn in guide.turns] == [
        ("user", story.QUESTION, None),
        ("assistant", "", None),
        ("assistant", story.TOLD, None),
        ("assistant", "Rome is clear.", story.ANSWERING),
    ]


@framework("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models:
        asyncio.run(booker(models.url).run(f"{story.USER} My key is {story.SECRET}."))
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert trace.turns[0].text.startswith(story.USER)


@pytest.mark.parametrize("content", [False], ids=["no content"], indirect=True)
def test_what_its_spans_do_not_carry_unless_told_to(
    content: bool, collector: td.SpanCollector
) -> None:
    with story.playing(story.BOTH) as models:
        asyncio.run(booker(models.url).run(story.USER))
    [trace] = collector.traces
    assert trace.session_id is None
    assert (trace.system_prompt, [turn.text for turn in trace.turns]) == (None, ["", ""])
    assert [call.id for call in trace.calls] == ["call_w1", "call_w2"]
    assert story.notes(trace) >= {"content_off", "arguments_unknown"}
    assert trace.fidelity.fit_for == ("reading",)
