"""Agents of OpenAI's SDK that work together: handoffs, agents as tools, guardrails, sessions.

Their models are of a class that is not the SDK's, and say what the test wrote down for them.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.testing import Desk, mail, scripted_models
from tracedance_sdk.trace import ErrorInfo

pytestmark = pytest.mark.needs("agents")
cell = pytest.mark.cell


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """The integration is in the SDK, and the SDK's tracing is off."""
    from agents import set_trace_processors, set_tracing_disabled
    from tracedance_integrations import openai_agents

    set_trace_processors([])
    set_tracing_disabled(True)
    openai_agents.install()
    yield
    openai_agents.uninstall()


def scripted(*steps: Any) -> Any:
    """Return a model that says one step after the other; each is a list of items, or an error."""
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import Response, ResponseCompletedEvent

    class Scripted(Model):  # type: ignore[misc]  # untyped where it is not installed
        def __init__(self) -> None:
            self.model = "ours"
            self.steps = list(steps)

        def next(self) -> list[Any]:
            step = self.steps.pop(0)
            if isinstance(step, Exception):
                raise step
            return list(step)

        async def get_response(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(0)
            usage = Usage(requests=1, input_tokens=3, output_tokens=4, total_tokens=7)
            return ModelResponse(output=self.next(), usage=usage, response_id="resp_1")

        async def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            response = Response.model_construct(
                id="resp_1", object="response", model="ours", output=self.next(), usage=None
            )
            yield ResponseCompletedEvent(
                type="response.completed", sequence_number=1, response=response
            )

    return Scripted()


def tool(function: Callable[..., Any], **options: Any) -> Any:
    from agents import function_tool

    return function_tool(function, **options)


def text(words: str) -> Any:
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    part = ResponseOutputText(type="output_text", text=words, annotations=[])
    return ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed", content=[part]
    )


def call(call_id: str, name: str, /, **arguments: Any) -> Any:
    from openai.types.responses import ResponseFunctionToolCall

    return ResponseFunctionToolCall(
        type="function_call", call_id=call_id, name=name, arguments=json.dumps(arguments)
    )


def agent(name: str, *steps: Any, **given: Any) -> Any:
    from agents import Agent

    return Agent(name=name, instructions=f"You are {name}.", model=scripted(*steps), **given)


def story(trace: td.Trace) -> list[str]:
    """Return the turns of a trace in short: what was only copied stands in brackets."""
    lines = []
    for turn in trace.turns:
        calls = [f"{c.name}={None if c.result is None else c.result.content}" for c in turn.calls]
        line = " ".join([f"{turn.role}:", turn.text, *calls]).strip()
        lines.append(f"({line})" if turn.copied_context else line)
    return lines


def parents(recorder: td.TraceRecorder) -> list[tuple[str, str | None, str | None]]:
    """Return who worked, and by which call of whom it began."""
    names = {trace.id: trace.agent.name for trace in recorder.traces}
    found = []
    for trace in recorder.traces:
        around = None if trace.parent is None else names[trace.parent.trace_id]
        call_id = None if trace.parent is None else trace.parent.call_id
        found.append((trace.agent.name, around, call_id))
    return found


async def play(start: Any, given: Any, *, streamed: bool, **options: Any) -> Any:
    from agents import Runner

    if not streamed:
        return await Runner.run(start, given, **options)
    result = Runner.run_streamed(start, given, **options)
    async for _ in result.stream_events():
        pass
    return result


def quiet(recorder: td.TraceRecorder) -> None:
    summary = recorder.close()
    assert dict(summary.faults) == {}
    assert dict(summary.unattributed) == {}


