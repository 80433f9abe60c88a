"""A reply that has no end, or is far larger than any, is missing and is not kept in memory."""

from __future__ import annotations

import asyncio
import gzip
import json
import time

import pytest

from tests.llm.contexts import CONTEXT, TOOLS
from tests.llm.test_asking import ask, kinds
from tests.support.scripted_models import APIS, Answer, saying, scripted_models
from tracedance_sdk.llm import Settings, chat_model
from tracedance_sdk.llm.reply_size import MOST_BYTES, TOO_LARGE

LARGE = b" " * (MOST_BYTES + 1)
EVENT = b'data: {"id":"' + b"x" * 2**20 + b'"}\n\n'
ANSWERS = {
    "at once": Answer(LARGE),
    "packed": Answer(gzip.compress(LARGE), headers=(("content-encoding", "gzip"),)),
    "without end": Answer(b"{", endless=b" " * 2**20),
    "an error": Answer(LARGE, 400),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_reply_that_is_too_large_is_missing(api: str, answer: Answer) -> None:
    began = time.monotonic()
    with scripted_models(lambda *_: answer) as server:
        (reply,) = ask(server, 1, api=api)
        assert len(server.requests) == 1
    if answer.status == 200:
        assert str(reply.missing) == f"unparsable: {TOO_LARGE}"
    else:
        assert str(reply.missing).startswith("error: HTTP 400")
        assert len(str(reply.missing)) < 400
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", ["text/event-stream", "text/html"])
def test_a_stream_that_has_no_end_is_missing(api: str, kind: str) -> None:
    answer = Answer(b"", endless=EVENT, content_type=kind)
    with scripted_models(lambda *_: answer) as server:
        model = chat_model(server.name(api), timeout_s=20, retries=2, stream=True)
        reply = asyncio.run(model.complete(CONTEXT, tools=TOOLS, settings=Settings()))
        assert len(server.requests) == 1
    assert reply.missing is not None
    assert reply.missing.kind == "unparsable"
    if kind == "text/html":
        assert reply.missing.reason == TOO_LARGE


def test_a_large_reply_within_the_cap_is_read() -> None:
    body = saying("openai", "x" * 2**20)
    packed = gzip.compress(json.dumps(body).encode())
    headers = (("content-encoding", "gzip"),)
    with scripted_models(lambda *_: Answer(packed, headers=headers)) as server:
        (reply,) = ask(server, 1)
    assert kinds([reply]) == [None]
    assert reply.turn is not None
    assert len(reply.turn.text) == 2**20
