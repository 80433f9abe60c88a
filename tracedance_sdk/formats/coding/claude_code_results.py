"""What a result in a Claude Code session says of its call: success, error, exit code, duration."""

from __future__ import annotations

import re
from typing import Any, Final

from tracedance_sdk.formats.coding.lenient import integer_at, number_at, object_at
from tracedance_sdk.formats.piece_shapes import result_content
from tracedance_sdk.trace import UNKNOWN, Json

_EXIT: Final = re.compile(r"(?:Error: )?Exit code (-?\d{1,9})(?:\n|$)")
_TIMEOUT: Final = re.compile(r"(?:Error: )?(?:Exit code -?\d{1,9}\n)?Command timed out after")
_TAGGED: Final = re.compile(r"<tool_use_error>(.*?)(?:</tool_use_error>|$)", re.DOTALL)
_LONGEST_MESSAGE: Final = 300
_WORDS: Final = (
    ("rejected", ("The user doesn't want to proceed with this tool use",)),
    ("interrupted", ("The user doesn't want to take this action", "[Request interrupted by user")),
    ("tool_use_error", ("<tool_use_error>",)),
)
"""Types of errors by how the client's texts begin."""


def result_fields(block: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Result` for a block ``tool_result``.

    The client sets ``is_error`` on every result of a call that failed, was refused or was
    interrupted, and mostly leaves it out otherwise: without it, the call succeeded.

    Args:
        block: The block.
        record: The record around it; its ``toolUseResult`` tells more of some tools.
    """
    content = result_content(block["content"]) if "content" in block else UNKNOWN
    told = object_at(record, "toolUseResult")
    failed = block.get("is_error") is True
    fields: dict[str, Any] = {"ok": not failed, "content": content}
    text = text_of(content)
    found = _EXIT.match(text) if failed else None
    code = integer_at(told, "exitCode")
    if code is None:
        code = integer_at(object_at(told, "task"), "exitCode")
    fields["exit_code"] = int(found.group(1)) if found else code
    if failed:
        fields["error"] = _error(text, is_exit=found is not None)
    if told.get("interrupted") is True or fields.get("error", {}).get("type") == "interrupted":
        fields["interrupted"] = True
    return fields


def duration_ms(record: dict[str, Any]) -> float | None:
    """Return how long a call took, where the client measured it."""
    told = object_at(record, "toolUseResult")
    found = number_at(told, "durationMs", "totalDurationMs")
    if found is None and (seconds := number_at(told, "durationSeconds")) is not None:
        found = seconds * 1000
    return found


def _error(text: str, *, is_exit: bool) -> dict[str, str]:
    kind = next((word for word, starts in _WORDS if text.startswith(starts)), None)
    if _TIMEOUT.match(text):
        kind = "timeout"
    tagged = _TAGGED.match(text)
    message = (tagged.group(1) if tagged else text).strip().partition("\n")[0]
    return {
        "type": kind or ("exit_code" if is_exit else "error"),
        "message": message[:_LONGEST_MESSAGE],
    }


def text_of(content: Json) -> str:
    """Return the text of a message's or a result's content, its blocks joined by newlines."""
    if isinstance(content, list):
        texts = (block.get("text") if isinstance(block, dict) else block for block in content)
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
