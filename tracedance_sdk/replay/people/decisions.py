"""What a rebuilt person may remember: who said each value first, and whether a record backs it.

A person knows what stands in their own records, and does not know what an agent offered. So a value
that the agent said first is kept only when the agent read it out of a tool's answer (rule ``R3``);
what the agent worked out itself, an offer above all, is dropped from everything the person knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Final, Literal, NamedTuple

from tracedance_sdk.replay.people.finders import ValueKind
from tracedance_sdk.replay.people.finding import WORDY, spelled_in
from tracedance_sdk.replay.people.proper_names import common_words, names_in
from tracedance_sdk.replay.people.records import Backing, Records
from tracedance_sdk.replay.people.sentences import OFFERS, offers_in
from tracedance_sdk.replay.people.spellings import plain_text, squeezed
from tracedance_sdk.replay.people.values import NUMERIC, Mention, mentions
from tracedance_sdk.trace import Trace, Turn

PersonaRule = Literal["R1", "R2", "R3"]

PERSONA_RULES: Final[dict[PersonaRule, str]] = {
    "R1": "everything that occurs in the person's own words",
    "R2": "of that, what nobody else said first",
    "R3": "of that, what nobody else said first, or what the agent read out of a record",
}
"""What each rule keeps."""

Reason = Literal[
    "said by the person first",
    "read by the agent out of an answer",
    "said by the agent first, in no answer",
    "said by the agent first",
    "offered by the agent",
    "worked out by a pure tool",
    "tells too little to matter",
    "kept by rule R1",
]

_CAPITAL: Final = re.compile(r"[A-Z](?<!\w[A-Z])[A-Za-z]*")
_TOKEN: Final = re.compile(r"[^\W_]+")


class Decision(NamedTuple):
    """What was decided on one value that the person said.

    Attributes:
        value: As the person said it first.
        normal: The form that reports show.
        kind: What sort of value it looks like.
        first_speaker: Who said it first.
        first_turn: Index of the turn where it was said first.
        said_in: Index of the first turn where the person said it.
        backing: The answer that the agent read it from, if any.
        is_kept: Whether the person remembers it.
        reason: Why.
        forms: All that the value may be written as; see `Mention`.
    """

    value: str
    normal: str
    kind: ValueKind
    first_speaker: Literal["person", "agent"]
    first_turn: int
    said_in: int
    backing: Backing | None
    is_kept: bool
    reason: Reason
    forms: frozenset[str] = frozenset()


def decisions_of(
    trace: Trace,
    *,
    rule: PersonaRule = "R3",
    is_pure: Callable[[str], bool] = lambda name: False,  # noqa: ARG005
    year: int | None = None,
    common: frozenset[str] | None = None,
) -> tuple[Decision, ...]:
    """Return what is decided on each value that the person said, in the order they said them.

    Args:
        trace: The conversation.
        rule: What is kept; see `PERSONA_RULES`.
        is_pure: Whether a tool only computes: what it answers is worked out, not read.
        year: Of dates that name none.
        common: Words in lower case that are neither names nor codes; by default those of the trace.
    """
    words = common_words_of(trace) if common is None else common
    records = Records(trace, is_pure, year)
    return tuple(
        _decision(rule, said, records) for said in _Listener(year, words).said_by_person(trace)
    )


def speaker_of(turn: Turn) -> Literal["person", "agent"] | None:
    """Return who speaks in a turn; None for harness and environment, and for turns without text."""
    if not turn.text.strip():
        return None
    if turn.role == "user" and turn.origin == "human":
        return "person"
    return "agent" if turn.role == "assistant" else None


def common_words_of(trace: Trace) -> frozenset[str]:
    """Return the words that a conversation writes in lower case: they are neither names nor codes.

    People write names in lower case too, so the words of the agent's longer names are left out, and
    what people say who write everything so.
    """
    by_agent, by_person = (
        [plain_text(turn.text).text for turn in trace.turns if speaker_of(turn) == who]
        for who in ("agent", "person")
    )
    common = common_words(by_agent)
    names = (text[a:b] for text in by_agent for a, b in names_in(text, common) if " " in text[a:b])
    told = [trace.system_prompt or "", *(tool.description or "" for tool in trace.tools)]
    of_names = {word for name in names for word in name.casefold().split()}
    return common | common_words(told) | (common_words(filter(_has_capitals, by_person)) - of_names)


def _has_capitals(text: str) -> bool:
    return text != text.lower()


class _Said(NamedTuple):
    """A value that the person said, and who said it first."""

    mention: Mention
    turn: int
    first_speaker: Literal["person", "agent"]
    first_turn: int
    was_offered: bool
    alias: Mention | None = None


class _First(NamedTuple):
    mention: Mention
    turn: int
    was_offered: bool
    alias: Mention | None = None


class _Listener:
    """Follows a conversation and notes who says which value first."""

    def __init__(self, year: int | None, common: frozenset[str]) -> None:
        self._year, self._common = year, common
        self._by_agent: dict[str, _First] = {}
        self._agent_texts: list[tuple[int, str, str]] = []
        self._known: set[str] = set()
        self._unheard: list[Turn] = []
        self._rare: set[str] = set()

    def said_by_person(self, trace: Trace) -> Iterator[_Said]:
        """Yield each value once, where the person says it first."""
        last = max((t.index for t in trace.turns if speaker_of(t) == "person"), default=-1)
        for turn in trace.turns[: last + 1]:
            speaker = speaker_of(turn)
            if speaker == "person":
                yield from self._of_person(turn)
            elif speaker == "agent":
                self._unheard.append(turn)
                self._rare.update(
                    word.casefold()
                    for word in _CAPITAL.findall(plain_text(turn.text).text)
                    if word.casefold() not in self._common
                )

    def _hear(self) -> None:
        """Take in what the agent has said so far: put off until it matters."""
        for turn in self._unheard:
            self._note(turn)
        self._unheard.clear()

    def _note(self, turn: Turn) -> None:
        plain = plain_text(turn.text).text.casefold()
        self._agent_texts.append((turn.index, plain, squeezed(plain)))
        said = self._mentions(turn.text)
        for mention, following in zip_longest(said, said[1:]):
            between = "" if following is None else turn.text[mention.end : following.start]
            alias = following if mention.kind == "name" and between == " (" else None
            first = _First(mention, turn.index, was_offered=False, alias=alias)
            for form in mention.forms:
                self._by_agent.setdefault(form, first)
        offered = set(offers_in(turn.text))
        for match in OFFERS.finditer(turn.text):
            mention = _offer(match[0], match.start())
            is_offered = mention.normal in offered
            self._by_agent.setdefault(
                mention.normal, _First(mention, turn.index, was_offered=is_offered)
            )

    def _mentions(self, text: str) -> list[Mention]:
        return mentions(text, year=self._year, common=self._common)

    def _of_person(self, turn: Turn) -> Iterator[_Said]:
        found = self._mentions(turn.text)
        found += [_offer(m[0], m.start()) for m in OFFERS.finditer(turn.text)]
        is_new = any(self._known.isdisjoint(m.forms) and not m.tells_little for m in found)
        if is_new or self._may_repeat(turn.text):
            self._hear()
            found += self._in_other_spellings(turn.text, {f for m in found for f in m.forms})
        for mention in sorted(found, key=lambda m: m.start):
            if not self._known.isdisjoint(mention.forms):
                continue
            first = self._first_of_agent(mention)
            if mention.kind != "offer" or (first is not None and first.was_offered):
                yield _Said(
                    mention,
                    turn.index,
                    "person" if first is None else "agent",
                    turn.index if first is None else first.turn,
                    was_offered=first is not None and first.was_offered,
                    alias=None if first is None else first.alias,
                )
            self._known |= mention.forms

    def _may_repeat(self, text: str) -> bool:
        """Whether a text has words that are the agent's names and codes in lower case."""
        words = _TOKEN.findall(plain_text(text).text.casefold())
        return not self._rare.isdisjoint(words)

    def _in_other_spellings(self, text: str, forms: set[str]) -> Iterator[Mention]:
        """Yield the agent's words that the person repeats in a spelling unlike a value."""
        plain = plain_text(text)
        low = plain.text.casefold()
        short = squeezed(low)
        is_small = not _has_capitals(text)
        for first in dict.fromkeys(self._by_agent.values()):
            mention = first.mention
            if mention.kind not in WORDY or mention.kind == "offer":
                continue
            if not is_small and mention.kind in ("name", "code") and " " not in mention.normal:
                continue
            if squeezed(mention.normal) not in short or not forms.isdisjoint(mention.forms):
                continue
            spelled = spelled_in(mention, low)
            if spelled is not None and len(low) == len(plain.text):
                start = low.index(spelled)
                begin, end = plain.place(start), plain.place(start + len(spelled) - 1) + 1
                yield mention._replace(text=text[begin:end], start=begin)

    def _first_of_agent(self, mention: Mention) -> _First | None:
        found = [self._by_agent[form] for form in mention.forms if form in self._by_agent]
        if found:
            return min(found, key=lambda first: first.turn)
        if mention.kind in WORDY and mention.kind != "offer":
            short = squeezed(mention.normal)
            for index, text, squeezed_text in self._agent_texts:
                if short in squeezed_text and spelled_in(mention, text) is not None:
                    return _First(mention, index, was_offered=False)
        return None


