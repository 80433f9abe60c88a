"""Google ADK, by the spans it makes itself, and its session's state by our integration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_b import story
from tests.support.scripted_models import Answer
from tracedance_sdk.trace import UNKNOWN

pytestmark = [
    pytest.mark.needs("google.adk"),
    pytest.mark.needs("litellm"),
    pytest.mark.filterwarnings("ignore"),
]
_CONTENT = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}
_FIRST_SCHEMA = {"ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN": "1"}
_OFF: dict[str, str] = {}
_NAMES = {*_CONTENT, *_FIRST_SCHEMA, "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"}
MODEL = f"openai/{story.MODEL}"


def adk(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("google_adk", capability, package="google-adk")


@pytest.fixture(autouse=True)
def telemetry(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Which telemetry ADK writes; with content, by the newest schema, unless told otherwise."""
    chosen: dict[str, str] = getattr(request, "param", _CONTENT)
    for name in _NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    return chosen


def an_agent(url: str, name: str, prompt: str, tools: list[Any], **options: Any) -> Any:
    from google.adk.agents import LlmAgent
    from google.adk.models.lite_llm import LiteLlm

    model = LiteLlm(model=MODEL, api_base=f"{url}/v1", api_key="fake", num_retries=0)
    return LlmAgent(name=name, model=model, instruction=prompt, tools=tools, **options)


def booker(url: str, *, on_error: Callable[..., Any] | None = None) -> Any:
    tools = [story.look_up_weather, story.book_train]
    return an_agent(url, "booker", story.SYSTEM, tools, on_tool_error_callback=on_error)


def tell_the_model(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, str]:
    """Without such a callback a tool that raises ends an ADK run."""
    return {"error": str(error)}


async def ask(agent: Any, words: str, *, streamed: bool = False) -> list[Any]:
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    runner = InMemoryRunner(agent=agent, app_name="trains")
    session = await runner.session_service.create_session(
        app_name="trains", user_id="u1", session_id="s1", state={"seat": "window"}
    )
    mode = StreamingMode.SSE if streamed else StreamingMode.NONE
    events = runner.run_async(
        user_id="u1",
        session_id=session.id,
        new_message=types.Content(role="user", parts=[types.Part(text=words)]),
        run_config=RunConfig(streaming_mode=mode),
    )
    return [event async for event in events]


def expected(model: str) -> list[tuple[Any, ...]]:
    return story.whole_story(
        model=model,
        reasons=("stop", "stop"),
        brought=(story.WEATHER, story.BOOKED),
        failed=({"error": story.NO_SEATS}, ("TOOL_ERROR", "TOOL_ERROR")),
    )


@adk("async")
@adk("tool error")
@pytest.mark.parametrize(
    ("telemetry", "model"),
    [(_CONTENT, MODEL), (_FIRST_SCHEMA, story.ANSWERING)],
    ids=["second schema", "first schema"],
    indirect=["telemetry"],
)
def test_a_run_is_read_whole(
    telemetry: dict[str, str], model: str, collector: td.SpanCollector
) -> None:
    with story.playing(story.STORY) as models:
        asyncio.run(ask(booker(models.url, on_error=tell_the_model), story.USER))
    [trace] = collector.traces
    assert story.told(trace) == expected(model)
    assert (trace.agent.name, trace.session_id) == ("booker", "s1")
    assert (trace.system_prompt or "").startswith(story.SYSTEM)
    assert [tool.name for tool in trace.tools] == ["look_up_weather", "book_train"]
    assert trace.tools[0].description == "Tell the weather in a city."
    assert trace.outcome is not None
    assert trace.outcome.ended
    assert story.notes(trace) == set()


@adk("sync")
def test_the_runners_sync_way_gives_the_same(collector: td.SpanCollector) -> None:
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    message = types.Content(role="user", parts=[types.Part(text=story.USER)])
    with story.playing(story.STORY) as models:
        runner = InMemoryRunner(
            agent=booker(models.url, on_error=tell_the_model), app_name="trains"
        )
        runner.auto_create_session = True
        list(runner.run(user_id="u1", session_id="s1", new_message=message))
    [trace] = collector.traces
    assert story.told(trace) == expected(MODEL)


@adk("streaming")
def test_a_streamed_run_is_the_same(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models:
        agent = booker(models.url, on_error=tell_the_model)
        events = asyncio.run(ask(agent, story.USER, streamed=True))
    assert sum(bool(event.partial) for event in events) > 4
    [trace] = collector.traces
    assert story.told(trace) == expected(MODEL)


@adk("parallel calls")
def test_calls_of_one_turn_keep_their_results(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models:
        asyncio.run(ask(booker(models.url), story.USER))
    [trace] = collector.traces
    assert [(call.id, call.arguments, call.bound_by) for call in trace.calls] == [
        ("call_w1", {"city": "Rome"}, "id"),
        ("call_w2", {"city": "Paris"}, "id"),
    ]
    assert [turn.text for turn in trace.turns] == [story.USER, "", "Both are clear."]


def test_a_tool_that_raises_ends_the_run_and_is_a_failed_call(
    collector: td.SpanCollector,
) -> None:
    with story.playing(story.STORY[:2]) as models, pytest.raises(RuntimeError):
        asyncio.run(ask(booker(models.url), story.USER))
    [trace] = collector.traces
    failed = trace.calls[-1]
    assert (failed.id, failed.arguments) == ("call_b1", {"to": "Rome", "day": "today"})
    assert failed.result is not None
    assert failed.result.ok is False
    assert failed.result.error is not None
    assert (failed.result.error.type, failed.result.error.message) == (
        "RuntimeError",
        story.NO_SEATS,
    )
    assert trace.outcome is not None
    assert trace.outcome.ended is False


@adk("model error")
def test_a_model_that_fails_is_an_error_of_its_turn_and_of_the_run(
    collector: td.SpanCollector,
) -> None:
    with story.playing(story.BROKEN) as models, pytest.raises(Exception, match="too long"):
        asyncio.run(ask(booker(models.url), story.USER))
    [trace] = collector.traces
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert "too long" in str(trace.outcome.error)
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])
    assert [call.id for call in trace.calls] == ["call_w1"]


