"""What a model is shown of a conversation, before it takes the shape of one provider's API.

Reasoning is left out, of whoever's it was. Calls that were never a model's own, such as those of
a simulated user, are left out. Calls get ids that the API takes, each different. What cannot be
shown faithfully is refused, so that nothing half-told is ever sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.errors import Unsendable, shown
from tracedance_sdk.formats.openai_tools import json_text
from tracedance_sdk.formats.piece_shapes import read_pieces
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    Media,
    Result,
    Role,
    Text,
    ToolDefinition,
    Turn,
    blob_digest,
)

_BLOCKS: Final = frozenset(
    {
        "text", "input_text", "output_text", "image", "image_url", "input_image", "input_audio",
        "audio", "document", "file", "input_file", "video",
    }
)  # fmt: skip
_HOSTED: Final = frozenset({"function", "custom"})
Shown = Text | Media


class API(NamedTuple):
    """What one provider's API allows.

    Attributes:
        name: As messages of errors call it.
        call_id: What an id of a call may look like.
        tool_name: What the name of a tool may look like.
    """

    name: str
    call_id: re.Pattern[str]
    tool_name: re.Pattern[str]


class ShownCall(NamedTuple):
    """A call with what came back.

    Attributes:
        id: One that the API takes, different from all others of the context.
        text: The arguments as JSON text.
        arguments: Parsed.
        parts: What came back; empty when it was nothing.
        failed: Whether the call is known to have failed.
    """

    id: str
    name: str
    text: str
    arguments: dict[str, Any]
    parts: tuple[Shown, ...]
    failed: bool


class ShownTurn(NamedTuple):
    """One turn, with something in it."""

    role: Role
    parts: tuple[Shown, ...]
    calls: tuple[ShownCall, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The texts, in order."""
        return [part.text for part in self.parts if isinstance(part, Text)]


def shown_turns(
    turns: Sequence[Turn], api: API, *, system_prompt: str | None = None
) -> list[ShownTurn]:
    """Return what a model is to be shown.

    Args:
        turns: What came before, in order; see `Trace.before`.
        api: Whose form it will take.
        system_prompt: Stands first, as a turn of the system's.

    Raises:
        Unsendable: The context is empty, a call lacks arguments or a result, or something in it
            lies elsewhere; the error says which turn.
    """
    ids = _Ids(api, turns)
    found = [ShownTurn("system", (Text(text=system_prompt),))] if system_prompt else []
    for turn in turns:
        calls = tuple(
            _call(call, ids, f"turn {turn.index}")
            for call in turn.calls
            if call.requested_by == "agent"
        )
        parts = tuple(
            _at_hand(part, f"turn {turn.index}")
            for part in turn.content
            if isinstance(part, Media) or (isinstance(part, Text) and part.text.strip())
        )
        if parts or calls:
            found.append(ShownTurn(turn.role, parts, calls))
    if not any(turn.role != "system" for turn in found):
        raise Unsendable(
            "the context is empty: nobody has said anything before this turn", kind="empty context"
        )
    return found


def check_tools(tools: Iterable[ToolDefinition], api: API) -> None:
    """Refuse tools that an API cannot be told of.

    Raises:
        Unsendable: A name that the API does not take, a name that stands twice, or a tool that a
            provider carries out itself.
    """
    seen: set[str] = set()
    for tool in tools:
        if not api.tool_name.fullmatch(tool.name):
            raise Unsendable(
                f"{api.name} takes no tool named {shown(tool.name)}", kind="name of a tool"
            )
        if tool.name in seen:
            raise Unsendable(f"two tools are named {shown(tool.name)}", kind="name of a tool")
        if _is_hosted(tool):
            raise Unsendable(
                f"the tool {shown(tool.name)} is carried out by its own provider",
                kind="hosted tool",
            )
        seen.add(tool.name)


def _is_hosted(tool: ToolDefinition) -> bool:
    kept = (tool.model_extra or {}).get("definition")
    kind = kept.get("type") if isinstance(kept, dict) else None
    return isinstance(kind, str) and kind not in _HOSTED


