"""LiteLLM, a client of models: by OpenInference's instrumentation and by its own callback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.trace import Span

import tracedance_sdk as td
from tests.frameworks.spans_a.cancelling import cancelled
from tests.frameworks.spans_b import story
from tests.support.scripted_models import Answer

pytestmark = [
    pytest.mark.needs("litellm"),
    pytest.mark.needs("openinference.instrumentation.litellm"),
    pytest.mark.filterwarnings("ignore"),
]

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "look_up_weather",
            "description": "Tell the weather in a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    },
    {"type": "function", "function": {"name": "book_train", "description": "Book a train."}},
]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "look_up_weather": story.look_up_weather,
    "book_train": story.book_train,
}
FAILED = f"RuntimeError: {story.NO_SEATS}"


def litellm(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("litellm", capability, package="litellm")


@contextmanager
def instrumented(collector: td.SpanCollector) -> Iterator[None]:
    from openinference.instrumentation.litellm import LiteLLMInstrumentor

    LiteLLMInstrumentor().instrument(tracer_provider=collector.provider)
    try:
        yield
    finally:
        LiteLLMInstrumentor().uninstrument()


@contextmanager
def run_span(collector: td.SpanCollector) -> Iterator[Span]:
    """Hold the calls of one run together, as a span of the program's own does."""
    tracer = collector.provider.get_tracer("desk")
    with tracer.start_as_current_span("desk") as span:
        yield span


def request(url: str, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    given = {"api_base": f"{url}/v1", "api_key": "fake", "num_retries": 0, "max_retries": 0}
    return {
        "model": f"openai/{story.MODEL}",
        "messages": list(messages),
        "tools": TOOLS,
        **given,
        **options,
    }


def opening(question: str = story.USER) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": story.SYSTEM},
        {"role": "user", "content": question},
    ]


def act(messages: list[dict[str, Any]], reply: Any) -> bool:
    """Take a reply and do what it asks for; return whether it asked for something."""
    message = reply.choices[0].message
    said: dict[str, Any] = {"role": "assistant", "content": message.content}
    calls = message.tool_calls or []
    if calls:
        said["tool_calls"] = [call.model_dump() for call in calls]
    messages.append(said)
    for call in calls:
        try:
            brought = json.dumps(
                FUNCTIONS[call.function.name](**json.loads(call.function.arguments))
            )
        except RuntimeError as error:
            brought = f"{type(error).__name__}: {error}"
        messages.append({"role": "tool", "tool_call_id": call.id, "content": brought})
    return bool(calls)


def loop(url: str, question: str = story.USER, **options: Any) -> str:
    """Play an agent: ask the model and do what it says, until it asks for nothing."""
    from litellm import completion, stream_chunk_builder

    messages = opening(question)
    while True:
        reply = completion(**request(url, messages, **options))
        if options.get("stream"):
            reply = stream_chunk_builder(list(reply))
        if not act(messages, reply):
            return str(messages[-1]["content"])


def expected(model: str, finished: tuple[str, str] = ("tool_calls", "stop")) -> list[Any]:
    """Return what is told: no span is a tool's, so no call is known to have failed."""
    lines = story.whole_story(
        model=model,
        reasons=finished,
        brought=(json.dumps(story.WEATHER), json.dumps(story.BOOKED)),
        failed=(FAILED, ("", "")),
    )
    return [(*line[:3], None, line[4]) if line[0].startswith("call") else line for line in lines]


EXPECTED = expected(f"openai/{story.MODEL}")
EXPECTED[4] = (*EXPECTED[4][:4], FAILED)


@litellm("sync")
@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=litellm("streaming"))])
def test_calls_of_one_run_are_one_conversation(stream: bool, collector: td.SpanCollector) -> None:
    more: dict[str, Any] = (
        {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    )
    with story.playing(story.STORY) as models, instrumented(collector), run_span(collector):
        assert loop(models.url, **more) == story.FINAL
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED
    assert trace.system_prompt == story.SYSTEM
    weather, book = trace.tools
    assert (weather.description, weather.parameters) == (
        "Tell the weather in a city.",
        TOOLS[0]["function"]["parameters"],
    )
    assert book.name == "book_train"
    assert "result_recovered" in story.notes(trace)


@litellm("async")
def test_asynchronous_calls_are_the_same(collector: td.SpanCollector) -> None:
    import litellm as client

    async def run(url: str) -> None:
        messages = opening()
        while act(messages, await client.acompletion(**request(url, messages))):
            pass

    with story.playing(story.STORY) as models, instrumented(collector), run_span(collector):
        asyncio.run(run(models.url))
    [trace] = collector.traces
    assert story.told(trace) == EXPECTED


@litellm("parallel calls")
def test_calls_of_one_turn_keep_their_results(collector: td.SpanCollector) -> None:
    with story.playing(story.BOTH) as models, instrumented(collector), run_span(collector):
        loop(models.url)
    [trace] = collector.traces
    weather = json.dumps(story.WEATHER)
    assert story.told(trace)[2:4] == [
        ("call_w1", "look_up_weather", {"city": "Rome"}, None, weather),
        ("call_w2", "look_up_weather", {"city": "Paris"}, None, weather),
    ]


@litellm("model error")
def test_a_model_that_fails_is_an_error_of_its_turn(collector: td.SpanCollector) -> None:
    broken = pytest.raises(Exception, match="too long")
    with (
        story.playing(story.BROKEN) as models,
        instrumented(collector),
        broken,
        run_span(collector),
    ):
        loop(models.url)
    [trace] = collector.traces
    assert [call.id for call in trace.calls] == ["call_w1"]
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])


