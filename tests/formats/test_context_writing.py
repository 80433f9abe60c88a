"""Contexts for models, as three APIs want them: golden files, properties, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.support.traces import clean_texts, objects, turns, values
from tracedance_sdk.errors import Unsendable
from tracedance_sdk.formats import (
    Document,
    anthropic_request,
    chat_request,
    responses_request,
    trace_from_messages,
    traces_from_anthropic,
    traces_from_responses,
)
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Media,
    Reasoning,
    Result,
    Text,
    ToolDefinition,
    Trace,
    Turn,
)

GOLDEN = Path(__file__).parent / "golden_contexts"
CANARY = "THE-CANARY-SINGS"
Writer = Callable[..., dict[str, Any]]
WRITERS: dict[str, Writer] = {
    "chat": chat_request,
    "responses": responses_request,
    "anthropic": anthropic_request,
}
PNG = Media(modality="image", mime_type="image/png", data="aGk=")
SCHEMA = {
    "type": "object",
    "properties": {"x-é": {"$ref": "#/$defs/n"}, "y": {"enum": [1, "a", None]}},
    "$defs": {"n": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


def turn(role: Any, *content: str | Text | Media | Reasoning, calls: Any = ()) -> Turn:
    parts = tuple(Text(text=item) if isinstance(item, str) else item for item in content)
    origin = "agent" if role == "assistant" else "human"
    return Turn(index=0, role=role, origin=origin, content=parts, calls=tuple(calls))  # type: ignore[arg-type]  # a literal by its values


def call(name: str, content: Any = "ok", /, *, id: str = "c", ok: Any = None, **given: Any) -> Call:  # noqa: A002 - the field's name
    result = Result(content=content, ok=ok, **given.pop("result", {}))
    return Call(index=0, id=id, name=name, arguments=given, result=result)


def numbered(*found: Turn) -> tuple[Turn, ...]:
    return tuple(item.model_copy(update={"index": index}) for index, item in enumerate(found))


RICH = numbered(
    turn("system", "Be careful."),
    turn("user", "Compare these.", PNG),
    turn("user", ""),
    turn(
        "assistant",
        Reasoning(text=CANARY),
        "Two looks.",
        calls=[
            call("look", {"n": 1, "ok": True}, id="a b", at="left"),
            call("look", "gone", id="a b", ok=False, at="right"),
            call("mine", id="u", hidden=1).model_copy(update={"requested_by": "user"}),
        ],
    ),
    turn("assistant", Reasoning(text=CANARY)),
    turn("assistant", calls=[call("look", None, id="a b", at="up")]),
    turn("system", "The user is in a hurry."),
    turn("user", "And?", " \n"),
    turn(
        "assistant",
        "Once more.",
        calls=[call("pay", UNKNOWN, result={"error": {"type": "Denied", "message": "no"}})],
    ),
)
TOOLS = (
    ToolDefinition(name="look", description="Looks.", parameters=SCHEMA),
    ToolDefinition(name="pay"),
)


@pytest.mark.parametrize("api", WRITERS)
def test_a_rich_context_is_written_as_the_golden_file_says(api: str) -> None:
    request = WRITERS[api](RICH, system_prompt="You compare.", tools=TOOLS)
    golden = json.loads((GOLDEN / f"{api}.json").read_text(encoding="utf-8"))
    assert request == golden
    assert CANARY not in json.dumps(request)


@pytest.mark.parametrize("api", WRITERS)
def test_schemas_of_tools_are_sent_unchanged(api: str) -> None:
    tool = WRITERS[api]([turn("user", "Hi")], tools=TOOLS[:1])["tools"][0]
    tool = tool.get("function", tool)
    assert tool.get("parameters", tool.get("input_schema")) == SCHEMA


@given(st.lists(turns, max_size=3), st.sampled_from(sorted(WRITERS)))
def test_whatever_a_trace_holds_is_written_whole_or_refused(found: list[Turn], api: str) -> None:
    marked = [
        item.model_copy(
            update={
                "content": tuple(
                    part.model_copy(update={"text": CANARY})
                    if isinstance(part, Reasoning)
                    else part
                    for part in item.content
                )
            }
        )
        for item in found
    ]
    try:
        request = WRITERS[api](numbered(*marked))
    except Unsendable:
        return
    assert CANARY not in json.dumps(request)
    asked, answered = _ids(api, request)
    assert asked == answered
    assert len(set(asked)) == len(asked)


def _ids(api: str, request: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the ids of calls and of results, each in order."""
    if api == "responses":
        items = request["input"]
        kinds = ("function_call", "function_call_output")
        found = [[i["call_id"] for i in items if i.get("type") == kind] for kind in kinds]
        return found[0], found[1]
    messages = request["messages"]
    if api == "chat":
        asked = [c["id"] for m in messages for c in m.get("tool_calls", ())]
        return asked, [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
    return (
        [b["id"] for b in blocks if b["type"] == "tool_use"],
        [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"],
    )


words = clean_texts.filter(str.strip)
spoken_calls = st.builds(
    lambda name, call_id, given, content: Call(
        index=0, id=call_id, name=name, arguments=given, result=Result(content=content)
    ),
    st.sampled_from(["look", "pay"]),
    st.sampled_from(["c1", "c2", "odd id!"]),
    objects,
    st.one_of(words, values.filter(lambda value: not isinstance(value, str | type(None)))),
)
spoken_turns = st.one_of(
    st.builds(lambda text: turn("user", text), words),
    st.builds(
        lambda texts, calls: turn("assistant", *texts, calls=calls),
        st.lists(words, min_size=1, max_size=2),
        st.lists(spoken_calls, max_size=2),
    ),
)


@given(st.lists(spoken_turns, max_size=4), words, words, st.sampled_from(sorted(WRITERS)))
def test_what_is_written_is_read_back_the_same(
    middle: list[Turn], first: str, last: str, api: str
) -> None:
    context = numbered(turn("user", first), *middle, turn("user", last))
    try:
        request = WRITERS[api](context, system_prompt="Be brief.")
    except Unsendable as error:
        assume(error.kind != "content elsewhere")
        raise
    trace = _read(api, request)
    assert trace.system_prompt == "Be brief."
    assert _told(trace.turns) == _told(context)


def _read(api: str, request: dict[str, Any]) -> Trace:
    if api == "chat":
        return trace_from_messages(request["messages"], trace_id="t")
    read = traces_from_anthropic if api == "anthropic" else traces_from_responses
    (trace,) = read([Document({"model": "m", **request}, None)], Path("request.json"))
    assert isinstance(trace, Trace)
    return trace


def _told(found: tuple[Turn, ...]) -> list[Any]:
    """Return who said what and which calls gave what, one role's turns in a row as one."""
    told: list[Any] = []
    for item in found:
        texts = [part.text for part in item.content if isinstance(part, Text)]
        calls = [(c.name, c.arguments, _as_text(c)) for c in item.calls]
        if told and told[-1][0] == item.role and not told[-1][2]:
            told[-1] = (item.role, told[-1][1] + texts, calls)
        else:
            told.append((item.role, texts, calls))
    return told


def _as_text(found: Call) -> str:
    assert found.result is not None
    content = found.result.content
    if isinstance(content, str):
        return content
    return orjson.dumps(content).decode()


def held(*content: Any) -> tuple[Turn, ...]:
    return numbered(turn("user", "Hi"), turn("assistant", "So", calls=[call("look", *content)]))


SOUND = Media(modality="audio", mime_type="audio/wav", data="aGk=")
FILM = Media(modality="video", mime_type="video/mp4", data="aGk=")
LOST = Media(modality="image", uri="file:///a.png")
NO_RESULT = call("look").model_copy(update={"result": None})
NO_ARGUMENTS = call("look").model_copy(update={"arguments": UNKNOWN})
UNREADABLE = NO_ARGUMENTS.model_copy(update={"raw_arguments": "{"})
BLOB = {"$blob": "sha256:" + "0" * 64, "$size": 9}
PICTURE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]
REFUSED = [
    ("empty context", (), sorted(WRITERS)),
    ("empty context", (turn("system", "Be brief."), turn("user", " ")), sorted(WRITERS)),
    ("result missing", (turn("user", "a"), turn("assistant", calls=[NO_RESULT])), sorted(WRITERS)),
    ("result missing", held(UNKNOWN), sorted(WRITERS)),
    (
        "arguments missing",
        (turn("user", "a"), turn("assistant", calls=[NO_ARGUMENTS])),
        sorted(WRITERS),
    ),
    (
        "arguments are no object",
        (turn("user", "a"), turn("assistant", calls=[UNREADABLE])),
        sorted(WRITERS),
    ),
    ("content elsewhere", held(BLOB), sorted(WRITERS)),
    ("content elsewhere", (turn("user", LOST),), sorted(WRITERS)),
    ("media", (turn("user", FILM),), sorted(WRITERS)),
    ("media", (turn("user", SOUND),), ["anthropic", "responses"]),
    ("media", (turn("user", "a"), turn("assistant", PNG), turn("user", "b")), sorted(WRITERS)),
    ("media", held(PICTURE), ["chat"]),
    ("begins with the assistant", (turn("assistant", "a"), turn("user", "b")), ["anthropic"]),
    ("ends with the assistant", (turn("user", "a"), turn("assistant", "b")), ["anthropic"]),
]


@pytest.mark.parametrize(
    ("kind", "context", "apis"),
    REFUSED,
    ids=[f"{n}: {row[0]}" for n, row in enumerate(REFUSED)],
)
def test_what_an_api_cannot_express_is_refused(
    kind: str, context: tuple[Turn, ...], apis: list[str]
) -> None:
    for api, write in WRITERS.items():
        if api in apis:
            with pytest.raises(Unsendable) as caught:
                write(numbered(*context))
            assert caught.value.kind == kind
        else:
            assert write(numbered(*context))


@pytest.mark.parametrize(
    ("kind", "tool", "apis"),
    [
        ("name of a tool", ToolDefinition(name="a.b"), sorted(WRITERS)),
        ("name of a tool", ToolDefinition(name="n" * 65), ["chat", "responses"]),
        ("schema of a tool", ToolDefinition(name="a", parameters={"anyOf": []}), ["anthropic"]),
        (
            "hosted tool",
            ToolDefinition.model_validate({"name": "web", "definition": {"type": "web_search"}}),
            sorted(WRITERS),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_tool_that_an_api_cannot_be_told_of_is_refused(
    kind: str, tool: ToolDefinition, apis: list[str]
) -> None:
    for api, write in WRITERS.items():
        if api in apis:
            with pytest.raises(Unsendable) as caught:
                write([turn("user", "Hi")], tools=[tool])
            assert caught.value.kind == kind
        else:
            assert write([turn("user", "Hi")], tools=[tool])


def test_a_picture_in_a_result_is_shown_where_that_can_be() -> None:
    blocks = anthropic_request(held(PICTURE))["messages"][-1]["content"][0]["content"]
    assert blocks[0]["source"]["media_type"] == "image/png"
    output = responses_request(held(PICTURE))["input"][-1]["output"]
    assert output[0]["image_url"] == "data:image/png;base64,aGk="


def test_a_list_that_only_looks_like_blocks_is_a_value() -> None:
    flights = [{"type": "flight", "price": 3}]
    assert chat_request(held(flights))["messages"][-1]["content"] == json.dumps(
        flights, separators=(",", ":")
    )


def test_an_opening_stands_before_the_assistant_where_the_api_wants_the_user_first() -> None:
    context = numbered(turn("assistant", "How can I help?"), turn("user", "b"))
    messages = anthropic_request(context, opening="(call begins)")["messages"]
    assert messages[0] == {"role": "user", "content": "(call begins)"}
    assert len(messages) == 3
    assert len(anthropic_request([turn("user", "a")], opening="(call begins)")["messages"]) == 1


@given(st.lists(turns, max_size=3), st.sampled_from(sorted(WRITERS)))
def test_what_is_written_is_of_the_sdks_types(found: list[Turn], api: str) -> None:
    try:
        request = WRITERS[api](numbered(turn("user", "Hi"), *found, turn("user", "So?")))
    except Unsendable:
        return
    of_types(api).validate_python(request.get("messages", request.get("input")))


@cache
def of_types(api: str) -> TypeAdapter[Any]:
    module, name = {
        "chat": ("openai.types.chat", "ChatCompletionMessageParam"),
        "responses": ("openai.types.responses", "ResponseInputItemParam"),
        "anthropic": ("anthropic.types", "MessageParam"),
    }[api]
    of = getattr(pytest.importorskip(module), name)
    return TypeAdapter(list[of])  # type: ignore[valid-type]  # looked up
