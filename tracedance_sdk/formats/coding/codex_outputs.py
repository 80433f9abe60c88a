"""What the outputs of Codex's tools and its events say of a call beside their content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.coding.lenient import (
    count_at,
    flag_at,
    integer_at,
    number_at,
    object_at,
    text_at,
)
from tracedance_sdk.formats.transcript import read_arguments
from tracedance_sdk.trace import UNKNOWN, Json

_HEAD: Final = 400
_EXIT: Final = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,9})$", re.MULTILINE)
_WALL: Final = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds?$", re.MULTILINE)
_STOPPED: Final = re.compile(
    r"\A(?:Wall time: [^\n]*\n)?aborted(?: by user(?: after [\d.]+s)?)?\s*\Z"
)


class Ending(NamedTuple):
    """How a call ended; None and `UNKNOWN` where nothing says so.

    Attributes:
        content: What came back.
        error: Type and message, of what never came to a result.
    """

    content: Json = UNKNOWN
    ok: bool | None = None
    exit_code: int | None = None
    duration_ms: float | None = None
    interrupted: bool = False
    error: dict[str, str] | None = None


def read_output(output: Json) -> Ending:
    """Return what an output item says.

    Codex writes exit code and duration into the text that the model is shown: as JSON with
    ``metadata`` in older versions, as lines before the output in newer ones. The content stays as
    the model was shown it.
    """
    if isinstance(output, dict) and "success" in output:
        content = output.get("content", UNKNOWN)
        return Ending(content, ok=flag_at(output, "success"))
    text = _only_text(output)
    if text is None:
        return Ending(output)
    if _STOPPED.match(text[:_HEAD]):
        return Ending(text, interrupted=True)
    metadata = object_at(value, "metadata") if isinstance(value := _json(text), dict) else {}
    exit_code = integer_at(metadata, "exit_code")
    seconds = number_at(metadata, "duration_seconds")
    head = text[:_HEAD].partition("\nOutput:\n")[0]
    if exit_code is None and (found := _EXIT.search(head)):
        exit_code = int(found.group(1))
    if seconds is None and (found := _WALL.search(head)):
        seconds = float(found.group(1))
    return Ending(
        text,
        ok=None if exit_code is None else exit_code == 0,
        exit_code=exit_code,
        duration_ms=None if seconds is None else seconds * 1000,
    )


def _only_text(output: Json) -> str | None:
    if isinstance(output, list) and len(output) == 1:
        output = output[0]
    if isinstance(output, dict):
        known = {key for key, value in output.items() if value is not None}
        output = output.get("text") if known == {"type", "text"} else None
    return output if isinstance(output, str) else None


def _json(text: str) -> Json:
    return read_arguments(text)[0] if text.startswith("{") and '"metadata"' in text else None


def read_ending(event: Mapping[str, Any]) -> Ending:
    """Return what an event that tells of a call's end says."""
    exit_code = integer_at(event, "exit_code")
    ok = flag_at(event, "success")
    if ok is None and exit_code is not None:
        ok = exit_code == 0
    content: Json = UNKNOWN
    error: dict[str, str] | None = None
    result = event.get("result")
    if isinstance(result, dict) and ("Ok" in result or "Err" in result):
        ok, content, error = _wrapped(result)
    elif "results" in event:
        content = event["results"]
    else:
        for key in ("formatted_output", "aggregated_output", "content_items", "result", "stdout"):
            if event.get(key) not in (None, ""):
                content = event[key]
                break
    message = text_at(event, "error")
    if message is not None:
        error = {"type": "error", "message": message}
    return Ending(content, ok, exit_code, _duration(event.get("duration")), error=error)


def _wrapped(result: dict[str, Any]) -> tuple[bool | None, Json, dict[str, str] | None]:
    if "Err" in result:
        return False, UNKNOWN, {"type": "error", "message": str(result["Err"])}
    value = result["Ok"]
    failed = flag_at(value, "isError", "is_error") if isinstance(value, dict) else None
    content = value.get("content", value) if isinstance(value, dict) else value
    return None if failed is None else not failed, content, None


def _duration(value: Json) -> float | None:
    if not isinstance(value, dict):
        return None
    seconds, nanos = count_at(value, "secs"), count_at(value, "nanos")
    return None if seconds is None else seconds * 1000 + (nanos or 0) / 1e6
