"""What came after a decision was taken is in no context, by the times that sources tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.behaviors.test_cutting import bash, behavior, cut_at, refused, session
from tests.store.stored import agent, human
from tests.support.claude_code_records import chain, only, reply, use, user
from tests.support.claude_code_records import result as result_of
from tracedance_sdk.behaviors import CutContext, Evidence, Hit, cut
from tracedance_sdk.trace import Trace

HIT = Hit(3, (Evidence(3, 2, "rm -rf build"),))


def at(second: float) -> str:
    return f"2026-03-01T10:00:{second:09.6f}Z"


def timed(**first: Any) -> Trace:
    """Return a run of three turns, 10 seconds apart, call 1 with these fields."""
    calls = (bash("ls", "build"), {**bash("make", "built"), **first})
    return session(
        human("Clean up."),
        agent("I build.", *calls, started_at=at(10)),
        human("Go on.", started_at=at(15)),
        agent("I clear it.", bash("rm -rf build"), started_at=at(20)),
    )


def result(**times: Any) -> dict[str, Any]:
    return {"result": {"ok": True, "content": "built", **times}}


LATE = (
    "turns[1].calls[1], a call of Bash, was answered at 2026-03-01T10:00:26Z, after turn 3 began "
    "at 2026-03-01T10:00:20Z"
)


@pytest.mark.parametrize(
    "fields",
    [
        {"started_at": at(26)},
        {"started_at": at(11), "duration_ms": 15_000},
        {"duration_ms": 16_000},
        result(ended_at=at(26)),
        result(claude_code={"timestamp": at(26)}),
        result(pi={"stored_at": at(26)}),
    ],
    ids=["started", "started and took", "took", "ended", "a log's own time", "stored"],
)
def test_a_result_that_came_after_the_decision_refuses_the_cut(fields: dict[str, Any]) -> None:
    assert refused(cut(timed(**fields), HIT, behavior("action"))) == (3, LATE)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"started_at": at(11), "duration_ms": 9_000},
        {"duration_ms": 1e300},
        result(ended_at=at(25)),
        result(ended_at="at noon", claude_code={"timestamp": 7, "at": None}),
    ],
    ids=["no times", "in time", "no duration that could be", "clocks differ", "no times that are"],
)
def test_a_result_that_came_in_time_or_nobody_knows_when_is_kept(fields: dict[str, Any]) -> None:
    found = cut_at(timed(**fields), HIT, "action")
    assert [call.result is not None for call in found.trace.turns[1].calls] == [True, True]


def test_only_what_is_kept_has_to_be_in_time() -> None:
    trace = timed()
    source = trace.turns[3].calls[0].model_copy(update={"duration_ms": 60_000})
    turns = (*trace.turns[:3], trace.turns[3].model_copy(update={"calls": (source,)}))
    assert isinstance(
        cut(trace.model_copy(update={"turns": turns}), HIT, behavior("action")), CutContext
    )


def test_a_message_that_came_after_the_decision_is_a_leak() -> None:
    trace = session(
        human("Clean up."),
        agent("I look.", bash("ls", "build"), started_at=at(10)),
        human("But keep build.", started_at=at(26)),
        agent("I clear it.", bash("rm -rf build"), started_at=at(20)),
    )
    found = cut(trace, Hit(3, (Evidence(3, 1, "rm -rf build"),)), behavior("action"))
    assert refused(found) == (
        5,
        "turn 2 came at 2026-03-01T10:00:26Z, after turn 3 began at 2026-03-01T10:00:20Z",
    )


@pytest.mark.parametrize("is_late", [False, True])
def test_a_result_that_a_log_of_claude_code_holds_only_later_refuses_the_cut(is_late: bool) -> None:
    """Two calls at once; one is answered when the agent has long gone on."""
    second = result_of("r40" if is_late else "r12", None, "c1", "built")
    log = [
        user("u1", None, "Clean up."),
        reply("a10", None, "m1", use("c0", command="ls"), use("c1", command="make")),
        result_of("r11", None, "c0", "build"),
        reply("a20", None, "m2", use("c2", command="rm -rf build")),
        result_of("r21", None, "c2", ""),
        reply("a50", None, "m3", "Done."),
    ]
    log.insert(5 if is_late else 3, second)
    trace = only(chain(*log))
    (source,) = (turn.index for turn in trace.turns if "rm -rf" in str(turn.calls))
    assert [call.result is None for call in trace.turns[1].calls] == [False, False]
    found = cut(trace, Hit(source, (Evidence(source, 2),)), behavior("action"))
    if is_late:
        check, why = refused(found)
        assert check == 3
        assert "was answered at 2026-01-01T00:00:40Z, after turn" in why
    else:
        assert isinstance(found, CutContext), found
