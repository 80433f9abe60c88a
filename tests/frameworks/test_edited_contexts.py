"""Programs that edit what they send again: each call is on record once, with its own answer."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.served_bodies import http_of

cell = pytest.mark.cell
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def client_of(provider: str, answer: Answer, *, is_async: bool = False) -> Any:
    """Return a real client whose requests a function answers, without a network."""
    http = http_of(provider)

    def respond(request: Any) -> Any:
        return http.Response(200, json=answer(json.loads(request.content)))

    async def respond_later(request: Any) -> Any:
        await asyncio.sleep(0)
        return respond(request)

    carrier = http.AsyncClient if is_async else http.Client
    transport = http.MockTransport(respond_later if is_async else respond)
    name = {"openai": "OpenAI", "anthropic": "Anthropic"}[provider]
    make = getattr(importlib.import_module(provider), f"Async{name}" if is_async else name)
    given = {"http_client": carrier(transport=transport), "max_retries": 0}
    return make(api_key="fake", base_url="http://127.0.0.1/v1", **given)


def chat(text: str | None, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    asked = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": "look", "arguments": json.dumps(given)},
        }
        for call_id, given in calls
    ]
    said = {"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})}
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return {
        "id": "r",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }


def in_order(*bodies: dict[str, Any]) -> Answer:
    rest = iter(bodies)
    return lambda _: next(rest)


def marks(trace: td.Trace) -> list[bool]:
    return [turn.context_rewritten for turn in trace.turns if turn.role == "assistant"]


@pytest.fixture
def openai() -> Iterator[Any]:
    integration = importlib.import_module("tracedance_integrations.openai")
    integration.install()
    yield integration
    integration.uninstall()


@pytest.fixture
def anthropic() -> Iterator[Any]:
    integration = importlib.import_module("tracedance_integrations.anthropic")
    integration.install()
    yield integration
    integration.uninstall()


@pytest.mark.needs("openai")
@cell("openai", "sync")
@pytest.mark.parametrize("edited", ["first", "last"])
@pytest.mark.usefixtures("openai")
def test_a_loop_that_edits_a_message_makes_each_call_once(edited: str) -> None:
    replies = [chat(None, ("c1", {"n": 1})), chat(None, ("c2", {"n": 2})), chat("Done.")]
    client = client_of("openai", in_order(*replies))
    history: list[Any] = [{"role": "user", "content": "Look."}]
    with td.TraceRecorder() as recorder:
        for step in range(3):
            sent = [dict(message) for message in history]
            sent[0 if edited == "first" else -1]["content"] += f" It is {step} o'clock."
            said = client.chat.completions.create(model="m", messages=sent).choices[0].message
            history.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls or ():
                history.append({"role": "tool", "tool_call_id": call.id, "content": "seen"})
    trace = recorder.trace
    assert [call.id for call in trace.calls] == ["c1", "c2"]
    assert trace.calls == trace.actions
    assert all(call.result is not None for call in trace.calls)
    assert marks(trace) == [False, True, True]
    assert not recorder.close().faults


@pytest.mark.needs("openai")
@cell("openai", "sync")
@pytest.mark.usefixtures("openai")
def test_thoughts_that_are_not_sent_again_make_no_second_turn() -> None:
    replies = [chat("<think>Hm.</think>I look.", ("c1", {"n": 1})), chat("Done.")]
    client = client_of("openai", in_order(*replies))
    history: list[Any] = [{"role": "user", "content": "Look."}]
    with td.TraceRecorder() as recorder:
        said = client.chat.completions.create(model="m", messages=history).choices[0].message
        kept = {**said.model_dump(exclude_none=True), "content": "I look."}
        history += [kept, {"role": "tool", "tool_call_id": "c1", "content": "seen"}]
        client.chat.completions.create(model="m", messages=history)
    texts = [turn.text for turn in recorder.trace.turns]
    assert texts == ["Look.", "<think>Hm.</think>I look.", "Done."]
    assert marks(recorder.trace) == [False, True]


@pytest.mark.needs("openai")
@cell("openai", "async")
@pytest.mark.usefixtures("openai")
def test_loops_at_once_keep_their_calls_apart() -> None:
    @td.tool
    async def look(who: str, n: int) -> str:
        await asyncio.sleep(0)
        return f"{who}{n}"

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        who = body["messages"][0]["content"]
        n = sum(message["role"] == "assistant" for message in body["messages"])
        return chat("Done.") if n == 3 else chat(None, (f"{who}{n}", {"who": who, "n": n}))

    async def loop(client: Any, who: str) -> None:
        history: list[Any] = [{"role": "user", "content": who}]
        while True:
            reply = await client.chat.completions.create(model="m", messages=history)
            said = reply.choices[0].message
            history.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return
            for call in said.tool_calls:
                told = await look(**json.loads(call.function.arguments))
                history.append({"role": "tool", "tool_call_id": call.id, "content": told})

    async def play() -> None:
        client = client_of("openai", answer, is_async=True)
        await asyncio.gather(*(loop(client, who) for who in "abc"))

    with td.TraceRecorder() as recorder:
        asyncio.run(play())
    found = [
        (call.id, call.arguments, call.bound_by, call.result and call.result.content)
        for call in recorder.trace.calls
    ]
    assert sorted(found, key=str) == [
        (f"{who}{n}", {"who": who, "n": n}, "key", f"{who}{n}") for who in "abc" for n in range(3)
    ]


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


@pytest.mark.needs("anthropic")
@cell("anthropic", "sync")
@pytest.mark.usefixtures("anthropic")
@pytest.mark.parametrize("reminds", [False, True], ids=["marks of a cache", "a reminder"])
def test_what_moves_on_with_the_last_message_is_not_told_again(reminds: bool) -> None:
    asked = [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"n": n}} for n in (1, 2)]
    said = in_order(*(message(call) for call in asked), message({"type": "text", "text": "Done."}))
    client = client_of("anthropic", said)
    image = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    mark = {"cache_control": {"type": "ephemeral"}}
    history: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
    ]
    history[0]["content"].append({"type": "image", "source": image})
    with td.TraceRecorder() as recorder:
        for _ in range(3):
            sent = json.loads(json.dumps(history))
            last = sent[-1]["content"]
            last[-1].update(mark)
            if last[-1]["type"] == "tool_result":
                last[-1]["content"][-1].update(mark)
            if reminds:
                last.append({"type": "text", "text": "Mind the rules."})
            reply = client.messages.create(model="m", max_tokens=9, messages=sent)
            history.append(
                {"role": "assistant", "content": [b.model_dump() for b in reply.content]}
            )
            seen = [{"type": "text", "text": "seen"}]
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": seen}
                for block in reply.content
                if block.type == "tool_use"
            ]
            if results:
                history.append({"role": "user", "content": results})
    trace = recorder.trace
    assert [call.id for call in trace.actions] == ["c1", "c2"]
    assert all(call.result is not None for call in trace.actions)
    assert marks(trace) == [False, reminds, reminds]
    texts = [turn.text for turn in trace.turns if turn.role == "user"]
    if reminds:
        assert texts == ["Look.\nMind the rules.", "Mind the rules.", "Mind the rules."]
    else:
        assert texts == ["Look."]


@pytest.mark.needs("langchain")
@cell("langchain", "nested agents")
def test_all_messages_that_a_tool_gives_its_agent_are_the_callers() -> None:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from tracedance_integrations import langchain

    replies = in_order(
        chat(None, ("c1", {"question": "The time?"})), chat("Noon."), chat("It is noon.")
    )
    given = client_of("openai", replies)
    model = ChatOpenAI(
        model="m", api_key="fake", base_url="http://127.0.0.1/v1", http_client=given._client
    )
    helper = create_agent(model, [], name="helper")

    @tool  # type: ignore[untyped-decorator]
    def look(question: str) -> str:
        """Ask the helper."""
        asked = [("user", "You get a question."), ("user", question)]
        return str(helper.invoke({"messages": asked})["messages"][-1].content)

    langchain.install()
    try:
        with td.TraceRecorder() as recorder:
            create_agent(model, [look], name="clerk").invoke({"messages": [("user", "Hi.")]})
    finally:
        langchain.uninstall()
    clerk, inner = recorder.traces
    assert [turn.origin for turn in clerk.turns] == ["human", "agent", "agent"]
    assert [(turn.text, turn.origin) for turn in inner.turns] == [
        ("You get a question.", "agent"),
        ("The time?", "agent"),
        ("Noon.", "agent"),
    ]
