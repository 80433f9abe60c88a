"""What endpoints do, through the real SDKs: an answer, missing, or an error, and never a hang."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, NamedTuple

import pytest

from tests.llm.contexts import CONTEXT, TOOLS
from tests.support.scripted_models import APIS, Answer, saying, scripted_models
from tests.support.scripted_streams import (
    CONTENT_TYPE,
    as_stream,
    event,
    events_of,
    streamed,
)
from tracedance_sdk.llm import Reply, Settings, chat_model

KEY = "sk-planted-0123456789"
AT_ONCE = (("retry-after-ms", "1"),)


class Case(NamedTuple):
    """What the endpoint answers, in order (the last again and again), and what must come of it."""

    answers: tuple[Answer, ...]
    kind: str | None
    requests: int
    is_final: bool = False


def error(status: int, message: str = "no", code: str = "bad", **more: Any) -> Answer:
    body = {"type": "error", "error": {"type": code, "code": code, "message": message}}
    return Answer(body, status=status, headers=AT_ONCE, **more)


def cases(api: str) -> dict[str, Case]:
    cut = {"openai": "length", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"}
    filtered = {
        "openai": "content_filter",
        "openai-responses": "content_filter",
        "anthropic": "refusal",
    }
    good = Answer(saying(api))

    def once(body: Any, kind: str | None, **how: Any) -> Case:
        return Case((Answer(body, **how),), kind, 1)

    found = {
        "text": once(saying(api), None),
        "a call": once(saying(api, None, ("look", '{"at":"sky"}')), None),
        "text and two calls": once(saying(api, "So.", ("look", "{}"), ("look", "{}")), None),
        "a call of an unknown tool": once(saying(api, None, ("fly", "{}")), None),
        "a call against the schema": once(saying(api, None, ("look", '{"at":7}')), None),
        "nothing": once(saying(api, None), "empty"),
        "white space": once(saying(api, " \n"), "empty"),
        "a refusal": once(saying(api, None, refusal="I will not."), "refused"),
        "a filter": once(saying(api, "So", end=filtered[api]), "refused"),
        "cut off": once(saying(api, "So", end=cut[api]), "cut_off"),
        "cut off in a call": once(saying(api, None, ("look", "{}"), end=cut[api]), "cut_off"),
        "arguments that are a list": once(saying(api, None, ("look", "[]")), "unparsable"),
        "JSON cut short": once(b'{"choices": [', "unparsable"),
        "a page": once(b"<html>Sign in</html>", "unparsable", content_type="text/html"),
        "no bytes": once(b"", "unparsable"),
        "another object": once({"hello": 1}, "unparsable"),
        "a list": once([1], "unparsable"),
        "an error as a success": once({"error": {"code": 1, "message": "down"}}, "error"),
        "a bad request": Case((error(400),), "error", 1),
        "too long": Case((error(400, "prompt is too long: 9 tokens > 8"),), "context_too_long", 1),
        "too long, local": Case(
            (error(400, "the request exceeds the available context size"),), "context_too_long", 1
        ),
        "too large": Case((error(413),), "context_too_long", 1),
        "against a policy": Case((error(400, code="content_policy_violation"),), "refused", 1),
        "a refused key": Case((error(401, f"Incorrect key: {KEY}"),), "error", 1, True),
        "no access": Case((error(403),), "error", 1, True),
        "an unknown model": Case((error(404, "no such model"),), "error", 1, True),
        "used up": Case((error(429, code="insufficient_quota"),), "error", 1, True),
        "wait": Case((error(429), good), None, 2),
        "wait for ever": Case((error(429),), "error", 2),
        "500, then well": Case((error(500), good), None, 2),
        "500": Case((error(500),), "error", 2),
        "529": Case((error(529, code="overloaded_error"),), "error", 2),
        "not JSON, 502": Case(
            (Answer(b"<html>", status=502, content_type="text/html", headers=AT_ONCE),), "error", 2
        ),
        "a redirect": Case(
            (Answer(b"", status=307, headers=(("location", "http://192.0.2.1/"),)),), "error", 1
        ),
        "dropped, then well": Case((Answer(saying(api), drop_after=9), good), None, 2),
        "dropped": Case((Answer(saying(api), drop_after=9),), "error", 2),
        "slow": Case((Answer(saying(api), delay_s=2),), "error", 2),
    }
    if api == "anthropic":
        body = saying(api, "So", end="model_context_window_exceeded")
        found["no room left"] = once(body, "context_too_long")
    else:
        found["arguments cut short"] = once(saying(api, None, ("look", '{"at')), "unparsable")
    return found


TABLE = [
    pytest.param(api, case, id=f"{api}: {name}")
    for api in APIS
    for name, case in cases(api).items()
]


def as_streamed(api: str, answer: Answer) -> Answer:
    """Return an answer with its body as a stream, where that is a reply."""
    body = answer.body
    if not isinstance(body, dict) or not body.keys() & {"choices", "output", "content"}:
        return answer
    return answer._replace(body=b"".join(events_of(api, body)), content_type=CONTENT_TYPE)


def told_error(api: str, code: str, message: str = "no") -> bytes:
    """Return the event by which an API tells an error in a stream."""
    told = {"type": code, "code": code, "message": message}
    if api == "openai-responses":
        return event({"type": "error", "sequence_number": 9, "code": code, "message": message})
    return event({"type": "error", "error": told}, "error" if api == "anthropic" else None)


def stream_cases(api: str) -> dict[str, Case]:
    """Return what endpoints do without streams, replies as streams, and what only streams do."""
    whole = streamed(api, saying(api, "Done and well."))
    events = events_of(api, saying(api, "Done and well."))
    begun, size = events[:3], len(b"".join(events[:3]))

    def once(answer: Answer, kind: str | None, *, is_final: bool = False) -> Case:
        return Case((answer,), kind, 1, is_final)

    def told(*code: str) -> Answer:
        return as_stream([*begun, told_error(api, *code)])

    found = {
        name: case._replace(answers=tuple(as_streamed(api, one) for one in case.answers))
        for name, case in cases(api).items()
    }
    return found | {
        "dropped in the middle": Case((whole._replace(drop_after=size),), "error", 2),
        "dropped in the middle, then well": Case((whole._replace(drop_after=size), whole), None, 2),
        "silent in the middle": Case((whole._replace(drop_after=size, stall_s=1.5),), "error", 2),
        "silent in the middle, then well": Case(
            (whole._replace(drop_after=size, stall_s=1.5), whole), None, 2
        ),
        "no end": Case((as_stream(begun),), "error", 2),
        "no end, then well": Case((as_stream(begun), whole), None, 2),
        "500, then no end, then 500": Case((error(500), as_stream(begun), error(500)), "error", 2),
        "an error that may pass": Case((told("overloaded_error"), whole), None, 2),
        "an error that stays": Case((told("server_error"),), "error", 2),
        "an error that cannot pass": once(told("invalid_request_error"), "error"),
        "an error of the policy": once(told("content_policy_violation"), "refused"),
        "too long, in a stream": once(
            told("invalid_request_error", "prompt is too long"), "context_too_long"
        ),
        "used up, in a stream": once(told("insufficient_quota"), "error", is_final=True),
        "the key in an error": once(told("invalid_request_error", f"bad {KEY}"), "error"),
        "broken JSON": once(
            as_stream([*begun, event(b'{"choices": [', "message_stop")]), "unparsable"
        ),
        "broken JSON at once": once(as_stream([event(b"{", "message_start")]), "unparsable"),
        "another event": once(as_stream([event({"hello": 1}, "message_start")]), "unparsable"),
        "a number": once(as_stream([event(7, "message_start")]), "unparsable"),
        "a page as a stream": once(
            Answer(b"<html>Sign in</html>", content_type=CONTENT_TYPE), "unparsable"
        ),
        "no event": once(Answer(b"", content_type=CONTENT_TYPE), "unparsable"),
        "a stream called a page": once(whole._replace(content_type="text/html"), "unparsable"),
        "no stream": once(Answer(saying(api)), None),
        "junk after the end": once(as_stream([*events, event(b"{", "message_stop")]), None),
        "dropped after the end": once(
            as_stream([*events, b": more\n" * 9], drop_after=len(b"".join(events))), None
        ),
    }


STREAM_TABLE = [
    pytest.param(api, case, id=f"{api}: {name}")
    for api in APIS
    for name, case in stream_cases(api).items()
]


def complete(name: str, **options: Any) -> Reply:
    async def work() -> Reply:
        model = chat_model(name, **options)
        try:
            return await model.complete(CONTEXT, tools=TOOLS, settings=Settings())
        finally:
            await model.close()  # type: ignore[union-attr]  # no recorded model

    return asyncio.run(work())


@pytest.mark.parametrize(("api", "case"), TABLE)
def test_what_an_endpoint_does_ends_as_the_right_kind(
    api: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(api, case, monkeypatch, stream=False)


@pytest.mark.parametrize(("api", "case"), STREAM_TABLE)
def test_what_a_streaming_endpoint_does_ends_as_the_right_kind(
    api: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(api, case, monkeypatch, stream=True)


def check(api: str, case: Case, monkeypatch: pytest.MonkeyPatch, *, stream: bool) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    with scripted_models(lambda _, n: case.answers[min(n, len(case.answers) - 1)]) as server:
        reply = complete(server.name(api), timeout_s=0.6, retries=1, stream=stream)
    assert (reply.missing and reply.missing.kind, len(server.requests)) == (
        case.kind,
        case.requests,
    )
    assert (reply.missing is not None and reply.missing.is_final) is case.is_final
    assert (reply.turn is not None) or case.kind is not None
    assert KEY not in repr(reply)
    assert any(KEY in value for value in server.requests[0].headers.values())
    assert "\n" not in str(reply.missing)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("api", APIS)
def test_a_reply_that_drips_ends_at_the_deadline(api: str, stream: bool) -> None:
    answer = Answer(saying(api), drip_s=0.05)
    with scripted_models(lambda *_: as_streamed(api, answer) if stream else answer) as server:
        reply = complete(server.name(api), timeout_s=0.4, retries=0, stream=stream)
    assert reply.missing is not None
    assert str(reply.missing) == "error: no reply in time"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("api", APIS)
def test_the_next_try_comes_when_the_endpoint_said(api: str, stream: bool) -> None:
    came: list[float] = []

    def script(_: object, number: int) -> Answer:
        came.append(time.monotonic())
        if number == 0:
            return Answer({"error": {}}, status=429, headers=(("retry-after", "2"),))
        return as_streamed(api, Answer(saying(api))) if stream else Answer(saying(api))

    with scripted_models(script) as server:
        reply = complete(server.name(api), timeout_s=5, retries=1, stream=stream)
    assert reply.missing is None
    assert 1.9 <= came[1] - came[0] < 10


HOURS = {
    "seconds": ("retry-after", "3600"),
    "milliseconds": ("retry-after-ms", "3600000"),
    "a date": ("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT"),
}


@pytest.mark.parametrize("wait", HOURS)
@pytest.mark.parametrize("api", APIS)
def test_an_hour_is_not_waited(api: str, wait: str) -> None:
    answer = Answer({"error": {}}, status=503, headers=(HOURS[wait],))
    begun = time.monotonic()
    with scripted_models(lambda *_: answer) as server:
        reply = complete(server.name(api), timeout_s=5, retries=2)
    assert reply.missing is not None
    assert (reply.missing.kind, len(server.requests)) == ("error", 1)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("api", APIS)
def test_a_wait_that_cannot_be_read_is_a_short_one(api: str) -> None:
    wait = Answer({"error": {}}, status=503, headers=(("retry-after", "a while"),))
    with scripted_models(lambda _, n: Answer(saying(api)) if n else wait) as server:
        assert complete(server.name(api), timeout_s=5, retries=1).missing is None


@pytest.mark.parametrize("api", APIS)
def test_a_call_to_this_machine_takes_no_proxy(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    with scripted_models(lambda *_: Answer(saying(api))) as server:
        assert complete(server.name(api), retries=0).missing is None


@pytest.mark.parametrize("api", APIS)
def test_nobody_there_is_an_error(api: str) -> None:
    with scripted_models(lambda *_: Answer()) as server:
        pass
    reply = complete(server.name(api), timeout_s=2, retries=0)
    assert reply.missing is not None
    assert reply.missing.reason.startswith("no connection: ")


def test_a_key_in_a_reply_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with scripted_models(lambda *_: Answer(saying("openai", f"Your key is {KEY}."))) as server:
        reply = complete(server.name("openai"))
    assert reply.turn is not None
    assert reply.turn.text == "Your key is [key]."
    assert KEY not in json.dumps(reply.raw)
