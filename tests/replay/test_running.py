"""An agent in a recorded conversation: what it is told, what is recorded, how a run ends."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.replay.test_rebuilding import order_trace
from tracedance_sdk.errors import AgentNotStarted, AgentUnreachable, InvalidOption
from tracedance_sdk.replay import Suite, rebuild
from tracedance_sdk.replay.people import Customer, RuleCustomer, ScriptedCustomer
from tracedance_sdk.replay.rebuilt_test import Fact, Person, RebuiltTest
from tracedance_sdk.replay.running import (
    AgentUnderTest,
    CommandAgent,
    FunctionAgent,
    HttpAgent,
    ReplayedRun,
    Request,
    RunLimits,
    agent_named,
    run_test,
)
from tracedance_sdk.trace import Text, Turn

Messages = list[dict[str, Any]]
PERSON = Person(
    goal="Please cancel my order.",
    knows=(
        Fact(id="order_number", value="W-1001", about="my order number is"),
        Fact(id="email", value="ann@example.com", about="my email is"),
    ),
    said=("Please cancel my order.", "It is W-1001.", "Thanks."),
)


def a_test(**changes: Any) -> RebuiltTest:
    test = rebuild([order_trace()]).tests[0]
    return test.model_copy(update={"people": (PERSON,), "opening": PERSON.said[0], **changes})


def played(
    agent: AgentUnderTest | Callable[..., Any],
    customer: Customer | None = None,
    *,
    test: RebuiltTest | None = None,
    **limits: Any,
) -> ReplayedRun:
    played_test = test or a_test()
    suite = Suite([played_test])
    who = FunctionAgent(agent) if callable(agent) else agent
    run = run_test(
        played_test,
        who,
        customer or ScriptedCustomer(PERSON),
        suite.ladder(played_test.id),
        limits=RunLimits(**limits),
    )
    return asyncio.run(run)


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


def clerk(messages: Messages, tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Look the order up, then cancel it, then say so."""
    assert {tool["function"]["name"] for tool in tools} == {"get_order", "cancel_order"}
    n_answers = sum(message["role"] == "tool" for message in messages)
    if messages[-1]["role"] == "user" and n_answers == 0 and "W-1001" not in str(messages):
        return {"content": "Could you give me your order number?"}
    if n_answers == 0:
        return calling("get_order", order="W-1001")
    if n_answers == 1:
        return calling("cancel_order", order="W-1001")
    return {"content": "It is too late to cancel it."}


def test_an_agent_talks_and_acts_and_all_of_it_is_recorded() -> None:
    run = played(clerk)
    assert (run.ended, run.problem, dict(run.stamps), run.fidelity) == (
        "customer",
        None,
        {"same": 2},
        1.0,
    )
    said = [(turn.role, turn.text) for turn in run.trace.turns if turn.text]
    assert said[:3] == [
        ("user", "Please cancel my order."),
        ("assistant", "Could you give me your order number?"),
        ("user", "It is W-1001."),
    ]
    calls = run.trace.actions
    assert [call.name for call in calls] == ["get_order", "cancel_order"]
    assert [call.result.ok for call in calls if call.result] == [True, False]
    assert (calls[0].model_extra or {})["answer"]["stamp"] == "same"
    assert run.trace.metadata["rebuilt_test"] == "t1"
    assert run.trace.outcome is not None
    assert run.trace.outcome.ended is True


async def async_clerk(messages: Messages) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"content": f"{len(messages)} messages"}


def test_an_agent_may_be_async_and_take_the_messages_alone() -> None:
    run = played(async_clerk)
    assert [turn.text for turn in run.trace.turns if turn.role == "assistant"] == [
        "1 messages",
        "3 messages",
        "5 messages",
    ]


def test_what_an_agent_does_to_its_messages_is_its_own_affair() -> None:
    def vandal(messages: Messages) -> str:
        said = f"I see {len(messages)}"
        messages.clear()
        return said

    assert [t.text for t in played(vandal).trace.turns][-1] == "I see 5"


def raising(messages: Messages) -> str:
    raise RuntimeError("out of ideas")


def sleeping(messages: Messages) -> str:
    time.sleep(0.5)
    return "late"


