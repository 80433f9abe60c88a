"""Rules learned from recordings: what is found, what proves it, and what is left alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.conversations import Failed, Step, conversation, effect_of, index_of
from tracedance_sdk.replay.answers import Ladder
from tracedance_sdk.replay.derivation import Parsed, RuleBook, Style
from tracedance_sdk.replay.derivation.cases import Case
from tracedance_sdk.replay.derivation.learning import Learner
from tracedance_sdk.replay.derivation.synthesis import Example, fits, synthesise
from tracedance_sdk.replay.derivation.terms import Constant, Scope
from tracedance_sdk.replay.recordings import Conversation, Shelf

Answering = Callable[[dict[str, Any], dict[str, Any]], Any]


def examples(answer: Answering, number: int = 4) -> list[Example]:
    found = []
    for n in range(number):
        arguments = {"order": f"W-{1000 + 7 * n}", "count": 3 + 2 * n, "names": [f"n{n}", "x"]}
        record = {
            "order": arguments["order"],
            "left": 50 + n * n,
            "paid": [{"by": f"card_{n}{k}", "amount": 10 * k + n} for k in range(n + 1)],
            "note": None,
        }
        found.append(Example(Scope(arguments, record), answer(arguments, record)))
    return found


SHAPES: dict[str, tuple[Answering, str]] = {
    "a constant": (lambda a, r: "done", '"done"'),
    "an argument": (lambda a, r: a["order"], "arguments.order"),
    "a field of the record": (lambda a, r: r["left"], "record.left"),
    "a number turned": (lambda a, r: -a["count"], "-arguments.count"),
    "a difference": (lambda a, r: r["left"] - a["count"], "record.left - arguments.count"),
    "a text": (
        lambda a, r: f"Order {a['order']}: {a['count']} pieces",
        '"Order {arguments.order}: {arguments.count} pieces"',
    ),
    "the record": (lambda a, r: r, "record"),
    "the record with a state": (lambda a, r: {**r, "state": "off"}, 'record with state = "off"'),
    "the record without a field": (
        lambda a, r: {k: v for k, v in r.items() if k != "note"},
        "record without note",
    ),
    "an object of its own": (
        lambda a, r: {"id": a["order"], "ok": True},
        "{id = arguments.order, ok = true}",
    ),
    "payments given back": (
        lambda a, r: {**r, "paid": r["paid"] + [{**p, "amount": -p["amount"]} for p in r["paid"]]},
        (
            "record with paid = record.paid and then for each item of record.paid: "
            "{by = item.by, amount = -item.amount}"
        ),
    ),
    "one more payment": (
        lambda a, r: {**r, "paid": [*r["paid"], {"by": "cash", "amount": a["count"]}]},
        'record with paid = record.paid and then [{by = "cash", amount = arguments.count}]',
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_simplest_term_that_fits_is_found(shape: str) -> None:
    answer, expected = SHAPES[shape]
    found = examples(answer)
    term = synthesise(found)
    assert term is not None
    assert str(term) == expected
    assert all(fits(term, example) for example in examples(answer, 9))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda a, r: hash(a["order"]) % 1009, id="a number out of nowhere"),
        pytest.param(lambda a, r: "even" if a["count"] % 4 == 3 else "odd", id="two cases"),
        pytest.param(lambda a, r: {"n": a["count"]} if r["left"] % 2 else {}, id="two shapes"),
        pytest.param(lambda a, r: [1] * (a["count"] ** 2 % 7), id="lists of odd lengths"),
    ],
)
def test_where_nothing_fits_nothing_is_said(answer: Answering) -> None:
    assert synthesise(examples(answer, 6)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "ab", "W-1001", "x y"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(JSON, JSON, JSON), min_size=1, max_size=4))
def test_whatever_is_found_fits_every_example(rows: list[tuple[Any, Any, Any]]) -> None:
    found = [Example(Scope(arguments, record), answer) for arguments, record, answer in rows]
    term = synthesise(found)
    assert term is None or all(fits(term, example) for example in found)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), JSON, JSON), min_size=1, max_size=40))
def test_looking_at_few_cases_finds_what_all_together_would(
    rows: list[tuple[str, Any, Any]],
) -> None:
    style = Style()
    cases = [
        Case(group, f"c{n}", f"k{n}", {"x": given}, Parsed(answer, style), False, {})
        for n, (group, given, answer) in enumerate(rows)
    ]
    found = Learner("tool", "", cases).learn(frozenset())
    together = synthesise([Example(Scope(c.arguments), c.answer.value) for c in cases])
    assert together is None or (found is not None and found.term == together)
    assert found is None or together is not None or isinstance(found.term, Constant)


def order(number: int) -> dict[str, Any]:
    return {"order": f"W-{1000 + number}", "state": "open", "total": 10 + number}


def cancelling(number: int, *, state: str = "cancelled") -> list[Step]:
    before = order(number)
    asked = {"order": before["order"]}
    after = {**before, "state": state, "refund": -before["total"]}
    return [
        ("get_order", asked, json.dumps(before)),
        ("cancel_order", asked, json.dumps(after)),
        ("hand_over", {"why": f"for reason number {number}"}, "Transferred."),
    ]


def many(number: int, **how: Any) -> list[Conversation]:
    return [conversation(f"r{n}", f"g{n}", *cancelling(n, **how)) for n in range(number)]


def test_a_rule_is_used_only_when_it_was_proven_often_enough() -> None:
    few = RuleBook(index_of(*many(19)), effect_of)
    assert not few.rules("cancel_order")
    assert not few.rules("hand_over")
    book = RuleBook(index_of(*many(20)), effect_of)
    assert len(book.rules("hand_over")) == 1
    (proven,) = book.rules("cancel_order")
    assert str(proven.rule) == (
        'cancel_order = record with state = "cancelled", refund = -record.total (record: of order)'
    )
    assert str(proven.proof) == "right 20 of 20 times in 20 groups left out"
    # Without a group there is one proof less.
    assert not book.rules("cancel_order", excluded_groups={"g3"})
    assert not book.rules("cancel_order", excluded_ids={"r3"})


def test_a_rule_that_is_wrong_too_often_is_not_used() -> None:
    failing = [
        conversation(f"f{n}", f"f{n}", ("hand_over", {"why": "x"}, Failed("no"))) for n in range(2)
    ]
    book = RuleBook(index_of(*many(60), *failing), effect_of)
    (tried,) = book.tried("hand_over")
    assert (tried.proof.right, tried.proof.uses) == (60, 62)
    assert not book.rules("hand_over")
    assert RuleBook(index_of(*many(60), *failing), effect_of, least_right=0.9).rules("hand_over")


def constant(n: int, **arguments: Any) -> Conversation:
    return conversation(f"r{n}", f"g{n}", ("get_policy", arguments, "Cancel until shipped."))


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        pytest.param([{"about": "x"}] * 30, {"about": "y"}, id="one value for ever"),
        pytest.param([{"about": "x"}] * 30, {"about": "x", "admin": True}, id="a new argument"),
        pytest.param(
            [{"about": f"x{n}", "dry": True} for n in range(30)],
            {"about": "y", "dry": False},
            id="one argument with one value",
        ),
        pytest.param([{"about": f"x{n % 10}"} for n in range(60)], {"about": "y"}, id="few values"),
    ],
)
def test_what_was_never_varied_is_not_known(
    recorded: list[dict[str, Any]], asked: dict[str, Any]
) -> None:
    own = conversation("own", "mine")
    index = index_of(own, *(constant(n, **given) for n, given in enumerate(recorded)))
    shelf = Shelf(index, "own", excluded_groups={"mine"})
    found = Ladder(shelf=shelf, effect_of=effect_of, rules=RuleBook(index, effect_of)).begin()
    assert found.answer("get_policy", asked).stamp == "failed"


def derived(
    name: str, recorded: list[tuple[dict[str, Any], Any]], asked: dict[str, Any]
) -> Any | None:
    """Return what is derived from these calls with their answers; None where nothing is."""
    own = conversation("own", "mine")
    calls = (conversation(f"r{n}", f"g{n}", (name, *item)) for n, item in enumerate(recorded))
    index = index_of(own, *calls)
    shelf = Shelf(index, "own", excluded_groups={"mine"})
    found = Ladder(shelf=shelf, effect_of=effect_of, rules=RuleBook(index, effect_of)).begin()
    answer = found.answer(name, asked)
    return answer.result.content if answer.stamp == "derived" else None


def users(number: int = 60) -> list[str]:
    return [f"user_{n}" for n in range(number)]


@pytest.mark.parametrize(
    ("argument", "value_of"),
    [
        pytest.param("password", lambda n: f"hunter{n}", id="a password"),
        pytest.param("pin", lambda n: 1000 + n, id="a PIN"),
        pytest.param("pin", lambda n: 1000 + n % 3, id="a PIN of many"),
        pytest.param("verification_code", lambda n: f"{n:06d}", id="a code"),
        pytest.param("zip", lambda n: f"{10000 + n}", id="what only the customer has"),
        pytest.param("zip", lambda n: f"{10000 + n // 2}", id="what few customers have"),
        pytest.param("login", lambda n: f"user_{n}", id="the same value again"),
    ],
)
@pytest.mark.parametrize("text", ["Welcome, {}!", "{}", "ok"], ids=["slot", "echo", "constant"])
def test_what_may_have_been_checked_is_never_taken_for_right(
    argument: str, value_of: Callable[[int], Any], text: str
) -> None:
    recorded = [
        ({"user": user, argument: value_of(n)}, text.format(user)) for n, user in enumerate(users())
    ]
    assert derived("log_in", recorded, {"user": "user_99", argument: "wrong"}) is None
    # A call that does not give it at all is none like those that were recorded.
    assert derived("log_in", recorded, {"user": "user_99"}) is None


@pytest.mark.parametrize(
    ("extra", "asked"),
    [
        pytest.param(lambda n: {"why": f"reason {n % 12}"}, {"why": "reason 3"}, id="a reason"),
        pytest.param(
            lambda n: {"note": f"the customer said {n} words"},
            {"note": "the customer is in a hurry"},
            id="free text",
        ),
        pytest.param(lambda n: {"fast": True} if n % 3 else {}, {}, id="one that may be left out"),
        pytest.param(lambda n: {"fast": n % 2 == 0}, {"fast": False}, id="a truth"),
    ],
)
def test_what_varies_by_itself_does_not_matter(
    extra: Callable[[int], dict[str, Any]], asked: dict[str, Any]
) -> None:
    recorded = [({"user": user, **extra(n)}, f"{user} is told") for n, user in enumerate(users())]
    assert derived("tell", recorded, {"user": "user_99", **asked}) == "user_99 is told"


@pytest.mark.parametrize(
    ("by", "told"),
    [("card", "Paid by card: W-77."), ("gift", "Paid by gift: W-77."), ("cash", None)],
)
def test_a_text_with_few_values_in_it_is_no_echo(by: str, told: str | None) -> None:
    recorded = [
        ({"order": f"W-{n}", "by": by}, f"Paid by {by}: W-{n}.")
        for n, by in enumerate(["card", "gift", "bank"] * 20)
    ]
    assert derived("pay", recorded, {"order": "W-77", "by": by}) == told


@pytest.mark.parametrize(("plan", "told"), [("free", "moved as free"), ("gold", None)])
def test_a_text_with_few_values_of_the_record_in_it_is_no_echo(plan: str, told: str | None) -> None:
    def one(number: int, name: str, group: str, plan: str) -> Conversation:
        asked = {"order": f"W-{number}"}
        record = {**asked, "plan": plan, "left": number}
        return conversation(
            name,
            group,
            ("get_order", asked, record),
            ("move_order", asked, {**asked, "told": f"moved as {plan}"}),
        )

    plans = ("free", "paid")
    others = [one(1000 + n, f"r{n}", f"g{n}", plans[n % 2]) for n in range(40)]
    asked = {"order": "W-1500"}
    own = conversation("own", "mine", ("get_order", asked, {**asked, "plan": plan, "left": 1}))
    index = index_of(own, *others)
    shelf = Shelf(index, "own", excluded_groups={"mine"})
    ladder = Ladder(shelf=shelf, effect_of=effect_of, rules=RuleBook(index, effect_of))
    answer = ladder.begin().answer("move_order", asked)
    assert (answer.result.content["told"] if answer.stamp == "derived" else None) == told


def test_an_argument_that_was_always_given_has_to_be() -> None:
    recorded = [({"order": f"W-{n}"}, f"W-{n} is stored") for n in range(40)]
    assert derived("archive", recorded, {"order": "W-99"}) == "W-99 is stored"
    assert derived("archive", recorded, {}) is None


def born(number: int) -> str:
    return f"19{50 + number}-0{1 + number % 9}-11"


YES: dict[str, tuple[str, str, Callable[[int], Any], Any, Any]] = {
    "a date of birth": ("check_dob", "dob", born, "verified", "1900-01-01"),
    "a code": ("check_code", "code", lambda n: f"{n * 7919:06d}", "verified", "000000"),
    "a security answer": (
        "security_answer",
        "answer",
        lambda n: f"my dog rex{n}",
        {"verified": True},
        "i do not know",
    ),
    "last digits": ("check_last4", "last4", lambda n: f"{4000 + n}", "ok", "0000"),
    "a password in German": ("unlock", "kennwort", lambda n: f"wort{n}", "entsperrt", "x"),
    "last digits in words": ("enter", "last_4_digits", lambda n: f"{4000 + n}", "in", "0000"),
    "a name of no kind": ("proceed", "what", lambda n: f"k{n}", "weiter", "nope"),
    "a yes": ("is_eligible", "user", lambda n: f"user_{n}", "yes", "nope"),
    "a truth": ("is_eligible", "user", lambda n: f"user_{n}", True, "nope"),
    "a truth in an object": ("is_open", "user", lambda n: f"user_{n}", {"open": True}, "nope"),
    "a deletion": ("delete_acct", "account", lambda n: f"A-{n}", "deleted", "A-nope"),
    "a deletion of nothing": ("delete_acct", "account", lambda n: f"A-{n}", "deleted", ""),
    "a number": ("reserve", "seat", lambda n: n, "reserved", 4711),
}


@pytest.mark.parametrize("case", YES)
def test_a_yes_to_right_ones_is_none_to_a_wrong_one(case: str) -> None:
    name, argument, value_of, answer, wrong = YES[case]
    for number in (24, 60):
        recorded = [({argument: value_of(n)}, answer) for n in range(number)]
        assert derived(name, recorded, {argument: wrong}) is None


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda user: {"user": user, "eligible": True}, id="a truth beside it"),
        pytest.param(lambda user: f"yes, {user} may", id="a yes in words"),
        pytest.param(lambda user: {"user": user, "status": "verified"}, id="a state beside it"),
    ],
)
def test_a_yes_beside_an_echo_is_a_yes(answer: Callable[[str], Any]) -> None:
    recorded = [({"user": user}, answer(user)) for user in users()]
    assert derived("look_at", recorded, {"user": "nope"}) is None


@pytest.mark.parametrize("value", ["", "  ", None, -1, [], {}])
def test_a_value_of_a_form_that_was_never_given_is_not_known(value: Any) -> None:
    texts = [({"why": f"the customer has {n} questions"}, "Transferred.") for n in range(40)]
    assert derived("hand_over", texts, {"why": "the customer wants a person"}) == "Transferred."
    assert derived("hand_over", texts, {"why": value}) is None
    orders = [({"order": f"W-{n}"}, f"W-{n} is stored") for n in range(40)]
    assert derived("name", orders, {"order": "W-99"}) == "W-99 is stored"
    assert derived("name", orders, {"order": value}) is None


def test_what_a_read_shows_after_a_write_does_not_follow_from_the_call_alone() -> None:
    def reading(n: int) -> Conversation:
        asked = {"order": f"W-{1000 + n}"}
        return conversation(f"r{n}", f"g{n}", ("get_order", asked, f"{asked['order']}: open"))

    own = conversation("own", "mine", ("cancel_order", ASKED, "done"))
    index = index_of(own, *map(reading, range(30)))
    shelf = Shelf(index, "own", excluded_groups={"mine"})
    ladder = Ladder(shelf=shelf, effect_of=effect_of, rules=RuleBook(index, effect_of))
    assert ladder.begin().answer("get_order", ASKED).stamp == "derived"
    found = ladder.begin()
    assert found.answer("cancel_order", ASKED).stamp == "same"
    assert found.answer("get_order", ASKED).stamp == "failed"


def test_a_group_does_not_prove_itself() -> None:
    # Twenty calls with one odd answer, all of one group: without it nothing is known of them.
    alone = [conversation(f"r{n}", "one", *cancelling(n)) for n in range(20)]
    book = RuleBook(index_of(*alone), effect_of)
    assert not book.rules("cancel_order")


def own_session(*steps: Step) -> Any:
    own = conversation("own", "mine", *steps)
    index = index_of(own, *many(25))
    shelf = Shelf(index, "own", excluded_groups={"mine"})
    book = RuleBook(index, effect_of)
    return Ladder(
        shelf=shelf, effect_of=effect_of, rules=book, excluded_groups=frozenset({"mine"})
    ).begin()


ASKED = {"order": "W-1500"}
RECORD = {"order": "W-1500", "state": "open", "total": 7}


def test_a_write_that_was_never_recorded_is_derived_from_the_record_read_before() -> None:
    found = own_session(("get_order", ASKED, json.dumps(RECORD)))
    found.answer("get_order", ASKED)
    answer = found.answer("cancel_order", ASKED)
    assert (answer.stamp, answer.miss, answer.is_evidence) == ("derived", "something_new", True)
    assert answer.result.content == json.dumps({**RECORD, "state": "cancelled", "refund": -7})
    assert answer.rule.startswith("cancel_order = record with")
    assert answer.proof == "right 25 of 25 times in 25 groups left out"
    assert found.answer("hand_over", {"why": "new"}).result.content == "Transferred."


def test_the_record_may_stand_in_the_recording_alone() -> None:
    found = own_session(("get_order", ASKED, json.dumps(RECORD)))
    assert found.answer("cancel_order", ASKED).stamp == "derived"


def test_without_a_record_nothing_is_derived() -> None:
    assert own_session().answer("cancel_order", ASKED).stamp == "failed"


def test_a_record_that_may_have_changed_is_not_built_on() -> None:
    found = own_session(("get_order", ASKED, json.dumps(RECORD)))
    found.answer("get_order", ASKED)
    # What moving does was never recorded: the order's state is no longer known.
    assert found.answer("move_order", {**ASKED, "to": "Rome"}).stamp == "failed"
    assert found.answer("cancel_order", ASKED).stamp == "failed"


def test_a_record_after_a_recorded_write_is_not_the_one_before() -> None:
    moved = {**RECORD, "total": 9}
    found = own_session(
        ("get_order", ASKED, json.dumps(RECORD)),
        ("move_order", {**ASKED, "to": "Rome"}, json.dumps(moved)),
    )
    found.answer("get_order", ASKED)
    found.answer("move_order", {**ASKED, "to": "Rome"})
    answer = found.answer("cancel_order", ASKED)
    assert json.loads(answer.result.content)["refund"] == -9


def test_a_read_after_a_write_is_derived_from_the_answer_of_the_write() -> None:
    def reading_again(number: int) -> Conversation:
        after = json.dumps({**order(number), "state": "cancelled"})
        asked = {"order": f"W-{1000 + number}"}
        steps = ("cancel_order", asked, after), ("get_order", asked, after)
        return conversation(f"r{number}", f"g{number}", *steps)

    own = conversation(
        "own",
        "mine",
        ("get_order", ASKED, json.dumps(RECORD)),
        ("cancel_order", ASKED, json.dumps({**RECORD, "state": "cancelled"})),
    )
    index = index_of(own, *map(reading_again, range(30)))
    shelf = Shelf(index, "own", excluded_groups={"mine"})
    found = Ladder(shelf=shelf, effect_of=effect_of, rules=RuleBook(index, effect_of)).begin()
    assert found.answer("cancel_order", ASKED).stamp == "same"
    answer = found.answer("get_order", ASKED)
    assert (answer.stamp, answer.miss) == ("derived", "recording_stale")
    assert json.loads(answer.result.content)["state"] == "cancelled"
