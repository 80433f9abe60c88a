"""Images, sounds and documents inside messages, in every provider's spelling."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.transcript import media_part
from tracedance_sdk.trace import UNKNOWN, Json

_MODALITIES: Final = {
    "image": "image", "image_url": "image", "input_image": "image", "image-url": "image",
    "output_image": "image", "input_audio": "audio", "audio": "audio", "audio-url": "audio",
    "video": "video", "video-url": "video", "document": "document", "document-url": "document",
    "file": "document", "input_file": "document",
}  # fmt: skip
_TYPES: Final = ("media_type", "mime_type", "mimeType", "mediaType")
_PLACES: Final = ("url", "uri", "path", "file_uri", "fileUri", "image_url")
_BYTES: Final = ("data", "bytes", "content", "base64", "image", "audio", "video", "file")
_SAYS_NOTHING: Final = frozenset({"base64", "url", "uri", "blob"})


def read_media(kind: str, part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a message that is no text as a part of a turn.

    Bytes and addresses are found where OpenAI, Anthropic, Gemini, Vercel, Inspect and the
    conventions of OpenTelemetry put them. What a part says beyond that stands under ``part`` of
    the result; a part without bytes or address is kept whole as its ``data``.

    Args:
        kind: Its type, in the format's word.
        part: The part.
    """
    key = "source" if isinstance(part.get("source"), dict) else kind
    inner = part.get(key)
    holder: dict[str, Any] = inner if isinstance(inner, dict) else part
    place, address = _found(holder, _PLACES)
    if not isinstance(inner, dict) and isinstance(inner, str):
        place, address = key, inner
    of_type, mime_type = _found(holder, _TYPES)
    at, data = (None, None) if address is not None else _found(holder, _BYTES)
    if address is not None and address.startswith("data:") and ";base64," in address:
        head, _, data = address.partition(";base64,")
        mime_type, address = head.removeprefix("data:"), None
    elif address is not None and "://" not in address and key == kind and holder is part:
        data, address = address, None
    if data is None and address is None:
        return media_part(_modality(kind, part, mime_type), data=part)
    if mime_type is None and kind == "input_audio" and isinstance(holder.get("format"), str):
        of_type, mime_type = "format", f"audio/{holder['format']}"
    rest = {
        k: v
        for k, v in holder.items()
        if k not in (place, of_type, at) and not (k == "type" and v in (*_SAYS_NOTHING, kind))
    }
    if holder is not part:
        beside = {k: v for k, v in part.items() if k not in ("type", key)}
        rest = {**beside, key: rest} if rest else beside
    return media_part(
        _modality(kind, part, mime_type),
        mime_type=mime_type,
        uri=address,
        data=UNKNOWN if data is None else data,
        **_kept(rest),
    )


def _kept(rest: dict[str, Json]) -> dict[str, Json]:
    rest.pop("modality", None)
    return {"part": rest} if rest else {}


def _found(holder: dict[str, Any], keys: tuple[str, ...]) -> tuple[str | None, str | None]:
    return next(((k, holder[k]) for k in keys if isinstance(holder.get(k), str)), (None, None))


def _modality(kind: str, part: dict[str, Any], mime_type: str | None) -> str:
    head = (mime_type or "").partition("/")[0]
    own = part.get("modality")
    if head in ("image", "audio", "video"):
        return head
    if isinstance(own, str):
        return own
    return _MODALITIES.get(kind) or ("document" if head in ("application", "text") else kind)
