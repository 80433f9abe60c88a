"""Google ADK, by the spans it makes itself, and its session's state by our integration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
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
    return pytest.mark.cell("google-adk", capability)


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


@adk("streaming async")
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


def seat_taker(url: str, *, on_error: Callable[..., Any] | None = None) -> Any:
    """An agent one of whose tools changes the session's state."""

    def look_up_weather(city: str, tool_context: Any) -> dict[str, Any]:
        """Tell the weather in a city."""
        tool_context.state["looked_at"] = [city]
        tool_context.state["temp:scratch"] = 1
        tool_context.state["user:fond_of"] = city
        return story.WEATHER

    tools = [look_up_weather, story.book_train]
    return an_agent(url, "booker", story.SYSTEM, tools, on_tool_error_callback=on_error)


BEFORE = {"seat": "window"}
AFTER = {"seat": "aisle", "looked_at": ["Rome"], "user:fond_of": "Rome"}


async def ride(agent: Any, service: Any) -> dict[str, Any]:
    """Ask the agent in a session that exists, and return the state that ADK keeps of it."""
    from google.adk.runners import Runner
    from google.genai import types

    runner = Runner(agent=agent, app_name="trains", session_service=service)
    where = {"app_name": "trains", "user_id": "u1", "session_id": "s1"}
    await service.create_session(**where, state=dict(BEFORE))
    asked = types.Content(role="user", parts=[types.Part(text=story.USER)])
    events = runner.run_async(
        user_id="u1", session_id="s1", new_message=asked, state_delta={"seat": "aisle"}
    )
    async for _ in events:
        pass
    session = await service.get_session(**where)
    return dict(session.state)


@pytest.fixture
def integration() -> Iterator[Any]:
    from tracedance_integrations import google_adk

    google_adk.install()
    yield google_adk
    google_adk.uninstall()


@adk("state")
def test_the_sessions_state_is_the_state_of_a_collected_run(
    integration: Any, collector: td.SpanCollector
) -> None:
    from google.adk.sessions import InMemorySessionService

    with story.playing(story.BOTH) as models:
        kept = asyncio.run(ride(seat_taker(models.url), InMemorySessionService()))
    [trace] = collector.traces
    assert (trace.initial_state, trace.final_state) == (BEFORE, kept)
    assert kept == {**AFTER, "looked_at": ["Paris"], "user:fond_of": "Paris"}
    assert "state_grading" in trace.fidelity.fit_for


@adk("state")
def test_the_sessions_state_is_the_state_of_a_recorders_run(integration: Any) -> None:
    from google.adk.sessions import InMemorySessionService

    with story.playing(story.STORY) as models, td.TraceRecorder() as recorder:
        agent = seat_taker(models.url, on_error=tell_the_model)
        kept = asyncio.run(ride(agent, InMemorySessionService()))
    trace = recorder.trace
    assert (trace.initial_state, trace.final_state) == (BEFORE, kept)
    assert (kept, trace.agent.name) == (AFTER, "booker")


@adk("state")
def test_a_recorders_own_state_counts(integration: Any) -> None:
    from google.adk.sessions import InMemorySessionService

    with story.playing(story.STORY) as models, td.TraceRecorder(state=lambda: 7) as recorder:
        agent = seat_taker(models.url, on_error=tell_the_model)
        asyncio.run(ride(agent, InMemorySessionService()))
    assert (recorder.trace.initial_state, recorder.trace.final_state) == (7, 7)


@adk("state")
def test_a_run_that_fails_has_the_state_that_it_left(
    integration: Any, collector: td.SpanCollector
) -> None:
    from google.adk.sessions import InMemorySessionService

    with (
        story.playing(story.STORY[:2]) as models,
        td.TraceRecorder() as recorder,
        pytest.raises(RuntimeError, match=story.NO_SEATS),
    ):
        asyncio.run(ride(seat_taker(models.url), InMemorySessionService()))
    assert recorder.trace.final_state == AFTER
    assert collector.traces[0].final_state == AFTER


@adk("state")
def test_a_session_in_a_database_is_read_as_well(integration: Any, tmp_path: Path) -> None:
    from google.adk.sessions.sqlite_session_service import SqliteSessionService

    with story.playing(story.STORY) as models, td.TraceRecorder() as recorder:
        agent = seat_taker(models.url, on_error=tell_the_model)
        kept = asyncio.run(ride(agent, SqliteSessionService(str(tmp_path / "s.db"))))
    assert (recorder.trace.initial_state, recorder.trace.final_state) == (BEFORE, kept)


def counting_service(*, first_fails: bool = False) -> tuple[Any, list[Any]]:
    """Return a session service, and what sessions it was asked for."""
    from google.adk.sessions import InMemorySessionService

    service: Any = InMemorySessionService()
    get_session, asked = service.get_session, list[Any]()

    async def counted(**where: Any) -> Any:
        asked.append(where)
        if first_fails and len(asked) == 1:
            raise RuntimeError("the database is away")
        return await get_session(**where)

    service.get_session = counted
    return service, asked


@adk("no recorder")
def test_without_anybody_who_records_the_session_is_not_read(
    integration: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integration, "watchers", ())
    (bare, asked), (recorded, asked_more) = counting_service(), counting_service()
    with story.playing(story.BOTH) as models:
        kept = asyncio.run(ride(seat_taker(models.url), bare))
    with story.playing(story.BOTH) as models, td.TraceRecorder():
        assert asyncio.run(ride(seat_taker(models.url), recorded)) == kept
    assert len(asked_more) == len(asked) + 1


@adk("state")
def test_a_session_that_cannot_be_read_troubles_no_run(
    integration: Any, collector: td.SpanCollector
) -> None:
    with story.playing(story.BOTH) as models, td.TraceRecorder() as recorder:
        service, _ = counting_service(first_fails=True)
        kept = asyncio.run(ride(seat_taker(models.url), service))
    assert kept["looked_at"] == ["Paris"]
    assert recorder.trace.initial_state is UNKNOWN
    assert collector.traces[0].initial_state is UNKNOWN


@adk("state")
def test_an_agent_in_a_tool_has_its_own_session(
    integration: Any, collector: td.SpanCollector
) -> None:
    from google.adk.sessions import InMemorySessionService
    from google.adk.tools.agent_tool import AgentTool

    asked = {"request": story.TASK}
    with story.playing(story.delegating("booker", asked)) as models:
        tools = [AgentTool(seat_taker(models.url))]
        guide = an_agent(models.url, "guide", story.GUIDE, tools)
        with td.TraceRecorder() as recorder:
            kept = asyncio.run(ride(guide, InMemorySessionService()))
    assert kept == AFTER  # ADK hands the inner changes on
    assert recorder.trace.final_state == collector.traces[0].final_state == AFTER
    [inner] = [trace for trace in recorder.traces if trace.agent.name == "booker"]
    assert inner.initial_state == {"seat": "aisle"}
    assert inner.final_state == AFTER


@adk("uninstall")
def test_uninstalling_leaves_nothing_behind() -> None:
    from google.adk.runners import Runner
    from tracedance_integrations import google_adk

    before = vars(Runner)["run_async"]
    google_adk.install()
    google_adk.install()
    assert vars(Runner)["run_async"] is not before
    google_adk.uninstall()
    assert vars(Runner)["run_async"] is before
