"""The rebuilt person: goal, facts and opening hold nothing that was dropped, in no spelling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.replay.people_talks import Line, talk
from tracedance_sdk.replay import rebuild
from tracedance_sdk.replay.people import Persona, persona_of
from tracedance_sdk.replay.people.finding import ValueFinder
from tracedance_sdk.replay.people.persona import NEUTRAL_OPENING
from tracedance_sdk.replay.people.values import mentions

OFFER: tuple[Line, ...] = (
    "P: Hi, my flight HAT039 was late, and I am a gold member.",
    "A: I am sorry. Could you please provide your user ID?",
    "P: Sure, my user ID is mei_brown_7075.",
    ("get_user", {"id": "mei_brown_7075"}, {"name": {"first": "Mei", "last": "Brown"}}),
    "A: As a gesture of goodwill I can offer you a $200 certificate. Would you like it?",
    "P: Yes, please send me the two hundred dollar certificate. I would also like a window seat.",
    "A: Done.",
    "P: Please add a bag, and put the $200 on my account.",
)


def remembered(persona: Persona) -> str:
    person = persona.person
    facts = (text for fact in person.knows for text in (fact.id, fact.value, fact.about))
    return "\n".join((persona.opening, person.goal, *facts))


def test_an_offer_that_the_person_repeats_is_forgotten_and_what_they_want_is_not() -> None:
    persona = persona_of(talk(*OFFER))
    assert persona.person.goal == (
        "My flight HAT039 was late, and I am a gold member. I would also like a window seat. "
        "Please add a bag."
    )
    assert [(fact.id, fact.value, fact.about) for fact in persona.person.knows] == [
        ("flight", "HAT039", "Hi, my flight"),
        ("user", "mei_brown_7075", "Sure, my user ID is"),
    ]
    assert persona.person.said[2].startswith("Yes, please send me the two hundred")


def test_each_rule_remembers_what_it_says() -> None:
    texts = {rule: remembered(persona_of(talk(*OFFER), rule=rule)) for rule in ("R1", "R2", "R3")}
    assert "two hundred dollar certificate" in texts["R1"]
    assert "200" not in texts["R2"]
    assert "200" not in texts["R3"]
    read = talk(
        "P: Hi.",
        ("get", {}, {"trip": "UM3OG5"}),
        "A: Is it UM3OG5?",
        "P: Yes, please cancel UM3OG5 today.",
    )
    kept = {
        rule: "UM3OG5" in remembered(persona_of(read, rule=rule)) for rule in ("R1", "R2", "R3")
    }
    assert kept == {"R1": True, "R2": False, "R3": True}


def test_what_is_only_told_when_asked_is_a_fact_and_no_part_of_the_goal() -> None:
    persona = persona_of(
        talk("P: Please cancel my trip.", "A: Your booking number?", "P: It is ZFA04Y.")
    )
    assert persona.person.goal == "Please cancel my trip."
    (fact,) = persona.person.knows
    assert (fact.value, fact.id) == ("ZFA04Y", "booking_number")


def test_pleasantries_are_no_part_of_the_goal_and_ids_are_plain() -> None:
    persona = persona_of(
        talk(
            "P: Hello! I hope you are doing well. Thanks, I want to cancel my trip.",
            "A: Of course. Who is the passenger, and when?",
            "P: That would be great. The passenger it'll be is Ann Lee. I really appreciate it!",
            "A: Done. Good bye.",
            "P: Have a great day!",
        )
    )
    assert persona.person.goal.startswith("I want to cancel my trip.")
    assert not any(w in persona.person.goal for w in ("well", "great", "appreciate", "Thanks"))
    assert persona.person.knows
    assert all(fact.id.replace("_", "a").isalnum() for fact in persona.person.knows)


def test_the_opening_of_a_person_who_answers_an_offer_is_masked() -> None:
    lines = (
        "A: We can offer you a $200 voucher.",
        "P: I want the $200 voucher. And cancel my trip.",
    )
    (test,) = rebuild([talk(*lines)]).tests
    assert test.opening == "And cancel my trip."
    (test,) = rebuild([talk(lines[0], "P: The voucher of 200 USD!")]).tests
    assert test.opening == NEUTRAL_OPENING


def test_an_opening_is_as_it_was_said_when_nothing_was_dropped() -> None:
    text = "Hi!\n\nPlease  cancel ZFA04Y ..."
    assert persona_of(talk("A: Hello!", f"P: {text} ###STOP###")).opening == text


SPELLINGS = [
    *("$247", "247 dollars", "two hundred and forty-seven bucks", "USD 247.00", "247", "$ 247"),
    *(
        "247-dollar",
        "€247",
        "247.0 USD",
        "two hundred forty seven dollars",
        "\uff12\uff14\uff17 EUR",
    ),
]
CODES = [
    "QX7R2P",
    "qx7r2p",
    "QX7-R2P",
    "Q X 7 R 2 P",
    "#QX7R2P",
    "qx7_r2p",
    "QX7\u200bR2P",
    "q-x-7-r-2-p",
]
DATES = [
    *("2024-08-17", "August 17th", "Aug 17, 2024", "17 August", "the 17th of August", "8/17/2024"),
    *("08/17", "17.08.2024", "August seventeenth", "seventeenth of August, 2024", "AUG 17"),
]
NAMES = [
    "Jos\u00e9 N\u00fa\u00f1ez",
    "Jose Nunez",
    "jose nunez",
    "JOSE NUNEZ",
    "jose-nunez",
    "Jos\u00e9  N\u00fa\u00f1ez",
]
FRAMES = [
    "I want {} now.",
    "Please book it, and use {} for that, if you can.",
    "{}",
    "So {} it is, because you said so.",
    "Can you do it with {}? My seat is by the window.",
]
PLANTED = [
    ("$247", SPELLINGS),
    ("QX7R2P", CODES),
    ("August 17", DATES),
    ("Jos\u00e9 N\u00fa\u00f1ez", NAMES),
]


@given(
    st.sampled_from(PLANTED),
    st.lists(st.tuples(st.integers(0, 10), st.sampled_from(FRAMES)), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_dropped_value_is_nowhere_in_any_spelling(
    planted: tuple[str, list[str]], said: list[tuple[int, str]], agent_first: bool
) -> None:
    value, spellings = planted
    lines: list[Line] = [] if agent_first else ["P: Good morning, I need a flight."]
    lines.append(f"A: I can do that for {value} today. The year 2024-01-01 began well.")
    for number, frame in said:
        lines += [f"P: {frame.format(spellings[number % len(spellings)])}", "A: And else?"]
    persona = persona_of(talk(*lines))
    assert all(not item.is_kept for item in persona.decisions if item.kind != "number")
    (meant,) = mentions(f"it is {value}", year=2024)
    text = remembered(persona)
    assert not ValueFinder([meant], year=2024).is_in(text)
    letters = "".join(filter(str.isalnum, text.casefold()))
    assert not any("".join(filter(str.isalnum, s.casefold())) in letters for s in spellings)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_conversation_fails(asked: str, said: str) -> None:
    persona = persona_of(talk("P: Hello.", f"A: {asked}", f"P: {said}"))
    dropped = [item for item in persona.decisions if not item.is_kept]
    assert not ValueFinder(dropped).is_in(persona.person.goal)
    assert not any(ValueFinder(dropped).is_in(fact.value) for fact in persona.person.knows)