def _offer(text: str, start: int) -> Mention:
    normal = text.casefold().removesuffix("s")
    return Mention("offer", text, normal, start, frozenset({normal}))


def _decision(rule: PersonaRule, said: _Said, records: Records) -> Decision:
    mention = said.mention
    is_of_agent = said.first_speaker == "agent" and not mention.tells_little
    backing = None
    worked_out = None
    if is_of_agent and not said.was_offered:
        backing = records.backing(mention, said.first_turn)
        if backing is None and said.alias is not None:
            backing = records.backing(said.alias, said.first_turn)
        if mention.kind in NUMERIC and (backing is None or backing.is_number):
            worked_out = records.worked_out(mention, said.first_turn)
            if worked_out is not None and backing is not None and worked_out <= backing.turn:
                backing = None
    is_kept, reason = _decided(
        rule, said, is_backed=backing is not None, was_worked_out=worked_out is not None
    )
    return Decision(
        mention.text,
        mention.normal,
        mention.kind,
        said.first_speaker,
        said.first_turn,
        said.turn,
        backing,
        is_kept,
        reason,
        mention.forms,
    )


def _decided(
    rule: PersonaRule, said: _Said, *, is_backed: bool, was_worked_out: bool
) -> tuple[bool, Reason]:
    if said.mention.tells_little:
        return True, "tells too little to matter"
    if said.first_speaker == "person":
        return True, "said by the person first"
    if rule == "R1":
        return True, "kept by rule R1"
    if rule == "R2":
        return False, "said by the agent first"
    if said.was_offered:
        return False, "offered by the agent"
    if is_backed:
        return True, "read by the agent out of an answer"
    if was_worked_out:
        return False, "worked out by a pure tool"
    return False, "said by the agent first, in no answer"
