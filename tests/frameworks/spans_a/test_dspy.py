"""DSPy, by OpenInference's instrumentation. Its agents ask for tools in the text of an answer."""

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
    pytest.mark.needs("dspy"),
    pytest.mark.needs("openinference.instrumentation.dspy"),
    pytest.mark.filterwarnings("ignore"),
]


def dspy(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("dspy", capability, package="dspy")


@contextmanager
def instrumented(collector: td.SpanCollector) -> Iterator[None]:
    from openinference.instrumentation.dspy import DSPyInstrumentor

    DSPyInstrumentor().instrument(tracer_provider=collector.provider)
    try:
        yield
    finally:
        DSPyInstrumentor().uninstrument()


def fields(**named: str) -> str:
    """Return an answer in the framework's own notation."""
    told = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in named.items())
    return f"{told}\n\n[[ ## completed ## ]]"


def asking(thought: str, tool: str, arguments: str) -> str:
    return fields(next_thought=thought, next_tool_name=tool, next_tool_args=arguments)


ASKED = (
    asking("First the weather.", "look_up_weather", '{"city": "Rome"}'),
    asking("Today.", "book_train", '{"to": "Rome", "day": "today"}'),
    asking("Tomorrow.", "book_train", '{"to": "Rome", "day": "tomorrow"}'),
    asking("Done.", "finish", "{}"),
    fields(reasoning="Because.", answer=story.FINAL),
)
SCRIPT = tuple(story.reply(text, tokens=(101 + n, 11 + n)) for n, text in enumerate(ASKED))
CALLS = [
    ("look_up_weather", {"city": "Rome"}, True, story.WEATHER),
    (
        "book_train",
        {"to": "Rome", "day": "today"},
        False,
        (td.UNKNOWN, ("RuntimeError", story.NO_SEATS)),
    ),
    ("book_train", {"to": "Rome", "day": "tomorrow"}, True, story.BOOKED),
    ("finish", {}, True, "Completed."),
]


def booker(tools: tuple[Any, ...] = (story.look_up_weather, story.book_train)) -> Any:
    import dspy as framework

    signature = framework.Signature("question -> answer", story.SYSTEM)
    return framework.ReAct(signature, tools=list(tools))


def lm(url: str) -> Any:
    import dspy as framework

    where = {"api_base": f"{url}/v1", "api_key": "fake", "num_retries": 0}
    return framework.LM(f"openai/{story.MODEL}", cache=False, **where)


def ask(url: str, program: Any, question: str = story.USER) -> str:
    import dspy as framework

    with framework.context(lm=lm(url)):
        return str(program(question=question).answer)


def told_by_turns(trace: td.Trace) -> tuple[list[tuple[str, str]], list[str], list[Any]]:
    """Return who speaks, what the model said, and the calls."""
    said = [turn.text for turn in trace.turns if turn.role == "assistant"]
    calls = [line[1:] for line in story.told(trace) if line[0].startswith("call_")]
    return [(turn.role, turn.origin) for turn in trace.turns], said, calls


def check_whole(trace: td.Trace) -> None:
    speakers, said, calls = told_by_turns(trace)
    prompted = ("user", "human")
    agent = ("assistant", "agent")
    # Each step is asked for anew, with all before it in one prompt; the last by another prompt.
    assert speakers == [*[prompted, agent] * 4, ("system", "harness"), prompted, agent]
    assert said == list(ASKED)
    assert calls == CALLS
    assert [len(turn.calls) for turn in trace.turns if turn.role == "assistant"] == [1] * 4 + [0]
    # The requests are words: each call is known by its span alone.
    assert {call.bound_by for call in trace.calls} == {"synthetic"}


@dspy("sync")
@dspy("tool error")
def test_a_run_is_read_whole(collector: td.SpanCollector) -> None:
    with story.playing(SCRIPT) as models, instrumented(collector):
        assert ask(models.url, booker()) == story.FINAL
    [trace] = collector.traces
    check_whole(trace)
    assert trace.agent.name == "ReAct"
    assert trace.system_prompt is not None
    assert story.SYSTEM in trace.system_prompt
    assert story.USER in trace.turns[0].text
    assert trace.outcome is not None
    assert trace.outcome.ended
    assert {turn.model for turn in trace.turns if turn.role == "assistant"} == {story.MODEL}


@dspy("async")
def test_an_asynchronous_run_is_the_same(collector: td.SpanCollector) -> None:
    import dspy as framework

    async def run(url: str) -> str:
        with framework.context(lm=lm(url)):
            return str((await booker().acall(question=story.USER)).answer)

    with story.playing(SCRIPT) as models, instrumented(collector):
        assert asyncio.run(run(models.url)) == story.FINAL
    [trace] = collector.traces
    check_whole(trace)


