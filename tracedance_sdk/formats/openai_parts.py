"""The content of a chat message: text or a list of parts, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.places import Misfit, expect, field
from tracedance_sdk.trace import UNKNOWN, Json, Media, Part, Reasoning, Text

_REASONING_KEYS = ("text", "thinking", "reasoning")


def parts_from_content(content: Json) -> list[Part]:
    """Return the parts of a message's ``content``: null, text, or a list of parts.

    Raises:
        Misfit: Another type, or a part that is no object with a ``type``.
    """
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(text=content)]
    if not isinstance(content, list):
        what = f"expected text, a list of parts or null, got {shown(content)}"
        raise Misfit(what, "content")
    parts: list[Part] = []
    try:
        for item in content:
            parts.append(_part(item))
    except Misfit as misfit:
        raise misfit.below("content", len(parts)) from None
    return parts


def _part(item: Json) -> Part:
    if isinstance(item, str):
        return Text(text=item)
    fields = expect(item, dict)
    kind = field(fields, "type", str)
    if kind in ("text", "input_text", "output_text"):
        return Text(text=field(fields, "text", str))
    if kind == "refusal":
        return Text.model_validate({"text": field(fields, "refusal", str), "refusal": True})
    if kind in ("reasoning", "thinking"):
        text = next((fields[k] for k in _REASONING_KEYS if isinstance(fields.get(k), str)), "")
        return Reasoning.model_validate({"text": text, "part": fields})
    return _media(kind, fields)


def _media(kind: str, fields: dict[str, Any]) -> Media:
    detail = fields.get(kind)
    if kind == "image_url" and isinstance(detail, dict) and isinstance(detail.get("url"), str):
        mime_type, data = _data_url(detail["url"])
        if data is not None:
            return Media(modality="image", mime_type=mime_type, data=data)
        return Media(modality="image", uri=detail["url"])
    if kind == "input_audio" and isinstance(detail, dict):
        data, form = detail.get("data"), detail.get("format")
        if isinstance(data, str) and isinstance(form, str):
            return Media(modality="audio", mime_type=f"audio/{form}", data=data)
    return Media(modality="document" if kind == "file" else kind, data=fields)


def _data_url(url: str) -> tuple[str | None, str | None]:
    head, comma, data = url.partition(";base64,")
    if not comma or not head.startswith("data:"):
        return None, None
    return head.removeprefix("data:"), data


def content_from_parts(parts: Sequence[Part]) -> Json:
    """Return ``content`` for a message: null for none, text for one text part, else a list.

    Reasoning that came as a field of its own is no part of the content.
    """
    shown_parts = [item for item in parts if not _is_reasoning_field(item)]
    if not shown_parts:
        return None
    only = shown_parts[0]
    if len(shown_parts) == 1 and isinstance(only, Text) and not only.model_extra:
        return only.text
    return [_written(item) for item in shown_parts]


def reasoning_field(parts: Sequence[Part]) -> str | None:
    """Return the reasoning that stands beside the content, or None."""
    texts = [item.text for item in parts if isinstance(item, Reasoning) and not item.model_extra]
    return "\n".join(texts) if texts else None


def _is_reasoning_field(part: Part) -> bool:
    return isinstance(part, Reasoning) and not part.model_extra


def _written(part: Part) -> Json:
    extra = part.model_extra or {}
    if isinstance(part, Text):
        if extra.get("refusal") is True:
            return {"type": "refusal", "refusal": part.text}
        return {"type": "text", "text": part.text}
    if isinstance(part, Reasoning):
        kept = extra.get("part")
        is_chat = isinstance(kept, dict) and isinstance(kept.get("type"), str)
        return kept if is_chat else {"type": "reasoning", "text": part.text}
    return _written_media(part)


def _written_media(part: Media) -> Json:
    if isinstance(part.data, dict) and isinstance(part.data.get("type"), str):
        return part.data
    if part.modality == "image":
        if isinstance(part.data, str):
            url: str | None = f"data:{part.mime_type or ''};base64,{part.data}"
        else:
            url = part.uri
        if url is not None:
            return {"type": "image_url", "image_url": {"url": url}}
    if part.modality == "audio" and isinstance(part.data, str):
        form = (part.mime_type or "audio/wav").removeprefix("audio/")
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
    return {"type": "file", "file": _file_detail(part)}


def _file_detail(part: Media) -> dict[str, Json]:
    detail: dict[str, Json] = {}
    if part.data is not UNKNOWN:
        detail["file_data"] = part.data
    if part.uri is not None:
        detail["file_id"] = part.uri
    return detail
