"""Other people's code apart from the loop of the tests: nobody is held up, nothing is believed."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pytest

from tests.replay.test_rebuilding import order_trace
from tests.replay.test_running import a_test, calling, played
from tracedance_sdk.errors import AgentUnreachable, CustomerFailed, InvalidOption
from tracedance_sdk.grading import Verdict
from tracedance_sdk.replay import (
    Doubt,
    Finding,
    FunctionAgent,
    FunctionGrader,
    JudgedRun,
    Masked,
    NotRun,
    Players,
    RebuiltTest,
    ReplayedRun,
    RunLimits,
    ScriptedCustomer,
    Suite,
    SuiteSettings,
    agent_named,
    rebuild,
    run_all,
    run_test,
)
from tracedance_sdk.replay.people import Customer
from tracedance_sdk.replay.running import Request, judged
from tracedance_sdk.trace import Turn, encode_json

Messages = list[dict[str, Any]]


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def in_a_circle() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["content"] = circle
    return circle


def asking_for(arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": "c", "function": {"name": "get_order", "arguments": arguments}}]}


def raising(error: BaseException) -> Callable[[Messages], Any]:
    def agent(_: Messages) -> Any:
        raise error

    return agent


async def cancelling(_: Messages) -> str:
    raise asyncio.CancelledError


class Odd(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (lambda m: {"hello"}, "replied with set, not with a message"),
        (lambda m: b"hello", "replied with bytes, not with a message"),
        (lambda m: (x for x in "ab"), "replied with generator, not with a message"),
        (lambda m: {"content": {1}}, "no JSON: TypeError: Object of type set"),
        (lambda m: {"content": nested(3000)}, "no JSON: it is nested too deeply"),
        (lambda m: asking_for({"order": nested(3000)}), "no JSON: it is nested too deeply"),
        (lambda m: asking_for({"order": nested(400)}), "nested deeper than"),
        (lambda m: asking_for({"order": 10**5000}), "no JSON: ValueError: Exceeds the limit"),
        (lambda m: asking_for({"order": float("nan")}), "no JSON: ValueError: Out of range"),
        (lambda m: in_a_circle(), "no JSON: ValueError: Circular reference"),
        (lambda m: {"content": "x" * (17 * 2**20)}, "longer than 16,777,216 bytes"),
        (raising(BaseException("odd")), "raised BaseException: odd"),
        (raising(KeyboardInterrupt()), "raised KeyboardInterrupt"),
        (raising(GeneratorExit()), "raised GeneratorExit"),
        (raising(asyncio.CancelledError()), "raised CancelledError"),
        (raising(RuntimeError("two\nlines \udc80")), "raised RuntimeError: two lines \\udc80"),
        (raising(Odd()), "raised Odd"),
        (cancelling, "raised CancelledError"),
    ],
    ids=lambda value: value.replace(" ", "-")[:30] if isinstance(value, str) else "",
)
def test_odd_replies_and_odd_errors_are_failures_of_the_agent(
    agent: Callable[..., Any], says: str
) -> None:
    run = played(agent)
    assert run.ended == "agent_error"
    assert says in (run.problem or "")
    assert len((run.problem or "").splitlines()) == 1
    encode_json(run.trace)


class Word(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("said", "recorded"),
    [(Word("Hello"), "Hello"), ({"content": Word("Hello")}, "Hello"), ("a\udc80", "a\\udc80")],
)
def test_odd_texts_are_told_as_plain_ones(said: Any, recorded: str) -> None:
    run = played(lambda _: said)
    assert (run.ended, run.trace.turns[1].text) == ("customer", recorded)
    encode_json(run.trace)


@pytest.mark.parametrize("value", ["\udc80", 10**30, {"\udc80": 1}, True, None])
def test_odd_arguments_are_recorded_as_json_has_them(value: Any) -> None:
    run = played(lambda m: asking_for({"order": value}) if m[-1]["role"] == "user" else "Done.")
    assert (run.ended, dict(run.stamps)) == ("customer", {"failed": 3})
    encode_json(run.trace)


async def late_by_blocking(messages: Messages) -> str:
    if "now" in messages[0]["content"]:
        time.sleep(4)  # noqa: ASYNC251 - that is what is tested
    await asyncio.sleep(0.3)
    return "Well."


def a_suite(*openings: str) -> Suite:
    tests = [
        test.model_copy(update={"opening": said})
        for said, test in zip(
            openings, rebuild([order_trace(f"t{n}", f"g{n}") for n in range(len(openings))]).tests,
            strict=True,
        )
    ]  # fmt: skip
    return Suite(tests)


def found_by(suite: Suite, players: Players, **settings: Any) -> dict[str, JudgedRun | NotRun]:
    items = run_all(suite, players, SuiteSettings(**settings))
    return {(i.run if isinstance(i, JudgedRun) else i).test.id: i for i in items}


PASSING: Final = FunctionGrader(lambda trace: True, "good")


def test_who_blocks_the_loop_of_the_agents_is_late_and_its_neighbours_are_asked_again() -> None:
    agent = FunctionAgent(late_by_blocking)
    players = Players(agent=lambda: agent, customer=ScriptedCustomer, grader=PASSING)
    limits = RunLimits(timeout_s=2, max_turns=2)
    suite = a_suite("now", "then", "then", "then")
    found = found_by(suite, players, limits=limits)
    ended = {name: item.run.ended for name, item in found.items() if isinstance(item, JudgedRun)}
    assert ended == {"t0": "timeout", "t1": "customer", "t2": "customer", "t3": "customer"}


def test_async_agents_share_one_loop_so_that_they_may_share_a_client() -> None:
    loops = []

    async def agent(_: Messages) -> str:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        return "Well."

    players = Players(agent=lambda: FunctionAgent(agent), customer=ScriptedCustomer)
    for _ in range(2):
        found_by(a_suite("a", "b", "c"), players)
    assert len(loops) >= 6
    assert len(set(loops)) == 1
    assert threading.main_thread().is_alive()


class Patient:
    """Takes a while to speak, as people do."""

    name = "patient"

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        await asyncio.sleep(0.6)
        return "Go on." if len(conversation) < 6 else None


def test_the_time_of_tools_and_customers_is_not_the_agents() -> None:
    def slow_sum() -> int:
        time.sleep(0.6)
        return 3

    def agent(messages: Messages) -> Any:
        return calling("add") if len(messages) == 1 else "Well."

    test = a_test()
    tools = [*test.tools, {"name": "add", "effect": "pure"}]
    suite = Suite([RebuiltTest.model_validate({**test.model_dump(), "tools": tools})])
    ladder = suite.ladder(test.id, pure={"add": slow_sum})
    limits = RunLimits(timeout_s=0.5)
    made = run_test(suite.tests[0], FunctionAgent(agent), Patient(), ladder, limits=limits)
    run = asyncio.run(made)
    assert (run.ended, dict(run.stamps)) == ("customer", {"pure": 1})


class Speaker:
    """A customer of another package."""

    name = "speaker"

    def __init__(self, says: Callable[[], Any]) -> None:
        self._says = says

    async def reply(self, conversation: Sequence[Turn]) -> Any:
        return self._says()


def shouting() -> Any:
    raise SystemExit("bye")


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (shouting, "the customer raised SystemExit: bye"),
        (lambda: 7, "the customer said int, not a text"),
        (lambda: time.sleep(5), "the customer gave no answer within 1 s"),
    ],
)
def test_a_customer_of_another_package_that_fails_says_nothing_of_the_agent(
    says: Callable[[], Any], told: str
) -> None:
    def customer(_: Any) -> Customer:
        return Speaker(says)

    with pytest.raises(CustomerFailed, match=told):
        played(lambda m: "Well.", Speaker(says), helper_timeout_s=1)
    players = Players(agent=lambda: FunctionAgent(lambda m: "Well."), customer=customer)
    found = found_by(a_suite("a"), players, retries=0, limits=RunLimits(helper_timeout_s=1))
    assert isinstance(found["t0"], NotRun)
    assert found["t0"].reason == told


def test_an_agent_or_a_customer_that_cannot_be_made_is_no_verdict() -> None:
    def none() -> Any:
        raise OSError("no model")

    found = found_by(a_suite("a"), Players(agent=none, customer=ScriptedCustomer))
    assert isinstance(found["t0"], NotRun)
    assert found["t0"].reason == "the agent cannot be made: OSError: no model"
    players = Players(agent=lambda: FunctionAgent(lambda m: "Well."), customer=lambda _: none())
    found = found_by(a_suite("a"), players)
    assert isinstance(found["t0"], NotRun)
    assert found["t0"].reason == "the customer cannot be made: OSError: no model"


class OwnAgent:
    """An agent of another package that follows the protocol and blocks."""

    name = "own"

    async def reply(self, request: Request) -> Any:
        if request.test_id == "t0":
            time.sleep(4)  # noqa: ASYNC251 - that is what is tested
        if request.test_id == "t1":
            raise RuntimeError("no")
        return "Well."

    async def close(self) -> None:
        raise SystemExit


def test_an_agent_of_another_package_is_asked_apart() -> None:
    players = Players(agent=OwnAgent, customer=ScriptedCustomer, grader=PASSING)
    found = found_by(a_suite("a", "b", "c"), players, limits=RunLimits(timeout_s=2))
    told = {name: i.run.ended for name, i in found.items() if isinstance(i, JudgedRun)}
    assert told == {"t0": "timeout", "t1": "agent_error", "t2": "customer"}


class OwnGrader:
    """A grader of another package."""

    name = "own"

    def __init__(self, found: Callable[[], Any]) -> None:
        self._found = found

    async def grade(self, run: ReplayedRun) -> Any:
        return self._found()


@pytest.mark.parametrize(
    ("found", "verdict", "reason"),
    [
        (lambda: Finding(Verdict.PASS, "a\nb", ({1},)), Verdict.PASS, "a b"),
        (lambda: "pass", Verdict.ERROR, "own returned str, which is no finding"),
        (shouting, Verdict.ERROR, "own raised SystemExit: bye"),
        (lambda: time.sleep(4), Verdict.ERROR, "own gave no verdict within 1 s"),
    ],
)
def test_a_grader_of_another_package_is_asked_apart(
    found: Callable[[], Any], verdict: Verdict, reason: str
) -> None:
    run = played(lambda m: "Well.")
    item = asyncio.run(judged(run, OwnGrader(found), limit_s=1))
    assert (item.verdict, item.reason) == (verdict, reason)


def look_up(order: str) -> Callable[[Messages], Any]:
    return lambda m: calling("get_order", order=order) if len(m) < 3 else _after()


def _after() -> Any:
    raise RuntimeError("lost")


@pytest.mark.parametrize(
    ("agent", "ended"),
    [
        (lambda m: calling("get_order", order="W-9"), "loop"),
        (lambda m: calling("get_order", order=f"W-{len(m)}"), "max_calls"),
        (look_up("W-9"), "agent_error"),
    ],
)
def test_a_bad_end_after_an_unanswered_call_is_inconclusive_and_else_a_failure(
    agent: Callable[[Messages], Any], ended: str
) -> None:
    run = played(agent, max_calls=3 if ended == "max_calls" else 200)
    item = asyncio.run(judged(run, None))
    assert (run.ended, item.verdict, item.raw_verdict) == (ended, "inconclusive", "fail")
    assert item.reason.startswith("a call had no answer; ")
    doubts: tuple[Doubt, ...] = ("failed",)
    allowed = asyncio.run(judged(run, None, allowed=doubts))
    assert allowed.verdict == "fail"
    answered = played(look_up("W-1001"))
    assert asyncio.run(judged(answered, None)).verdict == "fail"


def test_a_masked_run_holds_no_secret_anywhere() -> None:
    secret = "-".join(("sk", "ant", "api03", "abcdefghijklmnop" * 3))

    class Hiding:
        def redact(self, data: bytes) -> bytes:
            return data.replace(secret.encode(), b"[MASKED:key:]")

    run = played(lambda m: f"Take {secret}" if len(m) == 1 else raising(ValueError(secret))(m))
    grader = FunctionGrader(lambda trace: {"verdict": "pass", "reason": secret}, "g")
    item = asyncio.run(judged(run, grader))
    assert secret in repr(item)
    masked = Masked(Hiding()).run(item)
    assert secret not in repr(masked)
    assert "[MASKED:key:]" in repr(masked)
    unmade = Masked(Hiding()).run(NotRun(a_test(), 0, secret))
    assert isinstance(unmade, NotRun)
    assert unmade.reason == "[MASKED:key:]"
    assert Masked(None).run(item) is item


@contextmanager
def raw_service(answer: bytes) -> Iterator[str]:
    """Answer each request with these bytes and hang up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    data = b""
                    while b"\r\n\r\n" not in data or not data.endswith(b"}"):
                        data += connection.recv(65536)
                    try:
                        connection.sendall(answer)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"HTTP://127.0.0.1:{server.getsockname()[1]}/agent"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def http(status: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "")).encode() + body


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            http("200 OK", "Content-Length: 900", body=b'{"content": "Hello"}'),
            "broke off: 880 bytes of its answer are missing",
        ),
        (http("200 OK", "Content-Length: 9"), "broke off: 9 bytes"),
        (b"", "the connection broke off"),
        (b"nonsense\r\n\r\n", "the connection broke off"),
    ],
)
def test_an_answer_that_breaks_off_says_nothing_of_the_agent(answer: bytes, says: str) -> None:
    with raw_service(answer) as url, pytest.raises(AgentUnreachable, match=says):
        played(agent_named(url, offline=True)())


