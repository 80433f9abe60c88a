"""Pydantic AI in the many ways in which it is used, recorded by its integration."""

import asyncio
import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.recording import AskedCall, GivenAnswer, answers_from
from tracedance_sdk.testing import check_quiet
from tracedance_sdk.trace import Trace

pytestmark = pytest.mark.needs("pydantic_ai")


def cell(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("pydantic-ai", capability, package="pydantic-ai-slim")


@pytest.fixture(autouse=True)
def own_loop() -> Iterator[None]:
    """An event loop for the framework's synchronous methods."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    asyncio.set_event_loop(None)


@pytest.fixture
def installed() -> Iterator[Any]:
    """The integration, in place."""
    from tracedance_integrations import pydantic_ai as td_pydantic_ai

    td_pydantic_ai.install()
    yield td_pydantic_ai
    td_pydantic_ai.uninstall()


def text(words: str) -> Any:
    from pydantic_ai.messages import TextPart

    return TextPart(words)


def call(name: str, call_id: str, /, **arguments: Any) -> Any:
    from pydantic_ai.messages import ToolCallPart

    return ToolCallPart(name, arguments, tool_call_id=call_id)


def saying(*turns: list[Any]) -> Any:
    """Return a model that says these turns, one after the other."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, _: Any) -> Any:
        place = sum(message.kind == "response" for message in messages)
        return ModelResponse(parts=turns[place])

    return FunctionModel(answer)


def streaming(*turns: list[Any]) -> Any:
    """Return a model that streams these turns: text in pieces, calls in halves, pauses, notes."""
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    async def stream(messages: Any, _: Any) -> Any:
        said = turns[sum(message.kind == "response" for message in messages)]
        for place, part in enumerate(said):
            if isinstance(part, float):
                await asyncio.sleep(part)
                continue
            if isinstance(part, list):
                part.append("told")
                continue
            if isinstance(part, str):
                yield part
                continue
            args = part.args_as_json_str()
            yield {place: DeltaToolCall(part.tool_name, args[:4], tool_call_id=part.tool_call_id)}
            yield {place: DeltaToolCall(json_args=args[4:])}

    return FunctionModel(stream_function=stream)


@contextlib.contextmanager
def recording(**given: Any) -> Iterator[td.TraceRecorder]:
    """Have a recorder open, and check afterwards that nothing went wrong in it."""
    with td.TraceRecorder(**given) as recorder:
        yield recorder
    check_quiet(recorder)


def told(trace: Trace) -> list[tuple[Any, ...]]:
    """Return what a trace says: roles with texts, and calls with what came back."""
    found: list[tuple[Any, ...]] = []
    for turn in trace.turns:
        found.append((turn.role, turn.text))
        found += [(c.id, c.name, c.arguments, outcome(c.result)) for c in turn.calls]
    return found


def outcome(result: Any) -> Any:
    if result is None:
        return None
    if result.ok is False:
        return result.error.type.rpartition(".")[2]
    return result.content


def look(n: int) -> int:
    """Look up a number."""
    return n + 1


@pytest.mark.usefixtures("installed")
class TestModels:
    def test_every_class_is_recorded_also_one_that_is_defined_later(self) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.models.fallback import FallbackModel
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.models.wrapper import WrapperModel

        async def request(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await self.wrapped.request(*args, **kwargs)

        later: Any = type("Later", (WrapperModel,), {"request": request})
        fallback = FallbackModel(saying([text("one")]), TestModel())
        models = (TestModel(custom_output_text="one"), fallback, later(saying([text("one")])))
        for model in models:
            with recording() as recorder:
                Agent(model).run_sync("go")
            assert told(recorder.trace) == [("user", "go"), ("assistant", "one")]

    def test_a_request_without_an_agent_is_recorded(self) -> None:
        from pydantic_ai.direct import model_request_sync
        from pydantic_ai.messages import ModelRequest

        with recording() as recorder:
            model_request_sync(saying([text("hello")]), [ModelRequest.user_text_prompt("hi")])
        assert told(recorder.trace) == [("user", "hi"), ("assistant", "hello")]

    def test_prompts_settings_and_images_are_told(self) -> None:
        from pydantic_ai import Agent, ImageUrl

        agent: Any = Agent(
            saying([text("a cat")]),
            system_prompt="You see.",
            instructions="Be brief.",
            model_settings={"temperature": 0.5},
        )
        image = ImageUrl(url="https://example.com/cat.png")
        with recording() as recorder:
            agent.run_sync(["What is it?", image])
        trace = recorder.trace
        assert trace.system_prompt == "You see.\n\nBe brief."
        assert trace.turns[1].settings == {"temperature": 0.5}
        media = trace.turns[0].content[1].model_dump()
        assert (media["modality"], media["uri"]) == ("image", "https://example.com/cat.png")

    def test_a_thought_is_no_text(self) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.messages import ThinkingPart

        agent: Any = Agent(saying([ThinkingPart("hm"), text("yes")]))
        with recording() as recorder:
            agent.run_sync("go")
        said = recorder.trace.turns[1]
        assert [part.type for part in said.content] == ["reasoning", "text"]
        assert said.text == "yes"


@pytest.mark.usefixtures("installed")
class TestTools:
    @cell("tool error")
    def test_a_retry_and_refused_arguments_are_failed_calls_and_the_run_goes_on(self) -> None:
        from pydantic_ai import Agent, ModelRetry

        turns = (
            [call("read", "c1", n=1)],
            [call("read", "c2", n="x")],
            [call("read", "c3", n=3)],
            [text("done")],
        )
        agent: Any = Agent(saying(*turns), retries=5)

        def read(n: int) -> int:
            if n == 1:
                raise ModelRetry("not this one")
            return n

        agent.tool_plain(read)

        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace) == [
            ("user", "go"),
            ("assistant", ""),
            ("c1", "read", {"n": 1}, "ModelRetry"),
            ("assistant", ""),
            ("c2", "read", {"n": "x"}, "ValidationError"),
            ("assistant", ""),
            ("c3", "read", {"n": 3}, 3),
            ("assistant", "done"),
        ]

    @cell("replay")
    def test_a_recorded_retry_is_a_retry_again(self) -> None:
        from pydantic_ai import Agent, ModelRetry

        def play() -> tuple[td.TraceRecorder, str, list[int]]:
            ran: list[int] = []
            turns = [call("read", "c1", n=1)], [call("read", "c2", n=2)], [text("done")]
            agent: Any = Agent(saying(*turns), retries=2)

            def read(n: int) -> dict[str, int]:
                ran.append(n)
                if n == 1:
                    raise ModelRetry("not this one")
                return {"n": n}

            agent.tool_plain(read)

            with recording() as recorder:
                output = agent.run_sync("go").output
            return recorder, output, ran

        first, _, _ = play()
        with answers_from(Recorded(first.trace)):
            second, output, ran = play()
        assert (output, ran) == ("done", [])
        assert told(second.trace) == told(first.trace)

    def test_a_decorated_function_is_one_call(self) -> None:
        from pydantic_ai import Agent

        agent: Any = Agent(saying([call("look", "c1", n=1)], [text("done")]), tools=[td.tool(look)])
        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace)[2:-1] == [("c1", "look", {"n": 1}, 2)]

    def test_a_call_has_the_name_and_the_arguments_that_the_model_gave(self) -> None:
        from pydantic import BaseModel
        from pydantic_ai import Agent
        from pydantic_ai.toolsets import CombinedToolset, FunctionToolset

        class Place(BaseModel):
            city: str
            days: int = 0

        def visit(place: Place, days: int) -> Place:
            return place.model_copy(update={"days": days})

        inner = CombinedToolset([FunctionToolset(tools=[visit]).prefixed("travel")])
        turns = [call("travel_visit", "c1", place={"city": "Ulm"}, days="2")], [text("done")]
        agent: Any = Agent(saying(*turns), toolsets=[inner])
        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace)[2:-1] == [
            (
                "c1",
                "travel_visit",
                {"place": {"city": "Ulm"}, "days": "2"},
                {"city": "Ulm", "days": 2},
            )
        ]

    def test_what_a_tool_returns_is_told_without_what_it_adds(self) -> None:
        from pydantic_ai import Agent, ToolReturn

        agent: Any = Agent(saying([call("shot", "c1")], [text("done")]))

        def shot() -> ToolReturn:
            return ToolReturn(return_value={"taken": True}, content="Look at the corner.")

        agent.tool_plain(shot)

        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace)[2:] == [
            ("c1", "shot", {}, {"taken": True}),
            ("user", "Look at the corner."),
            ("assistant", "done"),
        ]

    def test_a_call_that_waited_for_approval_is_one_call(self) -> None:
        from pydantic_ai import (
            Agent,
            ApprovalRequired,
            DeferredToolRequests,
            DeferredToolResults,
            RunContext,
        )

        calls = [call("remove", "c1", n=1), call("clear", "c2", n=2)]
        output: Any = [str, DeferredToolRequests]
        agent: Any = Agent(saying(calls, [text("done")]), output_type=output)

        def remove(ctx: RunContext[None], n: int) -> str:
            if not ctx.tool_call_approved:
                raise ApprovalRequired
            return f"removed {n}"

        agent.tool(remove)

        def clear(n: int) -> str:
            return f"cleared {n}"

        agent.tool_plain(requires_approval=True)(clear)

        with recording() as recorder:
            first = agent.run_sync("go")
            given = DeferredToolResults(approvals={"c1": True, "c2": True})
            history = first.all_messages()
            agent.run_sync(message_history=history, deferred_tool_results=given)
        assert told(recorder.trace) == [
            ("user", "go"),
            ("assistant", ""),
            ("c1", "remove", {"n": 1}, "removed 1"),
            ("c2", "clear", {"n": 2}, "cleared 2"),
            ("assistant", "done"),
        ]

    def test_the_tools_of_an_mcp_server_are_recorded(self, tmp_path: Path) -> None:
        pytest.importorskip("mcp")
        from pydantic_ai import Agent

        script = tmp_path / "server.py"
        script.write_text(SERVER)
        turns = (
            [call("desk_find", "c1", name="nobody")],
            [call("desk_find", "c2", name="sam")],
            [text("done")],
        )
        toolset = mcp_server(script)
        agent: Any = Agent(saying(*turns), toolsets=[toolset.prefixed("desk")])

        async def play() -> None:
            async with agent:
                await agent.run("go")

        with recording() as recorder:
            asyncio.run(play())
        calls = [entry for entry in told(recorder.trace) if len(entry) == 4]
        assert calls == [
            ("c1", "desk_find", {"name": "nobody"}, "ModelRetry"),
            ("c2", "desk_find", {"name": "sam"}, "sam@example.com"),
        ]


