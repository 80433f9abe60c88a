"""Customers: what they tell, what they keep to themselves, when they are done."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_models import APIS, Answer, Request, saying, scripted_models
from tracedance_sdk.errors import CustomerFailed, InvalidOption
from tracedance_sdk.llm import Asker, chat_model
from tracedance_sdk.replay.people import (
    Customer,
    ModelCustomer,
    RuleCustomer,
    ScriptedCustomer,
    customer_named,
)
from tracedance_sdk.replay.rebuilt_test import Fact, Person
from tracedance_sdk.trace import Call, Result, Text, Turn

PERSON = Person(
    goal="Hi, I need to change my flight to May 22. I would also like a window seat.",
    knows=(
        Fact(id="user", value="mei_brown_7075", about="my user ID is"),
        Fact(id="reservation", value="ZFA04Y", about="the reservation is"),
        Fact(id="email", value="mei@example.com", about=""),
        Fact(id="birth", value="1990-04-05", about="What is your date of birth?"),
    ),
    said=("Hi, I need to change my flight to May 22.", "ZFA04Y.", "", "I take the $200."),
)
OPENING = "Hi, I need to change my flight to May 22."
UNKNOWN = "I don't know that. Please go on with what you have."


def talk(*said: str) -> list[Turn]:
    """Return a conversation in which the person begins and the agent speaks last."""
    return [
        Turn(
            index=n,
            role="assistant" if n % 2 else "user",
            origin="agent" if n % 2 else "human",
            content=(Text(text=text),),
        )
        for n, text in enumerate(said)
    ]


def reply(customer: Customer, *said: str) -> str | None:
    return asyncio.run(customer.reply(talk(*said)))


@pytest.mark.parametrize(
    ("agent_says", "person_says"),
    [
        ("What is your user ID?", "my user ID is mei_brown_7075."),
        ("Please provide your user ID and booking number.", None),
        ("I'll need your e-mail address.", "mei@example.com."),
        ("When were you born? I need your date of birth.", "1990-04-05."),
        ("What is your favourite colour?", UNKNOWN),
        ("Do you want me to change the flight?", "Yes, please go ahead."),
        ("Is that correct?", "Yes, please go ahead."),
        ("I can offer you a $200 certificate. Would you like it?", "No, thank you."),
        ("Would you like to add travel insurance for $30?", "No, thank you."),
        ("Would you like me to transfer you to a human agent?", "No, thank you."),
        ("Would you like to add a window seat?", "Yes, please go ahead."),
        ("How can I help you?", "I would also like a window seat."),
        ("It is changed. Is there anything else?", "I would also like a window seat."),
        ("You have been transferred to a human agent.", None),
        ("Have a great day!", None),
        ("###STOP###", None),
        ("   ", None),
    ],
)
def test_what_a_customer_by_rules_says(agent_says: str, person_says: str | None) -> None:
    said = reply(RuleCustomer(PERSON), OPENING, agent_says)
    if "booking" in agent_says:
        assert said == "my user ID is mei_brown_7075. the reservation is ZFA04Y."
    else:
        assert said == person_says


def test_nothing_is_volunteered_by_a_customer_by_rules() -> None:
    customer = RuleCustomer(PERSON)
    for statement in ("Done.", "It is changed.", "Hello! I am glad to help. One moment."):
        assert reply(customer, OPENING, statement) is None
    said = reply(customer, OPENING, "How can I help you?")
    assert said is not None
    assert not any(fact.value in said for fact in PERSON.knows)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ("my user ID is", "my user ID is X1."),
        ("Sure, the number is", "the number is X1."),
        ("in the window and the user number is", "the user number is X1."),
        ("for the user under", "X1."),
        ("Hi, my user", "X1."),
        ("What is your user ID?", "X1."),
        ("user", "X1."),
    ],
)
def test_words_about_a_fact_are_spoken_only_where_they_make_a_sentence(
    about: str, said: str
) -> None:
    person = Person(goal="Help.", knows=(Fact(id="user", value="X1", about=about),))
    assert reply(RuleCustomer(person), "Help.", "What is your user number?") == said


def test_a_fact_is_told_again_when_it_is_asked_for_again() -> None:
    turns = (OPENING, "Your user ID?", "my user ID is mei_brown_7075.", "What is your user ID?")
    assert reply(RuleCustomer(PERSON), *turns) == "my user ID is mei_brown_7075."


def test_after_everything_was_said_a_customer_by_rules_is_done() -> None:
    turns = (OPENING, "Done. Anything else?", "I would also like a window seat.", "Done.")
    assert reply(RuleCustomer(PERSON), *turns) is None


def test_an_agent_that_asks_on_and_on_for_what_nobody_knows_is_left() -> None:
    said = [OPENING, *["What is your shoe size?", UNKNOWN] * 3, "And your shoe size?"]
    assert reply(RuleCustomer(PERSON), *said) == "I would also like a window seat."
    nobody = RuleCustomer(Person(goal="Hi."))
    assert reply(nobody, "Hi.", *["Your size?", UNKNOWN] * 3, "Your size?") is None


def test_an_offer_that_the_person_came_for_is_accepted() -> None:
    person = Person(goal="I want a certificate for the delay.")
    offer = "I can offer you a certificate of $200. Would you like it?"
    assert reply(RuleCustomer(person), person.goal, offer) == "Yes, please go ahead."


def test_a_scripted_customer_repeats_the_recording() -> None:
    customer = ScriptedCustomer(PERSON)
    assert reply(customer, PERSON.said[0], "anything") == "ZFA04Y."
    assert reply(customer, PERSON.said[0], "a", "ZFA04Y.", "b") == "I take the $200."
    assert reply(customer, *["a", "b"] * 4) is None
    assert reply(ScriptedCustomer(Person()), "a", "b") is None


PLUGIN = """
class Echo:
    name = "echo"

    def __init__(self, person):
        self.person = person

    async def reply(self, conversation):
        return conversation[-1].text or None
