"""smolagents, by OpenInference's instrumentation."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_b import story

pytestmark = [
    pytest.mark.needs("smolagents"),
    pytest.mark.needs("openinference.instrumentation.smolagents"),
    pytest.mark.filterwarnings("ignore"),
]

ENDING = {"answer": story.FINAL}
ENDED = story.reply(None, ("call_f1", "final_answer", ENDING), tokens=(104, 14))
SCRIPT = (*story.STORY[:3], ENDED)
RETRY = (
    "Error:\nError executing tool 'book_train' with arguments {'to': 'Rome', 'day': 'today'}: "
    "RuntimeError: no seats left today\nPlease try again or use another tool\n"
    "Now let's retry: take care not to repeat previous errors! If you have retried several times, "
    "try a completely different approach.\n"
)
SAW = "Observation:\n{'sky': 'clear', 'degrees': 21}"
SEEN = ("user", "environment", SAW)
EXPECTED = [
    ("user", "human", f"New task:\n{story.USER}"),
    ("assistant", "First the weather.", story.MODEL, (101, 11), None),
    ("call_w1", "look_up_weather", {"city": "Rome"}, True, story.WEATHER),
    SEEN,
    ("assistant", "", story.MODEL, (102, 12), None),
    (
        "call_b1",
        "book_train",
        {"to": "Rome", "day": "today"},
        False,
        (td.UNKNOWN, ("RuntimeError", story.NO_SEATS)),
    ),
    ("user", "environment", RETRY),
    ("assistant", "", story.MODEL, (103, 13), None),
    ("call_b2", "book_train", {"to": "Rome", "day": "tomorrow"}, True, story.BOOKED),
    ("user", "environment", "Observation:\n{'ticket': 'T-1'}"),
    ("assistant", "", story.MODEL, (104, 14), None),
    ("call_f1", "final_answer", ENDING, True, story.FINAL),
]


def smolagents(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("smolagents", capability, package="smolagents")


@pytest.fixture(autouse=True)
def instrumented(collector: td.SpanCollector) -> Iterator[None]:
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor

    SmolagentsInstrumentor().instrument(tracer_provider=collector.provider)
    yield
    SmolagentsInstrumentor().uninstrument()


def tools() -> list[Any]:
    """The story's tools; the framework reads their docstrings and refuses those of the story."""
    from smolagents import tool

    def look_up_weather(city: str) -> dict[str, Any]:
        """Tell the weather in a city.

        Args:
            city: Where.
        """
        return story.look_up_weather(city)

    def book_train(to: str, day: str) -> dict[str, Any]:
        """Book a train to a city on a day.

        Args:
            to: Where it goes.
            day: When.
        """
        return story.book_train(to, day)

    return [tool(look_up_weather), tool(book_train)]


def model(url: str) -> Any:
    from smolagents import OpenAIModel

    return OpenAIModel(
        story.MODEL, api_base=f"{url}/v1", api_key="fake", client_kwargs={"max_retries": 0}
    )


def booker(url: str, **options: Any) -> Any:
    from smolagents import ToolCallingAgent

    given: dict[str, Any] = {"name": "booker", "instructions": story.SYSTEM, "tools": tools()}
    given |= {"verbosity_level": 0, "max_tool_threads": 1}
    return ToolCallingAgent(model=model(url), **given | options)


@smolagents("sync")
@smolagents("tool error")
def test_a_run_is_read_whole(collector: td.SpanCollector) -> None:
    with story.playing(SCRIPT) as models:
        assert booker(models.url).run(story.USER) == story.FINAL
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED
    assert trace.agent.name == "booker"
    assert trace.system_prompt is not None
    assert story.SYSTEM in trace.system_prompt
    assert trace.outcome is not None
    assert trace.outcome.ended
    assert [tool.name for tool in trace.tools] == ["look_up_weather", "book_train", "final_answer"]
    assert trace.tools[0].parameters == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where."}},
        "required": ["city"],
    }
    assert {call.bound_by for call in trace.calls} == {"key"}
    # The framework leaves the request that failed out of what it shows the model next.
    assert story.notes(trace) == {"boundary_guessed"}


@smolagents("streaming")
def test_a_streamed_run_is_the_same(collector: td.SpanCollector) -> None:
    with story.playing(SCRIPT) as models:
        steps = list(booker(models.url, stream_outputs=True).run(story.USER, stream=True))
    assert steps
    assert all(request.body["stream"] for request in models.requests)
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED


@smolagents("parallel calls")
def test_calls_of_one_turn_keep_their_results(collector: td.SpanCollector) -> None:
    asked = story.BOTH[0]
    end = story.reply(None, ("call_f1", "final_answer", {"answer": "Clear."}), tokens=(102, 12))
    with story.playing((asked, end)) as models:
        booker(models.url, max_tool_threads=4).run(story.USER)
    [trace] = collector.traces
    assert sorted((call.id, str(call.arguments)) for call in trace.turns[1].calls) == [
        ("call_w1", "{'city': 'Rome'}"),
        ("call_w2", "{'city': 'Paris'}"),
    ]
    assert all(call.result and call.result.content == story.WEATHER for call in trace.calls[:2])


@smolagents("model error")
def test_a_model_that_fails_is_an_error_of_its_turn_and_of_the_run(
    collector: td.SpanCollector,
) -> None:
    with story.playing(story.BROKEN) as models, pytest.raises(Exception, match="too long"):
        # The instrumentation leaves its span open and current when a run fails.
        contextvars.copy_context().run(booker(models.url).run, story.USER)
    collector.flush()
    [trace] = collector.traces
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert trace.outcome.error is not None
    assert "too long" in (trace.outcome.error.message or "")
    assert [call.id for call in trace.calls] == ["call_w1"]
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])