@dspy("streaming")
def test_a_streamed_run_is_the_same(collector: td.SpanCollector) -> None:
    import dspy as framework
    from dspy.streaming import StreamListener

    async def run(url: str) -> list[Any]:
        listener = StreamListener(signature_field_name="answer")
        streamed = framework.streamify(booker(), stream_listeners=[listener])
        with framework.context(lm=lm(url)):
            return [part async for part in streamed(question=story.USER)]

    with story.playing(SCRIPT) as models, instrumented(collector):
        *pieces, last = asyncio.run(run(models.url))
    chunks = [piece.chunk for piece in pieces if hasattr(piece, "chunk")]
    assert "".join(chunks) == story.FINAL
    assert last.answer == story.FINAL
    # Only the step whose field is listened to is streamed.
    assert [bool(request.body.get("stream")) for request in models.requests] == [False] * 4 + [True]
    [trace] = collector.traces
    check_whole(trace)


@dspy("model error")
def test_a_model_that_fails_is_an_error_of_its_turn_and_of_the_run(
    collector: td.SpanCollector,
) -> None:
    script = (SCRIPT[0], story.BROKEN[1])
    broken = pytest.raises(Exception, match="too long")
    with story.playing(script) as models, instrumented(collector), broken:
        ask(models.url, booker())
    [trace] = collector.traces
    assert trace.outcome is not None
    assert trace.outcome.ended is False
    assert [call.name for call in trace.calls] == ["look_up_weather"]
    assert "too long" in str((trace.turns[-1].model_extra or {})["error"])


def test_a_run_that_is_cancelled_has_what_it_did_and_says_so(
    collector: td.SpanCollector,
) -> None:
    import dspy as framework

    async def run(url: str) -> None:
        with framework.context(lm=lm(url)):
            await booker().acall(question=story.USER)

    slow = (SCRIPT[0], Answer(SCRIPT[1], delay_s=3))
    with story.playing(slow) as models, instrumented(collector):
        asyncio.run(cancelled(run(models.url), models))
    [trace] = collector.traces
    assert [call.name for call in trace.calls] == ["look_up_weather"]
    assert trace.outcome is not None
    assert trace.outcome.error is not None
    # The instrumentation ends its spans as if nothing had happened.
    assert trace.outcome.error.type == "asyncio.exceptions.CancelledError"
    assert not trace.outcome.ended


@dspy("nested agents")
def test_an_agent_inside_a_tool_has_a_trace_of_its_own(collector: td.SpanCollector) -> None:
    teller = booker((story.look_up_weather,))

    def ask_teller(task: str) -> str:
        """Ask the teller."""
        return str(teller(question=task).answer)

    script = (
        asking("Ask.", "ask_teller", f'{{"task": "{story.TASK}"}}'),
        asking("Look.", "look_up_weather", '{"city": "Rome"}'),
        asking("Done.", "finish", "{}"),
        fields(reasoning="I looked.", answer=story.TOLD),
        asking("Done.", "finish", "{}"),
        fields(reasoning="I asked.", answer="Rome is clear."),
    )
    replies = [story.reply(text, tokens=(1, 1)) for text in script]
    with story.playing(replies) as models, instrumented(collector):
        assert ask(models.url, booker((ask_teller,)), story.QUESTION) == "Rome is clear."
    guide_trace, teller_trace = collector.traces
    assert told_by_turns(guide_trace)[1:] == (
        [script[0], *script[4:]],
        [("ask_teller", {"task": story.TASK}, True, story.TOLD), CALLS[3]],
    )
    assert told_by_turns(teller_trace)[1:] == (list(script[1:4]), [CALLS[0], CALLS[3]])
    assert teller_trace.parent is not None
    assert teller_trace.parent.trace_id == guide_trace.id
    assert teller_trace.parent.call_id == guide_trace.calls[0].id


@dspy("masking")
def test_a_secret_stands_nowhere_in_the_trace(collector: td.SpanCollector) -> None:
    with story.playing(SCRIPT) as models, instrumented(collector):
        ask(models.url, booker(), f"{story.USER} My key is {story.SECRET}.")
    [trace] = collector.traces
    assert story.SECRET not in trace.model_dump_json()
    assert story.USER in trace.turns[0].text


@dspy("uninstall")
def test_without_the_instrumentation_there_is_no_span(collector: td.SpanCollector) -> None:
    with instrumented(collector):
        pass
    with story.playing(SCRIPT) as models:
        assert ask(models.url, booker()) == story.FINAL
    assert collector.summary().spans == 0


def test_what_the_spans_do_not_carry(collector: td.SpanCollector) -> None:
    """Tokens, why a turn ended, the tools' definitions (they are told in the system prompt)."""
    with story.playing(SCRIPT) as models, instrumented(collector):
        ask(models.url, booker())
    [trace] = collector.traces
    turns = [turn for turn in trace.turns if turn.role == "assistant"]
    assert {(turn.usage, turn.finish_reason) for turn in turns} == {(None, None)}
    assert (trace.tools, trace.session_id) == ((), None)
    assert "look_up_weather, whose description is" in (trace.system_prompt or "")
    assert story.notes(trace) == {"boundary_guessed", "tools_missing"}
