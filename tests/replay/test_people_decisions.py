"""Planted conversations: who said a value first, what backs it, and what each rule keeps."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.replay.people_talks import Line, talk
from tracedance_sdk.replay.people.decisions import Decision, PersonaRule, Reason, decisions_of


class Planted(NamedTuple):
    """A conversation around one value, and what is decided on it."""

    row: str
    value: str
    lines: tuple[Line, ...]
    first_speaker: str
    kept: tuple[bool, bool, bool]
    reason: Reason
    call: str | None = None
    is_number: bool = False


READ: Reason = "read by the agent out of an answer"
UNREAD: Reason = "said by the agent first, in no answer"
FIRST: Reason = "said by the person first"
OFFERED: Reason = "offered by the agent"
WORKED_OUT: Reason = "worked out by a pure tool"

ROWS = [
    Planted(
        "customer first",
        "zfa04y",
        ("P: Cancel ZFA04Y.", "A: You want to cancel ZFA04Y?", "P: Yes, ZFA04Y."),
        "person",
        (True, True, True),
        FIRST,
    ),
    Planted(
        "customer first, in another spelling",
        "200",
        ("P: I have two hundred dollars.", "A: So $200?", "P: $200, yes."),
        "person",
        (True, True, True),
        FIRST,
    ),
    Planted(
        "agent read a field",
        "1990-04-05",
        (
            "P: Hi.",
            ("get", {}, {"dob": "1990-04-05"}),
            "A: Born on 1990-04-05?",
            "P: April 5, 1990.",
        ),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "agent read an element of an array",
        "um3og5",
        ("P: Hi.", ("get", {}, {"trips": ["AAA111", "UM3OG5"]}), "A: UM3OG5?", "P: Yes, UM3OG5."),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "agent read a part of a string",
        "7504069",
        ("P: Hi.", ("get", {}, "paid by certificate_7504069"), "A: 7504069?", "P: Use 7504069."),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "agent read the key of an object",
        "card_11",
        (
            "P: Hi.",
            ("get", {}, {"card_11": {"brand": "x"}}),
            "A: Pay by card_11?",
            "P: By card_11.",
        ),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "agent read JSON in a text",
        "hat266",
        ("P: Hi.", ("get", {}, '[{"flight": "HAT266"}]'), "A: HAT266 flies.", "P: Take HAT 266."),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "agent read two fields that make a name",
        "daiki li",
        (
            "P: Hi.",
            ("get", {}, {"first": "Daiki", "last": "Li"}),
            "A: Daiki Li?",
            "P: For Daiki Li.",
        ),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "agent read a code and said its name",
        "los angeles",
        (
            "P: Hi.",
            ("get", {}, {"to": "LAX"}),
            "A: To Los Angeles (LAX).",
            "P: To Los Angeles, yes.",
        ),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "agent read the last four digits of a card",
        "7447",
        ("P: Hi.", ("get", {}, {"last_four": "7447"}), "A: Card 7447?", "P: The 7447 one."),
        "agent",
        (True, False, True),
        READ,
        "c1",
    ),
    Planted(
        "only a number agrees",
        "146",
        ("P: Hi.", ("find", {}, [{"price": 146}]), "A: It is $146.", "P: $146 is fine."),
        "agent",
        (True, False, True),
        READ,
        "c1",
        is_number=True,
    ),
    Planted(
        "coincidence: a number of an offer stands in a record",
        "200",
        ("P: Hi.", ("get", {}, {"balance": 200.0}), "A: Take $200 for it?", "P: $200, please."),
        "agent",
        (True, False, True),
        READ,
        "c1",
        is_number=True,
    ),
    Planted(
        "an answer that names it goes before one with the bare number",
        "7504069",
        (
            "P: Hi.",
            ("count", {}, {"n": 7504068}),
            ("get", {}, {"id": "card 7504069"}),
            "A: 7504069?",
            "P: 7504069.",
        ),
        "agent",
        (True, False, True),
        READ,
        "c2",
    ),
    Planted(
        "agent offers an amount",
        "200",
        ("P: It was late.", "A: I can give you $200.", "P: The two hundred dollars, please."),
        "agent",
        (True, False, False),
        UNREAD,
    ),
    Planted(
        "agent offers a thing",
        "certificate",
        ("P: It was late.", "A: I can offer you a certificate.", "P: Yes, the certificate."),
        "agent",
        (True, False, False),
        OFFERED,
    ),
    Planted(
        "the offered thing stands in a record by chance",
        "certificate",
        (
            "P: It was late.",
            ("get", {}, {"paid": "certificate_1"}),
            "A: I can offer you a certificate.",
            "P: Yes, the certificate.",
        ),
        "agent",
        (True, False, False),
        OFFERED,
    ),
    Planted(
        "a tool computed it",
        "255",
        ("P: Hi.", ("add", {"e": "152 + 103"}, "255.0"), "A: $255 in all.", "P: $255 is fine."),
        "agent",
        (True, False, False),
        WORKED_OUT,
    ),
    Planted(
        "a tool computed it before a record came to hold it",
        "255",
        (
            "P: Hi.",
            ("add", {"e": "152 + 103"}, "255.0"),
            ("get", {}, {"total": 255}),
            "A: $255 in all.",
            "P: $255 is fine.",
        ),
        "agent",
        (True, False, False),
        WORKED_OUT,
    ),
    Planted(
        "the agent computed it in its head",
        "255",
        ("P: Hi.", ("find", {}, [152, 103]), "A: $255 in all.", "P: $255 is fine."),
        "agent",
        (True, False, False),
        UNREAD,
    ),
    Planted(
        "the answer only repeats what the agent put in",
        "50",
        (
            "P: Hi.",
            ("send", {"amount": 50}, "sent, amount 50."),
            "A: You got $50.",
            "P: $50, good.",
        ),
        "agent",
        (True, False, False),
        UNREAD,
    ),
    Planted(
        "the agent said it before the answer came",
        "um3og5",
        ("P: Hi.", "A: Is it UM3OG5?", ("get", {}, {"id": "UM3OG5"}), "A: Yes?", "P: UM3OG5."),
        "agent",
        (True, False, False),
        UNREAD,
    ),
    Planted(
        "the agent said it in another spelling first",
        "hat266",
        ("P: Hi.", "A: Is it hat-266?", "P: It is HAT 266."),
        "agent",
        (True, False, False),
        UNREAD,
    ),
    Planted(
        "the person repeats a name in lower case",
        "daiki li",
        ("P: Hi.", "A: For Daiki Li too?", "P: Yes, daiki li comes along."),
        "agent",
        (True, False, False),
        UNREAD,
    ),
]


def decided(planted: Planted, rule: PersonaRule) -> Decision:
    found = decisions_of(talk(*planted.lines), rule=rule, is_pure="add".__eq__, year=2024)
    return next(item for item in found if planted.value in {item.normal, *item.forms})


@pytest.mark.parametrize("planted", ROWS, ids=[planted.row for planted in ROWS])
def test_every_row_of_the_decision_table(planted: Planted) -> None:
    kept = tuple(decided(planted, rule).is_kept for rule in ("R1", "R2", "R3"))
    item = decided(planted, "R3")
    assert (item.first_speaker, kept, item.reason) == (
        planted.first_speaker,
        planted.kept,
        planted.reason,
    )
    backing = item.backing
    assert (None if backing is None else backing.call_id) == planted.call
    assert (backing is not None and backing.is_number) == planted.is_number


def test_what_tells_little_is_neither_kept_for_a_reason_nor_dropped() -> None:
    (item,) = decisions_of(talk("P: Hi.", "A: 3 bags?", "P: Yes, 3."))
    assert (item.is_kept, item.reason) == (True, "tells too little to matter")


def test_yes_no_and_a_bare_currency_are_no_values() -> None:
    assert not decisions_of(talk("P: Hi.", "A: In dollars, yes or no?", "P: Yes, in dollars."))


def test_what_the_person_never_said_is_not_decided_on() -> None:
    assert not decisions_of(talk("P: Hi.", "A: I can offer you $200 or ZFA04Y.", "P: No."))


def test_harness_and_environment_are_nobody() -> None:
    trace = talk("P: Hi.", "A: Hello.", "P: Cancel ZFA04Y.")
    harness = trace.turns[0].model_copy(update={"origin": "harness", "content": ()})
    said = trace.turns[2].content
    turns = (harness.model_copy(update={"content": said}), *trace.turns[1:])
    (item,) = decisions_of(trace.model_copy(update={"turns": turns}))
    assert (item.first_speaker, item.first_turn) == ("person", 2)


def test_all_spellings_of_a_value_are_one_decision() -> None:
    found = decisions_of(
        talk("P: On May 20.", "A: Yes.", "P: So 2024-05-20, the 20th of May."), year=2024
    )
    assert [(item.value, item.said_in) for item in found] == [("May 20", 0)]


def test_a_word_that_the_conversation_writes_small_is_no_name() -> None:
    found = decisions_of(talk("P: Hi.", "A: Is Economy right, or economy plus?", "P: In Economy."))
    assert not found
