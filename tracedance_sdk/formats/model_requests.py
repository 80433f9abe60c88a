"""What a request asks a model, out of the arguments of each provider's API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.formats import anthropic_messages, openai_responses
from tracedance_sdk.formats.message_pieces import Message
from tracedance_sdk.formats.message_shapes import read_message
from tracedance_sdk.formats.model_calls import ModelCall
from tracedance_sdk.formats.places import Misfit, Place
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.trace import Json

_WHERE: Final = "request"
CHAT_SETTINGS: Final = (
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "tool_choice",
    "parallel_tool_calls", "response_format", "reasoning_effort", "frequency_penalty",
    "presence_penalty", "logit_bias", "n", "service_tier", "verbosity",
)  # fmt: skip
_CHAT_SETTINGS: Final = frozenset(CHAT_SETTINGS)
_NOTHING: Final[tuple[Json, ...]] = (None, [], {})


class ModelRequest(NamedTuple):
    """A request to a model, whoever's API it is made through.

    Attributes:
        messages: The conversation so far, without the leading system prompt.
        system: The system prompt; None when there is none.
        tools: Fields of `ToolDefinition`.
        model: As it was asked for.
        settings: Sampling settings by the provider's names.
        follows: Id of the reply that the conversation goes on from, when `messages` do not repeat
            what came before; ``before`` when that is all that came before.
    """

    messages: Sequence[Message]
    system: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    model: str | None = None
    settings: Mapping[str, Json] | None = None
    follows: str | None = None


def request_from_chat(body: Mapping[str, Any]) -> ModelRequest:
    """Return what the body of a chat completions request asks.

    Raises:
        InvalidTrace: No list of messages, as ``request @ $.messages[1]``.

    Example:
        >>> asked = request_from_chat(
        ...     {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        ... )
        >>> asked.model, [message.text for message in asked.messages]
        ('m', ['Hi'])
    """
    items = body.get("messages")
    if type(items) is not list:
        items = Place(_WHERE, "$").expect(items, list)
    messages: list[Message] = []
    for index, item in enumerate(items):
        message = item if type(item) is Message else read_message(item)
        if message is None:
            place = Place(_WHERE, "$")
            misfit = Misfit(f"expected a message, got {item!r:.40}", "messages", index)
            raise place.located(misfit)
        messages.append(message)
    tools = [*_listed(body.get("tools")), *_listed(body.get("functions"))]
    return without_system(
        ModelRequest(
            messages,
            None,
            read_tools(tools) if tools else (),
            _text(body.get("model")),
            {k: v for k, v in body.items() if k in _CHAT_SETTINGS and v not in _NOTHING},
        )
    )


def request_from_anthropic(body: Mapping[str, Any]) -> ModelRequest:
    """Return what the body of a request to Anthropic's Messages API asks.

    Raises:
        InvalidTrace: Messages that cannot be read.
    """
    return _of_call(_read(anthropic_messages.call_of, {"request": dict(body)}), body)


def request_from_responses(body: Mapping[str, Any]) -> ModelRequest:
    """Return what the body of a request to OpenAI's Responses API asks.

    Raises:
        InvalidTrace: An input that cannot be read.
    """
    found = _read(openai_responses.request_of, dict(body))
    return without_system(_of_call(found, body))


def without_system(request: ModelRequest) -> ModelRequest:
    """Return the request with plain system messages at its beginning as its system prompt."""
    texts = [] if request.system is None else [request.system]
    before = len(texts)
    for message in request.messages:
        if message.speaker != "system" or not _is_text(message):
            break
        texts.append(message.text)
    lead = len(texts) - before
    if not lead:
        return request
    _, _, tools, model, settings, follows = request
    rest = request.messages[lead:]
    return ModelRequest(rest, "\n\n".join(texts), tools, model, settings, follows)


def _is_text(message: Message) -> bool:
    return all(isinstance(piece, dict) and piece["type"] == "text" for piece in message.pieces)


def _of_call(call: ModelCall, body: Mapping[str, Any]) -> ModelRequest:
    return ModelRequest(
        call.inputs or (),
        call.system,
        call.tools,
        _text(body.get("model")),
        call.fields.get("settings"),
        call.follows,
    )


def _read(read: Any, record: dict[str, Any]) -> ModelCall:
    try:
        found = read(record)
    except Misfit as misfit:
        raise Place(_WHERE, "$").located(misfit) from None
    if not isinstance(found, ModelCall):
        raise InvalidTrace(f"{_WHERE}: nothing in it")
    return found


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