@pytest.mark.parametrize(
    ("agent", "limits", "ended", "says"),
    [
        pytest.param(raising, {}, "agent_error", "RuntimeError: out of ideas", id="raises"),
        pytest.param(lambda m: next(iter(())), {}, "agent_error", "StopIteration", id="stops"),
        pytest.param(lambda m: sys.exit(3), {}, "agent_error", "SystemExit: 3", id="exits"),
        pytest.param(lambda m: None, {}, "agent_error", "NoneType", id="nothing"),
        pytest.param(lambda m: {"content": " "}, {}, "agent_error", "neither text", id="empty"),
        pytest.param(
            lambda m: {"tool_calls": [{"function": {"name": "x", "arguments": "{"}}]},
            {},
            "agent_error",
            "arguments of 'x'",
            id="broken arguments",
        ),
        pytest.param(
            lambda m: calling("get_order", order="W-1001"), {}, "loop", "'get_order'", id="loop"
        ),
        pytest.param(
            lambda m: calling("get_order", order=str(len(m))),
            {"max_calls": 4},
            "max_calls",
            "'get_order'",
            id="calls",
        ),
        pytest.param(
            lambda m: calling("get_order", order=str(len(m))),
            {"max_turns": 3},
            "max_turns",
            "",
            id="turns",
        ),
        pytest.param(sleeping, {"timeout_s": 0.1}, "timeout", "0.1 s", id="late"),
    ],
)
def test_a_run_that_goes_wrong_ends_as_what_it_is(
    agent: Callable[..., Any], limits: dict[str, Any], ended: str, says: str
) -> None:
    run = played(agent, **limits)
    assert run.ended == ended
    assert says in (run.problem or "")
    assert run.trace.outcome is not None
    assert run.trace.outcome.ended is False


def test_a_terminal_tool_ends_the_conversation() -> None:
    def handing_over(messages: Messages) -> dict[str, Any]:
        return calling("transfer_to_human", reason="why not")

    tools = [*a_test().tools, {"name": "transfer_to_human", "effect": "terminal"}]
    test = RebuiltTest.model_validate({**a_test().model_dump(), "tools": tools})
    assert played(handing_over, test=test).ended == "terminal"


def test_limits_below_one_are_refused() -> None:
    with pytest.raises(InvalidOption, match="max_turns is 0"):
        RunLimits(max_turns=0).checked()


def conversation(*said: str) -> list[Turn]:
    return [
        Turn(
            index=n,
            role="assistant" if n % 2 else "user",
            origin="agent" if n % 2 else "human",
            content=(Text(text=text),),
        )
        for n, text in enumerate(said)
    ]


@pytest.mark.parametrize(
    ("agent_says", "person_says"),
    [
        ("Could you please provide your order number?", "my order number is W-1001."),
        ("What is your email address?", "my email is ann@example.com."),
        ("What is your shoe size?", "I don't know that. Please go on with what you have."),
        ("Would you like me to cancel it?", "Yes, please go ahead."),
        ("It is cancelled.", None),
        ("It is cancelled. Is there anything else I can help with?", None),
    ],
)
def test_a_customer_by_rules_tells_what_is_asked_and_nothing_else(
    agent_says: str, person_says: str | None
) -> None:
    turns = conversation("Please cancel my order.", "Hello.", "Hello.", agent_says)
    assert asyncio.run(RuleCustomer(PERSON).reply(turns)) == person_says


PROGRAM = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    assert request["format"] == "tracedance.agent_request"
    if {crash} and len(request["messages"]) > 1:
        sys.exit(7)
    said = f"{{len(request['messages'])}} of {{request['test_id']}}"
    print(json.dumps({{"content": said}}), flush=True)
