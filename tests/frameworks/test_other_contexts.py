"""What is driven in one context and closed in another ends as quietly as without an integration."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.recording.guard import GUARD

cell = pytest.mark.cell
needs = pytest.mark.needs
NOTHING_ELSE = {"previous_response_id": None, "conversation_id": None, "prompt": None}


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GUARD, "raises", True)


class Pause:
    """Whoever awaits it waits until somebody goes on with the coroutine by hand."""

    def __await__(self) -> Generator[Any, Any, None]:
        yield self


def started_elsewhere(step: Any) -> Any:
    """Return a step that is on its way, in a context which is not the one here."""
    contextvars.copy_context().run(step.send, None)
    return step


def was_left(recorder: td.TraceRecorder) -> bool:
    """Whether the last turn is one that nobody waited for the end of."""
    return recorder.trace.turns[-1].interrupted


@pytest.fixture
def agents() -> Iterator[Any]:
    import agents
    from tracedance_integrations import openai_agents

    openai_agents.install()
    yield agents
    openai_agents.uninstall()


class Events:
    """Events of a model that is not written as a generator."""

    def __init__(self) -> None:
        self.left = 2
        self.is_closed = False

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Any:
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return delta("word ")

    async def aclose(self) -> None:
        self.is_closed = True


def delta(words: str) -> Any:
    from openai.types.responses import ResponseTextDeltaEvent

    return ResponseTextDeltaEvent(
        type="response.output_text.delta",
        delta=words,
        content_index=0,
        item_id="msg_1",
        logprobs=[],
        output_index=0,
        sequence_number=1,
    )


def model_of(agents: Any, events: Any = None) -> Any:
    class Slow(agents.Model):  # type: ignore[misc]  # untyped where it is not installed
        async def get_response(self, *_: Any, **__: Any) -> Any:
            await Pause()

        async def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            yield delta("word ")
            await Pause()

    class Iterating(Slow):
        def stream_response(self, *_: Any, **__: Any) -> Any:
            return events

    return Slow() if events is None else Iterating()


def asked(agents: Any, method: Any) -> Any:
    return method("S", "hi", agents.ModelSettings(), [], None, [], None, **NOTHING_ELSE)


@needs("agents")
def test_a_request_of_the_agents_sdk_is_closed_elsewhere(agents: Any) -> None:
    with td.TraceRecorder() as recorder:
        started_elsewhere(asked(agents, model_of(agents).get_response)).close()
    assert was_left(recorder)
    assert recorder.trace.turns[-1].role == "assistant"


@needs("agents")
@cell("openai-agents", "streaming")
def test_a_stream_of_the_agents_sdk_is_closed_elsewhere(agents: Any) -> None:
    with td.TraceRecorder() as recorder:
        stream = asked(agents, model_of(agents).stream_response)
        with pytest.raises(StopIteration):
            stream.__anext__().send(None)
        step = started_elsewhere(stream.__anext__())
        with pytest.raises(GeneratorExit):
            step.throw(GeneratorExit())
    assert was_left(recorder)
    assert recorder.trace.turns[-1].text == "word "


@needs("agents")
def test_a_run_of_the_agents_sdk_is_closed_elsewhere(agents: Any) -> None:
    from tracedance_integrations.openai_agents import runs

    async def body() -> None:
        await Pause()

    agent = agents.Agent(name="clerk", instructions="S")
    with td.TraceRecorder():
        around = runs.run(lambda *_, **__: body(), None, (agent, "hi"), {})
        started_elsewhere(around).close()


@needs("agents")
def test_a_tool_of_the_agents_sdk_is_closed_elsewhere(agents: Any) -> None:
    from tracedance_integrations.openai_agents import tools

    @agents.function_tool  # type: ignore[untyped-decorator]  # where it is not installed
    async def look() -> None: ...

    async def body(**_: Any) -> None:
        await Pause()

    given = {"function_tool": look, "context": None, "arguments": "{}"}
    with td.TraceRecorder() as recorder:
        started_elsewhere(tools.invoke(body, None, (), given)).close()
    assert [call.name for call in recorder.trace.calls] == ["look"]


@needs("agents")
@cell("openai-agents", "streaming")
def test_a_stream_that_is_a_generator_stays_one(agents: Any) -> None:
    async def read() -> list[str]:
        stream = asked(agents, model_of(agents).stream_response)
        assert inspect.isasyncgen(stream)
        event: Any = await anext(stream)
        await stream.aclose()
        return [event.delta]

    with td.TraceRecorder() as recorder:
        assert asyncio.run(read()) == ["word "]
    assert was_left(recorder)


@needs("agents")
@pytest.mark.parametrize("is_read", [True, False])
def test_a_stream_that_is_no_generator_is_recorded_too(agents: Any, is_read: bool) -> None:
    events = Events()

    async def read() -> list[str]:
        stream = asked(agents, model_of(agents, events).stream_response)
        assert not inspect.isasyncgen(stream)
        assert stream.left == 2
        if is_read:
            return [event.delta async for event in stream]
        event: Any = await anext(stream)
        await stream.aclose()
        return [event.delta]

    with td.TraceRecorder() as recorder:
        assert asyncio.run(read()) == ["word "] * (2 if is_read else 1)
    assert was_left(recorder) != is_read
    assert events.is_closed != is_read


@needs("langchain_core")
@pytest.mark.installs("langchain")
def test_a_tool_of_langchain_is_closed_elsewhere() -> None:
    from langchain_core.tools import tool

    @tool  # type: ignore[untyped-decorator]  # where it is not installed
    async def look(number: int) -> int:
        """Look."""
        await asyncio.sleep(30)
        return number

    async def begin_and_close() -> None:
        step = started_elsewhere(look.arun({"number": 3}))
        await asyncio.sleep(0)
        step.close()

    with td.TraceRecorder() as recorder:
        asyncio.run(begin_and_close())
    assert [call.name for call in recorder.trace.calls] == ["look"]


@needs("pydantic_ai")
@pytest.mark.installs("pydantic_ai")
def test_a_request_of_pydantic_ai_is_closed_elsewhere() -> None:
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.function import FunctionModel

    async def say(*_: Any) -> Any:
        await Pause()

    with td.TraceRecorder() as recorder:
        asks = FunctionModel(say).request(
            [ModelRequest.user_text_prompt("hi")], None, ModelRequestParameters()
        )
        started_elsewhere(asks).close()
    assert was_left(recorder)