def test_a_redirect_is_not_followed_and_endless_answers_are_cut() -> None:
    with raw_service(http("307 Away", "Location: http://127.0.0.1:9/", "Content-Length: 0")) as url:
        run = played(agent_named(url)())
    assert (run.ended, "307, a redirect, which is not followed" in str(run.problem)) == (
        "agent_error",
        True,
    )
    with raw_service(http("200 OK", body=b" " * (17 * 2**20))) as url:
        run = played(agent_named(url)())
    assert "answered more than 16,777,216 bytes" in str(run.problem)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("http://[bad/", "is no address of HTTP: Invalid IPv6"),
        ("http://h:99999/", "is no address of HTTP: Port out of range"),
        ("http://h:x/", "is no address of HTTP: Port could not"),
        ("http://user:s3cret@[bad/?token=s3cret", "is no address of HTTP"),
        ("HTTPS://user:s3cret@h/", "must not hold a user or a password"),
        ("ftp://h/agent.py:x", "'ftp://h/agent.py:x' is no address of HTTP"),
        ("http:///path", "is no address of HTTP"),
        ("http://h/a b", "write spaces and other letters as %20"),
        ("http://h/\u00e4", "write spaces and other letters as %20"),
        ("cmd:'a", "cmd: is no command: No closing quotation"),
        ("cmd:''", "names no program"),
    ],
)
def test_an_address_or_a_command_that_is_none_is_one_line(name: str, says: str) -> None:
    with pytest.raises(InvalidOption, match=says) as caught:
        agent_named(name)
    assert "s3cret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "body",
    ["raise SystemExit(2)", "raise GeneratorExit", "import asyncio\nraise asyncio.CancelledError"],
)
def test_a_module_that_raises_anything_is_one_line(body: str, tmp_path: Any) -> None:
    (tmp_path / "agent.py").write_text(body)
    with pytest.raises(InvalidOption, match="cannot be imported"):
        agent_named(f"{tmp_path / 'agent.py'}:agent")
    (tmp_path / "agent.py").write_text("def __getattr__(name):\n    raise SystemExit(name)\n")
    with pytest.raises(InvalidOption, match="cannot be looked up: SystemExit: agent"):
        agent_named(f"{tmp_path / 'agent.py'}:agent")
