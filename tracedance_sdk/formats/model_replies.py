"""What a provider's endpoint sent back, as the assistant's turn.

Each reader takes the parsed body of a response and gives the one turn in it: text, reasoning,
refusals and media as parts, the calls it asks for, the model, the usage and why it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.formats.anthropic_messages import call_of, traces_from_anthropic
from tracedance_sdk.formats.benchmarks.usages import usage_fields
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.message_pieces import Message
from tracedance_sdk.formats.message_shapes import read_message
from tracedance_sdk.formats.model_calls import ModelCall
from tracedance_sdk.formats.openai_chat import trace_from_messages
from tracedance_sdk.formats.openai_responses import reply_of, traces_from_responses
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.places import Misfit, Place
from tracedance_sdk.trace import Json, Trace, Turn, Usage

_WHERE: Final = "reply"
_TRACES = Callable[[Iterable[Document], Path], Iterator[Trace | ImportProblem]]


def turn_from_chat(body: Json) -> Turn:
    """Return the turn of a chat completion.

    Raises:
        InvalidTrace: The body is no chat completion with one choice.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(body, dict) or not isinstance(choice, dict) or not isinstance(message, dict):
        raise InvalidTrace(f"{_WHERE}: no choice with a message")
    said = {key: value for key, value in message.items() if value not in (None, [])}
    told = trace_from_messages([{**said, "role": "assistant"}], trace_id=_WHERE, where=_WHERE)
    model, reason = body.get("model"), choice.get("finish_reason")
    usage = usage_fields(body.get("usage"))
    return told.turns[0].model_copy(
        update={
            "model": model if isinstance(model, str) else None,
            "finish_reason": reason if isinstance(reason, str) else None,
            "usage": None if usage is None else Usage.model_validate(usage),
        }
    )


def turn_from_anthropic(body: Json) -> Turn:
    """Return the turn of a message that Anthropic's Messages API sent.

    Raises:
        InvalidTrace: The body is no message.
    """
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        raise InvalidTrace(f"{_WHERE}: no message with content")
    return _only_turn(body, traces_from_anthropic)


def turn_from_responses(body: Json) -> Turn:
    """Return the turn of a response object of OpenAI's Responses API.

    Raises:
        InvalidTrace: The body is no response object.
    """
    if not isinstance(body, dict) or not isinstance(body.get("output"), list):
        raise InvalidTrace(f"{_WHERE}: no response with an output")
    return _only_turn(body, traces_from_responses)


class Said(NamedTuple):
    """What a model said, its pieces in the order they came, and what is told beside.

    Attributes:
        message: Its message, with the calls that the provider made itself and their results.
        model: That wrote it.
        usage: Tokens, as the fields of `Usage`.
        finish_reason: Why it stopped, in the provider's word.
        id: The provider's id of the reply.
        settings: Sampling settings.
    """

    message: Message
    model: str | None = None
    usage: dict[str, Json] | None = None
    finish_reason: str | None = None
    id: str | None = None
    settings: dict[str, Json] | None = None


def said_in_chat(body: Json) -> Said:
    """Return what is said in the first choice of a chat completion.

    Raises:
        InvalidTrace: No choice has a message.

    Example:
        >>> said = said_in_chat({"choices": [{"message": {"content": "Hi"}}], "model": "m"})
        >>> said.message.text, said.model
        ('Hi', 'm')
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    told = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(body, dict) or not isinstance(choice, dict) or not isinstance(told, dict):
        raise InvalidTrace(f"{_WHERE}: no choice with a message")
    said = {key: value for key, value in told.items() if value is not None and value != []}
    said["role"] = "assistant"
    message = read_message(said) or Message("assistant", ())
    return Said(
        message,
        _text(body.get("model")),
        usage_fields(body.get("usage")),
        _text(choice.get("finish_reason")),
        _text(body.get("id")),
    )


def said_in_anthropic(body: Json) -> Said:
    """Return what is said in a message that Anthropic's Messages API sent.

    Raises:
        InvalidTrace: The body is no message.

    Example:
        >>> text = {"type": "text", "text": "Hi"}
        >>> said_in_anthropic({"model": "m", "content": [text]}).message.text
        'Hi'
    """
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        raise InvalidTrace(f"{_WHERE}: no message with content")
    try:
        found = call_of({"response": body})
    except Misfit as misfit:
        raise Place(_WHERE, "$").located(misfit) from None
    return _said(found)


def said_in_responses(body: Json) -> Said:
    """Return what is said in a response object of OpenAI's Responses API.

    Raises:
        InvalidTrace: The body is no response object.

    Example:
        >>> text = {"type": "output_text", "text": "Hi"}
        >>> item = {"type": "message", "role": "assistant", "content": [text]}
        >>> said_in_responses({"model": "m", "output": [item]}).message.text
        'Hi'
    """
    if not isinstance(body, dict) or not isinstance(body.get("output"), list):
        raise InvalidTrace(f"{_WHERE}: no response with an output")
    try:
        found = reply_of(body)
    except Misfit as misfit:
        raise Place(_WHERE, "$").located(misfit) from None
    return _said(found)


def _said(found: ModelCall) -> Said:
    pieces = [piece for message in found.reply or () for piece in message.pieces]
    facts = found.fields
    return Said(
        Message("assistant", tuple(pieces)),
        facts.get("model"),
        facts.get("usage"),
        facts.get("finish_reason"),
        found.id,
        facts.get("settings"),
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _only_turn(body: dict[str, Any], read: _TRACES) -> Turn:
    for found in read([Document(body, None)], Path(_WHERE)):
        if isinstance(found, ImportProblem):
            raise InvalidTrace(f"{_WHERE}: {found.reason}")
        if found.turns:
            return found.turns[-1].model_copy(update={"index": 0})
    raise InvalidTrace(f"{_WHERE}: nothing in it")