@cell("openai-agents", "nested agents")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_that_is_handed_over_to_has_a_trace_that_names_the_handoff(streamed: bool) -> None:
    looks: list[str] = []

    @td.tool
    def look(at: str) -> str:
        """Look at something."""
        looks.append(at)
        return f"saw the {at}"

    clerk = agent("clerk", [call("c1", "transfer_to_pilot")], [text("Over and out.")])
    pilot = agent(
        "pilot",
        [text("I see."), call("c2", "look", at="sky")],
        [call("c3", "transfer_to_clerk")],
        tools=[tool(look)],
    )
    clerk.handoffs, pilot.handoffs = [pilot], [clerk]
    with td.TraceRecorder(task_id="fly", session_id="s", group="g") as recorder:
        result = asyncio.run(play(clerk, "Fly.", streamed=streamed))
    quiet(recorder)
    assert result.final_output == "Over and out."
    assert looks == ["sky"]
    assert parents(recorder) == [
        ("clerk", None, None),
        ("pilot", "clerk", "c1"),
        ("clerk", "pilot", "c3"),
    ]
    first, second, third = recorder.traces
    assert first.system_prompt == third.system_prompt == "You are clerk."
    assert second.system_prompt == "You are pilot."
    assert [tool.name for tool in second.tools] == ["look", "transfer_to_clerk"]
    assert [tool.name for tool in first.tools] == ["transfer_to_pilot"]
    to_pilot = 'assistant:  transfer_to_pilot={"assistant": "pilot"}'
    assert story(first) == ["user: Fly.", to_pilot]
    assert story(second) == [
        "user: Fly.",
        f"({to_pilot})",
        "assistant: I see. look=saw the sky",
        'assistant:  transfer_to_clerk={"assistant": "clerk"}',
    ]
    assert story(third)[-1] == "assistant: Over and out."
    assert len(third.turns) == 5
    told = {(trace.task_id, trace.session_id, trace.group) for trace in recorder.traces}
    assert told == {("fly", "s", "g")}


@cell("openai-agents", "nested agents")
def test_what_was_done_after_a_handoff_is_graded_where_the_run_is_graded_as_one() -> None:
    @td.tool
    def refund(order: str) -> str:
        """Give money back."""
        return f"refunded {order}"

    clerk = agent("clerk", [call("c1", "transfer_to_cashier")])
    cashier = agent("cashier", [call("c2", "refund", order="A2")], [text("Refunded.")])
    cashier.tools, clerk.handoffs = [tool(refund)], [cashier]
    with td.TraceRecorder(task_id="refund-a1") as recorder:
        asyncio.run(play(clerk, "Refund A1.", streamed=False))
    quiet(recorder)
    forbidden = [{"type": "critical_errors", "action": "refund", "matches": {"order": "A2"}}]
    apart = td.evaluate(recorder.trace, forbidden)
    assert (apart.verdict, len(apart.notes)) == ("pass", 1)
    assert "the work of a sub-agent" in apart.notes[0]
    whole = td.evaluate(recorder.traces, forbidden)
    assert (whole.verdict, whole.notes) == ("critical", ())
    required = [{"type": "required_actions", "actions": ["transfer_to_cashier", "refund"]}]
    assert td.evaluate(recorder.traces, required).verdict == "pass"
    assert td.evaluate(recorder.traces, [{"type": "budget", "max_actions": 2}]).verdict == "pass"


@cell("openai-agents", "nested agents")
def test_of_several_handoffs_the_first_is_followed_and_the_others_are_refused() -> None:
    from agents import Runner

    pilot, driver = agent("pilot", [text("Up.")]), agent("driver")
    both = [call("c1", "transfer_to_pilot"), call("c2", "transfer_to_driver")]
    clerk = agent("clerk", both, handoffs=[pilot, driver])
    with td.TraceRecorder() as recorder:
        asyncio.run(Runner.run(clerk, "Go."))
    quiet(recorder)
    taken, refused = recorder.trace.turns[-1].calls
    assert taken.result is not None
    assert refused.result is not None
    assert (taken.result.ok, refused.result.ok) == (True, False)
    assert "ignoring this one" in str(refused.result.content)
    assert parents(recorder) == [("clerk", None, None), ("pilot", "clerk", "c1")]


@cell("openai-agents", "nested agents")
def test_an_agent_as_a_tool_works_in_a_trace_of_its_own() -> None:
    from agents import Runner

    helper = agent("archivist", [text("Shelf nine.")])
    clerk = agent(
        "clerk",
        [call("c1", "ask_archive", input="Where?")],
        [text("It is on shelf nine.")],
        tools=[helper.as_tool("ask_archive", "Ask the archive.")],
    )
    with td.TraceRecorder() as recorder:
        asyncio.run(Runner.run(clerk, "Where is it?"))
    quiet(recorder)
    assert parents(recorder) == [("clerk", None, None), ("archivist", "clerk", "c1")]
    assert story(recorder.traces[0])[1] == "assistant:  ask_archive=Shelf nine."
    assert story(recorder.traces[1]) == ["user: Where?", "assistant: Shelf nine."]


