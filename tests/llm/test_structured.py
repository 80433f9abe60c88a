"""Replies that have to be one JSON object: what is asked of each API, and how replies are read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from tests.llm.contexts import CONTEXT, TOOLS
from tests.support.scripted_models import APIS, Answer, saying, scripted_models
from tracedance_sdk.errors import InvalidOption, Unsendable
from tracedance_sdk.llm import (
    Asker,
    Missing,
    ProviderModel,
    Question,
    Reply,
    ReplyCache,
    ReplySchema,
    Settings,
    chat_model,
    structured_value,
)
from tracedance_sdk.trace import Call, Text, Turn

FIELDS: dict[str, Any] = {
    "reasoning": {"type": "string", "maxLength": 40},
    "score": {"type": "integer", "minimum": 0, "maximum": 5},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["reasoning", "score"],
    "properties": FIELDS,
}
VERDICT = ReplySchema("verdict", SCHEMA, "Give the verdict.")
GOOD = {"reasoning": "It looked.", "score": 4}


def model_of(api: str, url: str = "http://127.0.0.1:1/v1") -> ProviderModel:
    model = chat_model(f"{api}:m@{url}")
    assert isinstance(model, ProviderModel)
    return model


def said(text: str = "", *calls: tuple[str, Any]) -> Reply:
    turn = Turn(
        index=0,
        role="assistant",
        origin="agent",
        content=(Text(text=text),),
        calls=tuple(
            Call(index=n, id=f"c{n}", name=name, arguments=value, bound_by="id")
            for n, (name, value) in enumerate(calls)
        ),
    )
    return Reply(turn, None, {})


ASKED: dict[str, dict[str, Any]] = {
    "openai": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "verdict",
                "strict": True,
                "schema": SCHEMA,
                "description": "Give the verdict.",
            },
        }
    },
    "openai-responses": {
        "text": {
            "format": {
                "type": "json_schema",
                "name": "verdict",
                "strict": True,
                "schema": SCHEMA,
                "description": "Give the verdict.",
            }
        }
    },
    "anthropic": {
        "tools": [{"name": "verdict", "description": "Give the verdict.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    },
}


@pytest.mark.parametrize("api", APIS)
def test_a_schema_adds_these_fields_and_nothing_else(api: str) -> None:
    free, asked = (
        model_of(api).request(CONTEXT, tools=(), settings=Settings(reply_schema=schema))
        for schema in (None, VERDICT)
    )
    assert {k: v for k, v in asked.items() if k not in free} == ASKED[api]
    assert {k: v for k, v in asked.items() if k in free} == free


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("openai", CompletionCreateParamsNonStreaming),
        ("openai-responses", ResponseCreateParamsNonStreaming),
    ],
)
def test_the_sdks_own_types_take_the_fields(api: str, kind: Any) -> None:
    settings = Settings(reply_schema=VERDICT)
    body = model_of(api).request(CONTEXT, tools=(), settings=settings)
    TypeAdapter(kind).validate_python(body)


GOLDEN_HASHES = {
    "openai": "f538443d32272d3af6c77ce3cbc128a87c20ecb033561462539dedc851f7c048",
    "openai-responses": "db781ee61e7aad3de3e5de93565be133da8f937d86c6ce801bfd5b28f551a031",
    "anthropic": "7d013f53875c08be9bb0d1641f81b590d3879ee27453463d58de412d1583c642",
}
"""Of replies that people have paid for; another hash would make them pay again."""


def mark(api: str, settings: Settings, tools: Any = ()) -> str:
    model = model_of(api)
    return model.request_hash(model.request(CONTEXT, tools=tools, settings=settings), settings)


@pytest.mark.parametrize("api", APIS)
def test_the_hash_of_a_request_without_a_schema_never_changes(api: str) -> None:
    settings = Settings(temperature=0.5, seed=3, sample=2)
    assert mark(api, settings, TOOLS) == GOLDEN_HASHES[api]


@pytest.mark.parametrize("api", APIS)
def test_another_schema_or_another_order_of_fields_is_another_request(api: str) -> None:
    turned = {**SCHEMA, "properties": dict(reversed(FIELDS.items()))}
    schemas = [
        None,
        VERDICT,
        VERDICT._replace(name="other"),
        VERDICT._replace(description=""),
        VERDICT._replace(schema=turned),
    ]
    assert len({mark(api, Settings(reply_schema=schema)) for schema in schemas}) == 5


def test_a_schema_beside_tools_is_refused_where_it_cannot_be_expressed() -> None:
    settings = Settings(reply_schema=VERDICT)
    with pytest.raises(Unsendable, match="only where no tools are offered"):
        model_of("anthropic").request(CONTEXT, tools=TOOLS, settings=settings)
    body = model_of("openai").request(CONTEXT, tools=TOOLS, settings=settings)
    assert {"tools", "response_format"} <= body.keys()


BAD_SCHEMAS: dict[str, tuple[ReplySchema, str]] = {
    "a name with a space": (VERDICT._replace(name="a b"), "must be 1 to 64"),
    "no object": (VERDICT._replace(schema={"type": "array"}), "object @ $.type"),
    "no type": (VERDICT._replace(schema={}), "object @ $.type"),
    "no schema": (VERDICT._replace(schema={"type": "objekt"}), "@ $.type"),
    "open": (VERDICT._replace(schema={**SCHEMA, "additionalProperties": True}), "false @ $"),
    "a field left out": (VERDICT._replace(schema={**SCHEMA, "required": ["score"]}), "$.required"),
    "open below": (
        VERDICT._replace(
            schema={
                **SCHEMA,
                "properties": {**FIELDS, "score": {"type": "object", "properties": {}}},
            }
        ),
        "additionalProperties: false @ $.properties.score",
    ),
    "another document": (
        VERDICT._replace(
            schema={**SCHEMA, "properties": {**FIELDS, "score": {"$ref": "http://192.0.2.1/"}}}
        ),
        "another document @ $.properties.score",
    ),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("bad", BAD_SCHEMAS)
def test_a_schema_that_apis_refuse_is_an_error_before_anything_is_sent(api: str, bad: str) -> None:
    schema, wrong = BAD_SCHEMAS[bad]
    with pytest.raises(InvalidOption) as caught:
        model_of(api).request(CONTEXT, tools=(), settings=Settings(reply_schema=schema))
    assert wrong in str(caught.value)
    assert "\n" not in str(caught.value)


TEXT = json.dumps(GOOD)
READ: dict[str, tuple[Reply, str | None]] = {
    "text": (said(TEXT), None),
    "text with space about it": (said(f"\n {TEXT} \n"), None),
    "a code fence": (said(f"```json\n{TEXT}\n```"), None),
    "a fence without a word": (said(f"\n```\n{TEXT}\n```\n"), None),
    "a call": (said("", ("verdict", GOOD)), None),
    "text before a call": (said("Let me see.", ("verdict", GOOD)), None),
    "words about a fence": (said(f"Here:\n```json\n{TEXT}\n```"), "the reply is not JSON: "),
    "two objects": (said(TEXT + TEXT), "the reply is not JSON: "),
    "a field twice": (said('{"reasoning":"a","score":1,"score":5}'), "the reply is not JSON: "),
    "words": (said("8 out of 10"), "the reply is not JSON: '8 out of 10': "),
    "a list": (said("[1]"), "the reply is no JSON object: [1]"),
    "another call": (said("", ("look", GOOD)), "one call of 'verdict' was asked for"),
    "two calls": (said("", ("verdict", GOOD), ("verdict", GOOD)), "one call of 'verdict' was"),
    "too high": (said('{"reasoning":"a","score":9}'), "9 is greater than the maximum of 5 @ $"),
    "a word for a number": (said('{"reasoning":"a","score":"4"}'), "@ $.score"),
    "a truth for a number": (said('{"reasoning":"a","score":true}'), "@ $.score"),
    "no number": (said('{"reasoning":"a","score":NaN}'), "@ $.score"),
    "half a point": (said('{"reasoning":"a","score":4.5}'), "@ $.score"),
    "a field missing": (said("", ("verdict", {"score": 4})), "'reasoning' is a required"),
    "a field too many": (said("", ("verdict", {**GOOD, "more": 1})), "Additional properties"),
    "too long": (said("", ("verdict", {**GOOD, "reasoning": "a\n" * 999})), "is too long @ $"),
}


@pytest.mark.parametrize("name", READ)
def test_an_object_or_the_reason_why_there_is_none(name: str) -> None:
    reply, wrong = READ[name]
    found = structured_value(reply, VERDICT)
    if wrong is None:
        assert found == GOOD
        return
    assert isinstance(found, Missing)
    assert found.kind == "unparsable"
    assert wrong in found.reason
    assert "\n" not in found.reason
    assert len(found.reason) < 400


def test_a_missing_reply_stays_missing_for_its_own_reason() -> None:
    missing = Missing("refused", "I will not.")
    assert structured_value(said(TEXT)._replace(missing=missing), VERDICT) is missing


@given(
    st.builds(lambda a, b: {"reasoning": a, "score": b}, st.text(max_size=40), st.integers(0, 5))
)
def test_whatever_meets_the_schema_is_read_as_it_is(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    for reply in (said(text), said(f"```\n{text}\n```"), said("", ("verdict", value))):
        assert structured_value(reply, VERDICT) == value


@given(st.text(max_size=80))
def test_whatever_text_comes_is_an_object_or_unparsable(text: str) -> None:
    found = structured_value(said(text), VERDICT)
    assert isinstance(found, Missing)
    assert found.kind == "unparsable"


def verdict_of(api: str) -> Any:
    """Return the reply of an endpoint that was asked for a verdict."""
    if api == "anthropic":
        return saying(api, "Well.", ("verdict", TEXT), end="tool_use")
    return saying(api, TEXT)


@pytest.mark.parametrize("api", APIS)
def test_a_verdict_comes_through_the_sdk_and_from_the_cache(api: str, tmp_path: Path) -> None:
    question = Question(CONTEXT, (), Settings(reply_schema=VERDICT))

    async def ask(name: str, cache: ReplyCache | None) -> Reply:
        asker = Asker(chat_model(name), cache=cache)
        try:
            return await asker.ask(question)
        finally:
            await asker.close()

    with scripted_models(lambda *_: Answer(verdict_of(api))) as server:
        cache = ReplyCache(tmp_path, server.name(api))
        fresh, cached = (asyncio.run(ask(server.name(api), cache)) for _ in range(2))
    recorded = asyncio.run(ask(f"recorded:{tmp_path}", None))
    assert [structured_value(reply, VERDICT) for reply in (fresh, cached, recorded)] == [GOOD] * 3
    assert [fresh.cached, cached.cached, recorded.cached] == [False, True, True]
    (request,) = server.requests
    assert {key: request.body[key] for key in ASKED[api]} == ASKED[api]


@pytest.mark.parametrize(
    ("api", "end"),
    [("openai", "length"), ("openai-responses", "max_output_tokens"), ("anthropic", "max_tokens")],
)
def test_a_verdict_that_was_cut_off_is_none(api: str, end: str) -> None:
    body = saying(api, None, ("verdict", TEXT), end=end)
    reply = model_of(api).read(body)
    found = structured_value(reply, VERDICT)
    assert isinstance(found, Missing)
    assert found.kind == "cut_off"
