"""Asking a model many things: limits, concurrency, the cache, recorded replies, keys."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.llm.contexts import CONTEXT, TOOLS
from tests.support.scripted_models import APIS, Answer, ScriptedModels, saying, scripted_models
from tracedance_sdk.errors import InvalidOption, UnreadableFile
from tracedance_sdk.llm import (
    Asker,
    Budget,
    Context,
    Limits,
    Price,
    Question,
    Reply,
    ReplyCache,
    Settings,
    Spending,
    chat_model,
)
from tracedance_sdk.trace import ToolDefinition, Turn, Usage

PRICE = Price(1000.0, 10_000.0)
"""Of the scripted usage, 100 and 10 tokens: 20 cents a reply."""


def questions(number: int) -> list[Question]:
    return [Question(CONTEXT, TOOLS, Settings(sample=sample)) for sample in range(number)]


def ask(server: ScriptedModels, number: int, *, api: str = "openai", **options: Any) -> list[Reply]:
    return ask_all(server, number, api=api, **options)[0]


def ask_all(
    server: ScriptedModels, number: int, *, api: str = "openai", **options: Any
) -> tuple[list[Reply], Asker]:
    model = chat_model(server.name(api), timeout_s=5, retries=0)
    asker = Asker(model, **options)

    async def work() -> list[Reply]:
        found = {n: reply async for n, reply in asker.ask_all(questions(number))}
        await asker.close()
        return [found[n] for n in range(number)]

    return asyncio.run(work()), asker


def kinds(replies: list[Reply]) -> list[str | None]:
    return [reply.missing and reply.missing.kind for reply in replies]


def test_no_more_calls_are_under_way_than_allowed() -> None:
    with scripted_models(lambda *_: Answer(saying("openai"), delay_s=0.05)) as server:
        replies = ask(server, 12, concurrency=3)
    assert kinds(replies) == [None] * 12
    assert server.most_at_once == [3]


def test_a_limit_on_calls_leaves_the_rest_unasked() -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        replies, asker = ask_all(server, 5, concurrency=1, limits=Limits(max_calls=2))
    assert kinds(replies) == [None, None, "not_asked", "not_asked", "not_asked"]
    assert (len(server.requests), asker.spending.sent) == (2, 2)
    assert str(replies[-1].missing) == "not_asked: the limit of 2 calls was reached"


def test_a_limit_on_cost_ends_when_it_is_spent() -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        limits = Limits(max_cost_usd=0.5)
        replies, asker = ask_all(server, 5, concurrency=1, limits=limits, price=PRICE)
    assert kinds(replies) == [None, None, None, "not_asked", "not_asked"]
    assert asker.spending.cost_usd == pytest.approx(0.6)
    assert replies[0].usage == Usage.model_validate(
        {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.2, "total_tokens": 110}
    )


def test_calls_under_way_count_towards_the_limit_on_cost() -> None:
    spending = Spending(Budget(Limits(max_cost_usd=1.0)), PRICE)
    assert spending.expected(400) == pytest.approx(0.1)
    assert spending.start(0.1) is None
    spending.finish(Usage(cost_usd=0.2), 0.1)
    assert spending.expected(400) == pytest.approx(0.2)
    assert [spending.start(0.2) is None for _ in range(6)] == [True] * 4 + [False] * 2
    spending.finish(None, 0.2)
    assert spending.start(0.2) is None
    assert (spending.sent, spending.unpriced) == (6, 1)


NO_AMOUNTS = pytest.mark.parametrize(
    "stated", [-5, -1e308, float("nan"), float("inf"), "3", True, [1]], ids=repr
)


@NO_AMOUNTS
def test_a_stated_cost_that_is_no_amount_never_lifts_a_limit(stated: Any) -> None:
    odd = Usage.model_construct(cost_usd=stated, input_tokens=100, output_tokens=10)
    spending = Spending(Budget(Limits(max_cost_usd=0.5)), PRICE)
    sent = 0
    while spending.start() is None:
        sent += 1
        spending.finish(spending.priced(odd))
    assert (sent, spending.odd_costs, spending.unpriced) == (3, 3, 0)
    assert spending.cost_usd == pytest.approx(0.6)

    without = Spending(Budget(), None)
    usage = without.priced(odd)
    assert usage is not None
    assert usage.cost_usd is None
    without.finish(usage)
    assert (without.cost_usd, without.odd_costs, without.unpriced) == (0.0, 1, 1)


@pytest.mark.parametrize("stated", [-5, "3", True, [1], None], ids=repr)
def test_a_cost_in_the_reply_itself_never_lifts_a_limit(stated: Any, tmp_path: Path) -> None:
    body = saying("openai")
    body["usage"] |= {"cost_usd": stated, "cost": stated}
    limits = Limits(max_cost_usd=0.5)
    with scripted_models(lambda *_: Answer(body)) as server:
        for sent in (3, 6):
            cache = ReplyCache(tmp_path, server.name("openai"))
            replies, asker = ask_all(
                server, 6, concurrency=1, limits=limits, price=PRICE, cache=cache
            )
            told = [reply.usage.cost_usd for reply in replies if reply.usage is not None]
            assert told == [pytest.approx(0.2)] * sent
            assert len(server.requests) == sent
            assert asker.spending.cost_usd == pytest.approx(0.6)


UNKNOWN_COSTS: dict[str, Any] = {
    "no usage": None,
    "below nothing": {"prompt_tokens": -5, "completion_tokens": 1},
    "400 digits": {"prompt_tokens": int("9" * 400), "completion_tokens": 1},
    "half of it": {"prompt_tokens": 5},
    "text": {"prompt_tokens": "5", "completion_tokens": "1"},
    "no number": {"prompt_tokens": float("nan"), "completion_tokens": 1},
}
BLIND = (
    "not_asked: stopped, as the cost is limited and that of a reply is not known: its usage is "
    "missing or cannot be read"
)


@pytest.mark.parametrize("usage", UNKNOWN_COSTS.values(), ids=UNKNOWN_COSTS)
def test_a_reply_of_unknown_cost_ends_a_run_whose_cost_is_limited(usage: Any) -> None:
    body = saying("openai") | {"usage": usage}
    with scripted_models(lambda *_: Answer(body)) as server:
        limits = Limits(max_cost_usd=0.5)
        replies = ask(server, 6, concurrency=1, limits=limits, price=PRICE)
        assert {str(reply.missing) for reply in replies[1:]} == {BLIND}
        assert len(server.requests) == 1
        ask(server, 6, concurrency=1, limits=Limits(max_calls=6), price=PRICE)
        assert len(server.requests) == 7


def test_a_call_that_may_be_billed_counts_towards_the_limit_on_cost() -> None:
    drops = Answer(saying("openai"), drop_after=10)
    with scripted_models(lambda *_: drops) as server:
        limits = Limits(max_cost_usd=0.5)
        replies = ask(server, 8, concurrency=1, limits=limits, price=PRICE)
    # The input is some 600 bytes, or 15 cents.
    assert kinds(replies) == ["error"] * len(server.requests) + ["not_asked"] * (8 - 4)
    assert str(replies[-1].missing) == "not_asked: the limit of $0.50 was reached"


@pytest.mark.parametrize("status", [500, 429, 400])
def test_a_call_that_an_endpoint_refuses_costs_nothing(status: int) -> None:
    with scripted_models(lambda *_: Answer({"error": {"message": "no"}}, status)) as server:
        limits = Limits(max_cost_usd=0.5)
        replies = ask(server, 8, concurrency=1, limits=limits, price=PRICE)
    assert kinds(replies) == ["error"] * 8


def test_a_huge_stated_cost_ends_it_and_sums_stay_finite() -> None:
    spending = Spending(Budget(Limits(max_cost_usd=5.0)), PRICE)
    for _ in range(2):
        spending.finish(spending.priced(Usage(cost_usd=1.7e308)))
    assert 5.0 < spending.cost_usd < 1e13
    assert str(spending.start()) == "not_asked: the limit of $5.00 was reached"


@pytest.mark.parametrize("tokens", [(-5, 1), (1, -5)])
def test_tokens_below_nothing_have_no_price(tokens: tuple[int, int]) -> None:
    assert PRICE.cost(Usage(input_tokens=tokens[0], output_tokens=tokens[1])) is None


def test_several_models_spend_from_one_budget() -> None:
    budget = Budget(Limits(max_calls=3, max_cost_usd=1.0))
    cheap, dear = Spending(budget, PRICE), Spending(budget, PRICE)
    assert [cheap.start(), dear.start(0.3)] == [None, None]
    dear.finish(Usage(cost_usd=0.9), 0.3)
    assert cheap.start(0.2) is None
    barred = [spending.start() for spending in (cheap, dear)]
    assert [str(missing) for missing in barred] == [
        "not_asked: the limit of 3 calls was reached"
    ] * 2
    assert (cheap.sent, dear.sent, budget.sent, budget.cost_usd) == (2, 1, 3, 0.9)
    assert budget.reserved_usd == pytest.approx(0.2)
    with pytest.raises(InvalidOption, match="either limits or a budget"):
        Asker(chat_model("openai:local@http://127.0.0.1:1/v1"), limits=Limits(), budget=budget)


def test_even_the_first_calls_stay_near_the_limit_on_cost() -> None:
    with scripted_models(lambda *_: Answer(saying("openai"), delay_s=0.05)) as server:
        limits = Limits(max_cost_usd=0.5)
        replies = ask(server, 40, concurrency=20, limits=limits, price=PRICE)
    # The input is some 600 bytes, or 15 cents.
    assert kinds(replies).count(None) <= 5


def test_a_limit_on_cost_needs_a_price() -> None:
    model = chat_model("openai:local@http://127.0.0.1:1/v1")
    with pytest.raises(InvalidOption, match="price of this model is not known"):
        Asker(model, limits=Limits(max_cost_usd=1))


@pytest.mark.parametrize("api", APIS)
def test_a_refused_key_stops_the_run(api: str) -> None:
    with scripted_models(lambda *_: Answer({"error": {}}, status=401)) as server:
        replies = ask(server, 9, api=api, concurrency=2)
    assert kinds(replies)[0] == "error"
    assert kinds(replies)[3:] == ["not_asked"] * 6
    assert len(server.requests) <= 3


@pytest.mark.parametrize("api", APIS)
def test_what_was_paid_for_is_not_paid_for_again(api: str, tmp_path: Path) -> None:
    with scripted_models(lambda _, n: Answer(saying(api, f"reply {n}"))) as server:
        cache = ReplyCache(tmp_path, server.name(api))
        first, _ = ask_all(server, 4, api=api, cache=cache)
        again, asker = ask_all(server, 6, api=api, cache=cache)
    assert len(server.requests) == 6
    assert [reply.turn for reply in again[:4]] == [reply.turn for reply in first]
    assert [reply.cached for reply in again] == [True] * 4 + [False] * 2
    assert (asker.from_cache, asker.spending.sent) == (4, 2)


@pytest.mark.parametrize(
    ("answer", "is_kept"),
    [
        (Answer(saying("openai", None)), True),
        (Answer(saying("openai", "So", end="length")), True),
        (Answer({"error": {"message": "busy"}}, status=500), False),
        (Answer(b"<html>"), False),
        (Answer({"error": {"message": "busy"}}), False),
    ],
    ids=["empty", "cut off", "500", "no JSON", "error as a success"],
)
def test_errors_are_asked_again_and_replies_are_not(
    answer: Answer, is_kept: bool, tmp_path: Path
) -> None:
    with scripted_models(lambda *_: answer) as server:
        cache = ReplyCache(tmp_path, server.name("openai"))
        first = kinds(ask(server, 1, cache=cache))
        assert kinds(ask(server, 1, cache=cache)) == first
    assert len(server.requests) == (1 if is_kept else 2)


def test_other_settings_or_another_model_are_other_requests(tmp_path: Path) -> None:
    model = chat_model("openai:a@http://127.0.0.1:1/v1")
    other = chat_model("openai:b@http://127.0.0.1:1/v1")
    marks = set()
    for each, settings in [
        (model, Settings()),
        (model, Settings(sample=1)),
        (model, Settings(temperature=0.5)),
        (model, Settings(max_output_tokens=9)),
        (other, Settings()),
    ]:
        request = each.request(CONTEXT, tools=TOOLS, settings=settings)  # type: ignore[union-attr]  # no recorded model
        marks.add(each.request_hash(request, settings))  # type: ignore[union-attr]  # no recorded model
    assert len(marks) == 5


def test_a_damaged_reply_is_asked_for_again_and_replaced(tmp_path: Path) -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        cache = ReplyCache(tmp_path, server.name("openai"))
        ask(server, 1, cache=cache)
        (path,) = cache.folder.glob("??/*.json")
        path.write_bytes(path.read_bytes()[:20])
        assert not ask(server, 1, cache=cache)[0].cached
        assert ask(server, 1, cache=cache)[0].cached
    assert len(server.requests) == 2


def test_the_first_of_two_replies_stays(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path, "openai:x")
    mark = "ab" * 32
    cache.put(mark, {"n": 1})
    ReplyCache(tmp_path, "openai:x").put(mark, {"n": 2})
    assert cache.get(mark) == {"n": 1}
    assert [path.name for path in cache.folder.rglob("*.tmp")] == []


def test_recorded_replies_are_those_of_the_very_requests(tmp_path: Path) -> None:
    with scripted_models(lambda _, n: Answer(saying("openai", f"reply {n}"))) as server:
        ask(server, 2, cache=ReplyCache(tmp_path, server.name("openai")), concurrency=1)
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    model = chat_model(f"recorded:{moved}")
    assert model.name == server.name("openai")

    async def work(*asked: Question) -> list[Reply]:
        return [await model.complete(q.context, tools=q.tools, settings=q.settings) for q in asked]

    replies = asyncio.run(work(*questions(3)))
    assert [reply.turn and reply.turn.text for reply in replies] == ["reply 0", "reply 1", None]
    assert replies[2].missing is not None
    assert replies[2].missing.reason.startswith("no reply to request ")


@pytest.mark.parametrize(
    ("name", "offline", "wrong"),
    [
        ("gpt-x", False, "unknown provider 'gpt-x'"),
        ("mistral:x", False, "unknown provider 'mistral'"),
        ("openai:", False, "names no model"),
        ("openai:x", False, "needs a key: set the variable OPENAI_API_KEY"),
        ("openai-responses:x", False, "set the variable OPENAI_API_KEY"),
        ("anthropic:x", False, "set the variable ANTHROPIC_API_KEY"),
        ("openai:x@https://models.example/v1", False, "set the variable OPENAI_API_KEY"),
        ("openai:x@https://models.example/v1", True, "not on this machine"),
        ("anthropic:x", True, "not on this machine"),
        ("openai:x@http://127.0.0.1.example/v1", True, "not on this machine"),
        ("openai:x@http://", False, "names no host"),
        ("openai:x@http://[::1", False, "cannot be read"),
        ("openai:x@http://me:secret@127.0.0.1/v1", False, "holds more than a place"),
        ("openai:x@http://127.0.0.1/v1?key=secret", False, "holds more than a place"),
        ("recorded:", False, "names no folder"),
        ("recorded:nowhere", False, "is no folder with recorded replies"),
    ],
)
def test_a_name_that_cannot_be_used_is_told_in_one_line(
    name: str, offline: bool, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (*KEYS, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises((InvalidOption, OSError)) as caught:
        chat_model(name, offline=offline)
    assert wrong in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
PLANTED = "sk-planted-9876543210"


@pytest.mark.parametrize("api", APIS)
def test_a_key_is_nowhere_but_in_the_request(
    api: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for variable in KEYS:
        monkeypatch.setenv(variable, PLANTED)
    caplog.set_level(logging.DEBUG)
    told = Answer({"error": {"message": f"Bad key {PLANTED}"}}, status=400)
    script = [Answer(saying(api, f"I saw {PLANTED}.")), told, Answer(f"<{PLANTED}>".encode())]
    with scripted_models(lambda _, n: script[n]) as server:
        cache = ReplyCache(tmp_path, server.name(api))
        replies = ask(server, 3, api=api, cache=cache, concurrency=1)
    assert kinds(replies) == [None, "error", "unparsable"]
    assert all(PLANTED in json.dumps(request.headers) for request in server.requests)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))
    assert b"I saw [key]." in kept
    out, err = capfd.readouterr()
    for place in (kept.decode(), repr(replies), caplog.text, out, err):
        assert PLANTED not in place


class Parrot:
    """A model of somebody else's."""

    name = "parrot"

    async def complete(self, context: Context, *, tools: Any, settings: Settings) -> Reply:
        return Reply(context.turns[0], Usage(input_tokens=1, output_tokens=1), None)


