"""Who speaks for the recorded person: a script, rules, or a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

from tracedance_sdk.replay.people.persona import content_words, sentences_of
from tracedance_sdk.replay.people.values import mentions, occurs
from tracedance_sdk.replay.rebuilt_test import Fact, Person
from tracedance_sdk.trace import Turn

_ASKS: Final = re.compile(
    r"(?i)\?|\b(?:could|can|would) you (?:please )?(?:provide|confirm|tell|give|share|let me know)|"
    r"\bplease (?:provide|confirm|tell|give|share|let me know)\b|"
    r"\bi(?:'ll| will)? need (?:your|the)\b"
)
_WANTS_YES: Final = re.compile(
    r"(?i)\b(?:would you like|do you (?:want|confirm|agree|wish)|shall i|should i|may i|"
    r"(?:please )?confirm|is (?:that|this) (?:correct|right|ok(?:ay)?)|are you (?:sure|okay|fine)|"
    r"proceed|go ahead)\b"
)
_IS_DONE: Final = re.compile(
    r"(?i)\b(?:anything else|further (?:assistance|help)|other (?:questions|requests)|"
    r"have a (?:great|nice|good|wonderful|pleasant)|glad i could help|"
    r"(?:has|have) been (?:successfully )?(?:transferred|completed))\b"
)
_MOST_TOLD: Final = 5


class Customer(Protocol):
    """Speaks for the recorded person."""

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

    The replay is exact where the agent asks as the recorded one did, and off where it does not.
    """

    name: Final = "scripted"

    def __init__(self, person: Person) -> None:
        self._said = person.said

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        """Return the next recorded message; None after the last."""
        number = sum(turn.role == "user" for turn in conversation)
        later = [text for text in self._said[number:] if text]
        return later[0] if later else None


class RuleCustomer:
    """Knows the facts and tells one only when asked about it; volunteers nothing.

    A question is compared with what each fact is about, word by word. What is asked and not known
    is answered as not known; what wants a yes gets one, unless it is about a value that the person
    never spoke of. When the agent asks nothing more, or says that it is done, so is the person.
    """

    name: Final = "rules"

    def __init__(self, person: Person) -> None:
        self._person = person
        self._goal = set(content_words(person.goal))

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        """Return an answer to the agent's last turn."""
        said = conversation[-1].text
        asked = " ".join(s for s in sentences_of(said) if _ASKS.search(s))
        told = " ".join(turn.text for turn in conversation if turn.role == "user")
        if not asked:
            return None if len(conversation) > 2 or _IS_DONE.search(said) else self._person.goal
        facts = self._asked_for(asked, told)
        if facts:
            return " ".join(_sentence(fact) for fact in facts)
        if _IS_DONE.search(asked):
            return self._rest(told)
        if _WANTS_YES.search(asked):
            return self._consent(said)
        return "I don't know that. Please go on with what you have."

    def _asked_for(self, asked: str, told: str) -> list[Fact]:
        """Return the facts that a question is about, those best that match most words."""
        words = set(content_words(asked))
        ranked = []
        for fact in self._person.knows:
            about = set(content_words(f"{fact.id.replace('_', ' ')} {fact.about}"))
            shared = len(about & words)
            is_new = not occurs_again(fact.value, told)
            if shared and (is_new or shared >= max(1, len(about) // 2)):
                ranked.append((-int(is_new), -shared, fact))
        ranked.sort(key=lambda item: item[:2])
        fresh = [fact for is_new, _, fact in ranked if is_new]
        return (fresh or [fact for _, _, fact in ranked])[:_MOST_TOLD]

    def _consent(self, said: str) -> str:
        known = " ".join((self._person.goal, *(fact.value for fact in self._person.knows)))
        offers = [m for m in mentions(said) if m.kind == "money" and not m.tells_little]
        if any(not occurs(offer.normal, known) for offer in offers) and not self._goal:
            return "No, thank you."
        return "Yes, please go ahead."

    def _rest(self, told: str) -> str | None:
        """Return what the person wants and has not said yet; None when all was said."""
        left = [s for s in sentences_of(self._person.goal) if s not in told]
        return left[0] if left else None


def occurs_again(value: str, text: str) -> bool:
    """Whether a value was said before, in any spelling."""
    found = mentions(value)
    if found:
        return occurs(found[0].normal, text)
    return value.casefold() in text.casefold()


def _sentence(fact: Fact) -> str:
    about = fact.about.strip().rstrip("?:,")
    return f"{about} {fact.value}." if about else f"{fact.value}."
