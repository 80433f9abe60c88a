"""Where a rebuilt test takes its answers from, rung by rung, and what it may not read."""

from __future__ import annotations

import asyncio

import pytest

from tests.replay.conversations import (
    EFFECTS,
    Failed,
    Step,
    conversation,
    effect_of,
    index_of,
)
from tracedance_sdk.errors import ForbiddenRecording, InvalidOption
from tracedance_sdk.recording import tool
from tracedance_sdk.replay.answers import (
    NOT_RECORDED,
    Answer,
    AnswerSession,
    Ladder,
    MissedCall,
    NearestSimulator,
    Simulated,
    TemplateSimulator,
    nearest_calls,
)
from tracedance_sdk.replay.recordings import Conversation, Shelf
from tracedance_sdk.trace import Result

ORDER = {"order": "W-1001"}
OTHER = {"order": "W-2002"}


def session(own: Conversation, *others: Conversation, **settings: object) -> AnswerSession:
    shelf = Shelf(index_of(own, *others), own.id, excluded_groups={own.group})
    return Ladder(shelf=shelf, effect_of=effect_of, **settings).begin()  # type: ignore[arg-type]


def test_the_same_call_is_answered_as_it_was() -> None:
    own = conversation("a", "g", ("get_order", ORDER, "open"))
    answer = session(own).answer("get_order", {"order": "W-1001"})
    assert (answer.stamp, answer.result.content, answer.is_evidence) == ("same", "open", True)
    assert answer.origin is not None
    assert answer.origin.conversation == "a"


def test_the_kth_call_gets_the_kth_answer_and_then_the_last() -> None:
    steps: list[Step] = [("get_order", ORDER, text) for text in ("open", "packed", "sent")]
    found = session(conversation("a", "g", *steps))
    told = [found.answer("get_order", ORDER).result.content for _ in range(5)]
    assert told == ["open", "packed", "sent", "sent", "sent"]


def test_an_error_is_answered_as_an_error() -> None:
    own = conversation("a", "g", ("get_order", ORDER, Failed("no such order")))
    result = session(own).answer("get_order", ORDER).result
    assert result.ok is False
    assert result.error is not None
    assert result.error.message == "no such order"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"order": "W-1002"}, id="another value"),
        pytest.param({"order": "W-1001", "full": True}, id="one more"),
        pytest.param({}, id="none"),
        pytest.param({"order": ["W-1001"]}, id="another type"),
    ],
)
def test_a_near_miss_never_replays(arguments: dict[str, object]) -> None:
    answer = session(conversation("a", "g", ("get_order", ORDER, "open"))).answer(
        "get_order", arguments
    )
    assert (answer.stamp, answer.miss) == ("failed", "something_new")
    assert answer.result.error is not None
    assert answer.result.error.type == NOT_RECORDED


def test_numbers_that_are_equal_are_the_same_call() -> None:
    own = conversation("a", "g", ("pay", {"amount": 100, "by": "card"}, "paid"))
    assert session(own).answer("pay", {"by": "card", "amount": 100.0}).stamp == "same"
    assert session(own).answer("pay", {"by": "card", "amount": True}).stamp == "failed"


def test_another_conversation_is_borrowed_from_but_none_of_the_own_group() -> None:
    own = conversation("a", "g", ("get_order", ORDER, "open"))
    sibling = conversation("b", "g", ("get_order", OTHER, "CANARY"))
    stranger = conversation("c", "h", ("get_order", OTHER, "sent"))
    answer = session(own, sibling, stranger).answer("get_order", OTHER)
    assert (answer.stamp, answer.result.content) == ("other", "sent")
    assert session(own, sibling).answer("get_order", OTHER).stamp == "failed"


def test_the_shelf_refuses_what_may_not_be_read() -> None:
    own, sibling = conversation("a", "g"), conversation("b", "g", ("get_order", ORDER, "CANARY"))
    shelf = Shelf(index_of(own, sibling), "a", excluded_groups={"g"})
    with pytest.raises(ForbiddenRecording, match="may not read the conversation 'b'"):
        shelf.conversation("b")
    with pytest.raises(ForbiddenRecording, match="'nobody'"):
        shelf.conversation("nobody")
    assert not list(shelf.of_tool("get_order"))
    assert not shelf.permitted
    with pytest.raises(InvalidOption, match="no conversation 'x'"):
        Shelf(index_of(own), "x", excluded_groups=())