@pytest.mark.parametrize("scheme", ["ftp", "file", "HTTP", "ws+tls"])
def test_an_address_of_another_scheme_is_refused(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidOption) as error:
        chat_model(f"openai:m@{scheme}://user:{PLANTED}@x/v1")
    assert str(error.value) == (
        f"the address of 'm' begins with '{scheme}://', which cannot be used; give one with "
        "http:// or https://"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", f"{scheme}://user:{PLANTED}@x/v1")
    with pytest.raises(InvalidOption, match="OPENAI_BASE_URL has to hold an address") as error:
        chat_model("openai:m")
    assert PLANTED not in str(error.value)


def test_any_object_that_completes_is_a_model() -> None:
    asker = Asker(Parrot(), limits=Limits(max_calls=1))
    question = Question(CONTEXT, TOOLS)
    first, second = (asyncio.run(asker.ask(question)) for _ in range(2))
    assert isinstance(first.turn, Turn)
    assert kinds([first, second]) == [None, "not_asked"]


SHARING = """
import asyncio, sys
from pathlib import Path
from tests.llm.contexts import CONTEXT, TOOLS
from tracedance_sdk.llm import Asker, Question, ReplyCache, Settings, chat_model

name, folder = sys.argv[1:]
asker = Asker(chat_model(name, retries=0), cache=ReplyCache(folder, name), concurrency=2)

async def work():
    asked = (Question(CONTEXT, TOOLS, Settings(sample=n)) for n in range(30))
    print(sorted([(n, reply.turn.text) async for n, reply in asker.ask_all(asked)]))
    await asker.close()

asyncio.run(work())
"""


def _process(server: ScriptedModels, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SHARING, server.name("openai"), str(folder)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
        text=True,
    )


def test_two_processes_share_a_cache_and_a_killed_one_loses_nothing(tmp_path: Path) -> None:
    with scripted_models(lambda *_: Answer(saying("openai", "same"), delay_s=0.02)) as server:
        killed = _process(server, tmp_path)
        while len(server.requests) < 8:
            assert killed.poll() is None
        killed.kill()
        killed.communicate()
        kept = len(list(tmp_path.rglob("??/*.json")))
        before = len(server.requests)
        assert before - 2 <= kept + 2
        pair = [_process(server, tmp_path) for _ in range(2)]
        printed = [process.communicate(timeout=60)[0] for process in pair]
        assert printed[0] == printed[1] != ""
        paid = len(server.requests)
        last = _process(server, tmp_path)
        assert last.communicate(timeout=60)[0] == printed[0]
    assert len(server.requests) == paid
    assert paid - before == 30 - kept
    assert len(list(tmp_path.rglob("??/*.json"))) == 30


@pytest.mark.parametrize("api", APIS)
def test_the_same_question_asked_at_once_is_paid_for_once(api: str, tmp_path: Path) -> None:
    async def work() -> list[Reply]:
        model = chat_model(server.name(api))
        askers = [Asker(model, cache=ReplyCache(tmp_path, model.name)) for _ in range(2)]
        asked = [asker.ask(Question(CONTEXT, TOOLS)) for asker in askers * 3]
        replies = await asyncio.gather(*asked)
        await model.close()  # type: ignore[union-attr]  # no recorded model
        return replies

    with scripted_models(lambda _, n: Answer(saying(api, f"reply {n}"), delay_s=0.1)) as server:
        replies = asyncio.run(work())
    assert len(server.requests) == 1
    assert sorted(reply.cached for reply in replies) == [False] + [True] * 5
    assert {reply.turn and reply.turn.text for reply in replies} == {"reply 0"}
    assert not list(tmp_path.rglob("*.claim"))


def test_who_waits_for_a_reply_that_fails_asks_anew(tmp_path: Path) -> None:
    bad = Answer({"error": {"message": "no"}}, status=500, delay_s=0.1)
    with scripted_models(lambda _, n: bad if n == 0 else Answer(saying("openai"))) as server:
        cache = ReplyCache(tmp_path, server.name("openai"))
        model = chat_model(server.name("openai"), retries=0)

        async def work() -> list[Reply]:
            asker = Asker(model, cache=cache)
            replies = await asyncio.gather(*(asker.ask(Question(CONTEXT)) for _ in range(3)))
            await asker.close()
            return replies

        replies = asyncio.run(work())
    assert len(server.requests) == 2
    assert sorted(kinds(replies), key=str) == [None, None, "error"]


def test_a_claim_that_a_killed_process_left_holds_nobody_up(tmp_path: Path) -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        cache = ReplyCache(tmp_path, server.name("openai"))
        ask(server, 1, cache=cache)
        (path,) = cache.folder.rglob("??/*.json")
        path.unlink()
        path.with_name(f".{path.stem}.claim").touch()
        assert kinds(ask(server, 1, cache=cache)) == [None]
    assert len(server.requests) == 2
    assert not list(tmp_path.rglob("*.claim"))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root may write")
def test_nothing_is_paid_for_that_cannot_be_kept() -> None:
    refused = pytest.raises(UnreadableFile, match="cannot be written")
    with scripted_models(lambda *_: Answer(saying("openai"))) as server, refused:
        ask(server, 1, cache=ReplyCache("/proc/nowhere", server.name("openai")))
    assert not server.requests


def test_a_question_is_drawn_only_when_there_is_a_place_for_it() -> None:
    drawn = [0]

    def endless() -> Any:
        while True:
            drawn[0] += 1
            yield Question(CONTEXT, (), Settings(sample=drawn[0]))

    async def work() -> None:
        asker = Asker(Parrot(), concurrency=2)
        replies = asker.ask_all(endless())
        for _ in range(5):
            await anext(replies)
        await replies.aclose()  # type: ignore[attr-defined]  # an async generator

    asyncio.run(work())
    assert drawn[0] <= 7


def test_tools_may_be_none() -> None:
    with scripted_models(lambda *_: Answer(saying("openai"))) as server:
        model = chat_model(server.name("openai"))

        async def work(tools: tuple[ToolDefinition, ...]) -> Reply:
            reply = await model.complete(CONTEXT, tools=tools, settings=Settings())
            await model.close()  # type: ignore[union-attr]  # no recorded model
            return reply

        assert asyncio.run(work(())).missing is None
    assert "tools" not in server.requests[0].body