@pytest.mark.usefixtures("installed")
class TestOutputs:
    def test_output_is_a_call_of_the_models_with_the_frameworks_result(self) -> None:
        from pydantic_ai import Agent

        turns = (
            [call("final_result", "c1", name="Ulm")],
            [call("final_result", "c2", name="Ulm", size=2), call("look", "c3", n=1)],
        )
        agent: Any = Agent(saying(*turns), output_type=city(), tools=[look], end_strategy="early")
        with recording() as recorder:
            assert agent.run_sync("go").output.size == 2
        trace = recorder.trace
        assert sorted(tool.name for tool in trace.tools) == ["final_result", "look"]
        found = told(trace)
        assert found[:4] == [
            ("user", "go"),
            ("assistant", ""),
            ("c1", "final_result", {"name": "Ulm"}, "ValidationError"),
            ("assistant", ""),
        ]
        processed = ("c2", "final_result", {"name": "Ulm", "size": 2}, "Final result processed.")
        assert processed in found[4:]
        assert [entry[:3] for entry in found[4:]].count(("c3", "look", {"n": 1})) == 1

    @cell("streaming")
    def test_streamed_output_is_the_same(self) -> None:
        from pydantic_ai import Agent

        turn = [call("final_result", "c1", name="Ulm", size=2)]
        cities = Agent(streaming(turn), output_type=city())

        async def play() -> Any:
            async with cities.run_stream("go") as result:
                return await result.get_output()

        with recording() as recorder:
            assert asyncio.run(play()).size == 2
        assert told(recorder.trace)[2:] == [
            ("c1", "final_result", {"name": "Ulm", "size": 2}, "Final result processed.")
        ]

    def test_refused_text_is_told_by_nobody_in_person(self) -> None:
        from pydantic_ai import Agent, ModelRetry

        agent: Any = Agent(saying([text("no")], [text("yes")]), retries=2)

        def check(output: str) -> str:
            if output == "no":
                raise ModelRetry("say yes")
            return output

        agent.output_validator(check)

        with recording() as recorder:
            agent.run_sync("go")
        turns = recorder.trace.turns
        assert [(turn.role, turn.origin) for turn in turns] == [
            ("user", "human"),
            ("assistant", "agent"),
            ("user", "environment"),
            ("assistant", "agent"),
        ]
        assert "say yes" in turns[2].text


