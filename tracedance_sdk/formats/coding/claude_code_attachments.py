"""What Claude Code attaches to a conversation: which of it the model is shown, and its text.

The client renders an attachment as a reminder when it calls the model; the session file holds the
attachment, not the reminder. Its text is given where the attachment has it, else the attachment
itself as a part that is no text.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.coding.lenient import object_at
from tracedance_sdk.formats.transcript import media_part, text_part
from tracedance_sdk.trace import Json

_UNSEEN: Final = frozenset(
    {
        "already_read_file", "command_permissions", "dynamic_skill", "edited_image_file",
        "hook_cancelled", "hook_error_during_execution", "hook_non_blocking_error",
        "hook_permission_decision", "hook_system_message", "structured_output",
    }
)  # fmt: skip
_SEEN_EVENTS: Final = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart"})
_TEXT_AT: Final[dict[str, tuple[str, ...]]] = {
    "edited_text_file": ("snippet",),
    "file": ("content", "file", "content"),
    "hook_additional_context": ("content",),
    "hook_blocking_error": ("blockingError", "blockingError"),
    "hook_stopped_continuation": ("message",),
    "hook_success": ("content",),
    "nested_memory": ("content", "content"),
    "queued_command": ("prompt",),
    "skill_listing": ("content",),
}
"""Where the text of an attachment stands; for any other type, under ``text`` if anywhere."""


def is_seen(attachment: dict[str, Any]) -> bool:
    """Whether the model is shown an attachment.

    Output of hooks is shown only at the start of a session and with a prompt, and only if there
    is any. A type that is not known counts as shown.
    """
    kind = attachment.get("type")
    if kind == "hook_success":
        return attachment.get("hookEvent") in _SEEN_EVENTS and bool(attachment.get("content"))
    return kind not in _UNSEEN


def attachment_parts(attachment: dict[str, Any]) -> tuple[Json, dict[str, Json]]:
    """Return the content of an attachment, and what it says beyond it.

    Returns:
        Text, blocks as Anthropic writes them, or one part that holds the whole attachment; and
        the remaining fields.
    """
    path = _TEXT_AT.get(str(attachment.get("type")), ("text",))
    value: Any = attachment
    for step in path:
        value = object_at({"": value}, "").get(step)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        value = "\n".join(value)
        path = ()
    if isinstance(value, str) and value:
        rest = {k: v for k, v in attachment.items() if path != (k,)}
        return [text_part(value)], rest
    if isinstance(value, list) and value and attachment.get("type") == "queued_command":
        return value, {k: v for k, v in attachment.items() if k != "prompt"}
    return [media_part("attachment", data=attachment)], {"type": attachment.get("type")}
