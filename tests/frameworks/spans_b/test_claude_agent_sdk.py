"""Claude Agent SDK: its own Claude Code, against a scripted endpoint, recorded by its hooks."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.spans_b import story
from tests.support.scripted_models import Answer, Request, ScriptedModels, scripted_models
from tests.support.scripted_streams import streamed

pytestmark = [
    pytest.mark.needs("claude_agent_sdk"),
    pytest.mark.filterwarnings("ignore"),
]
MODEL = "claude-x"
ANSWERING = "claude-x-1"


def claude(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("claude-agent-sdk", capability, by="hooks")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code finds no settings and no key, and tells nobody anything."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC", "CLAUDE")):
            monkeypatch.delenv(name)
    for name in (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
    ):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "fake")


@pytest.fixture
def integration(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    from tracedance_integrations import claude_agent_sdk

    claude_agent_sdk.install()
    yield claude_agent_sdk
    claude_agent_sdk.uninstall()
    assert "could not record" not in caplog.text


def said(text: str | None, *calls: story.Call3, tokens: tuple[int, int]) -> dict[str, Any]:
    """Return a reply of the messages API."""
    blocks: list[Any] = [] if text is None else [{"type": "text", "text": text}]
    blocks += [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls]
    return {
        "id": f"msg_{tokens[0]}",
        "type": "message",
        "role": "assistant",
        "model": ANSWERING,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }


WEATHER, TRAIN = "mcp__desk__look_up_weather", "mcp__desk__book_train"
ROME = ("toolu_w1", WEATHER, {"city": "Rome"})
STORY = (
    said("First the weather.", ROME, tokens=(101, 11)),
    said(None, ("toolu_b1", TRAIN, {"to": "Rome", "day": "today"}), tokens=(102, 12)),
    said(None, ("toolu_b2", TRAIN, {"to": "Rome", "day": "tomorrow"}), tokens=(103, 13)),
    said(story.FINAL, tokens=(104, 14)),
)
PARIS = ("toolu_w2", WEATHER, {"city": "Paris"})
BOTH = (said(None, ROME, PARIS, tokens=(101, 11)), said("Both are clear.", tokens=(102, 12)))


@contextmanager
def playing(
    replies: Sequence[dict[str, Any] | Answer], others: Sequence[dict[str, Any]] = ()
) -> Iterator[ScriptedModels]:
    """Serve the replies to the agent in order, and the others to its sub-agent."""
    left: dict[bool, list[Any]] = {False: list(replies), True: list(others)}

    def script(request: Request, _: int) -> Answer:
        queue = left[story.TELLER in json.dumps(request.body.get("system"))]
        body = queue.pop(0) if len(queue) > 1 or isinstance(queue[0], dict) else queue[0]
        return body if isinstance(body, Answer) else streamed("anthropic", body)

    with scripted_models(script) as models:
        yield models
    assert all(isinstance(body, Answer) for queue in left.values() for body in queue)


def text(value: Any) -> list[dict[str, str]]:
    return [{"type": "text", "text": json.dumps(value)}]


def options(url: str, tmp_path: Path, **more: Any) -> Any:
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

    async def look_up_weather(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": text(story.look_up_weather(**given))}

    async def book_train(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": text(story.book_train(**given))}

    about = ("look_up_weather", "Tell the weather in a city.", {"city": str})
    tools = [
        tool(*about)(look_up_weather),
        tool("book_train", "Book a train to a city on a day.", {"to": str, "day": str})(book_train),
    ]
    settings = {
        "system_prompt": story.SYSTEM,
        "mcp_servers": {"desk": create_sdk_mcp_server("desk", tools=tools)},
        "allowed_tools": [WEATHER, TRAIN],
        "tools": [],
        "model": MODEL,
        "setting_sources": [],
        "cwd": tmp_path,
        "env": {"ANTHROPIC_BASE_URL": url},
    }
    return ClaudeAgentOptions(**{**settings, **more})


async def ask(words: str, asked: Any) -> list[Any]:
    from claude_agent_sdk import query

    async with asyncio.timeout(60):
        return [message async for message in query(prompt=words, options=asked)]


def lines(*, counted: bool) -> list[tuple[Any, ...]]:
    """Return the story; what an answer cost in all is only known where its stream is asked for."""
    told = story.whole_story(
        model=ANSWERING,
        reasons=("tool_use", "end_turn") if counted else (None, None),
        brought=(text(story.WEATHER), text(story.BOOKED)),
        failed=(story.NO_SEATS, ("ToolError", story.NO_SEATS)),
    )
    found: list[tuple[Any, ...]] = []
    for line in told:
        if line[0] == "assistant":
            tokens = line[3] if counted else (line[3][0], None)
            found.append((*line[:3], tokens, line[4]))
        elif line[0] == "user":
            found.append(line)
        else:
            call_id, name = line[0].replace("call_", "toolu_"), f"mcp__desk__{line[1]}"
            found.append((call_id, name, *line[2:]))
    return found


@claude("async")
@claude("tool error")
def test_a_run_is_recorded_whole(integration: Any, tmp_path: Path) -> None:
    with playing(STORY) as models, td.TraceRecorder() as recorder:
        asyncio.run(ask(story.USER, options(models.url, tmp_path)))
    trace = recorder.trace
    assert story.told(trace) == lines(counted=False)
    assert (trace.agent.name, trace.system_prompt) == ("claude-code", story.SYSTEM)
    assert {tool.name: tool.description for tool in trace.tools} == {
        TRAIN: "Book a train to a city on a day.",
        WEATHER: "Tell the weather in a city.",
    }
    assert {call.bound_by for call in trace.calls} == {"id"}


@claude("streaming async")
def test_a_streamed_run_tells_its_costs_as_well(integration: Any, tmp_path: Path) -> None:
    with playing(STORY) as models, td.TraceRecorder() as recorder:
        asked = options(models.url, tmp_path, include_partial_messages=True)
        asyncio.run(ask(story.USER, asked))
    assert story.told(recorder.trace) == lines(counted=True)


@claude("parallel calls")
def test_calls_of_one_turn_keep_their_results(integration: Any, tmp_path: Path) -> None:
    with playing(BOTH) as models, td.TraceRecorder() as recorder:
        asyncio.run(ask(story.USER, options(models.url, tmp_path)))
    trace = recorder.trace
    assert [(call.id, call.arguments, call.bound_by) for call in trace.turns[1].calls] == [
        ("toolu_w1", {"city": "Rome"}, "id"),
        ("toolu_w2", {"city": "Paris"}, "id"),
    ]
    assert [turn.text for turn in trace.turns] == [story.USER, "", "Both are clear."]


def test_claude_codes_own_tools_are_recorded(integration: Any, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a window seat\n")
    read = ("toolu_r1", "Read", {"file_path": str(tmp_path / "note.txt")})
    missing = ("toolu_r2", "Read", {"file_path": str(tmp_path / "none.txt")})
    replies = (said(None, read, missing, tokens=(101, 11)), said("Done.", tokens=(102, 12)))
    with playing(replies) as models, td.TraceRecorder() as recorder:
        more = {"tools": ["Read"], "allowed_tools": ["Read"]}
        asyncio.run(ask("What does the note say?", options(models.url, tmp_path, **more)))
    found, failed = recorder.trace.calls
    assert (found.id, found.name, found.result and found.result.ok) == ("toolu_r1", "Read", True)
    assert "a window seat" in str(found.result and found.result.content)
    assert (failed.id, failed.result and failed.result.ok) == ("toolu_r2", False)
    assert "not exist" in str(failed.result and failed.result.error)


@claude("model error")
def test_a_model_that_fails_is_an_error_of_its_turn(integration: Any, tmp_path: Path) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    replies = (STORY[0], Answer(error, status=400))
    with (
        playing(replies) as models,
        td.TraceRecorder() as recorder,
        pytest.raises(Exception, match="error result"),
    ):
        asyncio.run(ask(story.USER, options(models.url, tmp_path)))
    last = recorder.trace.turns[-1]
    assert "too long" in str((last.model_extra or {})["error"])
    assert (last.text, [call.id for call in recorder.trace.calls]) == ("", ["toolu_w1"])


@claude("cancellation")
def test_a_run_that_is_cancelled_has_what_it_did(integration: Any, tmp_path: Path) -> None:
    from claude_agent_sdk import UserMessage, query

    async def run(asked: Any) -> None:
        async with aclosing(query(prompt=story.USER, options=asked)) as messages:
            async for message in messages:
                if isinstance(message, UserMessage):
                    raise TimeoutError

    slow = streamed("anthropic", STORY[1])._replace(delay_s=5)
    with (
        playing((STORY[0], slow)) as models,
        td.TraceRecorder() as recorder,
        pytest.raises(TimeoutError),
    ):
        asyncio.run(run(options(models.url, tmp_path)))
    assert [(call.id, call.result and call.result.ok) for call in recorder.trace.calls] == [
        ("toolu_w1", True)
    ]


@claude("nested agents")
@pytest.mark.parametrize("waits", [False, True], ids=["in the background", "waited for"])
def test_a_sub_agent_has_a_trace_of_its_own(waits: bool, integration: Any, tmp_path: Path) -> None:
    from claude_agent_sdk import AgentDefinition

    task = {"description": "weather", "prompt": story.TASK, "subagent_type": "teller"}
    mine = [
        said(
            None, ("toolu_d1", "Agent", {**task, "run_in_background": not waits}), tokens=(201, 21)
        ),
        said("I have asked.", tokens=(202, 22)),
        said("Rome is clear.", tokens=(203, 23)),
    ]
    if waits:
        del mine[1]
    others = (said(None, ROME, tokens=(301, 31)), said(story.TOLD, tokens=(302, 32)))
    defined = AgentDefinition("Knows the weather.", story.TELLER, tools=[WEATHER])
    with playing(mine, others) as models, td.TraceRecorder() as recorder:
        more = {"tools": ["Agent"], "allowed_tools": [WEATHER, "Agent"]}
        asked = options(
            models.url, tmp_path, agents={"teller": defined}, forward_subagent_text=True, **more
        )
        asyncio.run(ask(story.QUESTION, asked))
    guide, told = recorder.traces
    assert [(call.id, call.name) for call in guide.calls] == [("toolu_d1", "Agent")]
    assert guide.turns[-1].text == "Rome is clear."
    assert told.parent is not None
    assert (told.parent.trace_id, told.parent.call_id) == (guide.id, "toolu_d1")
    assert (told.agent.name, told.system_prompt) == ("teller", story.TELLER)
    assert [tool.name for tool in told.tools] == [WEATHER]
    assert [(turn.role, turn.text) for turn in told.turns[:1]] == [("user", story.TASK)]
    assert story.told(told)[1:] == [
        ("assistant", "", ANSWERING, (301, None), None),
        ("toolu_w1", WEATHER, {"city": "Rome"}, True, text(story.WEATHER)),
        ("assistant", story.TOLD, ANSWERING, (302, None), None),
    ]


def test_a_client_is_recorded_through_all_its_questions(integration: Any, tmp_path: Path) -> None:
    from claude_agent_sdk import ClaudeSDKClient

    async def run(url: str) -> None:
        async with ClaudeSDKClient(options(url, tmp_path)) as client:
            for words in ("Hello.", "And now?"):
                await client.query(words)
                async for _ in client.receive_response():
                    pass

    replies = (said("Hi.", tokens=(101, 11)), said("Now this.", tokens=(102, 12)))
    with playing(replies) as models, td.TraceRecorder() as recorder:
        asyncio.run(run(models.url))
    assert [(turn.role, turn.text) for turn in recorder.trace.turns] == [
        ("user", "Hello."),
        ("assistant", "Hi."),
        ("user", "And now?"),
        ("assistant", "Now this."),
    ]


def test_a_decorated_function_in_a_tool_is_the_call(integration: Any, tmp_path: Path) -> None:
    from claude_agent_sdk import create_sdk_mcp_server, tool

    @td.tool
    def look_up_weather(city: str) -> dict[str, Any]:
        return story.look_up_weather(city)

    async def asked(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": text(look_up_weather(**given))}

    about = ("look_up_weather", "Tell the weather in a city.", {"city": str})
    server = create_sdk_mcp_server("desk", tools=[tool(*about)(asked)])
    replies = (STORY[0], said("Clear.", tokens=(102, 12)))
    with playing(replies) as models, td.TraceRecorder() as recorder:
        chosen = options(models.url, tmp_path, mcp_servers={"desk": server})
        asyncio.run(ask(story.USER, chosen))
    [call] = recorder.trace.calls
    assert (call.id, call.name, call.result and call.result.content) == (
        "toolu_w1",
        WEATHER,
        story.WEATHER,
    )


@claude("masking")
def test_a_secret_stands_nowhere_in_the_trace(integration: Any, tmp_path: Path) -> None:
    with playing(BOTH) as models, td.TraceRecorder() as recorder:
        words = f"{story.USER} My key is {story.SECRET}."
        asyncio.run(ask(words, options(models.url, tmp_path)))
    assert story.SECRET not in recorder.trace.model_dump_json()
    assert recorder.trace.turns[0].text.startswith(story.USER)


@claude("no recorder")
def test_without_a_recorder_no_hook_is_added(
    integration: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from claude_agent_sdk._internal.query import Query

    started, initialize = [], Query.initialize

    async def noted(query: Any) -> Any:
        started.append((dict(query.hooks), type(query.transport).__name__))
        return await initialize(query)

    monkeypatch.setattr(Query, "initialize", noted)
    with playing(BOTH) as models:
        messages = asyncio.run(ask(story.USER, options(models.url, tmp_path)))
    assert messages[-1].result == "Both are clear."
    assert started == [({}, "SubprocessCLITransport")]


@claude("beside others")
def test_the_programs_own_hooks_go_on(integration: Any, tmp_path: Path) -> None:
    from claude_agent_sdk import HookMatcher

    seen: list[str] = []

    async def deny(told: Any, _: Any, __: Any) -> Any:
        seen.append(told["tool_name"])
        decision = {"permissionDecision": "deny", "permissionDecisionReason": "not today"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

    replies = (STORY[0], said("No.", tokens=(102, 12)))
    with playing(replies) as models, td.TraceRecorder() as recorder:
        hooks = {"PreToolUse": [HookMatcher(hooks=[deny])]}
        asyncio.run(ask(story.USER, options(models.url, tmp_path, hooks=hooks)))
    assert seen == [WEATHER]
    [call] = recorder.trace.calls
    assert call.result is not None
    assert (call.result.ok, call.bound_by) == (False, "id")
    assert "not today" in str(call.result.content)


@claude("uninstall")
def test_uninstalling_leaves_nothing_behind() -> None:
    from claude_agent_sdk._internal.query import Query
    from tracedance_integrations import claude_agent_sdk

    before = {n: vars(Query)[n] for n in ("start", "close", "_handle_sdk_mcp_request")}
    claude_agent_sdk.install()
    assert all(vars(Query)[name] is not value for name, value in before.items())
    claude_agent_sdk.uninstall()
    assert {name: vars(Query)[name] for name in before} == before


def test_it_is_installed_only_when_it_is_named() -> None:
    import tracedance_integrations as integrations
    from claude_agent_sdk._internal.query import Query

    before = vars(Query)["start"]
    try:
        assert "claude-agent-sdk" not in integrations.install()
        assert vars(Query)["start"] is before
        assert integrations.install("claude-agent-sdk") == ["claude-agent-sdk"]
        assert vars(Query)["start"] is not before
    finally:
        integrations.uninstall()
    assert vars(Query)["start"] is before


def test_a_conversation_that_is_over_is_forgotten(integration: Any, tmp_path: Path) -> None:
    from tracedance_integrations.claude_agent_sdk import sessions

    with playing(BOTH) as models, td.TraceRecorder():
        asyncio.run(ask(story.USER, options(models.url, tmp_path)))
    gc.collect()
    assert not sessions._SESSIONS
