"""Runs of Pydantic AI: streamed, iterated, gone on with, one in another, several at once."""

import asyncio
from typing import Any

import pytest

from tests.frameworks.pydantic_ai_scripts import (
    call,
    cell,
    look,
    recording,
    saying,
    streaming,
    text,
    told,
)
from tracedance_sdk.trace import Trace

pytestmark = [
    pytest.mark.needs("pydantic_ai"),
    pytest.mark.usefixtures("own_loop"),
    pytest.mark.installs("pydantic_ai"),
]


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
        assert last.interrupted is not bool(came)

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
