"""Loops around a model's client in rebuilt tests: what is answered, what ran all the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.replay import (
    FunctionGrader,
    Players,
    RuleCustomer,
    Suite,
    SuiteSettings,
    rebuild,
    run_all,
)
from tracedance_sdk.replay.running import FunctionAgent, JudgedRun
from tracedance_sdk.testing import Desk, Endpoint, Scene, Step, mail, scripted_models

Messages = list[dict[str, Any]]
Loop = Callable[[Scene, Endpoint, Messages, dict[str, Callable[..., Any]]], str]


def chat(
    scene: Scene, endpoint: Endpoint, messages: Messages, tools: dict[str, Callable[..., Any]]
) -> str:
    from openai import OpenAI

    said: list[Any] = [{"role": "system", "content": scene.system}, *messages]
    with OpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0) as client:
        while True:
            reply = client.chat.completions.create(model="m", messages=said).choices[0].message
            said.append(reply.model_dump(exclude_none=True))
            if not reply.tool_calls:
                return str(reply.content)
            for call in reply.tool_calls:
                function: Any = getattr(call, "function", None)
                told = tools[function.name](**json.loads(function.arguments))
                said.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(told)})
                if "at once" in tools:
                    return "It was done at once."


def responses(
    scene: Scene, endpoint: Endpoint, messages: Messages, tools: dict[str, Callable[..., Any]]
) -> str:
    from openai import OpenAI

    said: list[Any] = list(messages)
    with OpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0) as client:
        while True:
            reply = client.responses.create(model="m", input=said, instructions=scene.system)
            said += [item.model_dump(exclude_none=True) for item in reply.output]
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                return reply.output_text
            for call in calls:
                told = json.dumps(tools[call.name](**json.loads(call.arguments)))
                output = {"type": "function_call_output", "call_id": call.call_id, "output": told}
                said.append(output)


def anthropic(
    scene: Scene, endpoint: Endpoint, messages: Messages, tools: dict[str, Callable[..., Any]]
) -> str:
    from anthropic import Anthropic

    said: list[Any] = list(messages)
    with Anthropic(base_url=endpoint.url, api_key="fake", max_retries=0) as client:
        while True:
            reply = client.messages.create(
                model="m", max_tokens=99, system=scene.system, messages=said
            )
            said.append({"role": "assistant", "content": reply.content})
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return str(getattr(reply.content[0], "text", ""))
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": json.dumps(tools[call.name](**dict(call.input))),
                }
                for call in calls
            ]
            said.append({"role": "user", "content": results})


def _loop(loop: Loop, module: str, framework: str) -> Any:
    marks = [
        pytest.mark.needs(module),
        pytest.mark.cell(framework, "replay", package=module),
        pytest.mark.installs(module),
    ]
    return pytest.param(loop, id=framework, marks=marks)


LOOPS = (
    _loop(chat, "openai", "openai"),
    _loop(responses, "openai", "openai responses"),
    _loop(anthropic, "anthropic", "anthropic"),
)


class Office:
    """A desk whose tools are plain functions, or recorded ones."""

    def __init__(self, *, decorated: Sequence[str]) -> None:
        self.desk = Desk()
        self.scene = mail(self.desk)
        self.ran: list[str] = []
        self.tools = {tool.__name__: self._noted(tool) for tool in self.scene.tools}
        for name in decorated:
            self.tools[name] = td.tool(name=name)(self.tools[name])

    def _noted(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        def noted(**arguments: Any) -> Any:
            self.ran.append(tool.__name__)
            return tool(**arguments)

        noted.__name__ = tool.__name__
        return noted


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def suite(loop: Loop, installed: None) -> Suite:
    """The test of a conversation that was held with recorded tools."""
    office = Office(decorated=("find_contact", "send_mail"))
    with (
        scripted_models(office.scene) as endpoint,
        td.TraceRecorder(agent="clerk", session_id="lunch") as recorder,
    ):
        loop(office.scene, endpoint, [_asked(office.scene)], office.tools)
    return Suite(rebuild([recorder.trace]).tests)


def _asked(scene: Scene) -> dict[str, Any]:
    return {"role": "user", "content": scene.user}


def replayed(suite: Suite, loop: Loop, office: Office, **settings: Any) -> JudgedRun:
    def agent(messages: Messages) -> str:
        with scripted_models(office.scene) as endpoint:
            return loop(office.scene, endpoint, messages, office.tools)

    grader = FunctionGrader(lambda trace: True, "pleased")
    players = Players(lambda: FunctionAgent(agent), RuleCustomer, grader)
    (found,) = run_all(suite, players, SuiteSettings(**settings))
    assert isinstance(found, JudgedRun)
    return found


def test_plain_functions_leave_the_test_undecided(suite: Suite, loop: Loop) -> None:
    office = Office(decorated=())
    found = replayed(suite, loop, office)
    assert office.ran == ["find_contact", "send_mail"]
    assert (found.verdict, found.raw_verdict, found.doubts) == (
        "inconclusive",
        "pass",
        ("outside",),
    )
    assert found.reason == (
        "the code of find_contact, send_mail ran outside the replay: put @td.tool on them"
    )
    assert [call.name for call in found.run.trace.calls] == ["find_contact", "send_mail"]
    assert not any("answer" in (call.model_extra or {}) for call in found.run.trace.calls)


def test_one_plain_function_among_recorded_ones_is_named(suite: Suite, loop: Loop) -> None:
    office = Office(decorated=("find_contact",))
    found = replayed(suite, loop, office)
    assert office.ran == ["send_mail"]
    assert found.reason == "the code of send_mail ran outside the replay: put @td.tool on it"
    assert [answer.stamp for answer in found.run.answers] == ["same"]


def test_recorded_tools_are_answered_and_what_the_hooks_saw_is_in_the_trace(
    suite: Suite, loop: Loop
) -> None:
    office = Office(decorated=("find_contact", "send_mail"))
    found = replayed(suite, loop, office)
    assert office.ran == []
    assert (found.verdict, found.doubts, found.run.outside) == ("pass", (), ())
    trace = found.run.trace
    assert trace.system_prompt == office.scene.system
    spoken = [(t.role, t.text, [call.name for call in t.calls]) for t in trace.turns]
    steps = office.scene.steps
    assert spoken == [
        ("user", office.scene.user, []),
        *(("assistant", step.text or "", [name for name, _ in step.calls]) for step in steps),
    ]
    said = trace.turns[1:]
    assert all(turn.model and turn.usage and turn.usage.output_tokens for turn in said)
    assert [call.model_extra["answer"]["stamp"] for call in trace.calls if call.model_extra] == [
        "same",
        "same",
    ]
    assert [(turn.index, turn.origin) for turn in said] == [
        (n + 1, "agent") for n in range(len(said))
    ]


def test_what_ran_may_be_allowed(suite: Suite, loop: Loop) -> None:
    found = replayed(suite, loop, Office(decorated=()), allowed=("outside",))
    assert (found.verdict, found.doubts) == ("pass", ("outside",))


@pytest.mark.needs("openai")
@pytest.mark.installs("openai")
@pytest.mark.parametrize("loop", [chat])
def test_a_call_whose_result_no_model_is_told_counts_too(suite: Suite, loop: Loop) -> None:
    office = Office(decorated=())
    office.tools["at once"] = office.tools["find_contact"]
    found = replayed(suite, loop, office)
    assert found.run.outside == ("find_contact",)
    assert found.verdict == "inconclusive"


@pytest.mark.needs("openai")
@pytest.mark.installs("openai")
@pytest.mark.parametrize("loop", [chat])
def test_calls_that_the_agent_hands_back_are_answered_here(suite: Suite, loop: Loop) -> None:
    from openai import OpenAI

    office = Office(decorated=())

    def agent(messages: Messages) -> dict[str, Any]:
        with (
            scripted_models(office.scene) as endpoint,
            OpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0) as client,
        ):
            said: Any = [{"role": "system", "content": office.scene.system}, *messages]
            reply = client.chat.completions.create(model="m", messages=said)
            return reply.choices[0].message.model_dump(exclude_none=True)

    grader = FunctionGrader(lambda trace: True, "pleased")
    players = Players(lambda: FunctionAgent(agent), RuleCustomer, grader)
    (found,) = run_all(suite, players, SuiteSettings())
    assert isinstance(found, JudgedRun)
    assert (found.verdict, found.run.outside, office.ran) == ("pass", (), [])
    assert [answer.stamp for answer in found.run.answers] == ["same", "same"]
    assert all(turn.model for turn in found.run.trace.turns[1:])


@pytest.mark.needs("openai")
@pytest.mark.installs("openai")
@pytest.mark.parametrize("loop", [chat])
def test_a_tool_that_a_model_has_to_call_may_be_the_reply(suite: Suite, loop: Loop) -> None:
    from openai import OpenAI

    scene = Scene(
        "clerk", "Say what it is.", "Hm?", (), (Step(None, (("say", {"text": "Yes."}),)),)
    )

    def agent(messages: Messages, *, forced: bool = True) -> str:
        named: Any = {"type": "function", "function": {"name": "say"}}
        with (
            scripted_models(scene) as endpoint,
            OpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0) as client,
        ):
            said: Any = [{"role": "system", "content": scene.system}, *messages]
            reply = client.chat.completions.create(
                model="m", messages=said, tool_choice=named if forced else "auto"
            )
            asked: Any = reply.choices[0].message.tool_calls
            return str(json.loads(asked[0].function.arguments)["text"])

    def outside(*, forced: bool) -> tuple[str, ...]:
        asked = partial(agent, forced=forced)
        players = Players(lambda: FunctionAgent(asked, "clerk"), RuleCustomer)
        (found,) = run_all(suite, players, SuiteSettings())
        assert isinstance(found, JudgedRun)
        return found.run.outside

    assert (outside(forced=True), outside(forced=False)) == ((), ("say",))
