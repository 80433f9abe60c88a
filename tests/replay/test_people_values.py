"""Values in what people say: a labelled corpus, and one form for all spellings of one value."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.replay.people.finders import ValueKind
from tracedance_sdk.replay.people.values import mentions

Labels = list[tuple[ValueKind, str]]

CORPUS: list[tuple[str, Labels]] = [
    # money
    ("It was $1,200.50 in all.", [("money", "1200.5")]),
    ("I paid 1200 dollars and 50 cents.", [("money", "1200"), ("money", "0.5")]),
    ("USD 200, then 300 EUR", [("money", "200"), ("money", "300")]),
    ("€1.200,50 or 1.200,50 €", [("money", "1200.5"), ("money", "1200.5")]),
    ("1 200 € is too much", [("money", "1200")]),
    ("about $1.2k, at most 2 thousand dollars", [("money", "1200"), ("money", "2000")]),
    ("the two-hundred-dollar certificate", [("money", "200")]),
    ("a hundred and fifty bucks", [("money", "150")]),
    ("£75 instead of 80 pounds", [("money", "75"), ("money", "80")]),
    # dates
    ("on May 20th", [("date", "2024-05-20")]),
    ("the 20th of May, 2023", [("date", "2023-05-20")]),
    ("from 16 May to 17 May", [("date", "2024-05-16"), ("date", "2024-05-17")]),
    ("May 16-18, 2024", [("date", "2024-05-16"), ("date", "2024-05-18")]),
    ("5/20/2024 or 05/21", [("date", "2024-05-20"), ("date", "2024-05-21")]),
    ("20/5/2024 and 20.05.2024", [("date", "2024-05-20"), ("date", "2024-05-20")]),
    ("the twenty-first of June", [("date", "2024-06-21")]),
    ("May twentieth", [("date", "2024-05-20")]),
    ("born 1990-04-05", [("date", "1990-04-05")]),
    ("Can it be next Monday, tomorrow or the weekend?", []),
    ("I may 3 times ask, may I?", [("number", "3")]),
    ("half of it, 1/2, then", [("number", "1"), ("number", "2")]),
    # times
    ("at 1 PM", [("time", "13:00")]),
    ("between 8am and 9 p.m.", [("time", "08:00"), ("time", "21:00")]),
    ("13:00 EST or noon", [("time", "13:00"), ("time", "12:00")]),
    ("2024-05-15T15:00:00", [("date", "2024-05-15"), ("time", "15:00")]),
    # phones and cards
    ("call +1 (555) 123-4567", [("phone", "5551234567")]),
    ("555-123-4567, or 555 123 4567", [("phone", "5551234567"), ("phone", "5551234567")]),
    ("card 4111 1111 1111 7447", [("card", "4111111111117447")]),
    ("the card ending in 7447", [("number", "7447")]),
    ("**** **** **** 7447", [("card", "7447")]),
    # ids and codes
    ("my ID is mei_brown_7075.", [("id", "mei_brown_7075")]),
    ("order #W1234567", [("id", "w1234567")]),
    ("reservation ZFA-04Y", [("id", "zfa-04y")]),
    ("it is Z F A 0 4 Y", [("id", "zfa04y")]),
    ("flight HAT 266", [("id", "hat266")]),
    ("certificate_7504069 please", [("id", "certificate_7504069")]),
    ("reservation HXDUBJ from LAS to IAH", [("code", "hxdubj"), ("code", "las"), ("code", "iah")]),
    ("THIS IS NOT OK AT ALL", []),
    ("ASAP, my DOB and ID", []),
    # numbers
    ("twenty-five people", [("number", "25")]),
    ("a dozen of them", [("number", "12")]),
    ("16GB, the 500-piece one, 2nd try", [("number", "16"), ("number", "500"), ("number", "2")]),
    ("one or two", []),
    # names, places, addresses
    ("My name is Noah Muller, from Boston.", [("name", "noah muller"), ("name", "boston")]),
    ("From San Francisco to New York", [("name", "san francisco"), ("name", "new york")]),
    ("José Núñez flies to São Paulo", [("name", "jose nunez"), ("name", "sao paulo")]),
    ("Seattle.", [("name", "seattle")]),
    ("Could you help? Thanks. Economy it is.", []),
    ("Monday in May, please", []),
    ("mail noah.muller@example.com", [("email", "noah.muller@example.com")]),
    # unusual characters
    ("\uff12\uff10\uff10 €", [("money", "200")]),
    ("2\u200b00 dollars", [("money", "200")]),
    ("mei\u2011brown\u20117075", [("id", "mei-brown-7075")]),
]


@pytest.mark.parametrize(("text", "labels"), CORPUS, ids=[text for text, _ in CORPUS])
def test_values_of_the_corpus_are_found_and_nothing_else(text: str, labels: Labels) -> None:
    found = mentions(text, year=2024)
    assert [(mention.kind, mention.normal) for mention in found] == labels
    for mention in found:
        assert text[mention.start : mention.end] == mention.text


PARAPHRASES = [
    ("$200", "two hundred dollars", "200 USD", "the 200-dollar one", "$200.00", "USD 200", "200"),
    ("May 20, 2024", "2024-05-20", "5/20/2024", "20th of May", "May twentieth", "05/20/24"),
    ("1:30 PM", "13:30", "1:30pm", "13:30:00", "1:30 p.m."),
    ("ZFA04Y", "zfa04y", "ZFA-04Y", "Z F A 0 4 Y", "#ZFA04Y", "zfa_04y"),
    ("+1 555 123 4567", "(555) 123-4567", "555.123.4567", "+15551234567"),
    ("4111-1111-1111-7447", "4111111111117447", "ending in 7447", "xxxx-7447"),
    ("1,250 items", "1250", "one thousand two hundred and fifty"),
    ("I am José Núñez", "I am Jose Nunez", "I am José Nunez"),
]


@pytest.mark.parametrize("texts", PARAPHRASES, ids=[texts[0] for texts in PARAPHRASES])
def test_paraphrases_are_of_one_value(texts: tuple[str, ...]) -> None:
    first = mentions(texts[0], year=2024)[0]
    others = [mentions(text, year=2024) for text in texts[1:]]
    assert all(found and not first.forms.isdisjoint(found[0].forms) for found in others)


def test_other_values_are_other_values() -> None:
    pairs = [
        ("$200", "$20"),
        ("$200", "HAT200"),
        ("20", "May 20"),
        ("May 20", "May 21"),
        ("May 20, 2023", "2024-05-20"),
        ("1 PM", "1 AM"),
        ("ZFA04Y", "ZFA04Z"),
        ("1.5", "15"),
    ]
    for one, other in pairs:
        forms = [mentions(text, year=2024)[0].forms for text in (one, other)]
        assert forms[0].isdisjoint(forms[1]), (one, other)


def test_a_date_without_a_year_may_be_of_the_next() -> None:
    (said,) = mentions("January 3", year=2024)
    (meant,) = mentions("2025-01-03", year=2024)
    assert not said.forms.isdisjoint(meant.forms)
    assert [m.normal for m in mentions("January 3")] == ["0000-01-03"]


@given(st.integers(10, 999_999))
def test_an_amount_has_one_form_in_all_its_spellings(number: int) -> None:
    spellings = [f"${number}", f"{number:,} dollars", f"USD {number}.00", f"{number}", f"€{number}"]
    assert {mentions(text)[0].normal for text in spellings} == {str(number)}


@given(st.dates(date(1930, 1, 1), date(2040, 12, 31)))
def test_a_date_has_one_form_in_all_its_spellings(day: date) -> None:
    spellings = [
        day.isoformat(),
        f"{day:%B} {day.day}, {day.year}",
        f"{day.day} {day:%b} {day.year}",
        f"{day.month}/{day.day}/{day.year}",
        f"{day:%d.%m.%Y}",
    ]
    assert {mentions(text)[0].normal for text in spellings} == {day.isoformat()}


@given(st.text(max_size=60))
def test_no_text_fails_and_mentions_stand_where_they_say(text: str) -> None:
    for mention in mentions(text, year=2024):
        assert text[mention.start : mention.end] == mention.text
        assert mention.normal in mention.forms


HOSTILE = [
    *("a", "1", "A ", "1-", "1,", "$1,", "a@", "may ", "two ", "Ab ", "1 ", "x*", "a1_", "+1."),
    *("é", "AB ", "one-", "1:00 ", "May 20 ", "123 ", "1/", "\n", "a@a.", "€1.", "a-", "'"),
]


@pytest.mark.parametrize("part", HOSTILE, ids=repr)
def test_time_grows_with_the_length_of_a_hostile_text(part: str) -> None:
    def seconds(characters: int) -> float:
        start = time.process_time()
        mentions(part * (characters // len(part)), year=2024)
        return time.process_time() - start

    assert min(seconds(160_000) / max(seconds(20_000), 0.01) for _ in range(3)) < 30


def test_a_text_of_a_megabyte_is_read_to_its_end() -> None:
    text = "words and words " * 65_000 + "ZFA04Y"
    assert [mention.normal for mention in mentions(text)] == ["zfa04y"]
