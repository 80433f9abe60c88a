"""The protocol of a chat model: a context goes in, one assistant turn comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

from tracedance_sdk.trace import Json, ToolDefinition, Trace, Turn, Usage

MissingKind = Literal[
    "empty", "refused", "cut_off", "unparsable", "error", "context_too_long", "not_asked"
]

MISSING: Final[dict[MissingKind, str]] = {
    "empty": "the reply holds neither text nor a call",
    "refused": "the model or its provider declined",
    "cut_off": "the reply ended at the cap on tokens",
    "unparsable": "what came back, or the arguments of a call in it, is not what the API promises",
    "error": "the endpoint failed, timed out, or could not be reached",
    "context_too_long": "the context does not fit the model",
    "not_asked": "a limit was reached, or the endpoint had refused all calls before",
}
"""Why there is no answer, in words. None of these is ever scored."""

OUTPUT_CAP: Final = 32_768
"""Most tokens of a reply unless set otherwise."""


class Context(NamedTuple):
    """What a model is shown before its turn.

    Attributes:
        turns: In order, reasoning left out.
        system_prompt: Of the agent.
    """

    turns: tuple[Turn, ...]
    system_prompt: str | None = None

    @classmethod
    def of(cls, trace: Trace, turn: int) -> Context:
        """Return what the model saw before a turn of a trace.

        Raises:
            IndexError: No such turn.
        """
        return cls(trace.before(turn), trace.system_prompt)


class ReplySchema(NamedTuple):
    """What a reply has to be: one JSON object.

    Attributes:
        name: 1 to 64 of ``A-Z a-z 0-9 _ -``.
        schema: JSON Schema of an object. Here and below, ``additionalProperties`` is false and
            every field is required, as strict APIs insist on both. Models write fields in this
            order, so reasoning goes before what it is to lead to.
        description: What the object is for, in words.
    """

    name: str
    schema: dict[str, Json]
    description: str = ""


class Settings(NamedTuple):
    """How a reply is to be made.

    Attributes:
        max_output_tokens: Reasoning included.
        temperature: None leaves it to the provider.
        top_p: None leaves it to the provider.
        seed: Sent where the API has one (chat completions).
        opening: What the user is made to say first where the API takes no context that begins
            with the assistant (Anthropic's); None refuses such contexts.
        sample: Which repetition, from 0. It is not sent, but tells requests apart that are equal
            otherwise, so that each has a reply of its own in a cache.
        reply_schema: What the reply has to be, see `structured_value`; None leaves it free.
    """

    max_output_tokens: int = OUTPUT_CAP
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    opening: str | None = None
    sample: int = 0
    reply_schema: ReplySchema | None = None


class Missing(NamedTuple):
    """Why there is no answer.

    Attributes:
        kind: A key of `MISSING`.
        reason: One line, no key or password in it.
        is_final: Whether every other call would fare the same: a refused key, an unknown model.
        may_cost: Whether the provider may have been at work when the call failed, and bill it.
    """

    kind: MissingKind
    reason: str
    is_final: bool = False
    may_cost: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}" if self.reason else self.kind


class Reply(NamedTuple):
    """What came of asking a model.

    Attributes:
        turn: The assistant's turn, as far as one could be read.
        usage: Tokens, and cost where the price is known; None when the reply does not say.
        raw: The body as the endpoint sent it; None when there was none.
        missing: Why the turn is no answer; None when it is one.
        cached: Whether it was paid for before.
    """

    turn: Turn | None
    usage: Usage | None
    raw: Json
    missing: Missing | None = None
    cached: bool = False


class ChatModel(Protocol):
    """Whoever can take the next turn.

    Attributes:
        name: As ``provider:model[@base_url]``.
    """

    name: str

    async def complete(
        self, context: Context, *, tools: Sequence[ToolDefinition], settings: Settings
    ) -> Reply:
        """Return the model's turn; nothing that it asks for is carried out.

        Whatever an endpoint does ends as a reply, with the reason why there is no answer.

        Raises:
            Unsendable: The model's API cannot express the context; nothing was sent.
        """