@pytest.mark.usefixtures("installed")
class TestRuns:
    @cell("streaming")
    def test_run_stream_runs_tools_and_tells_its_last_words(self) -> None:
        from pydantic_ai import Agent

        clerk = Agent(streaming([call("look", "c1", n=1)], ["Hel", "lo"]), tools=[look])

        async def play() -> str:
            async with clerk.run_stream("go") as result:
                return "".join([piece async for piece in result.stream_text(delta=True)])

        with recording() as recorder:
            assert asyncio.run(play()) == "Hello"
        assert told(recorder.trace) == [
            ("user", "go"),
            ("assistant", ""),
            ("c1", "look", {"n": 1}, 2),
            ("assistant", "Hello"),
        ]
        assert (recorder.trace.agent.name, clerk.name) == ("clerk", "clerk")

    @cell("streaming")
    def test_run_stream_sync_is_recorded(self) -> None:
        from pydantic_ai import Agent

        clerk = Agent(streaming([call("look", "c1", n=1)], ["Hel", "lo"]), tools=[look])
        with recording() as recorder:
            result = clerk.run_stream_sync("go")
            assert "".join(result.stream_text(delta=True)) == "Hello"
        assert told(recorder.trace)[-1] == ("assistant", "Hello")

    @cell("streaming")
    def test_a_stream_that_is_left_is_interrupted(self) -> None:
        from pydantic_ai import Agent

        came: list[str] = []
        clerk = Agent(streaming(["Hel", "lo ", 2.0, came, "there"]))

        async def play() -> None:
            async with clerk.run_stream("go") as result:
                async for _ in result.stream_text(delta=True, debounce_by=None):
                    break

        with recording() as recorder:
            asyncio.run(play())
        last = recorder.trace.turns[-1]
        # Older versions read on by themselves.
        assert last.text in (("Hello there",) if came else ("Hel", "Hello "))
        assert getattr(last, "interrupted", None) is (None if came else True)

    def test_iter_is_recorded_under_the_variables_name_which_the_agent_does_not_get(self) -> None:
        from pydantic_ai import Agent

        clerk = Agent(saying([call("look", "c1", n=1)], [text("done")]), tools=[look])

        async def play() -> None:
            async with clerk.iter("go") as run:
                async for _ in run:
                    pass

        bare: list[Any] = []
        asyncio.run(play())
        bare.append(clerk.name)
        with recording() as recorder:
            asyncio.run(play())
        assert clerk.name == bare[0]
        assert told(recorder.trace)[-1] == ("assistant", "done")

        async def play_by_class() -> None:
            async with Agent.iter(clerk, "go") as run:
                async for _ in run:
                    pass

        with recording() as again:
            asyncio.run(play_by_class())
        assert [one.trace.agent.name for one in (recorder, again)] == ["clerk", "clerk"]

    def test_a_conversation_that_goes_on_is_not_repeated(self) -> None:
        from pydantic_ai import Agent

        turns = [call("look", "c1", n=1)], [text("done")], [text("again")]
        agent: Any = Agent(saying(*turns), tools=[look], system_prompt="You look.")
        with recording() as recorder:
            first = agent.run_sync("go")
            agent.run_sync("more", message_history=first.all_messages())
        assert len(recorder.traces) == 1
        assert [entry for entry in told(recorder.trace) if len(entry) == 2] == [
            ("user", "go"),
            ("assistant", ""),
            ("assistant", "done"),
            ("user", "more"),
            ("assistant", "again"),
        ]

    @cell("nested agents")
    def test_an_agent_in_a_tool_is_a_sub_agent_also_streamed(self) -> None:
        from pydantic_ai import Agent, RunContext

        helper = Agent(streaming([call("look", "c1", n=1)], ["It is 2."]), tools=[look])
        boss: Any = Agent(saying([call("ask", "c1", question="What?")], [text("done")]))

        async def ask(ctx: RunContext[None], question: str) -> str:
            async with helper.run_stream(question, usage=ctx.usage) as result:
                return str(await result.get_output())

        boss.tool(ask)

        with recording() as recorder:
            boss.run_sync("go")
        ours, theirs = recorder.traces
        assert (ours.agent.name, theirs.agent.name) == ("boss", "helper")
        assert theirs.parent is not None
        assert (theirs.parent.trace_id, theirs.parent.call_id) == (ours.id, ours.actions[0].id)
        assert told(ours)[2] == ("c1", "ask", {"question": "What?"}, "It is 2.")
        assert told(theirs)[2:] == [("c1", "look", {"n": 1}, 2), ("assistant", "It is 2.")]

    @cell("parallel calls")
    def test_runs_at_once_are_kept_apart_by_their_recorders(self) -> None:
        from pydantic_ai import Agent

        async def one(number: int) -> Trace:
            turns = [call("look", "c1", n=number)], [text(f"done {number}")]
            with recording() as recorder:
                await Agent(saying(*turns), tools=[look]).run(f"go {number}")
            return recorder.trace

        async def play() -> list[Trace]:
            return await asyncio.gather(*(one(number) for number in range(3)))

        for number, trace in enumerate(asyncio.run(play())):
            assert told(trace)[-2:] == [
                ("c1", "look", {"n": number}, number + 1),
                ("assistant", f"done {number}"),
            ]


