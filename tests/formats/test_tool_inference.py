"""Definitions worked out from calls: what holds for every call, in whatever parts it is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.support.traces import values
from tracedance_sdk.errors import InvalidJSON, UnsupportedVersion
from tracedance_sdk.formats import ToolShapes
from tracedance_sdk.formats import tool_inference as inference
from tracedance_sdk.trace import UNKNOWN, Agent, Call, Json, Trace, Turn, blob_stub, type_stub

names = st.sampled_from(["pay", "look", "é\u2028", "", "__proto__", "$ref"])
arguments = st.one_of(
    st.just(UNKNOWN),
    values,
    st.dictionaries(st.sampled_from(["a", "b", "c", "$ref", "$id", "type", "", "é"]), values),
)


def run(*calls: tuple[str, Json], agent: str = "agent", requested_by: Any = "agent") -> Trace:
    made = tuple(
        Call(index=index, id=str(index), name=name, arguments=given, requested_by=requested_by)
        for index, (name, given) in enumerate(calls)
    )
    turn = Turn(index=0, role="assistant", origin="agent", calls=made)
    return Trace(id="t", agent=Agent(name=agent), turns=(turn,))


runs = st.builds(
    lambda calls, agent: run(*calls, agent=agent),
    st.lists(st.tuples(names, arguments), max_size=4),
    st.sampled_from(["agent", "other"]),
)


@given(st.lists(runs, max_size=5))
def test_every_call_meets_the_definition_inferred_from_all(traces: list[Trace]) -> None:
    shapes = ToolShapes(traces)
    for trace in traces:
        for call in trace.calls:
            definition = shapes.definition(trace.agent.name, call.name)
            assert definition is not None
            assert definition.origin == "inferred"
            if inference._type(call.arguments) != "any":
                assert definition.parameters is not None
                Draft202012Validator.check_schema(definition.parameters)
                assert Draft202012Validator(definition.parameters).is_valid(call.arguments)


@given(st.lists(runs, max_size=3), st.lists(runs, max_size=3), st.lists(runs, max_size=3))
def test_parts_may_be_joined_in_any_order(
    first: list[Trace], second: list[Trace], third: list[Trace]
) -> None:
    one, two, three = ToolShapes(first), ToolShapes(second), ToolShapes(third)
    whole = ToolShapes([*first, *second, *third])
    assert one.merged(two).merged(three) == one.merged(two.merged(three)) == whole
    assert two.merged(one) == one.merged(two)
    assert one.merged(ToolShapes()) == one
    # Neither part was changed.
    assert (one, two, three) == (ToolShapes(first), ToolShapes(second), ToolShapes(third))


@given(st.lists(runs, max_size=4))
def test_shapes_written_as_json_are_read_back(traces: list[Trace]) -> None:
    shapes = ToolShapes(traces)
    assert ToolShapes.from_dict(json.loads(json.dumps(shapes.to_dict()))) == shapes


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "MOST_ARGUMENTS", 3)
    monkeypatch.setattr(inference, "MOST_TOOLS", 3)
    monkeypatch.setattr(inference, "MOST_AGENTS", 2)


def test_what_is_left_out_beyond_the_bounds_does_not_depend_on_the_order(
    small_bounds: None,
) -> None:
    traces = [
        run((f"tool{n % 7}", {f"arg{n % 11}": n, f"arg{n % 5}": "x"}), agent=f"agent{n % 4}")
        for n in range(60)
    ]
    whole = ToolShapes(traces)
    assert whole == ToolShapes(reversed(traces))
    assert whole == ToolShapes(traces[:20]).merged(ToolShapes(traces[20:]))
    found = list(whole.tools())
    assert len({agent for agent, _ in found}) == 2
    assert max(len([1 for a, _ in found if a == agent]) for agent, _ in found) == 3
    for agent, name in found:
        definition = whole.definition(agent, name)
        assert definition is not None
        assert definition.parameters is not None
        assert len(definition.parameters["properties"]) <= 3


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param(
            [{"a": 1, "b": "x"}, {"a": 2.5}],
            {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "string"}},
                "required": ["a"],
            },
            id="always there is required, whole and broken is a number",
        ),
        pytest.param(
            [{"a": None}, {"a": [1]}],
            {
                "type": "object",
                "properties": {"a": {"type": ["null", "array"]}},
                "required": ["a"],
            },
            id="two types",
        ),
        pytest.param([{}], {"type": "object", "properties": {}}, id="no arguments"),
        pytest.param([UNKNOWN], None, id="arguments never recorded"),
        pytest.param(
            [UNKNOWN, {"a": True}],
            {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
            id="a call without recorded arguments says nothing",
        ),
        pytest.param(["*** Begin"], {"type": "string"}, id="text instead of arguments"),
        pytest.param(
            [{"a": 1}, "x"],
            {
                "type": ["string", "object"],
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
            },
            id="text or arguments",
        ),
        pytest.param(
            [{"a": blob_stub("ab" * 32, 40_000)}, {"a": type_stub("float", "nan")}],
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
            id="values that are elsewhere have no type",
        ),
    ],
)
def test_a_definition_says_what_was_seen(calls: list[Json], expected: Json) -> None:
    shapes = ToolShapes([run(*(("pay", given) for given in calls))])
    definition = shapes.definition("agent", "pay")
    assert definition is not None
    assert definition.parameters == expected
    assert shapes.calls("agent", "pay") == len(calls)
    assert shapes.definition("agent", "never") is None


@pytest.mark.parametrize("requested_by", ["user", "tool"])
def test_calls_that_the_agent_did_not_make_itself_are_not_counted(requested_by: str) -> None:
    assert ToolShapes([run(("pay", {}), requested_by=requested_by)]) == ToolShapes()


def test_names_that_are_too_long_are_left_out() -> None:
    long = "x" * (inference.LONGEST_NAME + 1)
    shapes = ToolShapes([run((long, {}), ("pay", {long: 1, "a": 2})), run(("pay", {}), agent=long)])
    assert list(shapes.tools()) == [("agent", "pay")]
    definition = shapes.definition("agent", "pay")
    assert definition is not None
    assert definition.parameters is not None
    assert list(definition.parameters["properties"]) == ["a"]
    assert shapes.to_dict()["agents"]["agent"]["pay"]["is_cut"]


HEAD = {"format": "tracedance.tool_shapes", "version": 1}


@pytest.mark.parametrize(
    ("document", "error", "message"),
    [
        ([], InvalidJSON, "t: no tool shapes: 'format' is not 'tracedance.tool_shapes'"),
        ({"format": "tracedance.tool_shapes"}, UnsupportedVersion, "t: format version None; "),
        (
            {
                "format": "tracedance.tool_shapes",
                "version": 1,
                "agents": {"a": {"b": {"calls": -1}}},
            },
            InvalidJSON,
            "t: Input should be greater than or equal to 0 @ $.agents.a.b.calls",
        ),
        (
            {**HEAD, "agents": [1]},
            InvalidJSON,
            "t: Input should be a valid dictionary @ $.agents",
        ),
    ],
    ids=["no object", "no version", "a negative count", "a list"],
)
def test_what_is_no_shapes_is_refused_in_one_line(
    document: Json, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        ToolShapes.from_dict(document, where="t")
    assert str(caught.value).startswith(message)