def test_a_call_of_no_run_is_a_trace_of_its_own(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, instrumented(collector):
        loop(models.url)
    first, *_, last = collector.traces
    assert len(collector.traces) == len(story.STORY)
    # Each request repeats what came before it.
    assert (len(first.turns), len(last.turns)) == (2, 5)
    assert last.turns[-1].text == story.FINAL


@litellm("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(story.STORY) as models, instrumented(collector), run_span(collector):
        loop(models.url, f"{story.USER} My key is {story.SECRET}.")
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert trace.turns[0].text.startswith(story.USER)


@litellm("beside others")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_call_that_the_client_tells_of_too_is_one_turn(
    is_first: bool, collector: td.SpanCollector
) -> None:
    from openinference.instrumentation.litellm import LiteLLMInstrumentor
    from openinference.instrumentation.openai import OpenAIInstrumentor

    both = [OpenAIInstrumentor(), LiteLLMInstrumentor()]
    for one in both if is_first else reversed(both):
        one.instrument(tracer_provider=collector.provider)
    try:
        with story.playing(story.STORY) as models, run_span(collector):
            loop(models.url)
    finally:
        for one in both:
            one.uninstrument()
    [trace] = collector.traces
    assert [line[:2] for line in story.told(trace)] == [line[:2] for line in EXPECTED]


@litellm("cancellation")
def test_a_call_that_is_cancelled_has_ended(collector: td.SpanCollector) -> None:
    import litellm as client

    async def run(url: str) -> None:
        messages = opening()
        while act(messages, await client.acompletion(**request(url, messages))):
            pass

    slow = (story.STORY[0], Answer(story.STORY[1], delay_s=4))
    with story.playing(slow) as models, instrumented(collector), run_span(collector):
        asyncio.run(cancelled(run(models.url), models))
    [trace] = collector.traces
    assert [call.id for call in trace.calls] == ["call_w1"]
    assert trace.turns[-1].text == ""


@litellm("uninstall")
def test_without_the_instrumentation_there_is_no_span(collector: td.SpanCollector) -> None:
    with instrumented(collector):
        pass
    with story.playing(story.STORY) as models:
        assert loop(models.url) == story.FINAL
    assert collector.summary().spans == 0


@contextmanager
def own_callback(collector: td.SpanCollector) -> Iterator[None]:
    """Let LiteLLM's own callback write spans."""
    import litellm as client
    from litellm.integrations.opentelemetry import OpenTelemetry, OpenTelemetryConfig

    before = list(client.callbacks)
    callback = OpenTelemetry(
        OpenTelemetryConfig(exporter="in_memory"), tracer_provider=collector.provider
    )
    client.callbacks = [callback]
    try:
        yield
    finally:
        client.callbacks = before
        for name in ("success_callback", "failure_callback", "_async_success_callback"):
            setattr(client, name, [c for c in getattr(client, name) if c is not callback])


@pytest.mark.parametrize(("convention", "spans"), [("", 8), ("gen_ai_latest_experimental", 4)])
def test_a_run_is_read_from_the_spans_of_its_own_callback(
    convention: str, spans: int, collector: td.SpanCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", convention)
    # Without it, all calls of a run overwrite each other in the attributes of the span around them.
    monkeypatch.setenv("USE_OTEL_LITELLM_REQUEST_SPAN", "true")
    with story.playing(story.STORY) as models, own_callback(collector), run_span(collector):
        loop(models.url)
        # Its spans are written by a thread of its own, some time after the answer.
        deadline = time.monotonic() + 20
        while collector.summary().spans < spans and time.monotonic() < deadline:
            time.sleep(0.01)
    [trace] = collector.traces
    lines = expected(story.ANSWERING)
    lines[4] = (*lines[4][:4], FAILED)
    assert story.told(trace) == lines
    assert trace.system_prompt == story.SYSTEM
    assert [tool.name for tool in trace.tools] == ["look_up_weather", "book_train"]
