"""Arguments against their tool's schema: what is found, and that no schema does harm."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.formats.test_context_writing import call, turn
from tracedance_sdk.replay import bad_arguments
from tracedance_sdk.trace import Call, ToolDefinition, Trace

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def problems(schema: Any, *arguments: Any) -> list[Any]:
    trace = Trace(id="t", tools=(ToolDefinition(name="book", parameters=schema),))
    calls = [
        Call(index=n, id=f"c{n}", name="book", arguments=given) for n, given in enumerate(arguments)
    ]
    return [item["problem"] for item in bad_arguments(trace, turn("assistant", calls=calls))]


ROOM = {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        (ROOM, {"room": "blue"}, []),
        (ROOM, {}, ["'room' is a required property @ $"]),
        (ROOM, {"room": ["blue"]}, ["['blue'] is not of type 'string' @ $.room"]),
        ({"enum": [{"a": 1}]}, {"a": 2}, ["{'a': 2} is not one of [{'a': 1}] @ $"]),
        (
            {"additionalProperties": False, "patternProperties": {"^x-": {"type": "integer"}}},
            {"x-a": 1, "y": 2},
            ["'y' is unexpected: additional properties are not allowed @ $"],
        ),
        (
            {"patternProperties": {"^x-": {"type": "integer"}}},
            {"x-a": "one"},
            ["'one' is not of type 'integer' @ $.x-a"],
        ),
        (
            {"additionalProperties": {"type": "string"}},
            {"a": 1},
            ["1 is not of type 'string' @ $.a"],
        ),
        (
            {"properties": {"a": {"uniqueItems": True}}},
            {"a": [{"b": 1}, {"b": 1.0}]},
            ["[{'b': 1}, {'b': 1.0}] has non-unique elements @ $.a"],
        ),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, True]}, []),
        (
            {"properties": {"a": {"pattern": "^[a-z]+$"}}},
            {"a": "A"},
            ["'A' does not match '^[a-z]+$' @ $.a"],
        ),
        (
            {"$schema": DRAFT_7, "properties": {"a": {"items": [{"type": "integer"}]}}},
            {"a": ["x"]},
            ["'x' is not of type 'integer' @ $.a[0]"],
        ),
        (
            {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
            {"a": "x"},
            ["'x' is not of type 'integer' @ $.a"],
        ),
    ],
    ids=lambda value: "" if isinstance(value, list) else None,
)
def test_the_first_problem_of_a_call_is_told(
    schema: Any, arguments: Any, expected: list[str]
) -> None:
    assert problems(schema, arguments) == expected


def test_only_calls_with_a_fault_are_listed_and_not_all_of_them() -> None:
    trace = Trace(id="t", tools=(ToolDefinition(name="book", parameters=ROOM),))
    calls = [call("fly"), call("book", room="blue"), call("book", room=1)]
    assert bad_arguments(trace, turn("assistant", calls=calls)) == [
        {"name": "book", "problem": "1 is not of type 'string' @ $.room"}
    ]
    assert len(problems(ROOM, *[{}] * 300)) == 20
    (long,) = problems(ROOM, {"room": ["x" * 5000]})
    assert len(long) < 250
    assert long.endswith("is not of type 'string' @ $.room")


def doubling(depth: int) -> dict[str, Any]:
    """Return a schema that takes 2 ** depth steps."""
    parts: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{depth}": {"type": "string"}}}


SLOW = {"pattern": "^(a+)+$"}
A_LOT = "a" * 40 + "!"
NO_MORE = {"additionalProperties": False}
SCHEMA_2020 = "https://json-schema.org/draft/2020-12/schema"


HOSTILE: dict[str, tuple[Any, Any]] = {
    "a remote reference": ({"$ref": "http://127.0.0.1:9/schema.json"}, {}),
    "a relative one": ({"$id": "http://127.0.0.1:9/", "$ref": "other.json"}, {}),
    "a file": ({"$ref": "file:///etc/passwd"}, {}),
    "nothing there": ({"$ref": "#/$defs/absent"}, {}),
    "no schema there": ({"title": "x", "$ref": "#/title"}, {}),
    "itself": ({"$ref": "#"}, {}),
    "an unknown type": ({"type": "objekt"}, {}),
    "no number": ({"properties": {"a": {"minimum": "x"}}}, {"a": 1}),
    "doubling": (doubling(60), {}),
    "doubling unevaluated": ({"unevaluatedProperties": False, **doubling(60)}, {"a": 1}),
    "a slow expression": ({"properties": {"a": SLOW}}, {"a": A_LOT}),
    "one in a dialect": ({"properties": {"a": {"$schema": SCHEMA_2020, **SLOW}}}, {"a": A_LOT}),
    "one behind a reference": (
        {"enum": [{"$schema": SCHEMA_2020, "properties": {"a": SLOW}}], "$ref": "#/enum/0"},
        {"a": A_LOT},
    ),
    "a slow name": ({"patternProperties": {"^(a+)+$": {}}}, {A_LOT: 1}),
    "a slow extra": ({"patternProperties": {"^(a+)+$": {}}, **NO_MORE}, {A_LOT: 1}),
    "many items": (
        {"properties": {"a": {"uniqueItems": True}}},
        {"a": [[n, {}] for n in range(20_000)]},
    ),
    "many messages": ({"anyOf": [{"type": "string"}] * 5_000}, {"a": "x" * 100_000}),
    "an overflow": ({"properties": {"a": {"multipleOf": 1e-300}}}, {"a": 1e300}),
    "looking ahead": ({"properties": {"a": {"pattern": "(?=x)y"}}}, {"a": "z"}),
    "a large one": ({"description": "x" * 300_000, **ROOM}, {}),
    "an old draft": ({"$schema": "http://json-schema.org/draft-04/schema#", **ROOM}, {}),
    "a great number": ({"properties": {"a": {"maximum": 1}}}, {"a": 2**70}),
}


@pytest.mark.parametrize(("schema", "arguments"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_schema_neither_reaches_out_nor_takes_long(schema: Any, arguments: Any) -> None:
    start = time.perf_counter()
    problems(schema, arguments)
    assert time.perf_counter() - start < 10


def test_nothing_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        for schema in ({"$ref": url}, {"$id": url, "$ref": "b.json"}, {"$schema": url}):
            assert problems(schema, {}) == []
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


_SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 2},
            {"enum": [1, "a"]},
            {"pattern": "a"},
            {"uniqueItems": True},
            {"additionalProperties": False, "properties": {"a": {}}},
        ]
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner)}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"patternProperties": st.fixed_dictionaries({"b$": inner})}),
    ),
    max_leaves=6,
)
_VALUES = st.recursive(
    st.sampled_from([None, True, 1, 1.0, 2.5, 3, "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner)
    ),
    max_leaves=8,
)


@given(_SCHEMAS, st.dictionaries(st.sampled_from(["a", "b", "c"]), _VALUES))
def test_what_is_in_bounds_is_judged_as_by_the_library(schema: Any, arguments: Any) -> None:
    is_fine = Draft202012Validator(schema).is_valid(arguments)
    assert (problems(schema, arguments) == []) is is_fine