"""


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo_customer.py").write_text(PLUGIN)
    info = tmp_path / "echo_customer-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo_customer\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[tracedance.customers]\necho = echo_customer:Echo\n"
        "lost = no_such_module:Lost\nodd = echo_customer:__name__\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("plugins")
def test_customers_of_other_packages_are_found_by_name() -> None:
    assert reply(customer_named("echo")(PERSON), "a", "b") == "b"
    assert customer_named("rules") is RuleCustomer
    assert customer_named("scripted") is ScriptedCustomer
    with pytest.raises(InvalidOption, match="no customer 'who'; there are scripted, rules, echo"):
        customer_named("who")
    with pytest.raises(InvalidOption, match="'lost' cannot be loaded: ModuleNotFoundError"):
        customer_named("lost")
    with pytest.raises(InvalidOption, match="'odd' is not callable"):
        customer_named("odd")


def text_of(request: Request) -> str:
    return json.dumps(request.body, ensure_ascii=False)


def asked(api: str, answer: Answer, turns: list[Turn]) -> tuple[list[Request], str | None]:
    with scripted_models(lambda _, __: answer) as server:
        model = chat_model(server.name(api), timeout_s=5, retries=0)
        asker = Asker(model)
        customer = ModelCustomer(asker, PERSON, name=model.name)
        assert customer.name == model.name

        async def work() -> str | None:
            try:
                return await customer.reply(turns)
            finally:
                await asker.close()

        said = asyncio.run(work())
    return server.requests, said


@pytest.mark.parametrize("api", APIS)
def test_a_model_speaks_for_the_person_and_sees_no_tool_and_nothing_dropped(api: str) -> None:
    secret: dict[str, Any] = {"secret": "TOOL-ANSWER"}
    call = Call(index=0, id="c", name="get_user", arguments=secret, result=Result(content=secret))
    turns = talk(OPENING, "One moment.", "", "Which seat?")
    turns[1] = turns[1].model_copy(update={"calls": (call,)})
    (request,), said = asked(api, Answer(saying(api, " A window seat. ")), turns)
    assert said == "A window seat."
    sent = text_of(request)
    assert "mei_brown_7075" in sent
    assert "One moment.\\n\\nWhich seat?" in sent
    assert not any(word in sent for word in ("TOOL-ANSWER", "get_user", "$200", "I take"))


@pytest.mark.parametrize("api", APIS)
def test_roles_are_turned_round_for_a_model_that_speaks_for_the_person(api: str) -> None:
    (request,), _ = asked(api, Answer(saying(api)), talk(OPENING, "Which seat?"))
    messages = request.body.get("messages") or request.body["input"]
    spoken = [m["role"] for m in messages if m["role"] not in ("system", "developer")]
    assert spoken == ["user", "assistant", "user"]


def test_a_model_ends_the_conversation_by_saying_so() -> None:
    _, said = asked("openai", Answer(saying("openai", "[DONE]")), talk(OPENING, "Done."))
    assert said is None
    _, said = asked("openai", Answer(saying("openai", "Thanks. [DONE]")), talk(OPENING, "Done."))
    assert said == "Thanks."


@pytest.mark.parametrize(
    "answer",
    [
        Answer(saying("openai", "")),
        Answer(saying("openai", None, refusal="No.")),
        Answer(saying("openai", "Half of", end="length")),
        Answer({"error": {"message": "no"}}, status=401),
        Answer(b"<html>", content_type="text/html"),
    ],
    ids=["empty", "refused", "cut off", "not let in", "no JSON"],
)
def test_a_model_that_gives_no_answer_has_failed(answer: Answer) -> None:
    with pytest.raises(CustomerFailed, match="the customer's model gave no answer"):
        asked("openai", answer, talk(OPENING, "Which seat?"))