"""


def test_an_agent_may_be_a_program(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM.format(crash=False))
    run = played(agent_named(f"cmd:{sys.executable} {program}")())
    assert [t.text for t in run.trace.turns if t.role == "assistant"] == [
        "1 of t1",
        "3 of t1",
        "5 of t1",
    ]
    program.write_text(PROGRAM.format(crash=True))
    run = played(CommandAgent([sys.executable, str(program)]))
    assert (run.ended, run.problem) == (
        "agent_error",
        "the agent's program ended with exit code 7 without a reply",
    )


def test_a_program_that_cannot_be_run_says_nothing_of_the_agent() -> None:
    with pytest.raises(AgentUnreachable, match="cannot be run"):
        played(CommandAgent(["no-such-program-anywhere"]))


def test_a_program_that_never_replies_is_not_started_and_says_nothing_of_the_agent(
    tmp_path: Path,
) -> None:
    command = f"cmd:{sys.executable} {tmp_path / 'absent.py'}"
    for _ in range(5):
        with pytest.raises(AgentNotStarted) as caught:
            played(agent_named(command)())
        assert "absent.py' ended with exit code 2 before it replied to anything" in str(
            caught.value
        )


def test_a_program_that_replied_once_fails_where_it_ends(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM.format(crash=False))
    make = agent_named(f"cmd:{sys.executable} {program}")
    assert played(make()).ended == "customer"
    program.write_text("raise SystemExit(9)")
    run = played(make())
    assert (run.ended, run.problem) == (
        "agent_error",
        "the agent's program ended with exit code 9 without a reply",
    )


@contextmanager
def service(*replies: tuple[int, bytes]) -> Iterator[str]:
    waiting = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/agent"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "ended", "says"),
    [
        (200, b'{"content": "Hello"}', "customer", ""),
        (200, b"<html>", "agent_error", "not JSON"),
        (400, b"bad", "agent_error", "answered 400: bad"),
        (302, b"", "agent_error", "answered 302"),
    ],
)
def test_an_agent_may_be_a_service(status: int, body: bytes, ended: str, says: str) -> None:
    with service((status, body)) as url:
        run = played(agent_named(url, offline=True)())
    assert run.ended == ended
    assert says in (run.problem or "")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_service_in_trouble_says_nothing_of_the_agent(status: int) -> None:
    with service((status, b"")) as url, pytest.raises(AgentUnreachable, match=str(status)):
        played(HttpAgent(url))
    with pytest.raises(AgentUnreachable, match=r"127\.0\.0\.1:9/ cannot be reached: nothing"):
        played(HttpAgent("http://127.0.0.1:9/"))


def three(one: Any, two: Any, three: Any) -> None:
    """Take one argument too many."""


def named(messages: Messages, *, tools: Any) -> None:
    """Want the tools by name."""


def none() -> None:
    """Take nothing."""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing", "names no agent"),
        ("no_such_module:agent", "ModuleNotFoundError"),
        ("json:no_such", "has no function 'no_such'"),
        ("cmd:", "names no program"),
        ("cmd:no-such-program-anywhere a", "there is no program 'no-such-program-anywhere'"),
        (
            "tests.replay.test_running:three",
            r"takes \(one: .*an agent is called with \(messages, tools\)",
        ),
        ("tests.replay.test_running:named", r"takes \(messages: .*, \*, tools"),
        ("tests.replay.test_running:none", r"takes \(\)"),
        ("http://user:secret@127.0.0.1/", "must not hold a user"),
        ("https://example.com/", "--offline is set"),
    ],
)
def test_an_agent_that_is_none_is_refused(name: str, says: str) -> None:
    with pytest.raises(InvalidOption, match=says) as caught:
        agent_named(name, offline=True)
    assert "secret" not in str(caught.value)


def test_a_request_says_what_it_is() -> None:
    document = Request([], [], "a", 2).document
    assert (document["format"], document["test_id"], document["trial"]) == (
        "tracedance.agent_request",
        "a",
        2,
    )


def test_an_answer_that_cannot_be_told_is_no_fault_of_the_agent() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    test = a_test()
    first = test.recordings[0].model_copy(update={"answer": {"ok": True, "content": [picture]}})
    agent = FunctionAgent(lambda _: calling("get_order", order="W-1001"))
    with pytest.raises(AgentUnreachable, match="cannot be told as chat messages"):
        played(agent, test=test.model_copy(update={"recordings": (first,)}))


@pytest.mark.parametrize("program", ["cat /dev/zero", "yes"])
def test_a_program_that_floods_its_output_holds_nothing_up(program: str) -> None:
    began = time.monotonic()
    try:
        run = played(agent_named(f"cmd:{program}")(), timeout_s=2)
        assert run.ended in ("agent_error", "timeout")
    except AgentNotStarted:
        pass
    assert time.monotonic() - began < 40
