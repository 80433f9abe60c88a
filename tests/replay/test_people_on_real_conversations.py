"""Thirty real conversations read by a person: every decision, and twenty played by rules."""

from __future__ import annotations

import asyncio
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.shared_data import shared_data
from tests.support.tables import AddRow
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.replay.people import Persona, RuleCustomer, persona_of
from tracedance_sdk.replay.people.decisions import speaker_of
from tracedance_sdk.replay.people.finding import ValueFinder
from tracedance_sdk.trace import Text, Trace, Turn

LABELS: Final = Path(__file__).with_name("people_labels.tsv")
FILES: Final = (
    ("tau-bench", "historical_trajectories/gpt-4o-airline.json.gz"),
    ("tau2-bench", "gpt-4.1_airline_default_gpt-4.1_1trials.json.gz"),
    ("tau2-bench", "gpt-4.1_retail_defautl_gpt-4.1_1trials.json.gz"),
)
PURE: Final = frozenset({"calculate", "think"})


class Label(NamedTuple):
    """What a person says of one value: who said it first, whether it is remembered."""

    value: str
    first: str
    decision: str


@pytest.fixture(scope="module")
def everybody() -> dict[str, tuple[Trace, Persona]]:
    """All people of the files by the id of their trace."""
    paths = [shared_data(folder) / name for folder, name in FILES]
    return {
        item.trace.id: (item.trace, persona_of(item.trace, is_pure=PURE.__contains__))
        for item in collect_paths(paths)
        if item.trace is not None
    }


@pytest.fixture(scope="module")
def personas(
    everybody: dict[str, tuple[Trace, Persona]],
) -> dict[str, tuple[Trace, Persona]]:
    """Those whose conversations are labelled."""
    return {identity: everybody[identity] for identity in labels()}


def labels() -> dict[str, list[Label]]:
    found: dict[str, list[Label]] = {}
    with LABELS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            found.setdefault(row["trace"], [])
            if row["value"]:
                found[row["trace"]].append(Label(row["value"], row["first"], row["decision"]))
    return found


def test_every_decision_is_the_one_a_person_made(
    personas: dict[str, tuple[Trace, Persona]], add_row: AddRow
) -> None:
    assert len(personas) == len(labels()) == 30
    n_right = {"kept": 0, "dropped": 0}
    for identity, expected in labels().items():
        decided = [
            Label(item.value, item.first_speaker, "kept" if item.is_kept else "dropped")
            for item in personas[identity][1].decisions
            if item.reason != "tells too little to matter"
        ]
        assert decided == expected, identity
        for label in expected:
            n_right[label.decision] += 1
    add_row(
        "Persona: decisions on 30 real conversations that a person made too",
        decided="kept",
        right=f"{n_right['kept']} of {n_right['kept']}",
    )
    add_row(
        "Persona: decisions on 30 real conversations that a person made too",
        decided="dropped",
        right=f"{n_right['dropped']} of {n_right['dropped']}",
    )
    assert n_right == {"kept": 140, "dropped": 6}


def test_the_decisions_on_all_conversations_are_those_of_the_page(
    everybody: dict[str, tuple[Trace, Persona]],
) -> None:
    decided = Counter(d.reason for _, persona in everybody.values() for d in persona.decisions)
    assert len(everybody) == 260
    assert decided == {
        "said by the person first": 830,
        "read by the agent out of an answer": 233,
        "said by the agent first, in no answer": 22,
        "offered by the agent": 17,
        "worked out by a pure tool": 3,
        "tells too little to matter": 72,
    }


def ask(customer: RuleCustomer, told: list[str], question: str) -> str | None:
    turns = [
        Turn(
            index=n,
            role="assistant" if n % 2 else "user",
            origin="agent" if n % 2 else "human",
            content=(Text(text=text),),
        )
        for n, text in enumerate([*told, question])
    ]
    return asyncio.run(customer.reply(turns))


def twenty(personas: dict[str, tuple[Trace, Persona]]) -> Iterator[tuple[Trace, Persona]]:
    with_facts = sorted(i for i, (_, persona) in personas.items() if persona.person.knows)
    yield from (personas[identity] for identity in with_facts[:20])


def test_an_agent_that_asks_for_a_fact_is_told_it(
    personas: dict[str, tuple[Trace, Persona]], add_row: AddRow
) -> None:
    n_asked = n_told = 0
    for _, persona in twenty(personas):
        for fact in persona.person.knows:
            customer = RuleCustomer(persona.person)
            words = " ".join(w for w in fact.id.split("_") if not w.isdigit())
            said = ask(customer, [persona.opening], f"Could you please tell me your {words}?")
            n_asked += 1
            n_told += said is not None and fact.value in said
    add_row(
        "Persona: facts told to an agent that asks for each, 20 conversations",
        asked=str(n_asked),
        told=str(n_told),
    )
    assert n_asked > 80
    assert n_told >= 0.95 * n_asked


def test_nothing_dropped_is_ever_said_and_nothing_told_unasked(
    personas: dict[str, tuple[Trace, Persona]],
) -> None:
    n_dropped = n_replies = 0
    for trace, persona in personas.values():
        dropped = [item for item in persona.decisions if not item.is_kept]
        n_dropped += len(dropped)
        finder = ValueFinder(dropped)
        customer = RuleCustomer(persona.person)
        texts = [turn.text for turn in trace.turns if speaker_of(turn) == "agent"]
        remembered = [persona.opening, persona.person.goal]
        remembered += [text for f in persona.person.knows for text in (f.id, f.value, f.about)]
        assert not any(finder.is_in(text) for text in remembered)
        for text in texts:
            said = ask(customer, [persona.opening], text)
            n_replies += said is not None
            assert said is None or not finder.is_in(said)
        unasked = ask(customer, [persona.opening], "One moment, I am looking into it.")
        assert unasked is None or unasked in persona.person.goal
    assert (n_dropped, n_replies > 100) == (6, True)