def test_a_pure_tool_is_run_and_its_exception_is_its_answer() -> None:
    own = conversation("a", "g")
    pure = {"add": lambda left, right: left + right}
    assert session(own, pure=pure).answer("add", {"left": 1, "right": 2}).result.content == 3
    failed = session(own, pure=pure).answer("add", {"left": 1, "right": "2"})
    assert (failed.stamp, failed.result.ok) == ("pure", False)


@pytest.mark.parametrize("value", [object(), {"found": [object()]}], ids=["an object", "within"])
def test_what_a_pure_tool_returns_and_json_cannot_tell_is_no_answer(value: object) -> None:
    answer = session(conversation("a", "g"), pure={"add": lambda: value}).answer("add", {})
    assert (answer.stamp, answer.miss, answer.is_evidence) == ("failed", "tool_untold", False)
    assert answer.result.error is not None
    assert answer.result.error.type == "NotJson"


def test_of_several_conversations_the_fresh_and_agreed_and_latest_is_borrowed_from() -> None:
    own = conversation("a", "g", begins="2026-03-01T00:00:00Z")
    older = conversation("b", "h", ("get_order", ORDER, "x"), begins="2026-01-01T00:00:00Z")
    newer = conversation("c", "i", ("get_order", ORDER, "y"), begins="2026-02-01T00:00:00Z")
    later = conversation("d", "j", ("get_order", ORDER, "z"), begins="2026-04-01T00:00:00Z")
    answer = session(own, older, newer, later).answer("get_order", ORDER)
    assert (answer.result.content, answer.n_candidates, answer.n_disagreeing) == ("y", 3, 2)
    again = conversation("e", "k", ("get_order", ORDER, "x"), begins="2025-01-01T00:00:00Z")
    assert session(own, older, newer, later, again).answer("get_order", ORDER).result.content == "x"
    first = session(own, older, newer, order="file").answer("get_order", ORDER)
    assert first.result.content == "x"
    written = ("cancel_order", ORDER, "done"), ("get_order", ORDER, "gone")
    stale = conversation("f", "l", *written, begins="2026-02-02T00:00:00Z")
    assert session(own, stale, older).answer("get_order", ORDER).result.content == "x"


OWN: tuple[Step, ...] = (
    ("get_order", ORDER, "open"),
    ("cancel_order", ORDER, "done"),
    ("find_orders", {"of": "ann_lee_1"}, "one"),
)


@pytest.mark.parametrize(
    ("made", "call", "stale", "differs"),
    [
        pytest.param((), ("get_order", ORDER), False, False, id="same history"),
        pytest.param(
            (("cancel_order", ORDER),),
            ("find_orders", {"of": "ann_lee_1"}),
            False,
            False,
            id="same",
        ),
        pytest.param((), ("find_orders", {"of": "ann_lee_1"}), False, True, id="another record"),
        pytest.param((), ("cancel_order", ORDER), False, False, id="first write"),
        pytest.param(
            (("cancel_order", ORDER),), ("cancel_order", ORDER), True, True, id="second write"
        ),
    ],
)
def test_an_answer_is_stale_where_the_same_record_was_written_otherwise(
    made: tuple[tuple[str, dict[str, str]], ...],
    call: tuple[str, dict[str, str]],
    stale: bool,
    differs: bool,
) -> None:
    found = session(conversation("a", "g", *OWN))
    for name, arguments in made:
        found.answer(name, arguments)
    answer = found.answer(*call)
    assert (answer.stale, answer.write_history_differs) == (stale, differs)


def test_a_read_after_a_recorded_write_is_not_answered_as_before_it() -> None:
    found = session(conversation("a", "g", *OWN))
    assert found.answer("cancel_order", ORDER).stamp == "same"
    answer = found.answer("get_order", ORDER)
    assert (answer.stamp, answer.miss) == ("failed", "recording_stale")


def test_a_read_after_a_write_without_an_answer_is_replayed_as_stale() -> None:
    found = session(conversation("a", "g", ("get_order", ORDER, "open")))
    assert found.answer("cancel_order", ORDER).stamp == "failed"
    answer = found.answer("get_order", ORDER)
    assert (answer.stamp, answer.stale, answer.is_evidence) == ("same", True, False)


