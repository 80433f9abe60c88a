"""Agno, by OpenInference's instrumentation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_b import story
from tests.support.scripted_models import Answer

pytestmark = [
    pytest.mark.needs("agno"),
    pytest.mark.needs("openinference.instrumentation.agno"),
    pytest.mark.filterwarnings("ignore"),
]


def agno(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("agno", capability)


@pytest.fixture
def instrumented() -> Iterator[td.SpanCollector]:
    """Agno's instrumentation, writing into the collector's own provider."""
    from openinference.instrumentation.agno import AgnoInstrumentor

    collector = td.SpanCollector()
    instrumentor = AgnoInstrumentor()
    instrumentor.instrument(tracer_provider=collector.provider)
    yield collector
    instrumentor.uninstrument()
    summary = collector.summary()
    assert (summary.open_runs, dict(summary.faults)) == (0, {})


def a_model(url: str) -> Any:
    from agno.models.openai import OpenAILike

    return OpenAILike(id=story.MODEL, api_key="fake", base_url=f"{url}/v1", max_retries=0)


def an_agent(url: str, name: str, prompt: str, tools: list[Any]) -> Any:
    from agno.agent import Agent

    return Agent(
        name=name,
        id=name,
        model=a_model(url),
        system_message=prompt,
        tools=tools,
        telemetry=False,
        session_id="s1",
    )


def booker(url: str) -> Any:
    return an_agent(url, "booker", story.SYSTEM, [story.look_up_weather, story.book_train])


EXPECTED = story.whole_story(
    model=story.MODEL,
    reasons=(None, None),
    brought=(str(story.WEATHER), str(story.BOOKED)),
    failed=(story.NO_SEATS, ("_OTHER", story.NO_SEATS)),
)


@agno("sync")
@agno("tool error")
def test_a_run_is_read_whole(instrumented: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models:
        booker(models.url).run(story.USER)
    [trace] = instrumented.traces
    assert story.told(trace) == EXPECTED
    assert (trace.agent.name, trace.system_prompt) == ("booker", story.SYSTEM)
    assert trace.session_id == "s1"
    assert {tool.name for tool in trace.tools} == {"look_up_weather", "book_train"}
    assert {tool.description for tool in trace.tools} >= {"Tell the weather in a city."}
    assert trace.outcome is not None
    assert trace.outcome.ended
    assert story.notes(trace) == set()
    assert {"reading", "grading", "next_turn"} <= set(trace.fidelity.fit_for)


@agno("async")
def test_an_async_run_is_the_same(instrumented: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models:
        asyncio.run(booker(models.url).arun(story.USER))
    [trace] = instrumented.traces
    assert story.told(trace) == EXPECTED


@pytest.mark.parametrize(
    "awaited",
    [
        pytest.param(False, marks=agno("streaming"), id="sync"),
        pytest.param(True, marks=agno("streaming async"), id="async"),
    ],
)
def test_a_streamed_run_is_the_same(awaited: bool, instrumented: td.SpanCollector) -> None:
    async def run(url: str) -> list[Any]:
        return [event async for event in booker(url).arun(story.USER, stream=True)]

    with story.playing(story.STORY) as models:
        if awaited:
            events = asyncio.run(run(models.url))
        else:
            events = list(booker(models.url).run(story.USER, stream=True))
    assert len(events) > 8
    assert all(request.body["stream"] for request in models.requests)
    [trace] = instrumented.traces
    assert story.told(trace) == EXPECTED


@agno("parallel calls")
def test_calls_of_one_turn_keep_their_results(instrumented: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models:
        booker(models.url).run(story.USER)
    [trace] = instrumented.traces
    assert [(call.id, call.arguments, call.bound_by) for call in trace.calls] == [
        ("call_w1", {"city": "Rome"}, "key"),
        ("call_w2", {"city": "Paris"}, "key"),
    ]
    assert [turn.text for turn in trace.turns] == [story.USER, "", "Both are clear."]


@agno("model error")
def test_a_model_that_fails_is_an_error_of_its_turn(instrumented: td.SpanCollector) -> None:
    with story.playing(story.BROKEN) as models:
        booker(models.url).run(story.USER)
    [trace] = instrumented.traces
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])
    assert [call.id for call in trace.calls] == ["call_w1"]


@agno("cancellation")
def test_a_run_that_is_cancelled_has_what_it_did(instrumented: td.SpanCollector) -> None:
    async def run(url: str) -> None:
        async with asyncio.timeout(1):
            await booker(url).arun(story.USER)

    slow = (story.STORY[0], Answer(story.STORY[1], delay_s=2))
    with story.playing(slow) as models, pytest.raises(TimeoutError):
        asyncio.run(run(models.url))
    instrumented.flush()
    [trace] = instrumented.traces
    assert [(call.id, call.result and call.result.ok) for call in trace.calls] == [
        ("call_w1", True)
    ]
    assert "grading" not in trace.fidelity.fit_for


@agno("nested agents")
@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_a_teams_member_has_a_trace_of_its_own_and_the_call_that_began_it(
    awaited: bool, instrumented: td.SpanCollector
) -> None:
    from agno.team import Team

    asked = {"member_id": "teller", "task": story.TASK}
    with story.playing(story.delegating("delegate_task_to_member", asked)) as models:
        member = an_agent(models.url, "teller", story.TELLER, [story.look_up_weather])
        team = Team(
            name="guide",
            model=a_model(models.url),
            members=[member],
            system_message=story.GUIDE,
            telemetry=False,
            session_id="s1",
        )
        if awaited:
            asyncio.run(team.arun(story.QUESTION))
        else:
            team.run(story.QUESTION)
    guide, told = instrumented.traces
    assert story.told(guide) == [
        ("user", "human", story.QUESTION),
        ("assistant", "", story.MODEL, (201, 21), None),
        ("call_d1", "delegate_task_to_member", asked, True, story.TOLD),
        ("assistant", "Rome is clear.", story.MODEL, (202, 22), None),
    ]
    assert told.parent is not None
    assert (told.parent.trace_id, told.parent.call_id) == (guide.id, "call_d1")
    assert (told.agent.name, told.system_prompt) == ("teller", story.TELLER)
    assert story.told(told) == [
        ("user", "agent", story.TASK),
        ("assistant", "", story.MODEL, (301, 31), None),
        ("call_w1", "look_up_weather", {"city": "Rome"}, True, str(story.WEATHER)),
        ("assistant", story.TOLD, story.MODEL, (302, 32), None),
    ]


@agno("masking")
def test_a_secret_stands_nowhere_in_the_trace(instrumented: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models:
        booker(models.url).run(f"{story.USER} My key is {story.SECRET}.")
    [trace] = instrumented.traces
    assert story.SECRET not in trace.model_dump_json()
    assert trace.turns[0].text.startswith(story.USER)


def test_what_its_spans_do_not_carry(instrumented: td.SpanCollector) -> None:
    """Call ids on tools, the answering model, why a turn ended, results but as text."""
    with story.playing(story.BOTH) as models:
        booker(models.url).run(story.USER)
    [trace] = instrumented.traces
    answers = [turn for turn in trace.turns if turn.role == "assistant"]
    assert {turn.model for turn in answers} == {story.MODEL}
    assert {turn.finish_reason for turn in answers} == {None}
    assert {type(call.result and call.result.content) for call in trace.calls} == {str}