@cell("openai-agents", "nested agents")
def test_the_agents_of_guardrails_are_sub_agents_of_the_one_they_guard() -> None:
    from agents import GuardrailFunctionOutput, Runner, input_guardrail, output_guardrail

    bouncer = agent("bouncer", [text("He may come in.")])
    critic = agent("critic", [text("Well said.")])

    async def is_allowed(_: Any, __: Any, given: Any) -> GuardrailFunctionOutput:
        await Runner.run(bouncer, given)
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    async def is_polite(_: Any, __: Any, output: Any) -> GuardrailFunctionOutput:
        await Runner.run(critic, output)
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    pilot = agent("pilot", [text("Welcome.")], output_guardrails=[output_guardrail(is_polite)])
    clerk = agent(
        "clerk",
        [call("c1", "transfer_to_pilot")],
        handoffs=[pilot],
        input_guardrails=[input_guardrail(is_allowed)],
    )
    with td.TraceRecorder() as recorder:
        asyncio.run(Runner.run(clerk, "Hello?"))
    quiet(recorder)
    found = {name: (around, by) for name, around, by in parents(recorder)}
    assert found["bouncer"] == ("clerk", None)
    assert found["critic"] == ("pilot", None)
    assert found["pilot"] == ("clerk", "c1")
    assert len(recorder.traces) == 4


@cell("openai-agents", "async")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_session_goes_on_without_telling_its_turns_again(streamed: bool) -> None:
    from agents import SQLiteSession

    clerk = agent("clerk", [text("Hello, Ann.")], [text("You are Ann.")])

    async def talk() -> None:
        session = SQLiteSession("talk")
        await play(clerk, "I am Ann.", streamed=streamed, session=session)
        await play(clerk, "Who am I?", streamed=streamed, session=session)
        session.close()

    with td.TraceRecorder() as recorder:
        asyncio.run(talk())
    quiet(recorder)
    assert len(recorder.traces) == 1
    assert story(recorder.trace) == [
        "user: I am Ann.",
        "assistant: Hello, Ann.",
        "user: Who am I?",
        "assistant: You are Ann.",
    ]


@cell("openai-agents", "tool error")
def test_a_failure_that_the_model_is_told_of_is_recorded_as_the_error_it_was() -> None:
    from agents import Runner

    def divide(by: int) -> int:
        """Divide one by a number."""
        return 1 // by

    clerk = agent("clerk", [call("c1", "divide", by=0)], [text("I cannot.")], tools=[tool(divide)])
    with td.TraceRecorder() as recorder:
        asyncio.run(Runner.run(clerk, "Divide by zero."))
    quiet(recorder)
    (failed,) = recorder.trace.actions
    assert failed.result is not None
    assert failed.result.error is not None
    assert failed.result.ok is False
    assert failed.result.error.type == "ZeroDivisionError"
    assert "An error occurred while running the tool" in str(failed.result.content)
    assert story(recorder.trace)[-1] == "assistant: I cannot."


@cell("openai-agents", "tool error")
def test_a_failure_that_is_not_handled_ends_the_run_as_it_does_without_us() -> None:
    from agents import Runner, UserError

    def divide(by: int) -> int:
        """Divide one by a number."""
        return 1 // by

    clerk = agent(
        "clerk", [call("c1", "divide", by=0)], tools=[tool(divide, failure_error_function=None)]
    )
    with td.TraceRecorder() as recorder, pytest.raises(UserError, match="division"):
        asyncio.run(Runner.run(clerk, "Divide by zero."))
    quiet(recorder)
    (failed,) = recorder.trace.actions
    assert failed.result is not None
    assert failed.result.error is not None
    assert failed.result.error.type == "ZeroDivisionError"


@cell("openai-agents", "model error")
def test_more_turns_than_allowed_end_the_run_and_are_on_record() -> None:
    from agents import MaxTurnsExceeded, Runner

    def wait() -> str:
        """Wait."""
        return "waited"

    steps = [[call(f"c{n}", "wait")] for n in range(5)]
    clerk = agent("clerk", *steps, tools=[tool(wait)])
    with pytest.raises(MaxTurnsExceeded), td.TraceRecorder() as recorder:
        asyncio.run(Runner.run(clerk, "Wait.", max_turns=3))
    quiet(recorder)
    assert story(recorder.trace) == ["user: Wait.", *["assistant:  wait=waited"] * 3]
    assert recorder.trace.outcome is not None
    assert recorder.trace.outcome.ended is False


