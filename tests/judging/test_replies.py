"""Thirteen replies of a judge, eleven of them unusable: a missing score is never a number."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.names import short_repr
from tracedance_sdk.errors import InvalidJudgement
from tracedance_sdk.grading import JUDGEMENT_SCHEMA, Judgement, ask_judge, read_judgement
from tracedance_sdk.trace import Call, Trace, Turn

TRACE = Trace(
    id="t",
    turns=(
        Turn(
            index=0,
            role="assistant",
            origin="agent",
            calls=(Call(index=0, id="1", name="open"), Call(index=1, id="2", name="send")),
        ),
    ),
)
GOOD: dict[str, Any] = {
    "score": 0.7,
    "reasoning": "Direct, with one needless step.",
    "strengths": ["found the sheet"],
    "weaknesses": [],
    "issues": [
        {
            "type": "unnecessary_action",
            "severity": "low",
            "action_ids": ["1"],
            "explanation": "opened twice",
        }
    ],
}


def changed(**fields: Any) -> str:
    return json.dumps({**GOOD, **fields})


def without(field: str) -> str:
    return json.dumps({key: value for key, value in GOOD.items() if key != field})


USABLE = {
    "plain": json.dumps(GOOD),
    "fenced, explanation left out": "```json\n"
    + changed(
        score=1,
        issues=[{"type": "other", "severity": "high", "actionIds": ["2"]}],
    )
    + "\n```",
}
NOT_JSON = "the judge's reply is not JSON: "
NO_JUDGEMENT = "the judge's reply is not a judgement: "
UNUSABLE = {
    "empty": ("", "the judge's reply is empty"),
    "prose": (
        "Score: 8/10, good work!",
        f"{NOT_JSON}'Score: 8/10, good work!': Expecting value (line 1, column 1)",
    ),
    "cut off": (
        json.dumps(GOOD)[:40],
        (
            f"""{NOT_JSON}'{{"score": 0.7, "reasoning": "Direct, wit': """
            "Unterminated string starting at (line 1, column 29)"
        ),
    ),
    "no score": (without("score"), f"{NO_JUDGEMENT}Field required @ $.score"),
    "score null": (
        changed(score=None),
        f"{NO_JUDGEMENT}Input should be a valid number, got None @ $.score",
    ),
    "score as text": (
        changed(score="0.7"),
        f"{NO_JUDGEMENT}Input should be a valid number, got '0.7' @ $.score",
    ),
    "score true": (
        changed(score=True),
        f"{NO_JUDGEMENT}Input should be a valid number, got True @ $.score",
    ),
    "score NaN": (
        changed(score=float("nan")),
        f"{NO_JUDGEMENT}Input should be a valid number, got nan @ $.score",
    ),
    "score on another scale": (
        changed(score=8),
        f"{NO_JUDGEMENT}Input should be less than or equal to 1, got 8.0 @ $.score",
    ),
    "two scores": (
        json.dumps(GOOD).replace('"score": 0.7', '"score": 0.1, "score": 0.9'),
        (
            f"""{NOT_JSON}'{{"score": 0.1, "score": 0.9, "reasoning": "Direct, with ...: """
            "the key 'score' stands twice in one object"
        ),
    ),
    "additional property": (
        changed(confidence=0.9),
        f"{NO_JUDGEMENT}Extra inputs are not permitted @ $.confidence",
    ),
}


class Scripted:
    """A judge that always gives the same reply."""

    name = "scripted"

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def judge(self, trace: Trace, spec: object) -> Any:
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply


def test_thirteen_replies_of_which_eleven_are_unusable() -> None:
    assert (len(USABLE), len(UNUSABLE)) == (2, 11)


@pytest.mark.parametrize("label", UNUSABLE)
def test_an_unusable_reply_is_refused_with_a_reason(label: str) -> None:
    reply, reason = UNUSABLE[label]
    with pytest.raises(InvalidJudgement) as caught:
        read_judgement(reply, TRACE)
    assert str(caught.value) == reason


@pytest.mark.parametrize(("label", "score"), list(zip(USABLE, (0.7, 1.0), strict=True)))
def test_a_usable_reply_is_read(label: str, score: float) -> None:
    judgement = read_judgement(USABLE[label], TRACE)
    assert judgement.score == score
    assert isinstance(judgement.score, float)
    jsonschema.validate(json.loads(json.dumps(judgement.to_dict())), JUDGEMENT_SCHEMA)


def test_a_missing_explanation_is_read_as_empty_and_written() -> None:
    judgement = read_judgement(USABLE["fenced, explanation left out"], TRACE)
    assert judgement.to_dict()["issues"] == [
        {"type": "other", "severity": "high", "action_ids": ["2"], "explanation": ""}
    ]


