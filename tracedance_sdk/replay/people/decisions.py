"""What a rebuilt person may remember: who said each value first, and whether a record backs it.

A person knows what stands in their own records, and does not know what an agent offered. So a value
that the agent said first is kept only when the agent read it out of a tool's answer (rule ``R3``);
what the agent worked out itself, an offer above all, is dropped from everything the person knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from tracedance_sdk.replay.derivation import parsed
from tracedance_sdk.replay.people.values import (
    Mention,
    ValueKind,
    has_token,
    mentions,
    scalar_forms,
)
from tracedance_sdk.trace import Json, Trace, Turn

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
    "worked out by a pure tool",
    "tells too little to matter",
    "kept by rule R1",
]
_MOST_LEAVES: Final = 50_000


class Backing(NamedTuple):
    """A tool's answer that holds a value.

    Attributes:
        call_id: Of the call.
        turn: Index of its turn.
        is_number: Whether only a number agrees, which may be chance.
    """

    call_id: str
    turn: int
    is_number: bool


class Decision(NamedTuple):
    """What was decided on one value that the person said.

    Attributes:
        value: As the person said it first.
        normal: The form that all its spellings share.
        kind: What sort of value it looks like.
        first_speaker: Who said it first.
        first_turn: Index of the turn where it was said first.
        said_in: Index of the first turn where the person said it.
        backing: The answer that the agent read it from, if any.
        is_kept: Whether the person remembers it.
        reason: Why.
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


class _Leaf(NamedTuple):
    """A scalar of an answer."""

    forms: frozenset[str]
    text: str
    call_id: str
    turn: int
    is_number: bool
    is_pure: bool


def decisions_of(
    trace: Trace,
    *,
    rule: PersonaRule = "R3",
    is_pure: Callable[[str], bool] = lambda name: False,  # noqa: ARG005
    year: int | None = None,
) -> tuple[Decision, ...]:
    """Return what is decided on each value that the person said, in the order they said them.

    Args:
        trace: The conversation.
        rule: What is kept; see `PERSONA_RULES`.
        is_pure: Whether a tool only computes: what it answers is worked out, not read.
        year: Of dates that name none.
    """
    leaves = list(_leaves(trace, is_pure, year))
    first: dict[str, tuple[Literal["person", "agent"], int]] = {}
    said: dict[str, tuple[Mention, int]] = {}
    for turn in trace.turns:
        speaker = speaker_of(turn)
        if speaker is None:
            continue
        for mention in mentions(turn.text, year=year):
            first.setdefault(mention.normal, (speaker, turn.index))
            if speaker == "person":
                said.setdefault(mention.normal, (mention, turn.index))
    agent_texts = [(t.index, t.text.casefold()) for t in trace.turns if speaker_of(t) == "agent"]
    found = []
    for normal, (mention, index) in said.items():
        who, where = first[normal]
        if who == "person" and not mention.tells_little:
            # An agent may have said it in a spelling that does not look like a value.
            earlier = [n for n, text in agent_texts if n < where and has_token(normal, text)]
            if earlier:
                who, where = "agent", earlier[0]
        backing = _backing(normal, where, leaves) if who == "agent" else None
        was_worked_out = any(
            leaf.is_pure and leaf.turn <= where and normal in leaf.forms for leaf in leaves
        )
        first_told = _First(who, backing, was_worked_out)
        is_kept, reason = _decided(rule, mention, first_told)
        found.append(
            Decision(
                mention.text, normal, mention.kind, who, where, index, backing, is_kept, reason
            )
        )
    return tuple(found)


def speaker_of(turn: Turn) -> Literal["person", "agent"] | None:
    """Return who speaks in a turn; None for harness and environment, and for turns without text."""
    if not turn.text.strip():
        return None
    if turn.role == "user" and turn.origin == "human":
        return "person"
    return "agent" if turn.role == "assistant" else None


class _First(NamedTuple):
    """Who said a value first, and out of which answer."""

    speaker: Literal["person", "agent"]
    backing: Backing | None
    was_worked_out: bool


def _decided(rule: PersonaRule, mention: Mention, first: _First) -> tuple[bool, Reason]:
    if mention.tells_little:
        return True, "tells too little to matter"
    if first.speaker == "person":
        return True, "said by the person first"
    if rule == "R1":
        return True, "kept by rule R1"
    if rule == "R2":
        return False, "said by the agent first"
    if first.backing is not None:
        return True, "read by the agent out of an answer"
    if first.was_worked_out:
        return False, "worked out by a pure tool"
    return False, "said by the agent first, in no answer"


def _backing(normal: str, where: int, leaves: list[_Leaf]) -> Backing | None:
    """Return the first answer, up to the agent's mention, that holds a value."""
    number: Backing | None = None
    for leaf in leaves:
        if leaf.turn > where or leaf.is_pure:
            continue
        if normal in leaf.forms or has_token(normal, leaf.text):
            found = Backing(leaf.call_id, leaf.turn, leaf.is_number)
            if not leaf.is_number:
                return found
            number = number or found
    return number


def _leaves(trace: Trace, is_pure: Callable[[str], bool], year: int | None) -> Iterator[_Leaf]:
    number = 0
    for turn in trace.turns:
        for call in turn.calls:
            if call.result is None or call.requested_by != "agent":
                continue
            for value in _scalars(parsed(call.result).value):
                number += 1
                if number > _MOST_LEAVES:
                    return
                is_number = isinstance(value, (int, float))
                text = "" if is_number else str(value).casefold()
                forms = frozenset(scalar_forms(value, year=year))
                yield _Leaf(forms, text, call.id, turn.index, is_number, is_pure(call.name))


def _scalars(value: Json) -> Iterator[Json]:
    """Yield the scalars of a JSON value, keys of objects too: ids often stand there."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield from item
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, (list, tuple)):
            pending.extend(reversed(item))
        elif isinstance(item, (str, int, float)) and not isinstance(item, bool):
            yield item