@cell("openai-agents", "async")
def test_a_run_that_waited_for_approval_goes_on_with_the_same_call() -> None:
    from agents import Runner

    def delete(name: str) -> str:
        """Delete a file."""
        return f"deleted {name}"

    clerk = agent(
        "clerk",
        [call("c1", "delete", name="a.txt")],
        [text("Gone.")],
        tools=[tool(delete, needs_approval=True)],
    )

    async def approved() -> Any:
        waiting = await Runner.run(clerk, "Delete a.txt.")
        assert len(waiting.interruptions) == 1
        state = waiting.to_state()
        state.approve(waiting.interruptions[0])
        return await Runner.run(clerk, state)

    with td.TraceRecorder() as recorder:
        assert asyncio.run(approved()).final_output == "Gone."
    quiet(recorder)
    assert story(recorder.trace) == [
        "user: Delete a.txt.",
        "assistant:  delete=deleted a.txt",
        "assistant: Gone.",
    ]


@cell("openai-agents", "async")
def test_tools_that_the_provider_runs_are_calls_with_their_results() -> None:
    from agents import Runner, WebSearchTool
    from openai.types.responses import ResponseCodeInterpreterToolCall, ResponseFunctionWebSearch

    def note(line: str) -> str:
        """Note a line."""
        return "noted"

    action: Any = {"type": "search", "query": "weather"}
    search = ResponseFunctionWebSearch(
        id="ws_1", type="web_search_call", status="completed", action=action
    )
    logs: Any = [{"type": "logs", "logs": "2"}]
    code = ResponseCodeInterpreterToolCall(
        id="ci_1", type="code_interpreter_call", status="completed", code="1 + 1",
        container_id="box", outputs=logs,
    )  # fmt: skip
    clerk = agent(
        "clerk",
        [search, code, text("It rains."), call("c1", "note", line="rain")],
        [text("Noted.")],
        tools=[WebSearchTool(), tool(note)],
    )
    with td.TraceRecorder() as recorder:
        asyncio.run(Runner.run(clerk, "Will it rain?"))
    quiet(recorder)
    found = [(c.id, c.name, c.result is not None and c.result.ok) for c in recorder.trace.actions]
    assert found == [
        ("ws_1", "web_search", True),
        ("ci_1", "code_interpreter", True),
        ("c1", "note", True),
    ]
    code_call = recorder.trace.actions[1]
    assert code_call.arguments == {"code": "1 + 1"}
    assert code_call.result is not None
    assert code_call.result.content == [{"type": "logs", "logs": "2"}]
    assert [turn.text for turn in recorder.trace.turns] == ["Will it rain?", "It rains.", "Noted."]


@cell("openai-agents", "model error")
def test_each_attempt_of_a_model_that_fails_first_is_a_turn() -> None:
    from agents import Runner

    clerk = agent("clerk", RuntimeError("the line is dead"), [text("Here I am.")])
    with td.TraceRecorder() as recorder:
        with pytest.raises(RuntimeError, match="dead"):
            asyncio.run(Runner.run(clerk, "Hello?"))
        asyncio.run(Runner.run(clerk, "Hello?"))
    quiet(recorder)
    asked, failed, answered = recorder.trace.turns
    assert (asked.text, answered.text) == ("Hello?", "Here I am.")
    assert failed.error == ErrorInfo(type="RuntimeError", message="the line is dead")


@cell("openai-agents", "cancellation")
def test_a_streamed_run_that_is_cancelled_is_on_record_as_far_as_it_came() -> None:
    from agents import Runner

    async def leave() -> None:
        sleeps = asyncio.Event()

        async def sleep() -> str:
            """Sleep for long."""
            sleeps.set()
            await asyncio.sleep(60)
            return "awake"

        clerk = agent("clerk", [call("c1", "sleep")], tools=[tool(sleep)])
        result = Runner.run_streamed(clerk, "Sleep.")

        async def read() -> None:
            async for _ in result.stream_events():
                pass

        reading = asyncio.create_task(read())
        await sleeps.wait()
        result.cancel()
        await reading

    with td.TraceRecorder() as recorder:
        asyncio.run(leave())
    quiet(recorder)
    (stopped,) = recorder.trace.actions
    assert stopped.result is not None
    assert stopped.result.interrupted


@cell("openai-agents", "replay")
@pytest.mark.parametrize("handled", [True, False])
def test_a_recorded_failure_reaches_the_model_in_the_words_it_met_before(handled: bool) -> None:
    from agents import Runner

    from tracedance_sdk.recording import GivenAnswer, answers_from
    from tracedance_sdk.trace import UNKNOWN, Result

    def divide(by: int) -> int:
        """Divide one by a number."""
        raise AssertionError("the tool must not run")

    error = ErrorInfo(type="ZeroDivisionError", message="division by zero")
    told = "It fails: division by zero"

    class Source:
        def answer(self, _: Any, /) -> GivenAnswer:
            content = told if handled else UNKNOWN
            return GivenAnswer(Result(ok=False, content=content, error=error), None)

    clerk = agent(
        "clerk",
        [call("c1", "divide", by=0)],
        [text("I cannot.")],
        tools=[tool(divide, failure_error_function=lambda _, error: f"It fails: {error}")],
    )
    with answers_from(Source()):
        result = asyncio.run(Runner.run(clerk, "Divide."))
    outputs = [i.output for i in result.new_items if i.type == "tool_call_output_item"]
    assert outputs == [told]