def written_blocks(
    parts: Sequence[Shown], api: API, *, where: str, as_media: Any, text_type: str = "text"
) -> list[dict[str, Any]]:
    """Return parts as blocks of an API.

    Args:
        parts: Text and media.
        api: Which.
        where: What holds the parts, for errors.
        as_media: Turns a media part into a block; None when the API has none for it.
        text_type: What the API calls a block of text.

    Raises:
        Unsendable: The API has no block for a part.
    """
    blocks: list[dict[str, Any]] = []
    for part in parts:
        block = {"type": text_type, "text": part.text} if isinstance(part, Text) else as_media(part)
        if block is None:
            kind = getattr(part, "mime_type", None) or getattr(part, "modality", "media")
            raise Unsendable(f"{api.name} takes no {kind} in {where}", kind="media")
        blocks.append(block)
    return blocks


def web_address(part: Media) -> str | None:
    """Return the address of a media part that a provider can fetch; None when it has none."""
    uri = part.uri
    return uri if uri is not None and uri.startswith(("https://", "http://")) else None


def data_url(part: Media) -> str | None:
    """Return inline content as a ``data:`` URL; None when there is none, or its type is unknown."""
    if not isinstance(part.data, str) or not part.data or not part.mime_type:
        return None
    return f"data:{part.mime_type};base64,{part.data}"


class _Ids:
    """Gives each call of a context an id of its own that the API takes."""

    def __init__(self, api: API, turns: Sequence[Turn]) -> None:
        self._api = api
        self._taken = {call.id for turn in turns for call in turn.calls}
        self._given: set[str] = set()
        self._count = 0

    def next(self, wanted: str) -> str:
        if wanted not in self._given and self._api.call_id.fullmatch(wanted):
            self._given.add(wanted)
            return wanted
        while (found := f"call_{self._count}") in self._taken or found in self._given:
            self._count += 1
        self._given.add(found)
        return found


def _call(call: Call, ids: _Ids, where: str) -> ShownCall:
    what = f"{where}: the call of {shown(call.name)}"
    if call.result is None:
        raise Unsendable(f"{what} has no recorded result", kind="result missing")
    if isinstance(call.arguments, dict) and blob_digest(call.arguments) is not None:
        raise Unsendable(f"{what} has arguments that are kept elsewhere", kind="content elsewhere")
    if not isinstance(call.arguments, dict):
        if call.arguments is UNKNOWN and call.raw_arguments is None:
            raise Unsendable(f"{what} has no recorded arguments", kind="arguments missing")
        raise Unsendable(
            f"{what} has arguments that are no JSON object", kind="arguments are no object"
        )
    return ShownCall(
        ids.next(call.id),
        call.name,
        json_text(call.arguments),
        call.arguments,
        _answer(call.result, what),
        call.failed,
    )


def _answer(result: Result, what: str) -> tuple[Shown, ...]:
    content = result.content
    if content is UNKNOWN:
        if result.error is None:
            raise Unsendable(f"{what} has a result without recorded content", kind="result missing")
        return (Text(text=f"{result.error.type}: {result.error.message}"),)
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if content is None:
        return ()
    if isinstance(content, dict) and blob_digest(content) is not None:
        raise Unsendable(f"{what} has a result that is kept elsewhere", kind="content elsewhere")
    if _are_blocks(content):
        parts = [_part(piece) for piece in read_pieces(content) if isinstance(piece, dict)]
        return tuple(_at_hand(part, what) for part in parts)
    return (Text(text=json_text(content)),)


def _are_blocks(content: Json) -> bool:
    """Whether a result is a list of blocks as models are shown them, not a value of its own."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(item, dict) and item.get("type") in _BLOCKS for item in content)
    )


def _part(piece: dict[str, Any]) -> Shown:
    kind: Literal["text", "media"] = piece["type"]
    return Text.model_validate(piece) if kind == "text" else Media.model_validate(piece)


def _at_hand(part: Shown, where: str) -> Shown:
    if isinstance(part, Media) and not isinstance(part.data, str) and web_address(part) is None:
        raise Unsendable(
            f"{where}: {part.modality} content that is not at hand", kind="content elsewhere"
        )
    return part