def test_ids_the_trace_does_not_have_are_dropped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    issue = {**GOOD["issues"][0], "action_ids": ["1", "99", "2", "99"]}
    with caplog.at_level(logging.WARNING):
        judgement = read_judgement(changed(issues=[issue]), TRACE)
    assert judgement.issues[0].action_ids == ("1", "2")
    assert caplog.messages == ["the judge named the call '99', which the trace does not have"]


@pytest.mark.parametrize("label", UNUSABLE)
def test_a_judge_with_an_unusable_reply_has_a_missing_score(label: str) -> None:
    reply, reason = UNUSABLE[label]
    answer = asyncio.run(ask_judge(Scripted(reply), TRACE, None))  # type: ignore[arg-type]  # unused
    assert (answer.score, answer.judgement) == (None, None)
    assert answer.missing_reason == reason


@pytest.mark.parametrize(
    "reply",
    [None, [], [GOOD], 0.7, True, b"\xff\xfe\x00", {}, float("nan"), "[" * 5000, {1: 2}, object()],
    ids=short_repr,
)
def test_any_other_thing_a_judge_returns_is_missing_too(reply: object) -> None:
    answer = asyncio.run(ask_judge(Scripted(reply), TRACE, None))  # type: ignore[arg-type]  # unused
    assert answer.score is None
    assert answer.missing_reason
    assert "\n" not in answer.missing_reason


def test_a_judge_that_raises_is_a_missing_score_with_the_type_and_message() -> None:
    judge = Scripted(ConnectionError("no route\nto host"))
    answer = asyncio.run(ask_judge(judge, TRACE, None))  # type: ignore[arg-type]  # unused
    assert answer.missing_reason == (
        "the judge 'scripted' raised ConnectionError: no route to host"
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_interrupt_inside_a_judge_is_not_swallowed(error: BaseException) -> None:
    with pytest.raises(type(error)):
        asyncio.run(ask_judge(Scripted(error), TRACE, None))  # type: ignore[arg-type]  # unused


def test_an_async_judge_is_awaited() -> None:
    class Slow(Scripted):
        def judge(self, trace: Trace, spec: object) -> Any:
            async def answer() -> Any:
                await asyncio.sleep(0)
                return self.reply

            return answer()

    answer = asyncio.run(ask_judge(Slow(GOOD), TRACE, None))  # type: ignore[arg-type]  # unused
    assert answer.score == 0.7


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
issue_replies = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["other", "poor_recovery", "rude"]) | json_values,
        "severity": st.sampled_from(["low", "high", "fatal"]) | json_values,
        "action_ids": st.lists(st.sampled_from(["1", "2", "3"]), max_size=3) | json_values,
        "explanation": st.text(max_size=5) | json_values,
    }
)
replies = st.fixed_dictionaries(
    {
        "score": st.floats(0, 1) | st.sampled_from([0, 1, -0.1, 1.1, True, "1"]) | json_values,
        "reasoning": st.text(max_size=5),
        "strengths": st.lists(st.text(max_size=5), max_size=2),
        "weaknesses": st.lists(st.text(max_size=5), max_size=2),
        "issues": st.lists(issue_replies, max_size=2),
    },
    optional={"note": st.text(max_size=3)},
)


@given(replies)
def test_a_reply_is_read_exactly_when_the_schema_allows_it(reply: dict[str, Any]) -> None:
    before = copy.deepcopy(reply)
    finite = json.loads(json.dumps(reply), parse_constant=str)
    allowed = jsonschema.Draft202012Validator(JUDGEMENT_SCHEMA).is_valid(finite)
    try:
        judgement = read_judgement(reply, TRACE)
    except InvalidJudgement:
        assert not allowed
    else:
        assert allowed
        assert 0 <= judgement.score <= 1
        assert {i for issue in judgement.issues for i in issue.action_ids} <= {"1", "2"}
    assert repr(reply) == repr(before)


@given(st.text() | st.binary())
def test_any_text_is_a_judgement_or_refused(reply: str | bytes) -> None:
    with pytest.raises(InvalidJudgement):
        read_judgement(reply, TRACE)


@given(replies.filter(lambda reply: "note" not in reply))
def test_a_judgement_written_is_read_back_the_same(reply: dict[str, Any]) -> None:
    try:
        judgement = read_judgement(reply, TRACE)
    except InvalidJudgement:
        return
    text = json.dumps(judgement.to_dict())
    assert read_judgement(text, TRACE) == judgement
    assert isinstance(read_judgement(judgement, TRACE), Judgement)
