"""A rebuilt person: what they want and what they know, without what the old agent offered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.replay.people.decisions import (
    Decision,
    PersonaRule,
    decisions_of,
    speaker_of,
)
from tracedance_sdk.replay.people.values import mentions, occurs
from tracedance_sdk.replay.rebuilt_test import Fact, Person
from tracedance_sdk.trace import Trace

STOP_TOKENS: Final = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""What simulated customers of known benchmarks end a conversation with."""

_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]+)*[.!?]*")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*")
_EMPTY: Final = re.compile(
    r"(?i)\s*(?:(?:yes|no|ok(?:ay)?|sure|great|perfect|thanks?|thank you|hi|hello|please|got it|"
    r"sounds good|that'?s (?:all|correct|right|it)|you'?re welcome|bye|goodbye)\b[\s,.!]*)+"
    r"(?:(?:so|very) much|for (?:your|the) (?:help|assistance)|that'?s all i needed)?[\s,.!]*"
)
_STOP_WORDS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "could",
        "do",
        "for",
        "from",
        "have",
        "i",
        "i'd",
        "i'll",
        "i'm",
        "id",
        "in",
        "is",
        "it",
        "like",
        "me",
        "my",
        "need",
        "of",
        "on",
        "or",
        "please",
        "sure",
        "the",
        "this",
        "that",
        "to",
        "under",
        "want",
        "was",
        "we",
        "with",
        "would",
        "yes",
        "you",
        "your",
        "it's",
    ]
)
_WORDS_ABOUT: Final = 6
_LONGEST_GOAL: Final = 4_000


class Persona(NamedTuple):
    """A person, with what was decided on each value.

    Attributes:
        person: For the test.
        decisions: In the order in which the person said the values.
    """

    person: Person
    decisions: tuple[Decision, ...]


def persona_of(
    trace: Trace,
    *,
    rule: PersonaRule = "R3",
    is_pure: Callable[[str], bool] = lambda name: False,  # noqa: ARG005
) -> Persona:
    """Return the person of a conversation.

    The goal is made of the person's own sentences, in order, without pleasantries. A sentence that
    holds a dropped value in any spelling is left out, and no fact holds one.

    Args:
        trace: The conversation.
        rule: What the person remembers; see `PERSONA_RULES`.
        is_pure: Whether a tool only computes.
    """
    year = year_of(trace)
    decisions = decisions_of(trace, rule=rule, is_pure=is_pure, year=year)
    dropped = [item for item in decisions if not item.is_kept]
    said = tuple(t.text for t in trace.turns if speaker_of(t) == "person")

    def may_stand(text: str) -> bool:
        return not any(occurs(item.normal, text, year=year) for item in dropped)

    sentences = (s for text in said for s in sentences_of(text))
    goal = " ".join(dict.fromkeys(s for s in sentences if not _EMPTY.fullmatch(s) and may_stand(s)))
    return Persona(
        Person(
            goal=goal[:_LONGEST_GOAL],
            knows=tuple(_facts(trace, decisions, may_stand)),
            said=tuple(without_stop_tokens(text) for text in said),
        ),
        decisions,
    )


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a message, stop tokens left out."""
    for match in _SENTENCE.finditer(without_stop_tokens(text)):
        if sentence := match[0].strip():
            yield sentence


def without_stop_tokens(text: str) -> str:
    """Return a message without what ends a conversation in benchmarks."""
    for token in STOP_TOKENS:
        text = text.replace(token, "")
    return text.strip()


def year_of(trace: Trace) -> int | None:
    """Return the year in which a conversation takes place: by its clock, else by its own words."""
    at = next((turn.started_at for turn in trace.turns if turn.started_at is not None), None)
    if at is not None:
        return at.year
    texts = [trace.system_prompt or "", *(turn.text for turn in trace.turns)]
    years = Counter(year for text in texts for year in re.findall(r"\b(20\d\d)-\d\d-\d\d\b", text))
    return int(years.most_common(1)[0][0]) if years else None


def _facts(
    trace: Trace, decisions: tuple[Decision, ...], may_stand: Callable[[str], bool]
) -> Iterator[Fact]:
    used: Counter[str] = Counter()
    for item in decisions:
        if not item.is_kept or item.reason == "tells too little to matter":
            continue
        about = _about(trace.turns[item.said_in].text, item)
        question = _question_before(trace, item.said_in)
        if len(about.split()) < 2 and question:
            about = f"{about} {question}".strip()
        if not may_stand(about):
            about = item.kind
        word = "_".join(content_words(about)[-3:]) or item.kind
        used[word] += 1
        name = word if used[word] == 1 else f"{word}_{used[word]}"
        yield Fact(id=name, value=item.value.strip(" ,."), about=about)


def _about(text: str, item: Decision) -> str:
    """Return the words that the person put before a value."""
    place = text.find(item.value)
    before = text[: max(place, 0)]
    start = max(before.rfind(mark) for mark in ".!?\n")
    words = [word for word in before[start + 1 :].split() if not mentions(word)]
    return " ".join(words[-_WORDS_ABOUT:]).strip(" ,:;#(\"'")


def _question_before(trace: Trace, index: int) -> str:
    """Return the last question that the agent asked before a turn."""
    for turn in reversed(trace.turns[:index]):
        if speaker_of(turn) == "agent":
            asked = [s for s in sentences_of(turn.text) if s.endswith("?")]
            return asked[-1] if asked else ""
    return ""


def content_words(text: str) -> list[str]:
    """Return the words of a text that say what it is about, in lower case."""
    words = (word.casefold() for word in _WORD.findall(text))
    return [word for word in words if word not in _STOP_WORDS and len(word) > 1]