def test_a_write_that_failed_changes_nothing() -> None:
    own = conversation(
        "a", "g", ("cancel_order", ORDER, Failed("too late")), ("get_order", ORDER, "sent")
    )
    answer = session(own).answer("get_order", ORDER)
    assert (answer.stale, answer.write_history_differs) == (False, True)


def test_a_miss_tells_what_was_lost_from_what_is_new() -> None:
    own = conversation("a", "g", ("get_order", ORDER, None))
    assert session(own).answer("get_order", ORDER).miss == "recording_incomplete"
    assert session(own).answer("get_order", OTHER).miss == "something_new"


def test_misses_name_the_nearest_recordings_when_asked() -> None:
    steps: list[Step] = [
        ("move_order", {"order": "W-1001", "to": "Rome", "fast": True}, "ok"),
        ("move_order", {"order": "W-1001", "to": "Oslo", "fast": False}, "ok"),
        ("move_order", {"order": "W-3003", "to": "Bern", "fast": False}, "ok"),
    ]
    own = conversation("a", "g", *steps)
    wanted = {"order": "W-1001", "to": "Rome", "fast": False}
    answer = session(own, names_nearest=True).answer("move_order", wanted)
    assert [item.differing for item in answer.nearest] == [("fast",), ("to",), ("order", "to")]
    assert session(own).answer("move_order", wanted).nearest == ()
    shelf = Shelf(index_of(own), "a", excluded_groups={"g"})
    assert len(nearest_calls(MissedCall("move_order", wanted), shelf, 2)) == 2


def test_simulated_answers_are_stamped_as_such() -> None:
    record = '{"order": "W-1001", "state": "open", "note": "for W-1001"}'
    own = conversation("a", "g", ("get_order", ORDER, record))
    copied = session(own, simulator=NearestSimulator()).answer("get_order", OTHER)
    assert (copied.stamp, copied.simulator, copied.result.content) == (
        "simulated",
        "nearest",
        record,
    )
    filled = session(own, simulator=TemplateSimulator()).answer("get_order", OTHER)
    assert filled.result.content == '{"order": "W-2002", "state": "open", "note": "for W-2002"}'
    assert not filled.is_evidence
    nothing = session(own, simulator=TemplateSimulator()).answer("find_orders", {})
    assert nothing.stamp == "failed"


class Broken:
    """A simulator that raises."""

    name = "broken"

    def simulate(self, call: MissedCall, shelf: Shelf) -> Simulated | None:
        raise RuntimeError("no")


class Waiting:
    """A simulator that is to be waited for."""

    name = "waiting"

    async def simulate(self, call: MissedCall, shelf: Shelf) -> Simulated | None:
        if call.arguments == OTHER:
            raise RuntimeError("no")
        return Simulated(Result(ok=True, content="made up"))


def test_a_simulator_may_be_waited_for() -> None:
    found = session(conversation("a", "g"), simulator=Waiting())
    answer = asyncio.run(found.answer_async("get_order", ORDER))
    assert (answer.stamp, answer.result.content) == ("simulated", "made up")
    assert asyncio.run(found.answer_async("get_order", OTHER)).stamp == "failed"
    assert len(found.answers) == 2
    with pytest.raises(InvalidOption, match="use answer_async"):
        found.answer("get_order", ORDER)


def test_a_simulator_that_fails_leaves_no_answer() -> None:
    answer: Answer = session(conversation("a", "g"), simulator=Broken()).answer("get_order", ORDER)
    assert answer.stamp == "failed"


def test_a_tool_that_may_write_is_never_run() -> None:
    with pytest.raises(InvalidOption, match="'cancel_order' is not pure"):
        session(conversation("a", "g"), pure={"cancel_order": print})


@tool(effect="write")
def add(left: int, right: int) -> int:
    raise AssertionError("a write ran")


def test_a_function_that_says_it_writes_is_never_run_by_a_pure_name() -> None:
    with pytest.raises(InvalidOption, match="'add' is not pure but 'write'"):
        session(conversation("a", "g"), pure={"add": add})


def test_no_rung_ever_carries_out_a_write() -> None:
    made: list[str] = []

    def tripwire(**arguments: object) -> str:
        made.append(str(arguments))
        return "done"

    pure = {name: tripwire for name, effect in EFFECTS.items() if effect == "pure"}
    found = session(conversation("a", "g", *OWN), pure=pure, simulator=NearestSimulator())
    for name, effect in EFFECTS.items():
        if effect != "pure":
            found.answer(name, ORDER)
    assert made == []