class TestTrouble:
    @pytest.mark.parametrize(
        ("module", "name", "kind"),
        [
            ("reading", "request", "model call"),
            ("reading", "reply", "reply"),
            ("reading", "ending", "conversation"),
            ("tools", "_outcome", "outcome"),
        ],
    )
    def test_a_fault_of_ours_is_counted_and_the_agent_untouched(
        self, installed: Any, monkeypatch: pytest.MonkeyPatch, module: str, name: str, kind: str
    ) -> None:
        from pydantic_ai import Agent

        def broken(*_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("a fault of ours")

        ours = importlib.import_module(f"{installed.__name__}.{module}")
        monkeypatch.setattr(ours, name, broken)
        agent: Any = Agent(saying([call("look", "c1", n=1)], [text("done")]), tools=[look])
        with td.TraceRecorder() as recorder:
            assert agent.run_sync("go").output == "done"
        faults = dict(recorder.close().faults)
        assert [found for found in faults if found.startswith(kind)], faults

    @pytest.mark.parametrize("name", ["_name", "_asked"])
    def test_a_fault_in_looking_reaches_nobody(
        self, installed: Any, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        from pydantic_ai import Agent

        def broken(*_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("a fault of ours")

        ours = importlib.import_module(
            f"{installed.__name__}.{'agents' if name == '_name' else 'tools'}"
        )
        monkeypatch.setattr(ours, name, broken)
        agent: Any = Agent(saying([call("look", "c1", n=1)], [text("done")]), tools=[look])
        with td.TraceRecorder() as recorder:
            assert agent.run_sync("go").output == "done"
        assert told(recorder.trace)[-1] == ("assistant", "done")

    def test_a_version_that_is_not_tested_is_warned_of_once(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        monkeypatch.setattr(metadata, "version", lambda _: "0.9.1")
        monkeypatch.setattr(td_pydantic_ai._INTEGRATION, "_has_warned", False)
        for _ in range(2):
            td_pydantic_ai.install()
            td_pydantic_ai.uninstall()
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "pydantic-ai-slim 0.9.1 is outside the tested versions" in caplog.text

    def test_without_the_framework_one_line_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        from tracedance_sdk.errors import MissingDependency

        monkeypatch.setitem(sys.modules, "pydantic_ai", None)
        with pytest.raises(MissingDependency) as caught:
            td_pydantic_ai.install()
        assert "tracedance-sdk[pydantic-ai]" in str(caught.value)
        assert "\n" not in str(caught.value)

    @cell("uninstall")
    def test_a_class_that_is_defined_meanwhile_is_let_go_too(self) -> None:
        from pydantic_ai.models.wrapper import WrapperModel
        from tracedance_integrations import pydantic_ai as td_pydantic_ai

        async def request(*_: Any) -> None:
            """Stand for a method."""

        td_pydantic_ai.install()
        made = type("Made", (WrapperModel,), {"request": request})
        wrapped: Callable[..., Any] = vars(made)["request"]
        td_pydantic_ai.uninstall()
        assert wrapped is not request
        assert vars(made)["request"] is request
        assert vars(type("Later", (WrapperModel,), {"request": request}))["request"] is request


class Recorded:
    """Answers calls from a trace."""

    def __init__(self, trace: Trace) -> None:
        self._results = {(c.name, str(c.arguments)): c.result for c in trace.actions}

    def answer(self, asked: AskedCall, /) -> GivenAnswer:
        """Return the recorded answer to an equal call."""
        result = self._results[asked.name, str(asked.arguments)]
        assert result is not None
        return GivenAnswer(result, {"stamp": "same"})


def city() -> Any:
    from pydantic import BaseModel

    class City(BaseModel):
        name: str
        size: int

    return City


SERVER = '''
try:
    from mcp.server.fastmcp import FastMCP
except ImportError:
    from mcp.server import MCPServer as FastMCP

server = FastMCP("desk")

@server.tool()
def find(name: str) -> str:
    """Return an address."""
    if name == "nobody":
        raise ValueError("there is nobody of that name")
    return f"{name}@example.com"

server.run()
'''


def mcp_server(script: Path) -> Any:
    try:
        from pydantic_ai.mcp import MCPServerStdio
    except ImportError:
        from pydantic_ai.mcp import MCPToolset

        transports = importlib.import_module("fastmcp.client.transports")
        transport = transports.StdioTransport(sys.executable, [str(script)])
        return MCPToolset(transport, init_timeout=60)
    return MCPServerStdio(sys.executable, [str(script)], timeout=60)