@cell("openai-agents", "sync")
def test_with_the_client_s_integration_too_each_turn_is_recorded_once() -> None:
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel
    from openai import AsyncOpenAI
    from tracedance_integrations import openai as td_openai

    async def ask(kind: Any, url: str, *, streamed: bool) -> None:
        async with AsyncOpenAI(base_url=url, api_key="fake", max_retries=0) as client:
            scene = mail(Desk())
            tools = [tool(function) for function in scene.tools]
            clerk = Agent(
                name="clerk", instructions=scene.system, model=kind("m", client), tools=tools
            )
            result = await play(clerk, scene.user, streamed=streamed)
            assert result.final_output == scene.end

    td_openai.install()
    try:
        for kind in (OpenAIResponsesModel, OpenAIChatCompletionsModel):
            for streamed in (False, True):
                scene = mail(Desk())
                with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
                    asyncio.run(ask(kind, endpoint.openai_url, streamed=streamed))
                quiet(recorder)
                assert [turn.role for turn in recorder.trace.turns] == ["user", *["assistant"] * 3]
                assert len(recorder.traces) == 1
    finally:
        td_openai.uninstall()


@cell("openai-agents", "no recorder")
@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        ("reading", "request", "model call: KeyError"),
        ("model_calls", "_told", "reply: KeyError"),
        ("tools", "_use", "tool: KeyError"),
        ("runs", "_uses", "handoff: KeyError"),
        ("runs", "_hand_over", "handoff: KeyError"),
        ("reading", "instructions", "agent: KeyError"),
    ],
)
def test_a_fault_in_a_hook_is_counted_and_the_agent_goes_on(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, fault: str
) -> None:
    import importlib

    from agents import Runner

    from tracedance_sdk.recording.guard import GUARD

    def look() -> str:
        """Look."""
        return "seen"

    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("ours")

    monkeypatch.setattr(GUARD, "raises", False)
    owner = importlib.import_module(f"tracedance_integrations.openai_agents.{module}")
    monkeypatch.setattr(owner, name, broken)
    pilot = agent("pilot", [text("Up.")])
    clerk = agent(
        "clerk",
        [call("c1", "look")],
        [call("c2", "transfer_to_pilot")],
        tools=[tool(look)],
        handoffs=[pilot],
    )
    with td.TraceRecorder() as recorder:
        assert asyncio.run(Runner.run(clerk, "Go.")).final_output == "Up."
    assert recorder.close().faults[fault] >= 1


@cell("openai-agents", "uninstall")
def test_a_class_of_models_that_is_defined_later_is_recorded_until_the_end() -> None:
    from agents import Runner
    from tracedance_integrations import openai_agents

    clerk = agent("clerk", [text("One.")], [text("Two.")])
    with td.TraceRecorder() as recorder:
        asyncio.run(Runner.run(clerk, "Count."))
        openai_agents.uninstall()
        asyncio.run(Runner.run(clerk, "Go on."))
    quiet(recorder)
    assert story(recorder.trace) == ["user: Count.", "assistant: One."]


@cell("openai-agents", "no recorder")
def test_a_version_that_is_not_tested_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tracedance_integrations import openai_agents

    openai_agents.uninstall()
    monkeypatch.setattr("importlib.metadata.version", lambda _: "99.1")
    monkeypatch.setattr(openai_agents._INTEGRATION, "_has_warned", False)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            openai_agents.install()
            openai_agents.uninstall()
    warnings = [r.message for r in caplog.records if "outside the tested versions" in r.message]
    assert len(warnings) == 1
    assert warnings[0].startswith("openai-agents 99.1 is outside")


@cell("openai-agents", "no recorder")
def test_without_the_sdk_the_message_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracedance_integrations import openai_agents

    from tracedance_sdk.errors import MissingDependency
    from tracedance_sdk.recording.integrating import integration

    openai_agents.uninstall()
    monkeypatch.setattr(integration, "_is_there", lambda _: False)
    with pytest.raises(MissingDependency) as caught:
        openai_agents.install()
    assert "\n" not in str(caught.value)
    assert "tracedance-sdk[openai-agents]" in str(caught.value)
