"""Which recorded answers are of another world than the one at hand: stale ones, lost ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay.conversations import Failed, Step, conversation, index_of, trace_of
from tracedance_sdk.replay.answers import AnswerSession, Ladder
from tracedance_sdk.replay.derivation import RuleBook
from tracedance_sdk.replay.recordings import (
    Conversation,
    Kind,
    Meant,
    Named,
    Shelf,
    changed_by,
    conversation_of,
    subjects_of,
)
from tracedance_sdk.trace import Effect

WRITING = ("cancel", "book", "set", "add", "create", "checkout", "move")


def effect_of(name: str) -> Effect:
    """Return what a tool does, by the beginning of its name."""
    return "write" if name.rpartition("__")[2].startswith(WRITING) else "read"


def session(own: Conversation, *others: Conversation, derives: bool = False) -> AnswerSession:
    index = index_of(own, *others)
    shelf = Shelf(index, own.id, excluded_groups={own.group})
    rules = RuleBook(index, effect_of) if derives else None
    return Ladder(shelf=shelf, effect_of=effect_of, rules=rules).begin()


def recorded(*steps: Step, name: str = "a") -> Conversation:
    return conversation_of(trace_of(name, name, *steps), effect_of)


def steps(answers: list[Any]) -> list[Step]:
    return [("get_job", {"job": "J-1001"}, answer) for answer in answers]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        pytest.param(
            [None, "running", "done"], [None, "running", "done", "done"], id="the first was lost"
        ),
        pytest.param(
            ["queued", None, "done"], ["queued", None, "done", "done"], id="the second was lost"
        ),
        pytest.param(
            ["queued", "running", None], ["queued", "running", None, None], id="the last was lost"
        ),
        pytest.param([None, None], [None, None, None], id="all were lost"),
        pytest.param(["queued", None, None, "done"], ["queued", None, None, "done"], id="two"),
    ],
)
def test_the_answer_to_a_call_is_not_that_to_a_later_one(
    answers: list[Any], told: list[Any]
) -> None:
    found = session(recorded(*steps(answers)))
    for expected in told:
        answer = found.answer("get_job", {"job": "J-1001"})
        if expected is None:
            assert (answer.stamp, answer.miss) == ("failed", "recording_incomplete")
        else:
            assert (answer.stamp, answer.result.content) == ("same", expected)


def test_what_was_lost_here_may_be_told_by_another_conversation_at_that_place() -> None:
    own = recorded(*steps(["queued", None]))
    other = recorded(*steps(["queued", "running"]), name="b")
    lost_too = recorded(*steps([None, None, "CANARY"]), name="c")
    found = session(own, lost_too, other)
    told = [found.answer("get_job", {"job": "J-1001"}) for _ in range(2)]
    assert [item.stamp for item in told] == ["same", "other"]
    assert (told[1].result.content, told[1].n_candidates) == ("running", 1)


def test_a_write_whose_answer_was_lost_may_have_changed_the_record_that_was_read() -> None:
    read: Step = ("get_order", {"order": "W-1001"}, {"order": "W-1001", "total": 7})
    own = recorded(read, ("move_order", {"order": "W-1001"}, None), read)
    found = session(own)
    assert found.answer("get_order", {"order": "W-1001"}).stale is False
    # The second one was recorded after a write that was not made in this run.
    assert found.answer("get_order", {"order": "W-1001"}).stale is True


@pytest.mark.parametrize(
    ("write", "read", "stale"),
    [
        pytest.param(
            ("cancel_order", {"order_id": 17}), ("get_order", {"order_id": 17}), True, id="a number"
        ),
        pytest.param(
            ("cancel_order", {"order_id": 17}), ("get_order", {"order_id": 18}), False, id="another"
        ),
        pytest.param(
            ("cancel_order", {"order": "A1"}), ("get_order", {"order": "A1"}), True, id="short"
        ),
        pytest.param(
            ("cancel_order", {"order": "A1"}), ("list_orders", {"order_ids": ["B", "A1"]}), True,
            id="one of several",
        ),
        pytest.param(
            ("cancel_order", {"order_id": "17"}), ("get_order", {"orderId": 17}), True,
            id="a number as a text",
        ),
        pytest.param(
            ("cancel_order", {"id": 3}), ("get_order", {"order_id": 3}), True, id="a bare id"
        ),
        pytest.param(
            ("cancel_order", {"id": 3}), ("get_user", {"id": 3}), False, id="an id of another thing"
        ),
        pytest.param(
            ("book_seat", {"seat_no": 4, "count": 2, "cabin": "eco"}),
            ("get_seat", {"seat_no": 5, "count": 2, "cabin": "eco"}),
            False, id="no ids",
        ),
        pytest.param(
            ("create_user", {"country_code": "US", "page_number": 1}),
            ("find_shop", {"country_code": "US", "page_number": 1}),
            False, id="what many share",
        ),
        pytest.param(("cancel_order", {"order": "A1"}), ("list_orders", {}), True, id="a listing"),
        pytest.param(
            ("cancel_order", {"order": "A1"}), ("list_orders", {"limit": 5}), True,
            id="a listing with a limit",
        ),
        pytest.param(
            ("add_item_to_cart", {"item": 4}), ("mcp__shop__getCart", {}), True, id="a server's"
        ),
        pytest.param(
            ("mcp__shop__add_item", {"item": 4}), ("mcp__shop__list_users", {}), False,
            id="another thing of the server",
        ),
        pytest.param(("cancel_order", {"order": "A1"}), ("list_users", {}), False, id="no kin"),
        pytest.param(
            ("cancel_ticket", {"id": "T-1"}), ("show", {"ticket": "T-1"}), True, id="told by one",
        ),
        pytest.param(
            ("cancel", {"ticket": "T-1"}), ("get_ticket", {"id": "T-1"}), True, id="by the other",
        ),
        pytest.param(
            ("cancel_ticket", {"id": 17}), ("show", {"ticket": 17}), True, id="a number of one",
        ),
        pytest.param(
            ("cancel", {"ticket": "T-1"}), ("show", {"ticket": "T-1"}), True, id="told by none",
        ),
        pytest.param(
            ("cancel_support_ticket", {"id": "T-1"}), ("show", {"ticket": "T-1"}), True,
            id="a kind of it",
        ),
        pytest.param(
            ("cancel_ticket", {"id": "T-1"}), ("show", {"ticket": "T-2"}), False, id="another one",
        ),
        pytest.param(
            ("cancel_ticket", {"id": "T-1"}), ("show", {"seat": "T-1"}), False, id="other kind",
        ),
        pytest.param(("set", {"to": 4}), ("get", {}), False, id="names without a thing"),
    ],
)  # fmt: skip
def test_an_answer_is_stale_after_a_write_about_the_same(
    write: tuple[str, dict[str, Any]], read: tuple[str, dict[str, Any]], stale: bool
) -> None:
    found = session(recorded((*read, "as it was")))
    assert found.answer(*write).stamp == "failed"
    answer = found.answer(*read)
    assert (answer.stamp, answer.stale, answer.write_history_differs) == ("same", stale, True)


def test_a_read_by_number_after_a_recorded_write_is_not_answered_as_before_it() -> None:
    own = recorded(
        ("get_order", {"order_id": 17}, "open"), ("cancel_order", {"order_id": 17}, "done")
    )
    found = session(own)
    assert found.answer("cancel_order", {"order_id": 17}).stamp == "same"
    answer = found.answer("get_order", {"order_id": 17})
    assert (answer.stamp, answer.miss) == ("failed", "recording_stale")


def test_a_read_by_another_name_after_a_recorded_write_is_not_answered_as_before_it() -> None:
    own = recorded(("show", {"ticket": "T-1"}, "open"), ("cancel_ticket", {"id": "T-1"}, "done"))
    found = session(own)
    assert found.answer("cancel_ticket", {"id": "T-1"}).stamp == "same"
    answer = found.answer("show", {"ticket": "T-1"})
    assert (answer.stamp, answer.miss) == ("failed", "recording_stale")


def test_a_listing_after_a_write_is_replayed_and_marked() -> None:
    own = recorded(("list_orders", {}, ["A1"]), ("cancel_order", {"order": "A1"}, "done"))
    found = session(own)
    assert found.answer("cancel_order", {"order": "A1"}).stamp == "same"
    answer = found.answer("list_orders", {})
    assert (answer.stamp, answer.stale, answer.is_evidence) == ("same", True, False)


def test_a_listing_after_the_writes_it_was_recorded_after_is_none_of_another_world() -> None:
    cancel: Step = ("cancel_order", {"order": "A1"}, "done")
    failed: Step = ("cancel_order", {"order": "B2"}, Failed("no"))
    found = session(recorded(cancel, failed, ("list_orders", {}, [])))
    found.answer("cancel_order", {"order": "A1"})
    assert found.answer("list_orders", {}).stale is False


def test_what_calls_are_about() -> None:
    assert subjects_of("list_orders", {"limit": 3}) == {Kind("order"), Named("limit", "3")}
    assert subjects_of("get_order", {"order": 4, "note": "please"}) == {
        Named("order", "4"),
        Meant("order", "4"),
        "please",
    }
    assert changed_by("return_delivered_order_items", {"order_id": "#W1"}) == {
        Named("order", "#W1"),
        *map(Kind, ("delivered", "order", "item")),
    }


MASKED = "[MASKED:api_key:4be1a0c2d3e4]"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"the key is {MASKED}", id="masked"),
        pytest.param({"of": ["ann", {"key": MASKED}]}, id="masked within"),
        pytest.param({MASKED: 1}, id="a masked name"),
        pytest.param("password: [REDACTED]", id="redacted by others"),
        pytest.param("a long text ... [truncated, 3000 characters]", id="cut by others"),
        pytest.param([{"$blob": f"sha256:{'0' * 64}", "$size": 9}], id="kept elsewhere"),
        pytest.param([{"$type": "shop.Order", "$repr": "<Order>"}], id="no JSON"),
        pytest.param(Failed(f"no {MASKED}"), id="a masked error"),
    ],
)
def test_an_answer_with_masked_parts_is_given_with_a_mark_and_teaches_nothing(answer: Any) -> None:
    def asking(number: int) -> Conversation:
        return recorded(("get_key", {"of": f"user_{number}"}, answer), name=f"r{number}")

    own = asking(0)
    found = session(own, *map(asking, range(1, 40)), derives=True)
    told = found.answer("get_key", {"of": "user_0"})
    assert (told.stamp, told.masked, told.is_evidence) == ("same", True, True)
    assert found.answer("get_key", {"of": "user_1"}).masked is True
    assert found.answer("get_key", {"of": "user_99"}).stamp == "failed"


def test_what_is_merely_bracketed_is_not_masked() -> None:
    found = session(recorded(("get_page", {"of": "abcde"}, "see [1] and <b>hidden costs</b>...")))
    assert found.answer("get_page", {"of": "abcde"}).masked is False


def test_of_two_conversations_the_one_that_tells_all_is_borrowed_from() -> None:
    own = recorded()
    asked = {"of": "ann_1"}
    masked = recorded(("get_key", asked, MASKED), name="b")
    plain = recorded(("get_key", asked, "k-1"), name="c")
    answer = session(own, masked, masked._replace(id="d"), plain).answer("get_key", asked)
    assert (answer.stamp, answer.result.content, answer.masked) == ("other", "k-1", False)


def test_records_with_masked_parts_are_not_built_on() -> None:
    def moving(number: int, *, note: str = "x") -> Conversation:
        record = {"order": f"W-{1000 + number}", "note": note, "state": "open"}
        asked = {"order": record["order"]}
        return recorded(
            ("get_order", asked, record),
            ("cancel_order", asked, {**record, "state": "off"}),
            name=f"r{number}",
        )

    others = [moving(n, note=f"n{n}") for n in range(1, 40)]
    asked = {"order": "W-1500"}
    plain = recorded(("get_order", asked, {**asked, "note": "n", "state": "open"}), name="own")
    masked = recorded(("get_order", asked, {**asked, "note": MASKED, "state": "open"}), name="own")
    assert session(plain, *others, derives=True).answer("cancel_order", asked).stamp == "derived"
    assert session(masked, *others, derives=True).answer("cancel_order", asked).stamp == "failed"


def test_conversations_of_one_group_are_told_apart_by_their_lost_answers() -> None:
    own = conversation("a", "g", ("get_order", {"order": "W-1001"}, None))
    assert own.unanswered == {'["get_order",{"order":"W-1001"}]': (1,)}
