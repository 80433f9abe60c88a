"""Strands Agents, by the spans it makes itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_b import story
from tests.support.scripted_models import Answer

pytestmark = [
    pytest.mark.needs("strands"),
    pytest.mark.filterwarnings("ignore"),
]
_DEFAULT = ""
_LATEST = "gen_ai_latest_experimental,gen_ai_tool_definitions"
CONVENTIONS = {
    "events": _DEFAULT,
    "latest, in events": _LATEST,
    "latest, in attributes": f"{_LATEST},gen_ai_span_attributes_only",
}


def strands(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("strands", capability, package="strands-agents")


@pytest.fixture(autouse=True)
def conventions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of its ways to write spans Strands takes; it asks once in a process."""
    from strands.telemetry import tracer

    chosen: str = getattr(request, "param", _DEFAULT)
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", chosen)
    monkeypatch.setattr(tracer, "_tracer_instance", None)
    return chosen


def an_agent(url: str, name: str, prompt: str, tools: list[Any]) -> Any:
    from strands import Agent
    from strands.models.openai import OpenAIModel

    client = {"base_url": f"{url}/v1", "api_key": "fake", "max_retries": 0}
    return Agent(
        name=name,
        model=OpenAIModel(client_args=client, model_id=story.MODEL),
        system_prompt=prompt,
        tools=tools,
        callback_handler=None,
        retry_strategy=None,
    )


def booker(url: str) -> Any:
    from strands import tool

    tools = [tool(story.look_up_weather), tool(story.book_train)]
    return an_agent(url, "booker", story.SYSTEM, tools)


EXPECTED = story.whole_story(
    model=story.MODEL,
    reasons=("tool_use", "end_turn"),
    brought=([{"text": '{"sky": "clear", "degrees": 21}'}], [{"text": '{"ticket": "T-1"}'}]),
    failed=(
        [{"text": "Error: RuntimeError - no seats left today"}],
        ("RuntimeError", story.NO_SEATS),
    ),
)


@strands("sync")
@strands("tool error")
@pytest.mark.parametrize("conventions", CONVENTIONS.values(), ids=CONVENTIONS, indirect=True)
def test_a_run_is_read_whole_in_each_way_strands_writes_spans(
    conventions: str, collector: td.SpanCollector
) -> None:
    with story.playing(story.STORY) as models:
        booker(models.url)(story.USER)
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED
    assert (trace.agent.name, trace.system_prompt) == ("booker", story.SYSTEM)
    assert trace.outcome is not None
    assert trace.outcome.ended
    assert [tool.name for tool in trace.tools] == ["look_up_weather", "book_train"]
    weather = trace.tools[0]
    assert weather.description == "Tell the weather in a city."
    assert weather.parameters is not None
    assert weather.parameters["required"] == ["city"]
    assert story.notes(trace) <= {"result_recovered"}
    assert {"reading", "grading", "next_turn"} <= set(trace.fidelity.fit_for)


@strands("async")
@strands("streaming async")
def test_a_streamed_run_is_the_same(collector: td.SpanCollector) -> None:
    async def run(url: str) -> str:
        events = booker(url).stream_async(story.USER)
        return "".join([event.get("data", "") async for event in events])

    with story.playing(story.STORY) as models:
        said = asyncio.run(run(models.url))
    assert said.endswith(story.FINAL)
    assert all(request.body["stream"] for request in models.requests)
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED


@strands("parallel calls")
def test_calls_of_one_turn_keep_their_results(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models:
        booker(models.url)(story.USER)
    [trace] = collector.traces
    assert [(call.id, call.arguments, call.bound_by) for call in trace.turns[1].calls] == [
        ("call_w1", {"city": "Rome"}, "id"),
        ("call_w2", {"city": "Paris"}, "id"),
    ]
    assert trace.turns[-1].text == "Both are clear."


@strands("model error")
def test_a_model_that_fails_is_an_error_of_its_turn_and_of_the_run(
    collector: td.SpanCollector,
) -> None:
    with story.playing(story.BROKEN) as models, pytest.raises(Exception, match="too long"):
        booker(models.url)(story.USER)
    [trace] = collector.traces
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert trace.outcome.error is not None
    assert "too long" in (trace.outcome.error.message or "")
    assert [call.id for call in trace.calls] == ["call_w1"]
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])


@strands("cancellation")
def test_a_cancelled_run_whose_spans_stay_open_is_handed_over_by_flush(
    collector: td.SpanCollector,
) -> None:
    async def run(url: str) -> None:
        async with asyncio.timeout(1):
            await booker(url).invoke_async(story.USER)

    slow = (story.STORY[0], Answer(story.STORY[1], delay_s=2))
    with story.playing(slow) as models, pytest.raises(TimeoutError):
        asyncio.run(run(models.url))
    assert collector.summary().open_runs == 1
    collector.flush()
    [trace] = collector.traces
    assert [(call.id, call.result and call.result.ok) for call in trace.calls] == [
        ("call_w1", True)
    ]
    assert trace.outcome is not None
    assert trace.outcome.ended is False


@strands("nested agents")
def test_an_agent_that_is_a_tool_has_a_trace_of_its_own(collector: td.SpanCollector) -> None:
    from strands import tool

    with story.playing(story.delegating("teller", {"input": story.TASK})) as models:
        teller = an_agent(models.url, "teller", story.TELLER, [tool(story.look_up_weather)])
        an_agent(models.url, "guide", story.GUIDE, [teller])(story.QUESTION)
    guide, told = collector.traces
    assert story.told(guide) == [
        ("user", "human", story.QUESTION),
        ("assistant", "", story.MODEL, (201, 21), "tool_use"),
        ("call_d1", "teller", {"input": story.TASK}, True, [{"text": f"{story.TOLD}\n"}]),
        ("assistant", "Rome is clear.", story.MODEL, (202, 22), "end_turn"),
    ]
    assert told.parent is not None
    assert (told.parent.trace_id, told.parent.call_id) == (guide.id, "call_d1")
    assert (told.agent.name, told.system_prompt) == ("teller", story.TELLER)
    assert story.told(told) == [
        ("user", "agent", story.TASK),
        ("assistant", "", story.MODEL, (301, 31), "tool_use"),
        ("call_w1", "look_up_weather", {"city": "Rome"}, True, EXPECTED[2][-1]),
        ("assistant", story.TOLD, story.MODEL, (302, 32), "end_turn"),
    ]


@strands("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models:
        booker(models.url)(f"{story.USER} My key is {story.SECRET}.")
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert trace.turns[0].text.startswith(story.USER)


def test_what_the_spans_of_strands_do_not_carry(collector: td.SpanCollector) -> None:
    """By default: no session; the vendor is Strands itself; the model is the one asked for."""
    with story.playing(story.BOTH) as models:
        booker(models.url)(story.USER)
    [trace] = collector.traces
    assert trace.session_id is None
    assert {turn.model for turn in trace.turns if turn.role == "assistant"} == {story.MODEL}
    assert [tool.name for tool in trace.tools] == ["look_up_weather"]  # only those it called
