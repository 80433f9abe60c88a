"""Whether an occurrence is one: a model is shown the criterion and the run up to the source turn.

The criterion decides; the anchor only narrowed down where to look. A reply that cannot be read does
not confirm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.judging import ABOUT_CONDENSED, condensed
from tracedance_sdk.llm import (
    Asker,
    Context,
    Missing,
    Question,
    Reply,
    ReplySchema,
    Settings,
    structured_value,
)
from tracedance_sdk.trace import Text, Trace, Turn, json_digest

_SCHEMA: Final = ReplySchema(
    "confirmation",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["reason", "evidence_turns", "confirmed"],
        "properties": {
            "reason": {"type": "string"},
            "evidence_turns": {"type": "array", "items": {"type": "integer"}},
            "confirmed": {"type": "boolean"},
        },
    },
    "Whether the last turn shows the behaviour.",
)
_SYSTEM: Final = """\
You check whether the last turn of a recorded run shows one behaviour.

BEHAVIOUR: {name}
{definition}

CRITERION
{criterion}

RULES
- The criterion decides, whatever made somebody look here. The behaviour counts only if the last
  turn, turn {turn}, shows it.
- Judge by what the agent could know at that turn.
- First give the reason in one or two sentences, then the indices of the turns that show it, then
  whether it is confirmed.

{about}"""
OUTPUT_CAP: Final = 4_096
LONGEST_REASON: Final = 400


class Confirmation(NamedTuple):
    """What a model says of an occurrence.

    Attributes:
        behavior: Id of the behaviour.
        confirmed: False as well when the reply could not be read.
        reason: In its words, or why the reply could not be read.
        evidence_turns: Indices of turns that show it, as far as there are such turns.
        missing: The kind of what is missing; None when the reply could be read.
    """

    behavior: str
    confirmed: bool
    reason: str
    evidence_turns: tuple[int, ...] = ()
    missing: str | None = None


class Asked(NamedTuple):
    """An occurrence to be confirmed: the run up to and with its source turn."""

    behavior: Behavior
    trace: Trace


class Confirmer:
    """Asks a model whether occurrences are ones.

    Args:
        asker: The model, with its cache and limits. It is closed after each batch.
        model_name: The model's name.

    Attributes:
        name: Of the model, with a digest of the prompt.
    """

    def __init__(self, asker: Asker, *, model_name: str) -> None:
        self.asker = asker
        self.name = f"{model_name}#{json_digest([_SYSTEM, _SCHEMA.schema])[:12]}"

    def confirm(self, asked: Sequence[Asked]) -> list[Confirmation]:
        """Return what the model says of each, in their order."""
        return asyncio.run(self._all(asked))

    async def _all(self, asked: Sequence[Asked]) -> list[Confirmation]:
        found: dict[int, Confirmation] = {}
        try:
            async for number, reply in self.asker.ask_all(map(question, asked)):
                found[number] = read_confirmation(reply, asked[number])
        finally:
            await self.asker.close()
        return [found[number] for number in range(len(asked))]


def question(asked: Asked) -> Question:
    """Return what a model is asked of an occurrence."""
    behavior, trace = asked
    system = _SYSTEM.format(
        name=behavior.name,
        definition=behavior.definition,
        criterion=behavior.criterion,
        turn=len(trace.turns) - 1,
        about=ABOUT_CONDENSED,
    )
    shown = Text(text=condensed(trace, until=len(trace.turns)))
    message = Turn(index=0, role="user", origin="harness", content=(shown,))
    settings = Settings(max_output_tokens=OUTPUT_CAP, reply_schema=_SCHEMA)
    return Question(Context((message,), system), (), settings)


def read_confirmation(reply: Reply, asked: Asked) -> Confirmation:
    """Return what a reply says."""
    value: dict[str, Any] | Missing = structured_value(reply, _SCHEMA)
    if isinstance(value, Missing):
        return Confirmation(asked.behavior.id, False, str(value), (), value.kind)
    turns = tuple(turn for turn in value["evidence_turns"] if 0 <= turn < len(asked.trace.turns))
    reason = " ".join(value["reason"].split())[:LONGEST_REASON]
    return Confirmation(asked.behavior.id, value["confirmed"], reason, turns)
