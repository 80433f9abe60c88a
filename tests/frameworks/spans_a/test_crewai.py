"""CrewAI, by OpenInference's instrumentations and by the spans it makes itself."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_b import story

pytestmark = [
    pytest.mark.needs("crewai"),
    pytest.mark.needs("openinference.instrumentation.crewai"),
    pytest.mark.filterwarnings("ignore"),
]

FAILED = "Error executing tool: no seats left today"
SYSTEM = "You are Booker. You look at the weather first.\nYour personal goal is: Book trains"
ANSWER = "A line."
BROKE = (FAILED, ("RuntimeError", story.NO_SEATS))


Spans = Callable[[td.SpanCollector], AbstractContextManager[None]]


def crewai(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("crewai", capability, package="crewai")


@contextmanager
def instrumented(collector: td.SpanCollector, *, events: bool = False) -> Iterator[None]:
    """Let OpenInference's instrumentations of CrewAI and of OpenAI's client write spans."""
    from crewai.events import crewai_event_bus
    from openinference.instrumentation.crewai import CrewAIInstrumentor
    from openinference.instrumentation.openai import OpenAIInstrumentor

    found = [CrewAIInstrumentor(), *(() if events else (OpenAIInstrumentor(),))]
    more = {"use_event_listener": True} if events else {}
    for one in found:
        one.instrument(tracer_provider=collector.provider, **more)
    try:
        yield
        # Spans made of events end where these are handled, in another thread.
        crewai_event_bus.flush()
    finally:
        for one in found:
            one.uninstrument()


@contextmanager
def own_spans(collector: td.SpanCollector) -> Iterator[None]:
    """Let CrewAI write its own spans."""
    from crewai.telemetry.tracing import telemetry_session

    with telemetry_session(str(uuid.uuid4()), "desk", processors=[collector]):
        yield


def booker(url: str, **options: Any) -> Any:
    from crewai import Agent
    from crewai.tools import tool

    tools = [
        tool("look_up_weather")(story.look_up_weather),
        tool("book_train")(story.book_train),
    ]
    given = {"role": "Booker", "goal": "Book trains", "backstory": "You look at the weather first."}
    return Agent(**{**given, "tools": tools, "llm": llm(url), "max_retry_limit": 0} | options)


def llm(url: str, **options: Any) -> Any:
    from crewai import LLM

    given = {"base_url": f"{url}/v1", "api_key": "fake", "max_retries": 0}
    return LLM(model=f"openai/{story.MODEL}", **given | options)


def crew(*agents: Any, asked: tuple[str, ...] = (story.USER,), **options: Any) -> Any:
    from crewai import Crew, Task

    tasks = [
        Task(description=text, expected_output=ANSWER, agent=agent)
        for text, agent in zip(asked, agents, strict=True)
    ]
    return Crew(agents=list(agents), tasks=tasks, verbose=False, **options)


def shown(trace: td.Trace) -> list[tuple[Any, ...]]:
    """Return what the trace says; the framework wraps the task in words of its own."""
    user, *rest = story.told(trace)
    assert user[:2] == ("user", "human")
    assert user[2].strip().startswith(f"Current Task: {story.USER}\n")
    assert ANSWER in user[2]
    return [("user", "human", story.USER), *rest]


def expected(**of: Any) -> list[tuple[Any, ...]]:
    return story.whole_story(**{"model": story.MODEL, "failed": BROKE} | of)


EXPECTED = expected(
    model=story.ANSWERING,
    reasons=("tool_calls", "stop"),
    brought=(story.WEATHER, story.BOOKED),
)


@crewai("sync")
@crewai("tool error")
@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=crewai("streaming"))])
def test_a_run_is_read_whole(stream: bool, collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, instrumented(collector):
        agent = booker(models.url, llm=llm(models.url, stream=stream))
        assert crew(agent).kickoff().raw == story.FINAL
    assert [bool(request.body.get("stream")) for request in models.requests] == [stream] * 4
    [trace] = collector.traces
    assert shown(trace) == EXPECTED
    assert (trace.agent.name, trace.system_prompt) == ("Booker", SYSTEM)
    assert trace.outcome is not None
    assert trace.outcome.ended
    weather, book = trace.tools
    assert (weather.name, weather.description) == (
        "look_up_weather",
        "Tell the weather in a city.",
    )
    assert (book.name, (book.parameters or {})["required"]) == ("book_train", ["to", "day"])
    assert {call.bound_by for call in trace.calls} == {"key"}
    assert story.notes(trace) == {"result_recovered"}


@crewai("async")
def test_an_asynchronous_run_is_the_same(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, instrumented(collector):
        asyncio.run(crew(booker(models.url)).kickoff_async())
    [trace] = collector.traces
    assert shown(trace) == EXPECTED


@crewai("parallel calls")
def test_calls_of_one_turn_keep_their_results(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models, instrumented(collector):
        crew(booker(models.url)).kickoff()
    [trace] = collector.traces
    assert sorted((call.id, str(call.arguments)) for call in trace.turns[1].calls) == [
        ("call_w1", "{'city': 'Rome'}"),
        ("call_w2", "{'city': 'Paris'}"),
    ]
    assert all(call.result and call.result.content == story.WEATHER for call in trace.calls)


@crewai("model error")
def test_a_model_that_fails_is_an_error_of_its_turn_and_of_the_run(
    collector: td.SpanCollector,
) -> None:
    broken = pytest.raises(Exception, match="too long")
    with story.playing(story.BROKEN) as models, instrumented(collector), broken:
        crew(booker(models.url)).kickoff()
    [trace] = collector.traces
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert [call.id for call in trace.calls] == ["call_w1"]
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])


def test_agents_of_a_crew_have_traces_of_their_own(collector: td.SpanCollector) -> None:
    script = (story.reply("Clear.", tokens=(1, 2)), story.reply("Take a hat.", tokens=(3, 4)))
    with story.playing(script) as models, instrumented(collector):
        first = booker(models.url, role="Teller", tools=[])
        second = booker(models.url, role="Adviser", tools=[])
        crew(first, second, asked=("How is Rome?", "What to wear?")).kickoff()
    teller, adviser = collector.traces
    assert (teller.agent.name, adviser.agent.name) == ("Teller", "Adviser")
    assert (teller.turns[-1].text, adviser.turns[-1].text) == ("Clear.", "Take a hat.")
    assert "This is the context you're working with:\nClear." in adviser.turns[0].text
    # One task after the other: neither asked for the other.
    assert teller.parent is None
    assert adviser.parent is None
    assert teller.otel is not None
    assert adviser.otel is not None
    assert teller.otel.trace_id == adviser.otel.trace_id


@crewai("nested agents")
@pytest.mark.parametrize("spans", [instrumented, own_spans])
def test_work_that_is_delegated_is_a_run_of_the_call(
    spans: Spans, collector: td.SpanCollector
) -> None:
    asked = {"task": story.TASK, "context": "None.", "coworker": "Teller"}
    script = story.delegating("delegate_work_to_coworker", asked)
    with story.playing(script) as models, spans(collector):
        guide = booker(models.url, role="Guide", tools=[], allow_delegation=True)
        found = crew(guide, asked=(story.QUESTION,))
        found.agents.append(booker(models.url, role="Teller"))
        assert found.kickoff().raw == "Rome is clear."
    guide_trace, teller_trace = collector.traces
    is_own = spans is own_spans
    # Its own spans: the model asked for, why a turn ended in other words, results as text.
    model = story.MODEL if is_own else story.ANSWERING
    asking = "tool_call" if is_own else "tool_calls"
    weather = str(story.WEATHER) if is_own else story.WEATHER
    assert story.told(guide_trace)[1:] == [
        ("assistant", "", model, (201, 21), asking),
        ("call_d1", "delegate_work_to_coworker", asked, True, story.TOLD),
        ("assistant", "Rome is clear.", model, (202, 22), "stop"),
    ]
    assert teller_trace.parent is not None
    assert teller_trace.parent.trace_id == guide_trace.id
    assert teller_trace.parent.call_id == "call_d1"
    # OpenInference has no span of an agent at work for another one: nobody names it.
    assert teller_trace.agent.name == ("Teller" if is_own else "agent")
    first, *rest = story.told(teller_trace)
    assert first[:2] == ("user", "agent")
    assert story.TASK in first[2]
    assert rest == [
        ("assistant", "", model, (301, 31), asking),
        ("call_w1", "look_up_weather", {"city": "Rome"}, True, weather),
        ("assistant", story.TOLD, model, (302, 32), "stop"),
    ]


@crewai("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, instrumented(collector):
        crew(booker(models.url), asked=(f"{story.USER} My key is {story.SECRET}.",)).kickoff()
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert story.USER in trace.turns[0].text


@crewai("uninstall")
def test_without_the_instrumentation_there_is_no_span(collector: td.SpanCollector) -> None:
    with instrumented(collector):
        pass
    with story.playing(story.STORY) as models:
        assert crew(booker(models.url)).kickoff().raw == story.FINAL
    assert collector.summary().spans == 0


def test_without_spans_of_the_model_a_run_is_read_from_what_it_ended_with(
    collector: td.SpanCollector,
) -> None:
    """The instrumentation of CrewAI alone: no model, no tokens, no definitions of tools."""
    from openinference.instrumentation.crewai import CrewAIInstrumentor

    CrewAIInstrumentor().instrument(tracer_provider=collector.provider)
    try:
        with story.playing(story.STORY) as models:
            crew(booker(models.url)).kickoff()
    finally:
        CrewAIInstrumentor().uninstrument()
    [trace] = collector.traces
    lines = [(*line[:2], None, None, None) if line[0] == "assistant" else line for line in EXPECTED]
    # What the model said beside a request is not kept, nor what failed said to it.
    lines[1] = ("assistant", "", None, None, None)
    lines[4] = (*lines[4][:4], (td.UNKNOWN, BROKE[1]))
    assert shown(trace) == lines
    assert trace.system_prompt == SYSTEM
    assert story.notes(trace) == {"result_recovered", "tools_missing"}


def test_a_run_is_read_from_spans_made_of_events(collector: td.SpanCollector) -> None:
    """What they carry less: words beside requests, the model that answered, why a turn ended."""
    with story.playing(story.STORY) as models, instrumented(collector, events=True):
        crew(booker(models.url)).kickoff()
    [trace] = collector.traces
    lines = expected(
        reasons=(None, None),
        brought=(str(story.WEATHER), str(story.BOOKED)),
        failed=(FAILED, ("_OTHER", story.NO_SEATS)),
    )
    lines[1] = ("assistant", "", story.MODEL, (101, 11), None)
    assert shown(trace) == lines
    assert trace.system_prompt == SYSTEM
    # The schema is written as Python's text from some depth on.
    assert (trace.tools[0].parameters or {})["required"] == ["city"]
    assert story.notes(trace) == {"result_recovered"}


def test_a_run_is_read_from_the_spans_crewai_makes_itself(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, own_spans(collector):
        crew(booker(models.url)).kickoff()
    [trace] = collector.traces
    lines = expected(reasons=("tool_call", "stop"), brought=(str(story.WEATHER), str(story.BOOKED)))
    # What the model said beside a request is not in its spans.
    lines[1] = ("assistant", "", story.MODEL, (101, 11), "tool_call")
    assert shown(trace) == lines
    assert (trace.agent.name, trace.system_prompt) == ("Booker", SYSTEM)
    assert [tool.name for tool in trace.tools] == ["look_up_weather", "book_train"]
    assert story.notes(trace) == {"result_recovered"}
    # A conversation of its own for every task.
    assert trace.session_id is not None