@smolagents("nested agents")
def test_a_managed_agent_has_a_trace_of_its_own(collector: td.SpanCollector) -> None:
    script = (
        story.reply(None, ("call_d1", "teller", {"task": story.TASK}), tokens=(201, 21)),
        story.reply(None, ("call_w1", "look_up_weather", {"city": "Rome"}), tokens=(301, 31)),
        story.reply(None, ("call_f1", "final_answer", {"answer": story.TOLD}), tokens=(302, 32)),
        story.reply(None, ("call_f2", "final_answer", {"answer": "Clear."}), tokens=(202, 22)),
    )
    with story.playing(script) as models:
        teller = booker(models.url, name="teller", description="Tells.", instructions=story.TELLER)
        guide = {"name": "guide", "tools": [], "instructions": story.GUIDE}
        assert booker(models.url, managed_agents=[teller], **guide).run(story.QUESTION) == "Clear."
    guide_trace, teller_trace = collector.traces
    lines = story.told(guide_trace)
    assert lines[:2] == [
        ("user", "human", f"New task:\n{story.QUESTION}"),
        ("assistant", "", story.MODEL, (201, 21), None),
    ]
    # No span is the call of an agent: its result is what the next request showed the model.
    call_id, name, arguments, ok, brought = lines[2]
    assert (call_id, name, arguments, ok) == ("call_d1", "teller", {"task": story.TASK}, None)
    assert brought.startswith("Observation:\nHere is the final answer from your managed agent")
    assert lines[3:] == [
        ("assistant", "", story.MODEL, (202, 22), None),
        ("call_f2", "final_answer", {"answer": "Clear."}, True, "Clear."),
    ]
    assert teller_trace.parent is not None
    assert teller_trace.parent.trace_id == guide_trace.id
    assert teller_trace.parent.call_id == "call_d1"
    assert teller_trace.agent.name == "teller"
    first, *rest = story.told(teller_trace)
    assert first[:2] == ("user", "agent")
    assert story.TASK in first[2]
    assert rest == [
        ("assistant", "", story.MODEL, (301, 31), None),
        ("call_w1", "look_up_weather", {"city": "Rome"}, True, story.WEATHER),
        SEEN,
        ("assistant", "", story.MODEL, (302, 32), None),
        ("call_f1", "final_answer", {"answer": story.TOLD}, True, story.TOLD),
    ]


def test_calls_from_the_code_that_a_model_wrote_are_calls_of_its_turn(
    collector: td.SpanCollector,
) -> None:
    from smolagents import CodeAgent

    code = "Thought: look.\n<code>\nprint(look_up_weather('Rome'))\n</code>"
    end = "<code>\nfinal_answer('Clear.')\n</code>"
    script = (story.reply(code, tokens=(101, 11)), story.reply(end, tokens=(102, 12)))
    with story.playing(script) as models:
        agent = CodeAgent(tools=tools(), model=model(models.url), verbosity_level=0, name="coder")
        assert agent.run(story.USER) == "Clear."
    [trace] = collector.traces
    user, asked, weather, seen, ended, final = story.told(trace)
    assert user == ("user", "human", f"New task:\n{story.USER}")
    assert asked[:3] == ("assistant", code, story.MODEL)
    # Written by place in the code; the tool's schema has the names.
    assert weather[1:] == ("look_up_weather", {"city": "Rome"}, True, story.WEATHER)
    assert seen[:2] == ("user", "environment")
    assert "Execution logs:\n{'sky': 'clear', 'degrees': 21}" in seen[2]
    assert ended[:3] == ("assistant", end, story.MODEL)
    assert final[1:] == ("final_answer", {"answer": "Clear."}, True, "Clear.")
    assert {call.bound_by for call in trace.calls} == {"synthetic"}


@smolagents("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(SCRIPT) as models:
        booker(models.url).run(f"{story.USER} My key is {story.SECRET}.")
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert trace.turns[0].text.startswith(f"New task:\n{story.USER}")


@smolagents("beside others")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_call_that_the_client_tells_of_too_is_one_turn(
    is_first: bool, collector: td.SpanCollector
) -> None:
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor

    SmolagentsInstrumentor().uninstrument()
    both = [OpenAIInstrumentor(), SmolagentsInstrumentor()]
    for one in both if is_first else reversed(both):
        one.instrument(tracer_provider=collector.provider)
    try:
        with story.playing(SCRIPT) as models:
            booker(models.url).run(story.USER)
    finally:
        OpenAIInstrumentor().uninstrument()
    [trace] = collector.traces
    # What the client knows is added: the model that answered, and why its turn ended.
    reasons = iter(["tool_calls"] * 4)
    assert story.told(trace) == [
        (*line[:2], story.ANSWERING, line[3], next(reasons)) if line[0] == "assistant" else line
        for line in EXPECTED
    ]


@smolagents("uninstall")
def test_without_the_instrumentation_there_is_no_span(collector: td.SpanCollector) -> None:
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor

    SmolagentsInstrumentor().uninstrument()
    with story.playing(SCRIPT) as models:
        assert booker(models.url).run(story.USER) == story.FINAL
    assert collector.summary().spans == 0


def test_what_the_spans_do_not_carry(collector: td.SpanCollector) -> None:
    """The model that answered and why it ended, the session, the ids of calls in tools' spans."""
    with story.playing(SCRIPT) as models:
        booker(models.url).run(story.USER)
    [trace] = collector.traces
    turns = [turn for turn in trace.turns if turn.role == "assistant"]
    assert {(turn.model, turn.finish_reason) for turn in turns} == {(story.MODEL, None)}
    assert trace.session_id is None
