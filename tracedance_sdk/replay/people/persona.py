"""A rebuilt person: what they want and what they know, without what the old agent offered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.replay.people.decisions import (
    Decision,
    PersonaRule,
    common_words_of,
    decisions_of,
    speaker_of,
)
from tracedance_sdk.replay.people.finding import ValueFinder
from tracedance_sdk.replay.people.sentences import (
    asks,
    content_words,
    sentences_of,
    without_stop_tokens,
)
from tracedance_sdk.replay.rebuilt_test import Fact, Person
from tracedance_sdk.trace import Trace, Turn

NEUTRAL_OPENING: Final = "Hello, I need your help."
"""The opening of a person who began with nothing but what the old agent had said first."""

_EMPTY: Final = re.compile(
    r"(?i)\s*(?:(?:yes|no|yep|ok(?:ay)?|sure|alright|great|perfect|thanks?|thank you|hi|hello|hey|"
    r"there|please|got it|understood|i understand|i see|sounds good|that (?:works|sounds (?:good|"
    r"great))|that'?s (?:all|correct|right|it|fine|great)|you'?re welcome|you too|take care|bye|"
    r"goodbye|go ahead|proceed|do (?:that|it|so)|i confirm|good (?:morning|afternoon|evening|day)|"
    r"have a (?:\w+ ){1,2}(?:day|evening|one)|i (?:really )?appreciate (?:it|that|(?:all )?your "
    r"\w+)|that (?:would|will) be (?:great|good|fine|perfect|lovely)|how are you(?: doing)?"
    r"(?: today)?|(?:i )?hope you(?:'re| are) (?:doing )?well|nice to meet you|cheers|wonderful|"
    r"excellent|awesome|of course|absolutely|no (?:problem|worries))\b[\s,.!?]*)+"
    r"(?:(?:so|very) much|again|"
    r"(?:for|with) (?:now|your|the|this|that|these|those)?\s?(?:\w+\s?){0,4}|i needed|"
    r"and have a .{0,30})?[\s,.!]*"
)
_GREETING: Final = re.compile(
    r"(?i)(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you|sure|okay|ok|"
    r"great|perfect|alright)(?: there| so much| very much| again)?[,!.:-]+ +)+(?=\S)"
)
"""What a sentence may begin with that says nothing."""

_WANTS: Final = re.compile(
    r"(?i)\b(?:want|like|need|would|could|can|can't|cannot|please|help|change|cancel|book|add|"
    r"remove|return|exchange|refund|prefer|hoping|hope|looking|if|only|use|pay|upgrade|modify|"
    r"update|check|instead|without|don't|no|not|all|expect|should|must)\b"
)
_YEARS: Final = re.compile(
    r"2(?<![\w-]2)(0[0-9]{2})(?:-[0-9]{2}-[0-9]{2}(?![0-9])|(?<=[0-9], [0-9]{4})(?![\w-]))"
)
_TELLING: Final = frozenset({"email", "id", "phone", "card", "number", "name", "code", "date"})
_WORDS_ABOUT: Final = 6
_LEAST_WORDS_ABOUT: Final = 1
_LONGEST_GOAL: Final = 4_000


class Persona(NamedTuple):
    """A person, with what was decided on each value.

    Attributes:
        person: For the test.
        opening: The first thing the person says, without what the agent had said before.
        decisions: In the order in which the person said the values.
    """

    person: Person
    opening: str
    decisions: tuple[Decision, ...]


def persona_of(
    trace: Trace,
    *,
    rule: PersonaRule = "R3",
    is_pure: Callable[[str], bool] = lambda name: False,  # noqa: ARG005
) -> Persona:
    """Return the person of a conversation.

    The goal is made of the person's own sentences, in order, without pleasantries, and without
    those that only tell what was asked for: these are facts. A clause that holds a dropped value in
    any spelling is left out, and neither the opening nor a fact holds one. `Person.said` alone is
    as it was recorded: it serves who repeats the recording word by word.

    Args:
        trace: The conversation.
        rule: What the person remembers; see `PERSONA_RULES`.
        is_pure: Whether a tool only computes.
    """
    year, common = year_of(trace), common_words_of(trace)
    decisions = decisions_of(trace, rule=rule, is_pure=is_pure, year=year, common=common)
    dropped = [item for item in decisions if not item.is_kept]
    finder = ValueFinder(dropped, year=year, common=common)
    turns = [turn for turn in trace.turns if speaker_of(turn) == "person"]
    opening = _opening(turns, finder)
    told = ValueFinder(
        (d for d in decisions if d.is_kept and d.kind in _TELLING and _is_fact(d)),
        year=year,
        common=common,
    )
    goal = " ".join(dict.fromkeys(_wishes(turns, finder, told)))
    return Persona(
        Person(
            goal=goal[:_LONGEST_GOAL],
            knows=tuple(_facts(trace, decisions, finder)),
            said=tuple(without_stop_tokens(turn.text) for turn in turns),
        ),
        opening,
        decisions,
    )


def year_of(trace: Trace) -> int | None:
    """Return the year in which a conversation takes place: by its clock, else by its own words."""
    at = next((turn.started_at for turn in trace.turns if turn.started_at is not None), None)
    if at is not None:
        return at.year
    years = Counter(
        year
        for text in (trace.system_prompt or "", *(turn.text for turn in trace.turns))
        for year in _YEARS.findall(text)
    )
    return 2000 + int(years.most_common(1)[0][0]) if years else None


def _opening(turns: list[Turn], finder: ValueFinder) -> str:
    if not turns:
        return ""
    said = without_stop_tokens(turns[0].text)
    return said if not finder.is_in(said) else finder.masked(said) or NEUTRAL_OPENING


def _wishes(turns: list[Turn], finder: ValueFinder, told: ValueFinder) -> Iterator[str]:
    """Yield the sentences that say what the person wants."""
    for number, turn in enumerate(turns):
        for sentence in sentences_of(turn.text):
            if _EMPTY.fullmatch(sentence):
                continue
            if number and not _WANTS.search(sentence) and told.is_in(sentence):
                continue
            if left := finder.masked_sentence(sentence):
                bare = _GREETING.sub("", left, count=1) if _GREETING.match(left) else left
                yield bare[0].upper() + bare[1:]


def _is_fact(item: Decision) -> bool:
    return item.is_kept and item.kind != "offer" and item.reason != "tells too little to matter"


def _facts(trace: Trace, decisions: tuple[Decision, ...], finder: ValueFinder) -> Iterator[Fact]:
    used: Counter[str] = Counter()
    for item in filter(_is_fact, decisions):
        value = item.value.strip(" ,.")
        if finder.is_in(value):
            continue
        text = trace.turns[item.said_in].text
        about = _about(text, decisions, item)
        if len(content_words(about)) < _LEAST_WORDS_ABOUT:
            about = f"{about} {_question_before(trace, item.said_in)}".strip()
        if not about or finder.is_in(about):
            about = item.kind
        word = _slug(content_words(about)[-3:]) or item.kind
        used[word] += 1
        yield Fact(id=word if used[word] == 1 else f"{word}_{used[word]}", value=value, about=about)


def _slug(words: list[str]) -> str:
    """Return words as an id; contractions, such as it'll, say nothing."""
    return "_".join(re.sub(r"\W+", "_", word) for word in words if "'" not in word)


def _about(text: str, decisions: tuple[Decision, ...], item: Decision) -> str:
    """Return the words that the person put before a value, other values left out."""
    before = text[: max(text.find(item.value), 0)]
    start = max((before.rfind(mark) for mark in (". ", "! ", "? ", "\n")), default=-1)
    part = before[start + 1 :]
    for other in decisions:
        part = part.replace(other.value, " ")
    return " ".join(part.split()[-_WORDS_ABOUT:]).strip(" ,:;#(\"'.")


def _question_before(trace: Trace, index: int) -> str:
    """Return what the agent last asked for before a turn."""
    for turn in reversed(trace.turns[:index]):
        if speaker_of(turn) == "agent":
            asked = [sentence for sentence in sentences_of(turn.text) if asks(sentence)]
            return asked[-1] if asked else ""
    return ""
