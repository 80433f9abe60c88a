"""A model speaks for the recorded person, from the goal and the facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracedance_sdk.errors import CustomerFailed
from tracedance_sdk.llm import Asker, Context, Question, Settings
from tracedance_sdk.replay.rebuilt_test import Person
from tracedance_sdk.trace import Text, Turn

DONE: Final = "[DONE]"
"""What the model writes when the person has nothing more to say."""

_GREETING: Final = "Hello, how can I help you?"
_OUTPUT_CAP: Final = 400
_LONGEST_TEXT: Final = 16_000
_SYSTEM: Final = """\
You play a customer who talks to a service agent. Stay in this role.

WHAT YOU WANT
{goal}

WHAT YOU KNOW
{facts}

RULES
- Say one short message at a time, in your own words.
- Volunteer nothing: tell a fact only when the agent asks for it.
- Never make up numbers, names, dates or ids. What you do not know you do not know.
- Accept an offer only when it serves what you want.
- When what you want is done, or the agent says that it cannot be done, write {done} and nothing \
else.
"""


class ModelCustomer:
    """Speaks as a model would who knows what the person wants and knows.

    The model sees the agent's texts and the customer's own, never a tool call, and nothing of the
    recording but goal and facts.

    Args:
        asker: The model, with its cache and limits.
        person: Who is played.
        name: In reports.
        settings: How replies are made.
    """

    runs_apart: Final = True

    def __init__(
        self, asker: Asker, person: Person, *, name: str, settings: Settings | None = None
    ) -> None:
        self.name = name
        self._asker = asker
        self._settings = settings or Settings(max_output_tokens=_OUTPUT_CAP)
        facts = "\n".join(f"- {fact.about or fact.id}: {fact.value}" for fact in person.knows)
        self._system = _SYSTEM.format(goal=person.goal or "-", facts=facts or "-", done=DONE)

    async def reply(self, conversation: Sequence[Turn]) -> str | None:
        """Return what the person says next; None when they are done.

        Raises:
            CustomerFailed: The model gave no answer.
        """
        reply = await self._asker.ask(
            Question(Context(_seen_by_customer(conversation), self._system), (), self._settings)
        )
        if reply.missing is not None or reply.turn is None:
            raise CustomerFailed(f"the customer's model gave no answer: {reply.missing}")
        text = reply.turn.text.strip()
        if DONE in text:
            return text.replace(DONE, "").strip() or None
        return text


def _seen_by_customer(conversation: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return a conversation from the other side: the agent's texts are the user's.

    Texts that follow one another from one side are one turn, as models want them in turns.
    """
    said: list[tuple[bool, str]] = [(False, _GREETING)]
    for turn in conversation:
        text = turn.text.strip()[:_LONGEST_TEXT]
        is_person = turn.role == "user"
        if text and said[-1][0] == is_person:
            said[-1] = (is_person, f"{said[-1][1]}\n\n{text}")
        elif text:
            said.append((is_person, text))
    if len(said) > 1 and not said[0][0] and said[0][1].startswith(f"{_GREETING}\n\n"):
        said[0] = (False, said[0][1].removeprefix(f"{_GREETING}\n\n"))
    return tuple(
        Turn(
            index=index,
            role="assistant" if is_person else "user",
            origin="agent" if is_person else "human",
            content=(Text(text=text),),
        )
        for index, (is_person, text) in enumerate(said)
    )