@adk("cancellation")
def test_a_run_that_is_cancelled_has_what_it_did_and_a_turn_without_words(
    collector: td.SpanCollector,
) -> None:
    """No span of ADK says that it was cancelled."""

    async def run(url: str) -> None:
        async with asyncio.timeout(1):
            await ask(booker(url), story.USER)

    slow = (story.STORY[0], Answer(story.STORY[1], delay_s=2))
    with story.playing(slow) as models, pytest.raises(TimeoutError):
        asyncio.run(run(models.url))
    [trace] = collector.traces
    assert [(call.id, call.result and call.result.ok) for call in trace.calls] == [
        ("call_w1", True)
    ]
    assert story.told(trace)[-1] == ("assistant", "", MODEL, None, None)
    assert story.notes(trace) == {"content_off"}
    assert "grading" not in trace.fidelity.fit_for


def teller(url: str) -> Any:
    return an_agent(
        url, "teller", story.TELLER, [story.look_up_weather], description="Knows the weather."
    )


@adk("nested agents")
def test_an_agent_that_is_a_tool_has_a_trace_of_its_own(collector: td.SpanCollector) -> None:
    from google.adk.tools.agent_tool import AgentTool

    with story.playing(story.delegating("teller", {"request": story.TASK})) as models:
        tools = [AgentTool(teller(models.url))]
        asyncio.run(ask(an_agent(models.url, "guide", story.GUIDE, tools), story.QUESTION))
    guide, told = collector.traces
    assert story.told(guide) == [
        ("user", "human", story.QUESTION),
        ("assistant", "", MODEL, (201, 21), "stop"),
        ("call_d1", "teller", {"request": story.TASK}, True, {"result": story.TOLD}),
        ("assistant", "Rome is clear.", MODEL, (202, 22), "stop"),
    ]
    assert told.parent is not None
    assert (told.parent.trace_id, told.parent.call_id) == (guide.id, "call_d1")
    assert (told.agent.name, told.session_id == guide.session_id) == ("teller", False)
    assert story.told(told) == TELLERS_TURNS


TELLERS_TURNS = [
    ("user", "agent", story.TASK),
    ("assistant", "", MODEL, (301, 31), "stop"),
    ("call_w1", "look_up_weather", {"city": "Rome"}, True, story.WEATHER),
    ("assistant", story.TOLD, MODEL, (302, 32), "stop"),
]


@adk("nested agents")
def test_a_sub_agent_has_a_trace_of_its_own_whose_call_is_the_transfer(
    collector: td.SpanCollector,
) -> None:
    asked = {"agent_name": "teller"}
    with story.playing(story.delegating("transfer_to_agent", asked)[:3]) as models:
        agent = an_agent(models.url, "guide", story.GUIDE, [], sub_agents=[teller(models.url)])
        asyncio.run(ask(agent, story.QUESTION))
    guide, told = collector.traces
    assert story.told(guide)[1:] == [
        ("assistant", "", MODEL, (201, 21), "stop"),
        ("call_d1", "transfer_to_agent", asked, True, {"result": None}),
    ]
    assert told.parent is not None
    assert (told.parent.trace_id, told.parent.call_id) == (guide.id, "call_d1")
    assert told.session_id == guide.session_id == "s1"
    assert [(turn.role, turn.origin) for turn in told.turns] == [
        ("user", "human"),
        ("user", "harness"),
        ("user", "harness"),
        ("assistant", "agent"),
        ("assistant", "agent"),
    ]
    assert story.told(told)[3:] == TELLERS_TURNS[1:]


@adk("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models:
        asyncio.run(ask(booker(models.url), f"{story.USER} My key is {story.SECRET}."))
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert trace.turns[0].text.startswith(story.USER)


@pytest.mark.parametrize("telemetry", [_OFF], ids=["no content"], indirect=True)
def test_what_the_spans_of_adk_do_not_carry_unless_told_to(
    telemetry: dict[str, str], collector: td.SpanCollector
) -> None:
    with story.playing(story.BOTH) as models:
        asyncio.run(ask(booker(models.url), story.USER))
    [trace] = collector.traces
    assert trace.system_prompt is None
    assert [turn.role for turn in trace.turns] == ["assistant", "assistant"]
    assert [turn.text for turn in trace.turns] == ["", ""]
    assert [(call.id, call.arguments) for call in trace.calls] == [
        ("call_w1", UNKNOWN),
        ("call_w2", UNKNOWN),
    ]
    assert story.notes(trace) == {"content_off", "arguments_unknown"}
    assert trace.fidelity.fit_for == ("reading",)
