"""Where traces are cut, what is whole there, and which tools a model is offered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_context_writing import call, numbered, turn
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import Verdict, evaluate
from tracedance_sdk.llm import Settings
from tracedance_sdk.replay import (
    Cut,
    DecisionPoint,
    Exclusion,
    Sampling,
    ToolLimit,
    decision_points,
    recorded_settings,
    turn_alone,
    unknown_tools,
)
from tracedance_sdk.trace import UNKNOWN, Call, ToolDefinition, Trace, Turn, assess, note

NO_RESULT = call("look").model_copy(update={"result": None})
CUT_SHORT = call("look", result={"truncated": True})


def trace(*turns: Turn, tools: tuple[ToolDefinition, ...] | None = None, **fields: Any) -> Trace:
    offered = tools if tools is not None else (ToolDefinition(name="look", description="Looks."),)
    return assess(Trace(id="t" * 32, turns=numbered(*turns), tools=offered, **fields))


def found(given: Trace, cut: Cut | None = None, tools: ToolLimit = "inferred") -> list[Any]:
    return [
        item.turn if isinstance(item, DecisionPoint) else (item.turn, item.reason)
        for item in decision_points(given, cut, tools=tools)
    ]


TALK = trace(
    turn("user", "a"),
    turn("assistant", calls=[call("look")]),
    turn("assistant", "b", calls=[call("look"), call("look")]),
    turn("user", "c"),
    turn("assistant", "d"),
    turn("user", "thanks"),
)


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (None, [4]),
        (Cut(turn=2), [2]),
        (Cut(turn=3), [(3, "no turn of the model's there")]),
        (Cut(turn=99), [(99, "no turn of the model's there")]),
        (Cut(before_call="look"), [1, 2]),
        (Cut(before_call="fly"), [(None, "no call of that tool")]),
    ],
    ids=["the last", "a turn", "the user's", "beyond", "a call", "another call"],
)
def test_a_trace_is_cut_where_it_is_asked(cut: Cut | None, expected: list[Any]) -> None:
    assert found(TALK, cut) == expected


MADE = turn("assistant", calls=[call("look")]).model_copy(update={"synthetic": True})


@pytest.mark.parametrize(
    ("given", "cut", "told"),
    [
        (TALK, Cut(turn=3), "turn 3 is the user's; the model's turns are 1, 2, 4"),
        (TALK, Cut(turn=9), "turn 9 is not there: the last is 5; the model's turns are 1, 2, 4"),
        (trace(MADE), Cut(turn=0), "turn 0 was made outside any model turn"),
        (Trace(id="t"), Cut(turn=0), "it has no turn"),
        (
            trace(*[turn("assistant", "a"), turn("user", "b")] * 20),
            Cut(turn=1),
            "turn 1 is the user's; the model's turns are "
            + ", ".join(map(str, range(0, 24, 2)))
            + ", ... (20 in all)",
        ),
        (TALK, Cut(before_call="lok"), "the model does not call 'lok'; called are look"),
        (
            trace(turn("user", "a")),
            Cut(before_call="x"),
            "the model does not call 'x'; it calls none",
        ),
    ],
    ids=["the user's", "beyond", "made", "empty", "many", "another call", "no call"],
)
def test_what_is_left_out_says_what_there_is(given: Trace, cut: Cut, told: str) -> None:
    (left_out,) = decision_points(given, cut)
    assert isinstance(left_out, Exclusion)
    assert left_out.detail == told


def test_a_cut_says_one_thing() -> None:
    with pytest.raises(InvalidOption, match="cut once"):
        found(TALK, Cut(turn=1, before_call="look"))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (NO_RESULT, "incomplete: result_missing"),
        (CUT_SHORT, "incomplete: result_truncated"),
    ],
    ids=["missing", "cut short"],
)
def test_what_is_lacking_counts_only_before_the_cut(bad: Call, reason: str) -> None:
    given = trace(
        turn("user", "a"),
        turn("assistant", "b"),
        turn("user", "c"),
        turn("assistant", calls=[bad]),
        turn("assistant", "e"),
    )
    assert found(given, Cut(turn=1)) == [1]
    assert found(given, Cut(turn=3)) == [3]
    assert found(given, Cut(turn=4)) == [(4, reason)]


def test_what_only_the_reader_knows_counts_everywhere() -> None:
    given = assess(TALK, notes=[note("result_truncated", count=1)])
    assert found(given, Cut(turn=1)) == [(1, "incomplete: result_truncated")]


def test_a_context_holds_neither_the_turn_nor_reasoning() -> None:
    (point,) = decision_points(TALK, Cut(turn=2))
    assert isinstance(point, DecisionPoint)
    assert [item.index for item in point.context.turns] == [0, 1]


@pytest.mark.parametrize(
    ("limit", "expected", "origin"),
    [
        ("recorded", [(1, "tools without recorded definitions")], None),
        ("known", [(1, "tools without known definitions")], None),
        ("inferred", [1], "inferred"),
    ],
)
def test_tools_are_no_weaker_than_asked(
    limit: ToolLimit, expected: list[Any], origin: str | None
) -> None:
    given = trace(turn("user", "a"), turn("assistant", calls=[call("zap", x=1)]), tools=())
    assert found(given, tools=limit) == expected
    for item in decision_points(given, tools=limit):
        assert isinstance(item, Exclusion) is (origin is None)
        if isinstance(item, DecisionPoint):
            assert item.tools_origin == origin


def test_a_name_alone_is_no_recorded_definition() -> None:
    named = (ToolDefinition(name="zap"),)
    given = trace(turn("user", "a"), turn("assistant", calls=[call("zap", x=1)]), tools=named)
    assert found(given, tools="recorded") == [(1, "tools without recorded definitions")]
    assert found(given, tools="inferred") == [1]


def test_weaker_tools_of_a_stored_trace_are_left_out() -> None:
    weak = ToolDefinition(name="guess", origin="inferred")
    strong = ToolDefinition(name="look", description="Looks.")
    given = trace(turn("user", "a"), turn("assistant", calls=[call("look")]), tools=(weak, strong))
    (point,) = decision_points(given, tools="recorded")
    assert isinstance(point, DecisionPoint)
    assert [tool.name for tool in point.trace.tools] == ["look"]
    assert point.tools_origin == "recorded"


def test_a_call_that_was_made_up_needs_no_definition_where_some_were_recorded() -> None:
    given = trace(turn("user", "a"), turn("assistant", calls=[call("fly")]))
    assert found(given, tools="recorded") == [1]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, (None, None)),
        ({"temperature": 0, "top_p": 0.5, "top_k": 3}, (0.0, 0.5)),
        ({"temperature": "hot", "top_p": True}, (None, None)),
    ],
    ids=["nothing", "numbers", "no numbers"],
)
def test_recorded_settings_are_taken_over(given: Any, expected: tuple[Any, Any]) -> None:
    own = turn("assistant", "a").model_copy(update={"settings": given})
    settings = recorded_settings(own, Settings(max_output_tokens=9))
    assert (settings.temperature, settings.top_p, settings.max_output_tokens) == (*expected, 9)
    as_recorded = trace(turn("user", "a"), own)
    (point,) = decision_points(as_recorded)
    assert isinstance(point, DecisionPoint)
    sampled = list(Sampling(2, 5, as_recorded=True).of(point))
    assert [(item.sample, item.seed, item.temperature) for item in sampled] == [
        (0, 5, expected[0]),
        (1, 6, expected[0]),
    ]


def test_a_turn_alone_is_graded_without_what_came_before() -> None:
    reply = turn("assistant", "Off I go.", calls=[NO_RESULT, NO_RESULT])
    alone = turn_alone(TALK, reply)
    limits = [(2, Verdict.PASS), (1, Verdict.FAIL)]
    for most, verdict in limits:
        report = evaluate(alone, [{"type": "counts", "of": "look", "max": most}])
        assert report.verdict is verdict
    wants_success = [{"type": "counts", "of": {"action": "look", "success": True}, "min": 1}]
    assert evaluate(alone, wants_success).verdict is Verdict.INCONCLUSIVE
    assert alone.final_state is UNKNOWN


def test_tools_that_were_not_offered_are_named_once() -> None:
    reply = turn("assistant", calls=[call("fly"), call("look"), call("fly"), call("dig")])
    assert unknown_tools(TALK, reply) == ["dig", "fly"]
