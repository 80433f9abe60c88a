"""LlamaIndex, by the instrumentations of OpenInference and of Traceloop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_a.cancelling import cancelled
from tests.frameworks.spans_b import story
from tests.support.scripted_models import Answer

pytestmark = [
    pytest.mark.needs("llama_index.core"),
    pytest.mark.needs("openinference.instrumentation.llama_index"),
    pytest.mark.filterwarnings("ignore"),
]

EXPECTED = story.whole_story(
    model=story.MODEL,
    reasons=("tool_calls", "stop"),
    brought=(story.WEATHER, story.BOOKED),
    failed=(story.NO_SEATS, ("RuntimeError", story.NO_SEATS)),
)


def llama_index(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("llama-index", capability, package="llama-index-core")


@contextmanager
def instrumented(collector: td.SpanCollector) -> Iterator[None]:
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=collector.provider)
    try:
        yield
    finally:
        LlamaIndexInstrumentor().uninstrument()


def llm(url: str) -> Any:
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(
        model=story.MODEL,
        api_base=f"{url}/v1",
        api_key="fake",
        max_retries=0,
        is_chat_model=True,
        is_function_calling_model=True,
    )


def booker(url: str, **options: Any) -> Any:
    from llama_index.core.agent.workflow import FunctionAgent

    given: dict[str, Any] = {"name": "booker", "description": "Books.", "streaming": False}
    given |= {"system_prompt": story.SYSTEM, "tools": [story.look_up_weather, story.book_train]}
    return FunctionAgent(llm=llm(url), **given | options)


def ask(agent: Any, question: str = story.USER) -> str:
    async def run() -> str:
        return str(await agent.run(question))

    return asyncio.run(run())


@llama_index("async")
@llama_index("tool error")
@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=llama_index("streaming"))])
def test_a_run_is_read_whole(stream: bool, collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, instrumented(collector):
        assert ask(booker(models.url, streaming=stream)) == story.FINAL
    assert [request.body["stream"] for request in models.requests] == [stream] * 4
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED
    assert trace.system_prompt == story.SYSTEM
    assert trace.outcome is not None
    assert trace.outcome.ended
    weather, book = trace.tools
    # The framework puts the signature before the words.
    assert (weather.description or "").endswith("\nTell the weather in a city.")
    assert (book.name, (book.parameters or {})["required"]) == ("book_train", ["to", "day"])
    assert {call.bound_by for call in trace.calls} == {"key"}
    assert story.notes(trace) == {"result_recovered"}


@llama_index("parallel calls")
def test_calls_of_one_turn_keep_their_results(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models, instrumented(collector):
        ask(booker(models.url))
    [trace] = collector.traces
    assert sorted((call.id, str(call.arguments)) for call in trace.turns[1].calls) == [
        ("call_w1", "{'city': 'Rome'}"),
        ("call_w2", "{'city': 'Paris'}"),
    ]
    assert all(call.result and call.result.content == story.WEATHER for call in trace.calls)
    assert trace.turns[-1].text == "Both are clear."


@llama_index("model error")
def test_a_model_that_fails_is_an_error_of_its_turn_and_of_the_run(
    collector: td.SpanCollector,
) -> None:
    broken = pytest.raises(Exception, match="too long")
    with story.playing(story.BROKEN) as models, instrumented(collector), broken:
        ask(booker(models.url))
    [trace] = collector.traces
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert [call.id for call in trace.calls] == ["call_w1"]
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])


@llama_index("nested agents")
def test_an_agent_inside_a_tool_has_a_trace_of_its_own(collector: td.SpanCollector) -> None:
    script = story.delegating("ask_teller", {"task": story.TASK})
    with story.playing(script) as models, instrumented(collector):
        teller = booker(models.url, name="teller", system_prompt=story.TELLER)

        async def ask_teller(task: str) -> str:
            """Ask the teller."""
            return str(await teller.run(task))

        guide = booker(models.url, name="guide", system_prompt=story.GUIDE, tools=[ask_teller])
        assert ask(guide, story.QUESTION) == "Rome is clear."
    guide_trace, teller_trace = collector.traces
    assert guide_trace.system_prompt == story.GUIDE
    assert story.told(guide_trace) == [
        ("user", "human", story.QUESTION),
        ("assistant", "", story.MODEL, (201, 21), "tool_calls"),
        ("call_d1", "ask_teller", {"task": story.TASK}, True, story.TOLD),
        ("assistant", "Rome is clear.", story.MODEL, (202, 22), "stop"),
    ]
    assert teller_trace.parent is not None
    assert teller_trace.parent.trace_id == guide_trace.id
    assert teller_trace.parent.call_id == "call_d1"
    assert teller_trace.system_prompt == story.TELLER
    assert story.told(teller_trace) == [
        ("user", "agent", story.TASK),
        ("assistant", "", story.MODEL, (301, 31), "tool_calls"),
        ("call_w1", "look_up_weather", {"city": "Rome"}, True, story.WEATHER),
        ("assistant", story.TOLD, story.MODEL, (302, 32), "stop"),
    ]


def test_agents_of_a_workflow_that_hand_over_are_one_run(collector: td.SpanCollector) -> None:
    from llama_index.core.agent.workflow import AgentWorkflow

    to = {"to_agent": "booker", "reason": "trains"}
    script = (story.reply(None, ("call_h1", "handoff", to), tokens=(201, 21)), *story.STORY)
    with story.playing(script) as models, instrumented(collector):
        guide = booker(models.url, name="guide", system_prompt=story.GUIDE, tools=[])
        guide.can_handoff_to = ["booker"]
        agents = [guide, booker(models.url)]
        assert ask(AgentWorkflow(agents=agents, root_agent="guide")) == story.FINAL
    [trace] = collector.traces
    user, asked, handed, *rest = story.told(trace)
    assert user == EXPECTED[0]
    assert asked == ("assistant", "", story.MODEL, (201, 21), "tool_calls")
    assert handed[:4] == ("call_h1", "handoff", to, True)
    # No span says which agent is at work: its prompt is where it takes over.
    assert trace.system_prompt == story.GUIDE
    assert rest == [("system", "harness", story.SYSTEM), *EXPECTED[1:]]
    assert story.notes(trace) == {"result_recovered", "boundary_guessed"}


@llama_index("cancellation")
def test_a_run_that_is_cancelled_has_what_it_did(collector: td.SpanCollector) -> None:
    async def run(url: str) -> None:
        await booker(url).run(story.USER)

    slow = (story.STORY[0], Answer(story.STORY[1], delay_s=3))
    with story.playing(slow) as models, instrumented(collector):
        asyncio.run(cancelled(run(models.url), models))
    [trace] = collector.traces
    assert [call.id for call in trace.calls] == ["call_w1"]
    assert trace.outcome is not None
    assert trace.outcome.ended is False


@llama_index("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, instrumented(collector):
        ask(booker(models.url), f"{story.USER} My key is {story.SECRET}.")
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert trace.turns[0].text.startswith(story.USER)


@llama_index("uninstall")
def test_without_the_instrumentation_there_is_no_span(collector: td.SpanCollector) -> None:
    with instrumented(collector):
        pass
    with story.playing(story.STORY) as models:
        assert ask(booker(models.url)) == story.FINAL
    assert collector.summary().spans == 0


def test_what_the_spans_do_not_carry(collector: td.SpanCollector) -> None:
    """The agent's name, the session, the model that answered, the ids of calls in tools' spans."""
    with story.playing(story.STORY) as models, instrumented(collector):
        ask(booker(models.url))
    [trace] = collector.traces
    assert (trace.agent.name, trace.session_id) == ("FunctionAgent", None)
    assert {turn.model for turn in trace.turns if turn.role == "assistant"} == {story.MODEL}


@contextmanager
def traceloop(collector: td.SpanCollector) -> Iterator[None]:
    """Let Traceloop's instrumentation write spans; it has no way to stop."""
    from llama_index.core.instrumentation import get_dispatcher
    from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor

    root = get_dispatcher()
    spans, events = list(root.span_handlers), list(root.event_handlers)
    LlamaIndexInstrumentor().instrument(tracer_provider=collector.provider)
    try:
        yield
    finally:
        LlamaIndexInstrumentor().uninstrument()
        LlamaIndexInstrumentor().core.uninstrument()
        root.span_handlers[:], root.event_handlers[:] = spans, events


@pytest.mark.needs("opentelemetry.instrumentation.llamaindex")
def test_a_run_is_read_from_the_spans_of_traceloop(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, traceloop(collector):
        assert ask(booker(models.url)) == story.FINAL
    # The span of a tool that fails is never ended.
    assert collector.summary().open_spans == 1
    collector.flush()
    [trace] = collector.traces
    assert story.told(trace) == story.whole_story(
        model=story.ANSWERING,
        reasons=("tool_call", "stop"),
        brought=(story.WEATHER, story.BOOKED),
        failed=(story.NO_SEATS, ("_OTHER", story.NO_SEATS)),
    )
    assert (trace.agent.name, trace.system_prompt) == ("booker", story.SYSTEM)
    assert {call.bound_by for call in trace.calls} == {"id"}
    # No definitions of tools; requests are left out of what the next request is said to repeat.
    assert trace.tools == ()
    assert story.notes(trace) == {"tools_missing", "boundary_guessed"}
