"""Who speaks for the recorded person: a script, or rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from tracedance_sdk.replay.people.finders import ValueKind
from tracedance_sdk.replay.people.finding import ValueFinder
from tracedance_sdk.replay.people.sentences import (
    OFFERS,
    asks,
    content_words,
    offers_in,
    sentences_of,
)
from tracedance_sdk.replay.people.spellings import listed
from tracedance_sdk.replay.people.values import mentions
from tracedance_sdk.replay.rebuilt_test import Fact, Person
from tracedance_sdk.trace import Turn

_WANTS_YES: Final = re.compile(
    r"(?i)\b(?:would you like|do you (?:want|confirm|agree|wish|authorize|accept)|shall i|should i|"
    r"may i|can i (?:go|proceed)|please confirm|(?:if|confirm) (?:you|that)|is (?:that|this|it|"
    r"everything) (?:all )?(?:correct|right|ok(?:ay)?|fine)|are you (?:sure|okay|fine|happy)|"
    r"proceed|go ahead|\(?yes ?(?:/|or) ?no\)?|reply yes)\b"
)
_MORE: Final = re.compile(
    r"(?i)\b(?:(?:anything|something) else|(?:further|other|more|additional) (?:assistance|help|"
    r"questions?|requests?|concerns?|changes)|how (?:can|may) i (?:help|assist)|"
    r"what (?:can|may) i do for you)\b"
)
_IS_OVER: Final = re.compile(
    r"(?i)\b(?:(?:have|has|had|been|being|am|be|are|'m|now) (?:now )?(?:been )?"
    r"transferr?(?:ed|ing)|"
    r"have a (?:great|nice|good|wonderful|pleasant|safe|lovely)|goodbye|take care)\b"
    r"|#{2,}(?:STOP|TRANSFER)"
)
_IS_EXTRA: Final = re.compile(
    r"(?i)\b(?:would you like (?:me )?to (?:add|also|upgrade|purchase|buy|include|transfer|"
    r"receive|accept|join|sign)|would you like (?:a|an|some|the|this)\b|"
    r"do you want (?:me to )?(?:add|a|an)|transfer you|connect you)\b"
)
_WORDS_OF_KIND: Final[dict[ValueKind, frozenset[str]]] = {
    "email": frozenset({"email", "e-mail", "mail"}),
    "phone": frozenset({"phone", "telephone", "mobile", "cell"}),
    "card": frozenset({"card"}),
    "date": frozenset({"date", "day"}),
    "time": frozenset({"time"}),
    "money": frozenset({"price", "budget", "cost"}),
    "name": frozenset({"name"}),
}
_SAME_WORDS: Final = {
    "reservation": "booking",
    "confirmation": "booking",
    "username": "user",
    "account": "user",
    "birthday": "birth",
    "dob": "birth",
    "e-mail": "email",
    "zip": "postcode",
    "postal": "postcode",
    "telephone": "phone",
    "mobile": "phone",
}
_WEAK: Final = frozenset(
    listed(
        "number code information detail flight order item change make new one use find current "
        "ending ahead request able look process"
    )
)
"""Words that stand in many questions: alone they do not tell what is asked for."""

_BEGINS_A_SENTENCE: Final = re.compile(
    r"(?i)\b(?:my|our|the|his|her|their|its|it|that|this)(?: (?!(?:my|our|the|his|her|their|and|or|"
    r"but|so|if|that|which|in|for|with|to)\b)[\w'#-]{1,40}){0,4} (?:is|are|was)$"
)
"""Words that a value may stand behind: ``my user ID is``."""

_MOST_TOLD: Final = 8
_MOST_UNKNOWN: Final = 3
_UNKNOWN: Final = "I don't know that. Please go on with what you have."
_YES: Final = "Yes, please go ahead."
_NO: Final = "No, thank you."


class Customer(Protocol):
    """Speaks for the recorded person.

    Where it has ``runs_apart = True``, it is asked on the loop that runs the tests, as it holds
    nobody up. Any other is asked on a loop of its own.
    """

    @property
    def name(self) -> str:
        """Its name in reports."""

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        """Return what the person says to the agent's last turn; None when they are done.

        Args:
            conversation: All turns so far; the first one is the person's opening.
        """


class ScriptedCustomer:
    """Says what was recorded, in order, whatever the agent says.

    The replay is exact where the agent asks as the recorded one did, and off where it does not. It
    is the only customer who says what the old agent had offered.
    """

    name: Final = "scripted"

    def __init__(self, person: Person) -> None:
        self._said = person.said

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        """Return the next recorded message; None after the last."""
        number = sum(turn.role == "user" for turn in conversation)
        later = [text for text in self._said[number:] if text]
        return later[0] if later else None


class _Known(NamedTuple):
    """A fact with the words that a question about it may use."""

    fact: Fact
    words: frozenset[str]
    finder: ValueFinder


class RuleCustomer:
    """Knows the facts and tells one only when asked about it; volunteers nothing.

    A question is compared with what each fact is about, word by word. What is asked and not known
    is answered as not known. What wants a yes gets one, unless it offers what the person never
    spoke of. Asked what else there is, the person says the next of their wishes that they have not
    said. After the last, when they were handed over, or when nothing is asked, they are done.

    Example:
        >>> import asyncio
        >>> from tracedance_sdk.trace import Text
        >>> def turn(role, text):
        ...     return Turn(index=0, role=role, origin="human", content=(Text(text=text),))
        >>> fact = Fact(id="booking", value="ZFA04Y", about="my booking is")
        >>> customer = RuleCustomer(Person(goal="Please cancel my flight.", knows=(fact,)))
        >>> asked = turn("assistant", "What is your reservation number?")
        >>> asyncio.run(customer.reply([turn("user", "Please cancel my flight."), asked]))
        'my booking is ZFA04Y.'
    """

    name: Final = "rules"

    def __init__(self, person: Person) -> None:
        self._wishes = list(sentences_of(person.goal))
        self._known = [_known(fact) for fact in person.knows]

        self._wanted = frozenset(_words(person.goal))

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        """Return an answer to the agent's last turn."""
        said = conversation[-1].text
        mine = [turn.text for turn in conversation if turn.role == "user"]
        if not said.strip() or (_IS_OVER.search(said) and "?" not in said):
            return None
        asked = [s for s in sentences_of(said) if asks(s) or _MORE.search(s)]
        if not asked:
            return None
        questions = [s for s in asked if not _MORE.search(s)]
        told = " ".join(mine)
        if self._offers_too_much(said):
            rest = self._facts_for(questions, told)
            return " ".join([_NO, *map(_sentence, rest)])
        if facts := self._facts_for(questions, told):
            return " ".join(map(_sentence, facts))
        if any(_WANTS_YES.search(question) for question in questions):
            return _YES
        if questions and not _MORE.search(said):
            return self._at_a_loss(mine, told)
        return self._next_wish(told)

    def _facts_for(self, questions: list[str], told: str) -> list[Fact]:
        """Return the facts that questions are about, those not told yet before others."""
        words = frozenset(word for question in questions for word in _words(question))
        telling = words - _WEAK
        asked = [k for k in self._known if k.words & telling] or [
            k for k in self._known if k.words and k.words <= words
        ]
        fresh = [known.fact for known in asked if not known.finder.is_in(told)]
        wants_yes = any(_WANTS_YES.search(question) for question in questions)
        again = [] if wants_yes else [known.fact for known in asked]
        return (fresh or again)[:_MOST_TOLD]

    def _offers_too_much(self, said: str) -> bool:
        """Whether the agent wants consent to something that the person never spoke of."""
        if any(not self._speaks_of_offer(offer) for offer in offers_in(said)):
            return _WANTS_YES.search(said) is not None
        extras = [s for s in sentences_of(said) if _IS_EXTRA.search(s) and "?" in s]
        return any(not self._wanted & (frozenset(_words(s)) - _WEAK) for s in extras)

    def _speaks_of_offer(self, offer: str) -> bool:
        return any(
            match[0].casefold().removesuffix("s") == offer
            for wish in self._wishes
            for match in OFFERS.finditer(wish)
        )

    def _at_a_loss(self, mine: list[str], told: str) -> str | None:
        """Return what is said to a question about something unknown; None after a few of them."""
        unsaid = self._next_wish(told)
        n_unknown = sum(text == _UNKNOWN for text in mine)
        if n_unknown < _MOST_UNKNOWN:
            return _UNKNOWN
        return unsaid

    def _next_wish(self, told: str) -> str | None:
        """Return what the person wants and has not said yet; None when all was said."""
        heard = told.casefold()
        return next((wish for wish in self._wishes if wish.casefold() not in heard), None)


def _known(fact: Fact) -> _Known:
    found = mentions(fact.value)
    kind_words = _WORDS_OF_KIND.get(found[0].kind, frozenset()) if found else frozenset()
    about = frozenset(_words(f"{fact.id.replace('_', ' ')} {fact.about}"))
    return _Known(fact, about or kind_words, ValueFinder(found))


def _words(text: str) -> list[str]:
    return [_SAME_WORDS.get(word, word) for word in content_words(text)]


def _sentence(fact: Fact) -> str:
    """Return a fact as it is told: with the words about it only where they make a sentence."""
    begun = _BEGINS_A_SENTENCE.search(fact.about.strip())
    return f"{fact.value}." if begun is None else f"{begun[0]} {fact.value}."
